//! The input is a store's layout of an HDF5 tag.
#![no_main]

use trajet_fuzz::{StoredFile, seeds, stored_file, target};

target!(seeds::with_cut(seeds::store::stored_file(StoredFile::Chunks)), |input| stored_file(
    StoredFile::Chunks,
    input
));
