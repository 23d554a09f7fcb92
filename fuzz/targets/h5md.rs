//! The input is an encoded layout of an HDF5 file, and the file.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| trajet_fuzz::h5md(input));
