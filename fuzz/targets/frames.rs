//! The input is what a store keeps of the frames of a data set.
#![no_main]

use trajet_fuzz::Kept;

libfuzzer_sys::fuzz_target!(|input: &[u8]| trajet_fuzz::kept(Kept::Frames, input));
