//! Jumps of atoms through the faces of the cell, and moves that undo them.
//!
//! A frame is compared with the positions of the frame before, not with fractional coordinates of it: these have twice
//! as many bytes, and computing them again takes less time than to read them. Atoms are held 64 at a time, by axis.
//!
//! **Screening.** Coordinates are first computed in `f32`. With the reciprocal vectors `r` and `r'` of the two cells and
//! coordinates of at most `X`, each of the two sums `Σ r_k x_k` is wrong by at most `5·2⁻²⁴ Σ|r_k| X` (rounding of `r_k`,
//! a product and two sums, and terms of higher order), and their difference is rounded once more. If
//! `X Σ(|r_k| + |r'_k|)` is at most 2¹², the difference is wrong by less than 0.002, and the same computed in `f64` by far
//! less. If in addition no difference is more than 0.39 from a whole number, then the whole numbers are those of `f64`,
//! and no step is large. All other chunks are computed in `f64`.

use trajet_simd::{InstructionSet, multiversion};

use super::jumps::{doubt_of, jump_of};
use crate::cell::{Cell, Vector, combine, dot};

/// Steps of more than this share of a cell are large: it is doubtful which way they went.
pub const LARGE_STEP: f64 = 0.4;

/// Number of atoms that are looked at together. Loops of fewer are unrolled instead of vectorised.
const CHUNK: usize = 64;
/// A step that is certainly not large if its approximation is not larger.
const SURELY_SMALL: f32 = 0.39;
/// The number of cells from the origin, summed over two frames, within which approximations are good.
const NEAR: f64 = 4096.0;
/// Numbers of this size have only integers as neighbours, and the difference from it in their last bits.
const INTEGERS: f32 = 1.5 * (1u32 << 23) as f32;
/// All bits of a float but the sign. As integers, NaN are the largest.
const MAGNITUDE: u32 = 0x7fff_ffff;

/// Numbers of some atoms, by axis. After the last atom they are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(64))]
struct Chunk<T>([[T; CHUNK]; 3]);

/// Positions of the atoms of a frame, and its cell: the frame that the next one is compared with.
#[derive(Clone, Debug, Default)]
pub struct FrameBefore {
    reciprocal: [Vector; 3],
    chunks: Vec<Chunk<f32>>,
    n_atoms: usize,
}

/// The numbers of cells by which atoms are shifted along each box vector.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AtomShifts {
    chunks: Vec<Chunk<i32>>,
    n_atoms: usize,
}

/// The jumps of atoms from one frame to the next.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AtomJumps {
    /// Zero where a jump of the chunk does not fit.
    chunks: Vec<Chunk<i8>>,
    /// The chunks that do not fit, with their positions.
    wide: Vec<(usize, Chunk<i32>)>,
    n_atoms: usize,
}

impl FrameBefore {
    /// Sets the frame.
    pub fn set(&mut self, cell: &Cell, positions: &[[f32; 3]]) {
        self.reciprocal = *cell.reciprocal();
        self.n_atoms = positions.len();
        self.chunks.resize(positions.len().div_ceil(CHUNK), Chunk::default());
        for (chunk, positions) in self.chunks.iter_mut().zip(positions.chunks(CHUNK)) {
            load(positions, chunk);
        }
    }
}

impl AtomShifts {
    /// Sets the shifts of `n_atoms` atoms.
    pub fn set(&mut self, n_atoms: usize, shift: impl Fn(usize) -> [i32; 3]) {
        self.n_atoms = n_atoms;
        self.chunks.clear();
        self.chunks.resize(n_atoms.div_ceil(CHUNK), Chunk::default());
        for atom in 0..n_atoms {
            for (axis, n) in self.chunks[atom / CHUNK].0.iter_mut().zip(shift(atom)) {
                axis[atom % CHUNK] = n;
            }
        }
    }

    /// Returns the shift of each atom.
    pub fn iter(&self) -> impl Iterator<Item = [i32; 3]> {
        (0..self.n_atoms).map(|atom| self.chunks[atom / CHUNK].0.map(|axis| axis[atom % CHUNK]))
    }
}

impl AtomJumps {
    /// Sets the jumps of `n_atoms` atoms to none.
    pub fn set_to_none(&mut self, n_atoms: usize) {
        self.n_atoms = n_atoms;
        self.wide.clear();
        self.chunks.clear();
        self.chunks.resize(n_atoms.div_ceil(CHUNK), Chunk::default());
    }
}

impl<T: Copy + Default> Default for Chunk<T> {
    #[inline(always)]
    fn default() -> Self {
        Chunk([[T::default(); CHUNK]; 3])
    }
}

/// Counts the jumps from the frame before to a frame: adds `s = -round(f - f_before)`, ties to even, to `shifts`, with
/// the coordinates `f` along the box vectors in units of their lengths. The frame becomes the frame before. Shifts
/// saturate.
///
/// Returns the largest `|Δf - round(Δf)|` and the first atom that has it, if it is more than [`LARGE_STEP`], or else 0
/// and 0. It is infinite where a position is not a number, which counts as no jump, and where the number of jumps is
/// beyond 2³¹.
///
/// # Panics
/// If the numbers of atoms differ.
pub fn count_jumps(
    cell: &Cell,
    before: &mut FrameBefore,
    positions: &[[f32; 3]],
    shifts: &mut AtomShifts,
) -> (f64, usize) {
    count_jumps_on(InstructionSet::default(), cell, before, positions, shifts)
}

multiversion! {
    pub(super) fn count_jumps_on(
        cell: &Cell,
        before: &mut FrameBefore,
        positions: &[[f32; 3]],
        shifts: &mut AtomShifts,
    ) -> (f64, usize) = count_jumps_of
}

#[inline(always)]
fn count_jumps_of(
    cell: &Cell,
    before: &mut FrameBefore,
    positions: &[[f32; 3]],
    shifts: &mut AtomShifts,
) -> (f64, usize) {
    check(before.n_atoms == positions.len() && shifts.n_atoms == positions.len());
    let mut pair = Pair::new(&before.reciprocal, cell.reciprocal());
    let mut memory = Memory::default();
    let chunks = before.chunks.iter_mut().zip(&mut shifts.chunks);
    for (positions, (before, shifts)) in positions.chunks(CHUNK).zip(chunks) {
        load(positions, &mut memory.now);
        pair.step(before, &memory.now, positions.len(), &mut memory.jumps);
        *before = memory.now;
        add(&memory.jumps, shifts);
    }
    before.reciprocal = *cell.reciprocal();
    pair.worst
}

/// Counts the jumps from the frame before to a frame as [`count_jumps`] does, and moves its atoms by the shifts, as
/// [`shift_atoms`] does.
///
/// # Panics
/// If the numbers of atoms differ.
pub fn follow_atoms(
    cell: &Cell,
    before: &mut FrameBefore,
    positions: &mut [[f32; 3]],
    shifts: &mut AtomShifts,
) -> (f64, usize) {
    follow_atoms_on(InstructionSet::default(), cell, before, positions, shifts)
}

multiversion! {
    pub(super) fn follow_atoms_on(
        cell: &Cell,
        before: &mut FrameBefore,
        positions: &mut [[f32; 3]],
        shifts: &mut AtomShifts,
    ) -> (f64, usize) = follow_atoms_of
}

#[inline(always)]
fn follow_atoms_of(
    cell: &Cell,
    before: &mut FrameBefore,
    positions: &mut [[f32; 3]],
    shifts: &mut AtomShifts,
) -> (f64, usize) {
    check(before.n_atoms == positions.len() && shifts.n_atoms == positions.len());
    let mut pair = Pair::new(&before.reciprocal, cell.reciprocal());
    let mut memory = Memory::default();
    let chunks = before.chunks.iter_mut().zip(&mut shifts.chunks);
    for (positions, (before, shifts)) in positions.chunks_mut(CHUNK).zip(chunks) {
        load(positions, &mut memory.now);
        pair.step(before, &memory.now, positions.len(), &mut memory.jumps);
        *before = memory.now;
        add(&memory.jumps, shifts);
        shift(cell, shifts, positions);
    }
    before.reciprocal = *cell.reciprocal();
    pair.worst
}

/// Finds the jumps that [`count_jumps`] would count. Returns the same.
///
/// # Panics
/// If the numbers of atoms differ.
pub fn find_atom_jumps(
    cell: &Cell,
    before: &mut FrameBefore,
    positions: &[[f32; 3]],
    found: &mut AtomJumps,
) -> (f64, usize) {
    find_atom_jumps_on(InstructionSet::default(), cell, before, positions, found)
}

multiversion! {
    pub(super) fn find_atom_jumps_on(
        cell: &Cell,
        before: &mut FrameBefore,
        positions: &[[f32; 3]],
        found: &mut AtomJumps,
    ) -> (f64, usize) = find_atom_jumps_of
}

#[inline(always)]
fn find_atom_jumps_of(
    cell: &Cell,
    before: &mut FrameBefore,
    positions: &[[f32; 3]],
    found: &mut AtomJumps,
) -> (f64, usize) {
    check(before.n_atoms == positions.len());
    found.n_atoms = positions.len();
    found.chunks.resize(before.chunks.len(), Chunk::default());
    found.wide.clear();
    let mut pair = Pair::new(&before.reciprocal, cell.reciprocal());
    let mut memory = Memory::default();
    let chunks = before.chunks.iter_mut().zip(&mut found.chunks).enumerate();
    for (positions, (at, (before, found_here))) in positions.chunks(CHUNK).zip(chunks) {
        load(positions, &mut memory.now);
        pair.step(before, &memory.now, positions.len(), &mut memory.jumps);
        *before = memory.now;
        if !narrow(&memory.jumps, found_here) {
            found.wide.push((at, memory.jumps));
            *found_here = Chunk::default();
        }
    }
    before.reciprocal = *cell.reciprocal();
    pair.worst
}

/// Counts the jumps from one frame to another as [`count_jumps`] does. Returns the same.
///
/// # Panics
/// If the numbers of atoms differ.
pub fn count_jumps_between(
    before: &FrameBefore,
    now: &FrameBefore,
    shifts: &mut AtomShifts,
) -> (f64, usize) {
    count_jumps_between_on(InstructionSet::default(), before, now, shifts)
}

multiversion! {
    pub(super) fn count_jumps_between_on(
        before: &FrameBefore,
        now: &FrameBefore,
        shifts: &mut AtomShifts,
    ) -> (f64, usize) = count_jumps_between_of
}

#[inline(always)]
fn count_jumps_between_of(
    before: &FrameBefore,
    now: &FrameBefore,
    shifts: &mut AtomShifts,
) -> (f64, usize) {
    check(before.n_atoms == now.n_atoms && shifts.n_atoms == now.n_atoms);
    let mut pair = Pair::new(&before.reciprocal, &now.reciprocal);
    let mut jumps = Chunk::default();
    let mut left = now.n_atoms;
    let chunks = before.chunks.iter().zip(&now.chunks).zip(&mut shifts.chunks);
    for ((before, now), shifts) in chunks {
        let n = left.min(CHUNK);
        pair.step(before, now, n, &mut jumps);
        add(&jumps, shifts);
        left -= n;
    }
    pair.worst
}

/// Adds jumps that were found to `shifts`, as [`count_jumps`] does.
///
/// # Panics
/// If the numbers of atoms differ.
pub fn add_atom_jumps(found: &AtomJumps, shifts: &mut AtomShifts) {
    add_atom_jumps_on(InstructionSet::default(), found, shifts);
}

multiversion! {
    pub(super) fn add_atom_jumps_on(found: &AtomJumps, shifts: &mut AtomShifts) = add_atom_jumps_of
}

#[inline(always)]
fn add_atom_jumps_of(found: &AtomJumps, shifts: &mut AtomShifts) {
    check(found.n_atoms == shifts.n_atoms);
    add_wide(found, shifts);
    for (jumps, shifts) in found.chunks.iter().zip(&mut shifts.chunks) {
        add(jumps, shifts);
    }
}

/// Adds jumps that were found to `shifts`, as [`count_jumps`] does, and moves atoms by the sums, as [`shift_atoms`] does.
///
/// # Panics
/// If the numbers of atoms differ.
pub fn add_and_shift_atoms(
    found: &AtomJumps,
    cell: &Cell,
    shifts: &mut AtomShifts,
    positions: &mut [[f32; 3]],
) {
    add_and_shift_atoms_on(InstructionSet::default(), found, cell, shifts, positions);
}

multiversion! {
    pub(super) fn add_and_shift_atoms_on(
        found: &AtomJumps,
        cell: &Cell,
        shifts: &mut AtomShifts,
        positions: &mut [[f32; 3]],
    ) = add_and_shift_atoms_of
}

#[inline(always)]
fn add_and_shift_atoms_of(
    found: &AtomJumps,
    cell: &Cell,
    shifts: &mut AtomShifts,
    positions: &mut [[f32; 3]],
) {
    check(found.n_atoms == shifts.n_atoms && shifts.n_atoms == positions.len());
    add_wide(found, shifts);
    let chunks = found.chunks.iter().zip(&mut shifts.chunks);
    for (positions, (jumps, shifts)) in positions.chunks_mut(CHUNK).zip(chunks) {
        add(jumps, shifts);
        shift(cell, shifts, positions);
    }
}

/// Adds `Σ shift_k v_k` to the position of each atom, with the box vectors `v_k`.
///
/// # Panics
/// If the numbers of atoms differ.
pub fn shift_atoms(cell: &Cell, shifts: &AtomShifts, positions: &mut [[f32; 3]]) {
    shift_atoms_on(InstructionSet::default(), cell, shifts, positions);
}

multiversion! {
    pub(super) fn shift_atoms_on(cell: &Cell, shifts: &AtomShifts, positions: &mut [[f32; 3]])
        = shift_atoms_of
}

#[inline(always)]
fn shift_atoms_of(cell: &Cell, shifts: &AtomShifts, positions: &mut [[f32; 3]]) {
    check(shifts.n_atoms == positions.len());
    for (positions, shifts) in positions.chunks_mut(CHUNK).zip(&shifts.chunks) {
        shift(cell, shifts, positions);
    }
}

#[inline(always)]
fn check(has_as_many: bool) {
    assert!(has_as_many, "as many atoms as in the frame before, and a shift for each");
}

/// Memory for a chunk.
#[derive(Default)]
struct Memory {
    now: Chunk<f32>,
    jumps: Chunk<i32>,
}

/// Splits positions into axes.
#[inline(always)]
fn load(positions: &[[f32; 3]], to: &mut Chunk<f32>) {
    let Chunk([x, y, z]) = to;
    if let Ok(all) = <&[[f32; 3]; CHUNK]>::try_from(positions) {
        for atom in 0..CHUNK {
            (x[atom], y[atom], z[atom]) = (all[atom][0], all[atom][1], all[atom][2]);
        }
        return;
    }
    for axis in [&mut *x, &mut *y, &mut *z] {
        axis[positions.len()..].fill(0.0);
    }
    for (atom, position) in positions.iter().enumerate() {
        (x[atom], y[atom], z[atom]) = (position[0], position[1], position[2]);
    }
}

/// Two frames that are compared, chunk by chunk.
struct Pair {
    before: [Vector; 3],
    now: [Vector; 3],
    before_f32: [[f32; 3]; 3],
    now_f32: [[f32; 3]; 3],
    /// The magnitude of coordinates up to which approximations are good.
    near: u32,
    /// The largest doubt of more than [`LARGE_STEP`], and its atom.
    worst: (f64, usize),
    /// The first atom of the chunk.
    first: usize,
}

impl Pair {
    /// Returns the comparison of frames with these reciprocal vectors.
    #[inline(always)]
    fn new(before: &[Vector; 3], now: &[Vector; 3]) -> Self {
        let single = |vectors: &[Vector; 3]| vectors.map(|vector| vector.map(|x| x as f32));
        let mut most: f64 = 0.0;
        for axis in 0..3 {
            let sum = |vector: Vector| vector[0].abs() + vector[1].abs() + vector[2].abs();
            most = most.max(sum(before[axis]) + sum(now[axis]));
        }
        Pair {
            before: *before,
            now: *now,
            before_f32: single(before),
            now_f32: single(now),
            near: ((NEAR / most) as f32).to_bits(),
            worst: (0.0, 0),
            first: 0,
        }
    }

    /// Sets `jumps` to those of the next chunk, which has `n` atoms.
    #[inline(always)]
    fn step(&mut self, before: &Chunk<f32>, now: &Chunk<f32>, n: usize, jumps: &mut Chunk<i32>) {
        let (mut size, mut doubt) = (0, 0);
        let (a, b) = (&self.before_f32, &self.now_f32);
        for lane in 0..CHUNK {
            let from = [before.0[0][lane], before.0[1][lane], before.0[2][lane]];
            let to = [now.0[0][lane], now.0[1][lane], now.0[2][lane]];
            for axis in 0..3 {
                size = size.max(from[axis].to_bits() & MAGNITUDE);
                size = size.max(to[axis].to_bits() & MAGNITUDE);
                let change = dot_f32(a[axis], from) - dot_f32(b[axis], to);
                let rounded = change + INTEGERS;
                let rest = change - (rounded - INTEGERS);
                doubt = doubt.max(rest.to_bits() & MAGNITUDE);
                jumps.0[axis][lane] = rounded.to_bits().wrapping_sub(INTEGERS.to_bits()) as i32;
            }
        }
        if size > self.near || doubt > SURELY_SMALL.to_bits() {
            self.exact_step(before, now, n, jumps);
        }
        self.first += n;
    }

    /// Computes the jumps in `f64`.
    #[inline(always)]
    fn exact_step(
        &mut self,
        before: &Chunk<f32>,
        now: &Chunk<f32>,
        n: usize,
        jumps: &mut Chunk<i32>,
    ) {
        let (mut is_larger, largest) = (false, self.worst.0.max(LARGE_STEP));
        for axis in 0..3 {
            for lane in 0..CHUNK {
                let change = self.change(before, now, axis, lane);
                let (whole, doubt) = doubt_of(change);
                is_larger |= doubt > largest || doubt == f64::INFINITY;
                jumps.0[axis][lane] = jump_of(whole);
            }
        }
        if is_larger {
            self.large_step(before, now, n, jumps);
        }
    }

    /// Looks for the largest step of a chunk, and counts jumps where `jump_of` cannot.
    #[cold]
    #[inline(never)]
    fn large_step(
        &mut self,
        before: &Chunk<f32>,
        now: &Chunk<f32>,
        n: usize,
        jumps: &mut Chunk<i32>,
    ) {
        for atom in 0..n {
            for axis in 0..3 {
                let change = self.change(before, now, axis, atom);
                let doubt = doubt_of(change).1;
                if doubt > self.worst.0.max(LARGE_STEP) {
                    self.worst = (doubt, self.first + atom);
                }
                if doubt == f64::INFINITY {
                    // A cast saturates, and is 0 for NaN.
                    jumps.0[axis][atom] = (0.0 - change.round_ties_even()) as i32;
                }
            }
        }
    }

    /// Returns the change of the coordinate along a box vector.
    #[inline(always)]
    fn change(&self, before: &Chunk<f32>, now: &Chunk<f32>, axis: usize, lane: usize) -> f64 {
        let Chunk([x, y, z]) = now;
        let to = [f64::from(x[lane]), f64::from(y[lane]), f64::from(z[lane])];
        let Chunk([x, y, z]) = before;
        let from = [f64::from(x[lane]), f64::from(y[lane]), f64::from(z[lane])];
        dot(self.now[axis], to) - dot(self.before[axis], from)
    }
}

#[inline(always)]
fn dot_f32(a: [f32; 3], b: [f32; 3]) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// Copies jumps to numbers of eight bits. Returns whether all of them fit.
#[inline(always)]
fn narrow(jumps: &Chunk<i32>, to: &mut Chunk<i8>) -> bool {
    let mut beyond = 0;
    for (jumps, to) in jumps.0.iter().zip(&mut to.0) {
        for lane in 0..CHUNK {
            beyond |= jumps[lane].wrapping_add(128);
            to[lane] = jumps[lane] as i8;
        }
    }
    beyond & !255 == 0
}

/// Adds jumps to shifts.
#[inline(always)]
fn add<T: Copy + Into<i32>>(jumps: &Chunk<T>, shifts: &mut Chunk<i32>) {
    for (jumps, shifts) in jumps.0.iter().zip(&mut shifts.0) {
        for lane in 0..CHUNK {
            shifts[lane] = shifts[lane].saturating_add(jumps[lane].into());
        }
    }
}

/// Adds the jumps of the chunks that do not fit.
fn add_wide(found: &AtomJumps, shifts: &mut AtomShifts) {
    for (at, jumps) in &found.wide {
        add(jumps, &mut shifts.chunks[*at]);
    }
}

/// Moves the atoms of a chunk.
#[inline(always)]
fn shift(cell: &Cell, shifts: &Chunk<i32>, positions: &mut [[f32; 3]]) {
    let Chunk([i, j, k]) = shifts;
    let mut any = 0;
    for lane in 0..CHUNK {
        any |= i[lane] | j[lane] | k[lane];
    }
    if any == 0 {
        return;
    }
    if let Ok(all) = <&mut [[f32; 3]; CHUNK]>::try_from(&mut *positions) {
        for lane in 0..CHUNK {
            all[lane] = shifted(cell, [i[lane], j[lane], k[lane]], all[lane]);
        }
        return;
    }
    for (lane, position) in positions.iter_mut().enumerate() {
        *position = shifted(cell, [i[lane], j[lane], k[lane]], *position);
    }
}

/// Returns the position of an atom that is shifted, unless `f32` cannot hold it.
#[inline(always)]
fn shifted(cell: &Cell, shift: [i32; 3], position: [f32; 3]) -> [f32; 3] {
    let [i, j, k] = shift;
    let by = combine(cell.vectors(), [f64::from(i), f64::from(j), f64::from(k)]);
    let [x, y, z] = position;
    let moved = [
        (f64::from(x) + by[0]) as f32,
        (f64::from(y) + by[1]) as f32,
        (f64::from(z) + by[2]) as f32,
    ];
    // A position stays where it is, with the sign of a zero.
    let is_moved =
        (i | j | k != 0) & moved[0].is_finite() & moved[1].is_finite() & moved[2].is_finite();
    [
        if is_moved { moved[0] } else { x },
        if is_moved { moved[1] } else { y },
        if is_moved { moved[2] } else { z },
    ]
}
