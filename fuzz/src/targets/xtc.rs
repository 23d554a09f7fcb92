//! The input is a whole file, of XTC or of no known format.

use crate::{Format, Target, seeds, trajectory};

pub(crate) const TARGET: Target = Target {
    seeds: || seeds::with_cut(seeds::xtc::files()),
    check: |input| trajectory(Format::Xtc, input),
};
