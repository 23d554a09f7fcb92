//! The input is a file of per-frame data other than atoms.
#![no_main]

use trajet_fuzz::{heads, seeds, target};

target!(seeds::with_cut(seeds::heads::files()), |input| heads(input));
