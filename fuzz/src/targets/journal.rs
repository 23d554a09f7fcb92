//! The input is the journal of a killed operation on a store.

use crate::{Record, Target, record, seeds};

pub(crate) const TARGET: Target = Target {
    seeds: || seeds::of_record(Record::Journal),
    check: |input| {
        record(Record::Journal, input);
        true
    },
};
