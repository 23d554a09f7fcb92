//! Initial inputs: small files of every kind, written by naive code that shares nothing with the readers.

mod dcd;
mod h5md;
mod heads;
mod kept;
mod ncdf;
mod store;
mod topology;
// The writer that the tests of the parser use.
#[path = "../../crates/trajet-topology/src/tpr/tests/made.rs"]
mod tpr;
mod trr;
mod xtc;

use crate::records::{Record, seeds_of};
use crate::store::Kept;

/// Reproducible pseudorandom numbers (xorshift).
struct Drawn(u64);

impl Drawn {
    fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 32) as u32
    }

    /// Returns a number below `n`.
    fn below(&mut self, n: u32) -> u32 {
        self.next() % n
    }

    /// Returns a coordinate between -50 and 50 that a float can represent.
    fn coordinate(&mut self) -> f64 {
        f64::from(self.below(100_000)) / 1024.0 - 50.0
    }
}

/// Returns the seeds of each target, by its name.
pub fn all() -> Vec<(&'static str, Vec<Vec<u8>>)> {
    vec![
        ("xtc", with_cut(xtc::files())),
        ("trr", with_cut(trr::files())),
        ("dcd", with_cut(dcd::files())),
        ("ncdf", with_cut(ncdf::files())),
        ("h5md", with_cut(h5md::files())),
        ("pdb", with_cut(topology::pdb())),
        ("gro", with_cut(topology::several_gro())),
        ("sidecar", kept::indices()),
        ("heads", with_cut(heads::files())),
        ("chunks", with_cut(store::kept(Kept::Chunks))),
        ("frames", with_cut(store::kept(Kept::Frames))),
        ("manifest", seeds_of(Record::Manifest)),
        ("selection", crate::selection::seeds()),
        ("settings", seeds_of(Record::Settings)),
        ("journal", seeds_of(Record::Journal)),
        ("uses", seeds_of(Record::Uses)),
        ("profile", seeds_of(Record::Profile)),
        ("topology_tpr", with_cut(tpr_files())),
        (
            "topology_mmcif",
            with_cut(vec![
                include_bytes!("../../crates/trajet-topology/src/mmcif/tests/small.cif").to_vec(),
            ]),
        ),
        ("topology_gro", with_cut(topology::gro())),
        ("topology_pdb", with_cut(topology::pdb())),
        ("topology_psf", with_cut(topology::psf())),
        ("topology_prmtop", with_cut(topology::prmtop())),
    ]
}

/// Returns a sound file of each format that stores an index, with more frames than are checked before a stored index is
/// trusted.
pub fn indexed() -> [Vec<u8>; 3] {
    [xtc::many_frames(), trr::many_frames(), ncdf::many_frames()]
}

/// Returns a TPR file of each version that changed the layout.
fn tpr_files() -> Vec<Vec<u8>> {
    let versions = [103, 113, 116, 117, 119, 120, 121, 127, 128, 134, 137, 139];
    versions.into_iter().map(|version| tpr::file(version, version % 3 == 0, 2)).collect()
}

/// Returns the files, and each with its end cut off.
fn with_cut(files: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let cut: Vec<_> = files.iter().map(|file| file[..file.len() - 5].to_vec()).collect();
    files.into_iter().chain(cut).collect()
}
