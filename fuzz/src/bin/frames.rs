//! The input is a store's frame table.
#![no_main]

use trajet_fuzz::{Kept, kept, seeds, target};

target!(seeds::with_cut(seeds::store::kept(Kept::Frames)), |input| kept(Kept::Frames, input));
