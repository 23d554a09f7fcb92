//! The header of a frame, checked before anything is allocated.
//!
//! Layout, big-endian words: magic, atoms, step, time, box (9 floats), atoms again; then up to nine
//! atoms as plain floats, or: precision, smallest and largest integer coordinate of each axis, index
//! of the small size, number of bytes (one word for magic 1995, two for 2023), bytes, padding to 4.

use crate::DecodeError;
use crate::codec::{Headed, HeaderError, Mark};
use crate::xdr::{f32_at, i32_at, u64_at};
use crate::xtc::radix::{FIRST_SMALL, LAST_SMALL, Radix};

/// Å per nm, by which XTC's lengths are converted.
pub const ANGSTROM_PER_NM: f32 = 10.0;
/// Magic number of frames whose byte count is one word.
pub const MAGIC: i32 = 1995;
/// Magic number of frames whose byte count is two words (GROMACS 2023 on).
pub const MAGIC_LARGE: i32 = 2023;
/// Largest number of atoms that are stored as plain floats.
pub const PLAIN_ATOMS: usize = 9;
/// Bytes before the header of the coordinates.
const FIXED_BYTES: usize = 56;

/// The header of compressed coordinates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Packed {
    /// Steps per nm.
    pub precision: f32,
    /// Smallest integer coordinate of each axis.
    pub min: [i32; 3],
    /// Number of values that each axis can take.
    pub sizes: [u32; 3],
    /// Index of the small size at the first group.
    pub small: u8,
    /// Bytes of compressed coordinates.
    pub n_bytes: u64,
}

/// A frame header.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Head {
    /// The magic number.
    pub magic: i32,
    /// Number of atoms.
    pub n_atoms: usize,
    /// Integration step.
    pub step: i32,
    /// Time, ps.
    pub time: f32,
    /// Box vectors row by row, nm.
    pub vectors: [f32; 9],
    /// Header of the compressed coordinates; `None` for plain floats.
    pub packed: Option<Packed>,
    /// Byte at which the coordinates begin, from the beginning of the frame.
    pub data_at: usize,
    /// Bytes of the whole frame, padding included.
    pub len: u64,
}

impl Head {
    /// Returns the data that the index keeps.
    pub fn mark(&self) -> Mark {
        let Head { n_atoms, time, step, len, .. } = *self;
        Mark { n_atoms, time: f64::from(time), step: i64::from(step), len }
    }

    /// Parses the header at the start of `bytes`, which may continue past the header.
    ///
    /// # Errors
    /// [`HeaderError`] if the bytes are too few or no header.
    pub fn parse(bytes: &[u8]) -> Result<Head, HeaderError> {
        let need = |n: usize| if bytes.len() < n { Err(HeaderError::Short(n)) } else { Ok(()) };
        need(4)?;
        let magic = i32_at(bytes, 0);
        if magic != MAGIC && magic != MAGIC_LARGE {
            return Err(DecodeError::Magic { found: magic }.into());
        }
        need(8)?;
        let atoms = i32_at(bytes, 4);
        if atoms <= 0 {
            return Err(DecodeError::AtomCount { found: atoms }.into());
        }
        need(FIXED_BYTES)?;
        let coordinates = i32_at(bytes, 52);
        if coordinates != atoms {
            return Err(DecodeError::AtomCountTwice { header: atoms, coordinates }.into());
        }
        let mut head = Head {
            magic,
            n_atoms: atoms as usize,
            step: i32_at(bytes, 8),
            time: f32_at(bytes, 12),
            vectors: std::array::from_fn(|k| f32_at(bytes, 16 + 4 * k)),
            packed: None,
            data_at: FIXED_BYTES,
            len: FIXED_BYTES as u64 + 12 * atoms as u64,
        };
        if head.n_atoms <= PLAIN_ATOMS {
            return Ok(head);
        }
        head.data_at = if magic == MAGIC { 92 } else { 96 };
        need(head.data_at)?;
        let packed = Packed::parse(bytes, magic)?;
        packed.check_byte_count(atoms as u64)?;
        head.len = head.data_at as u64 + packed.n_bytes.next_multiple_of(4);
        head.packed = Some(packed);
        Ok(head)
    }
}

/// Returns the precision (steps per nm) of the first frame of a file that begins with `first`; `None` if its
/// coordinates are plain floats.
pub fn precision(first: &[u8]) -> Option<f32> {
    let at_hand = first.len() >= FIXED_BYTES + 4;
    (at_hand && i32_at(first, 4) > PLAIN_ATOMS as i32).then(|| f32_at(first, FIXED_BYTES))
}

/// Marker type for walking the frames of XTC files.
pub struct Xtc;

impl Headed for Xtc {
    const SIDECAR: [u8; 4] = *b"XTC ";
    /// A frame of one atom.
    const SHORTEST_FRAME: u64 = 68;
    const HEAD_BYTES: usize = 96;

    fn mark(bytes: &[u8]) -> Result<Mark, HeaderError> {
        Ok(Head::parse(bytes)?.mark())
    }

    #[inline]
    fn may_begin(bytes: &[u8], at: usize) -> bool {
        let magic = i32_at(bytes, at);
        magic == MAGIC || magic == MAGIC_LARGE
    }
}

impl Packed {
    fn parse(bytes: &[u8], magic: i32) -> Result<Packed, DecodeError> {
        let precision = f32_at(bytes, 56);
        if !(precision > 0.0 && precision.is_finite()) {
            return Err(DecodeError::Precision { found: precision });
        }
        let min = [0, 1, 2].map(|k| i32_at(bytes, 60 + 4 * k));
        let max = [0, 1, 2].map(|k| i32_at(bytes, 72 + 4 * k));
        let mut sizes = [0; 3];
        for axis in 0..3 {
            let size = i64::from(max[axis]) - i64::from(min[axis]) + 1;
            let range = DecodeError::Range { axis, min: min[axis], max: max[axis] };
            sizes[axis] = u32::try_from(size).ok().filter(|&s| s > 0).ok_or(range)?;
        }
        let small = i32_at(bytes, 84);
        if !(i32::from(FIRST_SMALL)..=i32::from(LAST_SMALL)).contains(&small) {
            return Err(DecodeError::SmallIndex { found: i64::from(small) });
        }
        let n_bytes =
            if magic == MAGIC { u64::from(i32_at(bytes, 88) as u32) } else { u64_at(bytes, 88) };
        Ok(Packed { precision, min, sizes, small: small as u8, n_bytes })
    }

    /// Returns the number of coordinate bytes among the first `at_hand` bytes of the frame.
    pub fn at_hand(&self, at_hand: usize, head: &Head) -> usize {
        at_hand.saturating_sub(head.data_at).min(self.n_bytes as usize)
    }

    /// Whether a triple lies within the declared range.
    pub fn holds(&self, triple: [i32; 3]) -> bool {
        (0..3).all(|k| (triple[k].wrapping_sub(self.min[k]) as u32) < self.sizes[k])
    }

    /// Checks that the byte count is possible for `atoms` atoms: each takes at least two bits, and at most a
    /// group of its own. A false count can thus neither make a reader allocate more than a small multiple of
    /// the file nor hide a lost frame.
    fn check_byte_count(&self, atoms: u64) -> Result<(), DecodeError> {
        let widest = u64::from(Radix::absolute(self.sizes).bits.max(u32::from(LAST_SMALL)));
        let (least, most) = (atoms.div_ceil(4), atoms * (widest + 6) / 8 + 4);
        if (least..=most).contains(&self.n_bytes) {
            return Ok(());
        }
        Err(DecodeError::ByteCount { bytes: self.n_bytes, atoms, least, most })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rustfmt::skip]
    const ONE_ATOM: [u8; 68] = [
        0x00, 0x00, 0x07, 0xcb, // magic 1995
        0x00, 0x00, 0x00, 0x01, // one atom
        0x00, 0x00, 0x00, 0x0a, // step 10
        0x3f, 0x80, 0x00, 0x00, // time 1.0 ps
        0x40, 0, 0, 0,  0, 0, 0, 0,  0, 0, 0, 0, // box: 2 nm
        0, 0, 0, 0,  0x40, 0, 0, 0,  0, 0, 0, 0,
        0, 0, 0, 0,  0, 0, 0, 0,  0x40, 0, 0, 0,
        0x00, 0x00, 0x00, 0x01, // one atom
        0x3f, 0x80, 0, 0,  0x40, 0, 0, 0,  0x40, 0x40, 0, 0, // 1, 2, 3 nm
    ];

    #[test]
    fn a_frame_of_one_atom_stores_plain_floats() {
        let head = Head::parse(&ONE_ATOM).unwrap();
        assert_eq!((head.n_atoms, head.step, head.time, head.len), (1, 10, 1.0, 68));
        assert!(head.packed.is_none());
    }

    #[test]
    fn short_headers_report_the_bytes_needed() {
        for n in 0..FIXED_BYTES {
            assert!(matches!(Head::parse(&ONE_ATOM[..n]), Err(HeaderError::Short(m)) if m > n));
        }
    }

    #[test]
    fn false_counts_are_faults() {
        let mut bytes = ONE_ATOM;
        bytes[4] = 0xff; // a negative count
        assert!(matches!(
            Head::parse(&bytes),
            Err(HeaderError::Decode(DecodeError::AtomCount { .. }))
        ));
        bytes[4] = 0x7f; // two billion
        assert!(matches!(
            Head::parse(&bytes),
            Err(HeaderError::Decode(DecodeError::AtomCountTwice { .. }))
        ));
        bytes[3] = 0xcc;
        assert!(matches!(
            Head::parse(&bytes),
            Err(HeaderError::Decode(DecodeError::Magic { found: 1996 }))
        ));
    }
}
