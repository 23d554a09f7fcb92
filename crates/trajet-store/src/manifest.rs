//! What a store writes down of itself and of each data set.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};
use trajet_io::{Extra, xtc};

/// The layout of manifests that this version writes, and the latest that it reads.
pub const SCHEMA: u32 = 1;
/// More bytes than any file has: what is below can be added up.
const MOST_BYTES: u64 = 1 << 56;
/// Most tiers of a store.
pub const MOST_TIERS: usize = 8;
/// Most tags of a data set.
const MOST_TAGS: usize = i16::MAX as usize;

/// Of a whole store: `store.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// The layout.
    pub schema: u32,
    /// The store's own folder, by which a copy of it is known; none in stores of before.
    #[serde(default)]
    pub folder: Option<PathBuf>,
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
    /// Its place in the profile that named it: the first one is the fastest.
    #[serde(default)]
    pub rank: u32,
    /// What tells its folder from one on which nothing is mounted: the end of the name of a file in it. None
    /// in stores of before, until something is written there.
    #[serde(default)]
    pub mark: Option<String>,
}

impl Tier {
    /// The file by which its folder is known.
    pub(crate) fn marker(&self) -> Option<PathBuf> {
        self.mark.as_ref().map(|mark| self.folder.join(format!(".trajet-tier-{mark}")))
    }
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
    /// What lossy tags lack of what the original's frames hold, by their names; none in stores of before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<BTreeMap<String, Vec<Extra>>>,
    /// Frames in the order in which they came.
    pub segments: Vec<Segment>,
    /// Links that stand where files stood before they were moved.
    #[serde(default)]
    pub left: Vec<Left>,
    /// Remarks on the frames and their source that every later report repeats ([`trajet_io::remarks`]).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// Whether frames follow each other in equal steps of time, as DCD has them; none in stores of before.
    #[serde(default)]
    pub is_even: Option<bool>,
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
    /// Bytes; 0 in stores of before.
    #[serde(default)]
    pub size: u64,
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
    /// XXH3 of how many bytes each of them took; none in stores of before.
    #[serde(default)]
    pub sizes: Option<String>,
    /// What it holds beside its frames (H5MD), in a file beside the manifest; none in stores of before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rest: Option<Kept>,
    /// Remarks on it that readers of a whole copy make again by themselves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
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
    /// "exact", "xtc", "dcd", "ncdf" or "h5md".
    pub format: String,
    /// Whether it may lose what its format cannot hold.
    #[serde(default)]
    pub lossy: bool,
    /// XTC: steps per nm, where others than the original's are asked for.
    #[serde(default)]
    pub precision: Option<f32>,
    /// Numbers in the original, ascending.
    #[serde(with = "pairs")]
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
    /// The XXH3 of each frame as it was read, where every tag may have lost something of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sources: Option<Kept>,
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
    /// Files beside it: its structure, the numbers of its atoms.
    #[serde(default)]
    pub beside: Vec<Kept>,
    /// Of a file of HDF5 where its chunks stand, beside the manifest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunks: Option<Kept>,
}

/// A link to a file that was moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Left {
    /// Of which tag.
    pub tag: String,
    /// Of which segment.
    pub segment: usize,
    /// What stood there.
    pub file: File,
}

impl Manifest {
    /// The files of a tag, in the order of its segments.
    pub fn files_of(&self, tag: usize) -> impl Iterator<Item = &File> {
        self.segments.iter().filter_map(move |segment| segment.files.get(tag))
    }

    /// All files on tiers.
    pub fn files(&self) -> impl Iterator<Item = &File> {
        self.segments.iter().flat_map(|segment| &segment.files)
    }

    /// Whether it has files on a tier, or new ones would go there.
    pub(crate) fn uses(&self, tier: &str) -> bool {
        let left = self.left.iter().map(|left| &left.file);
        self.tags.iter().any(|tag| tag.tier == tier)
            || self.files().chain(left).any(|file| file.tier == tier)
    }

    /// Frames of all segments.
    pub fn n_frames(&self) -> u64 {
        self.segments.iter().map(|segment| segment.n_frames).sum()
    }

    /// Makes sure that what was read is one that can be worked with.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub(crate) fn check(&self) -> Result<(), String> {
        self.check_names()?;
        tiles(self.n_atoms, self.tags.iter().flat_map(|tag| tag.atoms.iter().cloned()))?;
        if self.segments.is_empty() || self.source.is_empty() {
            return Err("it has no frames, or no source of them".to_owned());
        }
        let frames = self.segments.iter().map(|segment| segment.n_frames);
        if frames.clone().any(|n| n == 0) || !are_sizes(frames) {
            return Err("its numbers of frames cannot be right".to_owned());
        }
        let left = || self.left.iter().map(|left| &left.file);
        let beside = self.files().chain(left()).flat_map(|file| &file.beside);
        let sizes = self.files().chain(left()).map(|file| file.size);
        if !are_sizes(sizes.chain(beside.map(|kept| kept.size))) {
            return Err("its sizes of files cannot be right".to_owned());
        }
        let kept = |kept: &Kept| is_file_name(&kept.file);
        let sound = |file: &File| {
            let parts: Vec<&str> =
                file.path.iter().map(|part| part.to_str().unwrap_or("")).collect();
            let is_sound = |parts: &[&str]| match parts {
                [folder, name] => is_folder_of(folder, &self.name) && is_file_name(name),
                _ => false,
            };
            is_sound(&parts) && file.beside.iter().all(kept) && file.chunks.iter().all(kept)
        };
        let of_segment = |segment: &Segment| {
            segment.files.len() == self.tags.len()
                && kept(&segment.frames)
                && kept(&segment.heads)
                && segment.sources.iter().all(kept)
                && segment.files.iter().all(sound)
        };
        let all = kept(&self.topology)
            && self.source.iter().filter_map(|source| source.rest.as_ref()).all(kept)
            && self.segments.iter().all(of_segment)
            && self.left.iter().all(|left| sound(&left.file));
        if !all {
            return Err(
                "its list of files cannot be right: names of files have letters, digits, dots, hyphens and underscores"
                    .to_owned(),
            );
        }
        Ok(())
    }

    /// Makes sure that all names can stand in paths and in messages, and that no tag has the name of another one.
    fn check_names(&self) -> Result<(), String> {
        let tags = self.tags.iter().flat_map(|tag| [("tag", &tag.name), ("tag", &tag.short)]);
        let files = self.files().chain(self.left.iter().map(|left| &left.file));
        let tiers = self.tags.iter().map(|tag| &tag.tier).chain(files.map(|file| &file.tier));
        let left = self.left.iter().map(|left| ("tag", &left.tag));
        let mut all = tags.chain(left).chain(tiers.map(|tier| ("tier", tier)));
        if let Some((what, name)) = all.find(|(_, name)| !is_name(name)) {
            return Err(bad_name(what, name));
        }
        let mut seen = BTreeSet::new();
        let mut called = self.tags.iter().flat_map(|tag| BTreeSet::from([&tag.name, &tag.short]));
        match called.find(|name| !seen.insert(*name)) {
            Some(name) => Err(format!("two tags are called {name:?}")),
            None if self.tags.len() > MOST_TAGS => {
                Err(format!("it has more than {MOST_TAGS} tags"))
            }
            None => Ok(()),
        }
    }
}

impl Settings {
    /// Makes sure that what was read is one that can be worked with.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.tiers.len() > MOST_TIERS {
            return Err(format!("it has more than {MOST_TIERS} tiers"));
        }
        let is_plain = |path: &Path| {
            let plain = |part| !matches!(part, Component::ParentDir | Component::CurDir);
            path.is_absolute() && path.components().all(plain)
        };
        for (name, Tier { folder, mark, .. }) in &self.tiers {
            if !is_name(name) {
                return Err(bad_name("tier", name));
            }
            if !is_plain(folder) {
                return Err(format!(
                    "the folder of tier {name:?} is {folder:?}: write it from the root on, without .."
                ));
            }
            if let Some(mark) = mark.as_ref().filter(|mark| !is_name(mark)) {
                return Err(bad_name("mark", mark));
            }
        }
        match self.folder.as_deref() {
            Some(folder) if !is_plain(folder) => {
                Err(format!("its folder {folder:?} cannot be right"))
            }
            _ => Ok(()),
        }
    }
}

impl File {
    /// Bytes with those of the files beside it; indexes that readers keep are not counted.
    pub(crate) fn bytes(&self) -> u64 {
        self.size + self.beside.iter().map(|kept| kept.size).sum::<u64>()
    }
}

impl Tag {
    /// Whether this is its name or its short name.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.short == name
    }

    /// Steps per nm to which its positions were rounded, where the profile asked for that. XTC does not round
    /// few atoms.
    pub(crate) fn precision(&self) -> Option<f32> {
        self.precision.filter(|_| self.n_atoms() > xtc::PLAIN_ATOMS)
    }

    /// How many atoms it has.
    pub fn n_atoms(&self) -> usize {
        self.atoms.iter().map(|range| range.len()).sum()
    }
}

/// Whether data sets, tags and tiers may have this name: it becomes a part of paths, and of what programs print.
pub fn is_name(name: &str) -> bool {
    name.len() <= 100 && is_file_name(name)
}

/// Whether files and folders that a store makes may have this name, which begins with those of data sets and tags.
pub(crate) fn is_file_name(name: &str) -> bool {
    let own = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    name.len() <= 255
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(own)
}

/// Whether a folder on a tier can have files of a data set.
pub(crate) fn is_folder_of(folder: &str, dataset: &str) -> bool {
    let rest = folder.strip_prefix(dataset).and_then(|rest| rest.strip_prefix('-'));
    rest.is_some_and(|rest| !rest.is_empty()) && is_file_name(folder)
}

pub(crate) fn bad_name(what: &str, name: &str) -> String {
    format!(
        "{name:?} is no name for a {what}: use letters, digits, dots, hyphens and underscores, at most 100, and begin \
         with a letter or a digit"
    )
}

/// Whether these can be the sizes of all parts of a file.
pub(crate) fn are_sizes(mut sizes: impl Iterator<Item = u64>) -> bool {
    let sum = sizes.try_fold(0u64, u64::checked_add);
    sum.is_some_and(|sum| sum <= MOST_BYTES)
}

/// Makes sure that every atom is in exactly one of the ranges.
///
/// # Errors
/// What is wrong, in words.
pub(crate) fn tiles(
    n_atoms: usize,
    ranges: impl Iterator<Item = Range<u32>>,
) -> Result<(), String> {
    let mut ranges: Vec<_> = ranges.collect();
    ranges.sort_unstable_by_key(|range| (range.start, range.end));
    let mut end = 0;
    for range in ranges {
        match range.start.cmp(&end) {
            Ordering::Less => return Err(format!("atom {} is in two tags", range.start)),
            Ordering::Greater => return Err(format!("atom {end} is in no tag")),
            Ordering::Equal if range.is_empty() => return Err("a range of no atoms".to_owned()),
            Ordering::Equal => end = range.end,
        }
    }
    match (end as usize).cmp(&n_atoms) {
        Ordering::Less => Err(format!("atom {end} is in no tag")),
        Ordering::Greater => {
            Err(format!("there are {n_atoms} atoms, and a tag has atom {}", end - 1))
        }
        Ordering::Equal => Ok(()),
    }
}

/// Ranges as pairs of numbers: the first one, and the one behind the last.
mod pairs {
    use std::ops::Range;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(
        ranges: &[Range<u32>],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let pairs: Vec<[u32; 2]> = ranges.iter().map(|range| [range.start, range.end]).collect();
        pairs.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<Range<u32>>, D::Error> {
        let pairs = Vec::<[u32; 2]>::deserialize(deserializer)?;
        Ok(pairs.into_iter().map(|[start, end]| start..end).collect())
    }
}
