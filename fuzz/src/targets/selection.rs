//! The input is the text of a selection.

use crate::{Target, seeds, selection};

pub(crate) const TARGET: Target = Target {
    seeds: seeds::of_selections,
    check: |input| {
        selection(input);
        true
    },
};
