//! The other way: integer coordinates to the chain of groups that [`super::scan`] describes.
//!
//! The format leaves open which atoms become a run and when the small size changes. The choices here
//! are those of GROMACS, found from its files, so that a frame of its own comes back byte for byte:
//!
//! 1. The first small size is the smallest one not below the least distance (the sum of the absolute
//!    differences by axis) of two atoms in a row. It then stays within eight steps of the table.
//! 2. An atom begins a run where the next one differs from it by less than half of the small size on
//!    each axis; the two change places. The run goes on while that holds, for up to eight atoms.
//! 3. The size shall grow behind a group whose first atom lies, on each axis, nearer to the last atom
//!    stored than half of the largest size in reach. Else it shall shrink, unless there is no run or one
//!    of its differences is as long as half of the next smaller size.
//! 4. Flag and five bits are written where the run has another length than the last one, or the size
//!    changes.

use super::radix::{FIRST_SMALL, LAST_SMALL, Radix, SMALL_SIZES};

/// Most atoms of a run.
const LONGEST_RUN: usize = 8;
/// How many sizes of the table a frame uses above the smallest one.
const REACH: u8 = 8;
/// Bytes behind the coordinates that storing them may overwrite.
const SPARE: usize = 24;
/// Widest number that is stored in one piece.
const ONE_STORE_BITS: u32 = 56;
/// No axis may span as many steps: other readers would take the numbers for something else.
const MOST_STEPS: i64 = i32::MAX as i64 - 2;

/// What the frame's header says of the coordinates behind it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Extent {
    pub(super) min: [i32; 3],
    pub(super) max: [i32; 3],
    /// Index of the small size at the first group.
    pub(super) small: u8,
}

impl Extent {
    /// Looks at all atoms once.
    pub(super) fn of(triples: &[[i32; 3]]) -> Extent {
        let (mut min, mut max) = ([i32::MAX; 3], [i32::MIN; 3]);
        for triple in triples {
            for k in 0..3 {
                min[k] = min[k].min(triple[k]);
                max[k] = max[k].max(triple[k]);
            }
        }
        let mut least = i32::MAX;
        for (a, b) in triples.iter().zip(&triples[1..]) {
            let [x, y, z] = [0, 1, 2].map(|k| b[k].wrapping_sub(a[k]).wrapping_abs());
            least = least.min(x.wrapping_add(y).wrapping_add(z));
        }
        let fits = |&small: &u8| i64::from(size(small)) >= i64::from(least);
        let small = (FIRST_SMALL..LAST_SMALL).find(fits).unwrap_or(LAST_SMALL);
        Extent { min, max, small }
    }

    /// The first axis that spans more than other readers can take.
    pub(super) fn too_wide(&self) -> Option<usize> {
        (0..3).find(|&k| i64::from(self.max[k]) - i64::from(self.min[k]) >= MOST_STEPS)
    }

    /// How many values each axis can take.
    fn sizes(&self) -> [u32; 3] {
        [0, 1, 2].map(|k| (self.max[k].wrapping_sub(self.min[k]) as u32).wrapping_add(1))
    }
}

fn size(small: u8) -> u32 {
    SMALL_SIZES[usize::from(small)]
}

/// Half of a small size.
fn half(small: u8) -> i32 {
    (size(small) / 2) as i32
}

#[inline(always)]
fn difference(a: [i32; 3], b: [i32; 3]) -> [i32; 3] {
    [0, 1, 2].map(|k| a[k].wrapping_sub(b[k]))
}

/// Whether all three are between `-limit` and `limit`, and neither.
#[inline(always)]
fn within(d: [i32; 3], limit: i32) -> bool {
    let limit = limit as u32;
    d[0].unsigned_abs() < limit && d[1].unsigned_abs() < limit && d[2].unsigned_abs() < limit
}

/// The small size while a frame is stored.
struct Small {
    index: u8,
    least: u8,
    most: u8,
    /// Half of the sizes with these indices: of the one now, the next smaller, and the largest.
    half: i32,
    half_below: i32,
    half_most: i32,
}

impl Small {
    fn new(first: u8) -> Self {
        let most = LAST_SMALL.min(first + REACH);
        let (least, half_most) = (most - REACH, half(most));
        let mut small = Small { index: first, least, most, half: 0, half_below: 0, half_most };
        small.step(0);
        small
    }

    fn step(&mut self, change: i8) {
        self.index = self.index.wrapping_add_signed(change);
        self.half = half(self.index);
        self.half_below = half(self.index - 1);
    }
}

/// Stores the groups of all atoms at the front of `memory`; returns the bytes that they take.
pub(super) fn groups(triples: &[[i32; 3]], extent: &Extent, memory: &mut Vec<u8>) -> usize {
    let absolute = Radix::absolute(extent.sizes());
    let mut small = Small::new(extent.small);
    let mut radix = Number::small(small.index);
    let absolute = Number::absolute(&absolute);
    // An atom takes at most a group of its own; runs of one atom more need no more than that.
    let widest = absolute.bits.max(u32::from(small.most)) as usize;
    let most_bytes = triples.len() * (widest + 6) / 8 + SPARE;
    memory.resize(memory.len().max(most_bytes), 0);
    let mut bits = Bits { bytes: memory, at: 0, held: 0, used: 0 };
    let mut last_run = usize::MAX;
    let mut previous = [0; 3];
    let mut i = 0;
    let mut run = [[0; 3]; LONGEST_RUN];
    while i < triples.len() {
        let first = triples[i];
        let near = i > 0 && within(difference(first, previous), small.half_most);
        let mut change = match near && small.index < small.most {
            true => 1,
            false => -i8::from(small.index > small.least),
        };
        let mut n = 0;
        let mut stored = first;
        let pair = triples.get(i + 1).map(|&second| (second, difference(first, second)));
        match pair.filter(|&(_, d)| within(d, small.half)) {
            None => {
                change = change.max(0);
                previous = first;
                i += 1;
            }
            Some((second, mut d)) => {
                stored = second;
                previous = first;
                i += 2;
                // Rounded as in 32 bits, where sizes are so large that squares are not held.
                let limit = small.half_below.wrapping_mul(small.half_below);
                loop {
                    if change < 0 && square(d) >= limit {
                        change = 0;
                    }
                    run[n] = d;
                    n += 1;
                    if n == LONGEST_RUN || i == triples.len() {
                        break;
                    }
                    d = difference(triples[i], previous);
                    if !within(d, small.half) {
                        break;
                    }
                    previous = triples[i];
                    i += 1;
                }
            }
        }
        let numbers = difference(stored, extent.min).map(|d| d as u32);
        absolute.put(&mut bits, numbers);
        if n != last_run || change != 0 {
            last_run = n;
            bits.put(32 | (3 * n as i32 + i32::from(change) + 1) as u64, 6);
        } else {
            bits.put(0, 1);
        }
        for d in &run[..n] {
            radix.put(&mut bits, d.map(|d| d.wrapping_add(small.half) as u32));
        }
        if change != 0 {
            small.step(change);
            radix = Number::small(small.index);
        }
    }
    bits.end()
}

#[inline(always)]
fn square([x, y, z]: [i32; 3]) -> i32 {
    x.wrapping_mul(x).wrapping_add(y.wrapping_mul(y)).wrapping_add(z.wrapping_mul(z))
}

/// How three coordinates become one number.
struct Number {
    bits: u32,
    sizes: [u64; 3],
    axes: Option<[u32; 3]>,
    /// Bits in whole bytes before the last, partial one.
    whole: u32,
    /// These bits, where they stand at the top.
    top: u64,
}

impl Number {
    fn absolute(radix: &Radix) -> Self {
        Number { axes: radix.axes, ..Number::of(radix.bits, radix.sizes.map(u64::from)) }
    }

    fn small(index: u8) -> Self {
        Number::of(u32::from(index), [u64::from(size(index)); 3])
    }

    fn of(bits: u32, sizes: [u64; 3]) -> Self {
        let whole = (bits - 1) / 8 * 8;
        let top = if whole == 0 { 0 } else { u64::MAX << 64u32.saturating_sub(whole) };
        Number { bits, sizes, axes: None, whole, top }
    }

    #[inline(always)]
    fn put(&self, to: &mut Bits<'_>, numbers: [u32; 3]) {
        if self.bits > ONE_STORE_BITS || self.axes.is_some() {
            return self.put_wide(to, numbers);
        }
        let [x, y, z] = numbers.map(u64::from);
        let number = (x * self.sizes[1] + y) * self.sizes[2] + z;
        let last = (number >> self.whole) << (64 - self.bits);
        to.put_top(number.swap_bytes() & self.top | last, self.bits);
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
        let [x, y, z] = numbers.map(u128::from);
        let mut number = (x * u128::from(self.sizes[1]) + y) * u128::from(self.sizes[2]) + z;
        for _ in 0..self.whole / 8 {
            to.put((number & 0xff) as u64, 8);
            number >>= 8;
        }
        to.put(number as u64, self.bits - self.whole);
    }
}

/// Bits, the most significant one first, before they are whole bytes.
struct Bits<'a> {
    bytes: &'a mut [u8],
    /// Whole bytes so far.
    at: usize,
    /// The bits behind them, at the top; zeros below.
    held: u64,
    /// Their number, below eight.
    used: u32,
}

impl Bits<'_> {
    /// Appends the highest `bits` bits of a number whose others are zero; up to 56.
    #[inline(always)]
    fn put_top(&mut self, top: u64, bits: u32) {
        let held = self.held | top >> self.used;
        self.bytes[self.at..self.at + 8].copy_from_slice(&held.to_be_bytes());
        let used = self.used + bits;
        self.at += (used / 8) as usize;
        self.held = held << (used / 8 * 8);
        self.used = used % 8;
    }

    /// Appends the lowest `bits` bits of a number whose others are zero; 1 to 56.
    #[inline(always)]
    fn put(&mut self, low: u64, bits: u32) {
        self.put_top(low << (64 - bits), bits);
    }

    /// The number of bytes; the last one is filled with zeros.
    fn end(&self) -> usize {
        self.at + usize::from(self.used > 0)
    }
}
