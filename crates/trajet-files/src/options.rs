//! Options for opening trajectories.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use trajet_formats::FormatOptions;

use crate::remote::RemoteOptions;
use crate::source::{FileOpener, Handles};

/// Default size of a read request, in bytes. On local disks, larger requests fall out of the processor's
/// cache before they are decoded; on parallel file systems, several MiB are better.
pub const DEFAULT_REQUEST_SIZE: usize = 256 * 1024;

/// Options for opening a trajectory.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// Whether to read the whole frames of a file that ends inside a frame, instead of refusing it.
    pub allow_truncated_tail: bool,
    /// Size of a read request, in bytes.
    pub request_size: usize,
    /// Smallest piece of a file, in bytes, that a thread of its own indexes.
    pub least_piece: u64,
    /// Whether to load the index from a sidecar and to save it in one.
    pub sidecar: bool,
    /// Whether to build the index even if a matching sidecar exists.
    pub rebuild_index: bool,
    /// The folder for sidecars of trajectories whose own folder cannot be written.
    pub cache: Option<PathBuf>,
    /// Whether to drop frames that a later file of the chain repeats. Repeats are found by their times, so the
    /// indexes of several files are rebuilt from their headers.
    pub continuous: bool,
    /// Time between neighbouring frames (ps), in place of the times in the files.
    pub time_step: Option<f64>,
    /// The pool of open files to use. If `None`, a single file stays open as long as its reader lives, and
    /// the files of a chain share a new pool.
    pub handles: Option<Arc<Handles>>,
    /// Opens the files that are no objects, in place of the system. It is not sent to workers.
    pub opener: Option<Arc<dyn FileOpener>>,
    /// The objects in remote storage among the files.
    pub remote: RemoteOptions,
    /// Options of single formats.
    pub formats: FormatOptions,
    /// Progress and cancellation of index building, shared with the caller.
    pub watch: Arc<Watch>,
}

/// Progress and cancellation of index building.
#[derive(Debug, Default)]
pub struct Watch {
    /// Cancels the build with [`crate::Error::Interrupted`] when set; checked once per frame.
    pub stop: Arc<AtomicBool>,
    /// Bytes of the trajectory that are indexed so far.
    pub bytes: AtomicU64,
}

impl OpenOptions {
    /// Returns the size in bytes of the file or object that is opened under this name; 0 if it is unknown.
    pub fn size_of(&self, path: &Path) -> u64 {
        match self.remote.objects.get(path) {
            Some(object) => object.len(),
            None => std::fs::metadata(path).map_or(0, |metadata| metadata.len()),
        }
    }
}

impl Default for OpenOptions {
    fn default() -> Self {
        OpenOptions {
            allow_truncated_tail: false,
            request_size: DEFAULT_REQUEST_SIZE,
            least_piece: 16 << 20,
            sidecar: true,
            rebuild_index: false,
            cache: None,
            continuous: false,
            time_step: None,
            handles: None,
            opener: None,
            remote: RemoteOptions::default(),
            formats: FormatOptions::default(),
            watch: Arc::default(),
        }
    }
}
