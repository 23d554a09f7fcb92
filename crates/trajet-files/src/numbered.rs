//! Readers of files whose frames number their atoms.

use std::ops::Range;
use std::sync::Arc;

use crate::reader::Reader;
use crate::{Error, FrameIndex, Frames, Meter, Scratch};

/// A reader of files whose frames state the number of each atom.
pub(crate) trait NumberedReader: Reader {
    /// Appends the numbers of consecutive atoms of a frame to `out`.
    ///
    /// # Errors
    /// As `dyn Reader::read_into`.
    fn numbers(
        &self,
        frames: &Frames,
        at: usize,
        atoms: Range<usize>,
        scratch: &mut Scratch,
        out: &mut Vec<i64>,
    ) -> Result<(), Error>;

    /// Appends the numbers of all atoms of frame 0 to `out`, even if the index lacks that frame.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Memory`].
    fn first_numbers(&self, meter: &mut Meter, out: &mut Vec<i64>) -> Result<(), Error>;

    /// Returns a reader of the same file with another part of its index.
    fn with_part(&self, index: FrameIndex) -> Arc<dyn NumberedReader>;
}
