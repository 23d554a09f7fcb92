//! The input is a whole file, of XTC or of no known format.
#![no_main]

use trajet_fuzz::{Format, seeds, target, trajectory};

target!(seeds::with_cut(seeds::xtc::files()), |input| trajectory(Format::Xtc, input));
