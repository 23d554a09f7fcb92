//! The first inputs: small files of every kind, by naive writers that share nothing with the readers.

mod dcd;
mod h5md;
mod heads;
mod kept;
mod ncdf;
mod store;
mod trr;
mod xtc;

use crate::records::{Record, seeds_of};
use crate::store::Kept;

/// Numbers that look like any, and are the same each time (xorshift).
struct Drawn(u64);

impl Drawn {
    fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 32) as u32
    }

    /// Below `n`.
    fn below(&mut self, n: u32) -> u32 {
        self.next() % n
    }

    /// A coordinate between -50 and 50 that a float holds exactly.
    fn coordinate(&mut self) -> f64 {
        f64::from(self.below(100_000)) / 1024.0 - 50.0
    }
}

/// The seeds of each target, by its name.
pub fn all() -> Vec<(&'static str, Vec<Vec<u8>>)> {
    vec![
        ("xtc", with_cut(xtc::files())),
        ("trr", with_cut(trr::files())),
        ("dcd", with_cut(dcd::files())),
        ("ncdf", with_cut(ncdf::files())),
        ("h5md", with_cut(h5md::files())),
        ("sidecar", kept::indices()),
        ("heads", with_cut(heads::files())),
        ("chunks", with_cut(store::kept(Kept::Chunks))),
        ("frames", with_cut(store::kept(Kept::Frames))),
        ("manifest", seeds_of(Record::Manifest)),
        ("settings", seeds_of(Record::Settings)),
        ("journal", seeds_of(Record::Journal)),
        ("uses", seeds_of(Record::Uses)),
        ("profile", seeds_of(Record::Profile)),
    ]
}

/// A sound file of each format that keeps an index, of more frames than are looked at before a kept
/// index is believed.
pub fn indexed() -> [Vec<u8>; 3] {
    [xtc::many_frames(), trr::many_frames(), ncdf::many_frames()]
}

/// The files, and each cut at its end.
fn with_cut(files: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let cut: Vec<_> = files.iter().map(|file| file[..file.len() - 5].to_vec()).collect();
    files.into_iter().chain(cut).collect()
}
