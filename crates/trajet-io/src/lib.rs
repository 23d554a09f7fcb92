//! Bytes to coordinates and back. This crate knows no analysis and starts no thread.
//!
//! Coordinates leave it as `f32` Å ([`Block`]) or exactly as the format stores them ([`Raw`]).
//! Every byte read passes through [`source::Source`] and is counted in a [`Meter`].

mod atoms;
mod block;
mod error;
mod frames;
pub mod index;
mod raw;
pub mod reader;
pub mod source;
mod xdr;
pub mod xtc;

pub use atoms::Atoms;
pub use block::{Block, FrameMeta, cell_from_vectors};
pub use error::{Error, Fault};
pub use frames::Frames;
pub use index::{FrameIndex, IndexState};
pub use raw::{Raw, RawPositions};
pub use reader::{OpenOptions, ParallelFor, Reader, Scratch, Serial, Watch, open};
pub use source::Meter;
