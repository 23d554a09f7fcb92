//! Sixteen lanes of 32 bits, and of 64 bits where products need them, for integer code that the compiler does not
//! vectorise by itself.
//!
//! Contains only the operations that the decoders need. All integer arithmetic wraps around.

// Only this architecture has lanes.
#[cfg(all(test, target_arch = "x86_64"))]
mod tests;

/// Number of lanes in every instruction set.
pub const LANES: usize = 16;

/// Vectors of one instruction set.
///
/// # Safety
/// A value may exist only inside a function that is compiled for the instruction set, on a processor that supports it.
/// The code that makes one guarantees that.
pub unsafe trait Lanes: Copy {
    /// Sixteen `i32`.
    type I: Copy;
    /// Sixteen `f32`.
    type F: Copy;
    /// Sixteen `u64`.
    type W: Copy;
    /// Four `f32`.
    type Q: Copy;

    /// Returns the same number in all lanes.
    fn splat(self, value: i32) -> Self::I;
    /// Returns the same number in all lanes.
    fn splat_f(self, value: f32) -> Self::F;
    /// Loads from memory.
    fn load(self, from: &[i32; LANES]) -> Self::I;
    /// Stores to memory.
    fn store(self, lanes: Self::I, to: &mut [i32; LANES]);
    /// Stores floats to memory.
    fn store_f(self, lanes: Self::F, to: &mut [f32; LANES]);
    /// Loads floats from memory.
    fn load_f(self, from: &[f32; LANES]) -> Self::F;
    /// `a + b`.
    fn add(self, a: Self::I, b: Self::I) -> Self::I;
    /// `a - b`.
    fn sub(self, a: Self::I, b: Self::I) -> Self::I;
    /// The lower half of `a * b`.
    fn mul(self, a: Self::I, b: Self::I) -> Self::I;
    /// `a & b`.
    fn and(self, a: Self::I, b: Self::I) -> Self::I;
    /// `a | b`.
    fn or(self, a: Self::I, b: Self::I) -> Self::I;
    /// The bits of `a` where `mask` has ones, and of `b` where it has zeros.
    fn select(self, mask: Self::I, a: Self::I, b: Self::I) -> Self::I;
    /// `a << by`; zero for shifts of 32 and more.
    fn shl(self, a: Self::I, by: Self::I) -> Self::I;
    /// `a >> by` for unsigned numbers; zero for shifts of 32 and more.
    fn shr(self, a: Self::I, by: Self::I) -> Self::I;
    /// All ones where `a` is negative, otherwise zeros.
    fn sign(self, a: Self::I) -> Self::I;
    /// The maximum as unsigned numbers.
    fn max_unsigned(self, a: Self::I, b: Self::I) -> Self::I;
    /// Converts to floats, rounded to nearest.
    fn float(self, a: Self::I) -> Self::F;
    /// Returns the bits of floats.
    fn bits(self, a: Self::F) -> Self::I;
    /// Returns floats with these bits.
    fn of_bits(self, a: Self::I) -> Self::F;
    /// `a * b`, rounded.
    fn mul_f(self, a: Self::F, b: Self::F) -> Self::F;
    /// `a + b`, rounded.
    fn add_f(self, a: Self::F, b: Self::F) -> Self::F;
    /// `a / b`, rounded.
    fn div_f(self, a: Self::F, b: Self::F) -> Self::F;
    /// Returns a bit for each lane, the first one lowest, that is set where `a > b`.
    fn greater_f(self, a: Self::F, b: Self::F) -> u16;
    /// Returns whether any lane is negative.
    fn any_negative(self, a: Self::I) -> bool;
    /// Returns for each lane the 57 or more bits of `data` from bit `at` on, in the highest bits. Offsets beyond the
    /// last eight bytes read these.
    ///
    /// # Panics
    /// If `data` has less than eight bytes.
    fn stream(self, data: &[u8], at: Self::I) -> Self::W;
    /// Returns the upper 32 bits of each lane, with their four bytes reversed.
    fn upper_reversed(self, a: Self::W) -> Self::I;
    /// Transposes four rows to sixteen columns of four.
    fn columns(self, rows: [Self::F; 4]) -> [Self::Q; LANES];
    /// Stores four floats to memory.
    fn store_q(self, four: Self::Q, to: &mut [f32; 4]);
}

/// Arithmetic on lanes of 64 bits, for processors on which it is faster than scalar code.
///
/// # Safety
/// As for [`Lanes`].
pub unsafe trait WideLanes: Lanes {
    /// Sixteen `f64`.
    type D: Copy;

    /// Reverses the eight bytes of each lane.
    fn reversed(self, a: Self::W) -> Self::W;
    /// `a << by`, the same shift in all lanes; zero for shifts of 64 and more.
    fn shl_w(self, a: Self::W, by: u32) -> Self::W;
    /// `a >> by` for unsigned numbers, the same shift in all lanes; zero for shifts of 64 and more.
    fn shr_w(self, a: Self::W, by: u32) -> Self::W;
    /// `a & mask`.
    fn and_w(self, a: Self::W, mask: u64) -> Self::W;
    /// `a | b`.
    fn or_w(self, a: Self::W, b: Self::W) -> Self::W;
    /// Returns the lower 32 bits of each lane.
    fn lower(self, a: Self::W) -> Self::I;
    /// Converts unsigned numbers to doubles, rounded to nearest.
    fn double_w(self, a: Self::W) -> Self::D;
    /// Converts numbers to doubles.
    fn double(self, a: Self::I) -> Self::D;
    /// Returns the bits of doubles.
    fn bits_d(self, a: Self::D) -> Self::W;
    /// `a * b`, rounded, `b` the same in all lanes.
    fn mul_d(self, a: Self::D, b: f64) -> Self::D;
    /// `a + b`, rounded, `b` the same in all lanes.
    fn add_d(self, a: Self::D, b: f64) -> Self::D;
    /// `a + b`, rounded.
    fn sum_d(self, a: Self::D, b: Self::D) -> Self::D;
}
