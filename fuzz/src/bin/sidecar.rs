//! The input is a stored index beside a small sound file.
#![no_main]

use trajet_fuzz::{seeds, sidecar, target};

target!(seeds::kept::indices(), |input| sidecar(input));
