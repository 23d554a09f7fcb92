//! The interface of the writer of HDF5 files.

use std::fmt::Debug;
use std::path::Path;

use trajet_files::{Chain, OpenOptions};
use trajet_formats::h5md::Description;

use crate::limits::Filled;

/// Writes files of HDF5.
pub trait Writer: Debug + Send + Sync {
    /// Writes and syncs a file, and returns its layout.
    ///
    /// # Errors
    /// A message.
    fn write(&self, job: Job<'_>) -> Result<Description, String>;
}

/// A file to be written.
pub struct Job<'a> {
    /// The content: all positions, cells, times and steps.
    pub chain: Chain,
    /// The options that `chain` was opened with.
    pub options: OpenOptions,
    /// Path of the file to write.
    pub path: &'a Path,
    /// Whether to keep every field in the units of the original, an H5MD file.
    pub own: bool,
    /// Whether to write velocities, if frames have them.
    pub velocities: bool,
    /// Whether to write forces, if frames have them.
    pub forces: bool,
    /// Limits of tiers, to be checked from time to time.
    pub filled: Filled,
    /// Number of threads.
    pub threads: usize,
    /// The stage of the run, for progress.
    pub stage: Stage,
}

/// One of several stages of a run, which count equally in its progress.
#[derive(Clone, Copy, Debug)]
pub struct Stage {
    /// Index, from 0.
    pub number: usize,
    /// Number of stages.
    pub of: usize,
}

impl Stage {
    /// Returns the progress of the whole run, in units of `total`, if `done` of `total` of this stage are done.
    pub fn done(self, done: usize, total: usize) -> usize {
        (self.number * total + done) / self.of
    }
}
