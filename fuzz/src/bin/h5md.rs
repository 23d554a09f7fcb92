//! The input is an encoded layout of an HDF5 file, and the file.
#![no_main]

use trajet_fuzz::{h5md, seeds, target};

target!(seeds::with_cut(seeds::h5md::files()), |input| h5md(input));
