//! The input is a GRO file.
#![no_main]

use trajet_fuzz::{seeds, target, topology};

target!(seeds::with_cut(seeds::topology::gro()), |input| topology("GRO", input));
