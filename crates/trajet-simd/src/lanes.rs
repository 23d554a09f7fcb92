//! Sixteen lanes of 32 bits, for integer code that the compiler does not turn into vectors by itself.
//!
//! Only what the decoders need. All of it wraps around, as the processor does.

#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(target_arch = "x86_64")]
pub use x86::{Avx2, Avx512};

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
    /// Of each lane the 32 bits of `data` from bit `at` on, most significant bit first, the four
    /// bytes then in reverse order.
    ///
    /// # Safety
    /// Eight bytes of `data` from byte `at / 8` on exist for every lane, and `at` is not negative.
    unsafe fn stream(self, data: &[u8], at: Self::I) -> Self::I;
    /// Four rows as sixteen columns of four: column `l` goes to `to[l][place..place + 4]`.
    ///
    /// # Panics
    /// If a column does not fit.
    fn store_columns<const N: usize>(
        self,
        rows: [Self::F; 4],
        to: &mut [[f32; N]; LANES],
        place: usize,
    );
}
