//! The input is a profile: tiers and tags by which a trajectory is partitioned.

use crate::{Record, Target, record, seeds};

pub(crate) const TARGET: Target = Target {
    seeds: || seeds::of_record(Record::Profile),
    check: |input| {
        record(Record::Profile, input);
        true
    },
};
