//! How much of a store may be on each tier, before, while and after something is written there.

use std::fs;
use std::path::{Path, PathBuf};

use trajet_engine::Control;

use crate::Error;

/// A tier that has a limit.
#[derive(Clone, Debug)]
pub(crate) struct Room {
    pub(crate) tier: String,
    /// Bytes of this store that are there.
    pub(crate) used: u64,
    pub(crate) limit: u64,
    /// Where that stands.
    pub(crate) settings: PathBuf,
}

impl Room {
    /// Makes sure that so many bytes more are within the limit.
    pub(crate) fn check(&self, needed: u64) -> Result<(), Error> {
        let &Room { ref tier, used, limit, ref settings } = self;
        if used.saturating_add(needed) <= limit {
            return Ok(());
        }
        let (tier, settings) = (tier.clone(), settings.clone());
        Err(Error::TierFull { tier, needed, used, limit, settings })
    }
}

/// Folders that are being filled, on tiers that have limits.
#[derive(Clone, Debug)]
pub struct Filled {
    pub(crate) folders: Vec<(PathBuf, Room)>,
    /// Files that will go when they are full.
    pub(crate) but: Vec<PathBuf>,
}

impl Filled {
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
