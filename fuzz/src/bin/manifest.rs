//! The input is the manifest of a data set.
#![no_main]

use trajet_fuzz::{Record, record, seeds, target};

target!(seeds::of_record(Record::Manifest), |input| record(Record::Manifest, input));
