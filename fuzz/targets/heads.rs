//! The input is a file of what frames say beside their atoms.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| trajet_fuzz::heads(input));
