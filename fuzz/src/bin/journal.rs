//! The input is the journal of a killed operation on a store.
#![no_main]

use trajet_fuzz::{Record, record, seeds, target};

target!(seeds::of_record(Record::Journal), |input| record(Record::Journal, input));
