//! DCD, the trajectory format of CHARMM, NAMD, X-PLOR and LAMMPS.
//!
//! Source: the description in CHARMM's documentation (dynamc.info, "CORD" files) and NAMD's user guide,
//! and files of these programs. All frames have the same size, except the first one, which holds fixed atoms
//! too. The number of frames is computed from the size of the file: the number in the header is often wrong,
//! and a difference is only a message. Coordinates are stored by axis.

pub(crate) mod cell;
pub mod decode;
pub(crate) mod frame;
pub mod head;
mod writer;

pub use cell::{Cell, CellForm, Options};
pub use frame::{FOURTH, Frame};
pub use writer::{Encoder, holds_times};
