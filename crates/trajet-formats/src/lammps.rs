//! Dumps of LAMMPS as text (`dump atom`, `dump custom`).
//!
//! Source: LAMMPS manual, commands `dump` and `dump_modify`, and "Triclinic simulation boxes". A file is a sequence of
//! snapshots, records that begin with `ITEM:`. A snapshot begins with the first of `UNITS` (in the first snapshot),
//! `TIME` and `TIMESTEP`; `NUMBER OF ATOMS`, `BOX BOUNDS` and `ATOMS` follow. The last names the columns of the atoms.
//!
//! 1. Positions are LAMMPS' own coordinates, of all kinds: fractions are those of the cell from its origin, which is not
//!    subtracted. An unwrapped position is the wrapped one plus image flags times cell vectors, not times edge lengths.
//! 2. Atoms are read in the order of their numbers (`id`), whatever their order in a snapshot. All snapshots have the
//!    numbers of the first one.
//! 3. Lengths are in Å unless units are known, from the file or from the caller. Velocities, forces and times are read
//!    only if they are.
//! 4. A direction is periodic if its flags are `pp`; a frame in which none is has no cell.
//! 5. A last line without an end is a cut one: LAMMPS ends all of its lines.
//!
//! Frames are passed on as H5MD stores them, in double precision and Å, which holds all of their numbers.

mod atom_style;
mod atoms;
mod bounds;
mod columns;
mod decode;
mod head;
mod options;
mod scan;
mod units;
mod writer;

#[cfg(test)]
mod tests;

pub use atom_style::AtomStyle;
pub use decode::{Lammps, Shared};
pub use options::{Options, Positions};
pub use scan::Scan;
pub use units::Units;
pub use writer::Encoder;
