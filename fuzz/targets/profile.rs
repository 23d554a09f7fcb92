//! The input is a profile: tiers and tags by which a trajectory is partitioned.
#![no_main]

use trajet_fuzz::Record;

libfuzzer_sys::fuzz_target!(|input: &[u8]| trajet_fuzz::record(Record::Profile, input));
