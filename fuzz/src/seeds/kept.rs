//! Stored indexes, as the library leaves them beside the files of [`super::indexed`].

use std::ops::Range;

use trajet_files::{OpenOptions, Serial};

use crate::case::in_pieces;
use crate::disk::OnDisk;
use crate::sidecar::beside;

const HEADER_BYTES: usize = 64;
const END_AT: usize = 32;
const FRAMES_AT: usize = 56;

/// Returns stored indexes, sound and damaged.
pub(crate) fn indices() -> Vec<Vec<u8>> {
    let mut kept = Vec::new();
    for file in super::indexed() {
        let n = file.len();
        // Indexes of the whole file, of the file before it grew, and of one truncated in its last frame.
        kept.extend([n, n - 10, n / 2, 9 * n / 10].iter().filter_map(|&n| index_of(&file[..n])));
        // Indexes of sound frames that are not all.
        for whole in [&file[..], &file[..n - 10]].into_iter().filter_map(index_of) {
            let frames = n_frames(&whole);
            kept.extend([
                only(&whole, 1..frames),
                only(&whole, 0..frames - 1),
                only(&whole, 5..6),
                only(&whole, 0..3),
            ]);
        }
    }
    // In all four variants of `crate::sidecar`, which depend on the last byte.
    let ways = |index: &Vec<u8>| {
        [0, 1, 2, 3].map(|way| {
            let mut index = index.clone();
            let last = index.last_mut().expect("a digest");
            *last = *last & !3 | way;
            index
        })
    };
    kept.iter().flat_map(ways).chain(kept.iter().cloned()).collect()
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

fn n_frames(index: &[u8]) -> usize {
    word(index, FRAMES_AT) as usize
}

/// Returns the stored index with only some of its frames. The target corrects the digests.
fn only(index: &[u8], frames: Range<usize>) -> Vec<u8> {
    let n = n_frames(index);
    let offset = |frame: usize| match frame == n {
        true => word(index, END_AT),
        false => word(index, HEADER_BYTES + 8 * frame),
    };
    let mut bytes = index[..HEADER_BYTES].to_vec();
    bytes[END_AT..END_AT + 8].copy_from_slice(&offset(frames.end).to_le_bytes());
    bytes[FRAMES_AT..].copy_from_slice(&(frames.len() as u64).to_le_bytes());
    for column in 0..3 {
        let begin = HEADER_BYTES + 8 * n * column;
        bytes.extend(&index[begin + 8 * frames.start..begin + 8 * frames.end]);
    }
    bytes.extend([0; 8]);
    bytes
}

fn index_of(bytes: &[u8]) -> Option<Vec<u8>> {
    let file = OnDisk::new(bytes);
    let options = OpenOptions { allow_truncated_tail: true, ..in_pieces() };
    trajet_files::open(file.path(), &options, &Serial).ok()?;
    std::fs::read(beside(file.path())).ok()
}
