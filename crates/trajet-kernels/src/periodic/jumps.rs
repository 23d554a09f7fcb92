//! Jumps of atoms and groups through the faces of the cell.

use trajet_simd::{InstructionSet, multiversion};

use super::groups::Groups;
use super::shift::FIXED_POINT;
use crate::cell::{Cell, Vector};

/// Number of units that are looked at together.
const CHUNK: usize = 16;

/// Computes the coordinates of atoms along the box vectors, in units of their lengths: `out[atom]`.
pub fn fractional(cell: &Cell, positions: &[[f32; 3]], out: &mut Vec<Vector>) {
    fractional_on(InstructionSet::default(), cell, positions, out);
}

multiversion! {
    pub(super) fn fractional_on(cell: &Cell, positions: &[[f32; 3]], out: &mut Vec<Vector>) = fractional_of
}

#[inline(always)]
fn fractional_of(cell: &Cell, positions: &[[f32; 3]], out: &mut Vec<Vector>) {
    out.clear();
    out.extend(positions.iter().map(|position| cell.fractional(position.map(f64::from))));
}

/// Computes the coordinates of the centres of groups along the box vectors, in units of their lengths: `out[group]`.
/// `weights` are one per member of all groups; without them all count the same. The coordinates of a group whose centre
/// is not a number are not numbers.
///
/// # Panics
/// If the number of weights is not that of the members, or a column does not exist.
pub fn fractional_centres(
    cell: &Cell,
    groups: &Groups,
    weights: Option<&[f64]>,
    positions: &[[f32; 3]],
    out: &mut Vec<Vector>,
) {
    groups.check_weights(weights);
    out.clear();
    out.extend((0..groups.len()).map(|g| cell.fractional(groups.centre(g, weights, positions))));
}

/// Counts jumps between two frames: adds `s = -round(f - f_before)`, ties to even, to `shifts`, for each unit (atom or
/// group) and box vector, and sets `f_before` to `f`. Shifts saturate.
///
/// Returns the largest `|Δf - round(Δf)|` and the first unit that has it; 0 and 0 if there are no units. Above about
/// 0.4 it is doubtful which way the unit went. It is infinite where a coordinate is not a number, which counts as no
/// jump, and where the number of jumps is beyond 2³¹.
///
/// # Panics
/// If the slices differ in length.
pub fn jumps(f_before: &mut [Vector], f: &[Vector], shifts: &mut [[i32; 3]]) -> (f64, usize) {
    jumps_on(InstructionSet::default(), f_before, f, shifts)
}

multiversion! {
    pub(super) fn jumps_on(f_before: &mut [Vector], f: &[Vector], shifts: &mut [[i32; 3]]) -> (f64, usize)
        = jumps_of
}

#[inline(always)]
fn jumps_of(f_before: &mut [Vector], f: &[Vector], shifts: &mut [[i32; 3]]) -> (f64, usize) {
    assert_eq!(f.len(), shifts.len(), "one shift per unit");
    steps(f_before, f, |first, jumps| {
        let shifts = shifts[first..first + jumps.len()].as_flattened_mut();
        for (shift, jump) in shifts.iter_mut().zip(jumps.as_flattened()) {
            *shift = shift.saturating_add(*jump);
        }
    })
}

/// Counts jumps as [`jumps`] does, and adds the lattice vectors of the jumps to `sums`: `Σ_k s_k v_k` in units of 2⁻³²
/// Å, rounded at each step, so that sums do not depend on how frames are divided. Sums saturate at 2³¹ Å.
///
/// # Panics
/// If the slices differ in length.
pub fn toroidal_jumps(
    cell: &Cell,
    f_before: &mut [Vector],
    f: &[Vector],
    sums: &mut [[i64; 3]],
) -> (f64, usize) {
    toroidal_jumps_on(InstructionSet::default(), cell, f_before, f, sums)
}

multiversion! {
    pub(super) fn toroidal_jumps_on(
        cell: &Cell,
        f_before: &mut [Vector],
        f: &[Vector],
        sums: &mut [[i64; 3]],
    ) -> (f64, usize) = toroidal_jumps_of
}

#[inline(always)]
fn toroidal_jumps_of(
    cell: &Cell,
    f_before: &mut [Vector],
    f: &[Vector],
    sums: &mut [[i64; 3]],
) -> (f64, usize) {
    assert_eq!(f.len(), sums.len(), "one sum per unit");
    steps(f_before, f, |first, jumps| {
        if jumps.as_flattened().iter().all(|&jump| jump == 0) {
            return;
        }
        for (sum, jump) in sums[first..].iter_mut().zip(jumps) {
            let vector = cell.lattice_vector(jump.map(f64::from));
            for (sum, x) in sum.iter_mut().zip(vector) {
                // A cast saturates.
                *sum = sum.saturating_add((x / FIXED_POINT).round_ties_even() as i64);
            }
        }
    })
}

/// Calls `add` with the jumps of some units at a time and the index of the first of them; returns the largest doubt and
/// its unit, as [`jumps`].
#[inline(always)]
fn steps(
    f_before: &mut [Vector],
    f: &[Vector],
    mut add: impl FnMut(usize, &[[i32; 3]]),
) -> (f64, usize) {
    assert_eq!(f_before.len(), f.len(), "one fractional coordinate before per unit");
    let mut worst = (0.0, 0);
    let mut jumps = [[0; 3]; CHUNK];
    let mut doubts = [[0.0; 3]; CHUNK];
    for (chunk, (before, now)) in f_before.chunks_mut(CHUNK).zip(f.chunks(CHUNK)).enumerate() {
        let n = now.len();
        let mut largest = 0.0f64;
        let units = before.as_flattened_mut().iter_mut().zip(now.as_flattened());
        let results = jumps.as_flattened_mut().iter_mut().zip(doubts.as_flattened_mut());
        for ((before, &now), (jump, doubt)) in units.zip(results) {
            let change = now - *before;
            let whole = change.round_ties_even();
            // A cast saturates, and is 0 for NaN.
            *jump = (0.0 - whole) as i32;
            *doubt = doubt_of(change, whole);
            largest = if *doubt > largest { *doubt } else { largest };
            *before = now;
        }
        if largest > worst.0 {
            let has_it = |unit: &Vector| unit.contains(&largest);
            let unit = doubts[..n].iter().position(has_it).expect("the largest of them");
            worst = (largest, chunk * CHUNK + unit);
        }
        add(chunk * CHUNK, &jumps[..n]);
    }
    worst
}

/// Returns how far a change is from a whole number; infinity if that is not a number or too large.
#[inline(always)]
fn doubt_of(change: f64, whole: f64) -> f64 {
    let doubt = (change - whole).abs();
    // Written so that NaN is infinite as well.
    if doubt <= 0.5 && whole.abs() <= f64::from(i32::MAX) { doubt } else { f64::INFINITY }
}
