//! Data sets as trajectories. Only the tags that hold the selected atoms are opened.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::slice::from_ref;
use std::sync::Arc;

use trajet_files::source::{FileIdentity, FileOpener};
use trajet_files::{Chain, FrameIndex, Meter, OpenOptions, Serial, chain};
use trajet_formats::h5md::Description;
use trajet_formats::messages::{kept, rounded};
use trajet_formats::{Message, ReportedBox};

use crate::catalog::MANIFEST;
use crate::error::shell_argument;
use crate::location;
use crate::manifest::{Manifest, Segment, Tag};
use crate::partitioned::{MetadataFile, Part, Partition, Partitions};
use crate::table::{Column, Table};
use crate::tag_format::{Kind, format_named, kind_of};
use crate::{Error, Store, StoreFiles, atomic_files};

/// Maximal number of atoms per byte of a file: deflate expands a byte to at most 1032, and an atom takes 12.
const MAX_ATOMS_A_BYTE: u64 = 128;

/// Layouts of HDF5 files, and the boxes of their frames.
type Layouts = (Vec<Arc<Description>>, Vec<ReportedBox>);

/// A snapshot of a data set. Later changes to the store do not affect it.
#[derive(Clone, Debug)]
pub struct Dataset {
    /// The store that contains the data set.
    pub store: Store,
    /// Its manifest.
    pub manifest: Manifest,
}

impl Store {
    /// Returns, for each source file, the file that holds its contents other than frames, and its number of frames.
    /// Digests are checked. `None` if any source file lacks one.
    ///
    /// # Errors
    /// [`Error::Damaged`], [`Error::Io`], and the errors of [`Store::manifest`].
    pub fn other_contents_of(&self, name: &str) -> Result<Option<Vec<(PathBuf, u64)>>, Error> {
        let (manifest, folder) = (self.manifest(name)?, self.folder_of(name));
        let mut found = Vec::with_capacity(manifest.source.len());
        for source in &manifest.source {
            let Some(kept) = &source.other_contents else { return Ok(None) };
            atomic_files::check_kept(&folder, kept)?;
            found.push((folder.join(&kept.file), source.n_frames));
        }
        Ok(Some(found))
    }

    /// Opens a data set.
    ///
    /// # Errors
    /// As [`Store::manifest`].
    pub fn dataset(&self, name: &str) -> Result<Dataset, Error> {
        Ok(Dataset { store: self.clone(), manifest: self.manifest(name)? })
    }

    /// Returns the path of the kept index of a file of a tag, which is made if there is none; `None` if there can be
    /// none. `cache` is the folder for indexes of files whose own folder cannot be written.
    ///
    /// # Errors
    /// Those of opening a trajectory.
    pub fn index_of(&self, path: &Path, cache: Option<PathBuf>) -> Result<Option<PathBuf>, Error> {
        let opener = Some(self.files()?.opener());
        let options = OpenOptions { opener, cache, ..OpenOptions::default() };
        let opened = trajet_files::open_written(path, None, &options, &Serial)?;
        let (sidecar, beside) = (opened.opening().sidecar.clone(), location::index_of(path));
        // Links in the path of the tier's folder are resolved in the path of the sidecar.
        Ok(sidecar
            .map(|found| if found.file_name() == beside.file_name() { beside } else { found }))
    }

    /// Reads a file of frame metadata of a data set.
    pub(crate) fn frame_metadata(&self, path: &Path) -> Result<MetadataFile, Error> {
        let opener = self.files()?.opener();
        Ok(MetadataFile::load_by(path, Some(&opener), &mut Meter::default())?)
    }

    /// Reads the frame table of a segment.
    pub(crate) fn table(&self, manifest: &Manifest, segment: &Segment) -> Result<Table, Error> {
        let folder = self.folder_of(&manifest.name);
        let table =
            Table::of(&atomic_files::read_kept(&folder, &segment.frames)?).filter(|table| {
                table.n_frames() as u64 == segment.n_frames
                    && table.files.len() == manifest.tags.len()
            });
        table.ok_or_else(|| {
            let what = "is not a table of these frames: add the data set again";
            Error::damaged(&folder.join(&segment.frames.file), what)
        })
    }
}

impl Dataset {
    /// Returns the indices of tags given by name or short name, sorted; of all tags if `names` is `None`.
    ///
    /// # Errors
    /// [`Error::NoTag`].
    pub fn tags(&self, names: Option<&[String]>) -> Result<Vec<usize>, Error> {
        let tags = &self.manifest.tags;
        let Some(names) = names else { return Ok((0..tags.len()).collect()) };
        let place = |name: &String| {
            tags.iter().position(|tag| tag.is_called(name)).ok_or_else(|| Error::NoTag {
                dataset: self.manifest.name.clone(),
                tag: name.clone(),
                known: tags.iter().map(|tag| tag.name.clone()).collect(),
            })
        };
        let mut numbers = names.iter().map(place).collect::<Result<Vec<_>, _>>()?;
        numbers.sort_unstable();
        numbers.dedup();
        match numbers.is_empty() {
            true => Err(Error::Refused(format!("{}: name at least one tag", self.manifest.name))),
            false => Ok(numbers),
        }
    }

    /// Returns the messages that a copy of a tag, or of all, in the format `copied_to` keeps.
    pub(crate) fn messages_for_copy(
        &self,
        tag: Option<usize>,
        copied_to: Option<&str>,
    ) -> Vec<Message> {
        let tags = tag.map_or(&self.manifest.tags[..], |tag| from_ref(&self.manifest.tags[tag]));
        let of_tag =
            |tag: &Tag| Some(rounded(tag.precision()?)?.prefixed(format!("{}: ", tag.name)));
        let is_whole = tag.is_none() && copied_to == Some(&self.manifest.format);
        let on_files = if is_whole { Vec::new() } else { self.on_files() };
        let stored_messages = self.manifest.messages.iter().cloned();
        kept(tags.iter().filter_map(of_tag).chain(stored_messages).chain(on_files))
    }

    /// Returns the messages on the files that were divided, which readers of a whole copy make again by themselves.
    fn on_files(&self) -> Vec<Message> {
        kept(self.manifest.source.iter().flat_map(|source| source.messages.iter().cloned()))
    }

    /// Returns the atoms of tags, ascending, as indices into the original.
    pub fn atoms(&self, tags: &[usize]) -> Vec<u32> {
        let ranges = tags.iter().flat_map(|&tag| self.manifest.tags[tag].atoms.iter().cloned());
        let mut atoms: Vec<u32> = ranges.flatten().collect();
        atoms.sort_unstable();
        atoms
    }

    /// Returns the paths of a tag's files.
    ///
    /// # Errors
    /// [`Error::NoTier`], [`Error::TierGone`].
    pub fn paths(&self, tag: usize) -> Result<Vec<PathBuf>, Error> {
        let path = |file: &crate::manifest::File| self.store.path_of(file);
        self.manifest.files_of(tag).map(path).collect()
    }

    /// Reads the frame tables of all segments: times, steps and sizes.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Damaged`].
    pub fn tables(&self) -> Result<Vec<Table>, Error> {
        let segments = self.manifest.segments.iter();
        segments.map(|segment| self.store.table(&self.manifest, segment)).collect()
    }

    /// Returns the layout of each file of an HDF5 tag, and the boxes of all frames; empty for tags in other formats.
    fn described(&self, tag: usize, tables: &[Table]) -> Result<Layouts, Error> {
        let Dataset { store, manifest } = self;
        let (mut described, mut boxes) = Layouts::default();
        for (file, table) in manifest.files_of(tag).zip(tables) {
            if let Some((layout, given)) =
                store.layout_of(&manifest.name, file, table.n_frames())?
            {
                described.push(Arc::new(layout));
                boxes.extend(given);
            }
        }
        Ok((described, boxes))
    }

    /// Returns whether boxes are to be read from the frame heads. Files of another format than the original may lack
    /// boxes or hold others, and boxes must not depend on which tags are opened.
    fn take_boxes_from_heads(&self, tags: &[usize]) -> Result<bool, Error> {
        let source = format_named(&self.manifest.format)?;
        for &tag in tags {
            // Boxes of HDF5 tags are stored with their layouts.
            let kind = kind_of(&self.manifest.tags[tag], source)?;
            if kind != Kind::Hdf5 && kind != Kind::of(source) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Loads the per-frame data other than atoms, one value per segment.
    ///
    /// # Errors
    /// As [`MetadataFile::load`]; [`Error::Damaged`].
    fn heads(&self) -> Result<Vec<Arc<MetadataFile>>, Error> {
        let folder = self.store.folder_of(&self.manifest.name);
        let load = |segment: &Segment| {
            let path = folder.join(&segment.frame_metadata.file);
            let heads = self.store.frame_metadata(&path)?;
            if heads.len() as u64 != segment.n_frames {
                let what =
                    format!("metadata of {} frames, expected {}", heads.len(), segment.n_frames);
                return Err(Error::damaged(&path, what));
            }
            Ok(Arc::new(heads))
        };
        self.manifest.segments.iter().map(load).collect()
    }

    /// Returns how the atoms of the named tags, or of all, are partitioned into files.
    ///
    /// # Errors
    /// As [`Dataset::tags`] and [`Dataset::tables`].
    pub fn partition(&self, tags: Option<&[String]>) -> Result<Partition, Error> {
        let numbers = self.tags(tags)?;
        let first = numbered(numbers.iter().map(|&tag| &self.manifest.tags[tag]));
        let n_atoms = numbers.iter().map(|&tag| self.manifest.tags[tag].n_atoms()).sum();
        let (tiers, marks): (Vec<String>, Vec<_>) =
            self.store.tiers()?.into_iter().map(|(name, tier)| (name, tier.marker())).unzip();
        let (tables, lost) = (self.tables()?, self.manifest.omitted_by_tag());
        let mut index = FrameIndex::new(n_atoms);
        let mut end = 0;
        for table in &tables {
            let columns: Vec<&Column> = numbers.iter().map(|&tag| &table.files[tag]).collect();
            for (frame, &size) in table.whole.iter().enumerate() {
                let (begin, when) = (end, (table.times[frame], table.steps[frame]));
                end += size;
                let digests = columns.iter().map(|column| column.digests[frame]);
                index.push_with_digests(begin..end, when, digests);
            }
        }
        let whole = n_atoms == self.manifest.n_atoms;
        let mut has_boxes = self.take_boxes_from_heads(&numbers)?;
        if has_boxes {
            index.set_heads(self.heads()?);
        }
        let files = self.store.files()?;
        let mut parts = Vec::with_capacity(numbers.len());
        for &number in &numbers {
            let tag = &self.manifest.tags[number];
            let tier = tiers.iter().position(|name| *name == tag.tier);
            let tier = tier.ok_or_else(|| self.store.no_tier(&tag.tier, tiers.clone()))?;
            let ranges = if whole { tag.atoms.clone() } else { renumbered(&tag.atoms, &first) };
            let paths = self.paths(number)?;
            self.check_n_atoms(number, &paths, &files)?;
            let heads = tables.iter().map(|table| table.files[number].head);
            let written = self.manifest.files_of(number).zip(heads);
            let written = written.map(|(file, head)| FileIdentity { size: file.size, head });
            let (described, boxes) = self.described(number, &tables)?;
            // All such tags have the boxes of the original.
            if !boxes.is_empty() && !has_boxes {
                index.set_boxes(boxes);
                has_boxes = true;
            }
            parts.push(Part {
                name: tag.name.clone(),
                tier: tier as u8,
                paths,
                written: written.collect(),
                described,
                atoms: ranges,
                lost: lost[number].clone(),
                mark: Some(marks[tier].clone()),
                precision: tag.precision(),
            });
        }
        let folder = self.store.folder_of(&self.manifest.name);
        let heads =
            self.manifest.segments.iter().map(|segment| folder.join(&segment.frame_metadata.file));
        let (index, heads) = (index.into(), heads.collect());
        let (format, remedy) = (self.manifest.format.clone(), self.remedy());
        let (stored_messages, on_files) = (self.manifest.messages.clone(), self.on_files());
        Ok(Partition {
            n_atoms,
            format,
            index,
            heads,
            files: Some(files),
            parts,
            filled: false,
            remedy,
            stored_messages,
            on_files,
        })
    }

    /// Checks that the first file of a tag, if it exists, is large enough for the atoms that the manifest lists.
    /// Buffers are allocated by that number, which a damaged manifest could make huge.
    fn check_n_atoms(
        &self,
        tag: usize,
        paths: &[PathBuf],
        files: &StoreFiles,
    ) -> Result<(), Error> {
        let (n_atoms, tag) = (self.manifest.tags[tag].n_atoms(), &self.manifest.tags[tag].name);
        let Some((path, found)) =
            paths.first().and_then(|path| Some((path, files.open(path).ok()?.metadata().ok()?)))
        else {
            return Ok(());
        };
        if n_atoms as u64 <= found.len().saturating_mul(MAX_ATOMS_A_BYTE) {
            return Ok(());
        }
        let what = format!(
            "has {} bytes, which cannot hold the {n_atoms} atoms that the tag {tag:?} has by {}: {}",
            found.len(),
            self.path().display(),
            self.remedy()
        );
        Err(Error::damaged(path, what))
    }

    /// Returns advice for errors about files that were modified from outside.
    pub(crate) fn remedy(&self) -> String {
        let dataset = shell_argument(&self.store.folder().join(&self.manifest.name));
        format!(
            "trajet store verify {dataset} says what else is damaged; restore it from a copy, \
             or divide the trajectory again"
        )
    }

    /// Returns the path of the manifest, which is the path that opens a data set.
    pub fn path(&self) -> PathBuf {
        self.store.folder_of(&self.manifest.name).join(MANIFEST)
    }

    /// Returns the data set with only the frames that were added together as segment `k`.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such segment.
    pub fn segment(mut self, k: usize) -> Result<Dataset, Error> {
        let segment = self.manifest.segments.get(k).cloned().ok_or_else(|| {
            Error::Refused(format!("{}: there is no file {k} of a tag", self.manifest.name))
        })?;
        self.manifest.segments = vec![segment];
        Ok(self)
    }

    /// Opens the named tags, or all, as a trajectory with the atoms in their original order.
    ///
    /// # Errors
    /// As [`Dataset::partition`].
    pub fn chain(&self, tags: Option<&[String]>, options: &OpenOptions) -> Result<Chain, Error> {
        self.opened(self.partition(tags)?, options)
    }

    /// Opens all tags as a trajectory in whose raw frames omitted values are NaN.
    ///
    /// # Errors
    /// As [`Dataset::partition`].
    pub(crate) fn filled(&self, options: &OpenOptions) -> Result<Chain, Error> {
        self.opened(Partition { filled: true, ..self.partition(None)? }, options)
    }

    /// Opens a tag as a trajectory whose raw frames hold only what the tag's files hold.
    ///
    /// # Errors
    /// As [`Dataset::partition`].
    pub fn stored(&self, tag: usize, options: &OpenOptions) -> Result<Chain, Error> {
        let name = self.manifest.tags[tag].name.clone();
        let partition = Partition { heads: Vec::new(), ..self.partition(Some(&[name]))? };
        self.opened(partition, options)
    }

    fn opened(&self, partition: Partition, options: &OpenOptions) -> Result<Chain, Error> {
        let divided = Partitions([(self.path(), partition)].into());
        Ok(chain::open_with(&[self.path()], options, &[&divided], &Serial)?)
    }
}

/// Returns the first atom of each range of some tags, ascending, with its index among all atoms of these tags.
fn numbered<'a>(tags: impl Iterator<Item = &'a Tag>) -> Vec<(u32, u32)> {
    let mut ranges: Vec<&Range<u32>> = tags.flat_map(|tag| &tag.atoms).collect();
    ranges.sort_unstable_by_key(|range| range.start);
    let mut number = 0;
    let first = ranges.into_iter().map(|range| {
        let first = (range.start, number);
        number += range.len() as u32;
        first
    });
    first.collect()
}

/// Maps ranges of original atoms to indices among the atoms of some tags. `first` is the result of [`numbered`].
fn renumbered(ranges: &[Range<u32>], first: &[(u32, u32)]) -> Vec<Range<u32>> {
    let mut renumbered: Vec<Range<u32>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        let start = first[first.partition_point(|&(atom, _)| atom < range.start)].1;
        let end = start + range.len() as u32;
        match renumbered.last_mut() {
            Some(last) if last.end == start => last.end = end,
            _ => renumbered.push(start..end),
        }
    }
    renumbered
}
