//! A file of frame metadata.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use trajet_files::index::FrameBoxes;
use trajet_files::source::{FileOpener, Source};
use trajet_files::{Error, Meter};
use trajet_formats::{FrameMetadata, MetadataFault, Raw, ReportedBox};

/// Size of a read request in bytes.
const REQUEST: usize = 1 << 20;

/// The frame metadata of a file, and its path for messages.
#[derive(Clone, Debug)]
pub struct MetadataFile {
    path: PathBuf,
    metadata: FrameMetadata,
}

impl MetadataFile {
    /// Returns metadata that was written to the file at `path`.
    pub(crate) fn of(path: &Path, metadata: FrameMetadata) -> MetadataFile {
        MetadataFile { path: path.to_owned(), metadata }
    }

    /// Reads a file of frame metadata.
    ///
    /// # Errors
    /// [`Error::Partition`] if it is not what was written; [`Error::Io`], [`Error::NotAFile`],
    /// [`Error::Empty`].
    pub fn load(path: &Path) -> Result<MetadataFile, Error> {
        MetadataFile::load_by(path, None, &mut Meter::default())
    }

    /// Reads a file of frame metadata through `opener`, and counts the reads in `meter`.
    pub(crate) fn load_by(
        path: &Path,
        opener: Option<&Arc<dyn FileOpener>>,
        meter: &mut Meter,
    ) -> Result<MetadataFile, Error> {
        let source = Source::open_by(path, opener, meter)?;
        let fault = |what: String| Error::Partition { path: path.to_owned(), what };
        let mut bytes = Vec::new();
        // A file that does not fit in memory must be an error, not an abort.
        let n_bytes = usize::try_from(source.size()).unwrap_or(usize::MAX);
        bytes
            .try_reserve_exact(n_bytes)
            .map_err(|_| fault("it does not fit in memory".to_owned()))?;
        bytes.resize(n_bytes, 0);
        let mut at = 0;
        for piece in bytes.chunks_mut(REQUEST) {
            source.read_at(at, piece, meter)?;
            at += piece.len() as u64;
        }
        let metadata = FrameMetadata::from_bytes(&bytes);
        let metadata = metadata.map_err(|MetadataFault(what)| fault(what))?;
        Ok(MetadataFile { path: path.to_owned(), metadata })
    }

    /// Returns the metadata of frame `k`, as a frame without atoms.
    ///
    /// # Errors
    /// [`Error::Partition`].
    pub fn get(&self, k: usize) -> Result<Raw, Error> {
        let head = self.metadata.get(k);
        head.map_err(|MetadataFault(what)| Error::Partition { path: self.path.clone(), what })
    }
}

impl Deref for MetadataFile {
    type Target = FrameMetadata;

    fn deref(&self) -> &FrameMetadata {
        &self.metadata
    }
}

impl FrameBoxes for MetadataFile {
    fn n_frames(&self) -> usize {
        self.len()
    }

    fn reported_box(&self, k: usize) -> Result<ReportedBox, Error> {
        Ok(self.get(k)?.reported_box())
    }
}
