//! The input is a topology of the format LAMMPS.

use crate::{Target, seeds, topology};

pub(crate) const TARGET: Target = Target {
    seeds: || seeds::with_cut(seeds::topology::lammps()),
    check: |input| {
        topology("LAMMPS", input);
        true
    },
};
