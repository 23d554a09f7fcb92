//! GRO files of GROMACS, of one frame or several.
//!
//! Source: GROMACS reference manual, file formats, gro. A frame is a title, the number of atoms, a line for each atom
//! and the box. Lengths are in nm, velocities in nm/ps. Columns are fixed: 20 for the names and numbers of the atom,
//! three coordinates, whose width is the distance of their decimal points, and three velocities of the same width,
//! which may be missing.
//!
//! 1. The time (ps) and the step stand in the title, as `t=` and `step=`; without them they are the number of the
//!    frame.
//! 2. Box vectors stand without separation in boxes longer than 9999 nm; decimal points then tell them apart.
//! 3. Velocities of atoms that lack them, in frames in which other atoms have them, are NaN.
//! 4. All frames name the same atoms in the same order. The numbers that count the atoms may go on from frame to frame,
//!    but not change places.
//! 5. A last line without an end is whole if all of its numbers have as many decimals as the first, and if they are as
//!    many as in frame 0. A file of one frame may be cut exactly behind the third of nine box numbers, on which there is
//!    a message.
//! 6. Blank lines behind the last frame are ignored.
//!
//! Frames are passed on as TRR stores them, in double precision, which holds all of their numbers.

mod columns;
mod decode;
mod scan;

pub use columns::{
    ANGSTROM_PER_NM, CUT_BOX, SHORTEST_LINE, Width, angstrom, box_vectors, is_whole_box, n_atoms,
};
pub use decode::Gro;
pub use scan::Scan;
