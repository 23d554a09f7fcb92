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

/// Moves an atom, unless `f32` cannot hold the new position.
#[inline(always)]
pub(super) fn move_atom(position: &mut [f32; 3], by: Vector) {
    let moved = [0, 1, 2].map(|k| (f64::from(position[k]) + by[k]) as f32);
    if moved.iter().all(|x| x.is_finite()) {
        *position = moved;
    }
}

/// Moves the atoms of `columns` by the same vector.
#[inline(always)]
pub(super) fn move_columns(columns: &[u32], by: Vector, positions: &mut [[f32; 3]]) {
    for &column in columns {
        move_atom(&mut positions[column as usize], by);
    }
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

/// Adds a vector (Å) to all positions.
pub fn translate(by: Vector, positions: &mut [[f32; 3]]) {
    if by != [0.0; 3] {
        for position in positions {
            move_atom(position, by);
        }
    }
}
