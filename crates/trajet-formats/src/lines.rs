//! Formats whose frames are lines of text: where frames begin and end is found by one scan over all lines.

use crate::DecodeError;
use crate::frame_format::FrameFormat;
use crate::text::LineFault;

/// Maximal number of bytes of each line that a scan gets.
pub const LINE_BYTES: usize = 1 << 16;

/// A line of a file, as a scan for frames gets it.
#[derive(Clone, Copy, Debug)]
pub struct ScannedLine<'a> {
    /// The byte of the file at which it begins.
    pub start: u64,
    /// The byte behind it and its end.
    pub end: u64,
    /// Its first bytes ([`LINE_BYTES`] at most), without its end.
    pub text: &'a [u8],
    /// Whether it has an end (`\n`); false only for the last line of a file.
    pub is_ended: bool,
}

/// A frame that a scan has found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FoundFrame {
    /// The byte at which it begins.
    pub start: u64,
    /// The byte behind its last line.
    pub end: u64,
    /// The number of atoms.
    pub n_atoms: usize,
    /// Time, ps.
    pub time: f64,
    /// Integration step.
    pub step: i64,
}

/// The end of a scan.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ScanEnd {
    /// The last whole frame, unless it was returned before.
    pub last: Option<FoundFrame>,
    /// The byte at which an incomplete frame begins, and the fewest bytes that it lacks.
    pub cut: Option<(u64, u64)>,
    /// Whether nothing but blank lines, which belong to it, follows a last frame that was returned before.
    pub is_blank: bool,
}

/// A scan over the lines of a file.
pub trait FrameScan: Sized {
    /// Starts a scan at the beginning of a file.
    fn new() -> Self;

    /// Starts a scan at byte `start`, with which frame number `frame` begins. `first` are the bytes of frame 0.
    ///
    /// # Errors
    /// [`DecodeError`] if these are not the bytes of a frame.
    fn resumed(first: &[u8], frame: u64, start: u64) -> Result<Self, DecodeError>;

    /// Takes the next line; returns a frame that is now known to be complete.
    ///
    /// # Errors
    /// [`DecodeError`] if the line contradicts the format.
    fn line(&mut self, line: &ScannedLine<'_>) -> Result<Option<FoundFrame>, DecodeError>;

    /// Ends the scan of a file of `size` bytes.
    ///
    /// # Errors
    /// [`DecodeError`] if the file has no frame.
    fn finish(self, size: u64) -> Result<ScanEnd, DecodeError>;
}

/// A format whose frames are lines of text.
pub trait LineFormat: FrameFormat {
    /// The name of the format in sidecars.
    const SIDECAR: [u8; 4];
    /// The bytes of the shortest frame.
    const SHORTEST_FRAME: u64;
    /// The scan for frames.
    type Scan: FrameScan;
}

/// Returns the fault of a frame for that of one of its lines, counted from 1.
pub(crate) fn in_line(number: u64, LineFault { column, reason }: LineFault) -> DecodeError {
    DecodeError::Malformed(match column {
        0 => format!("line {number} of the frame: {reason}"),
        _ => format!("line {number} of the frame, column {column}: {reason}"),
    })
}
