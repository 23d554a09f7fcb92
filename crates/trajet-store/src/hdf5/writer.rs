//! What writes files of HDF5, and the work that it is given.

use std::fmt::Debug;
use std::path::Path;

use trajet_io::h5md::Description;
use trajet_io::{Chain, OpenOptions};

use crate::limits::Filled;

/// Writes files of HDF5.
pub trait Writer: Debug + Send + Sync {
    /// Writes and syncs a file, and returns its layout.
    ///
    /// # Errors
    /// In words.
    fn write(&self, job: Job<'_>) -> Result<Description, String>;
}

/// A file to be written.
pub struct Job<'a> {
    /// What it is to hold: all positions, cells, times and steps.
    pub chain: Chain,
    /// How that was opened.
    pub options: OpenOptions,
    /// Where it is to be.
    pub path: &'a Path,
    /// Whether it is to hold all that frames say in units of their own, as the original does: that is H5MD.
    pub own: bool,
    /// Whether it is to hold velocities, where frames have some.
    pub velocities: bool,
    /// Whether it is to hold forces, where frames have some.
    pub forces: bool,
    /// What is not to become too full: to be looked at now and then.
    pub filled: Filled,
    /// On how many threads.
    pub threads: usize,
    /// What part of the work this is.
    pub stage: Stage,
}

/// A part of work of which all parts count alike.
#[derive(Clone, Copy, Debug)]
pub struct Stage {
    /// Which one, from 0.
    pub number: usize,
    /// How many there are.
    pub of: usize,
}

impl Stage {
    /// How much of all work is done where `done` of `total` is of this part, as a part of `total`.
    pub fn done(self, done: usize, total: usize) -> usize {
        (self.number * total + done) / self.of
    }
}
