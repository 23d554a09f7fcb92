//! The input is a stored index beside a small sound file.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| trajet_fuzz::sidecar(input));
