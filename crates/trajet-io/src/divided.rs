//! A trajectory that was divided by atoms: parts of it in files of their own, read as one.
//!
//! Each wanted atom comes from the part that holds it; no other part is opened. When frames were written
//! stands in the index of the whole, what else they say beside their atoms in [`FrameMetadata`], which only whole
//! frames need ([`crate::Raw`]).

use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::h5md::opener::Described;
use crate::indexed::Indexed;
use crate::memory;
use crate::opener::{self, KnownFile, Opened, Opener, WorkerOpener};
use crate::reader::{self, Wanted, WorkerFile};
use crate::remarks::{kept, rounded};
use crate::sidecar::Found;
use crate::source::{Handles, Source, absolute};
use crate::time::text;
use crate::{
    Atoms, Chain, Error, Extra, Field, Format, FrameIndex, FrameInfo, FrameMeta, Frames, GivenBox,
    IndexState, MOST_TIERS, Meter, OpenOptions, Opening, Raw, Scratch, Serial, Stamp, chain,
};
pub use division::{Division, Divisions, Part};
pub use frame_metadata::FrameMetadata;
use shares::{Places, Share};

mod division;
mod frame_metadata;
mod shares;

/// Files that stay open, of all parts: each thread reads one of every part, and 256 are what some systems allow.
const MOST_OPEN_OF_PARTS: usize = 3 * chain::MOST_OPEN;

/// The name by which worker processes open divided trajectories.
const NAME: &str = "divided";

/// Opens divided trajectories in worker processes.
pub const WORKER_OPENER: WorkerOpener = WorkerOpener { name: NAME, open: Reader::known };

impl Opener for Divisions {
    fn open(&self, path: &Path, options: &OpenOptions) -> Option<Opened> {
        let division = self.get(path)?;
        let open = || -> Opened {
            let (source, opening) = opener::begin(path, options)?;
            Ok(Arc::new(Reader::open(source, division, options, opening)?))
        };
        Some(open())
    }
}

/// What worker processes need to know of a division: the index comes with each task.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Told {
    division: Division,
    n_frames: u64,
}

/// A divided trajectory.
pub struct Reader {
    file: Indexed,
    whole: Arc<Whole>,
    noted: Vec<String>,
    on_files: Vec<String>,
}

/// What readers of different parts of the index share.
struct Whole {
    /// The file that stands for it, and what that was at opening.
    path: PathBuf,
    stamp: Stamp,
    format: Format,
    n_frames: u64,
    parts: Vec<Part>,
    places: Places,
    filled: bool,
    remedy: String,
    /// Of the parts that were touched.
    opened: Vec<Mutex<Option<Arc<Chain>>>>,
    heads: Vec<(PathBuf, Mutex<Option<Arc<FrameMetadata>>>)>,
    options: OpenOptions,
}

impl Reader {
    /// Opens no part yet; `source` is the file that stands for the whole.
    ///
    /// # Errors
    /// [`Error::Division`] where the division contradicts itself; [`Error::Io`].
    pub(crate) fn open(
        source: Source,
        division: &Division,
        options: &OpenOptions,
        mut opening: Opening,
    ) -> Result<Reader, Error> {
        let begin = Instant::now();
        let fault =
            |what: &str| Error::Division { path: source.path().to_owned(), what: what.to_owned() };
        let index = Arc::clone(&division.index);
        if index.n_atoms() != division.n_atoms || index.n_frames() == 0 {
            return Err(fault("its index is not that of its frames"));
        }
        let stamp = Stamp::of(&source, source.size(), &mut opening.meter)?;
        let n_frames = index.n_frames() as u64;
        let whole = Whole::new(division, n_frames, (source.path(), stamp), options)?;
        whole.check_index(&index)?;
        let found = Found::without_sidecar(index, stamp, IndexState::Loaded);
        let file = Indexed::new(source, found, options, opening, begin)?;
        let (whole, on_files) = (Arc::new(whole), division.on_files.clone());
        let mut reader = Reader { file, whole, noted: Vec::new(), on_files };
        // A tag that was divided anew may still have the precision that was written down.
        let own = reader::Reader::remarks(&reader);
        reader.noted = kept(division.noted.iter().filter(|remark| !own.contains(remark)));
        Ok(reader)
    }

    /// Returns the reader of a division that is open in another process.
    ///
    /// # Errors
    /// As [`Reader::open`].
    fn known(mut known: KnownFile<'_>, options: &OpenOptions) -> Opened {
        let path = known.source.path().to_owned();
        let fault = |what: &str| Error::Division { path: path.clone(), what: what.to_owned() };
        let told = postcard::from_bytes(known.data);
        let Told { division, n_frames } = told.map_err(|_| fault("its division cannot be read"))?;
        let index = known.index.take().ok_or_else(|| fault("it has no index of its frames"))?;
        let file = known.indexed(index, options);
        // Nobody has opened the parts yet, and who does needs their indices.
        let options = OpenOptions { sidecar: true, ..options.clone() };
        let whole = Whole::new(&division, n_frames, (file.source.path(), file.stamp), &options)?;
        whole.check_index(&file.index)?;
        let (noted, on_files) = (Vec::new(), Vec::new());
        Ok(Arc::new(Reader { file, whole: Arc::new(whole), noted, on_files }))
    }

    /// Returns what workers need, who read no other atoms than these.
    fn told(&self, atoms: &Atoms) -> Result<Told, Error> {
        let all = |paths: &[PathBuf]| -> Result<Vec<_>, Error> {
            paths.iter().map(|path| absolute(path)).collect()
        };
        let part = |part: &Part| {
            let described = if part.is_touched(atoms) { &part.described[..] } else { &[] };
            Ok(Part { paths: all(&part.paths)?, described: described.to_vec(), ..part.clone() })
        };
        let (whole, n_atoms) = (&self.whole, self.file.index.n_atoms());
        let heads = whole.heads.iter().map(|(path, _)| absolute(path));
        let division = Division {
            n_atoms,
            format: whole.format.name().to_owned(),
            index: FrameIndex::new(n_atoms).into(),
            heads: heads.collect::<Result<_, Error>>()?,
            filled: whole.filled,
            remedy: whole.remedy.clone(),
            noted: Vec::new(),
            on_files: Vec::new(),
            parts: whole.parts.iter().map(part).collect::<Result<_, Error>>()?,
        };
        Ok(Told { division, n_frames: whole.n_frames })
    }

    /// Returns the remarks on what parts have rounded.
    fn on_parts(&self) -> impl Iterator<Item = String> {
        self.whole.parts.iter().filter_map(|part| {
            let words = rounded(part.precision?)?;
            Some(format!("{}: {words}", part.name))
        })
    }

    /// The raw frame of the only part, with what the index of the whole says instead of it.
    fn completed(&self, mut raw: Raw, frame: u64) -> Result<Raw, Error> {
        let (index, path) = (&self.file.index, self.file.source.path());
        if let Raw::H5md(said) = &mut raw
            && let Some((cell, turned)) = index.given_box(frame, path)?
        {
            (said.time, said.step) = index.when(frame);
            said.cell = (!cell[0].is_nan()).then_some(cell);
            said.vectors = turned.filter(|_| said.cell.is_some());
        }
        Ok(raw)
    }

    /// The memory of a worker, ready for these atoms.
    fn own(&self, atoms: &Atoms, scratch: &mut Scratch) -> Result<Box<Own>, Error> {
        let mut own: Box<Own> = scratch.take_own();
        let number = self.file.source.number();
        if own.of != number {
            let lane = |_| Lane { touched: None, scratch: scratch.beside() };
            let lanes = (0..self.whole.parts.len()).map(lane).collect();
            *own = Own { of: number, lanes, ..Own::default() };
        }
        if own.shares.is_empty() || own.wanted.as_deref() != atoms.sorted() {
            own.shares = self.whole.places.shares(atoms)?;
            own.wanted = atoms.sorted().map(<[u32]>::to_vec);
        }
        Ok(own)
    }
}

impl Whole {
    fn new(
        division: &Division,
        n_frames: u64,
        (path, stamp): (&Path, Stamp),
        options: &OpenOptions,
    ) -> Result<Whole, Error> {
        let fault = |what: String| Error::Division { path: path.to_owned(), what };
        let Division { n_atoms, format, heads, parts, filled, remedy, .. } = division;
        let format = Format::named(format)
            .ok_or_else(|| fault(format!("its frames are of the format {format}")))?;
        let places = Places::new(*n_atoms, parts).map_err(fault)?;
        let mut written = HashMap::new();
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
                let told = part.described.len();
                return Err(fault(format!("{told} of the {found} files of {name} are told of")));
            }
            written.extend(part.paths.iter().cloned().zip(part.written.iter().copied()));
            if usize::from(part.tier) >= MOST_TIERS {
                return Err(fault(format!("{} lies on tier {}", part.name, part.tier)));
            }
        }
        let room = || Arc::new(Handles::new(MOST_OPEN_OF_PARTS.max(parts.len())));
        // Parts are what they are: nothing is cut off, and none is divided again.
        let options = OpenOptions {
            handles: Some(options.handles.clone().unwrap_or_else(room)),
            allow_truncated_tail: false,
            continuous: false,
            written: Arc::new(written),
            dcd_cell: None,
            ..options.clone()
        };
        Ok(Whole {
            path: path.to_owned(),
            stamp,
            format,
            n_frames,
            opened: parts.iter().map(|_| Mutex::default()).collect(),
            parts: parts.clone(),
            places,
            filled: *filled,
            remedy: remedy.clone(),
            heads: heads.iter().map(|path| (path.clone(), Mutex::default())).collect(),
            options,
        })
    }

    /// The files of a part, opened when it is touched first.
    fn part(&self, part: usize, scratch: &mut Scratch) -> Result<Arc<Chain>, Error> {
        let mut opened = scratch.meter.lock(&self.opened[part]);
        if let Some(chain) = &*opened {
            return Ok(Arc::clone(chain));
        }
        let (begin, said) = (Instant::now(), &self.parts[part]);
        let described = said.paths.iter().cloned().zip(said.described.iter().cloned());
        let options = OpenOptions { watch: Arc::new(scratch.watch()), ..self.options.clone() };
        let openers: [&dyn Opener; 1] = [&Described(described.collect())];
        let chain = chain::open_with(&said.paths, &options, &openers, &Serial);
        let chain = Arc::new(chain.map_err(|error| self.of_part(part, error))?);
        let (n_frames, n_atoms) = (self.n_frames as usize, self.places.n_atoms_of(part));
        if (chain.n_frames(), chain.n_atoms()) != (n_frames, n_atoms) {
            let (frames, atoms) = (chain.n_frames(), chain.n_atoms());
            let what = format!(
                "{frames} frames of {atoms} atoms where {} has {n_frames} of {n_atoms}",
                said.name
            );
            let other = Error::Altered { path: chain.path().to_owned(), what };
            return Err(self.of_part(part, other));
        }
        let mut meter = chain.opening().meter.clone();
        let taken = begin.elapsed().as_nanos() as u64;
        meter.open_ns = taken.saturating_sub(meter.read_ns);
        self.place(part, meter.bytes_read, &mut meter);
        scratch.meter.add(&meter);
        *opened = Some(Arc::clone(&chain));
        Ok(chain)
    }

    /// Makes sure that an index has digests of all parts, or of none, and the boxes that parts leave out.
    fn check_index(&self, index: &FrameIndex) -> Result<(), Error> {
        let told = self.parts.iter().flat_map(|part| &part.described);
        let what = if index.n_digests().is_none_or(|n| ![0, self.parts.len()].contains(&n)) {
            "its digests are not those of its parts"
        } else if told.into_iter().any(|told| told.lacks_boxes()) && !index.has_boxes() {
            "its boxes are not those of its frames"
        } else {
            return Ok(());
        };
        Err(Error::Division { path: self.path.clone(), what: what.to_owned() })
    }

    /// What any of the parts was allowed to lose.
    fn lost_of(&self, shares: &[Share]) -> Vec<Extra> {
        let lost = |extra: &Extra| shares.iter().any(|s| self.parts[s.part].lost.contains(extra));
        Extra::ALL.into_iter().filter(lost).collect()
    }

    /// Makes sure that all of the parts have vectors of a kind that they were not allowed to lose.
    fn check_lost(&self, shares: &[Share], field: Field) -> Result<(), Error> {
        let Some(extra) = Extra::of(field) else { return Ok(()) };
        let parts = shares.iter().map(|share| &self.parts[share.part]);
        let lossy = parts.filter(|part| part.lost.contains(&extra)).map(|part| part.name.clone());
        let parts: Vec<String> = lossy.collect();
        let path = self.path.parent().unwrap_or(&self.path).to_owned();
        let what = field.name();
        if parts.is_empty() { Ok(()) } else { Err(Error::LetGo { path, parts, what }) }
    }

    /// Counts bytes that were read of a part.
    fn place(&self, part: usize, bytes: u64, meter: &mut Meter) {
        meter.by_tier[usize::from(self.parts[part].tier)] += bytes;
        meter.by_part.resize(self.parts.len(), 0);
        meter.by_part[part] += bytes;
    }

    /// The error of a part, with the reason and what to do, where that is known.
    fn of_part(&self, part: usize, error: Error) -> Error {
        let part = &self.parts[part];
        if !error.is_damage() {
            return self.explained(error, part.mark.as_deref());
        }
        let (part, remedy) = (part.name.clone(), self.remedy.clone());
        Error::InPart { error: Box::new(error), part, remedy }
    }

    /// Of a file that is not there the reason, where that can be known; `mark` is that of its part.
    fn explained(&self, error: Error, mark: Option<&Path>) -> Error {
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
                    "nor is {}, by which its tier is known: is that mounted? Where the whole store \
                     was moved, trajet store repair finds its tiers",
                    mark.display()
                )
            }
            (Ok(now), _) if now != self.stamp => {
                format!("{whole} was divided anew or moved since it was opened: open it again")
            }
            (Err(Error::Io { source, .. }), _) if source.kind() == ErrorKind::NotFound => {
                format!("{whole} was removed since it was opened")
            }
            _ => return error,
        };
        Error::PartGone { path: path.clone(), why }
    }

    /// What a frame says beside its atoms; `chain` is of any part.
    fn head(&self, chain: &Chain, frame: u64, meter: &mut Meter) -> Result<Raw, Error> {
        let place = chain.place(frame);
        let (path, loaded) = &self.heads[place.segment];
        let mut loaded = meter.lock(loaded);
        let heads = match &mut *loaded {
            Some(heads) => Arc::clone(heads),
            none => {
                let heads = FrameMetadata::load_counted(path, meter);
                let heads = Arc::new(heads.map_err(|error| self.explained(error, None))?);
                let expected = chain.segments()[place.segment].reader.index().n_frames();
                if heads.len() != expected {
                    let what = format!("the heads of {} frames for {expected}", heads.len());
                    return Err(Error::Division { path: path.clone(), what });
                }
                Arc::clone(none.insert(heads))
            }
        };
        drop(loaded);
        let head = heads.get(place.frame as usize)?;
        if head.format() != self.format {
            let what = format!("the head of its frame {} is of another format", place.frame);
            return Err(Error::Division { path: path.clone(), what });
        }
        Ok(head)
    }
}

/// What a worker keeps between frames.
#[derive(Default)]
struct Own {
    /// The source of the reader that this is for.
    of: u64,
    /// The atoms that `shares` are for; all where there is no list.
    wanted: Option<Vec<u32>>,
    shares: Vec<Share>,
    /// One a part.
    lanes: Vec<Lane>,
    vectors: Vec<f32>,
    meta: FrameMeta,
}

/// What a worker keeps of a part: a window belongs to one file.
struct Lane {
    touched: Option<Touched>,
    scratch: Scratch,
}

/// A part that was opened.
struct Touched {
    chain: Arc<Chain>,
    /// Whether it is of the format of the whole.
    is_exact: bool,
    /// Whether its boxes are known with the index of the whole.
    lacks_boxes: bool,
}

impl Lane {
    /// The part's files, ready for this call.
    fn ready(
        &mut self,
        whole: &Whole,
        part: usize,
        outer: &mut Scratch,
    ) -> Result<(&Touched, &mut Scratch), Error> {
        let Lane { touched, scratch } = self;
        let touched = match touched {
            Some(touched) => touched,
            none => {
                let chain = whole.part(part, outer)?;
                let is_exact = chain.format() == whole.format.name();
                let lacks_boxes = whole.parts[part].described.iter().any(|told| told.lacks_boxes());
                none.insert(Touched { chain, is_exact, lacks_boxes })
            }
        };
        scratch.follow(outer);
        Ok((touched, scratch))
    }
}

/// What a frame cost over the parts: it counts once, the requests of each part on its tier.
#[derive(Default)]
struct Costs {
    empty: bool,
}

impl Costs {
    fn add(&mut self, whole: &Whole, part: usize, inner: &mut Scratch, meter: &mut Meter) {
        let of_part = std::mem::take(&mut inner.meter);
        self.empty |= of_part.empty_frames > 0;
        let of_part = Meter { frames: 0, empty_frames: 0, ..of_part };
        meter.add(&of_part);
        whole.place(part, of_part.bytes_read, meter);
    }

    fn count(self, meter: &mut Meter) {
        meter.frames += 1;
        meter.empty_frames += u64::from(self.empty);
    }
}

impl reader::Reader for Reader {
    fn format(&self) -> &'static str {
        self.whole.format.name()
    }

    fn file(&self) -> &Indexed {
        &self.file
    }

    fn for_worker(&self, atoms: &Atoms) -> Result<WorkerFile, Error> {
        Ok(WorkerFile::new(NAME, &self.told(atoms)?))
    }

    fn size(&self) -> u64 {
        self.file.index.end()
    }

    fn truncated_tail(&self) -> u64 {
        0
    }

    fn noted(&self) -> &[String] {
        &self.noted
    }

    fn remarks(&self) -> Vec<String> {
        self.on_parts().chain(self.on_files.iter().cloned()).collect()
    }

    fn lasting_remarks(&self, copied_to: Option<&str>) -> Vec<String> {
        let is_like = matches!(self.format(), "NCDF" | "H5MD") && copied_to == Some(self.format());
        let on_files = self.on_files.iter().filter(|_| !is_like).cloned();
        self.on_parts().chain(on_files).collect()
    }

    fn read_frame(
        &self,
        &Wanted { frames, atoms, field }: &Wanted<'_>,
        at: usize,
        scratch: &mut Scratch,
        out: &mut [f32],
    ) -> Result<FrameInfo, Error> {
        let frame = frames.get(at);
        let (time, step) = self.file.index.when(frame);
        let mut own = self.own(atoms, scratch)?;
        let Own { shares, lanes, vectors, meta, .. } = &mut *own;
        self.whole.check_lost(shares, field)?;
        let (mut costs, mut beside) = (Costs::default(), None::<(bool, GivenBox)>);
        for share in &*shares {
            let part = &self.whole.parts[share.part];
            let (touched, inner) = lanes[share.part].ready(&self.whole, share.part, scratch)?;
            inner.expected = self.file.index.digest(frame, share.part);
            let &Touched { ref chain, is_exact, lacks_boxes } = touched;
            let wanted = Wanted { frames, atoms: &share.atoms, field };
            meta.clear();
            let direct = match &share.places[..] {
                [places] => Some(3 * places.start as usize..3 * places.end as usize),
                _ => None,
            };
            let target = match &direct {
                Some(places) => &mut out[places.clone()],
                None => {
                    let len = 3 * share.atoms.len();
                    memory::resize(vectors, len, 0.0, "the atoms of a frame")?;
                    &mut vectors[..]
                }
            };
            let read = chain.read_into(&wanted, at..at + 1, inner, target, meta);
            read.map_err(|error| self.whole.of_part(share.part, error))?;
            if direct.is_none() {
                share.scatter(vectors, out);
            }
            costs.add(&self.whole, share.part, inner, &mut scratch.meter);
            // Formats that keep both in the frame: a file that took this one's place is told.
            let keeps_both = is_exact && self.whole.format.info().self_contained_frames;
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
                return Err(Error::Division { path: chain.path_of(frame).to_owned(), what });
            }
            if beside.is_none_or(|(was_exact, _)| is_exact && !was_exact) {
                // A part in the whole's own format has the bits of its boxes.
                let own = (is_exact && !lacks_boxes).then(|| (meta.cells[0], meta.turned[0]));
                let given = match own {
                    Some(own) => own,
                    None => {
                        let given = self.file.index.given_box(frame, self.file.source.path())?;
                        assert!(given.is_some() || !lacks_boxes, "the index was looked at");
                        given.unwrap_or((meta.cells[0], meta.turned[0]))
                    }
                };
                beside = Some((is_exact, given));
            }
        }
        let (_, (cell, turned)) = beside.expect("at least one part is touched");
        costs.count(&mut scratch.meter);
        scratch.keep_own(own);
        Ok(FrameInfo { time, step, cell, turned })
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
        let Own { shares, lanes, .. } = &mut *own;
        let (mut costs, mut raws, mut head) = (Costs::default(), Vec::new(), None);
        for share in &*shares {
            let (touched, inner) = lanes[share.part].ready(&self.whole, share.part, scratch)?;
            inner.expected = self.file.index.digest(frame, share.part);
            let chain = &touched.chain;
            let raw = chain.raw(frames, at, &share.atoms, inner);
            raws.push(raw.map_err(|error| self.whole.of_part(share.part, error))?);
            costs.add(&self.whole, share.part, inner, &mut scratch.meter);
            if head.is_none() && !self.whole.heads.is_empty() {
                head = Some(self.whole.head(chain, frame, &mut scratch.meter)?);
            }
        }
        let joined = match head {
            None => self.completed(raws.pop().expect("the one part is touched"), frame)?,
            Some(head) => {
                let parts: Vec<_> =
                    shares.iter().map(|share| &share.places[..]).zip(&raws).collect();
                let lost = self.whole.lost_of(shares);
                let (head, filled) = match self.whole.filled {
                    true => (head, &lost[..]),
                    false => (head.without(&lost), &[][..]),
                };
                Raw::join_filled(&head, atoms.n_sorted(), &parts, filled).map_err(|what| {
                    let path = self.file.source.path().to_owned();
                    Error::Division { path, what: format!("frame {frame} of its parts: {what}") }
                })?
            }
        };
        self.file.check_cell(frame, &joined.cell())?;
        costs.count(&mut scratch.meter);
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

impl reader::OmittedFields for Reader {
    fn lost(&self, atoms: &Atoms) -> Vec<(Extra, String)> {
        let touched = self.whole.parts.iter().filter(|part| part.is_touched(atoms));
        let lost =
            |part: &Part| part.lost.iter().map(|&extra| (extra, part.name.clone())).collect();
        touched.flat_map::<Vec<_>, _>(lost).collect()
    }
}

impl reader::FormatData for Reader {
    fn left_out(
        &self,
        frame: u64,
        atoms: &Atoms,
        scratch: &mut Scratch,
    ) -> Result<Vec<String>, Error> {
        let mut own = self.own(atoms, scratch)?;
        let Own { shares, lanes, .. } = &mut *own;
        let share = &shares[0];
        let (touched, inner) = lanes[share.part].ready(&self.whole, share.part, scratch)?;
        let left = if self.whole.heads.is_empty() {
            touched.chain.left_out_of(frame, &share.atoms, inner)?
        } else {
            let head = self.whole.head(&touched.chain, frame, &mut scratch.meter)?;
            head.without(&self.whole.lost_of(shares)).left_out()
        };
        scratch.keep_own(own);
        Ok(left)
    }
}

impl reader::PartialIndex for Reader {
    fn with_index(&self, index: FrameIndex) -> Arc<dyn reader::Reader> {
        let (file, whole) = (self.file.with_index(index), Arc::clone(&self.whole));
        let (noted, on_files) = (self.noted.clone(), self.on_files.clone());
        Arc::new(Reader { file, whole, noted, on_files })
    }
}
