//! Fuzz targets for every parser, and their initial inputs.
//!
//! A target writes its input to a file, opens it in several ways, and reads everything that can be read. No input may
//! panic, take more memory than its size allows, or last ten seconds, and results must not depend on the way of
//! reading: see [`trajectory`], [`h5md`], [`sidecar`], [`heads`], [`stored_file()`], [`record()`], [`structure()`],
//! [`topology()`] and [`selection()`]. CONTRIBUTING.md describes how to run them.

mod case;
mod disk;
mod heads;
mod laws;
mod memory;
mod reading;
mod records;
pub mod seeds;
mod selection;
mod sidecar;
mod store;
mod stored;
mod structure;
mod tables;
mod topology;
mod written;

pub use case::{h5md, trajectory};
pub use heads::heads;
pub use records::{Record, record};
pub use selection::selection;
pub use sidecar::sidecar;
pub use store::{StoredFile, stored_file};
pub use structure::structure;
pub use topology::topology;
pub use trajet_formats::Format;

/// Defines a fuzz target: its initial inputs, and the check of an input.
#[macro_export]
macro_rules! target {
    ($seeds:expr, |$input:ident| $check:expr) => {
        libfuzzer_sys::fuzz_target!(
            init: $crate::seeds::write(|| $seeds),
            |$input: &[u8]| -> libfuzzer_sys::Corpus { $check.into() }
        );
    };
}
