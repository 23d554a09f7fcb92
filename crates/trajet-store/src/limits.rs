//! Limits on the bytes of a store on each tier, checked before, during and after writing.

use std::fs;
use std::path::{Path, PathBuf};

use trajet_engine::Control;

use crate::Error;

/// Usage and limit of a tier.
#[derive(Clone, Debug)]
pub(crate) struct TierUsage {
    pub(crate) tier: String,
    /// Bytes of this store on the tier.
    pub(crate) used: u64,
    pub(crate) limit: u64,
    /// The file in which the limit is set, for error messages.
    pub(crate) settings: PathBuf,
}

impl TierUsage {
    /// Checks that `needed` more bytes are within the limit.
    pub(crate) fn check(&self, needed: u64) -> Result<(), Error> {
        let &TierUsage { ref tier, used, limit, ref settings } = self;
        if used.saturating_add(needed) <= limit {
            return Ok(());
        }
        let (tier, settings) = (tier.clone(), settings.clone());
        Err(Error::TierFull { tier, needed, used, limit, settings })
    }
}

/// Folders that are being written to, on tiers that have limits.
#[derive(Clone, Debug)]
pub struct Filled {
    pub(crate) folders: Vec<(PathBuf, TierUsage)>,
    /// Temporary files, which do not count.
    pub(crate) excluded: Vec<PathBuf>,
}

impl Filled {
    /// Excludes files from the count.
    pub(crate) fn excluding(self, files: impl Iterator<Item = PathBuf>) -> Filled {
        Filled { excluded: files.collect(), ..self }
    }

    /// Checks that no folder exceeds the limit of its tier.
    ///
    /// # Errors
    /// [`Error::TierFull`].
    pub fn check(&self) -> Result<(), Error> {
        self.folders.iter().try_for_each(|(folder, usage)| usage.check(self.bytes_in(folder)))
    }

    /// Returns the total size of the files in a folder; files that cannot be inspected count as 0 bytes.
    fn bytes_in(&self, folder: &Path) -> u64 {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let entries = entries.filter(|entry| !self.excluded.contains(&entry.path()));
        entries.filter_map(|entry| entry.metadata().ok()).map(|found| found.len()).sum()
    }
}

/// Interrupts a run as soon as a folder exceeds the limit of its tier.
pub(crate) struct Within<'a> {
    control: &'a mut dyn Control,
    filled: &'a Filled,
    full: Option<Error>,
}

impl<'a> Within<'a> {
    pub(crate) fn new(filled: &'a Filled, control: &'a mut dyn Control) -> Within<'a> {
        Within { control, filled, full: None }
    }

    /// Returns the error if a limit was exceeded.
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
