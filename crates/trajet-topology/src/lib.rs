//! Topologies: atoms, residues, segments and bonds, the files that hold them, and the selection language.
//!
//! This crate reads no coordinates of trajectories and starts no thread. Texts are stored once per distinct value
//! ([`Column`]), so that a selection by name compares each distinct name once.

mod bonds;
mod column;
mod error;
mod topology;

pub use bonds::Bonds;
pub use column::{Column, ColumnBuilder};
pub use error::{Error, Location};
pub use topology::{Atoms, Guessed, Molecules, Residues, Segments, Topology};
