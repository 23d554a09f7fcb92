//! Opens HDF5 files from their descriptions.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use trajet_formats::Format;
use trajet_formats::h5md::{self, Description};

use crate::h5md::Reader;
use crate::opener::{self, Opened, Opener};
use crate::source::FileIdentity;
use crate::{Error, OpenOptions, reader};

/// Descriptions of HDF5 files by path.
#[derive(Clone, Debug, Default)]
pub struct HdfLayouts(pub HashMap<PathBuf, Arc<Description>>);

impl Opener for HdfLayouts {
    fn open(&self, path: &Path, options: &OpenOptions) -> Option<Opened> {
        self.open_written(path, None, options)
    }
}

impl HdfLayouts {
    /// Opens the file at `path`, which must be the one that was `written`, if that is known; returns `None` if it is
    /// not described, or neither HDF5 nor made of rows ([`h5md::Rows`]).
    pub fn open_written(
        &self,
        path: &Path,
        written: Option<FileIdentity>,
        options: &OpenOptions,
    ) -> Option<Opened> {
        open(path, self.0.get(path)?, written, options).transpose()
    }
}

/// Opens a file from its description; `None` if the file is neither HDF5 nor made of rows ([`h5md::Rows`]).
fn open(
    path: &Path,
    description: &Arc<Description>,
    written: Option<FileIdentity>,
    options: &OpenOptions,
) -> Result<Option<Arc<dyn reader::Reader>>, Error> {
    let (source, opening) = opener::begin_with_first(path, written, options)?;
    let first = &opening.first[..opening.first.len().min(16)];
    if !Format::of_library().may_begin_with(first) && !h5md::sniff(first) {
        return Ok(None);
    }
    Ok(Some(Arc::new(Reader::open(source, description, options, opening)?)))
}
