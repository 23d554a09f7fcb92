//! The input is the journal of a killed operation on a store.
#![no_main]

use trajet_fuzz::Record;

libfuzzer_sys::fuzz_target!(|input: &[u8]| trajet_fuzz::record(Record::Journal, input));
