//! The input is a TPR file.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| trajet_fuzz::structure("TPR", input));
