//! The input is a PSF file.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| trajet_fuzz::topology("PSF", input));
