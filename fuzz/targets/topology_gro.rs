//! The input is a GRO file.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| trajet_fuzz::topology("GRO", input));
