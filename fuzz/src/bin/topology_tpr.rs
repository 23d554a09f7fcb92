//! The input is a TPR file.
#![no_main]

use trajet_fuzz::{seeds, structure, target};

target!(seeds::with_cut(seeds::tpr_files()), |input| structure("TPR", input));
