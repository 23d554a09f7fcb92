//! Opens HDF5 files from their descriptions.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use trajet_formats::Format;
use trajet_formats::h5md::{self, Description};

use crate::h5md::Reader;
use crate::opener::{self, Opened, Opener};
use crate::{Error, OpenOptions, reader};

/// Descriptions of HDF5 files by path.
#[derive(Clone, Debug, Default)]
pub struct Described(pub HashMap<PathBuf, Arc<Description>>);

impl Opener for Described {
    fn open(&self, path: &Path, options: &OpenOptions) -> Option<Opened> {
        open(path, self.0.get(path)?, options).transpose()
    }
}

/// Opens a file from its description; `None` if the file is neither HDF5 nor made of rows ([`h5md::Rows`]).
fn open(
    path: &Path,
    description: &Arc<Description>,
    options: &OpenOptions,
) -> Result<Option<Arc<dyn reader::Reader>>, Error> {
    let begin = Instant::now();
    let (source, mut opening) = opener::begin(path, options)?;
    opener::read_first(&source, &mut opening)?;
    opening.open_ns = begin.elapsed().as_nanos() as u64;
    let first = &opening.first[..opening.first.len().min(16)];
    if !Format::H5md.may_begin_with(first) && !h5md::sniff(first) {
        return Ok(None);
    }
    Ok(Some(Arc::new(Reader::open(source, description, options, opening)?)))
}
