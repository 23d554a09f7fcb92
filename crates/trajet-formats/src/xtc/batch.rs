//! Decodes groups with vector instructions: sixteen groups at a time, one in each lane.
//!
//! Step `k` decodes small difference `k` of all sixteen groups and adds it to their running
//! sums. Lanes with a shorter run idle. Quotients are found in floats (`f32` for the differences,
//! `f64` for absolute coordinates), rounded to nearest, and corrected by the remainder, so that they are
//! exact.

use trajet_simd::lanes::{LANES, Lanes, WideLanes};
#[cfg(target_arch = "x86_64")]
use trajet_simd::x86::{Avx2, Avx512};

use super::coder::{Coder, Form, GROUP_ATOMS};
use super::head::{ANGSTROM_PER_NM, Packed};
use super::radix::{SMALL_SIZES, Wide};
use super::scan::{Group, Scanned, Walk};
use crate::DecodeError;

/// Largest index of the small size whose packed numbers are positive as `i32`.
const LARGEST_SMALL: u8 = 31;
/// Numbers of a group, rounded up to whole vectors of 16.
pub(super) const ROW: usize = (3 * GROUP_ATOMS).next_multiple_of(16);
/// Batches of sixteen groups that the walk finds ahead of decoding.
const AHEAD: usize = 8;
/// Largest distance between the first and the last of sixteen groups, bits.
const FARTHEST: u64 = 1 << 30;
/// Rounds a float below 2^22 when added: the sum has the nearest integer in its lowest bits.
const TO_NEAREST: f32 = 12_582_912.0;

/// Like [`TO_NEAREST`], for doubles below 2^51.
const TO_NEAREST_WIDE: f64 = 6_755_399_441_055_744.0;

/// Buffers of a batch, reused without being cleared.
#[derive(Debug)]
pub(super) struct Batch {
    /// Coordinates in the [`Form`] of the coder: row `3 * atom of the group in file order + axis`, one lane per
    /// group.
    pub(super) rows: [[f32; LANES]; ROW],
    /// The transpose of `rows`.
    columns: [[f32; ROW]; LANES],
}

impl Default for Batch {
    fn default() -> Self {
        Batch { rows: [[0.0; LANES]; ROW], columns: [[0.0; ROW]; LANES] }
    }
}

/// Constants of a frame in vectors, and the range checks collected over its groups.
pub(super) struct Constants<V: Lanes> {
    min: [V::I; 3],
    above: [V::I; 3],
    form: Form,
    inverse: V::F,
    angstrom: V::F,
    /// Largest coordinate so far, relative to the smallest of the frame; checked at the end.
    worst: [V::I; 3],
    /// Negative in lanes in which a number was outside of its radix.
    outside: V::I,
}

impl<V: Lanes> Constants<V> {
    #[inline(always)]
    pub(super) fn new(v: V, coder: &Coder) -> Self {
        let zero = v.splat(0);
        Constants {
            min: coder.min().map(|m| v.splat(m)),
            above: coder.above().map(|a| v.splat(a as i32)),
            form: coder.form(),
            inverse: v.splat_f(coder.inverse()),
            angstrom: v.splat_f(ANGSTROM_PER_NM),
            worst: [zero; 3],
            outside: zero,
        }
    }

    /// Whether all numbers decoded so far lie within the range that the frame declares.
    #[inline(always)]
    pub(super) fn inside(&self, v: V) -> bool {
        let mut lanes = [0; LANES];
        v.store(self.outside, &mut lanes);
        let mut inside = lanes.iter().all(|&l| l >= 0);
        for axis in 0..3 {
            let (mut worst, mut above) = ([0; LANES], [0; LANES]);
            v.store(self.worst[axis], &mut worst);
            v.store(self.above[axis], &mut above);
            inside &= worst.iter().zip(above).all(|(&w, a)| w as u32 <= a as u32);
        }
        inside
    }
}

/// Sixteen groups as a structure of arrays, one group per lane.
#[derive(Debug, Default)]
pub(super) struct Sixteen {
    /// Bit at which the absolute coordinates begin.
    bit: [u64; LANES],
    first: [u32; LANES],
    /// Number of atoms in the run.
    run: [i32; LANES],
    /// Bit at which the run begins, relative to `bit`.
    run_at: [i32; LANES],
    /// Index of the small size.
    small: [i32; LANES],
}

impl Sixteen {
    #[inline(always)]
    fn set(&mut self, lane: usize, group: &Group) {
        self.bit[lane] = group.bit;
        self.first[lane] = group.first;
        self.run[lane] = i32::from(group.run);
        self.run_at[lane] = i32::from(group.run_at);
        self.small[lane] = i32::from(group.small);
    }

    fn group(&self, lane: usize) -> Group {
        Group {
            bit: self.bit[lane],
            first: self.first[lane],
            run: self.run[lane] as u8,
            run_at: self.run_at[lane] as u8,
            small: self.small[lane] as u8,
        }
    }

    /// Returns the groups of the first `n` lanes, for the scalar decoder.
    fn groups(&self, n: usize) -> Vec<Group> {
        (0..n).map(|lane| self.group(lane)).collect()
    }
}

/// Fills `to` with the next groups of a walk and returns their number. Groups are found well ahead of
/// decoding, so that loads of their vectors do not wait for stores that are still in flight.
///
/// # Errors
/// As [`Walk::next`].
#[inline(never)] // In a function of its own, the walk stays in registers.
fn fill(walk: &mut Walk<'_>, to: &mut [Sixteen; AHEAD]) -> Result<usize, DecodeError> {
    let mut here = *walk;
    let mut n = 0;
    while n < AHEAD * LANES
        && let Some((group, _)) = here.next()?
    {
        to[n / LANES].set(n % LANES, &group);
        n += 1;
    }
    *walk = here;
    Ok(n)
}

/// Decodes, for the group in each lane `l`, the absolute atom and the first `runs[l]` atoms of the run into
/// `batch.rows`, in file order.
///
/// Returns the largest of `runs`, or `None` without decoding anything if a number is too wide for a lane or
/// the groups lie too far apart.
#[inline(always)]
fn decode<V: Absolutes>(
    v: V,
    coder: &Coder,
    constants: &mut Constants<V>,
    data: &[u8],
    groups: &Sixteen,
    runs: &[i32; LANES],
    batch: &mut Batch,
) -> Option<usize> {
    let small = v.load(&groups.small);
    if v.any_negative(v.sub(v.splat(i32::from(LARGEST_SMALL)), small)) {
        return None;
    }
    let most = runs.iter().fold(0, |most, &run| most.max(run)) as usize;
    let base = (groups.bit[0] / 8) as usize;
    // Groups of a few selected atoms may lie farther apart than a 32-bit offset reaches.
    if groups.bit[LANES - 1] - groups.bit[0] > FARTHEST {
        return None;
    }
    let data = &data[base..];
    let bits = groups.bit.map(|bit| bit.wrapping_sub(8 * base as u64));
    let at = v.load(&bits.map(|bit| bit as i32));
    let absolute = match v.absolutes(coder, data, at) {
        Some((absolute, outside)) => {
            constants.outside = v.or(constants.outside, outside);
            [0, 1, 2].map(|axis| v.add(absolute[axis], constants.min[axis]))
        }
        None => {
            let mut absolute = [[0; LANES]; 3];
            if !coder.absolutes(data, &bits, &mut absolute) {
                constants.outside = v.splat(-1);
            }
            absolute.map(|lanes| v.load(&lanes))
        }
    };
    let mut at = v.add(at, v.load(&groups.run_at));
    let size = v.load(&groups.small.map(|small| SMALL_SIZES[small as usize & 31] as i32));
    let rows = &mut batch.rows;
    let inverse = v.div_f(v.splat_f(1.0), v.float(size));
    let half = v.shr(size, v.splat(1));
    let one = v.splat(1);
    // The bytes of a number are stored lowest first; the last byte contributes its upper `part` bits.
    let part = v.add(v.and(v.sub(small, one), v.splat(7)), one);
    let empty = v.sub(v.splat(8), part);
    let whole = v.sub(v.shl(one, v.sub(small, part)), one);
    let all = v.sub(v.shl(one, small), one);
    // Relative to the smallest coordinate of the frame.
    let mut position = [one; 3];
    for axis in 0..3 {
        position[axis] = v.sub(absolute[axis], constants.min[axis]);
        constants.look(v, axis, position[axis], v.splat(-1));
        // The absolute atom is the second of its group if there is a run, else the only one.
        let angstrom = constants.convert(v, absolute[axis]);
        v.store_f(angstrom, &mut rows[axis]);
        v.store_f(angstrom, &mut rows[3 + axis]);
    }
    let mut left = v.load(runs);
    for k in 1..=most {
        let bytes = v.upper_reversed(v.stream(data, at));
        let number = v.and(v.select(whole, bytes, v.shr(bytes, empty)), all);
        let (rest, z) = divide(v, number, size, inverse);
        let (x, y) = divide(v, rest, size, inverse);
        // All bits are set in lanes that still have atoms.
        let active = v.sign(v.sub(v.splat(0), left));
        let outside = v.sub(v.sub(size, one), x);
        constants.outside = v.or(constants.outside, v.and(outside, active));
        for (axis, difference) in [x, y, z].into_iter().enumerate() {
            position[axis] = v.add(position[axis], v.sub(difference, half));
            constants.look(v, axis, position[axis], active);
            let angstrom = constants.convert(v, v.add(position[axis], constants.min[axis]));
            if k > 1 {
                v.store_f(angstrom, &mut rows[3 * k + axis]);
                continue;
            }
            // The first difference gives the atom before the absolute one in file order.
            let alone = v.bits(v.load_f(&rows[axis]));
            let first = v.of_bits(v.select(active, v.bits(angstrom), alone));
            v.store_f(first, &mut rows[axis]);
        }
        at = v.add(at, small);
        left = v.sub(left, one);
    }
    Some(most)
}

impl<V: Lanes> Constants<V> {
    #[inline(always)]
    fn convert(&self, v: V, integers: V::I) -> V::F {
        match self.form {
            Form::Angstroms => v.mul_f(v.mul_f(v.float(integers), self.inverse), self.angstrom),
            Form::Integers => v.of_bits(integers),
        }
    }

    /// Updates the largest coordinate, relative to the smallest of the frame, from the active lanes.
    #[inline(always)]
    fn look(&mut self, v: V, axis: usize, from_min: V::I, active: V::I) {
        self.worst[axis] = v.max_unsigned(self.worst[axis], v.and(from_min, active));
    }
}

/// Returns quotients and remainders of numbers below 2^31 by a small size.
///
/// The quotient is below 2^21, so that three roundings move it by less than a half: rounded to nearest,
/// it is right or one too large. The sign of the remainder tells which.
#[inline(always)]
fn divide<V: Lanes>(v: V, number: V::I, size: V::I, inverse: V::F) -> (V::I, V::I) {
    let shifted = v.add_f(v.mul_f(v.float(number), inverse), v.splat_f(TO_NEAREST));
    let quotient = v.sub(v.bits(shifted), v.splat(TO_NEAREST.to_bits() as i32));
    let remainder = v.sub(number, v.mul(quotient, size));
    let too_large = v.sign(remainder);
    (v.add(quotient, too_large), v.add(remainder, v.and(size, too_large)))
}

/// Lanes that may also decode absolute coordinates, if that is faster than scalar arithmetic.
pub(super) trait Absolutes: Lanes {
    /// Decodes the absolute coordinates at bits `at` of the data, as [`wide_absolutes`] does; `None` if they
    /// must be decoded one by one.
    #[inline(always)]
    fn absolutes(self, _: &Coder, _: &[u8], _: Self::I) -> Option<([Self::I; 3], Self::I)> {
        None
    }
}

#[cfg(target_arch = "x86_64")]
impl Absolutes for Avx2 {}

#[cfg(target_arch = "x86_64")]
impl Absolutes for Avx512 {
    #[inline(always)]
    fn absolutes(self, coder: &Coder, data: &[u8], at: Self::I) -> Option<([Self::I; 3], Self::I)> {
        coder.wide().map(|wide| wide_absolutes(self, wide, self.stream(data, at)))
    }
}

/// Decodes the absolute coordinates at the front of each lane's bits. The second result is negative in lanes
/// whose first coordinate is outside of its radix. Divides like [`divide`], but in `f64`.
#[inline(always)]
fn wide_absolutes<V: WideLanes>(v: V, wide: &Wide, stream: V::W) -> ([V::I; 3], V::I) {
    let Wide { bits, whole, mask, sizes, inverses } = *wide;
    let last = v.shr_w(v.shl_w(stream, whole), 64 - (bits - whole));
    let number = v.or_w(v.and_w(v.reversed(stream), mask), v.shl_w(last, whole));
    let size = sizes.map(|size| v.splat(size as i32));
    let shifted = v.add_d(v.mul_d(v.double_w(number), inverses[1]), TO_NEAREST_WIDE);
    let quotient = v.lower(v.bits_d(shifted));
    let remainder = v.sub(v.lower(number), v.mul(quotient, size[2]));
    let too_large = v.sign(remainder);
    let z = v.add(remainder, v.and(size[2], too_large));
    let rest = v.sum_d(v.add_d(shifted, -TO_NEAREST_WIDE), v.double(too_large));
    let rest_lower = v.add(quotient, too_large);
    let x = v.lower(v.bits_d(v.add_d(v.mul_d(rest, inverses[0]), TO_NEAREST_WIDE)));
    let remainder = v.sub(rest_lower, v.mul(x, size[1]));
    let too_large = v.sign(remainder);
    let y = v.add(remainder, v.and(size[1], too_large));
    let x = v.add(x, too_large);
    ([x, y, z], v.sub(v.sub(size[0], v.splat(1)), x))
}

impl Batch {
    /// Writes the groups' atoms to `out`, which must have [`ROW`] numbers from the first atom of the last group
    /// on. Numbers after the last group's atoms may be overwritten.
    #[inline(always)]
    fn write<V: Lanes>(&mut self, v: V, groups: &Sixteen, most: usize, out: &mut [f32]) {
        let first = groups.first[0] as usize;
        let out = &mut out[3 * first..];
        let at = groups.first.map(|begin| 3 * (begin as usize - first));
        if most < 4 {
            // Groups of up to four atoms, such as waters, are stored from registers without `columns`.
            let four = [self.four(v, 0), self.four(v, 4), self.four(v, 8)];
            for lane in 0..LANES {
                let (group, _) = out[at[lane]..at[lane] + 12].as_chunks_mut::<4>();
                for (to, from) in group.iter_mut().zip(&four) {
                    v.store_q(from[lane], to);
                }
            }
            return;
        }
        let n = 3 * (most + 1);
        for place in (0..n).step_by(4) {
            let four = self.four(v, place);
            for lane in 0..LANES {
                let (columns, _) = self.columns[lane].as_chunks_mut::<4>();
                v.store_q(four[lane], &mut columns[place / 4]);
            }
        }
        for (column, at) in self.columns.iter().zip(at) {
            for k in (0..n).step_by(16) {
                let sixteen: &[f32; 16] = column[k..k + 16].try_into().expect("sixteen");
                out[at + k..at + k + 16].copy_from_slice(sixteen);
            }
        }
    }

    /// Returns four numbers of each group from row `place` on.
    #[inline(always)]
    fn four<V: Lanes>(&self, v: V, place: usize) -> [V::Q; LANES] {
        let rows = &self.rows[place..place + 4];
        v.columns([v.load_f(&rows[0]), v.load_f(&rows[1]), v.load_f(&rows[2]), v.load_f(&rows[3])])
    }
}

/// Decodes all atoms of a frame while walking from group to group.
///
/// # Errors
/// Any [`DecodeError`] of the compressed coordinates.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
pub(super) fn all<V: Absolutes>(
    v: V,
    coder: &Coder,
    packed: &Packed,
    data: &[u8],
    at_hand: usize,
    n_atoms: usize,
    batch: &mut Batch,
    out: &mut [f32],
) -> Result<Scanned, DecodeError> {
    let mut constants = Constants::new(v, coder);
    let mut inside = true;
    let mut walk = Walk::new(packed, data, at_hand, n_atoms, n_atoms);
    let mut ahead: [Sixteen; AHEAD] = Default::default();
    loop {
        let n = fill(&mut walk, &mut ahead)?;
        for (k, groups) in ahead.iter().enumerate().take(n.div_ceil(LANES)) {
            let here = LANES.min(n - k * LANES);
            let room = 3 * groups.first[LANES - 1] as usize + ROW <= out.len();
            let decoded = match here == LANES && room {
                true => decode(v, coder, &mut constants, data, groups, &groups.run, batch),
                false => None,
            };
            match decoded {
                Some(most) => batch.write(v, groups, most, out),
                None => inside &= coder.each(data, &groups.groups(here), out),
            }
        }
        if n < AHEAD * LANES {
            break;
        }
    }
    walk.end_with(inside && constants.inside(v))
}

/// Decodes the selected atoms from the groups that hold them. Returns the number of atoms decoded, including
/// those that had to be decoded only to get to a selected one.
///
/// # Errors
/// [`DecodeError::OutsideRange`].
#[inline(always)]
#[allow(clippy::too_many_arguments)]
pub(super) fn selected<V: Absolutes>(
    v: V,
    coder: &Coder,
    _: &Packed,
    data: &[u8],
    groups: &[Group],
    selected: &[u32],
    batch: &mut Batch,
    out: &mut [f32],
) -> Result<u64, DecodeError> {
    let mut constants = Constants::new(v, coder);
    let out = out.as_chunks_mut::<3>().0;
    let (mut next, mut decoded) = (0, 0);
    let mut sixteen = Sixteen::default();
    for here in groups.chunks(LANES) {
        let first = next;
        let (mut runs, mut ends) = ([0; LANES], [0; LANES]);
        for lane in 0..LANES {
            sixteen.set(lane, &here[lane.min(here.len() - 1)]);
        }
        for (lane, group) in here.iter().enumerate() {
            let (needed, end) = group.needed(selected, next);
            (runs[lane], ends[lane], next) = (needed as i32, end, end);
            decoded += needed as u64 + 1;
        }
        if decode(v, coder, &mut constants, data, &sixteen, &runs, batch).is_none() {
            let (list, place) = (&selected[first..next], &mut out[first..next]);
            coder.selected(data, here, list, place, |t| coder.stored(t))?;
            continue;
        }
        let mut from = first;
        for (lane, group) in here.iter().enumerate() {
            for k in from..ends[lane] {
                let place = 3 * (selected[k] - group.first) as usize;
                out[k] = [0, 1, 2].map(|axis| batch.rows[place + axis][lane]);
            }
            from = ends[lane];
        }
    }
    debug_assert_eq!(next, selected.len());
    if constants.inside(v) { Ok(decoded) } else { Err(DecodeError::OutsideRange) }
}
