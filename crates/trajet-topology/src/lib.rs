//! Topologies: atoms, residues, segments and bonds, the files that hold them, and the selection language.
//!
//! This crate reads no coordinates of trajectories and starts no thread. Texts are stored once per distinct value
//! ([`Column`]), so that a selection by name compares each distinct name once.

// Only x86-64 has vector instructions here; what they alone need is unused elsewhere.
#![cfg_attr(not(target_arch = "x86_64"), allow(dead_code, unused_imports))]

mod alternate_locations;
mod bonds;
mod cell;
pub mod cell_list;
mod column;
mod consistency;
#[cfg(test)]
mod cut_files;
pub mod elements;
mod error;
mod formats;
mod gro;
mod grouping;
mod guess;
mod guessed_bonds;
mod lammps;
mod missing_bonds;
mod mmcif;
mod particles;
mod pdb;
mod places;
mod prmtop;
mod psf;
pub mod select;
mod subset;
mod text;
mod topology;
mod tpr;
mod write;
mod xyz;

pub use alternate_locations::AlternateLocations;
pub use bonds::Bonds;
pub use column::{Column, ColumnBuilder};
pub use error::{Error, Location, TopologyError};
pub use formats::{Content, FORMATS, FormatInfo, open, recognise};
pub use grouping::UNNAMED_SEGMENT;
pub use guess::NotGuessed;
pub use missing_bonds::{MAX_UNCONNECTED, Unconnected};
pub use particles::HEAVIEST_HYDROGEN;
pub use places::Places;
pub use topology::{
    Atoms, Guessed, Molecules, Particle, Residues, Segments, Structure, Topology, connected,
};
pub use write::{NotWritten, write};
