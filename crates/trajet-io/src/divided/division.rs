//! How a trajectory is divided.

use std::collections::HashMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::h5md::description::Description;
use crate::source::Written;
use crate::{Atoms, Extra, FrameIndex};

/// What divided trajectories are, by the paths that stand for them.
pub type Divisions = HashMap<PathBuf, Division>;

/// How a trajectory was divided.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Division {
    /// Atoms of the whole.
    pub n_atoms: usize,
    /// The name of its format.
    pub format: String,
    /// Its frames, by the sizes that they have in its format, and what the bytes of each must be in every part
    /// ([`FrameIndex::push_divided`]); their boxes, where parts leave these out or may hold others
    /// ([`FrameIndex::set_boxes`]).
    pub index: Arc<FrameIndex>,
    /// Of each segment what its frames say beside their atoms ([`crate::divided::FrameMetadata`]). Where there is one part, and none
    /// of these, a raw frame is what the part has.
    pub heads: Vec<PathBuf>,
    /// Who has which atoms: each is in one part.
    pub parts: Vec<Part>,
    /// For who divides whole frames again: what some parts have let go is not a number of their atoms.
    /// Otherwise whole frames do without it.
    pub filled: bool,
    /// For messages: what to do where a file of a part was changed from outside.
    pub remedy: String,
    /// Remarks that were written down with it ([`crate::remarks`]).
    pub noted: Vec<String>,
    /// Remarks on the files that were divided, which readers of a whole copy make again by themselves.
    pub on_files: Vec<String>,
}

/// Some atoms of a trajectory, in files of their own.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Part {
    /// For messages.
    pub name: String,
    /// Its number below [`crate::MOST_TIERS`].
    pub tier: u8,
    /// A file for each segment.
    pub paths: Vec<PathBuf>,
    /// What these must be; nothing where that is not known.
    pub written: Vec<Written>,
    /// Of files of HDF5 what is told of each; empty where they are others.
    pub described: Vec<Arc<Description>>,
    /// Its atoms in the whole, ascending.
    pub atoms: Vec<Range<u32>>,
    /// What it was allowed to lose of what the whole's frames hold.
    pub lost: Vec<Extra>,
    /// A file that is where its files are kept, unless that is not mounted.
    pub mark: Option<PathBuf>,
    /// Steps per nm to which its positions were rounded, where they were.
    pub precision: Option<f32>,
}

impl Part {
    /// Whether it is opened by who reads these atoms.
    pub(super) fn is_touched(&self, atoms: &Atoms) -> bool {
        let Some(list) = atoms.sorted().filter(|list| !list.is_empty()) else { return true };
        self.atoms.iter().any(|range| {
            let next = list.partition_point(|&atom| atom < range.start);
            list.get(next).is_some_and(|&atom| atom < range.end)
        })
    }
}
