//! The input is an mmCIF file.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| trajet_fuzz::structure("mmCIF", input));
