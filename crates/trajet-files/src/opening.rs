//! The cost of opening a trajectory.

use std::path::PathBuf;

use trajet_formats::Message;

use crate::{IndexState, Meter};

/// The cost of opening a trajectory, and the origin of its index.
#[derive(Clone, Debug, Default)]
pub struct Opening {
    /// Origin of the index.
    pub state: IndexState,
    /// The sidecar that holds the index; `None` if it is in memory only.
    pub sidecar: Option<PathBuf>,
    /// Messages on existing sidecars that were ignored, and on remote storage.
    pub messages: Vec<Message>,
    /// Files opened, requests and bytes.
    pub meter: Meter,
    /// Nanoseconds spent opening the file and reading its head.
    pub open_ns: u64,
    /// Nanoseconds spent loading, checking or building the index.
    pub index_ns: u64,
    /// The first bytes of the file, which identify its format.
    pub(crate) first: Vec<u8>,
}
