//! What opening a trajectory cost.

use std::path::PathBuf;

use crate::{IndexState, Meter};

/// What opening cost, and where the index is.
#[derive(Clone, Debug, Default)]
pub struct Opening {
    /// Where the index came from.
    pub state: IndexState,
    /// The sidecar that holds it; none where it lives in memory only.
    pub sidecar: Option<PathBuf>,
    /// A remark on a sidecar that is there and was ignored.
    pub remark: Option<String>,
    /// Opens, requests and bytes.
    pub meter: Meter,
    /// Nanoseconds for opening and looking at the head.
    pub open_ns: u64,
    /// Nanoseconds for loading, checking or building the index.
    pub index_ns: u64,
    /// The first bytes of the file, by which its format was known.
    pub(crate) first: Vec<u8>,
}
