//! The input is a PRMTOP file.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| trajet_fuzz::topology("PRMTOP", input));
