//! The digest of files, frames and indexes: 64-bit XXH3.

/// The streaming form of [`xxh3_64`].
pub use twox_hash::XxHash3_64 as Xxh3;

/// Returns the 64-bit XXH3 digest of bytes, computed with the processor's vector instructions.
pub fn xxh3_64(bytes: &[u8]) -> u64 {
    Xxh3::oneshot(bytes)
}

#[cfg(test)]
mod tests {
    use std::hash::Hasher;

    use super::*;

    /// Stores and sidecars contain these digests. Expected values by xxhash-rust 0.8, of the bytes `k * 31 % 251`.
    #[test]
    fn digests_never_change() {
        let bytes: Vec<u8> = (0..100_000u32).map(|k| (k * 31 % 251) as u8).collect();
        let expected = [
            (0, 0x2d06800538d394c2),
            (1, 0xc44bdff4074eecdb),
            (16, 0x8626370b70d8ac70),
            (128, 0x040e97756280237a),
            (240, 0x8acecb90be72b9c3),
            (241, 0x82d3ebf50a3e9c42),
            (1024, 0xcbdff56b050f2c1c),
            (100_000, 0x02df1e985a776b74),
        ];
        for (n, expected) in expected {
            assert_eq!(xxh3_64(&bytes[..n]), expected, "{n} bytes");
            let mut pieces = Xxh3::new();
            bytes[..n].chunks(777).for_each(|piece| pieces.write(piece));
            assert_eq!(pieces.finish(), expected, "{n} bytes in pieces");
        }
    }
}
