//! The second pass on vectors: sixteen groups at a time, one in each lane.
//!
//! Step `k` decodes the `k`-th small difference of all sixteen groups and adds it to their running
//! sums. Lanes whose run is shorter idle. The absolute coordinates are decoded one by one: they take
//! wide arithmetic, and there is one a group only. The quotients are found in `f32`, rounded to
//! nearest, and corrected by the remainder, so that they are exact.

use trajet_simd::lanes::{LANES, Lanes};

use super::decode::{ANGSTROM_PER_NM, Coder, GROUP_ATOMS};
use super::head::Packed;
use super::radix::SMALL_SIZES;
use super::scan::{Group, Scanned, Walk};
use crate::Fault;

/// Largest index of the small size whose numbers are positive as `i32`.
const LARGEST_SMALL: u8 = 31;
/// Bytes that may be looked at behind the place where a run begins: ten numbers, and one load.
const REACH: usize = (10 * LARGEST_SMALL as usize) / 8 + 1 + 8;
/// Numbers of a group, up to whole vectors of 16.
pub(super) const ROW: usize = (3 * GROUP_ATOMS).next_multiple_of(16);
/// Added to a float below 2^22 it leaves the nearest integer in the lowest bits.
const TO_NEAREST: f32 = 12_582_912.0;

/// Memory of a batch, not initialised anew for each.
#[derive(Debug)]
pub(super) struct Batch {
    /// Å, by place in the file's order times three plus axis, then by lane.
    pub(super) rows: [[f32; LANES]; ROW],
    /// The same, turned.
    columns: [[f32; ROW]; LANES],
}

impl Default for Batch {
    fn default() -> Self {
        Batch { rows: [[0.0; LANES]; ROW], columns: [[0.0; ROW]; LANES] }
    }
}

/// What is constant in a frame.
pub(super) struct Constants<V: Lanes> {
    min: [V::I; 3],
    above: [V::I; 3],
    inverse: V::F,
    angstrom: V::F,
    /// The largest coordinate so far, from the smallest on; compared at the end.
    worst: [V::I; 3],
    /// Negative where a number was outside of its radix.
    outside: V::I,
}

impl<V: Lanes> Constants<V> {
    #[inline(always)]
    pub(super) fn new(v: V, coder: &Coder) -> Self {
        let zero = v.splat(0);
        Constants {
            min: coder.min().map(|m| v.splat(m)),
            above: coder.above().map(|a| v.splat(a as i32)),
            inverse: v.splat_f(coder.inverse()),
            angstrom: v.splat_f(ANGSTROM_PER_NM),
            worst: [zero; 3],
            outside: zero,
        }
    }

    /// Whether all numbers so far lay inside of what the frame declares.
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

/// Whether sixteen groups can be decoded together.
#[inline(always)]
pub(super) fn fits(groups: &[Group; LANES], data: &[u8]) -> bool {
    let (mut small, mut last) = (0, 0);
    for group in groups {
        small = small.max(group.small);
        last =
            last.max(group.bit.wrapping_sub(groups[0].bit).wrapping_add(u64::from(group.run_at)));
    }
    let begin = (groups[0].bit / 8) as usize;
    // The bits from the first group on must fit a lane, whatever the groups say.
    small <= LARGEST_SMALL && last < 1 << 24 && begin + (last / 8) as usize + REACH < data.len()
}

/// Decodes the absolute atom and the first `runs[l]` atoms of the run of each group into `batch.rows`,
/// in file order.
///
/// Returns the largest of `runs`.
#[inline(always)]
pub(super) fn decode<V: Lanes>(
    v: V,
    coder: &Coder,
    constants: &mut Constants<V>,
    data: &[u8],
    groups: &[Group; LANES],
    runs: &[i32; LANES],
    batch: &mut Batch,
) -> usize {
    assert!(fits(groups, data), "asked before");
    let base = (groups[0].bit / 8) as usize;
    let from = base as u64 * 8;
    let data = &data[base..];
    let mut absolute = [[0; LANES]; 3];
    let (mut at, mut small, mut size) = ([0; LANES], [0; LANES], [0; LANES]);
    let (mut inside, mut most) = (true, 0);
    for lane in 0..LANES {
        let group = &groups[lane];
        let triple = coder.absolute(data, group.bit - from, &mut inside);
        for axis in 0..3 {
            absolute[axis][lane] = triple[axis];
        }
        at[lane] = (group.bit - from) as i32 + i32::from(group.run_at);
        small[lane] = i32::from(group.small);
        size[lane] = SMALL_SIZES[usize::from(group.small)] as i32;
        most = most.max(runs[lane]);
    }
    if !inside {
        constants.outside = v.splat(-1);
    }
    let rows = &mut batch.rows;
    let (mut at, small, size) = (v.load(&at), v.load(&small), v.load(&size));
    let inverse = v.div_f(v.splat_f(1.0), v.float(size));
    let half = v.shr(size, v.splat(1));
    let one = v.splat(1);
    // A number's bytes stand lowest first; of the last byte it has the upper `part` bits.
    let part = v.add(v.and(v.sub(small, one), v.splat(7)), one);
    let empty = v.sub(v.splat(8), part);
    let whole = v.sub(v.shl(one, v.sub(small, part)), one);
    let all = v.sub(v.shl(one, small), one);
    // From the smallest coordinate of the frame on.
    let mut position = [one; 3];
    for axis in 0..3 {
        let absolute = v.load(&absolute[axis]);
        position[axis] = v.sub(absolute, constants.min[axis]);
        constants.look(v, axis, position[axis], v.splat(-1));
        // The absolute atom stands second where there is a run, else alone.
        let angstrom = constants.convert(v, absolute);
        v.store_f(angstrom, &mut rows[axis]);
        v.store_f(angstrom, &mut rows[3 + axis]);
    }
    let mut left = v.load(runs);
    for k in 1..=most as usize {
        // SAFETY: `fits` saw to it that these bytes are there for any run.
        let bytes = unsafe { v.stream(data, at) };
        let number = v.and(v.select(whole, bytes, v.shr(bytes, empty)), all);
        let (rest, z) = divide(v, number, size, inverse);
        let (x, y) = divide(v, rest, size, inverse);
        // All ones where this lane still has atoms.
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
            // The first difference leads to the atom that stands before the absolute one.
            let alone = v.bits(v.load_f(&rows[axis]));
            let first = v.of_bits(v.select(active, v.bits(angstrom), alone));
            v.store_f(first, &mut rows[axis]);
        }
        at = v.add(at, small);
        left = v.sub(left, one);
    }
    most as usize
}

impl<V: Lanes> Constants<V> {
    #[inline(always)]
    fn convert(&self, v: V, integers: V::I) -> V::F {
        v.mul_f(v.mul_f(v.float(integers), self.inverse), self.angstrom)
    }

    /// Keeps the largest coordinate, from the smallest on, of the active lanes.
    #[inline(always)]
    fn look(&mut self, v: V, axis: usize, from_min: V::I, active: V::I) {
        self.worst[axis] = v.max_unsigned(self.worst[axis], v.and(from_min, active));
    }
}

/// Quotient and remainder of numbers below 2^31 by a small size.
///
/// The quotient is below 2^21, so that three roundings move it by less than a half: rounded to nearest
/// it is right or one too large.
#[inline(always)]
fn divide<V: Lanes>(v: V, number: V::I, size: V::I, inverse: V::F) -> (V::I, V::I) {
    let shifted = v.add_f(v.mul_f(v.float(number), inverse), v.splat_f(TO_NEAREST));
    let quotient = v.sub(v.bits(shifted), v.splat(TO_NEAREST.to_bits() as i32));
    let remainder = v.sub(number, v.mul(quotient, size));
    let too_large = v.sign(remainder);
    (v.add(quotient, too_large), v.add(remainder, v.and(size, too_large)))
}

impl Batch {
    /// Writes the groups' atoms to `out`, which goes on for [`ROW`] numbers past the first atom of the last
    /// group; what stands behind the last group's atoms is overwritten.
    #[inline(always)]
    pub(super) fn write<V: Lanes>(
        &mut self,
        v: V,
        groups: &[Group; LANES],
        most: usize,
        out: &mut [f32],
    ) {
        let n = 3 * (most + 1);
        for place in (0..n).step_by(4) {
            let [a, b, c, d] = [0, 1, 2, 3].map(|k| &self.rows[place + k]);
            let four = [v.load_f(a), v.load_f(b), v.load_f(c), v.load_f(d)];
            v.store_columns(four, &mut self.columns, place);
        }
        let first = groups[0].first as usize;
        let out = &mut out[3 * first..];
        for (group, column) in groups.iter().zip(&self.columns) {
            let at = 3 * (group.first as usize - first);
            for k in (0..n).step_by(16) {
                let sixteen: &[f32; 16] = column[k..k + 16].try_into().expect("sixteen");
                out[at + k..at + k + 16].copy_from_slice(sixteen);
            }
        }
    }
}

/// Decodes all atoms of a frame on the way from group to group, as Å.
///
/// # Errors
/// Any [`Fault`] of the compressed coordinates.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
pub(super) fn all<V: Lanes>(
    v: V,
    coder: &Coder,
    packed: &Packed,
    data: &[u8],
    at_hand: usize,
    n_atoms: usize,
    batch: &mut Batch,
    out: &mut [f32],
) -> Result<Scanned, Fault> {
    let mut constants = Constants::new(v, coder);
    let mut inside = true;
    let mut groups = [Group::default(); LANES];
    let mut n = 0;
    let mut walk = Walk::new(packed, data, at_hand, n_atoms, n_atoms);
    while let Some((group, _)) = walk.next()? {
        groups[n] = group;
        n += 1;
        if n < LANES {
            continue;
        }
        n = 0;
        let room = 3 * groups[LANES - 1].first as usize + ROW <= out.len();
        if room && fits(&groups, data) {
            let runs = groups.map(|group| i32::from(group.run));
            let most = decode(v, coder, &mut constants, data, &groups, &runs, batch);
            batch.write(v, &groups, most, out);
        } else {
            inside &= coder.each(data, &groups, out);
        }
    }
    inside &= coder.each(data, &groups[..n], out);
    walk.end_with(inside && constants.inside(v))
}

/// Decodes the wanted atoms, as Å, of the groups that hold one; returns how many the format had to decode.
///
/// # Errors
/// [`Fault::OutsideRange`].
#[inline(always)]
#[allow(clippy::too_many_arguments)]
pub(super) fn wanted<V: Lanes>(
    v: V,
    coder: &Coder,
    _: &Packed,
    data: &[u8],
    groups: &[Group],
    wanted: &[u32],
    batch: &mut Batch,
    out: &mut [f32],
) -> Result<u64, Fault> {
    let mut constants = Constants::new(v, coder);
    let out = out.as_chunks_mut::<3>().0;
    let (mut next, mut decoded) = (0, 0);
    for here in groups.chunks(LANES) {
        let mut sixteen = [here[here.len() - 1]; LANES];
        sixteen[..here.len()].copy_from_slice(here);
        let first = next;
        let (mut runs, mut ends) = ([0; LANES], [0; LANES]);
        for (lane, group) in here.iter().enumerate() {
            let (needed, end) = group.needed(wanted, next);
            (runs[lane], ends[lane], next) = (needed as i32, end, end);
            decoded += needed as u64 + 1;
        }
        if !fits(&sixteen, data) {
            let (list, place) = (&wanted[first..next], &mut out[first..next]);
            coder.wanted(data, here, list, place, |t| coder.angstrom(t))?;
            continue;
        }
        decode(v, coder, &mut constants, data, &sixteen, &runs, batch);
        let mut from = first;
        for (lane, group) in here.iter().enumerate() {
            for k in from..ends[lane] {
                let place = 3 * (wanted[k] - group.first) as usize;
                out[k] = [0, 1, 2].map(|axis| batch.rows[place + axis][lane]);
            }
            from = ends[lane];
        }
    }
    debug_assert_eq!(next, wanted.len());
    if constants.inside(v) { Ok(decoded) } else { Err(Fault::OutsideRange) }
}
