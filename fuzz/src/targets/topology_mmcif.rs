//! The input is an mmCIF file.

use crate::{Target, seeds, structure};

pub(crate) const TARGET: Target = Target {
    seeds: || seeds::with_cut(seeds::mmcif_files()),
    check: |input| {
        structure("mmCIF", input);
        true
    },
};
