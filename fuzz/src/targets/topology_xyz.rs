//! The input is a topology of the format XYZ.

use crate::{Target, seeds, topology};

pub(crate) const TARGET: Target = Target {
    seeds: || seeds::with_cut(seeds::topology::xyz()),
    check: |input| {
        topology("XYZ", input);
        true
    },
};
