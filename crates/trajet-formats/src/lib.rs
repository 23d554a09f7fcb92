//! Trajectory formats: bytes to frames and back. This crate knows no files and starts no thread.
//!
//! Decoders return coordinates as `f32` Å ([`Block`]) or exactly as the format stores them ([`Raw`]). An [`Encoder`]
//! turns frames into bytes. [`FORMATS`] is the only list of formats. Errors ([`DecodeError`], [`HeaderFault`],
//! [`CannotHold`], [`AtomsError`]) name no file: the code that reads or writes the file adds its path.

// Only x86-64 has vector instructions here; what they alone need is unused elsewhere.
#![cfg_attr(not(target_arch = "x86_64"), allow(dead_code, unused_imports))]

mod atoms;
mod block;
pub mod cell;
pub mod codec;
pub mod compression;
pub mod crystal;
pub mod dcd;
pub mod digest;
mod encoders;
mod error;
mod frame;
pub mod frame_format;
mod frame_metadata;
pub mod gro;
pub mod h5md;
mod identity;
pub mod lammps;
pub mod lines;
mod losses;
pub mod memory;
pub mod messages;
pub mod ncdf;
pub mod numbers;
mod options;
pub mod pdb;
mod plan;
mod raw;
pub mod rst7;
mod snapshot;
mod table;
pub mod text;
pub mod time;
pub mod trr;
mod values;
mod write_checks;
pub mod writer;
mod written_text;
mod xdr;
pub mod xtc;
pub mod xyz;

pub use atoms::Atoms;
pub use block::{Block, FrameMeta};
pub use cell::{
    NO_ORIGIN, PERIODIC, Periodic, ReportedBox, cell_from_vectors, turned_vectors,
    vectors_from_cell,
};
pub use digest::xxh3_64;
pub use encoders::encoder;
pub use error::{AtomsError, CannotHold, DecodeError, HeaderFault, MetadataFault};
pub use frame::{Extra, Field, FrameInfo};
pub use frame_metadata::FrameMetadata;
pub use identity::Identity;
pub use losses::{FrameLoss, Loss, Losses, not_held};
pub use messages::{Code, Message};
pub use numbers::{AtomList, Numbers};
pub use options::FormatOptions;
pub use plan::{AtomColumns, Input, Plan, WriteOptions};
pub use raw::Raw;
pub use snapshot::Snapshot;
pub use table::{
    FORMATS, Format, FormatInfo, FrameSizes, FramesFrom, N_FORMATS, Times, WriteOption, Writing,
    format_names,
};
pub use time::TimePrecision;
pub use values::Values;
pub use write_checks::{LET_GO, WriteChecks};
pub use writer::{Encoder, Patch, Workspace};
