//! Bytes to coordinates and back. This crate knows no analysis and starts no thread.
//!
//! Coordinates leave it as `f32` Å ([`Block`]) or exactly as the format stores them ([`Raw`]).
//! Every byte read passes through [`source::Source`] and is counted in a [`Meter`]. Frames become bytes
//! again in an [`Encoder`], and files in an [`Output`].

mod atoms;
mod block;
pub mod chain;
pub mod dcd;
pub mod digest;
pub mod divided;
mod error;
mod frames;
pub mod h5md;
pub mod index;
pub mod indexed;
pub mod leftovers;
mod losses;
pub mod memory;
pub mod ncdf;
mod open;
mod output;
mod raw;
pub mod reader;
pub mod remarks;
mod rules;
mod snapshot;
pub mod source;
pub mod time;
pub mod trr;
mod walk;
pub mod writer;
mod xdr;
pub mod xtc;

pub use atoms::Atoms;
pub use block::{Block, FrameMeta, GivenBox, cell_from_vectors, turned_vectors, vectors_from_cell};
pub use chain::Chain;
pub use digest::xxh3_64;
pub use error::{Error, Fault, of_chain};
pub use frames::{FrameList, Frames};
pub use index::{FrameIndex, IndexState};
pub use losses::{Loss, Losses};
pub use open::{encoder, open};
pub use output::{Output, PIECE, Whole, publish};
pub use raw::{Extra, Raw};
pub use reader::{Field, OpenOptions, ParallelFor, Reader, Scratch, Serial, Wanted, Watch};
pub use rules::LET_GO;
pub use snapshot::Snapshot;
pub use source::Meter;
pub use writer::{Encoder, Format, Input, Patch, Plan, Workspace, WriteOptions};
