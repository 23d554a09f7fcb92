//! The input is a store's frame table.

use crate::{StoredFile, Target, seeds, stored_file};

pub(crate) const TARGET: Target = Target {
    seeds: || seeds::with_cut(seeds::store::stored_file(StoredFile::Frames)),
    check: |input| {
        stored_file(StoredFile::Frames, input);
        true
    },
};
