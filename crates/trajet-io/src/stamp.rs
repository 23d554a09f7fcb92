//! What ties a kept index to its file.

use serde::{Deserialize, Serialize};

use crate::xxh3_64;

/// What ties an index to the file that it describes.
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
    /// The digest that reports name, as hexadecimal digits: of size, head and tail.
    pub fn digest(&self) -> String {
        let mut bytes = [0; 24];
        bytes[..8].copy_from_slice(&self.size.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.head.to_le_bytes());
        bytes[16..].copy_from_slice(&self.tail.to_le_bytes());
        format!("xxh3:{:016x}", xxh3_64(&bytes))
    }
}
