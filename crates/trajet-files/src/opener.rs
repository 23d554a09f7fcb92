//! Opening files about which the caller knows more than their bytes show.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use serde::de::DeserializeOwned;
use trajet_formats::compression::Compression;

use crate::indexed::Indexed;
use crate::reader::Reader;
use crate::source::{FileIdentity, Source};
use crate::{Error, FrameIndex, Meter, OpenOptions, Opening, Stamp};

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
    /// The name of the opener, or of the format.
    pub opener: &'a str,
    /// The data of [`Reader::for_worker`].
    pub data: &'a [u8],
}

impl KnownFile<'_> {
    /// Returns the file together with its index of frames.
    ///
    /// # Errors
    /// [`Error::UnknownFormat`] if it has none.
    pub(crate) fn with_its_index(mut self, options: &OpenOptions) -> Result<Indexed, Error> {
        let index = self.index.take().ok_or_else(|| self.unknown())?;
        Ok(self.indexed(index, options))
    }

    /// Decodes the data of [`Reader::for_worker`].
    ///
    /// # Errors
    /// [`Error::UnknownFormat`] if the data is something else.
    pub(crate) fn decoded<T: DeserializeOwned>(&self) -> Result<T, Error> {
        postcard::from_bytes(self.data).map_err(|_| self.unknown())
    }

    /// Returns the error for a file that cannot be opened as it was elsewhere.
    pub(crate) fn unknown(&self) -> Error {
        let looks_like = format!("it was opened as {} elsewhere", self.opener);
        Error::UnknownFormat { path: self.source.path().to_owned(), looks_like }
    }

    /// Returns the file together with an index of its frames.
    pub fn indexed(self, index: FrameIndex, options: &OpenOptions) -> Indexed {
        Indexed::known(self.source, index, self.stamp, options.request_size)
    }
}

/// Opens a file, which must be the one that was `written`, if that is known.
///
/// # Errors
/// As [`Source::open`]; [`Error::Altered`].
pub fn begin(
    path: &Path,
    written: Option<FileIdentity>,
    options: &OpenOptions,
) -> Result<(Source, Opening), Error> {
    let meter = Meter::stopped_by(&options.watch.stop);
    let mut opening = Opening { meter, ..Opening::default() };
    let OpenOptions { remote, opener, .. } = options;
    let mut source = Source::open_any(path, remote, opener.as_ref(), &mut opening.meter)?;
    if let Some(written) = written {
        source.must_be(written)?;
    }
    Ok((source, opening))
}

/// Opens a file as [`begin`] does, and reads the first bytes of its content, which identify its format.
///
/// # Errors
/// As [`begin`] and [`Source::read_at`].
pub(crate) fn begin_with_first(
    path: &Path,
    written: Option<FileIdentity>,
    options: &OpenOptions,
) -> Result<(Source, Opening), Error> {
    /// Enough to include the precision of an XTC file.
    const FIRST_BYTES: usize = 64;
    let begin_time = Instant::now();
    let (mut source, mut opening) = begin(path, written, options)?;
    let mut first = [0; FIRST_BYTES];
    let n = source.read_up_to(0, &mut first, &mut opening.meter)?;
    opening.first = first[..n].to_vec();
    if let Some(compression) = Compression::of_first_bytes(&opening.first) {
        source.uncompress(compression);
        let n = source.read_up_to(0, &mut first, &mut opening.meter)?;
        opening.first = first[..n].to_vec();
        let path = path.to_owned();
        match n {
            0 if source.is_cut() => {
                let (frame, offset, needed, left) = (0, 0, 1, 0);
                return Err(Error::Truncated { path, frame, offset, needed, left });
            }
            0 => return Err(Error::Empty { path }),
            _ => {}
        }
    }
    opening.open_ns = begin_time.elapsed().as_nanos() as u64;
    Ok((source, opening))
}
