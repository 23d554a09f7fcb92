//! The input is a topology of the format LAMMPS data.

use crate::{Target, seeds, topology};

pub(crate) const TARGET: Target = Target {
    seeds: || seeds::with_cut(seeds::topology::lammps_data()),
    check: |input| {
        topology("LAMMPS data", input);
        true
    },
};
