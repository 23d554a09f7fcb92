//! The input is the manifest of a data set.
#![no_main]

use trajet_fuzz::Record;

libfuzzer_sys::fuzz_target!(|input: &[u8]| trajet_fuzz::record(Record::Manifest, input));
