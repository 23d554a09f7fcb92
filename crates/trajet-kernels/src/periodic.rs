//! Periodic boundaries of one frame: molecules made whole, wrapped, clustered, and followed through the faces.
//!
//! All functions work on positions (Å) of one frame in place. Atoms, groups and bonds are given by columns of it.
//!
//! **Moves.** An atom is moved by whole lattice vectors: `x' = f32(x + Σ n_k v_k)` with the integers `n_k`, the box
//! vectors `v_k`, the position `x` before the call, and arithmetic in `f64`. Errors therefore do not add up along a
//! chain of bonds, and an atom that is not moved keeps its bits.
//!
//! **Extreme coordinates.** A position that is not finite, or more than 2³¹ cells away from where it is compared, is
//! not moved, and no atom is moved to a place that `f32` cannot hold: what was finite stays finite. Functions return an
//! atom that was not moved for one of these reasons, or whose molecule or group was not ([`Unplaced`]), so that callers
//! can refuse the frame. A group without any finite position is none of these: it has no place, before and after.
//! Counts of jumps saturate. A cell of which `f32` resolves little has results of as few digits, but no panic.
//!
//! Sources: the shapes of [`wrap_groups`] are those of GROMACS' manual (`gmx trjconv -ur`), and the aim of
//! [`cluster_groups`] is that of its `-pbc cluster`; S. von Bülow, J. T. Bullerjahn and G. Hummer, J. Chem. Phys. 153,
//! 021101 (2020), doi:10.1063/5.0008316 ([`toroidal_jumps`]). Departures:
//!
//! 1. Clusters grow along the shortest minimum-image distances of centres instead of around their own centre, so that
//!    nothing is iterated, and the result does not depend on a first guess.
//! 2. Jumps are counted from fractional coordinates, each in the cell of its own frame, so that a change of the cell
//!    alone is no motion. The vectors that are added are those of the later frame, as in the paper.

mod atom_jumps;
mod cluster;
mod groups;
mod jumps;
mod shift;
mod trees;
mod whole;
mod wrap;

#[cfg(test)]
mod tests;

pub use self::atom_jumps::{
    AtomJumps, AtomShifts, FrameBefore, LARGE_STEP, add_and_shift_atoms, add_atom_jumps,
    count_jumps, count_jumps_between, find_atom_jumps, follow_atoms, shift_atoms,
};
pub use self::cluster::cluster_groups;
pub use self::groups::{Groups, centre};
pub use self::jumps::{add_toroidal_jumps, find_jumps, fractional_centres, toroidal_jumps};
pub use self::shift::{Unplaced, move_groups, translate};
pub use self::trees::BondTrees;
pub use self::whole::{MadeWhole, WholeMemory, make_whole};
pub use self::wrap::{Shape, TurnedCell, wrap_groups};
