//! The input is the access log of a data set.

use crate::{Record, Target, record, seeds};

pub(crate) const TARGET: Target = Target {
    seeds: || seeds::of_record(Record::Uses),
    check: |input| {
        record(Record::Uses, input);
        true
    },
};
