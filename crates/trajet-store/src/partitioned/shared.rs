//! The open files of all parts, which readers with different parts of the index share.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use trajet_files::opener::{Opened, Opener};
use trajet_files::source::{FileIdentity, Handles, Source};
use trajet_files::{
    Chain, Error, FrameIndex, HdfLayouts, Meter, OpenOptions, Scratch, Serial, Stamp, chain,
    open_written,
};
use trajet_formats::{Extra, Field, Format, FormatOptions, Raw, Writing};

use super::metadata_file::MetadataFile;
use super::partition::{Part, Partition};
use super::shares::{AtomMap, Share};
use crate::StoreFiles;
use crate::manifest::MAX_TIERS;

/// Number of files of all parts that stay open: each thread reads one of every part, and some systems allow 256.
const MAX_OPEN_OF_PARTS: usize = 3 * chain::MAX_OPEN;

/// Kinds of labels under which bytes are counted ([`Meter::by_label`]).
pub(super) const BY_TIER: usize = 0;
pub(super) const BY_PART: usize = 1;

/// Opens the files of a part, which must be those that were written.
struct PartFiles {
    described: HdfLayouts,
    written: HashMap<PathBuf, FileIdentity>,
}

impl Opener for PartFiles {
    fn open(&self, path: &Path, options: &OpenOptions) -> Option<Opened> {
        let written = self.written.get(path).copied();
        let opened = self.described.open_written(path, written, options);
        Some(opened.unwrap_or_else(|| open_written(path, written, options, &Serial)))
    }
}

/// State that readers with different parts of the index share.
pub(super) struct PartitionShared {
    /// The file that represents the trajectory, and its stamp at opening.
    pub(super) path: PathBuf,
    pub(super) stamp: Stamp,
    pub(super) format: Format,
    pub(super) n_frames: u64,
    pub(super) parts: Vec<Part>,
    pub(super) atom_map: AtomMap,
    pub(super) files: Option<StoreFiles>,
    pub(super) filled: bool,
    pub(super) remedy: String,
    /// The files of the parts that were opened.
    opened: Vec<Mutex<Option<Arc<Chain>>>>,
    /// Path and content of the frame metadata of each segment, which is loaded on first use.
    pub(super) metadata: Vec<(PathBuf, Mutex<Option<Arc<MetadataFile>>>)>,
    pub(super) options: OpenOptions,
}

impl PartitionShared {
    pub(super) fn new(
        partition: &Partition,
        n_frames: u64,
        (path, stamp): (&Path, Stamp),
        options: &OpenOptions,
    ) -> Result<PartitionShared, Error> {
        let fault = |what: String| Error::Partition { path: path.to_owned(), what };
        let Partition { n_atoms, format, heads, files, parts, filled, remedy, .. } = partition;
        let is_written =
            |format: &Format| matches!(format.info().writing, Writing::Files | Writing::Numbers);
        let format = Format::named(format)
            .filter(is_written)
            .ok_or_else(|| fault(format!("its frames are of the format {format}")))?;
        let atom_map = AtomMap::new(*n_atoms, parts).map_err(fault)?;
        for part in parts {
            let (name, found) = (&part.name, part.paths.len());
            let expected = if parts.len() == 1 && heads.is_empty() { found } else { heads.len() };
            if found != expected || found == 0 {
                return Err(fault(format!("{name} has {found} files for {expected} segments")));
            }
            if ![0, found].contains(&part.written.len()) {
                let known = part.written.len();
                return Err(fault(format!("{known} of the {found} files of {name} are known")));
            }
            if ![0, found].contains(&part.described.len()) {
                let described = part.described.len();
                return Err(fault(format!(
                    "{described} of the {found} files of {name} are described"
                )));
            }
            if usize::from(part.tier) >= MAX_TIERS {
                return Err(fault(format!("{} lies on tier {}", part.name, part.tier)));
            }
        }
        let own_handles = || Arc::new(Handles::new(MAX_OPEN_OF_PARTS.max(parts.len())));
        // These options must not change the frames of parts, which are recorded.
        let options = OpenOptions {
            handles: Some(options.handles.clone().unwrap_or_else(own_handles)),
            allow_truncated_tail: false,
            continuous: false,
            opener: files.as_ref().map(StoreFiles::opener),
            formats: FormatOptions::default(),
            ..options.clone()
        };
        Ok(PartitionShared {
            path: path.to_owned(),
            stamp,
            format,
            n_frames,
            opened: parts.iter().map(|_| Mutex::default()).collect(),
            parts: parts.clone(),
            atom_map,
            files: files.clone(),
            filled: *filled,
            remedy: remedy.clone(),
            metadata: heads.iter().map(|path| (path.clone(), Mutex::default())).collect(),
            options,
        })
    }

    /// Returns the files of a part, which are opened on first use.
    pub(super) fn part(&self, part: usize, scratch: &mut Scratch) -> Result<Arc<Chain>, Error> {
        let mut opened = scratch.meter.lock_or_stop(&self.opened[part])?;
        if let Some(chain) = &*opened {
            return Ok(Arc::clone(chain));
        }
        let (begin, record) = (Instant::now(), &self.parts[part]);
        let files = PartFiles {
            described: HdfLayouts(
                record.paths.iter().cloned().zip(record.described.iter().cloned()).collect(),
            ),
            written: record.paths.iter().cloned().zip(record.written.iter().copied()).collect(),
        };
        let options = OpenOptions { watch: Arc::new(scratch.watch()), ..self.options.clone() };
        let openers: [&dyn Opener; 1] = [&files];
        let chain = chain::open_with(&record.paths, &options, &openers, &Serial);
        let chain = Arc::new(chain.map_err(|error| self.in_part(part, error))?);
        let (n_frames, n_atoms) = (self.n_frames as usize, self.atom_map.n_atoms_of(part));
        if (chain.n_frames(), chain.n_atoms()) != (n_frames, n_atoms) {
            let (frames, atoms) = (chain.n_frames(), chain.n_atoms());
            let what = format!(
                "{frames} frames of {atoms} atoms where {} has {n_frames} of {n_atoms}",
                record.name
            );
            let other = Error::Altered { path: chain.path().to_owned(), what };
            return Err(self.in_part(part, other));
        }
        let mut meter = chain.opening().meter.clone();
        let taken = begin.elapsed().as_nanos() as u64;
        meter.open_ns = taken.saturating_sub(meter.read_ns);
        self.count_bytes(part, meter.bytes_read, &mut meter);
        scratch.meter.add(&meter);
        *opened = Some(Arc::clone(&chain));
        Ok(chain)
    }

    /// Checks that an index has the digests of all parts, or of none, and the boxes that parts omit.
    pub(super) fn check_index(&self, index: &FrameIndex) -> Result<(), Error> {
        let mut described = self.parts.iter().flat_map(|part| &part.described);
        let what = if index.n_digests().is_none_or(|n| ![0, self.parts.len()].contains(&n)) {
            "its digests are not those of its parts"
        } else if described.any(|description| description.lacks_boxes()) && !index.has_boxes() {
            "its boxes are not those of its frames"
        } else {
            return Ok(());
        };
        Err(Error::Partition { path: self.path.clone(), what: what.to_owned() })
    }

    /// Returns the fields that any of the parts omits.
    pub(super) fn omitted_by(&self, shares: &[Share]) -> Vec<Extra> {
        let lost = |extra: &Extra| shares.iter().any(|s| self.parts[s.part].lost.contains(extra));
        Extra::ALL.into_iter().filter(lost).collect()
    }

    /// Checks that none of the parts omits this field.
    pub(super) fn check_not_omitted(&self, shares: &[Share], field: Field) -> Result<(), Error> {
        let Some(extra) = Extra::of(field) else { return Ok(()) };
        let parts = shares.iter().map(|share| &self.parts[share.part]);
        let lossy = parts.filter(|part| part.lost.contains(&extra)).map(|part| part.name.clone());
        let parts: Vec<String> = lossy.collect();
        let path = self.path.parent().unwrap_or(&self.path).to_owned();
        let what = field.name();
        if parts.is_empty() { Ok(()) } else { Err(Error::FieldOmitted { path, parts, what }) }
    }

    /// Counts bytes that were read from a part.
    pub(super) fn count_bytes(&self, part: usize, bytes: u64, meter: &mut Meter) {
        meter.labels_of(BY_TIER, MAX_TIERS)[usize::from(self.parts[part].tier)] += bytes;
        meter.labels_of(BY_PART, self.parts.len())[part] += bytes;
    }

    /// Adds the name of the part and advice, or a known reason, to an error of its files.
    pub(super) fn in_part(&self, part: usize, error: Error) -> Error {
        let part = &self.parts[part];
        if !error.is_damage() {
            return self.with_reason(error, part.mark.as_deref());
        }
        let (part, remedy) = (part.name.clone(), self.remedy.clone());
        Error::InPart { error: Box::new(error), part, remedy }
    }

    /// Adds the reason, if it can be determined, to the error of a missing file; `mark` is that of its part.
    fn with_reason(&self, error: Error, mark: Option<&Path>) -> Error {
        let Error::Io { path, source, .. } = error.root() else { return error };
        if source.kind() != ErrorKind::NotFound {
            return error;
        }
        let whole = self.path.parent().unwrap_or(&self.path).display();
        let meter = &mut Meter::default();
        let now =
            Source::open(&self.path, meter).and_then(|now| Stamp::of(&now, now.size(), meter));
        let why = match (now, mark) {
            (Ok(_), Some(mark)) if matches!(mark.try_exists(), Ok(false)) => {
                format!(
                    "{}, which marks the folder of its tier, is missing too: is the tier mounted? If the \
                     whole store was moved, trajet store repair finds its tiers",
                    mark.display()
                )
            }
            (Ok(now), _) if now != self.stamp => {
                format!("{whole} was divided again or moved since it was opened: open it again")
            }
            (Err(Error::Io { source, .. }), _) if source.kind() == ErrorKind::NotFound => {
                format!("{whole} was removed since it was opened")
            }
            _ => return error,
        };
        Error::PartGone { path: path.clone(), why }
    }

    /// Returns the metadata of a frame, as a frame without atoms; `chain` is that of any part.
    pub(super) fn head(&self, chain: &Chain, frame: u64, meter: &mut Meter) -> Result<Raw, Error> {
        let place = chain.place(frame);
        let (path, loaded) = &self.metadata[place.segment];
        let mut loaded = meter.lock(loaded);
        let metadata = match &mut *loaded {
            Some(metadata) => Arc::clone(metadata),
            none => {
                let metadata = MetadataFile::load_by(path, self.options.opener.as_ref(), meter);
                let metadata = Arc::new(metadata.map_err(|error| self.with_reason(error, None))?);
                let expected = chain.segments()[place.segment].reader.index().n_frames();
                if metadata.len() != expected {
                    let what =
                        format!("metadata of {} frames, expected {expected}", metadata.len());
                    return Err(Error::Partition { path: path.clone(), what });
                }
                Arc::clone(none.insert(metadata))
            }
        };
        drop(loaded);
        let head = metadata.get(place.frame as usize)?;
        if head.format() != self.format {
            let what = format!("the head of its frame {} is of another format", place.frame);
            return Err(Error::Partition { path: path.clone(), what });
        }
        Ok(head)
    }
}
