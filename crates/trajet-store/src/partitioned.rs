//! A trajectory whose atoms are partitioned among the files of several parts, read as one.
//!
//! Each requested atom is read from the part that holds it; no other part is opened. Times and steps are in the
//! index of the whole trajectory. The other per-frame data is in [`MetadataFile`]s, which only raw frames need
//! ([`trajet_formats::Raw`]).

use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use trajet_files::indexed::Indexed;
use trajet_files::opener::{self, KnownFile, Opened, Opener, WorkerOpener};
use trajet_files::reader::{self, ReadRequest, WorkerFile};
use trajet_files::sidecar::Found;
use trajet_files::source::{FileIdentity, Handles, Source, absolute};
use trajet_files::{
    Chain, Error, FrameCost, FrameIndex, Frames, HdfLayouts, IndexState, Meter, OpenOptions,
    Opening, Scratch, Serial, Stamp, chain, open_written,
};
use trajet_formats::remarks::{kept, rounded};
use trajet_formats::time::text;
use trajet_formats::{
    Atoms, Extra, Field, Format, FormatOptions, FrameInfo, FrameMeta, FramesFrom, Raw, ReportedBox,
    Writing, memory,
};

use crate::manifest::MOST_TIERS;
pub use metadata_file::MetadataFile;
pub use partition::{Part, Partition, Partitions};
use shares::{AtomMap, Share};

mod metadata_file;
mod partition;
mod shares;

/// Number of files of all parts that stay open: each thread reads one of every part, and some systems allow 256.
const MOST_OPEN_OF_PARTS: usize = 3 * chain::MOST_OPEN;

/// Kinds of labels under which bytes are counted ([`Meter::by_label`]).
const BY_TIER: usize = 0;
const BY_PART: usize = 1;

/// Returns the bytes read from each storage tier, [`MOST_TIERS`] of them; empty if no partitioned trajectory was read.
pub fn bytes_by_tier(meter: &Meter) -> &[u64] {
    meter.by_label.get(BY_TIER).map_or(&[], |bytes| bytes)
}

/// Returns the bytes read from each part of partitioned trajectories; empty if none was read.
pub fn bytes_by_part(meter: &Meter) -> &[u64] {
    meter.by_label.get(BY_PART).map_or(&[], |bytes| bytes)
}

/// The name of [`WORKER_OPENER`].
const NAME: &str = "partitioned";

/// Opens partitioned trajectories in worker processes.
pub const WORKER_OPENER: WorkerOpener = WorkerOpener { name: NAME, open: PartitionedReader::known };

impl Opener for Partitions {
    fn open(&self, path: &Path, options: &OpenOptions) -> Option<Opened> {
        let partition = self.0.get(path)?;
        let open = || -> Opened {
            let (source, opening) = opener::begin(path, None, options)?;
            Ok(Arc::new(PartitionedReader::open(source, partition, options, opening)?))
        };
        Some(open())
    }
}

/// The data from which worker processes open a partitioned trajectory. The index comes with each task.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct PartitionSpec {
    partition: Partition,
    n_frames: u64,
}

/// The reader of a partitioned trajectory.
pub struct PartitionedReader {
    file: Indexed,
    whole: Arc<PartitionShared>,
    stored_remarks: Vec<String>,
    on_files: Vec<String>,
}

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
struct PartitionShared {
    /// The file that represents the trajectory, and its stamp at opening.
    path: PathBuf,
    stamp: Stamp,
    format: Format,
    n_frames: u64,
    parts: Vec<Part>,
    atom_map: AtomMap,
    filled: bool,
    remedy: String,
    /// The files of the parts that were opened.
    opened: Vec<Mutex<Option<Arc<Chain>>>>,
    /// Path and content of the frame metadata of each segment, which is loaded on first use.
    metadata: Vec<(PathBuf, Mutex<Option<Arc<MetadataFile>>>)>,
    options: OpenOptions,
}

impl PartitionedReader {
    /// Returns the reader without opening a part; `source` is the file that represents the trajectory.
    ///
    /// # Errors
    /// [`Error::Partition`] if the partition contradicts itself; [`Error::Io`].
    pub(crate) fn open(
        source: Source,
        partition: &Partition,
        options: &OpenOptions,
        mut opening: Opening,
    ) -> Result<PartitionedReader, Error> {
        let begin = Instant::now();
        let fault =
            |what: &str| Error::Partition { path: source.path().to_owned(), what: what.to_owned() };
        let index = Arc::clone(&partition.index);
        if index.n_atoms() != partition.n_atoms || index.n_frames() == 0 {
            return Err(fault("its index is not that of its frames"));
        }
        let stamp = Stamp::of(&source, source.size(), &mut opening.meter)?;
        let n_frames = index.n_frames() as u64;
        let whole = PartitionShared::new(partition, n_frames, (source.path(), stamp), options)?;
        whole.check_index(&index)?;
        let found = Found::without_sidecar(index, stamp, IndexState::Loaded);
        let file = Indexed::new(source, found, options, opening, begin)?;
        let (whole, on_files) = (Arc::new(whole), partition.on_files.clone());
        let mut reader = PartitionedReader { file, whole, stored_remarks: Vec::new(), on_files };
        // If a tag was divided again, the recorded precision may still be that of a part.
        let own = reader::Reader::remarks(&reader);
        reader.stored_remarks =
            kept(partition.stored_remarks.iter().filter(|remark| !own.contains(remark)));
        Ok(reader)
    }

    /// Returns the reader of a partitioned trajectory that is open in another process.
    ///
    /// # Errors
    /// As [`PartitionedReader::open`].
    fn known(mut known: KnownFile<'_>, options: &OpenOptions) -> Opened {
        let path = known.source.path().to_owned();
        let fault = |what: &str| Error::Partition { path: path.clone(), what: what.to_owned() };
        let spec = postcard::from_bytes(known.data);
        let PartitionSpec { partition, n_frames } =
            spec.map_err(|_| fault("its partition cannot be read"))?;
        let index = known.index.take().ok_or_else(|| fault("it has no index of its frames"))?;
        let file = known.indexed(index, options);
        // The parts are not open yet, and opening them needs their indexes.
        let options = OpenOptions { sidecar: true, ..options.clone() };
        let whole =
            PartitionShared::new(&partition, n_frames, (file.source.path(), file.stamp), &options)?;
        whole.check_index(&file.index)?;
        let (stored_remarks, on_files) = (Vec::new(), Vec::new());
        Ok(Arc::new(PartitionedReader { file, whole: Arc::new(whole), stored_remarks, on_files }))
    }

    /// Returns the data from which workers open the trajectory to read only these atoms.
    fn spec(&self, atoms: &Atoms) -> Result<PartitionSpec, Error> {
        let all = |paths: &[PathBuf]| -> Result<Vec<_>, Error> {
            paths.iter().map(|path| absolute(path)).collect()
        };
        let part = |part: &Part| {
            let described = if part.holds_any_of(atoms) { &part.described[..] } else { &[] };
            Ok(Part { paths: all(&part.paths)?, described: described.to_vec(), ..part.clone() })
        };
        let (whole, n_atoms) = (&self.whole, self.file.index.n_atoms());
        let metadata = whole.metadata.iter().map(|(path, _)| absolute(path));
        let partition = Partition {
            n_atoms,
            format: whole.format.name().to_owned(),
            index: FrameIndex::new(n_atoms).into(),
            heads: metadata.collect::<Result<_, Error>>()?,
            filled: whole.filled,
            remedy: whole.remedy.clone(),
            stored_remarks: Vec::new(),
            on_files: Vec::new(),
            parts: whole.parts.iter().map(part).collect::<Result<_, Error>>()?,
        };
        Ok(PartitionSpec { partition, n_frames: whole.n_frames })
    }

    /// Returns the remarks on rounded positions of parts.
    fn on_parts(&self) -> impl Iterator<Item = String> {
        self.whole.parts.iter().filter_map(|part| {
            let words = rounded(part.precision?)?;
            Some(format!("{}: {words}", part.name))
        })
    }

    /// Returns the raw frame of the only part, with the time, step and box of the index, if that has boxes.
    fn with_index_data(&self, mut raw: Raw, frame: u64) -> Result<Raw, Error> {
        let (index, path) = (&self.file.index, self.file.source.path());
        if let Raw::H5md(found) = &mut raw
            && let Some((cell, turned)) = index.reported_box(frame, path)?
        {
            (found.time, found.step) = index.when(frame);
            found.cell = (!cell[0].is_nan()).then_some(cell);
            found.vectors = turned.filter(|_| found.cell.is_some());
        }
        Ok(raw)
    }

    /// Takes the worker's state for this reader from the scratch and prepares it for these atoms.
    fn own(&self, atoms: &Atoms, scratch: &mut Scratch) -> Result<Box<WorkerState>, Error> {
        let mut own: Box<WorkerState> = scratch.take_own();
        let number = self.file.source.number();
        if own.source != number {
            let state = |_| PartState { opened: None, scratch: scratch.beside() };
            let parts = (0..self.whole.parts.len()).map(state).collect();
            *own = WorkerState { source: number, parts, ..WorkerState::default() };
        }
        if own.shares.is_empty() || own.selected.as_deref() != atoms.sorted() {
            own.shares = self.whole.atom_map.shares(atoms)?;
            own.selected = atoms.sorted().map(<[u32]>::to_vec);
        }
        Ok(own)
    }
}

impl PartitionShared {
    fn new(
        partition: &Partition,
        n_frames: u64,
        (path, stamp): (&Path, Stamp),
        options: &OpenOptions,
    ) -> Result<PartitionShared, Error> {
        let fault = |what: String| Error::Partition { path: path.to_owned(), what };
        let Partition { n_atoms, format, heads, parts, filled, remedy, .. } = partition;
        let is_written = |format: &Format| !matches!(format.info().writing, Writing::As(_));
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
            if usize::from(part.tier) >= MOST_TIERS {
                return Err(fault(format!("{} lies on tier {}", part.name, part.tier)));
            }
        }
        let own_handles = || Arc::new(Handles::new(MOST_OPEN_OF_PARTS.max(parts.len())));
        // These options must not change the frames of parts, which are recorded.
        let options = OpenOptions {
            handles: Some(options.handles.clone().unwrap_or_else(own_handles)),
            allow_truncated_tail: false,
            continuous: false,
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
            filled: *filled,
            remedy: remedy.clone(),
            metadata: heads.iter().map(|path| (path.clone(), Mutex::default())).collect(),
            options,
        })
    }

    /// Returns the files of a part, which are opened on first use.
    fn part(&self, part: usize, scratch: &mut Scratch) -> Result<Arc<Chain>, Error> {
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
    fn check_index(&self, index: &FrameIndex) -> Result<(), Error> {
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
    fn omitted_by(&self, shares: &[Share]) -> Vec<Extra> {
        let lost = |extra: &Extra| shares.iter().any(|s| self.parts[s.part].lost.contains(extra));
        Extra::ALL.into_iter().filter(lost).collect()
    }

    /// Checks that none of the parts omits this field.
    fn check_not_omitted(&self, shares: &[Share], field: Field) -> Result<(), Error> {
        let Some(extra) = Extra::of(field) else { return Ok(()) };
        let parts = shares.iter().map(|share| &self.parts[share.part]);
        let lossy = parts.filter(|part| part.lost.contains(&extra)).map(|part| part.name.clone());
        let parts: Vec<String> = lossy.collect();
        let path = self.path.parent().unwrap_or(&self.path).to_owned();
        let what = field.name();
        if parts.is_empty() { Ok(()) } else { Err(Error::FieldOmitted { path, parts, what }) }
    }

    /// Counts bytes that were read from a part.
    fn count_bytes(&self, part: usize, bytes: u64, meter: &mut Meter) {
        meter.labels_of(BY_TIER, MOST_TIERS)[usize::from(self.parts[part].tier)] += bytes;
        meter.labels_of(BY_PART, self.parts.len())[part] += bytes;
    }

    /// Adds the name of the part and advice, or a known reason, to an error of its files.
    fn in_part(&self, part: usize, error: Error) -> Error {
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
    fn head(&self, chain: &Chain, frame: u64, meter: &mut Meter) -> Result<Raw, Error> {
        let place = chain.place(frame);
        let (path, loaded) = &self.metadata[place.segment];
        let mut loaded = meter.lock(loaded);
        let metadata = match &mut *loaded {
            Some(metadata) => Arc::clone(metadata),
            none => {
                let metadata = MetadataFile::load_counted(path, meter);
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

/// The state that a worker keeps between frames.
#[derive(Default)]
struct WorkerState {
    /// The number of the source of the reader to which this belongs.
    source: u64,
    /// The atoms for which `shares` were made; `None` for all atoms.
    selected: Option<Vec<u32>>,
    shares: Vec<Share>,
    /// One per part.
    parts: Vec<PartState>,
    vectors: Vec<f32>,
    meta: FrameMeta,
}

/// The state that a worker keeps of a part. Each part has its own scratch, because a window holds bytes of one file.
struct PartState {
    opened: Option<OpenedPart>,
    scratch: Scratch,
}

/// The open files of a part.
struct OpenedPart {
    chain: Arc<Chain>,
    /// Whether the part has the format of the whole trajectory.
    is_exact: bool,
    /// Whether the part has no boxes, which are then in the index of the whole trajectory.
    lacks_boxes: bool,
}

impl PartState {
    /// Returns the part's files and scratch, ready for this call.
    fn ready(
        &mut self,
        whole: &PartitionShared,
        part: usize,
        outer: &mut Scratch,
    ) -> Result<(&OpenedPart, &mut Scratch), Error> {
        let PartState { opened, scratch } = self;
        let opened = match opened {
            Some(opened) => opened,
            none => {
                let chain = whole.part(part, outer)?;
                let is_exact = chain.format() == whole.format.name();
                let lacks_boxes = whole.parts[part].described.iter().any(|one| one.lacks_boxes());
                none.insert(OpenedPart { chain, is_exact, lacks_boxes })
            }
        };
        scratch.follow(outer);
        Ok((opened, scratch))
    }
}

/// The cost of reading a frame from several parts: the frame counts once, bytes count for each part and its tier.
#[derive(Default)]
struct Costs {
    empty: bool,
}

impl Costs {
    fn add(
        &mut self,
        whole: &PartitionShared,
        part: usize,
        inner: &mut Scratch,
        meter: &mut Meter,
    ) {
        let of_part = std::mem::take(&mut inner.meter);
        self.empty |= of_part.empty_frames > 0;
        let of_part = Meter { frames: 0, empty_frames: 0, ..of_part };
        meter.add(&of_part);
        whole.count_bytes(part, of_part.bytes_read, meter);
    }

    /// Returns the cost of the frame beyond those of its parts.
    fn of_whole(self) -> FrameCost {
        FrameCost { bytes: 0, atoms: (!self.empty).then_some(0) }
    }
}

impl reader::Reader for PartitionedReader {
    fn format(&self) -> &'static str {
        self.whole.format.name()
    }

    fn file(&self) -> &Indexed {
        &self.file
    }

    fn connections(&self) -> Option<usize> {
        let remote = &self.whole.options.remote;
        (!remote.objects.is_empty()).then_some(remote.connections)
    }

    fn for_worker(&self, atoms: &Atoms) -> Result<WorkerFile, Error> {
        Ok(WorkerFile::new(NAME, &self.spec(atoms)?))
    }

    fn size(&self) -> u64 {
        self.file.index.end()
    }

    fn truncated_tail(&self) -> u64 {
        0
    }

    fn stored_remarks(&self) -> &[String] {
        &self.stored_remarks
    }

    fn remarks(&self) -> Vec<String> {
        self.on_parts().chain(self.on_files.iter().cloned()).collect()
    }

    fn lasting_remarks(&self, copied_to: Option<&str>) -> Vec<String> {
        let is_like = reader::is_complete_copy(self.format(), copied_to);
        let on_files = self.on_files.iter().filter(|_| !is_like).cloned();
        self.on_parts().chain(on_files).collect()
    }

    fn read_frame(
        &self,
        &ReadRequest { frames, atoms, field }: &ReadRequest<'_>,
        at: usize,
        scratch: &mut Scratch,
        out: &mut [f32],
    ) -> Result<(FrameInfo, FrameCost), Error> {
        let frame = frames.get(at);
        let (time, step) = self.file.index.when(frame);
        let mut own = self.own(atoms, scratch)?;
        let WorkerState { shares, parts, vectors, meta, .. } = &mut *own;
        self.whole.check_not_omitted(shares, field)?;
        let (mut costs, mut beside) = (Costs::default(), None::<(bool, ReportedBox)>);
        for share in &*shares {
            let part = &self.whole.parts[share.part];
            let (opened, inner) = parts[share.part].ready(&self.whole, share.part, scratch)?;
            inner.expected = self.file.index.digest(frame, share.part);
            let &OpenedPart { ref chain, is_exact, lacks_boxes } = opened;
            let request = ReadRequest { frames, atoms: &share.atoms, field };
            meta.clear();
            let direct = match &share.columns[..] {
                [columns] => Some(3 * columns.start as usize..3 * columns.end as usize),
                _ => None,
            };
            let target = match &direct {
                Some(values) => &mut out[values.clone()],
                None => {
                    let len = 3 * share.atoms.len();
                    memory::resize(vectors, len, 0.0, "the atoms of a frame")?;
                    &mut vectors[..]
                }
            };
            let read = chain.read_into(&request, at..at + 1, inner, target, meta);
            read.map_err(|error| self.whole.in_part(share.part, error))?;
            if direct.is_none() {
                share.scatter(vectors, out);
            }
            costs.add(&self.whole, share.part, inner, &mut scratch.meter);
            // In formats that store time and step in the frame, this detects a file that was replaced.
            let keeps_both =
                is_exact && self.whole.format.info().frames_from == FramesFrom::Headers;
            let found = (meta.times[0].to_bits(), meta.steps[0]);
            if keeps_both && found != (time.to_bits(), step) {
                let what = format!(
                    "frame {frame} of {} was written at {} ps, step {}, in the whole at {} ps, \
                     step {step}",
                    part.name,
                    text(meta.times[0]),
                    meta.steps[0],
                    text(time)
                );
                return Err(Error::Partition { path: chain.path_of(frame).to_owned(), what });
            }
            if beside.is_none_or(|(was_exact, _)| is_exact && !was_exact) {
                // A part in the format of the whole trajectory has the exact bits of its boxes.
                let own = (is_exact && !lacks_boxes).then(|| (meta.cells[0], meta.turned[0]));
                let given = match own {
                    Some(own) => own,
                    None => {
                        let given = self.file.index.reported_box(frame, self.file.source.path())?;
                        assert!(given.is_some() || !lacks_boxes, "the index was looked at");
                        given.unwrap_or((meta.cells[0], meta.turned[0]))
                    }
                };
                beside = Some((is_exact, given));
            }
        }
        let (_, (cell, turned)) = beside.expect("at least one part is touched");
        scratch.keep_own(own);
        Ok((FrameInfo { time, step, cell, turned }, costs.of_whole()))
    }

    fn whole_raw(&self, frames: &Frames, at: usize, scratch: &mut Scratch) -> Result<Raw, Error> {
        self.raw(frames, at, &Atoms::all(self.file.index.n_atoms()), scratch)
    }

    fn raw(
        &self,
        frames: &Frames,
        at: usize,
        atoms: &Atoms,
        scratch: &mut Scratch,
    ) -> Result<Raw, Error> {
        let frame = frames.get(at);
        let mut own = self.own(atoms, scratch)?;
        let WorkerState { shares, parts, .. } = &mut *own;
        let (mut costs, mut raws, mut head) = (Costs::default(), Vec::new(), None);
        for share in &*shares {
            let (opened, inner) = parts[share.part].ready(&self.whole, share.part, scratch)?;
            inner.expected = self.file.index.digest(frame, share.part);
            let chain = &opened.chain;
            let raw = chain.raw(frames, at, &share.atoms, inner);
            raws.push(raw.map_err(|error| self.whole.in_part(share.part, error))?);
            costs.add(&self.whole, share.part, inner, &mut scratch.meter);
            if head.is_none() && !self.whole.metadata.is_empty() {
                head = Some(self.whole.head(chain, frame, &mut scratch.meter)?);
            }
        }
        let joined = match head {
            None => self.with_index_data(raws.pop().expect("the one part is touched"), frame)?,
            Some(head) => {
                let parts: Vec<_> =
                    shares.iter().map(|share| &share.columns[..]).zip(&raws).collect();
                let lost = self.whole.omitted_by(shares);
                let (head, filled) = match self.whole.filled {
                    true => (head, &lost[..]),
                    false => (head.without(&lost), &[][..]),
                };
                Raw::join_filled(&head, atoms.n_sorted(), &parts, filled).map_err(|what| {
                    let path = self.file.source.path().to_owned();
                    Error::Partition { path, what: format!("frame {frame} of its parts: {what}") }
                })?
            }
        };
        self.file.check_cell(frame, &joined.cell())?;
        scratch.meter.count_frame(costs.of_whole());
        scratch.keep_own(own);
        Ok(match atoms.order() {
            Some(order) => joined.take(&order.iter().map(|&k| k as usize).collect::<Vec<_>>()),
            None => joined,
        })
    }

    fn as_omitted_fields(&self) -> Option<&dyn reader::OmittedFields> {
        Some(self)
    }

    fn as_format_data(&self) -> Option<&dyn reader::FormatData> {
        Some(self)
    }

    fn as_partial_index(&self) -> Option<&dyn reader::PartialIndex> {
        Some(self)
    }
}

impl reader::OmittedFields for PartitionedReader {
    fn omitted_fields(&self, atoms: &Atoms) -> Vec<(Extra, String)> {
        let parts = self.whole.parts.iter().filter(|part| part.holds_any_of(atoms));
        let lost =
            |part: &Part| part.lost.iter().map(|&extra| (extra, part.name.clone())).collect();
        parts.flat_map::<Vec<_>, _>(lost).collect()
    }
}

impl reader::FormatData for PartitionedReader {
    fn left_out(
        &self,
        frame: u64,
        atoms: &Atoms,
        scratch: &mut Scratch,
    ) -> Result<Vec<String>, Error> {
        let mut own = self.own(atoms, scratch)?;
        let WorkerState { shares, parts, .. } = &mut *own;
        let share = &shares[0];
        let (opened, inner) = parts[share.part].ready(&self.whole, share.part, scratch)?;
        let left = if self.whole.metadata.is_empty() {
            opened.chain.left_out_of(frame, &share.atoms, inner)?
        } else {
            let head = self.whole.head(&opened.chain, frame, &mut scratch.meter)?;
            head.without(&self.whole.omitted_by(shares)).left_out()
        };
        scratch.keep_own(own);
        Ok(left)
    }
}

impl reader::PartialIndex for PartitionedReader {
    fn with_index(&self, index: FrameIndex) -> Arc<dyn reader::Reader> {
        let (file, whole) = (self.file.with_index(index), Arc::clone(&self.whole));
        let (stored_remarks, on_files) = (self.stored_remarks.clone(), self.on_files.clone());
        Arc::new(PartitionedReader { file, whole, stored_remarks, on_files })
    }
}
