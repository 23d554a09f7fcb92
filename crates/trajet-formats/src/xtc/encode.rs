//! Encodes integer coordinates as the chain of groups that [`super::scan`] describes.
//!
//! The format leaves open which atoms become a run and when the small size changes. The choices here are
//! those of F. van Hoesel's compression in GROMACS, written from descriptions of it and checked against
//! its files, so that a frame that GROMACS wrote is written again byte for byte:
//!
//! 1. The first small size is the smallest one not below the least distance (the sum of the absolute
//!    differences by axis) of neighbouring atoms. It then stays within eight entries of the table.
//! 2. An atom begins a run if the next one differs from it by less than half of the small size on
//!    each axis; the two swap places. The run continues while that holds, for up to eight atoms.
//! 3. The size grows after a group whose first atom lies, on each axis, nearer to the last atom
//!    stored than half of the largest size in reach. Else it shrinks, unless there is no run or one
//!    of its differences is as long as half of the next smaller size.
//! 4. The flag is set, and five bits follow, if the run has another length than the last one or the size
//!    changes.
//!
//! Departure: GROMACS uses one entry more than its table has if all neighbouring atoms are more than five
//! million steps apart. This encoder never leaves the table: such frames are valid, but not byte for byte
//! those of GROMACS.

use trajet_simd::multiversion;

use super::radix::{FIRST_SMALL, LAST_SMALL, Radix, SMALL_SIZES};

/// Largest number of atoms in a run.
const LONGEST_RUN: usize = 8;
/// Number of sizes of the table that a frame uses above its smallest one.
const REACH: u8 = 8;
/// Bytes after the coordinates that storing them may overwrite.
const SPARE: usize = 24;
/// Width of the widest number that one store writes, bits.
const ONE_STORE_BITS: u32 = 56;
/// Bits of a set flag and the five bits after it.
const FLAG_BITS: u32 = 6;
/// An axis must span fewer steps than this: other readers would misread the numbers.
const MAX_STEPS: i64 = i32::MAX as i64 - 2;

/// Range of the coordinates and first small size, as the frame's header stores them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Extent {
    pub(super) min: [i32; 3],
    pub(super) max: [i32; 3],
    /// Index of the small size at the first group.
    pub(super) small: u8,
}

impl Extent {
    /// Returns the first axis that spans more steps than other readers support.
    pub(super) fn too_wide(&self) -> Option<usize> {
        (0..3).find(|&k| i64::from(self.max[k]) - i64::from(self.min[k]) >= MAX_STEPS)
    }

    /// Returns the number of values that each axis can take.
    fn sizes(&self) -> [u32; 3] {
        [0, 1, 2].map(|k| (self.max[k].wrapping_sub(self.min[k]) as u32).wrapping_add(1))
    }
}

multiversion! {
    /// Determines the extent in one pass over the atoms.
    pub(super) fn extent(triples: &[[i32; 3]]) -> Extent = extent_of
}

/// Coordinates of eight atoms: whole SIMD vectors that begin with the same axis.
const PERIOD: usize = 24;

#[inline(always)]
fn extent_of(triples: &[[i32; 3]]) -> Extent {
    let all = triples.as_flattened();
    let (mut min, mut max) = ([i32::MAX; PERIOD], [i32::MIN; PERIOD]);
    let mut least = [i32::MAX; PERIOD];
    // Each step also reads five of the next two atoms' coordinates.
    let mut at = 0;
    while at + PERIOD + 5 <= all.len() {
        let here: &[i32; PERIOD + 5] = all[at..at + PERIOD + 5].try_into().expect("so many");
        let mut distance = [0; PERIOD + 2];
        for k in 0..PERIOD + 2 {
            distance[k] = here[k + 3].wrapping_sub(here[k]).wrapping_abs();
        }
        for k in 0..PERIOD {
            min[k] = min[k].min(here[k]);
            max[k] = max[k].max(here[k]);
            let sum = distance[k].wrapping_add(distance[k + 1]).wrapping_add(distance[k + 2]);
            // Only every third number begins an atom.
            least[k] = least[k].min(if k % 3 == 0 { sum } else { i32::MAX });
        }
        at += PERIOD;
    }
    let rest = &triples[at / 3..];
    for triple in rest {
        for k in 0..3 {
            min[k] = min[k].min(triple[k]);
            max[k] = max[k].max(triple[k]);
        }
    }
    for (a, b) in rest.iter().zip(&rest[1..]) {
        let [x, y, z] = difference(*a, *b).map(i32::wrapping_abs);
        least[0] = least[0].min(x.wrapping_add(y).wrapping_add(z));
    }
    for k in 3..PERIOD {
        min[k % 3] = min[k % 3].min(min[k]);
        max[k % 3] = max[k % 3].max(max[k]);
        least[0] = least[0].min(least[k]);
    }
    let fits = |&small: &u8| i64::from(size(small)) >= i64::from(least[0]);
    let small = (FIRST_SMALL..LAST_SMALL).find(fits).unwrap_or(LAST_SMALL);
    Extent { min: [min[0], min[1], min[2]], max: [max[0], max[1], max[2]], small }
}

fn size(small: u8) -> u32 {
    SMALL_SIZES[usize::from(small)]
}

/// Returns half of a small size.
fn half(small: u8) -> i32 {
    (size(small) / 2) as i32
}

#[inline(always)]
fn difference(a: [i32; 3], b: [i32; 3]) -> [i32; 3] {
    [0, 1, 2].map(|k| a[k].wrapping_sub(b[k]))
}

/// Whether all three lie strictly between `-limit` and `limit`.
#[inline(always)]
fn within(d: [i32; 3], limit: i32) -> bool {
    let limit = limit as u32;
    d[0].unsigned_abs() < limit && d[1].unsigned_abs() < limit && d[2].unsigned_abs() < limit
}

/// One of the small sizes that a frame uses.
struct Rung {
    number: Number,
    /// Half of the size.
    half: i32,
    /// Square of half of the next smaller size, wrapping at 32 bits.
    limit: i32,
}

impl Rung {
    fn new(index: u8) -> Rung {
        let number = Number::of(u32::from(index), [u64::from(size(index)); 3]);
        let below = half(index - 1);
        Rung { number, half: half(index), limit: below.wrapping_mul(below) }
    }
}

multiversion! {
    /// Writes the groups of all atoms to the front of `memory` and returns their length in bytes.
    pub(super) fn groups(
        triples: &[[i32; 3]],
        extent: &Extent,
        memory: &mut Vec<u8>,
    ) -> usize = groups_of
}

#[inline(always)]
fn groups_of(triples: &[[i32; 3]], extent: &Extent, memory: &mut Vec<u8>) -> usize {
    let absolute = Number::absolute(&Radix::absolute(extent.sizes()));
    let most = LAST_SMALL.min(extent.small + REACH);
    let least = most - REACH;
    let ladder: [Rung; REACH as usize + 1] = std::array::from_fn(|k| Rung::new(least + k as u8));
    let half_most = half(most);
    // Upper bound: each atom in a group of its own. Longer runs need no more.
    let widest = absolute.bits.max(u32::from(most)) as usize;
    let most_bytes = triples.len() * (widest + FLAG_BITS as usize) / 8 + SPARE;
    memory.resize(memory.len().max(most_bytes), 0);
    let mut bits = Bits { bytes: memory, at: 0, held: 0, used: 0 };
    let mut place = usize::from(extent.small - least);
    let mut last_run = usize::MAX;
    let mut previous = [0; 3];
    let mut run = [[0; 3]; LONGEST_RUN];
    let mut i = 0;
    while i < triples.len() {
        let rung = &ladder[place];
        let first = triples[i];
        let grows =
            i > 0 && place + 1 < ladder.len() && within(difference(first, previous), half_most);
        // Whether there is a smaller size, and later also whether the run fits it.
        let mut shrinks = !grows & (place > 0);
        let mut n = 0;
        let mut stored = first;
        previous = first;
        i += 1;
        if let Some(&second) = triples.get(i) {
            let mut d = difference(first, second);
            if within(d, rung.half) {
                stored = second;
                i += 1;
                loop {
                    if shrinks && square(d) >= rung.limit {
                        shrinks = false;
                    }
                    run[n] = d;
                    n += 1;
                    if n == LONGEST_RUN || i == triples.len() {
                        break;
                    }
                    d = difference(triples[i], previous);
                    if !within(d, rung.half) {
                        break;
                    }
                    previous = triples[i];
                    i += 1;
                }
            }
        }
        shrinks &= n > 0;
        let flag = match (n != last_run) | grows | shrinks {
            true => (32 + 3 * n as u64 + 1 + u64::from(grows) - u64::from(shrinks), FLAG_BITS),
            false => (0, 1),
        };
        last_run = n;
        absolute.put(&mut bits, difference(stored, extent.min).map(|d| d as u32), flag);
        rung.number.put_run(&mut bits, &run[..n], rung.half);
        place = place + usize::from(grows) - usize::from(shrinks);
    }
    bits.end()
}

#[inline(always)]
fn square([x, y, z]: [i32; 3]) -> i32 {
    x.wrapping_mul(x).wrapping_add(y.wrapping_mul(y)).wrapping_add(z.wrapping_mul(z))
}

/// Packing of three coordinates into one number.
struct Number {
    bits: u32,
    sizes: [u64; 3],
    axes: Option<[u32; 3]>,
    /// Bits in whole bytes before the last, partial one.
    whole: u32,
    /// Mask of these bits at the top of a word.
    top: u64,
}

impl Number {
    fn absolute(radix: &Radix) -> Self {
        Number { axes: radix.axes, ..Number::of(radix.bits, radix.sizes.map(u64::from)) }
    }

    fn of(bits: u32, sizes: [u64; 3]) -> Self {
        let whole = (bits - 1) / 8 * 8;
        let top = if whole == 0 { 0 } else { u64::MAX << 64u32.saturating_sub(whole) };
        Number { bits, sizes, axes: None, whole, top }
    }

    /// Packs the coordinates into the highest bits of a word.
    #[inline(always)]
    fn top(&self, numbers: [u32; 3]) -> u64 {
        let [x, y, z] = numbers.map(u64::from);
        let number = (x * self.sizes[1] + y) * self.sizes[2] + z;
        number.swap_bytes() & self.top | (number >> self.whole) << (64 - self.bits)
    }

    /// Appends absolute coordinates and the flag, given as its value and its number of bits.
    #[inline(always)]
    fn put(&self, to: &mut Bits<'_>, numbers: [u32; 3], flag: (u64, u32)) {
        let (value, bits) = flag;
        if self.bits + FLAG_BITS <= ONE_STORE_BITS && self.axes.is_none() {
            return to
                .put_top(self.top(numbers) | value << (64 - bits) >> self.bits, self.bits + bits);
        }
        self.put_one(to, numbers);
        to.put(value, bits);
    }

    /// Appends a run of differences, each with half of the size added.
    #[inline(always)]
    fn put_run(&self, to: &mut Bits<'_>, run: &[[i32; 3]], half: i32) {
        let numbers = |d: &[i32; 3]| d.map(|d| d.wrapping_add(half) as u32);
        if 2 * self.bits <= ONE_STORE_BITS {
            let (pairs, last) = run.as_chunks::<2>();
            for [a, b] in pairs {
                let both = self.top(numbers(a)) | self.top(numbers(b)) >> self.bits;
                to.put_top(both, 2 * self.bits);
            }
            if let [d] = last {
                to.put_top(self.top(numbers(d)), self.bits);
            }
            return;
        }
        for d in run {
            self.put_one(to, numbers(d));
        }
    }

    #[inline(always)]
    fn put_one(&self, to: &mut Bits<'_>, numbers: [u32; 3]) {
        match self.bits <= ONE_STORE_BITS && self.axes.is_none() {
            true => to.put_top(self.top(numbers), self.bits),
            false => self.put_wide(to, numbers),
        }
    }

    #[cold]
    #[inline(never)]
    fn put_wide(&self, to: &mut Bits<'_>, numbers: [u32; 3]) {
        if let Some(axes) = self.axes {
            for k in 0..3 {
                to.put(u64::from(numbers[k]), axes[k]);
            }
            return;
        }
        // Up to 72 bits: whole bytes first, seven of them in one store.
        let [x, y, z] = numbers.map(u128::from);
        let number = (x * u128::from(self.sizes[1]) + y) * u128::from(self.sizes[2]) + z;
        to.put_top((number as u64).swap_bytes() >> 8 << 8, 56);
        let mut rest = (number >> 56) as u64;
        let mut left = self.bits - 56;
        while left > 8 {
            to.put(rest & 0xff, 8);
            rest >>= 8;
            left -= 8;
        }
        to.put(rest, left);
    }
}

/// Writer of bits, the most significant one first.
struct Bits<'a> {
    bytes: &'a mut [u8],
    /// Number of whole bytes so far.
    at: usize,
    /// Bits after the whole bytes, in the highest bits; the rest is zero.
    held: u64,
    /// Number of bits in `held`, below eight.
    used: u32,
}

impl Bits<'_> {
    /// Appends the highest `bits` (up to 56) bits of a number whose other bits are zero.
    #[inline(always)]
    fn put_top(&mut self, top: u64, bits: u32) {
        let held = self.held | top >> self.used;
        self.bytes[self.at..self.at + 8].copy_from_slice(&held.to_be_bytes());
        let used = self.used + bits;
        self.at += (used / 8) as usize;
        self.held = held << (used / 8 * 8);
        self.used = used % 8;
    }

    /// Appends the lowest `bits` (1 to 56) bits of a number whose other bits are zero.
    #[inline(always)]
    fn put(&mut self, low: u64, bits: u32) {
        self.put_top(low << (64 - bits), bits);
    }

    /// Returns the number of bytes, the last one filled up with zeros.
    fn end(&self) -> usize {
        self.at + usize::from(self.used > 0)
    }
}
