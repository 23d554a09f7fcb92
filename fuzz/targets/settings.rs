//! The input is the settings of a store.
#![no_main]

use trajet_fuzz::Record;

libfuzzer_sys::fuzz_target!(|input: &[u8]| trajet_fuzz::record(Record::Settings, input));
