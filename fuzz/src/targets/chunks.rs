//! The input is a store's layout of an HDF5 tag.

use crate::{StoredFile, Target, seeds, stored_file};

pub(crate) const TARGET: Target = Target {
    seeds: || seeds::with_cut(seeds::store::stored_file(StoredFile::Chunks)),
    check: |input| {
        stored_file(StoredFile::Chunks, input);
        true
    },
};
