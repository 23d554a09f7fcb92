//! Mixed-radix numbers, which pack three coordinates into one number of `bits` bits.
//!
//! The number `(x * size_y + y) * size_z + z` is stored least significant byte first, each byte most
//! significant bit first; the last byte holds the remaining bits. Unpacking takes two divisions by constants
//! of the frame, computed as multiplications by the reciprocal.

/// The format's table of sizes for small differences. The cube of entry `i` fits into `i` bits.
#[rustfmt::skip]
pub const SMALL_SIZES: [u32; 73] = [
    0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 10, 12, 16, 20, 25, 32, 40, 50, 64, 80, 101, 128, 161, 203, 256,
    322, 406, 512, 645, 812, 1024, 1290, 1625, 2048, 2580, 3250, 4096, 5060, 6501, 8192, 10321,
    13003, 16384, 20642, 26007, 32768, 41285, 52015, 65536, 82570, 104031, 131072, 165140, 208063,
    262144, 330280, 416127, 524287, 660561, 832255, 1048576, 1321122, 1664510, 2097152, 2642245,
    3329021, 4194304, 5284491, 6658042, 8388607, 10568983, 13316085, 16777216,
];
/// The first entry of the table that is in use.
pub const FIRST_SMALL: u8 = 9;
/// The last entry of the table.
pub const LAST_SMALL: u8 = 72;
/// Width of the widest number that one load of eight bytes yields at any bit offset.
pub(super) const ONE_LOAD_BITS: u32 = 57;

/// Sizes and constants for unpacking one kind of mixed-radix number.
#[derive(Clone, Copy, Debug)]
pub struct Radix {
    /// Bits of a number.
    pub bits: u32,
    /// Bits of each axis, if an axis can take 2^24 values or more: the axes are then stored one after the other
    /// as plain numbers, and `bits` is the sum.
    pub axes: Option<[u32; 3]>,
    /// Bits in whole bytes before the last, partial one (1 to 8 bits).
    whole: u32,
    /// Mask of the lowest `whole` bits.
    mask: u64,
    /// Number of values that each axis can take.
    pub(super) sizes: [u32; 3],
    /// `2^64 / size`, rounded down, of y and z.
    reciprocals: [u64; 2],
    /// Whether one load holds a number, and multiplying by the reciprocals plus one gives exact quotients
    /// without a correction.
    simple: bool,
}

/// Constants for unpacking mixed-radix numbers with `f64` arithmetic.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wide {
    /// As in [`Radix`].
    pub(super) bits: u32,
    pub(super) whole: u32,
    pub(super) mask: u64,
    pub(super) sizes: [u32; 3],
    /// `1 / size` of y and z.
    pub(super) inverses: [f64; 2],
}

impl Radix {
    /// Returns the constants for unpacking with `f64` arithmetic; `None` if the numbers are too wide for that.
    pub(super) fn wide(&self) -> Option<Wide> {
        let Radix { bits, whole, mask, sizes, .. } = *self;
        // Two roundings move a quotient below 2^49 by less than a quarter.
        let quotient_bits = bits - sizes[2].max(1).ilog2();
        (self.simple && bits <= 52 && quotient_bits <= 49).then(|| Wide {
            bits,
            whole,
            mask,
            sizes,
            inverses: [1.0 / f64::from(sizes[1]), 1.0 / f64::from(sizes[2])],
        })
    }

    /// Creates the radix of a frame's absolute coordinates.
    pub fn absolute(sizes: [u32; 3]) -> Radix {
        if sizes.iter().any(|&s| s > 0x00ff_ffff) {
            let axes = sizes.map(|s| u32::BITS - s.leading_zeros());
            let bits = axes.iter().sum();
            return Radix { axes: Some(axes), bits, simple: false, ..Radix::mixed(sizes, 1) };
        }
        let product: u128 = sizes.iter().map(|&s| u128::from(s)).product();
        Radix::mixed(sizes, u128::BITS - product.leading_zeros())
    }

    const fn mixed(sizes: [u32; 3], bits: u32) -> Radix {
        let whole = (bits - 1) / 8 * 8;
        let widest =
            max(u32::BITS - sizes[1].leading_zeros(), u32::BITS - sizes[2].leading_zeros());
        Radix {
            simple: bits <= ONE_LOAD_BITS && bits + widest <= 64 && min(sizes[1], sizes[2]) > 1,
            bits,
            axes: None,
            whole,
            mask: if whole < 64 { (1 << whole) - 1 } else { u64::MAX },
            sizes,
            reciprocals: [reciprocal(sizes[1]), reciprocal(sizes[2])],
        }
    }

    /// Unpacks the number at bit `at` of `data`, of which 16 bytes must be readable from there. If the bytes are
    /// corrupt, the first coordinate may be as large as its size or larger.
    #[inline(always)]
    pub(super) fn read(&self, data: &[u8], at: u64) -> [u32; 3] {
        if self.simple { self.read_simply(data, at) } else { self.read_any(data, at) }
    }

    /// Whether [`Radix::read_simply`] can unpack these numbers.
    #[inline(always)]
    pub(super) fn simple(&self) -> bool {
        self.simple
    }

    /// Like [`Radix::read`], for numbers that one load holds.
    #[inline(always)]
    pub(super) fn read_simply(&self, data: &[u8], at: u64) -> [u32; 3] {
        let number = self.number(data, at);
        let (rest, z) = divide_simply(number, self.sizes[2], self.reciprocals[1]);
        let (x, y) = divide_simply(rest, self.sizes[1], self.reciprocals[0]);
        [x as u32, y, z]
    }

    /// Returns the number at bit `at`, of up to [`ONE_LOAD_BITS`] bits.
    #[inline(always)]
    fn number(&self, data: &[u8], at: u64) -> u64 {
        let stream = load(data, at);
        let last = (stream << self.whole) >> (64 - (self.bits - self.whole));
        (stream.swap_bytes() & self.mask) | (last << self.whole)
    }

    #[cold]
    #[inline(never)]
    fn read_any(&self, data: &[u8], at: u64) -> [u32; 3] {
        if self.bits > ONE_LOAD_BITS || self.axes.is_some() {
            return self.read_wide(data, at);
        }
        let (rest, z) = divide(self.number(data, at), self.sizes[2], self.reciprocals[1]);
        let (x, y) = divide(rest, self.sizes[1], self.reciprocals[0]);
        [x as u32, y, z]
    }

    fn read_wide(&self, data: &[u8], mut at: u64) -> [u32; 3] {
        if let Some(axes) = self.axes {
            return axes.map(|bits| {
                let value = load(data, at) >> (64 - bits);
                at += u64::from(bits);
                value as u32
            });
        }
        let byte = (at / 8) as usize;
        let bytes: [u8; 16] = data[byte..byte + 16].try_into().expect("a slice of sixteen");
        let stream = u128::from_be_bytes(bytes) << (at % 8);
        let last = (stream << self.whole) >> (128 - (self.bits - self.whole));
        let whole = stream.swap_bytes() & ((1u128 << self.whole) - 1);
        let number = whole | (last << self.whole);
        let [_, y, z] = self.sizes.map(u128::from);
        // The quotient of sound bytes fits. That of corrupt bytes may not; it saturates and is then
        // outside of the axis.
        let x = u32::try_from(number / z / y).unwrap_or(u32::MAX);
        [x, (number / z % y) as u32, (number % z) as u32]
    }
}

/// Radixes of small differences, by index of the small size.
pub(super) static SMALL: [Radix; 73] = {
    let mut table = [Radix::mixed([1, 1, 1], 1); 73];
    let mut i = FIRST_SMALL as usize;
    while i <= LAST_SMALL as usize {
        table[i] = Radix::mixed([SMALL_SIZES[i]; 3], i as u32);
        i += 1;
    }
    table
};

const fn max(a: u32, b: u32) -> u32 {
    if a > b { a } else { b }
}

const fn min(a: u32, b: u32) -> u32 {
    if a < b { a } else { b }
}

/// Returns `2^64 / size`, rounded down (for 1, one less, which the correction in [`divide`] makes up for).
const fn reciprocal(size: u32) -> u64 {
    if size <= 1 { u64::MAX } else { ((1u128 << 64) / size as u128) as u64 }
}

/// Returns quotient and remainder. The product with the reciprocal is the quotient or one less.
#[inline(always)]
fn divide(number: u64, size: u32, reciprocal: u64) -> (u64, u32) {
    let quotient = ((u128::from(number) * u128::from(reciprocal)) >> 64) as u64;
    let remainder = number.wrapping_sub(quotient.wrapping_mul(u64::from(size)));
    let short = remainder >= u64::from(size);
    (quotient + u64::from(short), (remainder - if short { u64::from(size) } else { 0 }) as u32)
}

/// Like [`divide`], if the number times the size is below `2^64`: the error of the rounded-up reciprocal is
/// then too small to change the quotient.
#[inline(always)]
fn divide_simply(number: u64, size: u32, reciprocal: u64) -> (u64, u32) {
    let quotient = ((u128::from(number) * u128::from(reciprocal + 1)) >> 64) as u64;
    (quotient, (number as u32).wrapping_sub((quotient as u32).wrapping_mul(size)))
}

/// Loads at least 57 bits from bit `at` on into the highest bits.
#[inline(always)]
pub(super) fn load(data: &[u8], at: u64) -> u64 {
    let byte = (at / 8) as usize;
    let bytes: [u8; 8] = data[byte..byte + 8].try_into().expect("a slice of eight");
    u64::from_be_bytes(bytes) << (at % 8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn small_sizes_cubed_fit_their_index() {
        for (bits, &size) in SMALL_SIZES.iter().enumerate().skip(FIRST_SMALL as usize) {
            assert!(u128::from(size).pow(3) <= 1 << bits, "{bits}: {size}");
        }
    }

    proptest! {
        #[test]
        fn division_by_reciprocal_is_division(number: u64, size in 1u32..) {
            let (q, r) = divide(number, size, reciprocal(size));
            prop_assert_eq!((q, u64::from(r)), (number / u64::from(size), number % u64::from(size)));
        }

        #[test]
        fn simple_division_is_division(size in 2u32.., part: u64) {
            let number = part % (u64::MAX / u64::from(size));
            let (q, r) = divide_simply(number, size, reciprocal(size));
            prop_assert_eq!((q, u64::from(r)), (number / u64::from(size), number % u64::from(size)));
        }

        #[test]
        fn division_of_small_numbers(number in 0u64..100, size in 1u32..20) {
            let (q, r) = divide(number, size, reciprocal(size));
            prop_assert_eq!((q, u64::from(r)), (number / u64::from(size), number % u64::from(size)));
        }
    }
}
