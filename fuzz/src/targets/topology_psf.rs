//! The input is a PSF file.

use crate::{Target, seeds, topology};

pub(crate) const TARGET: Target = Target {
    seeds: || seeds::with_cut(seeds::topology::psf()),
    check: |input| {
        topology("PSF", input);
        true
    },
};
