//! Data sets as trajectories: each atom comes from the tag that holds it, and no other is opened.

use std::collections::HashMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use trajet_io::divided::{Division, Part};
use trajet_io::h5md::Description;
use trajet_io::{Chain, FrameIndex, OpenOptions, Serial, chain};

use crate::catalog::MANIFEST;
use crate::manifest::{Manifest, Segment};
use crate::table::Table;
use crate::{Error, Store, disk};

/// A data set as it is now. Whoever changes it later changes nothing here.
#[derive(Clone, Debug)]
pub struct Dataset {
    /// Where it is.
    pub store: Store,
    /// What it is.
    pub manifest: Manifest,
}

impl Store {
    /// A data set.
    ///
    /// # Errors
    /// As [`Store::manifest`].
    pub fn dataset(&self, name: &str) -> Result<Dataset, Error> {
        Ok(Dataset { store: self.clone(), manifest: self.manifest(name)? })
    }

    /// The table of a segment's frames.
    pub(crate) fn table(&self, manifest: &Manifest, segment: &Segment) -> Result<Table, Error> {
        let folder = self.folder_of(&manifest.name);
        let table = Table::of(&disk::read_kept(&folder, &segment.frames)?).filter(|table| {
            table.n_frames() as u64 == segment.n_frames && table.files.len() == manifest.tags.len()
        });
        table.ok_or_else(|| {
            let what = "is no table of these frames: add the data set anew";
            Error::damaged(&folder.join(&segment.frames.file), what)
        })
    }
}

impl Dataset {
    /// The numbers of tags, by name or short name, in the order of the data set; all where none is named.
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

    /// The atoms of tags, ascending, by their numbers in the original.
    pub fn atoms(&self, tags: &[usize]) -> Vec<u32> {
        let ranges = tags.iter().flat_map(|&tag| self.manifest.tags[tag].atoms.iter().cloned());
        let mut atoms: Vec<u32> = ranges.flatten().collect();
        atoms.sort_unstable();
        atoms
    }

    /// Where the files of a tag are.
    ///
    /// # Errors
    /// [`Error::NoTier`], [`Error::TierGone`].
    pub fn paths(&self, tag: usize) -> Result<Vec<PathBuf>, Error> {
        let path = |file: &crate::manifest::File| self.store.path_of(file);
        self.manifest.files_of(tag).map(path).collect()
    }

    /// Times, steps and sizes of all frames of the whole.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Damaged`].
    pub fn tables(&self) -> Result<Vec<Table>, Error> {
        let segments = self.manifest.segments.iter();
        segments.map(|segment| self.store.table(&self.manifest, segment)).collect()
    }

    /// What is told of each file of a tag in HDF5; of others nothing.
    fn described(&self, tag: usize, tables: &[Table]) -> Result<Vec<Description>, Error> {
        let Dataset { store, manifest } = self;
        let of = |(file, table): (_, &Table)| {
            let tables = store.tables_of(&manifest.name, file).transpose()?;
            Some(tables.map(|tables| tables.described(table)))
        };
        manifest.files_of(tag).zip(tables).filter_map(of).collect()
    }

    /// The files of a tag, as they are.
    ///
    /// # Errors
    /// As [`Dataset::division`].
    pub fn files(&self, tag: usize, options: &OpenOptions) -> Result<Chain, Error> {
        let paths = self.paths(tag)?;
        let hdf5 = self.manifest.files_of(tag).any(|file| file.chunks.is_some());
        let tables = if hdf5 { self.tables()? } else { Vec::new() };
        let described = self.described(tag, &tables)?;
        let described = Arc::new(paths.iter().cloned().zip(described).collect());
        Ok(chain::open(&paths, &OpenOptions { described, ..options.clone() }, &Serial)?)
    }

    /// How the atoms of some tags, or of all, are divided into files.
    ///
    /// # Errors
    /// As [`Dataset::tags`] and [`Dataset::tables`].
    pub fn division(&self, tags: Option<&[String]>) -> Result<Division, Error> {
        let numbers = self.tags(tags)?;
        let atoms = self.atoms(&numbers);
        let tiers: Vec<String> = self.store.tiers()?.into_keys().collect();
        let mut index = FrameIndex::new(atoms.len());
        let mut end = 0;
        let tables = self.tables()?;
        for table in &tables {
            for ((&time, &step), &size) in table.times.iter().zip(&table.steps).zip(&table.whole) {
                let begin = end;
                end += size;
                index.push(begin, end, time, step);
            }
        }
        let whole = atoms.len() == self.manifest.n_atoms;
        let mut parts = Vec::with_capacity(numbers.len());
        for &number in &numbers {
            let tag = &self.manifest.tags[number];
            let tier = tiers.iter().position(|name| *name == tag.tier);
            let ranges = if whole { tag.atoms.clone() } else { renumbered(&tag.atoms, &atoms) };
            parts.push(Part {
                name: tag.name.clone(),
                tier: tier.ok_or_else(|| self.store.no_tier(&tag.tier, tiers.clone()))? as u8,
                paths: self.paths(number)?,
                described: self.described(number, &tables)?,
                atoms: ranges,
            });
        }
        let folder = self.store.folder_of(&self.manifest.name);
        let heads = self.manifest.segments.iter().map(|segment| folder.join(&segment.heads.file));
        let (n_atoms, heads) = (atoms.len(), heads.collect());
        Ok(Division { n_atoms, format: self.manifest.format.clone(), index, heads, parts })
    }

    /// The path by which a data set is opened: that of its manifest.
    pub fn path(&self) -> PathBuf {
        self.store.folder_of(&self.manifest.name).join(MANIFEST)
    }

    /// How to open some tags, or all, as a trajectory.
    ///
    /// # Errors
    /// As [`Dataset::division`].
    pub fn options(
        &self,
        tags: Option<&[String]>,
        options: &OpenOptions,
    ) -> Result<OpenOptions, Error> {
        let divided = HashMap::from([(self.path(), self.division(tags)?)]);
        Ok(OpenOptions { divided: Arc::new(divided), ..options.clone() })
    }

    /// Some tags, or all, as a trajectory: atoms in the order of the original.
    ///
    /// # Errors
    /// As [`Dataset::division`].
    pub fn chain(&self, tags: Option<&[String]>, options: &OpenOptions) -> Result<Chain, Error> {
        Ok(chain::open(&[self.path()], &self.options(tags, options)?, &Serial)?)
    }
}

/// Ranges of the original by the numbers that their atoms have among `atoms`.
fn renumbered(ranges: &[Range<u32>], atoms: &[u32]) -> Vec<Range<u32>> {
    let mut renumbered: Vec<Range<u32>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        let start = atoms.partition_point(|&atom| atom < range.start) as u32;
        let end = start + range.len() as u32;
        match renumbered.last_mut() {
            Some(last) if last.end == start => last.end = end,
            _ => renumbered.push(start..end),
        }
    }
    renumbered
}
