//! The input is a store's frame table.
#![no_main]

use trajet_fuzz::Kept;

libfuzzer_sys::fuzz_target!(|input: &[u8]| trajet_fuzz::kept(Kept::Frames, input));
