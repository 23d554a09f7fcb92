//! The input is an encoded layout of an HDF5 file, and the file.

use crate::{Target, h5md, seeds};

pub(crate) const TARGET: Target = Target {
    seeds: || seeds::with_cut(seeds::h5md::files()),
    check: |input| {
        h5md(input);
        true
    },
};
