//! The input is a profile: tiers and tags by which a trajectory is partitioned.
#![no_main]

use trajet_fuzz::{Record, record, seeds, target};

target!(seeds::of_record(Record::Profile), |input| record(Record::Profile, input));
