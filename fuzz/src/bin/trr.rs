//! The input is a whole file, of TRR or of no known format.
#![no_main]

use trajet_fuzz::{Format, seeds, target, trajectory};

target!(seeds::with_cut(seeds::trr::files()), |input| trajectory(Format::Trr, input));
