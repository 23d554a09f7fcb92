//! What a store writes down of itself and of each data set.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The layout of manifests that this version writes, and the latest that it reads.
pub const SCHEMA: u32 = 1;

/// Of a whole store: `store.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// The layout.
    pub schema: u32,
    /// Where tags are kept, by their names.
    pub tiers: BTreeMap<String, Tier>,
}

/// A place where files of tags are kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tier {
    /// Absolute.
    pub folder: PathBuf,
    /// Most bytes that this store may keep there.
    pub limit: Option<u64>,
}

/// Of a data set: `manifest.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The layout.
    pub schema: u32,
    /// The data set's name.
    pub name: String,
    /// The version of our encoders by which the sizes of the whole's frames were measured.
    pub encoder: u32,
    /// Atoms of the original.
    pub n_atoms: usize,
    /// Format of the original.
    pub format: String,
    /// The topology of the original, beside this.
    pub topology: Kept,
    /// The files that were divided, in order.
    pub source: Vec<Source>,
    /// How atoms are divided.
    pub tags: Vec<Tag>,
    /// Frames in the order in which they came.
    pub segments: Vec<Segment>,
    /// Links that stand where files stood before they were moved.
    #[serde(default)]
    pub left: Vec<File>,
    /// Seconds that dividing took.
    pub seconds: f64,
}

/// A file beside the manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// Its name.
    pub file: String,
    /// XXH3 of its bytes, hexadecimal.
    pub digest: String,
}

/// A file that was divided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// Absolute.
    pub path: PathBuf,
    /// Bytes.
    pub size: u64,
    /// Of size, head and tail.
    pub digest: String,
    /// Frames that were taken.
    pub n_frames: u64,
}

/// A group of atoms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tag {
    /// Its name.
    pub name: String,
    /// A short name, for paths.
    pub short: String,
    /// The selection that made it.
    pub select: String,
    /// Where new frames go.
    pub tier: String,
    /// "exact", "xtc", "dcd" or "ncdf".
    pub format: String,
    /// Whether it may lose what its format cannot hold.
    #[serde(default)]
    pub lossy: bool,
    /// XTC: steps per nm, where others than the original's are asked for.
    #[serde(default)]
    pub precision: Option<f32>,
    /// Numbers in the original, ascending.
    pub atoms: Vec<Range<u32>>,
}

/// Frames that were divided together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment {
    /// Frames.
    pub n_frames: u64,
    /// Times, sizes and digests of the frames.
    pub frames: Kept,
    /// What frames say beside their atoms.
    pub heads: Kept,
    /// One a tag, in their order.
    pub files: Vec<File>,
}

/// A file on a tier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct File {
    /// Which.
    pub tier: String,
    /// From the tier's folder on.
    pub path: PathBuf,
    /// Bytes.
    pub size: u64,
}

impl Tag {
    /// How many atoms it has.
    pub fn n_atoms(&self) -> usize {
        self.atoms.iter().map(|range| range.len()).sum()
    }
}
