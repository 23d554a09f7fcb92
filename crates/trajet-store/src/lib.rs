//! Stores trajectories partitioned by tags: each group of atoms in files of its own, on the storage tier that suits it.
//! All tags together make up the original trajectory.

mod access_log;
mod append_check;
mod atomic_files;
mod catalog;
mod change;
mod control;
mod divide;
mod error;
mod file_check;
pub mod hdf5;
mod ingest;
mod journal;
mod limits;
mod links;
mod location;
pub mod manifest;
/// Needs FUSE as Linux has it.
#[cfg(target_os = "linux")]
pub mod mount;
mod omitted_fields;
pub mod partitioned;
mod receive;
mod resolve;
mod store_files;
pub mod table;
mod tag_format;
mod tier_changes;
mod tiers;
mod transaction;
mod verify;
mod view;
pub mod virtual_file;

pub use access_log::{Access, LOG as ACCESS_LOG};
pub use catalog::{MANIFEST, SETTINGS, Store};
pub use divide::{AddedFiles, PartitionOutcome};
pub use error::Error;
pub use ingest::{ENCODER, Spec};
pub use limits::Filled;
pub use manifest::{MAX_TIERS, Manifest, Tier};
pub use receive::CopiedFile;
pub use store_files::StoreFiles;
pub use view::Dataset;
