//! TRR, the full-precision trajectory format of GROMACS.
//!
//! Source: the TRR page of the GROMACS reference manual, and files of mixed and double precision. A
//! frame may lack positions, velocities, forces or the box, and frames of one file may differ in this.

pub mod decode;
pub(crate) mod frame;
pub mod head;
mod writer;

pub use frame::{Frame, Reals, left_out, scale};
pub use writer::Encoder;
