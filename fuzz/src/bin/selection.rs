//! The input is the text of a selection.
#![no_main]

use trajet_fuzz::{seeds, selection, target};

target!(seeds::of_selections(), |input| selection(input));
