//! The input is a store's frame table.
#![no_main]

use trajet_fuzz::{StoredFile, seeds, stored_file, target};

target!(seeds::with_cut(seeds::store::stored_file(StoredFile::Frames)), |input| stored_file(
    StoredFile::Frames,
    input
));
