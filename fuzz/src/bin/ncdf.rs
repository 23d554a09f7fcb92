//! The input is a whole file, of NCDF or of no known format.
#![no_main]

use trajet_fuzz::{Format, seeds, target, trajectory};

target!(seeds::with_cut(seeds::ncdf::files()), |input| trajectory(Format::Ncdf, input));
