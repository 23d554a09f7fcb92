//! The input is the manifest of a data set.

use crate::{Record, Target, record, seeds};

pub(crate) const TARGET: Target = Target {
    seeds: || seeds::of_record(Record::Manifest),
    check: |input| {
        record(Record::Manifest, input);
        true
    },
};
