//! The input is a store's layout of an HDF5 tag.
#![no_main]

use trajet_fuzz::{Kept, kept, seeds, target};

target!(seeds::with_cut(seeds::store::kept(Kept::Chunks)), |input| kept(Kept::Chunks, input));
