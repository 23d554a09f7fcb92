//! Jumps of atoms and groups through the faces of the cell.

use trajet_simd::{InstructionSet, multiversion};

use super::groups::Groups;
use super::shift::FIXED_POINT;
use crate::cell::{Cell, Vector};
use crate::lanes::LANES;

/// Number of units that are looked at together, and of their coordinates.
const CHUNK: usize = 16;
const CHUNK_COORDINATES: usize = 3 * CHUNK;
type Coordinates = [f64; CHUNK_COORDINATES];
/// Numbers of this size have only integers as neighbours, and the difference from it in their last bits.
const INTEGERS: f64 = 1.5 * (1u64 << 52) as f64;

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
    steps(f_before, f, &mut Shifts(shifts))
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
    steps(f_before, f, &mut Sums { cell, sums })
}

/// Takes jumps. A closure would not be compiled for the instruction set.
trait AddJumps {
    /// Adds the jumps of consecutive units, beginning with the unit `first`.
    fn add(&mut self, first: usize, jumps: &[[i32; 3]]);
}

struct Shifts<'a>(&'a mut [[i32; 3]]);

impl AddJumps for Shifts<'_> {
    #[inline(always)]
    fn add(&mut self, first: usize, jumps: &[[i32; 3]]) {
        let shifts = self.0[first..first + jumps.len()].as_flattened_mut();
        for (shift, jump) in shifts.iter_mut().zip(jumps.as_flattened()) {
            *shift = shift.saturating_add(*jump);
        }
    }
}

/// Finds the jumps between two frames that [`jumps`] would count: sets `found` to those of each unit, and `f_before` to
/// `f`. Returns the same as [`jumps`].
///
/// # Panics
/// If the slices differ in length.
pub fn find_jumps(f_before: &mut [Vector], f: &[Vector], found: &mut [[i32; 3]]) -> (f64, usize) {
    find_jumps_on(InstructionSet::default(), f_before, f, found)
}

multiversion! {
    pub(super) fn find_jumps_on(f_before: &mut [Vector], f: &[Vector], found: &mut [[i32; 3]]) -> (f64, usize)
        = find_jumps_of
}

#[inline(always)]
fn find_jumps_of(f_before: &mut [Vector], f: &[Vector], found: &mut [[i32; 3]]) -> (f64, usize) {
    assert_eq!(f.len(), found.len(), "one jump per unit");
    steps(f_before, f, &mut Found(found))
}

struct Found<'a>(&'a mut [[i32; 3]]);

impl AddJumps for Found<'_> {
    #[inline(always)]
    fn add(&mut self, first: usize, jumps: &[[i32; 3]]) {
        self.0[first..first + jumps.len()].copy_from_slice(jumps);
    }
}

/// Adds jumps that were found to `shifts`, as [`jumps`] does.
///
/// # Panics
/// If the slices differ in length.
pub fn add_jumps(found: &[[i32; 3]], shifts: &mut [[i32; 3]]) {
    add_jumps_on(InstructionSet::default(), found, shifts);
}

multiversion! {
    pub(super) fn add_jumps_on(found: &[[i32; 3]], shifts: &mut [[i32; 3]]) = add_jumps_of
}

#[inline(always)]
fn add_jumps_of(found: &[[i32; 3]], shifts: &mut [[i32; 3]]) {
    assert_eq!(found.len(), shifts.len(), "one shift per unit");
    Shifts(shifts).add(0, found);
}

/// Adds the lattice vectors of jumps that were found to `sums`, as [`toroidal_jumps`] does.
///
/// # Panics
/// If the slices differ in length.
pub fn add_toroidal_jumps(cell: &Cell, found: &[[i32; 3]], sums: &mut [[i64; 3]]) {
    assert_eq!(found.len(), sums.len(), "one sum per unit");
    Sums { cell, sums }.add(0, found);
}

struct Sums<'a> {
    cell: &'a Cell,
    sums: &'a mut [[i64; 3]],
}

impl AddJumps for Sums<'_> {
    #[inline(always)]
    fn add(&mut self, first: usize, jumps: &[[i32; 3]]) {
        for (sum, &jump) in self.sums[first..first + jumps.len()].iter_mut().zip(jumps) {
            if jump == [0; 3] {
                continue;
            }
            let vector = self.cell.lattice_vector(jump.map(f64::from));
            for (sum, x) in sum.iter_mut().zip(vector) {
                // A cast saturates.
                *sum = sum.saturating_add((x / FIXED_POINT).round_ties_even() as i64);
            }
        }
    }
}

/// Adds the jumps of all units to `out`; returns the largest doubt and its unit, as [`jumps`].
#[inline(always)]
fn steps(f_before: &mut [Vector], f: &[Vector], out: &mut impl AddJumps) -> (f64, usize) {
    assert_eq!(f_before.len(), f.len(), "one fractional coordinate before per unit");
    let mut worst = (0.0, 0);
    let (before, before_rest) = f_before.as_flattened_mut().as_chunks_mut::<CHUNK_COORDINATES>();
    let (now, now_rest) = f.as_flattened().as_chunks::<CHUNK_COORDINATES>();
    for (chunk, (before, now)) in before.iter_mut().zip(now).enumerate() {
        add_chunk(chunk * CHUNK, CHUNK, before, now, out, &mut worst);
    }
    let n = now_rest.len();
    if n > 0 {
        // Padded with units that stay where they are.
        let (mut last_before, mut last_now) = ([0.0; CHUNK_COORDINATES], [0.0; CHUNK_COORDINATES]);
        last_before[..n].copy_from_slice(before_rest);
        last_now[..n].copy_from_slice(now_rest);
        add_chunk(now.len() * CHUNK, n / 3, &mut last_before, &last_now, out, &mut worst);
        before_rest.copy_from_slice(now_rest);
    }
    worst
}

/// Adds the jumps of the `n` first units of a chunk, and sets `before` to `now`.
#[inline(always)]
fn add_chunk(
    first: usize,
    n: usize,
    before: &mut Coordinates,
    now: &Coordinates,
    out: &mut impl AddJumps,
    worst: &mut (f64, usize),
) {
    let mut jumps = [0; CHUNK_COORDINATES];
    let largest = step(before, now, &mut jumps);
    if largest > worst.0 {
        let has_it = |k: &usize| doubt_of(now[*k] - before[*k]).1 == largest;
        let coordinate = (0..3 * n).find(has_it).expect("the largest of them");
        *worst = (largest, first + coordinate / 3);
    }
    *before = *now;
    out.add(first, &jumps.as_chunks::<3>().0[..n]);
}

/// Computes the jumps of some coordinates, and returns the largest doubt.
#[inline(always)]
fn step(before: &Coordinates, now: &Coordinates, jumps: &mut [i32; CHUNK_COORDINATES]) -> f64 {
    // Maxima of eight lanes: a single one would wait for each of its comparisons.
    let mut lanes = [0.0; LANES];
    for start in (0..CHUNK_COORDINATES).step_by(LANES) {
        for (lane, largest) in lanes.iter_mut().enumerate() {
            let k = start + lane;
            let (whole, doubt) = doubt_of(now[k] - before[k]);
            *largest = if doubt > *largest { doubt } else { *largest };
            // The last bits of this sum are the integer.
            jumps[k] = (INTEGERS - whole).to_bits() as u32 as i32;
        }
    }
    let largest = lanes.into_iter().fold(0.0, f64::max);
    if largest == f64::INFINITY {
        for k in 0..CHUNK_COORDINATES {
            // A cast saturates, and is 0 for NaN.
            jumps[k] = (0.0 - (now[k] - before[k]).round_ties_even()) as i32;
        }
    }
    largest
}

/// Returns the nearest whole number, and how far the change is from it: infinity if that is not a number, or the whole
/// number too large.
#[inline(always)]
fn doubt_of(change: f64) -> (f64, f64) {
    let whole = change.round_ties_even();
    let doubt = (change - whole).abs();
    // Written so that NaN is infinite as well.
    let is_known = doubt <= 0.5 && whole.abs() <= f64::from(i32::MAX);
    (whole, if is_known { doubt } else { f64::INFINITY })
}
