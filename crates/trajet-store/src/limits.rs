//! How much of a store may be on each tier, before, while and after something is written there.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use trajet_engine::Control;

use crate::manifest::{Manifest, Tier};
use crate::{Error, Store};

/// A tier that has a limit.
#[derive(Clone, Debug)]
struct Room {
    tier: String,
    /// Bytes of this store that are there.
    used: u64,
    limit: u64,
    /// Where that stands.
    settings: PathBuf,
}

impl Room {
    /// Makes sure that so many bytes more are within the limit.
    fn check(&self, needed: u64) -> Result<(), Error> {
        let &Room { ref tier, used, limit, ref settings } = self;
        if used.saturating_add(needed) <= limit {
            return Ok(());
        }
        let (tier, settings) = (tier.clone(), settings.clone());
        Err(Error::TierFull { tier, needed, used, limit, settings })
    }
}

impl Store {
    /// Bytes of this store on each tier.
    ///
    /// # Errors
    /// Those of [`Store::manifest`].
    pub fn used(&self) -> Result<BTreeMap<String, u64>, Error> {
        let mut used = BTreeMap::new();
        for name in self.names()? {
            for file in self.find(&name)?.iter().flat_map(Manifest::files) {
                let used: &mut u64 = used.entry(file.tier.clone()).or_default();
                *used = used.saturating_add(file.bytes());
            }
        }
        Ok(used)
    }

    /// Makes sure that so many bytes more are within the limits of tiers.
    pub(crate) fn check_rooms<T: AsRef<str>>(
        &self,
        needed: &BTreeMap<T, u64>,
    ) -> Result<(), Error> {
        let tiers: Vec<&str> = needed.keys().map(AsRef::as_ref).collect();
        let rooms = self.rooms_of(&tiers)?.into_iter().zip(needed.values());
        let limited = rooms.filter_map(|(room, &needed)| Some((room?, needed)));
        limited.into_iter().try_for_each(|(room, needed)| room.check(needed))
    }

    /// What is left on those tiers that have limits.
    fn rooms_of(&self, names: &[&str]) -> Result<Vec<Option<Room>>, Error> {
        let tiers = names.iter().map(|name| self.tier(name)).collect::<Result<Vec<_>, _>>()?;
        // All manifests are read for that.
        let is_limited = tiers.iter().any(|tier| tier.limit.is_some());
        let used = if is_limited { self.used()? } else { BTreeMap::new() };
        let room = |(&name, tier): (&&str, Tier)| {
            let (tier, limit) = (name.to_owned(), tier.limit?);
            let used = used.get(name).copied().unwrap_or(0);
            Some(Room { tier, used, limit, settings: self.settings_path() })
        };
        Ok(names.iter().zip(tiers).map(room).collect())
    }
}

/// Folders that are being filled, on tiers that have limits.
#[derive(Clone, Debug)]
pub struct Filled {
    folders: Vec<(PathBuf, Room)>,
    /// Files that will go when they are full.
    but: Vec<PathBuf>,
}

impl Filled {
    /// Folders, each on the tier of that name.
    ///
    /// # Errors
    /// Those of [`Store::used`].
    pub(crate) fn new<'f>(
        store: &Store,
        folders: impl Iterator<Item = (&'f str, PathBuf)>,
    ) -> Result<Filled, Error> {
        let (tiers, folders): (Vec<_>, Vec<_>) = folders.unzip();
        let rooms = folders.into_iter().zip(store.rooms_of(&tiers)?);
        let folders = rooms.filter_map(|(folder, room)| Some((folder, room?))).collect();
        Ok(Filled { folders, but: Vec::new() })
    }

    /// The same, where these files do not count.
    pub(crate) fn but(self, files: impl Iterator<Item = PathBuf>) -> Filled {
        Filled { but: files.collect(), ..self }
    }

    /// Makes sure that they take no more than the limits of their tiers allow.
    ///
    /// # Errors
    /// [`Error::TierFull`].
    pub fn check(&self) -> Result<(), Error> {
        self.folders.iter().try_for_each(|(folder, room)| room.check(self.bytes_in(folder)))
    }

    /// Bytes of the files in a folder, as far as they can be counted.
    fn bytes_in(&self, folder: &Path) -> u64 {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let entries = entries.filter(|entry| !self.but.contains(&entry.path()));
        entries.filter_map(|entry| entry.metadata().ok()).map(|found| found.len()).sum()
    }
}

/// Ends what is under way where folders take more than the limits of their tiers allow.
pub(crate) struct Within<'a> {
    control: &'a mut dyn Control,
    filled: &'a Filled,
    full: Option<Error>,
}

impl<'a> Within<'a> {
    pub(crate) fn new(filled: &'a Filled, control: &'a mut dyn Control) -> Within<'a> {
        Within { control, filled, full: None }
    }

    /// The error where a limit was met.
    ///
    /// # Errors
    /// [`Error::TierFull`].
    pub(crate) fn result(self) -> Result<(), Error> {
        self.full.map_or(Ok(()), Err)
    }
}

impl Control for Within<'_> {
    fn progress(&mut self, done: usize, total: usize) {
        self.control.progress(done, total);
    }

    fn interrupted(&mut self) -> bool {
        self.full = self.full.take().or_else(|| self.filled.check().err());
        self.full.is_some() || self.control.interrupted()
    }
}
