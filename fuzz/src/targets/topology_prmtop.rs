//! The input is a PRMTOP file.

use crate::{Target, seeds, topology};

pub(crate) const TARGET: Target = Target {
    seeds: || seeds::with_cut(seeds::topology::prmtop()),
    check: |input| {
        topology("PRMTOP", input);
        true
    },
};
