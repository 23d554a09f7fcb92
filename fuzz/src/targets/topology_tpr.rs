//! The input is a TPR file.

use crate::{Target, seeds, structure};

pub(crate) const TARGET: Target = Target {
    seeds: || seeds::with_cut(seeds::tpr_files()),
    check: |input| {
        structure("TPR", input);
        true
    },
};
