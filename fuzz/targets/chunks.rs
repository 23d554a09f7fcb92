//! The input is what a store keeps of the tables of a tag in HDF5.
#![no_main]

use trajet_fuzz::Kept;

libfuzzer_sys::fuzz_target!(|input: &[u8]| trajet_fuzz::kept(Kept::Chunks, input));
