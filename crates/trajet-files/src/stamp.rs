//! The stamp that ties a stored index to its file.

use serde::{Deserialize, Serialize};

use trajet_formats::xxh3_64;

/// Size and digests that identify the file that an index describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// Bytes in the file.
    pub size: u64,
    /// Digest of its first bytes.
    pub head: u64,
    /// Digest of its last bytes.
    pub tail: u64,
}

impl Stamp {
    /// Returns the digest of size, head and tail that reports show, as `xxh3:` and 16 hexadecimal digits.
    pub fn digest(&self) -> String {
        let mut bytes = [0; 24];
        bytes[..8].copy_from_slice(&self.size.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.head.to_le_bytes());
        bytes[16..].copy_from_slice(&self.tail.to_le_bytes());
        format!("xxh3:{:016x}", xxh3_64(&bytes))
    }
}
