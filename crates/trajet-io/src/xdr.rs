//! XDR (RFC 4506): big-endian words of four bytes. Shared by the formats of GROMACS.

/// The signed word at byte `at`.
pub(crate) fn i32_at(bytes: &[u8], at: usize) -> i32 {
    i32::from_be_bytes(word(bytes, at))
}

/// The float at byte `at`.
pub(crate) fn f32_at(bytes: &[u8], at: usize) -> f32 {
    f32::from_be_bytes(word(bytes, at))
}

/// The double at byte `at`.
pub(crate) fn f64_at(bytes: &[u8], at: usize) -> f64 {
    f64::from_bits(u64_at(bytes, at))
}

/// The unsigned hyper (two words, the higher first) at byte `at`.
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_be_bytes(bytes[at..at + 8].try_into().expect("a slice of eight"))
}

fn word(bytes: &[u8], at: usize) -> [u8; 4] {
    bytes[at..at + 4].try_into().expect("a slice of four")
}
