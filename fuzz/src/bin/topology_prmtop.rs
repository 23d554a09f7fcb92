//! The input is a PRMTOP file.
#![no_main]

use trajet_fuzz::{seeds, target, topology};

target!(seeds::with_cut(seeds::topology::prmtop()), |input| topology("PRMTOP", input));
