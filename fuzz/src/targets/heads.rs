//! The input is a file of per-frame data other than atoms.

use crate::{Target, heads, seeds};

pub(crate) const TARGET: Target = Target {
    seeds: || seeds::with_cut(seeds::heads::files()),
    check: |input| {
        heads(input);
        true
    },
};
