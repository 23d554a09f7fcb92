//! The input is a whole file, of DCD or of no known format.
#![no_main]

use trajet_fuzz::{Format, seeds, target, trajectory};

target!(seeds::with_cut(seeds::dcd::files()), |input| trajectory(Format::Dcd, input));
