//! The input is the settings of a store.

use crate::{Record, Target, record, seeds};

pub(crate) const TARGET: Target = Target {
    seeds: || seeds::of_record(Record::Settings),
    check: |input| {
        record(Record::Settings, input);
        true
    },
};
