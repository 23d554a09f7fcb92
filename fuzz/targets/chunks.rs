//! The input is a store's layout of an HDF5 tag.
#![no_main]

use trajet_fuzz::Kept;

libfuzzer_sys::fuzz_target!(|input: &[u8]| trajet_fuzz::kept(Kept::Chunks, input));
