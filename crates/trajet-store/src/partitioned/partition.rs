//! The partition of the atoms of a trajectory into parts.

use std::collections::HashMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trajet_formats::h5md::Description;
use trajet_formats::{Atoms, Extra, Message};

use crate::StoreFiles;
use trajet_files::FrameIndex;
use trajet_files::source::FileIdentity;

/// Partitioned trajectories, by the paths of the files that represent them.
#[derive(Clone, Debug, Default)]
pub struct Partitions(pub HashMap<PathBuf, Partition>);

/// The partition of a trajectory's atoms: the files and atoms of its parts, and their metadata.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Partition {
    /// Number of atoms in the whole trajectory.
    pub n_atoms: usize,
    /// Name of the format of the whole trajectory.
    pub format: String,
    /// Index of the whole trajectory: the extents that frames have in its format, the digests of each frame's bytes
    /// in every part ([`FrameIndex::push_with_digests`]), and boxes, if parts omit them or may hold different ones
    /// ([`FrameIndex::set_boxes`]).
    pub index: Arc<FrameIndex>,
    /// Paths of the frame metadata, one per segment ([`super::MetadataFile`]). If there is one part and no
    /// such file, a raw frame is that of the part.
    pub heads: Vec<PathBuf>,
    /// Opens the files of the parts and of the frame metadata; `None` for files that are in no store.
    pub files: Option<StoreFiles>,
    /// The parts. Each atom is in exactly one of them.
    pub parts: Vec<Part>,
    /// Whether fields that some parts omit are filled with NaN in whole frames, as repartitioning needs. Otherwise
    /// whole frames do not have these fields.
    pub filled: bool,
    /// Advice for messages about a file of a part that another program has changed.
    pub remedy: String,
    /// Messages that are stored with the partition ([`trajet_formats::messages`]).
    pub stored_messages: Vec<Message>,
    /// Messages on the files that were partitioned, which a reader of a whole copy produces itself.
    pub on_files: Vec<Message>,
}

/// A part of a partitioned trajectory: the files that hold some of its atoms.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Part {
    /// Name of the part, for messages.
    pub name: String,
    /// Number of its storage tier, below [`crate::MAX_TIERS`].
    pub tier: u8,
    /// Files of the part, one per segment.
    pub paths: Vec<PathBuf>,
    /// The recorded identities of these files; empty if they are not known.
    pub written: Vec<FileIdentity>,
    /// The layouts of these files if they are HDF5 files, else empty.
    pub described: Vec<Arc<Description>>,
    /// Atoms of the part, by their numbers in the whole trajectory, ascending.
    pub atoms: Vec<Range<u32>>,
    /// Fields of the whole trajectory that the part omits.
    pub lost: Vec<Extra>,
    /// A file that marks its tier: if it is missing, the tier is not mounted.
    pub mark: Option<PathBuf>,
    /// Precision of its positions in steps per nm, if they were rounded.
    pub precision: Option<f32>,
}

impl Part {
    /// Returns whether reading these atoms may open the part; always true for an empty selection.
    pub(super) fn holds_any_of(&self, atoms: &Atoms) -> bool {
        let Some(list) = atoms.sorted().filter(|list| !list.is_empty()) else { return true };
        self.atoms.iter().any(|range| {
            let next = list.partition_point(|&atom| atom < range.start);
            list.get(next).is_some_and(|&atom| atom < range.end)
        })
    }
}
