//! The input is a PSF file.
#![no_main]

use trajet_fuzz::{seeds, target, topology};

target!(seeds::with_cut(seeds::topology::psf()), |input| topology("PSF", input));
