//! The input is what a store says of itself and of its tiers.
#![no_main]

use trajet_fuzz::Record;

libfuzzer_sys::fuzz_target!(|input: &[u8]| trajet_fuzz::record(Record::Settings, input));
