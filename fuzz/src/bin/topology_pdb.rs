//! The input is a PDB file.
#![no_main]

use trajet_fuzz::{seeds, target, topology};

target!(seeds::with_cut(seeds::topology::pdb()), |input| topology("PDB", input));
