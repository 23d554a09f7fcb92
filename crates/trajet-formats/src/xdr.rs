//! Reads XDR (RFC 4506): big-endian words of four bytes, as GROMACS' formats XTC and TRR use them.

/// Returns the signed 32-bit integer at byte `at`.
#[inline]
pub(crate) fn i32_at(bytes: &[u8], at: usize) -> i32 {
    i32::from_be_bytes(word(bytes, at))
}

/// Returns the `f32` at byte `at`.
#[inline]
pub(crate) fn f32_at(bytes: &[u8], at: usize) -> f32 {
    f32::from_be_bytes(word(bytes, at))
}

/// Returns the `f64` at byte `at`.
#[inline]
pub(crate) fn f64_at(bytes: &[u8], at: usize) -> f64 {
    f64::from_bits(u64_at(bytes, at))
}

/// Returns the unsigned 64-bit integer (two words, the higher first) at byte `at`.
#[inline]
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_be_bytes(bytes[at..at + 8].try_into().expect("a slice of eight"))
}

#[inline]
fn word(bytes: &[u8], at: usize) -> [u8; 4] {
    bytes[at..at + 4].try_into().expect("a slice of four")
}
