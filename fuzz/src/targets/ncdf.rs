//! The input is a whole file, of NCDF or of no known format.

use crate::{Format, Target, seeds, trajectory};

pub(crate) const TARGET: Target = Target {
    seeds: || seeds::with_cut(seeds::ncdf::files()),
    check: |input| trajectory(Format::Ncdf, input),
};
