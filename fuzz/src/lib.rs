//! Fuzz targets for every parser, and their initial inputs.
//!
//! A target writes its input to a file, opens it in several ways, and reads everything that can be read. No input may
//! panic, take more memory than its size allows, or last ten seconds, and results must not depend on the way of
//! reading: see `trajectory`, `h5md`, `sidecar`, `heads`, `stored_file()`, `record()`, `structure()`,
//! `topology()` and `selection()`. CONTRIBUTING.md describes how to run them.

mod case;
mod disk;
mod heads;
mod laws;
mod memory;
mod mutations;
mod reading;
mod records;
mod seeds;
mod selection;
mod sidecar;
mod store;
mod stored;
mod structure;
mod tables;
mod targets;
mod topology;
mod written;

use case::{h5md, trajectory};
use heads::heads;
use records::{Record, record};
use selection::selection;
use sidecar::sidecar;
use store::{StoredFile, stored_file};
use structure::structure;
use topology::topology;
use trajet_formats::Format;

pub use mutations::{Mutations, watch};
pub use seeds::write_seeds;
pub use targets::{TARGETS, Target, target};
