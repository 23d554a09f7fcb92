//! The interface between formats and the code that reads their files: frame headers, and the bytes that headers are
//! parsed from.

use crate::{DecodeError, HeaderFault};

/// Number of readable bytes after the end of every slice that decoders get (their value is not used).
pub const SLACK: usize = 16;

/// The data of a frame's header that an index stores, to recognise the frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mark {
    /// Number of atoms.
    pub n_atoms: usize,
    /// Time, ps.
    pub time: f64,
    /// Integration step.
    pub step: i64,
    /// Size of the whole frame in bytes.
    pub len: u64,
}

/// Reason why no header was parsed.
#[derive(Clone, Debug, PartialEq)]
pub enum HeaderError {
    /// The bytes end within the header, whose length in bytes is the field.
    Short(usize),
    /// The bytes are no header of the format.
    Decode(DecodeError),
}

impl From<DecodeError> for HeaderError {
    fn from(fault: DecodeError) -> Self {
        HeaderError::Decode(fault)
    }
}

/// A format whose frame headers give the length of the frame. Frames begin at multiples of four bytes.
pub trait Headed: Send + Sync + 'static {
    /// The name of the format in sidecars.
    const SIDECAR: [u8; 4];
    /// Length of the shortest frame that the format allows, bytes.
    const SHORTEST_FRAME: u64;
    /// Length of the longest frame header, bytes.
    const HEAD_BYTES: usize;

    /// Parses the header at the start of `bytes`, which may continue past the header.
    ///
    /// # Errors
    /// [`HeaderError`] if the bytes are too few or no header.
    fn mark(bytes: &[u8]) -> Result<Mark, HeaderError>;

    /// Returns whether a frame may begin at byte `at`, judged by the first word there.
    fn may_begin(bytes: &[u8], at: usize) -> bool;
}

/// A file whose header is parsed, for formats in which the length of the header is known only at its end.
pub trait HeaderSource {
    /// The error of a failed read or parse, which names the file.
    type Error;

    /// Returns the size of the file in bytes.
    fn size(&self) -> u64;

    /// Returns the bytes `at..at + n`, which must lie in the file.
    ///
    /// With `request` = 0, exactly these bytes are read. Else bytes that an earlier request read are used, and
    /// missing ones are read in a request that extends to the next multiple of `request`.
    ///
    /// # Errors
    /// If the file cannot be read.
    fn bytes(&mut self, at: u64, n: usize, request: usize) -> Result<&[u8], Self::Error>;

    /// Returns the error for a fault in the header.
    fn fault(&self, fault: HeaderFault) -> Self::Error;
}
