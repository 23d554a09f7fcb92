//! The records of a store: settings of the store, and a manifest for each data set.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};
use trajet_formats::{Extra, Message, xtc};

/// Version of the manifest schema: the only one that is written and read.
pub const SCHEMA: u32 = 3;
/// Upper bound for sums of sizes in bytes, so that they cannot overflow.
const MAX_BYTES: u64 = 1 << 56;
/// Maximal number of tiers in a store.
pub const MAX_TIERS: usize = 8;
/// Maximal number of tags in a data set.
const MAX_TAGS: usize = i16::MAX as usize;

/// Settings of a store: `store.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Version of the schema.
    pub schema: u32,
    /// The store's own folder, by which a copy is recognised.
    pub folder: PathBuf,
    /// Tiers by name.
    pub tiers: BTreeMap<String, Tier>,
}

/// A storage tier: a folder for files of tags.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tier {
    /// Absolute path.
    pub folder: PathBuf,
    /// Maximal number of bytes that this store may keep there.
    pub limit: Option<u64>,
    /// Position in the profile that named it: 0 is the fastest.
    #[serde(default)]
    pub rank: u32,
    /// Suffix of the marker file that distinguishes the folder from an empty mount point. `None` in a profile.
    #[serde(default)]
    pub mark: Option<String>,
}

impl Tier {
    /// Returns the path of the marker file in the folder. The tier must be one of a store.
    pub(crate) fn marker(&self) -> PathBuf {
        let mark = self.mark.as_deref().unwrap_or_default();
        self.folder.join(format!(".trajet-tier-{mark}"))
    }
}

/// Description of a data set: `manifest.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Manifest {
    /// Version of the schema.
    pub schema: u32,
    /// The data set's name.
    pub name: String,
    /// Version of the encoders by which the sizes in the whole trajectory were measured.
    pub encoder: u32,
    /// Number of atoms of the original.
    pub n_atoms: usize,
    /// Format of the original.
    pub format: String,
    /// The topology of the original.
    pub topology: StoredFile,
    /// The source files, in order.
    pub source: Vec<Source>,
    /// Groups of atoms, which together cover every atom exactly once.
    pub tags: Vec<Tag>,
    /// Fields of the original that lossy tags omit, by tag; tags that omit none are left out.
    #[cfg_attr(test, schemars(with = "BTreeMap<String, Vec<String>>"))]
    pub omitted_fields: BTreeMap<String, Vec<Extra>>,
    /// Frames in the order in which they were added.
    pub segments: Vec<Segment>,
    /// Links at the former paths of moved files.
    pub moved_links: Vec<MovedLink>,
    /// Messages on the frames and their source that every later report repeats ([`trajet_formats::messages`]).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    pub messages: Vec<Message>,
    /// Whether frames follow one another in equal steps of time, as DCD requires.
    pub even_times: bool,
    /// Total time spent on partitioning, s.
    pub seconds: f64,
}

/// A file beside the manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StoredFile {
    /// Its name.
    pub file: String,
    /// XXH3 of its bytes, hexadecimal.
    pub digest: String,
    /// Size in bytes.
    pub size: u64,
}

/// A source file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Source {
    /// Absolute path.
    pub path: PathBuf,
    /// Size in bytes.
    pub size: u64,
    /// XXH3 of size, head and tail.
    pub digest: String,
    /// Number of frames that were added from it.
    pub n_frames: u64,
    /// XXH3 of the sizes of these frames; `None` if a library that tells no sizes reads them.
    pub sizes: Option<String>,
    /// A file beside the manifest with its contents other than frames (H5MD).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_contents: Option<StoredFile>,
    /// Messages on the file that readers of a full copy derive again by themselves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, schemars(with = "Vec<String>"))]
    pub messages: Vec<Message>,
}

/// A group of atoms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Tag {
    /// Its name.
    pub name: String,
    /// Short name, for paths.
    pub short_name: String,
    /// The selection that defines it.
    pub select: String,
    /// The tier for new frames.
    pub tier: String,
    /// "exact", "xtc", "dcd", "ncdf" or "h5md".
    pub format: String,
    /// Whether fields that the format cannot hold may be omitted.
    #[serde(default)]
    pub lossy: bool,
    /// For XTC: steps per nm, if the profile sets a precision other than the original's.
    #[serde(default)]
    pub precision: Option<f32>,
    /// Atom indices in the original, ascending.
    #[serde(with = "pairs")]
    #[cfg_attr(test, schemars(with = "Vec<[u32; 2]>"))]
    pub atoms: Vec<Range<u32>>,
}

/// Frames that were added together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Segment {
    /// Number of frames.
    pub n_frames: u64,
    /// The frame table: times, sizes and digests.
    pub frames: StoredFile,
    /// Per-frame data other than atoms.
    pub frame_metadata: StoredFile,
    /// Digests of the original frames, if any tag is lossy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original_digests: Option<StoredFile>,
    /// One file per tag, in their order.
    pub files: Vec<File>,
}

/// A file on a tier.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct File {
    /// Name of the tier.
    pub tier: String,
    /// Path relative to the tier's folder.
    pub path: PathBuf,
    /// Size in bytes.
    pub size: u64,
    /// Files beside it: its structure, its atom numbers.
    pub companion_files: Vec<StoredFile>,
    /// For an HDF5 file its layout, beside the manifest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout_file: Option<StoredFile>,
}

/// A link at the former path of a moved file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MovedLink {
    /// Name of the tag.
    pub tag: String,
    /// Index of the segment.
    pub segment: usize,
    /// The file that was there.
    pub file: File,
}

impl Manifest {
    /// Returns the files of a tag, in the order of the segments.
    pub fn files_of(&self, tag: usize) -> impl Iterator<Item = &File> {
        self.segments.iter().filter_map(move |segment| segment.files.get(tag))
    }

    /// Returns all files on tiers.
    pub fn files(&self) -> impl Iterator<Item = &File> {
        self.segments.iter().flat_map(|segment| &segment.files)
    }

    /// Returns whether a tier has files of the data set, or would get its new ones.
    pub(crate) fn uses(&self, tier: &str) -> bool {
        let left = self.moved_links.iter().map(|left| &left.file);
        self.tags.iter().any(|tag| tag.tier == tier)
            || self.files().chain(left).any(|file| file.tier == tier)
    }

    /// Returns the number of frames in all segments.
    pub fn n_frames(&self) -> u64 {
        self.segments.iter().map(|segment| segment.n_frames).sum()
    }

    /// Checks that the manifest is consistent.
    ///
    /// # Errors
    /// A message on what is wrong.
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
        let left = || self.moved_links.iter().map(|left| &left.file);
        let beside = self.files().chain(left()).flat_map(|file| &file.companion_files);
        let sizes = self.files().chain(left()).map(|file| file.size);
        if !are_sizes(sizes.chain(beside.map(|kept| kept.size))) {
            return Err("its sizes of files cannot be right".to_owned());
        }
        let kept = |kept: &StoredFile| is_file_name(&kept.file);
        let sound = |file: &File| {
            let parts: Vec<&str> =
                file.path.iter().map(|part| part.to_str().unwrap_or("")).collect();
            let is_sound = |parts: &[&str]| match parts {
                [folder, name] => is_folder_of(folder, &self.name) && is_file_name(name),
                _ => false,
            };
            is_sound(&parts)
                && file.companion_files.iter().all(kept)
                && file.layout_file.iter().all(kept)
        };
        let of_segment = |segment: &Segment| {
            segment.files.len() == self.tags.len()
                && kept(&segment.frames)
                && kept(&segment.frame_metadata)
                && segment.original_digests.iter().all(kept)
                && segment.files.iter().all(sound)
        };
        let all = kept(&self.topology)
            && self.source.iter().filter_map(|source| source.other_contents.as_ref()).all(kept)
            && self.segments.iter().all(of_segment)
            && self.moved_links.iter().all(|left| sound(&left.file));
        if !all {
            return Err(
                "its list of files cannot be right: names of files have letters, digits, dots, hyphens and underscores"
                    .to_owned(),
            );
        }
        Ok(())
    }

    /// Checks that all names are safe in paths and messages, and that tag names are unique.
    fn check_names(&self) -> Result<(), String> {
        let tags = self.tags.iter().flat_map(|tag| [("tag", &tag.name), ("tag", &tag.short_name)]);
        let files = self.files().chain(self.moved_links.iter().map(|left| &left.file));
        let tiers = self.tags.iter().map(|tag| &tag.tier).chain(files.map(|file| &file.tier));
        let left = self.moved_links.iter().map(|left| ("tag", &left.tag));
        let mut all = tags.chain(left).chain(tiers.map(|tier| ("tier", tier)));
        if let Some((what, name)) = all.find(|(_, name)| !is_name(name)) {
            return Err(bad_name(what, name));
        }
        let mut seen = BTreeSet::new();
        let mut called =
            self.tags.iter().flat_map(|tag| BTreeSet::from([&tag.name, &tag.short_name]));
        match called.find(|name| !seen.insert(*name)) {
            Some(name) => Err(format!("two tags are called {name:?}")),
            None if self.tags.len() > MAX_TAGS => Err(format!("it has more than {MAX_TAGS} tags")),
            None => Ok(()),
        }
    }
}

impl Settings {
    /// Checks that the settings are consistent.
    ///
    /// # Errors
    /// A message on what is wrong.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.tiers.len() > MAX_TIERS {
            return Err(format!("it has more than {MAX_TIERS} tiers"));
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
            match mark {
                Some(mark) if !is_name(mark) => return Err(bad_name("mark", mark)),
                Some(_) => {}
                None => return Err(format!("tier {name:?} has no mark")),
            }
        }
        match &self.folder {
            folder if is_plain(folder) => Ok(()),
            folder => Err(format!("its folder {folder:?} cannot be right")),
        }
    }
}

impl File {
    /// Returns the size in bytes including files beside it, but not indexes of readers.
    pub(crate) fn bytes(&self) -> u64 {
        self.size + self.companion_files.iter().map(|kept| kept.size).sum::<u64>()
    }
}

impl Tag {
    /// Returns whether `name` is its name or its short name.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.short_name == name
    }

    /// Returns the precision in steps per nm to which positions were rounded, if the profile set one. XTC does not
    /// round systems of few atoms.
    pub(crate) fn precision(&self) -> Option<f32> {
        self.precision.filter(|_| self.n_atoms() > xtc::PLAIN_ATOMS)
    }

    /// Returns the number of atoms.
    pub fn n_atoms(&self) -> usize {
        self.atoms.iter().map(|range| range.len()).sum()
    }
}

/// Returns whether data sets, tags and tiers may have this name, which appears in paths and in output of programs.
pub fn is_name(name: &str) -> bool {
    name.len() <= 100 && is_file_name(name)
}

/// Returns whether files and folders of a store may have this name.
pub(crate) fn is_file_name(name: &str) -> bool {
    let own = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    name.len() <= 255
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(own)
}

/// Returns whether a folder on a tier may contain files of a data set.
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

/// Returns whether sizes are plausible: whether their sum does not exceed [`MAX_BYTES`].
pub(crate) fn are_sizes(mut sizes: impl Iterator<Item = u64>) -> bool {
    let sum = sizes.try_fold(0u64, u64::checked_add);
    sum.is_some_and(|sum| sum <= MAX_BYTES)
}

/// Checks that the ranges contain every atom exactly once.
///
/// # Errors
/// A message on what is wrong.
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

/// Ranges as pairs of start (inclusive) and end (exclusive).
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

#[cfg(test)]
mod tests {
    use schemars::generate::SchemaSettings;

    use super::*;

    /// `TRAJET_WRITE_SCHEMAS=1` writes the file anew; `packaging/record_types.py` makes types for Python of it.
    #[test]
    fn schema_of_the_manifest_is_the_one_that_python_has() {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/schemas/manifest.json");
        let generator = SchemaSettings::default().for_serialize().into_generator();
        let schema = generator.into_root_schema_for::<Manifest>();
        let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        if std::env::var_os("TRAJET_WRITE_SCHEMAS").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        assert_eq!(std::fs::read_to_string(path).unwrap(), text);
    }
}
