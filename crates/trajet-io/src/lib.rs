//! Reads and writes trajectory files. This crate contains no analysis and starts no thread.
//!
//! Readers return coordinates as `f32` Å ([`Block`]) or exactly as the format stores them ([`Raw`]).
//! Every byte of a trajectory is read through [`source::Source`] and counted in a [`Meter`]. An [`Encoder`] turns frames
//! into bytes, and an [`Output`] writes them to a file.

mod atoms;
mod block;
mod cell;
pub mod chain;
pub mod dcd;
pub mod digest;
pub mod divided;
mod error;
mod frame;
mod frames;
pub mod h5md;
pub mod index;
pub mod indexed;
pub mod leftovers;
mod losses;
pub mod memory;
mod meter;
pub mod ncdf;
mod open;
mod opener;
mod opening;
mod options;
mod output;
mod parallel;
mod plan;
mod raw;
pub mod reader;
pub mod remarks;
mod scratch;
pub mod sidecar;
mod snapshot;
pub mod source;
mod stamp;
mod table;
pub mod time;
pub mod trr;
mod values;
mod walk;
pub mod worker;
mod write_checks;
pub mod writer;
mod xdr;
pub mod xtc;

pub use atoms::Atoms;
pub use block::{Block, FrameMeta};
pub use cell::{GivenBox, cell_from_vectors, turned_vectors, vectors_from_cell};
pub use chain::Chain;
pub use digest::xxh3_64;
pub use error::{Error, Fault, of_chain};
pub use frame::{Extra, Field, FrameInfo};
pub use frames::{FrameList, Frames};
pub use h5md::opener::Described;
pub use index::{FrameIndex, IndexState};
pub use losses::{Loss, Losses};
pub use meter::{MOST_TIERS, Meter};
pub use open::{encoder, open, open_with};
pub use opener::{Opened, Opener, WorkerOpener};
pub use opening::Opening;
pub use options::{DEFAULT_REQUEST_SIZE, OpenOptions, Watch};
pub use output::{Output, PIECE, Whole, publish};
pub use parallel::{ParallelFor, Serial};
pub use plan::{Input, Plan, WriteOptions};
pub use raw::Raw;
pub use reader::{Reader, Wanted};
pub use scratch::Scratch;
pub use snapshot::Snapshot;
pub use stamp::Stamp;
pub use table::{FORMATS, Format, FormatInfo};
pub use values::Values;
pub use write_checks::LET_GO;
pub use writer::{Encoder, Patch, Workspace};
