//! Trajectory files as inputs.

use std::sync::Arc;

use trajet_files::{HdfLayouts, OpenOptions};
use trajet_formats::{Format, Writing};

use crate::disk::OnDisk;
use crate::laws::Case;
use crate::memory::{EACH, EACH_DEFLATED, FIXED};
use crate::tables;

/// Returns the format that the reader detects for an input.
fn format_of(input: &[u8]) -> Option<Format> {
    let format = Format::of_first_bytes(&input[..input.len().min(16)]);
    format.filter(|format| format.info().writing != Writing::Numbers)
}

/// Opens and reads an input, a whole file, in all ways, which must agree:
///
/// - the index is the same for any number of pieces;
/// - all sets of vector instructions give the same bits or the same error;
/// - some atoms, read from the last frame to the first, are those atoms of the whole frame;
/// - the raw frame, converted, is the frame, and a raw frame of some atoms has those of the raw frame;
/// - copied frames are the bytes of the file;
/// - a file that opens with strict options opens with truncated tails allowed, with the same frames; only truncated
///   files open with the latter alone;
/// - requests of another size give what those of the default size do (they may read more of a damaged file, as the
///   markers of DCD are compared when they are read);
/// - a worker process that is sent the offsets of the frames reads the same;
/// - a frame that a format can hold can be written and read again: with the same bits if the format is the same or
///   holds floats in our units.
///
/// Returns `false` for inputs of another target's format.
pub(crate) fn trajectory(format: Format, input: &[u8]) -> bool {
    if format_of(input).is_some_and(|other| other != format) {
        return false;
    }
    // Text files are recognised by their suffix.
    let file = OnDisk::named(input, &format!("input.{}", format.suffix()));
    let case = Case {
        path: file.path(),
        bytes: input,
        options: without_sidecar(),
        described: HdfLayouts::default(),
        most: EACH * input.len() + FIXED,
        turn: input.len(),
    };
    case.check();
    true
}

/// Checks an HDF5 file. The input is an encoded description of its tables ([`tables::read`]), followed by the file.
/// Only the first bytes of the file and the ranges in the description are read.
pub(crate) fn h5md(input: &[u8]) {
    let (mut description, rest) = tables::read(input);
    if input.len().is_multiple_of(2) {
        description = description.condensed();
    }
    let bytes = [&tables::MAGIC, rest].concat();
    let file = OnDisk::new(&bytes);
    let described = HdfLayouts([(file.path().to_owned(), Arc::new(description))].into());
    let case = Case {
        path: file.path(),
        bytes: &bytes,
        options: without_sidecar(),
        described,
        most: EACH_DEFLATED * (input.len() + tables::MAGIC.len()) + FIXED,
        turn: input.len(),
    };
    case.check();
}

pub(crate) fn without_sidecar() -> OpenOptions {
    OpenOptions { sidecar: false, ..in_pieces() }
}

/// Returns the default options, but that several threads index even small files.
pub(crate) fn in_pieces() -> OpenOptions {
    OpenOptions { least_piece: 64, ..OpenOptions::default() }
}
