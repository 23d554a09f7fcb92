//! Jumps of groups through the faces of the cell.

use trajet_simd::{InstructionSet, multiversion};

use super::groups::Groups;
use super::shift::FIXED_POINT;
use crate::cell::{Cell, Vector};
use crate::lanes::LANES;

/// Number of groups that are looked at together, and of their coordinates.
const CHUNK: usize = 16;
const CHUNK_COORDINATES: usize = 3 * CHUNK;
type Coordinates = [f64; CHUNK_COORDINATES];
/// Numbers of this size have only integers as neighbours, and the difference from it in their last bits.
const INTEGERS: f64 = 1.5 * (1u64 << 52) as f64;

/// Computes the coordinates of the centres of groups along the box vectors, in units of their lengths: `out[group]`. They
/// are zero in directions that are not periodic, in which nothing jumps.
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
    let centre = |group| groups.centre(group, weights, positions);
    out.extend((0..groups.len()).map(|group| cell.wrapping_coordinates(centre(group))));
}

/// Finds the jumps of groups between two frames: sets `found` to `s = -round(f - f_before)`, ties to even, for each group
/// and box vector, and `f_before` to `f`.
///
/// Returns the largest `|Δf - round(Δf)|` and the first group that has it; 0 and 0 if there are no groups. Above about
/// 0.4 it is doubtful which way the group went. It is infinite where a coordinate is not a number, which counts as no
/// jump, and where the number of jumps is beyond 2³¹.
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
    assert_eq!(f.len(), found.len(), "one jump per group");
    steps(f_before, f, &mut Found(found))
}

/// Finds jumps as [`find_jumps`] does, and adds the lattice vectors of the jumps to `sums`: `Σ_k s_k v_k` in units of 2⁻³²
/// Å, rounded at each step, so that sums do not depend on how frames are divided. Sums saturate at 2³¹ Å. Returns the
/// same.
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
    assert_eq!(f.len(), sums.len(), "one sum per group");
    steps(f_before, f, &mut Sums { cell, sums })
}

/// Takes jumps. A closure would not be compiled for the instruction set.
trait AddJumps {
    /// Adds the jumps of consecutive groups, beginning with the group `first`.
    fn add(&mut self, first: usize, jumps: &[[i32; 3]]);
}

struct Found<'a>(&'a mut [[i32; 3]]);

impl AddJumps for Found<'_> {
    #[inline(always)]
    fn add(&mut self, first: usize, jumps: &[[i32; 3]]) {
        self.0[first..first + jumps.len()].copy_from_slice(jumps);
    }
}

/// Adds the lattice vectors of jumps that were found to `sums`, as [`toroidal_jumps`] does.
///
/// # Panics
/// If the slices differ in length.
pub fn add_toroidal_jumps(cell: &Cell, found: &[[i32; 3]], sums: &mut [[i64; 3]]) {
    assert_eq!(found.len(), sums.len(), "one sum per group");
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

/// Adds the jumps of all groups to `out`; returns the largest doubt and its group, as [`find_jumps`].
#[inline(always)]
fn steps(f_before: &mut [Vector], f: &[Vector], out: &mut impl AddJumps) -> (f64, usize) {
    assert_eq!(f_before.len(), f.len(), "as many groups as before");
    let mut worst = (0.0, 0);
    let (before, before_rest) = f_before.as_flattened_mut().as_chunks_mut::<CHUNK_COORDINATES>();
    let (now, now_rest) = f.as_flattened().as_chunks::<CHUNK_COORDINATES>();
    for (chunk, (before, now)) in before.iter_mut().zip(now).enumerate() {
        add_chunk(chunk * CHUNK, CHUNK, before, now, out, &mut worst);
    }
    let n = now_rest.len();
    if n > 0 {
        // Padded with groups that stay where they are.
        let (mut last_before, mut last_now) = ([0.0; CHUNK_COORDINATES], [0.0; CHUNK_COORDINATES]);
        last_before[..n].copy_from_slice(before_rest);
        last_now[..n].copy_from_slice(now_rest);
        add_chunk(now.len() * CHUNK, n / 3, &mut last_before, &last_now, out, &mut worst);
        before_rest.copy_from_slice(now_rest);
    }
    worst
}

/// Adds the jumps of the `n` first groups of a chunk, and sets `before` to `now`.
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
            jumps[k] = jump_of(whole);
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

/// Returns the jump that undoes a change by a whole number, of at most 2³¹.
#[inline(always)]
pub(super) fn jump_of(whole: f64) -> i32 {
    // The last bits of this sum are the integer.
    (INTEGERS - whole).to_bits() as u32 as i32
}

/// Returns the nearest whole number, and how far the change is from it: infinity if that is not a number, or the whole
/// number too large.
#[inline(always)]
pub(super) fn doubt_of(change: f64) -> (f64, f64) {
    let whole = change.round_ties_even();
    let doubt = (change - whole).abs();
    // Written so that NaN is infinite as well.
    let is_known = doubt <= 0.5 && whole.abs() <= f64::from(i32::MAX);
    (whole, if is_known { doubt } else { f64::INFINITY })
}
