//! The input is a file of per-frame data other than atoms.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| trajet_fuzz::heads(input));
