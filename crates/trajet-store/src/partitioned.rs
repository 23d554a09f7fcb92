//! A trajectory whose atoms are partitioned among the files of several parts, read as one.
//!
//! Each requested atom is read from the part that holds it; no other part is opened. Times and steps are in the
//! index of the whole trajectory. The other per-frame data is in [`MetadataFile`]s, which only raw frames need
//! ([`trajet_formats::Raw`]).
//!
//! The digest of each frame in each part is in the index of the whole trajectory, so that workers get those of their
//! frames. The reader of a part compares the bytes of a frame before it decodes them: nothing is read twice. Boxes
//! come from the metadata if a part is in another format than the whole.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use trajet_files::indexed::Indexed;
use trajet_files::opener::{self, KnownFile, Opened, Opener, WorkerOpener};
use trajet_files::reader::{self, ReadRequest, WorkerFile};
use trajet_files::sidecar::Found;
use trajet_files::source::{Source, absolute};
use trajet_files::{
    Error, FrameCost, FrameIndex, Frames, IndexState, Meter, OpenOptions, Opening, Scratch, Stamp,
};
use trajet_formats::messages::{kept, rounded};
use trajet_formats::time::text;
use trajet_formats::{
    Atoms, Extra, FrameInfo, FramesFrom, Message, NO_ORIGIN, Raw, ReportedBox, memory,
};

pub use metadata_file::MetadataFile;
pub use partition::{Part, Partition, Partitions};
use shared::{BY_PART, BY_TIER, PartitionShared};
use worker_state::{Costs, OpenedPart, PartState, WorkerState};

mod metadata_file;
mod partition;
mod shared;
mod shares;
mod worker_state;

/// Returns the bytes read from each storage tier, [`crate::MAX_TIERS`] of them; empty if no partitioned trajectory was read.
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
    stored_messages: Vec<Message>,
    on_files: Vec<Message>,
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
        let mut reader = PartitionedReader { file, whole, stored_messages: Vec::new(), on_files };
        // If a tag was divided again, the recorded precision may still be that of a part.
        let own = reader::Reader::messages(&reader);
        reader.stored_messages = kept(
            partition.stored_messages.iter().filter(|message| !own.contains(message)).cloned(),
        );
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
        let (stored_messages, on_files) = (Vec::new(), Vec::new());
        Ok(Arc::new(PartitionedReader { file, whole: Arc::new(whole), stored_messages, on_files }))
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
            files: whole.files.clone(),
            filled: whole.filled,
            remedy: whole.remedy.clone(),
            stored_messages: Vec::new(),
            on_files: Vec::new(),
            parts: whole.parts.iter().map(part).collect::<Result<_, Error>>()?,
        };
        Ok(PartitionSpec { partition, n_frames: whole.n_frames })
    }

    /// Returns the messages on rounded positions of parts.
    fn on_parts(&self) -> impl Iterator<Item = Message> {
        self.whole
            .parts
            .iter()
            .filter_map(|part| Some(rounded(part.precision?)?.prefixed(format!("{}: ", part.name))))
    }

    /// Returns the raw frame of the only part, with the time, step and box of the index, if that has boxes.
    fn with_index_data(&self, mut raw: Raw, frame: u64) -> Result<Raw, Error> {
        let (index, path) = (&self.file.index, self.file.source.path());
        if let Raw::H5md(found) = &mut raw
            && let Some((cell, turned, _)) = index.reported_box(frame, path)?
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

    fn stored_messages(&self) -> &[Message] {
        &self.stored_messages
    }

    fn messages(&self) -> Vec<Message> {
        self.on_parts().chain(self.on_files.iter().cloned()).collect()
    }

    fn lasting_messages(&self, copied_to: Option<&str>) -> Vec<Message> {
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
                let reported = || (meta.cells[0], meta.turned[0], meta.periodic[0]);
                let own = (is_exact && !lacks_boxes).then(reported);
                let given = match own {
                    Some(own) => own,
                    None => {
                        let given = self.file.index.reported_box(frame, self.file.source.path())?;
                        assert!(given.is_some() || !lacks_boxes, "the index was looked at");
                        given.unwrap_or_else(reported)
                    }
                };
                beside = Some((is_exact, given));
            }
        }
        let (_, (cell, turned, periodic)) = beside.expect("at least one part is touched");
        scratch.keep_own(own);
        Ok((FrameInfo { time, step, cell, turned, periodic, origin: NO_ORIGIN }, costs.of_whole()))
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
        let (stored_messages, on_files) = (self.stored_messages.clone(), self.on_files.clone());
        Arc::new(PartitionedReader { file, whole, stored_messages, on_files })
    }
}
