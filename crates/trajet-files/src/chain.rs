//! Several files read as one trajectory. Frames are numbered consecutively; times and steps are those of the files.
//!
//! Reading a chain gives the same results as reading one file with the same frames. A single file is a chain,
//! too. Frames that a later file repeats are kept unless the chain is continuous. In a continuous chain, files are
//! sorted by their first times, and from the first time of a later file on, only the frames of the later file are
//! kept, as by gmx trjcat and by MDAnalysis' ChainReader (differences: several formats, gaps and single frames are
//! accepted, times are compared with the resolution of their type, and frames that the same file repeats are
//! dropped too).
//!
//! Files are opened several at a time, each once; the error is that of the first bad file. Of open files, the least
//! recently read is closed above [`MAX_OPEN`]; opening it again costs two small requests for its stamp.

use std::borrow::Cow;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use trajet_formats::{Code, Field, FrameMeta, Message};

use crate::opener::{Opened, Opener};
use crate::ordered::Ordered;
use crate::reader::{ReadRequest, Reader};
use crate::source::Handles;
use crate::transform::ChainTransform;
use crate::{
    Error, FrameIndex, Frames, IndexState, OpenOptions, Opening, ParallelFor, Scratch, Watch,
};
use overlap::{
    dropped_messages, in_order_of_times, n_kept, overlap_message, restart_messages, unstated,
    whole, without_repeats,
};

pub use clock::Clock;

mod clock;
mod messages;
mod overlap;
mod stored;
mod times;
mod transformed;

/// Largest number of files of a chain that are open at the same time, beside those that are being read.
pub const MAX_OPEN: usize = 64;
/// Number of requested frames of a list, after those being read, that a file's reader gets to read ahead.
const AHEAD: usize = 1024;

/// A trajectory of one or several files.
pub struct Chain {
    segments: Vec<Segment>,
    pub(crate) runs: Vec<Run>,
    n_frames: u64,
    messages: Vec<Message>,
    /// Messages on the times, which readers of copies make again.
    time_messages: Vec<Message>,
    /// Times in place of those in the files.
    pub(crate) clock: Option<Clock>,
    /// Whether the chain has one file, whose frames are those of the chain.
    alone: bool,
    /// Whether frames that a later file repeats are dropped.
    continuous: bool,
    /// The change of positions after decoding.
    transform: Option<Arc<ChainTransform>>,
}

/// A file of a chain.
pub struct Segment {
    /// The reader of the file.
    pub reader: Arc<dyn Reader>,
    /// Number of its frames that the chain drops, because a later file repeats them.
    pub dropped: usize,
    /// Whether a loaded index was compared with the headers of all frames ([`Chain::check_times`]).
    checked: AtomicBool,
}

impl Segment {
    pub(crate) fn new(reader: Arc<dyn Reader>, dropped: usize) -> Self {
        Segment { reader, dropped, checked: AtomicBool::new(false) }
    }
}

/// Consecutive frames of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Run {
    /// The numbers of the frames in the chain.
    pub(crate) frames: Range<u64>,
    /// The number of their file.
    pub(crate) segment: usize,
    /// The number of the first frame in the file.
    pub(crate) first: u64,
}

/// The position of a frame in the files of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The number of the file.
    pub segment: usize,
    /// The frame's number in the file.
    pub frame: u64,
}

/// Opens files as one trajectory, in parallel, with more threads for larger files.
///
/// # Errors
/// As [`crate::open`], for the first file in order that fails; [`Error::ChainAtoms`].
///
/// # Panics
/// If there is no path.
pub fn open(
    paths: &[PathBuf],
    options: &OpenOptions,
    threads: &dyn ParallelFor,
) -> Result<Chain, Error> {
    open_with(paths, options, &[], threads)
}

/// Opens files as one trajectory, each with the first of `openers` that recognises it, or else as [`open`] does.
///
/// # Errors
/// As [`open`], and those of the openers.
///
/// # Panics
/// If there is no path.
pub fn open_with(
    paths: &[PathBuf],
    options: &OpenOptions,
    openers: &[&dyn Opener],
    threads: &dyn ParallelFor,
) -> Result<Chain, Error> {
    // Frames are dropped by their times, which must be those in the files, not in an outdated index.
    let rebuild_index = options.rebuild_index || options.continuous;
    let mut options = OpenOptions { rebuild_index, ..options.clone() };
    if let [path] = paths {
        let reader = crate::open_with(path, &options, openers, threads)?;
        return Chain::join(vec![reader], &options);
    }
    options.handles.get_or_insert_with(|| Arc::new(Handles::new(MAX_OPEN)));
    let sizes: Vec<u64> = paths.iter().map(|path| options.size_of(path)).collect();
    let all = sizes.iter().sum::<u64>().max(1);
    let opened: Vec<Mutex<Option<Opened>>> = paths.iter().map(|_| Mutex::default()).collect();
    // Files after one that failed are skipped, files before it are still opened, so that the error is the same for
    // any number of threads.
    let bad = AtomicUsize::new(usize::MAX);
    threads.each(paths.len(), &|k| {
        if k > bad.load(Ordering::Relaxed) || options.watch.stop.load(Ordering::Relaxed) {
            return;
        }
        let share = threads.width() as f64 * (sizes[k] as f64 / all as f64);
        let share = Share { threads, width: (share.ceil() as usize).max(1) };
        let reader = crate::open_with(&paths[k], &options, openers, &share);
        if reader.is_err() {
            bad.fetch_min(k, Ordering::Relaxed);
        }
        *opened[k].lock().unwrap_or_else(PoisonError::into_inner) = Some(reader);
    });
    let mut readers = Vec::with_capacity(paths.len());
    for one in opened {
        let one = one.into_inner().unwrap_or_else(PoisonError::into_inner);
        readers.push(one.unwrap_or(Err(Error::Interrupted))?);
    }
    Chain::join(readers, &options)
}

/// Checks that files that number their atoms have the same numbers.
fn check_numbers(readers: &[Arc<dyn Reader>]) -> Result<(), Error> {
    let mut numbered = readers.iter().filter_map(|reader| Some((reader, reader.atom_numbers()?)));
    let Some((first, expected)) = numbered.next() else { return Ok(()) };
    match numbered.find(|(_, numbers)| *numbers != expected) {
        None => Ok(()),
        Some((other, _)) => {
            let [path, first] = [other, first].map(|reader| reader.source().path().to_owned());
            Err(Error::ChainNumbers { path, first })
        }
    }
}

/// A share of the threads.
struct Share<'a> {
    threads: &'a dyn ParallelFor,
    width: usize,
}

impl ParallelFor for Share<'_> {
    fn width(&self) -> usize {
        self.width
    }
    fn each(&self, n: usize, work: &(dyn Fn(usize) + Sync)) {
        self.threads.each(n, work);
    }
}

impl From<Arc<dyn Reader>> for Chain {
    /// Returns the chain of one file.
    fn from(reader: Arc<dyn Reader>) -> Self {
        let kept = whole(std::slice::from_ref(&reader));
        Chain::of_kept(vec![reader], kept)
    }
}

impl Chain {
    /// Returns a chain of which only some files may be present; `alone`: whether the complete chain has one file.
    pub(crate) fn of_runs(
        segments: Vec<Segment>,
        runs: Vec<Run>,
        n_frames: u64,
        alone: bool,
    ) -> Chain {
        Chain {
            segments,
            runs,
            n_frames,
            messages: Vec::new(),
            time_messages: Vec::new(),
            clock: None,
            alone,
            continuous: false,
            transform: None,
        }
    }

    /// Returns the chain of the frames of each file that are kept.
    fn of_kept(readers: Vec<Arc<dyn Reader>>, kept: Vec<Vec<Range<usize>>>) -> Chain {
        let (mut segments, mut runs, mut n_frames) = (Vec::new(), Vec::new(), 0);
        for (segment, (reader, kept)) in readers.into_iter().zip(kept).enumerate() {
            let dropped = reader.index().n_frames() - n_kept(&kept);
            for run in kept {
                let frames = n_frames..n_frames + run.len() as u64;
                n_frames = frames.end;
                runs.push(Run { frames, segment, first: run.start as u64 });
            }
            segments.push(Segment::new(reader, dropped));
        }
        let alone = matches!(&segments[..], [only] if only.dropped == 0);
        Chain::of_runs(segments, runs, n_frames, alone)
    }

    /// Joins open files to one trajectory, as the options on chains ask for.
    ///
    /// # Errors
    /// [`Error::ChainAtoms`], [`Error::ChainNumbers`]; [`Error::NoTimes`] for a continuous chain of files that state no times.
    ///
    /// # Panics
    /// If there are no files.
    pub fn join(mut readers: Vec<Arc<dyn Reader>>, options: &OpenOptions) -> Result<Chain, Error> {
        let first = &readers[0];
        let expected = first.index().n_atoms();
        for reader in &readers[1..] {
            let found = reader.index().n_atoms();
            if found != expected {
                let (path, first) = (reader.source().path(), first.source().path());
                let (path, first) = (path.to_owned(), first.to_owned());
                return Err(Error::ChainAtoms { path, found, first, expected });
            }
        }
        check_numbers(&readers)?;
        let states_times = readers.iter().all(|reader| unstated(reader).is_none());
        let mut messages = Vec::new();
        let mut time_messages = Vec::new();
        let mut kept = whole(&readers);
        if options.continuous && states_times {
            messages.extend(in_order_of_times(&mut readers));
            kept = without_repeats(&readers).map_err(|path| Error::CoarseTimes { path })?;
            messages.extend(dropped_messages(&readers, &kept));
        } else if options.continuous {
            let reader = readers.iter().find(|reader| unstated(reader).is_some());
            let path = reader.unwrap_or(&readers[0]).source().path().to_owned();
            if options.time_step.is_none() {
                return Err(Error::NoTimes { path });
            }
            messages.push(Code::UncheckedOverlap.message(format!(
                "continuous: repeated frames were not looked for, as {} does not state all times",
                path.display()
            )));
        } else if options.time_step.is_none() {
            messages.extend(overlap_message(&readers));
            time_messages.extend(restart_messages(&readers));
        }
        let chain = Chain::of_kept(readers, kept);
        let chain = Chain { messages, time_messages, continuous: options.continuous, ..chain };
        Ok(match options.time_step {
            Some(step) => chain.with_time_step(step),
            None => chain,
        })
    }

    /// Returns the chain with the atoms of some files in another order: atom `k` is at `orders[segment][k]` of the file.
    ///
    /// # Panics
    /// If an order is not that of all atoms.
    #[must_use]
    pub fn ordered(&self, orders: Vec<Option<Vec<u32>>>) -> Chain {
        let pairs = self.segments.iter().zip(orders.into_iter().chain(std::iter::repeat(None)));
        let segments = pairs.map(|(segment, order)| {
            let reader = Arc::clone(&segment.reader);
            let reader = match order {
                None => reader,
                Some(places) => Arc::new(Ordered::new(reader, places.into())),
            };
            Segment::new(reader, segment.dropped)
        });
        Chain { segments: segments.collect(), ..self.copied() }
    }

    /// Returns whether the chain has one file, whose frames are those of the chain.
    pub fn is_alone(&self) -> bool {
        self.alone
    }

    /// Returns the files, in the order of their frames.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Returns the path of the first file.
    pub fn path(&self) -> &Path {
        self.segments[0].reader.source().path()
    }

    /// Returns the format, or those of the files, separated by commas.
    pub fn format(&self) -> String {
        let mut names: Vec<&str> = Vec::new();
        for segment in &self.segments {
            let name = segment.reader.format();
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names.join(", ")
    }

    /// Returns the number of atoms in each frame.
    pub fn n_atoms(&self) -> usize {
        self.segments[0].reader.index().n_atoms()
    }

    /// Returns the number of frames, without dropped ones.
    pub fn n_frames(&self) -> usize {
        self.n_frames as usize
    }

    /// Returns the integration step of each frame.
    pub fn steps(&self) -> Cow<'_, [i64]> {
        self.gather(FrameIndex::steps)
    }

    /// Returns the time (ps) and the integration step of a frame.
    ///
    /// # Panics
    /// If there is no such frame.
    pub fn when(&self, frame: u64) -> (f64, i64) {
        let Place { segment, frame: within } = self.place(frame);
        let (time, step) = self.segments[segment].reader.index().when(within);
        (self.clock.map_or(time, |clock| clock.time(frame)), step)
    }

    /// Returns the byte at which each frame begins in its file.
    pub fn offsets(&self) -> Cow<'_, [u64]> {
        self.gather(FrameIndex::offsets)
    }

    fn gather<T: Clone>(&self, of: impl Fn(&FrameIndex) -> &[T]) -> Cow<'_, [T]> {
        if let ([only], true) = (&self.segments[..], self.alone) {
            return Cow::Borrowed(of(only.reader.index()));
        }
        let mut all = Vec::with_capacity(self.n_frames());
        for run in &self.runs {
            let first = run.first as usize;
            let len = (run.frames.end - run.frames.start) as usize;
            let index = self.segments[run.segment].reader.index();
            all.extend_from_slice(&of(index)[first..first + len]);
        }
        Cow::Owned(all)
    }

    /// Returns the size of all files in bytes.
    pub fn size(&self) -> u64 {
        self.segments.iter().map(|segment| segment.reader.size()).sum()
    }

    /// Returns the number of bytes of incomplete frames at the ends of files, which are ignored
    /// ([`OpenOptions::allow_truncated_tail`]).
    pub fn truncated_tail(&self) -> u64 {
        self.segments.iter().map(|segment| segment.reader.truncated_tail()).sum()
    }

    /// Returns the cost of opening all files; the sidecar is that of the first one.
    pub fn opening(&self) -> Opening {
        let mut all = self.segments[0].reader.opening().clone();
        for segment in &self.segments[1..] {
            let one = segment.reader.opening();
            all.state = all.state.max(one.state);
            all.meter.add(&one.meter);
            all.open_ns += one.open_ns;
            all.index_ns += one.index_ns;
        }
        all
    }

    /// Compares the times and offsets of all frames in a loaded index with the headers of the frames, once. An
    /// index that was built or computed at opening needs no comparison, nor does one that was built of the same object,
    /// by its ETag.
    ///
    /// # Errors
    /// [`Error::Stale`] if a frame differs; as [`crate::open`] if the frames cannot be found.
    pub fn check_times(&self, threads: &dyn ParallelFor, watch: &Arc<Watch>) -> Result<(), Error> {
        for segment in &self.segments {
            let reader = &segment.reader;
            let is_proved = match reader.opening().state {
                IndexState::Computed | IndexState::Built => true,
                IndexState::Loaded | IndexState::Extended => reader.source().remote().is_some(),
                IndexState::Published => false,
            };
            if is_proved || segment.checked.load(Ordering::Relaxed) {
                continue;
            }
            if let Some(indexing) = reader.as_reindex() {
                let found = indexing.indexed_again(threads, watch)?;
                reader.index().same_as(&found, reader.source().path())?;
            }
            segment.checked.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Returns the file of a frame and its number there.
    ///
    /// # Panics
    /// If there is no such frame.
    pub fn place(&self, frame: u64) -> Place {
        let run = self.run_of(frame);
        Place { segment: run.segment, frame: run.within(frame) }
    }

    /// Returns the path of the file that holds a frame.
    ///
    /// # Panics
    /// If there is no such frame.
    pub fn path_of(&self, frame: u64) -> &Path {
        self.segments[self.place(frame).segment].reader.source().path()
    }

    fn run_of(&self, frame: u64) -> &Run {
        &self.runs[self.runs.partition_point(|run| run.frames.end <= frame)]
    }

    /// Checks that every requested frame exists.
    ///
    /// # Errors
    /// [`Error::FrameOutOfRange`] with the largest requested frame.
    pub fn check(&self, frames: &Frames) -> Result<(), Error> {
        match frames.largest() {
            Some(frame) if frame >= self.n_frames => Err(Error::FrameOutOfRange {
                path: self.path().to_owned(),
                frame: frame as i64,
                n_frames: self.n_frames,
            }),
            _ => Ok(()),
        }
    }

    /// Reads frames as `dyn Reader::read_into` does, and transforms positions if the chain has a transform.
    ///
    /// # Errors
    /// As `dyn Reader::read_into`, wrapped in [`Error::InChain`] if there are several files; [`Error::Transform`].
    ///
    /// # Panics
    /// As `dyn Reader::read_into`.
    pub fn read_into(
        &self,
        request: &ReadRequest<'_>,
        positions: Range<usize>,
        scratch: &mut Scratch,
        out: &mut [f32],
        meta: &mut FrameMeta,
    ) -> Result<(), Error> {
        let Some(transform) = &self.transform else {
            return self.read_untransformed(request, positions, scratch, out, meta);
        };
        if request.field != Field::Positions {
            if self.rotates() {
                let why = format!(
                    "{} of fitted frames are not rotated along: read them without a fit",
                    request.field.name()
                );
                return Err(self.refused(request.frames.get(positions.start), why));
            }
            return self.read_untransformed(request, positions, scratch, out, meta);
        }
        let prepared = transform.prepared(request.atoms)?;
        let mut decoded = std::mem::take(&mut scratch.decoded);
        let read =
            self.read_transformed(&*prepared, request, positions, scratch, &mut decoded, out, meta);
        scratch.decoded = decoded;
        read
    }

    pub(crate) fn read_untransformed(
        &self,
        request: &ReadRequest<'_>,
        positions: Range<usize>,
        scratch: &mut Scratch,
        out: &mut [f32],
        meta: &mut FrameMeta,
    ) -> Result<(), Error> {
        let before = meta.frames.len();
        let read = self.read_files(request, positions, scratch, out, meta);
        if let Some(clock) = self.clock {
            let numbers = meta.frames[before..].iter();
            for (time, &frame) in meta.times[before..].iter_mut().zip(numbers) {
                *time = clock.time(frame);
            }
        }
        read
    }

    /// Reads frames at the times in their files.
    fn read_files(
        &self,
        request: &ReadRequest<'_>,
        positions: Range<usize>,
        scratch: &mut Scratch,
        out: &mut [f32],
        meta: &mut FrameMeta,
    ) -> Result<(), Error> {
        if self.alone {
            return self.segments[0].reader.read_into(request, positions, scratch, out, meta);
        }
        let ReadRequest { frames, atoms, field } = *request;
        let frame_len = atoms.len() * 3;
        assert_eq!(out.len(), positions.len() * frame_len, "size of the output");
        self.check(frames)?;
        let mut rest = out;
        let mut at = positions.start;
        while at < positions.end {
            let run = self.run_of(frames.get(at));
            let within = run.frames_within(frames, at, positions.end);
            let here = at..positions.end.min(at + within.len());
            let (out, others) = rest.split_at_mut(here.len() * frame_len);
            let before = meta.frames.len();
            let request = ReadRequest { frames: &within, atoms, field };
            let reader = &self.segments[run.segment].reader;
            let read = reader.read_into(&request, 0..here.len(), scratch, out, meta);
            for (number, position) in meta.frames[before..].iter_mut().zip(here.clone()) {
                *number = frames.get(position);
            }
            if let Err(error) = read {
                let failed = here.start + (meta.frames.len() - before);
                return Err(self.in_chain(error, frames.get(failed.min(here.end - 1))));
            }
            rest = others;
            at = here.end;
        }
        Ok(())
    }

    /// Adds the frame's number in the chain to the error of a file, if there are several files.
    fn in_chain(&self, error: Error, chained: u64) -> Error {
        if self.alone || matches!(error, Error::Interrupted) {
            return error;
        }
        Error::InChain { error: Box::new(error), frame: self.place(chained).frame, chained }
    }
}

impl Run {
    /// Returns the number in its file of a frame of the chain.
    fn within(&self, frame: u64) -> u64 {
        frame - self.frames.start + self.first
    }

    /// Returns the requested frames from position `at` on, as far as they lie in this run, by their numbers in the
    /// file. Of a list, at most [`AHEAD`] frames after position `end` are included, for reading ahead.
    fn frames_within(&self, frames: &Frames, at: usize, end: usize) -> Frames {
        match frames {
            Frames::Strided { step, count, .. } => {
                let frame = frames.get(at);
                let n_left = match *step {
                    0 => u64::MAX,
                    up @ 1.. => (self.frames.end - 1 - frame) / up.unsigned_abs() + 1,
                    down => (frame - self.frames.start) / down.unsigned_abs() + 1,
                };
                let count = n_left.min((count - at) as u64) as usize;
                Frames::Strided { first: self.within(frame), step: *step, count }
            }
            Frames::Listed(list) => {
                let here = |&&frame: &&u64| self.frames.contains(&frame);
                let needed = list[at..end].iter().take_while(here).count();
                let mut len = needed;
                if at + needed == end {
                    // Readers do not read ahead past a step back.
                    let ahead = list[end - 1..].windows(2).take_while(|pair| pair[0] < pair[1]);
                    let ahead = ahead.map(|pair| &pair[1]).take_while(here);
                    len += ahead.take(AHEAD).count();
                }
                list[at..at + len]
                    .iter()
                    .map(|&frame| self.within(frame))
                    .collect::<Vec<_>>()
                    .into()
            }
        }
    }
}

impl IndexState {
    /// Returns the state that took more work.
    fn max(self, other: IndexState) -> IndexState {
        let work = |state| match state {
            IndexState::Computed => 0,
            IndexState::Loaded => 1,
            IndexState::Published => 2,
            IndexState::Extended => 3,
            IndexState::Built => 4,
        };
        if work(self) >= work(other) { self } else { other }
    }
}

impl std::fmt::Debug for Chain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let paths = self.segments.iter().map(|segment| segment.reader.source().path());
        f.debug_list().entries(paths).finish()
    }
}

#[cfg(test)]
pub(crate) mod tests;
