//! The input is an mmCIF file.
#![no_main]

use trajet_fuzz::{seeds, structure, target};

target!(seeds::with_cut(seeds::mmcif_files()), |input| structure("mmCIF", input));
