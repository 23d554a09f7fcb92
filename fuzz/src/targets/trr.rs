//! The input is a whole file, of TRR or of no known format.

use crate::{Format, Target, seeds, trajectory};

pub(crate) const TARGET: Target = Target {
    seeds: || seeds::with_cut(seeds::trr::files()),
    check: |input| trajectory(Format::Trr, input),
};
