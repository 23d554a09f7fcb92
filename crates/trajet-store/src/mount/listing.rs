//! The names that a mount shows. For each data set: the whole trajectory as if it had never been partitioned, each tag
//! as stored and as decoded, and the topologies.
//!
//! Listing reads manifests and settings only. Sizes need no access to a tier, except those of wholes, and of tags of
//! several segments, in DCD and NetCDF, whose first frame is read. A decoded view whose format cannot hold the frames,
//! such as times in unequal steps, is not listed.

use std::fs;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex, Weak};

use trajet_engine::run::lock;
use trajet_files::source::Handles;
use trajet_files::{Chain, Meter, OpenOptions, chain};
use trajet_formats::{Extra, Format, FramesFrom, WriteOptions};

use super::tree::{Contents, Make, Node, OnClose, Shared, State};
use crate::catalog::MANIFEST;
use crate::error::shell_argument;
use crate::ingest::ENCODER;
use crate::partitioned::bytes_by_part;
use crate::tag_format::{Kind, format_named, kind_of};
use crate::virtual_file::{Form, FrameSource, GroupCache, Moments, VerifiedFile, VirtualFile};
use crate::{Access, Dataset, Error, Store};

/// A mounted store.
pub(super) struct Listing {
    store: Store,
    cache: Arc<GroupCache>,
    handles: Arc<Handles>,
}

impl Listing {
    pub(super) fn new(store: Store) -> Listing {
        let handles = Arc::new(Handles::new(chain::MAX_OPEN));
        Listing { store, cache: Arc::default(), handles }
    }
}

impl Contents for Listing {
    fn names(&self) -> Result<Vec<String>, Error> {
        self.store.names()
    }

    fn state(&self, dataset: &str) -> Option<State> {
        crate::manifest::is_name(dataset).then_some(())?;
        let manifest = self.store.folder_of(dataset).join(MANIFEST);
        let found = fs::symlink_metadata(manifest).ok()?;
        let (changed, inode) = (found.modified().ok()?, found.ino());
        Some(State { changed, inode, user: found.uid(), group: found.gid() })
    }

    fn files(&self, dataset: &str) -> Result<Vec<Shared>, Error> {
        let options =
            OpenOptions { handles: Some(Arc::clone(&self.handles)), ..OpenOptions::default() };
        let dataset = self.store.dataset(dataset)?;
        let cache = Arc::clone(&self.cache);
        let one = Arc::new(DatasetListing { dataset, options, cache, moments: Mutex::default() });
        DatasetListing::files(&one)
    }
}

/// A data set of a mounted store.
struct DatasetListing {
    dataset: Dataset,
    options: OpenOptions,
    cache: Arc<GroupCache>,
    /// Weak: the times and steps live as long as a virtual file needs them.
    moments: Mutex<Weak<Moments>>,
}

impl DatasetListing {
    fn files(self: &Arc<Self>) -> Result<Vec<Shared>, Error> {
        let Dataset { store, manifest } = &self.dataset;
        let (name, whole) = (&manifest.name, format_named(&manifest.format)?);
        let mut files = Vec::new();
        let mut show = |name: &str, ending: &str, node, on_close| {
            files.push(Shared { name: format!("{name}.{ending}"), node, on_close });
        };
        let opener = store.files()?.opener();
        let found = |path| Node::Found(path, Arc::clone(&opener));
        let (tiers, even_times) = (store.tiers()?, manifest.even_times);
        // An HDF5 file is no sequence of frames and cannot be generated while it is read.
        if !whole.is_of_library() {
            show(name, whole.suffix(), self.made(DatasetListing::whole), Some(self.on_close(None)));
        }
        if whole != Format::DECODED && even_times {
            let decoded = self.made(|one, name| one.decoded(None, name));
            show(name, Format::DECODED.suffix(), decoded, Some(self.on_close(None)));
        }
        let readme = self.readme(whole);
        if !readme.is_empty() {
            show(name, "README", Node::Text(readme.into()), None);
        }
        let topology = store.folder_of(name).join(&manifest.topology.file);
        if let Some(ending) = extension(&topology) {
            show(name, &ending, found(topology), None);
        }
        for (k, tag) in manifest.tags.iter().enumerate() {
            let (tag_name, kind) = (format!("{name}@{}", tag.name), kind_of(tag, whole)?);
            let sizes: Vec<u64> = manifest.files_of(k).map(|file| file.size).collect();
            let on_close = || Some(self.on_close(Some(k)));
            match kind {
                // HDF5 files of several segments cannot be concatenated.
                Kind::Hdf5 if sizes.len() > 1 => {
                    for (number, size) in sizes.into_iter().enumerate() {
                        let name = format!("{tag_name}-{number:03}");
                        let node = self.as_written(k, number..number + 1, size);
                        let on_close = self.on_close_of(Some(k), number..number + 1);
                        show(&name, kind.ending(), node, Some(on_close));
                    }
                }
                Kind::Frames(format) if format.counts_frames() && sizes.len() > 1 => {
                    let joined = self.made(move |one, name| one.joined(k, format, name));
                    show(&tag_name, kind.ending(), joined, on_close());
                }
                _ => {
                    let node = self.as_written(k, 0..sizes.len(), sizes.iter().sum());
                    show(&tag_name, kind.ending(), node, on_close());
                }
            }
            if kind != Kind::Frames(Format::DECODED) && even_times {
                let decoded = self.made(move |one, name| one.decoded(Some(k), name));
                show(&tag_name, Format::DECODED.suffix(), decoded, on_close());
            }
            if let Some(file) = manifest.files_of(k).next() {
                let tier = tiers.get(&file.tier);
                let known = || store.no_tier(&file.tier, tiers.keys().cloned().collect());
                let path = tier.ok_or_else(known)?.folder.join(&file.path);
                for beside in &file.companion_files {
                    let path = path.with_file_name(&beside.file);
                    if let Some(ending) = extension(&path) {
                        show(&tag_name, &ending, found(path), None);
                    }
                }
            }
        }
        Ok(files)
    }

    /// Returns the text of a README on what the mount does not show, and how to obtain it.
    fn readme(&self, whole: Format) -> String {
        let Dataset { store, manifest } = &self.dataset;
        let name = &manifest.name;
        let dataset = shell_argument(&store.folder().join(name));
        let mut words = String::new();
        if whole.is_of_library() {
            words += &format!(
                "There is no {name}.h5md here: HDF5 is not made as it is read.\nAll atoms as H5MD:\n\n    \
                 trajet store get {dataset} -o {name}.h5md\n\nHere are their positions and cells \
                 ({name}.dcd, where frames come in equal steps of time), and the tags as H5MD.\n"
            );
        }
        for extra in Extra::ALL {
            let tags =
                manifest.omitted_fields.iter().filter(|(_, omitted)| omitted.contains(&extra));
            let tags: Vec<&str> = tags.map(|(tag, _)| &tag[..]).collect();
            if !tags.is_empty() {
                words += &format!(
                    "The files of all atoms have no {}, which these lossy tags omit: {}. Files of other \
                     tags have them.\n",
                    extra.name(),
                    tags.join(", ")
                );
            }
        }
        let messages = self.dataset.messages_for_copy(None, None);
        if !messages.is_empty() {
            let lines: Vec<String> = messages.iter().map(ToString::to_string).collect();
            words += &format!("Warnings and notes on {name}:\n\n    {}\n", lines.join("\n    "));
        }
        words
    }

    /// Returns a node for some files of a tag, concatenated.
    fn as_written(self: &Arc<Self>, tag: usize, files: Range<usize>, size: u64) -> Node {
        let (one, held) = (Arc::clone(self), Mutex::new(Weak::new()));
        Node::VerifiedFile(size, Box::new(move || one.compared(tag, files.clone(), &held)))
    }

    /// Opens the files, or returns them if they are open already.
    fn compared(
        &self,
        tag: usize,
        files: Range<usize>,
        held: &Mutex<Weak<VerifiedFile>>,
    ) -> Result<Arc<VerifiedFile>, Error> {
        let mut held = lock(held);
        if let Some(files) = held.upgrade() {
            return Ok(files);
        }
        let Dataset { store, manifest } = &self.dataset;
        let mut found = Vec::with_capacity(files.len());
        for segment in &manifest.segments[files] {
            let file = &segment.files[tag];
            let column = store.table(manifest, segment)?.files.swap_remove(tag);
            found.push((store.path_of(file)?, store.known(&manifest.name, file, column)?));
        }
        let files = Arc::new(VerifiedFile::new(
            found,
            store.files()?.opener(),
            self.dataset.remedy(),
            &self.cache,
        )?);
        *held = Arc::downgrade(&files);
        Ok(files)
    }

    /// Logs the access to a file of all segments of a tag, or of all tags.
    fn on_close(self: &Arc<Self>, tag: Option<usize>) -> Box<OnClose> {
        self.on_close_of(tag, 0..self.dataset.manifest.segments.len())
    }

    /// Logs the access to a file of some segments.
    fn on_close_of(self: &Arc<Self>, tag: Option<usize>, segments: Range<usize>) -> Box<OnClose> {
        let one = Arc::clone(self);
        let segments = &self.dataset.manifest.segments[segments];
        let n_frames: u64 = segments.iter().map(|segment| segment.n_frames).sum();
        Box::new(move |part: f64, meter: &Meter| {
            let Dataset { store, manifest } = &one.dataset;
            let read: Vec<_> = match tag {
                Some(tag) => vec![(manifest.tags[tag].name.clone(), meter.bytes_read)],
                None => {
                    let of_tag = |k: usize| bytes_by_part(meter).get(k).copied().unwrap_or(0);
                    let tags = manifest.tags.iter().enumerate();
                    tags.map(|(k, tag)| (tag.name.clone(), of_tag(k))).collect()
                }
            };
            let frames = (part * n_frames as f64).round() as u64;
            Access::new("mount", frames, read).write_down(&store.folder_of(&manifest.name));
        })
    }

    fn made(
        self: &Arc<Self>,
        make: impl Fn(&Arc<DatasetListing>, &Path) -> Result<VirtualFile, Error> + Send + Sync + 'static,
    ) -> Node {
        let one = Arc::clone(self);
        let make: Box<Make> = Box::new(move |name| make(&one, name));
        Node::Made(make)
    }

    /// Returns times and steps of all frames.
    fn moments(&self) -> Result<Arc<Moments>, Error> {
        if let Some(moments) = lock(&self.moments).upgrade() {
            return Ok(moments);
        }
        let mut moments = Moments::default();
        for table in self.dataset.tables()? {
            moments.times.extend(table.times);
            moments.steps.extend(table.steps);
        }
        let moments = Arc::new(moments);
        *lock(&self.moments) = Arc::downgrade(&moments);
        Ok(moments)
    }

    /// Returns the file of all atoms in the format of the original.
    fn whole(self: &Arc<Self>, name: &Path) -> Result<VirtualFile, Error> {
        let manifest = &self.dataset.manifest;
        let format = format_named(&manifest.format)?;
        let known = format.info().frames_from == FramesFrom::Headers;
        if known && manifest.encoder != ENCODER {
            let what = "was divided by another version, and the sizes of its frames are not known \
                        here: divide it again with trajet store retag";
            return Err(Error::damaged(name, what));
        }
        let sizes = match known {
            true => {
                Some(self.dataset.tables()?.into_iter().flat_map(|table| table.whole).collect())
            }
            false => None,
        };
        // Fields that a lossy tag omits are already missing; their loss needs no further consent.
        let allow_loss = manifest.tags.iter().any(|tag| tag.lossy);
        let form = Form::Stored(WriteOptions { allow_loss, ..WriteOptions::default() });
        VirtualFile::new(self.given(None, format, sizes)?, format, form, name, &self.cache)
    }

    /// Returns the files of a tag joined into one.
    fn joined(
        self: &Arc<Self>,
        tag: usize,
        format: Format,
        name: &Path,
    ) -> Result<VirtualFile, Error> {
        let allow_loss = self.dataset.manifest.tags[tag].lossy;
        let form = Form::Stored(WriteOptions { allow_loss, ..WriteOptions::default() });
        VirtualFile::new(self.given(Some(tag), format, None)?, format, form, name, &self.cache)
    }

    /// Returns positions and cells of a tag, or of all atoms, as DCD.
    fn decoded(self: &Arc<Self>, tag: Option<usize>, name: &Path) -> Result<VirtualFile, Error> {
        let Dataset { store, manifest } = &self.dataset;
        let first = &manifest.segments[0].frame_metadata.file;
        let cell =
            store.frame_metadata(&store.folder_of(&manifest.name).join(first))?.get(0)?.cell();
        let n_atoms = tag.map_or(manifest.n_atoms, |tag| manifest.tags[tag].n_atoms());
        let form = Form::Decoded(cell, n_atoms);
        let format = Format::DECODED;
        VirtualFile::new(self.given(tag, format, None)?, format, form, name, &self.cache)
    }

    /// Returns the frames of a tag as its files hold them, or those of all atoms.
    fn given(
        self: &Arc<Self>,
        tag: Option<usize>,
        format: Format,
        sizes: Option<Vec<u64>>,
    ) -> Result<FrameSource, Error> {
        let one = Arc::clone(self);
        let open = move || -> Result<Arc<Chain>, Error> {
            Ok(Arc::new(match tag {
                None => one.dataset.chain(None, &one.options)?,
                Some(tag) => one.dataset.stored(tag, &one.options)?,
            }))
        };
        let messages = self.dataset.messages_for_copy(tag, Some(format.name()));
        Ok(FrameSource { moments: self.moments()?, sizes, messages, open: Box::new(open) })
    }
}

fn extension(path: &Path) -> Option<String> {
    Some(path.extension()?.display().to_string())
}
