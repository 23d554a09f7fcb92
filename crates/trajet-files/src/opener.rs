//! Opening files about which the caller knows more than their bytes show.

use std::path::Path;
use std::sync::Arc;

use crate::indexed::Indexed;
use crate::reader::Reader;
use crate::source::Source;
use crate::{Error, FrameIndex, OpenOptions, Opening, Stamp};

/// A reader, or the reason why a file cannot be opened.
pub type Opened = Result<Arc<dyn Reader>, Error>;

/// Opens files that need more than their bytes, such as recorded metadata.
pub trait Opener: Sync {
    /// Opens the file at `path`; returns `None` if this opener does not recognise it.
    ///
    /// # Errors
    /// As [`crate::open`].
    fn open(&self, path: &Path, options: &OpenOptions) -> Option<Opened>;
}

/// Opens files in worker processes from the data of [`Reader::for_worker`].
#[derive(Clone, Copy, Debug)]
pub struct WorkerOpener {
    /// The name that [`WorkerFile::opener`](crate::reader::WorkerFile) refers to.
    pub name: &'static str,
    /// Opens the file, or returns the reason why not.
    pub open: fn(KnownFile<'_>, &OpenOptions) -> Opened,
}

/// A file that another process has opened and described.
pub struct KnownFile<'a> {
    /// The file, which is opened when it is first read.
    pub source: Source,
    /// The stamp that the file must have.
    pub stamp: Stamp,
    /// The index of the frames to read, if the format needs one.
    pub index: Option<FrameIndex>,
    /// The data of [`Reader::for_worker`].
    pub data: &'a [u8],
}

impl KnownFile<'_> {
    /// Returns the file together with an index of its frames.
    pub fn indexed(self, index: FrameIndex, options: &OpenOptions) -> Indexed {
        Indexed::known(self.source, index, self.stamp, options.request_size)
    }
}

/// Opens a file and checks it against [`OpenOptions::written`], if it is listed there.
///
/// # Errors
/// As [`Source::open`]; [`Error::Altered`].
pub fn begin(path: &Path, options: &OpenOptions) -> Result<(Source, Opening), Error> {
    let mut opening = Opening::default();
    let mut source = Source::open(path, &mut opening.meter)?;
    if let Some(&written) = options.written.get(path) {
        source.must_be(written)?;
    }
    Ok((source, opening))
}

/// Reads the first bytes of a file, which identify its format.
///
/// # Errors
/// As [`Source::read_at`].
pub(crate) fn read_first(source: &Source, opening: &mut Opening) -> Result<(), Error> {
    /// Enough to include the precision of an XTC file.
    const FIRST_BYTES: usize = 64;
    let mut first = [0; FIRST_BYTES];
    let n = source.size().min(FIRST_BYTES as u64) as usize;
    source.read_at(0, &mut first[..n], &mut opening.meter)?;
    opening.first = first[..n].to_vec();
    Ok(())
}
