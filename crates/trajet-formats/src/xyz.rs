//! XYZ files, plain and extended, of one frame or several.
//!
//! Sources: the format of XMol; the specification of extended XYZ, <https://github.com/libAtoms/extxyz>; LAMMPS manual,
//! command `dump`; CP2K manual, section MOTION/PRINT/TRAJECTORY. A frame is the number of atoms, a comment, and a line
//! for each atom: its species and its position in Å. In extended XYZ the comment consists of `key=value`: `Lattice`, the
//! vectors a, b and c one after the other; `pbc`, the directions that are periodic (all of them without it); and
//! `Properties`, the names, types and numbers of the columns of the atoms.
//!
//! 1. A comment with neither `Lattice` nor `Properties` is that of plain XYZ, which has no cell. Further columns of
//!    plain XYZ are not read: they may be charges, velocities or anything else.
//! 2. Times that comments state (`Time`) and velocities have no unit by convention. They are read if their unit is given.
//!    Times of CP2K (`i = …, time = …`) are in fs.
//! 3. Forces are in eV/Å, as in files of ASE, with a message; in files of LAMMPS, which has other units as well, they are
//!    read if their unit is given.
//! 4. Species are names. A number is no atomic number: LAMMPS writes types there.
//! 5. All frames have the species of frame 0 in the same order. A frame in which no direction is periodic has no cell.
//! 6. A last line without an end is whole if its decimal numbers have as many decimals as those of the line before.
//! 7. Blank lines before a number of atoms, and behind the last frame, are ignored.
//! 8. Files of velocities and forces of CP2K (`-vel-`, `-frc-` in their names) look the same, and are refused.
//!
//! Frames are passed on as H5MD stores them, in double precision and Å, which holds all of their numbers.

mod comment;
mod decode;
mod head;
mod options;
mod properties;
mod row;
mod scan;
mod writer;

pub use comment::{Comment, vectors_of_cp2k};
pub use decode::{Shared, Xyz};
pub use head::{FrameFault, Head, Line, n_atoms};
pub use options::{ForceUnit, Options, TimeUnit, Units, VelocityUnit};
pub use properties::Properties;
pub use scan::{Scan, is_whole};
pub use writer::Encoder;
