//! Initial inputs: small files of every kind, written by naive code that shares nothing with the readers.

pub(crate) mod dcd;
pub(crate) mod h5md;
pub(crate) mod heads;
pub(crate) mod kept;
pub(crate) mod ncdf;
pub(crate) mod store;
pub(crate) mod topology;
// The writer that the tests of the parser use.
#[path = "../../crates/trajet-topology/src/tpr/tests/made.rs"]
mod tpr;
pub(crate) mod trr;
pub(crate) mod xtc;

use std::path::Path;

pub(crate) use crate::records::seeds_of as of_record;
pub(crate) use crate::selection::seeds as of_selections;
use crate::targets::Target;

/// Reproducible pseudorandom numbers (xorshift).
#[derive(Debug)]
pub(crate) struct Drawn(pub(crate) u64);

impl Drawn {
    pub(crate) fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 32) as u32
    }

    /// Returns a number below `n`.
    pub(crate) fn below(&mut self, n: u32) -> u32 {
        self.next() % n
    }

    /// Returns a coordinate between -50 and 50 that a float can represent.
    fn coordinate(&mut self) -> f64 {
        f64::from(self.below(100_000)) / 1024.0 - 50.0
    }
}

/// Writes the seeds of a target to the folder that the environment variable `FUZZ_SEEDS` names, if it does.
///
/// # Panics
/// If they cannot be written.
pub fn write_seeds(target: Target) {
    let Some(folder) = std::env::var_os("FUZZ_SEEDS") else { return };
    let folder = Path::new(&folder);
    std::fs::create_dir_all(folder).expect("the folder of seeds can be made");
    for (k, bytes) in (target.seeds)().iter().enumerate() {
        let path = folder.join(format!("seed-{k:02}"));
        std::fs::write(path, bytes).expect("a seed can be written");
    }
}

/// Returns a sound file of each format that stores an index, with more frames than are checked before a stored index is
/// trusted.
pub(crate) fn indexed() -> [Vec<u8>; 3] {
    [xtc::many_frames(), trr::many_frames(), ncdf::many_frames()]
}

/// Returns a TPR file of each version that changed the layout.
pub(crate) fn tpr_files() -> Vec<Vec<u8>> {
    let versions = [103, 113, 116, 117, 119, 120, 121, 127, 128, 134, 137, 139];
    versions.into_iter().map(|version| tpr::file(version, version % 3 == 0, 2)).collect()
}

/// Returns mmCIF files.
pub(crate) fn mmcif_files() -> Vec<Vec<u8>> {
    vec![include_bytes!("../../crates/trajet-topology/src/mmcif/tests/small.cif").to_vec()]
}

/// Returns the files, and each with its end cut off.
pub(crate) fn with_cut(files: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let cut: Vec<_> = files.iter().map(|file| file[..file.len() - 5].to_vec()).collect();
    files.into_iter().chain(cut).collect()
}
