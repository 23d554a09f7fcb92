//! XTC, the compressed trajectory format of GROMACS.
//!
//! Source: the XTC page of the GROMACS reference manual and the XDR library's behaviour, observed
//! from its files; compression by F. van Hoesel. Departures: a header is checked before anything is
//! allocated; a coordinate outside of the range that its frame declares is an error instead of a wrong
//! number, and so are bytes left over after the last atom.

mod batch;
mod coder;
pub mod decode;
mod encode;
pub(crate) mod frame;
pub mod head;
pub mod radix;
mod scan;
pub(crate) mod steps;
mod writer;

pub use frame::{Frame, Positions};
pub use head::{MAGIC, MAGIC_LARGE, PLAIN_ATOMS};
pub use writer::Encoder;
