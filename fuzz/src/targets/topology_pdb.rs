//! The input is a PDB file.

use crate::{Target, seeds, topology};

pub(crate) const TARGET: Target = Target {
    seeds: || seeds::with_cut(seeds::topology::pdb()),
    check: |input| {
        topology("PDB", input);
        true
    },
};
