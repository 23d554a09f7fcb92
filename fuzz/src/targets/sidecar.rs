//! The input is a stored index beside a small sound file.

use crate::{Target, seeds, sidecar};

pub(crate) const TARGET: Target = Target {
    seeds: seeds::kept::indices,
    check: |input| {
        sidecar(input);
        true
    },
};
