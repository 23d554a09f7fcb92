//! NCDF, the NetCDF trajectory format of Amber.
//!
//! Source: "NetCDF Classic Format Specification" (Unidata) for the bytes and "AMBER NetCDF
//! Trajectory/Restart Convention", version 1.0, revision C (J. Mongan, D. R. Roe) for their meaning.
//! All variables that grow by frames are interleaved in records of one size, so that the offset of a frame is
//! computed. Only its time must be read from the frame, which is why there is an index. Numbers are equal to
//! those of MDAnalysis: a scale factor of double precision is applied in double precision. Departures:
//!
//! 1. Files with 32-bit offsets and with 64-bit counts (CDF-5, as LAMMPS writes) are read too.
//! 2. Missing units are those of the convention, with a message; but velocities and forces of LAMMPS, which writes them
//!    in the units of its run, are not read without units.
//! 3. Restart files are trajectories of one frame: their variables are read like those of a record.
//! 4. Without `coordinates`, positions are `unwrapped_coordinates`, as LAMMPS names them.
//! 5. Values that were never written (NetCDF's fill values, and those that `_FillValue` or `missing_value` name) are
//!    an error where they are used.
//! 6. If frames state the numbers of their atoms (`id`, as LAMMPS writes them), atoms are read in the order of these.

mod attributes;
pub mod classic;
pub mod decode;
pub(crate) mod frame;
pub mod head;
pub(crate) mod layout;
pub(crate) mod units;
pub(crate) mod values;
mod writer;

pub use crate::values::Values;
pub use frame::Frame;
pub use layout::{Further, Layout, Located};
pub use units::KJ_PER_KCAL;
pub use values::{Scale, Stored};
pub use writer::Encoder;
