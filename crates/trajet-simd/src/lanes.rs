//! Sixteen lanes of 32 bits, and of 64 where products need them, for integer code that the compiler does
//! not turn into vectors by itself.
//!
//! Only what the decoders need. All of it wraps around, as the processor does.

// There are lanes on this processor alone.
#[cfg(all(test, target_arch = "x86_64"))]
mod tests;

/// How many lanes there are, on every instruction set.
pub const LANES: usize = 16;

/// Vectors of one instruction set.
///
/// # Safety
/// A value exists only inside of a function that is compiled for the instruction set, on a processor
/// that has it: whoever makes one sees to that.
pub unsafe trait Lanes: Copy {
    /// Sixteen `i32`.
    type I: Copy;
    /// Sixteen `f32`.
    type F: Copy;
    /// Sixteen `u64`.
    type W: Copy;
    /// Four `f32`.
    type Q: Copy;

    /// The same number in all lanes.
    fn splat(self, value: i32) -> Self::I;
    /// The same number in all lanes.
    fn splat_f(self, value: f32) -> Self::F;
    /// From memory.
    fn load(self, from: &[i32; LANES]) -> Self::I;
    /// To memory.
    fn store(self, lanes: Self::I, to: &mut [i32; LANES]);
    /// Floats to memory.
    fn store_f(self, lanes: Self::F, to: &mut [f32; LANES]);
    /// Floats from memory.
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
    /// `a << by`, zero from 32 on.
    fn shl(self, a: Self::I, by: Self::I) -> Self::I;
    /// `a >> by` without sign, zero from 32 on.
    fn shr(self, a: Self::I, by: Self::I) -> Self::I;
    /// All ones where `a` is negative, else zeros.
    fn sign(self, a: Self::I) -> Self::I;
    /// The larger one as numbers without sign.
    fn max_unsigned(self, a: Self::I, b: Self::I) -> Self::I;
    /// Numbers as floats, rounded to nearest.
    fn float(self, a: Self::I) -> Self::F;
    /// The bits of floats.
    fn bits(self, a: Self::F) -> Self::I;
    /// Floats of these bits.
    fn of_bits(self, a: Self::I) -> Self::F;
    /// `a * b`, rounded.
    fn mul_f(self, a: Self::F, b: Self::F) -> Self::F;
    /// `a + b`, rounded.
    fn add_f(self, a: Self::F, b: Self::F) -> Self::F;
    /// `a / b`, rounded.
    fn div_f(self, a: Self::F, b: Self::F) -> Self::F;
    /// Whether some lane is negative.
    fn any_negative(self, a: Self::I) -> bool;
    /// Of each lane the 57 or more bits of `data` from bit `at` on, in the highest bits. Bytes from a
    /// place behind the last eight are these.
    ///
    /// # Panics
    /// If there are less than eight bytes of data.
    fn stream(self, data: &[u8], at: Self::I) -> Self::W;
    /// The upper 32 bits of each lane, their four bytes in reverse order.
    fn upper_reversed(self, a: Self::W) -> Self::I;
    /// Four rows as sixteen columns of four.
    fn columns(self, rows: [Self::F; 4]) -> [Self::Q; LANES];
    /// Four floats to memory.
    fn store_q(self, four: Self::Q, to: &mut [f32; 4]);
}

/// Arithmetic on lanes of 64 bits, where that is faster than the processor's own.
///
/// # Safety
/// As of [`Lanes`].
pub unsafe trait WideLanes: Lanes {
    /// Sixteen `f64`.
    type D: Copy;

    /// The eight bytes of each lane in reverse order.
    fn reversed(self, a: Self::W) -> Self::W;
    /// `a << by`, by the same in all lanes, zero from 64 on.
    fn shl_w(self, a: Self::W, by: u32) -> Self::W;
    /// `a >> by` without sign, zero from 64 on.
    fn shr_w(self, a: Self::W, by: u32) -> Self::W;
    /// `a & mask`.
    fn and_w(self, a: Self::W, mask: u64) -> Self::W;
    /// `a | b`.
    fn or_w(self, a: Self::W, b: Self::W) -> Self::W;
    /// The lower 32 bits of each lane.
    fn lower(self, a: Self::W) -> Self::I;
    /// Numbers without sign as doubles, rounded to nearest.
    fn double_w(self, a: Self::W) -> Self::D;
    /// Numbers as doubles.
    fn double(self, a: Self::I) -> Self::D;
    /// The bits of doubles.
    fn bits_d(self, a: Self::D) -> Self::W;
    /// `a * b`, rounded, `b` the same in all lanes.
    fn mul_d(self, a: Self::D, b: f64) -> Self::D;
    /// `a + b`, rounded, `b` the same in all lanes.
    fn add_d(self, a: Self::D, b: f64) -> Self::D;
    /// `a + b`, rounded.
    fn sum_d(self, a: Self::D, b: Self::D) -> Self::D;
}
