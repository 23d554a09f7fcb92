//! The input is a whole file, of PDB or of no known format.
#![no_main]

use trajet_fuzz::{Format, seeds, target, trajectory};

target!(seeds::with_cut(seeds::topology::pdb()), |input| trajectory(Format::Pdb, input));
