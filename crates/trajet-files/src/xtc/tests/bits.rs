//! A naive writer of the format's bits, also used to make seeds for the fuzz targets.

/// A string of bits, the most significant one first.
#[derive(Default)]
pub(super) struct Bits(Vec<bool>);

impl Bits {
    pub(super) fn plain(&mut self, value: u128, bits: u32) {
        self.0.extend((0..bits).rev().map(|k| value >> k & 1 == 1));
    }

    /// Appends a mixed-radix number, least significant byte first; the last byte holds the remaining bits.
    pub(super) fn mixed(&mut self, numbers: [u32; 3], sizes: [u32; 3], bits: u32) {
        let [x, y, z] = numbers.map(u128::from);
        let mut value = (x * u128::from(sizes[1]) + y) * u128::from(sizes[2]) + z;
        let mut left = bits;
        while left > 8 {
            self.plain(value & 0xff, 8);
            value >>= 8;
            left -= 8;
        }
        self.plain(value, left);
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        let byte =
            |chunk: &[bool]| chunk.iter().enumerate().map(|(k, &b)| u8::from(b) << (7 - k)).sum();
        self.0.chunks(8).map(byte).collect()
    }
}
