//! The input is a GRO file.

use crate::{Target, seeds, topology};

pub(crate) const TARGET: Target = Target {
    seeds: || seeds::with_cut(seeds::topology::gro()),
    check: |input| {
        topology("GRO", input);
        true
    },
};
