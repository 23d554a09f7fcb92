//! The input is a whole file, of DCD or of no known format.

use crate::{Format, Target, seeds, trajectory};

pub(crate) const TARGET: Target = Target {
    seeds: || seeds::with_cut(seeds::dcd::files()),
    check: |input| trajectory(Format::Dcd, input),
};
