//! The input is the access log of a data set.
#![no_main]

use trajet_fuzz::{Record, record, seeds, target};

target!(seeds::of_record(Record::Uses), |input| record(Record::Uses, input));
