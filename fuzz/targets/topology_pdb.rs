//! The input is a PDB file.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| trajet_fuzz::topology("PDB", input));
