//! The input is a whole file, of GRO or of no known format.
#![no_main]

use trajet_fuzz::{Format, seeds, target, trajectory};

target!(seeds::with_cut(files()), |input| trajectory(Format::Gro, input));

/// Returns files of one frame, and one of three frames with times.
fn files() -> Vec<Vec<u8>> {
    let mut files = seeds::topology::gro();
    let first = String::from_utf8_lossy(&files[1]);
    let frame = |k: usize| first.replacen("title", &format!("t= {k}.50000 step= {k}"), 1);
    let frames = [frame(0), frame(1), frame(2)].concat();
    files.push(frames.into_bytes());
    files
}
