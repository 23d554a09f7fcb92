//! The input is a byte that chooses the compression and sizes of pieces, and a compressed file.

use trajet_formats::compression::{Compression, Decompressor, INPUT_BYTES, Step};

use crate::{Target, seeds};

pub(crate) const TARGET: Target = Target { seeds: files, check };

/// Content that is enough.
const MAX: usize = 1 << 20;

/// Checks that the content does not depend on the pieces in which it is read.
fn check(input: &[u8]) -> bool {
    let Some((&chosen, file)) = input.split_first() else { return false };
    let kind = if chosen % 2 == 0 { Compression::Gzip } else { Compression::Zstd };
    let piece = usize::from(chosen / 2) + 1;
    let whole = content(kind, file, file.len(), 1 << 16);
    let pieces = content(kind, file, piece, 1000 / piece + 1);
    match (&whole, &pieces) {
        (Some(whole), Some(pieces)) => assert_eq!(whole, pieces),
        // An error behind the part that is compared.
        (None, Some(longest)) | (Some(longest), None) => assert_eq!(longest.len(), MAX),
        (None, None) => {}
    }
    true
}

/// Returns the content, at most [`MAX`] bytes of it; `None` if the file is damaged or cut.
fn content(kind: Compression, file: &[u8], piece: usize, out: usize) -> Option<Vec<u8>> {
    let mut decompressor = Decompressor::new(kind);
    let (mut at, mut shown, mut output, mut found) = (0, piece, vec![0; out], Vec::new());
    while found.len() < MAX {
        let input = &file[at..file.len().min(at + shown)];
        let step = decompressor.step(input, &mut output).ok()?;
        assert!(step.taken <= input.len() && step.given <= out);
        at += step.taken;
        found.extend_from_slice(&output[..step.given]);
        match step == Step::default() {
            false => shown = piece,
            true if at + shown < file.len() => {
                assert!(shown < INPUT_BYTES, "no progress");
                shown = (2 * shown).min(INPUT_BYTES);
            }
            true if at == file.len() && decompressor.is_between_streams() => break,
            true => return None,
        }
    }
    found.truncate(MAX);
    Some(found)
}

/// Returns files of both kinds, of several streams.
fn files() -> Vec<Vec<u8>> {
    let gzip = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xf3\x0c\x71\xf5\xb5\x52\x08\xf1\xf4\x75\x0d\x0e\x71\x0d\xe0\x32\xe0\xf2\x1c\x15\x18\x15\x18\x7c\x02\x00\x2f\x80\x5a\xb9\xa8\x02\x00\x00\x1f\x8b\x08\x00\x00\x00\x00\x00\x04\x03\x01\x02\x00\xfd\xff\x31\x0a\x53\xfc\x51\x67\x02\x00\x00\x00";
    let zstd = include_bytes!("../../../crates/trajet-formats/src/compression/zstd_1_5.zst");
    let skippable = b"\x50\x2a\x4d\x18\x02\0\0\0ab";
    let run = b"\x28\xb5\x2f\xfd\x00\x58\x43\x1f\x00x";
    let files: [Vec<u8>; 4] = [
        [&[0][..], gzip].concat(),
        [&[99][..], zstd].concat(),
        [&[7][..], skippable, zstd].concat(),
        [&[255][..], run].concat(),
    ];
    seeds::with_cut(files.into())
}
