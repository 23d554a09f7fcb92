//! How trajectories are opened.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use crate::dcd::cell::CellForm;
use crate::source::{Handles, Written};

/// Bytes of a request where nothing else is asked for. On local disks larger ones fall out of the
/// processor's cache before they are decoded; on parallel file systems several MiB are better.
pub const DEFAULT_REQUEST_SIZE: usize = 256 * 1024;

/// A piece of a file for a thread of its own is at least this large. Fuzz targets have short files.
pub(crate) const LEAST_PIECE: u64 = if cfg!(fuzzing) { 64 } else { 16 << 20 };

/// How to open a trajectory.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// Read the whole frames of a file that ends inside a frame, instead of refusing it.
    pub allow_truncated_tail: bool,
    /// Bytes of a read request.
    pub request_size: usize,
    /// Whether to look for a sidecar and to leave one.
    pub sidecar: bool,
    /// Whether to build the index although there is a sidecar that fits.
    pub rebuild_index: bool,
    /// The folder for sidecars of trajectories whose own folder cannot be written.
    pub cache: Option<PathBuf>,
    /// Whether frames of a file that come again in a later one of the chain are left out. Times decide that, so
    /// that indexes of several files are built again from their headers.
    pub continuous: bool,
    /// Where files are held open together; with none, a file alone stays open as long as it is used, and
    /// the files of a chain have handles of their own.
    pub handles: Option<Arc<Handles>>,
    /// What files must be, by their paths, where that was written down.
    pub written: Arc<HashMap<PathBuf, Written>>,
    /// How the cells of DCD files are read; by the files themselves where none is given.
    pub dcd_cell: Option<CellForm>,
    /// Shared with whoever wants to see how far the index is, or to stop it.
    pub watch: Arc<Watch>,
}

/// How far the building of an index is, and whether it should end.
#[derive(Debug, Default)]
pub struct Watch {
    /// Once set, building ends with [`crate::Error::Interrupted`]; looked at once a frame.
    pub stop: Arc<AtomicBool>,
    /// Bytes of the trajectory that the index covers so far.
    pub bytes: AtomicU64,
}

impl Default for OpenOptions {
    fn default() -> Self {
        OpenOptions {
            allow_truncated_tail: false,
            request_size: DEFAULT_REQUEST_SIZE,
            sidecar: true,
            rebuild_index: false,
            cache: None,
            continuous: false,
            handles: None,
            written: Arc::default(),
            dcd_cell: None,
            watch: Arc::default(),
        }
    }
}
