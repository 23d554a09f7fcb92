//! Layout and digests of an HDF5 file, stored beside the manifest so that reading does not need libhdf5.
//!
//! Format: magic (8 bytes), version (u32, little endian), [`Tables`] (postcard). The manifest holds a digest of all
//! bytes.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use trajet_formats::ReportedBox;
use trajet_formats::h5md::{Boxes, Description, DigestedRegion, Digests};

use crate::manifest::are_sizes;

const MAGIC: &[u8; 8] = b"trajeth5";
const VERSION: u32 = 2;

/// Layout and digests of an HDF5 file.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Tables {
    /// The layout without times and steps, which are in the segment's frame table, and without digests.
    pub(crate) description: Description,
    /// All bytes of the file, in order.
    pub(crate) pieces: Vec<Piece>,
}

/// A byte range of a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Piece {
    /// Frames whose vectors it holds; `None` for a range between chunks.
    pub(crate) frames: Option<Range<u64>>,
    /// Bytes.
    pub(crate) size: u64,
    /// Their XXH3.
    pub(crate) digest: u64,
}

impl Tables {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(VERSION.to_le_bytes());
        postcard::to_extend(self, bytes).expect("memory takes it")
    }

    pub(crate) fn of(bytes: &[u8]) -> Option<Tables> {
        let rest = bytes.strip_prefix(MAGIC)?.strip_prefix(&VERSION.to_le_bytes())?;
        match postcard::take_from_bytes(rest) {
            Ok((Tables { description, pieces }, [])) => {
                let tables = Tables { description: description.condensed(), pieces };
                are_sizes(tables.pieces.iter().map(|piece| piece.size)).then_some(tables)
            }
            _ => None,
        }
    }

    /// Returns the layout with digests but without times and steps, and the boxes of the frames. `None` unless there
    /// are `n_frames` boxes.
    pub(crate) fn described(self, n_frames: usize) -> Option<(Description, Vec<ReportedBox>)> {
        let given = self.description.boxes.into_reported()?;
        let (mut digests, mut offset) = (Digests::default(), 0u64);
        for Piece { frames, size, digest } in self.pieces {
            match frames {
                Some(_) => digests.chunks.push((offset, digest)),
                None => digests.between.push(DigestedRegion { offset, size, digest }),
            }
            offset += size;
        }
        let (boxes, digests) = (Boxes::InParentIndex(n_frames as u64), Some(digests));
        let described = Description { boxes, digests, ..self.description };
        (given.len() == n_frames).then_some((described, given))
    }
}
