//! The input is the settings of a store.
#![no_main]

use trajet_fuzz::{Record, record, seeds, target};

target!(seeds::of_record(Record::Settings), |input| record(Record::Settings, input));
