//! How much of a store may be on each tier, before, while and after something is written there.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use trajet_engine::Control;

use crate::manifest::Manifest;
use crate::{Error, Store};

/// A tier that has a limit.
#[derive(Debug)]
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
                *used.entry(file.tier.clone()).or_default() += file.bytes();
            }
        }
        Ok(used)
    }

    /// Makes sure that so many bytes more are within the limit of a tier.
    pub(crate) fn check_room(&self, name: &str, needed: u64) -> Result<(), Error> {
        match self.room_of(name)? {
            Some(room) => room.check(needed),
            None => Ok(()),
        }
    }

    /// What is left on a tier that has a limit.
    fn room_of(&self, name: &str) -> Result<Option<Room>, Error> {
        let Some(limit) = self.tier(name)?.limit else { return Ok(None) };
        let used = self.used()?.get(name).copied().unwrap_or(0);
        let (tier, settings) = (name.to_owned(), self.settings_path());
        Ok(Some(Room { tier, used, limit, settings }))
    }
}

/// Ends what is under way where folders take more than the limits of their tiers allow.
pub(crate) struct Within<'a> {
    control: &'a mut dyn Control,
    folders: Vec<(PathBuf, Room)>,
    full: Option<Error>,
}

impl<'a> Within<'a> {
    /// Looks at folders that are filled, each on the tier of that name.
    ///
    /// # Errors
    /// Those of [`Store::used`].
    pub(crate) fn new<'f>(
        store: &Store,
        folders: impl Iterator<Item = (&'f str, PathBuf)>,
        control: &'a mut dyn Control,
    ) -> Result<Within<'a>, Error> {
        let mut limited = Vec::new();
        for (tier, folder) in folders {
            limited.extend(store.room_of(tier)?.map(|room| (folder, room)));
        }
        Ok(Within { control, folders: limited, full: None })
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
        let over = |(folder, room): &(PathBuf, Room)| room.check(bytes_in(folder)).err();
        self.full = self.full.take().or_else(|| self.folders.iter().find_map(over));
        self.full.is_some() || self.control.interrupted()
    }
}

/// Bytes of the files in a folder, as far as they can be counted.
fn bytes_in(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.metadata().ok()).map(|found| found.len()).sum()
}
