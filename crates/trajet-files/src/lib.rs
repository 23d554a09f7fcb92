//! Trajectory files: counted reads, indexes, readers of all formats, several files as one trajectory, outputs. This
//! crate contains no analysis and starts no thread.
//!
//! Every byte of a trajectory is read through [`source::Source`] and counted in a [`Meter`]. A [`Reader`] returns frames
//! of one file, a [`Chain`] those of several. An [`Output`] writes the bytes of an encoder to a file.

mod branches;
pub mod chain;
mod compressed;
pub mod dcd;
mod described;
mod error;
mod fields;
mod frames;
pub mod h5md;
pub mod index;
pub mod indexed;
mod indexing;
pub mod leftovers;
mod lines;
mod meter;
pub mod ncdf;
mod numbered;
mod open;
pub mod opener;
mod opening;
mod options;
mod ordered;
mod output;
mod parallel;
pub mod range_bytes;
pub mod reader;
mod relay;
pub mod remote;
mod request_sizes;
mod scratch;
pub mod sidecar;
pub mod source;
mod stamp;
pub mod topology_sidecar;
pub mod transform;
pub mod trr;
mod walk;
mod whole_frames;
pub mod window;
pub mod worker;
pub mod xtc;

pub use branches::Branches;
pub use chain::Chain;
pub use described::HdfLayouts;
pub use error::{Error, of_chain};
pub use fields::{FieldReader, FrameFields};
pub use frames::{FrameList, Frames};
pub use index::{FrameIndex, IndexState};
pub use meter::{FrameCost, Meter};
pub use open::{open, open_with, open_written};
pub use opener::{Opened, Opener, WorkerOpener};
pub use opening::Opening;
pub use options::{DEFAULT_REQUEST_SIZE, OpenOptions, Watch};
pub use output::{Output, PIECE, UnpublishedFile, create_beside, destination, publish};
pub use parallel::{ParallelFor, Serial};
pub use reader::{ReadRequest, Reader};
pub use relay::{Relay, TaskPart};
pub use scratch::Scratch;
pub use stamp::Stamp;
