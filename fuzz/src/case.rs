//! Trajectories as inputs.

use std::sync::Arc;

use libfuzzer_sys::Corpus;
use trajet_io::{Described, Format, OpenOptions};

use crate::disk::OnDisk;
use crate::laws::Case;
use crate::memory::{EACH, EACH_DEFLATED, FIXED};
use crate::tables;

/// The format that the door takes an input for.
fn format_of(input: &[u8]) -> Option<Format> {
    let format = Format::of_first_bytes(&input[..input.len().min(16)]);
    format.filter(|format| format.info().is_written_here)
}

/// Opens and reads an input, a whole file, in all ways, which must agree:
///
/// - the index is the same for any number of pieces;
/// - all sets of vector instructions give the same bits or the same error;
/// - some atoms, read from the last frame to the first, are those atoms of the whole frame;
/// - the raw frame, converted, is the frame, and raw some atoms are those of the raw frame;
/// - frames that are copied are the bytes of the file;
/// - what opens strictly opens where a cut tail is allowed, with the same frames; and the other way
///   round nothing but a cut is between them;
/// - requests of another size read what those of the common size do (they may read more of a damaged
///   file: DCD's markers are compared where they are read);
/// - a worker elsewhere, who is told where the frames are, reads the same;
/// - what a format can hold is written and read again: every bit, where the format is the same or holds
///   floats in our units.
///
/// An input that another target is about is rejected.
pub fn trajectory(format: Format, input: &[u8]) -> Corpus {
    if format_of(input).is_some_and(|other| other != format) {
        return Corpus::Reject;
    }
    let file = OnDisk::new(input);
    let case = Case {
        path: file.path(),
        bytes: input,
        options: without_sidecar(),
        described: Described::default(),
        most: EACH * input.len() + FIXED,
        turn: input.len(),
    };
    case.check();
    Corpus::Keep
}

/// The same for an HDF5 file. The input is what is told of its tables, and behind that the file, of
/// which no more is looked at than its first bytes and what is told of.
pub fn h5md(input: &[u8]) {
    let (mut description, rest) = tables::read(input);
    if input.len().is_multiple_of(2) {
        description = description.condensed();
    }
    let bytes = [&tables::MAGIC, rest].concat();
    let file = OnDisk::new(&bytes);
    let described = Described([(file.path().to_owned(), Arc::new(description))].into());
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
    OpenOptions { sidecar: false, ..OpenOptions::default() }
}
