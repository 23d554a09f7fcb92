//! The header of a frame.
//!
//! Layout, big-endian words: 1993, 13, 12, "GMX_trn_file", length of each part in bytes (two unused ones, box,
//! virial, pressure, two unused ones, positions, velocities, forces), atoms, step, one unused word; then time
//! and λ in the precision of the parts, and the parts themselves.

use crate::codec::{Headed, HeaderError, Mark};
use crate::xdr::{f32_at, f64_at, i32_at};
use crate::{DecodeError, Field};

/// Magic number of a frame.
pub const MAGIC: i32 = 1993;
/// The version string of the format.
pub const VERSION: &[u8; 12] = b"GMX_trn_file";
/// Bytes before time and λ.
const WORDS_BYTES: usize = 76;
/// Bytes of a header whose reals are doubles.
pub const MAX_HEAD_BYTES: usize = WORDS_BYTES + 16;
/// Largest number of bytes before the positions: header, box, virial and pressure.
pub const MAX_FRONT_BYTES: usize = MAX_HEAD_BYTES + 3 * 72;

/// A frame header.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Head {
    /// Bytes of a real: 4 or 8.
    pub real: usize,
    /// Number of atoms.
    pub n_atoms: usize,
    /// Integration step.
    pub step: i32,
    /// Time, ps.
    pub time: f64,
    /// Free energy coordinate.
    pub lambda: f64,
    /// Bytes of box, virial, pressure, positions, velocities and forces; 0 for a missing part.
    pub sizes: [usize; 6],
}

impl Head {
    /// Parses the header at the start of `bytes`, which may continue past the header.
    ///
    /// # Errors
    /// [`HeaderError`] if the bytes are too few or no header.
    pub fn parse(bytes: &[u8]) -> Result<Head, HeaderError> {
        let need = |n: usize| if bytes.len() < n { Err(HeaderError::Short(n)) } else { Ok(()) };
        let fault = |words: String| Err(HeaderError::Decode(DecodeError::Malformed(words)));
        need(4)?;
        let magic = i32_at(bytes, 0);
        if magic != MAGIC {
            return fault(format!(
                "a frame begins with the magic number {magic}, expected {MAGIC}"
            ));
        }
        need(WORDS_BYTES)?;
        if (i32_at(bytes, 4), i32_at(bytes, 8), &bytes[12..24]) != (13, 12, VERSION) {
            return fault("the header does not name itself GMX_trn_file".to_owned());
        }
        let word = |k: usize| i32_at(bytes, 24 + 4 * k);
        let n_atoms = match word(10) {
            n if n > 0 => n as usize,
            found => return Err(DecodeError::AtomCount { found }.into()),
        };
        if let Some(k) = [0, 1, 5, 6].into_iter().find(|&k| word(k) != 0) {
            let n = word(k);
            return fault(format!("{n} bytes are claimed for a part that no program writes"));
        }
        let claimed = [2, 3, 4, 7, 8, 9].map(word);
        let values = [9, 9, 9, 3 * n_atoms, 3 * n_atoms, 3 * n_atoms];
        let first = claimed.iter().zip(values).find(|(bytes, _)| **bytes != 0);
        let Some((&bytes_there, values_there)) = first else {
            return fault("it holds neither a box nor positions, velocities or forces".to_owned());
        };
        let real = match i64::from(bytes_there) {
            n if n == 4 * values_there as i64 => 4,
            n if n == 8 * values_there as i64 => 8,
            n => return fault(format!("{n} bytes are claimed for {values_there} numbers")),
        };
        let mut sizes = [0; 6];
        for k in 0..6 {
            let whole = values[k] * real;
            match claimed[k] {
                0 => {}
                n if i64::from(n) == whole as i64 => sizes[k] = whole,
                n => return fault(format!("{n} bytes are claimed for {} numbers", values[k])),
            }
        }
        need(WORDS_BYTES + 2 * real)?;
        let number = |k: usize| real_at(bytes, real, WORDS_BYTES + k * real);
        let (time, lambda) = (number(0), number(1));
        Ok(Head { real, n_atoms, step: word(11), time, lambda, sizes })
    }

    /// Returns the data that the index keeps.
    pub fn mark(&self) -> Mark {
        let Head { n_atoms, time, step, .. } = *self;
        Mark { n_atoms, time, step: i64::from(step), len: self.at(6) as u64 }
    }

    /// Returns the byte at which a part begins, from the beginning of the frame; the end of the frame for part
    /// 6.
    fn at(&self, part: usize) -> usize {
        WORDS_BYTES + 2 * self.real + self.sizes[..part].iter().sum::<usize>()
    }

    /// Returns the bytes of a part, from the beginning of the frame; `None` if it is missing. Parts are, from 0
    /// on, box, virial, pressure, positions, velocities and forces.
    pub fn part(&self, part: usize) -> Option<std::ops::Range<usize>> {
        (self.sizes[part] > 0).then(|| self.at(part)..self.at(part + 1))
    }

    /// Returns the bytes of the vectors of `field`, from the beginning of the frame; `None` if they are missing.
    pub fn vectors(&self, field: Field) -> Option<std::ops::Range<usize>> {
        self.part(match field {
            Field::Positions => 3,
            Field::Velocities => 4,
            Field::Forces => 5,
        })
    }
}

/// Reads a number of `real` (4 or 8) bytes at byte `at`.
pub fn real_at(bytes: &[u8], real: usize, at: usize) -> f64 {
    if real == 4 { f64::from(f32_at(bytes, at)) } else { f64_at(bytes, at) }
}

/// Marker type for walking the frames of TRR files.
pub struct Trr;

impl Headed for Trr {
    const SIDECAR: [u8; 4] = *b"TRR ";
    /// A frame with the positions of one atom only.
    const SHORTEST_FRAME: u64 = WORDS_BYTES as u64 + 8 + 12;
    const HEAD_BYTES: usize = MAX_HEAD_BYTES;

    fn mark(bytes: &[u8]) -> Result<Mark, HeaderError> {
        Ok(Head::parse(bytes)?.mark())
    }

    #[inline]
    fn may_begin(bytes: &[u8], at: usize) -> bool {
        i32_at(bytes, at) == MAGIC
    }
}
