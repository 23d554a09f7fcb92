//! Reads H5MD, the HDF5 layout for molecular data, and mdtraj's HDF5 layout.
//!
//! Source: P. de Buyl, P. H. Colberg, F. Höfling, "H5MD: A structured, efficient, and portable file
//! format for molecular data", Comput. Phys. Commun. 185, 1546 (2014), and its specification 1.1; the
//! "MDTraj HDF5 format specification" 1.1. Code outside of this crate uses libhdf5 to find where the numbers
//! of a file are stored ([`Description`]). This module reads, unpacks and converts them itself, because libhdf5
//! lets only one thread in at a time. Numbers are equal to those of MDAnalysis: doubles are rounded to floats,
//! then multiplied by a factor. Departures:
//!
//! 1. Chunks that were never written are an error, whereas HDF5 returns its fill value (zero).
//! 2. Velocities and forces are assigned to the positions of the same step; frames without them have NaN.

pub mod chunk_map;
pub(crate) mod description;
pub(crate) mod frame;
mod native_units;
mod pack;
mod rows;
pub mod unpack;

pub use description::{
    Boxes, Chunk, Description, DigestedRegion, Digests, Filters, Form, Layout, NO_ROW, Options,
    Run, Series, Storage,
};
pub use frame::{Frame, Stored, StoredAs};
pub use native_units::{OwnFrame, OwnTables, TimeAndBoxUnits};
pub use pack::{Packed, Packer, Packing};
pub use rows::{Encoder, Rows, sniff};
