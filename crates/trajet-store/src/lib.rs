//! A store keeps trajectories divided by tags: each group of atoms in files of its own, on the storage tier
//! that suits it. All tags together are the original.

mod catalog;
mod change;
mod disk;
mod divide;
mod error;
pub mod face;
mod growth;
pub mod hdf5;
mod ingest;
mod limits;
mod location;
mod loss;
pub mod manifest;
pub mod mount;
mod operation;
pub mod table;
mod tiers;
mod uses;
mod verify;
mod view;

pub use catalog::{MOST_TIERS, Store};
pub use error::Error;
pub use ingest::{Done, ENCODER, Given, Spec};
pub use limits::Filled;
pub use manifest::{Manifest, Tier};
pub use uses::Use;
pub use view::Dataset;
