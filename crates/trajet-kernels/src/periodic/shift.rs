//! Moves atoms by vectors.

use super::groups::Groups;
use crate::cell::Vector;

/// Å per unit of the sums of [`super::toroidal_jumps`].
pub(super) const FIXED_POINT: f64 = 1.0 / (1u64 << 32) as f64;

/// Returns whether these integers are small enough for a position to have digits left after the shift.
#[inline(always)]
pub(super) fn is_countable(shift: Vector) -> bool {
    // NaN is refused as well.
    shift.iter().all(|n| n.abs() <= f64::from(i32::MAX))
}

/// The column of an atom that could not be moved to its place, or on which the place of others depends; see
/// [the module](super).
pub type Unplaced = Option<u32>;

/// Returns whether an atom has a position.
#[inline(always)]
pub(super) fn is_finite(position: [f32; 3]) -> bool {
    position.iter().all(|x| x.is_finite())
}

/// Returns the first of some columns whose atom has no finite position, or else the first, unless no atom has one.
#[cold]
pub(super) fn unplaced(columns: &[u32], positions: &[[f32; 3]]) -> Unplaced {
    let has_position = |&&column: &&u32| is_finite(positions[column as usize]);
    columns.iter().find(has_position)?;
    columns.iter().find(|column| !has_position(column)).or(columns.first()).copied()
}

/// Makes all coordinates of atoms of which one is not finite NaN: they are not moved with it.
#[cold]
pub(super) fn forget_incomplete(columns: &[u32], positions: &mut [[f32; 3]]) {
    for &column in columns {
        let position = &mut positions[column as usize];
        if !is_finite(*position) {
            *position = [f32::NAN; 3];
        }
    }
}

/// Moves an atom, unless `f32` cannot hold the new position. Returns whether it was moved.
#[inline(always)]
pub(super) fn move_atom(position: &mut [f32; 3], by: Vector) -> bool {
    let moved = [0, 1, 2].map(|k| (f64::from(position[k]) + by[k]) as f32);
    let can_move = is_finite(moved);
    if can_move {
        *position = moved;
    }
    can_move
}

/// Moves the atoms of `columns` by the same vector. Returns whether all were moved.
#[inline(always)]
pub(super) fn move_columns(columns: &[u32], by: Vector, positions: &mut [[f32; 3]]) -> bool {
    columns.iter().fold(true, |all, &column| move_atom(&mut positions[column as usize], by) & all)
}

/// Adds `sums · 2⁻³² Å` of each group to the positions of its members.
///
/// # Panics
/// If the number of sums is not that of the groups, or a column does not exist.
pub fn move_groups(groups: &Groups, sums: &[[i64; 3]], positions: &mut [[f32; 3]]) {
    assert_eq!(sums.len(), groups.len(), "one sum per group");
    for (group, sum) in sums.iter().enumerate() {
        if *sum != [0; 3] {
            let by = sum.map(|fixed| fixed as f64 * FIXED_POINT);
            move_columns(groups.columns(group), by, positions);
        }
    }
}

/// Adds a vector (Å) to all positions. An atom of which a coordinate is not finite loses the others, too.
pub fn translate(by: Vector, positions: &mut [[f32; 3]]) -> Unplaced {
    let mut found = None;
    if by != [0.0; 3] {
        for (column, position) in positions.iter_mut().enumerate() {
            if !move_atom(position, by) {
                match is_finite(*position) {
                    true => found = found.or(Some(column as u32)),
                    false => *position = [f32::NAN; 3],
                }
            }
        }
    }
    found
}
