//! Files that are one trajectory. Frames are numbered through; times and steps are those of the files.
//!
//! A chain is read as the file would be that holds the same frames one after the other. A file alone
//! is a chain too. Frames that files repeat where one goes on after another are kept unless the chain
//! is to be continuous: then files are put in the order of their first times, and of frames from the
//! first time of a later file on those of the later file are kept, as by gmx trjcat and MDAnalysis'
//! ChainReader (departure: several formats, gaps and single frames are taken, and times are compared
//! as closely as single precision tells them apart).

use std::borrow::Cow;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::losses::{Losses, Lost};
use crate::opener::{Opened, Opener};
use crate::reader::{Reader, Wanted};
use crate::remarks::kept;
use crate::source::Handles;
use crate::{
    Atoms, Error, Extra, Format, FrameIndex, FrameMeta, Frames, IndexState, OpenOptions, Opening,
    ParallelFor, Raw, Scratch, Watch,
};
use overlap::{dropped_remarks, in_order_of_times, n_kept, seam_remark, without_repeats};

mod overlap;

/// Most files of a chain that are open at the same time, beside those that are read just then.
pub const MOST_OPEN: usize = 64;
/// Wanted frames of a list, behind those that are read now, that a file's reader is shown.
const AHEAD: usize = 1024;

/// A trajectory of one or several files.
pub struct Chain {
    segments: Vec<Segment>,
    pub(crate) runs: Vec<Run>,
    n_frames: u64,
    remarks: Vec<String>,
    /// Whether there is one file, so that its frames are those of the chain.
    alone: bool,
    /// Whether frames that a later file repeats are left out.
    continuous: bool,
}

/// A file of a chain.
pub struct Segment {
    /// Reads it.
    pub reader: Arc<dyn Reader>,
    /// Frames of it that the chain leaves out, because a later file repeats them.
    pub dropped: usize,
    /// Whether a kept index was compared with the headers of all frames ([`Chain::check_times`]).
    checked: AtomicBool,
}

impl Segment {
    pub(crate) fn new(reader: Arc<dyn Reader>, dropped: usize) -> Self {
        Segment { reader, dropped, checked: AtomicBool::new(false) }
    }
}

/// The remark on an unfinished frame that is left out.
fn cut(reader: &Arc<dyn Reader>) -> Option<String> {
    let n = reader.truncated_tail();
    (n > 0).then(|| format!("{n} bytes of an unfinished frame at the end are left out"))
}

/// Neighbouring frames of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Run {
    /// Their numbers in the chain.
    pub(crate) frames: Range<u64>,
    /// Their file.
    pub(crate) segment: usize,
    /// The number in the file of the first of them.
    pub(crate) first: u64,
}

/// Where a frame of a chain is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Which file.
    pub segment: usize,
    /// The frame's number in it.
    pub frame: u64,
}

/// Opens files that are one trajectory, several at a time, with more threads for larger ones.
///
/// # Errors
/// As [`crate::open`], of the first file in order that has one; [`Error::ChainAtoms`].
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

/// Opens files that are one trajectory, each by the first of `openers` that knows it, or as [`open`].
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
    if let [path] = paths {
        return Ok(Chain::from(crate::open_with(path, options, openers, threads)?));
    }
    let handles = options.handles.clone().unwrap_or_else(|| Arc::new(Handles::new(MOST_OPEN)));
    // Which frames there are is decided by times that were read from the files just now.
    let rebuild_index = options.rebuild_index || options.continuous;
    let options = OpenOptions { handles: Some(handles), rebuild_index, ..options.clone() };
    let sizes: Vec<u64> =
        paths.iter().map(|path| std::fs::metadata(path).map_or(0, |m| m.len())).collect();
    let all = sizes.iter().sum::<u64>().max(1);
    let opened: Vec<Mutex<Option<Opened>>> = paths.iter().map(|_| Mutex::default()).collect();
    // What stands behind a file that cannot be opened is not looked at; what stands before it is, so
    // that the error is the same for any number of threads.
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
    Chain::join(readers, options.continuous)
}

/// A part of the threads.
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
    /// The chain of one file.
    fn from(reader: Arc<dyn Reader>) -> Self {
        let n_frames = reader.index().n_frames() as u64;
        let runs = vec![Run { frames: 0..n_frames, segment: 0, first: 0 }];
        let segments = vec![Segment::new(reader, 0)];
        Chain { segments, runs, n_frames, remarks: Vec::new(), alone: true, continuous: false }
    }
}

impl Chain {
    /// Makes a chain of files of which only some may be there; `alone` says whether the whole has one file.
    pub(crate) fn of_runs(
        segments: Vec<Segment>,
        runs: Vec<Run>,
        n_frames: u64,
        alone: bool,
    ) -> Chain {
        Chain { segments, runs, n_frames, remarks: Vec::new(), alone, continuous: false }
    }

    /// Files as one trajectory.
    ///
    /// # Errors
    /// [`Error::ChainAtoms`].
    ///
    /// # Panics
    /// If there is none.
    pub fn join(mut readers: Vec<Arc<dyn Reader>>, continuous: bool) -> Result<Chain, Error> {
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
        let mut remarks = Vec::new();
        let all = |reader: &Arc<dyn Reader>| 0..reader.index().n_frames();
        let mut kept: Vec<Vec<Range<usize>>> =
            readers.iter().map(|reader| std::iter::once(all(reader)).collect()).collect();
        if continuous {
            remarks.extend(in_order_of_times(&mut readers));
            kept = without_repeats(&readers);
            remarks.extend(dropped_remarks(&readers, &kept));
        } else {
            remarks.extend(seam_remark(&readers));
        }
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
        let alone = segments.len() == 1;
        Ok(Chain { segments, runs, n_frames, remarks, alone, continuous })
    }

    /// Whether there is one file, so that its frames are those of the chain.
    pub fn is_alone(&self) -> bool {
        self.alone
    }

    /// The files, in the order of their frames.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// The first file.
    pub fn path(&self) -> &Path {
        self.segments[0].reader.source().path()
    }

    /// The format, or those of the files.
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

    /// Atoms of every frame.
    pub fn n_atoms(&self) -> usize {
        self.segments[0].reader.index().n_atoms()
    }

    /// Frames of all files, without those that are left out.
    pub fn n_frames(&self) -> usize {
        self.n_frames as usize
    }

    /// Time of each frame, ps.
    pub fn times(&self) -> Cow<'_, [f64]> {
        self.gather(FrameIndex::times)
    }

    /// Integration step of each frame.
    pub fn steps(&self) -> Cow<'_, [i64]> {
        self.gather(FrameIndex::steps)
    }

    /// Time (ps) and integration step of a frame.
    ///
    /// # Panics
    /// If there is no such frame.
    pub fn when(&self, frame: u64) -> (f64, i64) {
        let Place { segment, frame: within } = self.place(frame);
        self.segments[segment].reader.index().when(within)
    }

    /// Where each frame begins in its file.
    pub fn offsets(&self) -> Cow<'_, [u64]> {
        self.gather(FrameIndex::offsets)
    }

    fn gather<T: Clone>(&self, of: impl Fn(&FrameIndex) -> &[T]) -> Cow<'_, [T]> {
        if let [only] = &self.segments[..] {
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

    /// Bytes of all files.
    pub fn size(&self) -> u64 {
        self.segments.iter().map(|segment| segment.reader.size()).sum()
    }

    /// Bytes of unfinished frames that were left out because that was allowed.
    pub fn truncated_tail(&self) -> u64 {
        self.segments.iter().map(|segment| segment.reader.truncated_tail()).sum()
    }

    /// What opening cost, over all files; the sidecar is that of the first one.
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

    /// What a user should know of how the files follow one another.
    pub fn chain_remarks(&self) -> &[String] {
        &self.remarks
    }

    /// What parts that hold some of the atoms were allowed to lose, by their names, where this is divided.
    pub fn lost(&self, atoms: &Atoms) -> Vec<(Extra, String)> {
        let omitting = self.segments.iter().filter_map(|s| s.reader.as_omitted_fields());
        omitting.flat_map(|reader| reader.lost(atoms)).collect()
    }

    /// What a user should know: of the chain, then of each file.
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = self.remarks.clone();
        for segment in &self.segments {
            let reader = &segment.reader;
            if self.segments.len() == 1 {
                remarks.extend(reader.all_remarks());
                continue;
            }
            let path = reader.source().path().display();
            remarks.extend(cut(reader).map(|remark| format!("{path}: {remark}")));
            remarks.extend(reader.all_remarks().iter().map(|remark| format!("{path}: {remark}")));
        }
        remarks
    }

    /// Returns the remarks that a copy of the frames keeps, each once ([`crate::remarks`]): the remarks on the
    /// chain and its files, and those that the files keep of their sources. Remarks that readers of a copy in the
    /// format `copied_to` make again by themselves are left out.
    pub fn doubts(&self, copied_to: Option<&str>) -> Vec<String> {
        // A continuous chain that drops nothing says so, and leaves no doubt.
        let smooth = self.continuous && self.segments.iter().all(|segment| segment.dropped == 0);
        let mut remarks = if smooth { Vec::new() } else { self.remarks.clone() };
        let made_again = self.remarks_made_again(copied_to);
        for segment in &self.segments {
            let reader = &segment.reader;
            let own = reader.remarks().into_iter().filter(|remark| !made_again.contains(remark));
            let own = cut(reader).into_iter().chain(own);
            if self.segments.len() == 1 {
                remarks.extend(own);
            } else {
                let path = reader.source().path().display();
                remarks.extend(own.map(|remark| format!("{path}: {remark}")));
            }
            remarks.extend_from_slice(reader.noted());
        }
        kept(remarks)
    }

    /// Returns the remarks on files that readers of a copy in the format `copied_to` make again by themselves: a
    /// copy is made as the first file is.
    pub fn remarks_made_again(&self, copied_to: Option<&str>) -> Vec<String> {
        let Some(first) = self.segments.first() else { return Vec::new() };
        let lasting = first.reader.lasting_remarks(copied_to);
        let all = first.reader.remarks().into_iter();
        all.filter(|remark| !lasting.contains(remark)).collect()
    }

    /// Compares the times and places of all frames of a kept index with the headers of the frames, once; an
    /// index that was built or computed at opening needs no comparison.
    ///
    /// # Errors
    /// [`Error::Stale`] where a file has another frame; as [`crate::open`] where it has none.
    pub fn check_times(&self, threads: &dyn ParallelFor, watch: &Arc<Watch>) -> Result<(), Error> {
        for segment in &self.segments {
            let reader = &segment.reader;
            let kept = matches!(reader.opening().state, IndexState::Loaded | IndexState::Extended);
            if !kept || segment.checked.load(Ordering::Relaxed) {
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

    /// Where a frame is kept.
    ///
    /// # Panics
    /// If there is no such frame.
    pub fn place(&self, frame: u64) -> Place {
        let run = self.run_of(frame);
        Place { segment: run.segment, frame: run.within(frame) }
    }

    /// The file that holds a frame.
    ///
    /// # Panics
    /// If there is no such frame.
    pub fn path_of(&self, frame: u64) -> &Path {
        self.segments[self.place(frame).segment].reader.source().path()
    }

    fn run_of(&self, frame: u64) -> &Run {
        &self.runs[self.runs.partition_point(|run| run.frames.end <= frame)]
    }

    /// Checks that every wanted frame exists.
    ///
    /// # Errors
    /// [`Error::FrameOutOfRange`] with the largest frame asked for.
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

    /// Reads frames as `dyn Reader::read_into` does.
    ///
    /// # Errors
    /// As that; where there are several files, as [`Error::InChain`].
    ///
    /// # Panics
    /// As that.
    pub fn read_into(
        &self,
        wanted: &Wanted<'_>,
        positions: Range<usize>,
        scratch: &mut Scratch,
        out: &mut [f32],
        meta: &mut FrameMeta,
    ) -> Result<(), Error> {
        if self.alone {
            return self.segments[0].reader.read_into(wanted, positions, scratch, out, meta);
        }
        let Wanted { frames, atoms, field } = *wanted;
        let frame_len = atoms.len() * 3;
        assert_eq!(out.len(), positions.len() * frame_len, "size of the output");
        self.check(frames)?;
        let mut rest = out;
        let mut at = positions.start;
        while at < positions.end {
            let run = self.run_of(frames.get(at));
            let stretch = run.stretch(frames, at, positions.end);
            let here = at..positions.end.min(at + stretch.len());
            let (out, others) = rest.split_at_mut(here.len() * frame_len);
            let before = meta.frames.len();
            let wanted = Wanted { frames: &stretch, atoms, field };
            let reader = &self.segments[run.segment].reader;
            let read = reader.read_into(&wanted, 0..here.len(), scratch, out, meta);
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

    /// Returns what a frame holds beside these atoms that only its own format has a place for.
    ///
    /// # Errors
    /// As [`Chain::read_into`].
    pub(crate) fn left_out_of(
        &self,
        frame: u64,
        atoms: &Atoms,
        scratch: &mut Scratch,
    ) -> Result<Vec<String>, Error> {
        let Place { segment, frame: within } = self.place(frame);
        let Some(reader) = self.segments[segment].reader.as_format_data() else {
            return Ok(Vec::new());
        };
        let left = reader.left_out(within, atoms, scratch);
        left.map_err(|error| self.in_chain(error, frame))
    }

    /// Counts what frames hold beside these atoms that only their own formats have a place for. The losses
    /// number the frames by their positions among `frames`, from `begin` on.
    ///
    /// # Errors
    /// As [`Chain::read_into`].
    pub fn left_out(
        &self,
        frames: &Frames,
        begin: usize,
        atoms: &Atoms,
        scratch: &mut Scratch,
    ) -> Result<Losses, Error> {
        self.check(frames)?;
        let mut losses = Losses::default();
        for at in 0..frames.len() {
            scratch.check_stop()?;
            let left = self.left_out_of(frames.get(at), atoms, scratch)?;
            let left: Vec<Lost> = left.into_iter().map(Lost::from).collect();
            losses.add((begin + at) as u64, &left);
        }
        Ok(losses)
    }

    /// Reads one frame as its format stores it.
    ///
    /// # Errors
    /// As [`Chain::read_into`].
    pub fn read_raw(&self, frame: u64, scratch: &mut Scratch) -> Result<Raw, Error> {
        self.read_raw_of(frame, &Atoms::all(self.n_atoms()), scratch)
    }

    /// Box vectors (Å, row by row) of a frame, where they are known from opening its file.
    pub fn known_box(&self, frame: u64) -> Option<[f64; 9]> {
        let Place { segment, frame: within } = self.place(frame);
        self.segments[segment].reader.as_known_cells()?.known_box(within)
    }

    /// Appends the bytes of neighbouring frames as they stand in one file of a format; false, and
    /// nothing is appended, where they stand in several, in another format, or not for themselves.
    ///
    /// # Errors
    /// As [`Chain::read_into`].
    ///
    /// # Panics
    /// If there is no frame, or no such one.
    pub fn copy_frames(
        &self,
        frames: Range<u64>,
        format: Format,
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Result<bool, Error> {
        let run = self.run_of(frames.start);
        let reader = &self.segments[run.segment].reader;
        if frames.end > run.frames.end || reader.format() != format.name() {
            return Ok(false);
        }
        let within = run.within(frames.start)..run.within(frames.end - 1) + 1;
        let Some(copying) = reader.as_copy_frames() else { return Ok(false) };
        let copied = copying.copy_frames(within, scratch, out);
        copied.map_err(|error| self.in_chain(error, frames.start))?;
        Ok(true)
    }

    /// Reads some atoms of one frame as its format stores them.
    ///
    /// # Errors
    /// As [`Chain::read_into`].
    pub fn read_raw_of(
        &self,
        frame: u64,
        atoms: &Atoms,
        scratch: &mut Scratch,
    ) -> Result<Raw, Error> {
        self.check(&Frames::Strided { first: frame, step: 1, count: 1 })?;
        let Place { segment, frame: within } = self.place(frame);
        let read = self.segments[segment].reader.read_raw_of(within, atoms, scratch);
        read.map_err(|error| self.in_chain(error, frame))
    }

    /// Reads some atoms of the frame at position `at` as its format stores them; all frames are there. The
    /// rest of them tells what will be asked for next.
    ///
    /// # Errors
    /// As [`Chain::read_into`].
    pub(crate) fn raw(
        &self,
        frames: &Frames,
        at: usize,
        atoms: &Atoms,
        scratch: &mut Scratch,
    ) -> Result<Raw, Error> {
        if self.alone {
            return self.segments[0].reader.raw(frames, at, atoms, scratch);
        }
        let run = self.run_of(frames.get(at));
        let stretch = run.stretch(frames, at, at + 1);
        let read = self.segments[run.segment].reader.raw(&stretch, 0, atoms, scratch);
        read.map_err(|error| self.in_chain(error, frames.get(at)))
    }

    /// Reads some atoms of frames, one after the other, as their format stores them, and hands each to
    /// `take`.
    ///
    /// # Errors
    /// As [`Chain::read_into`], and those of `take`.
    pub fn read_raws(
        &self,
        frames: &Frames,
        atoms: &Atoms,
        scratch: &mut Scratch,
        mut take: impl FnMut(usize, &Raw) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.check(frames)?;
        let mut at = 0;
        while at < frames.len() {
            let run = self.run_of(frames.get(at));
            let stretch = run.stretch(frames, at, frames.len());
            let reader = &self.segments[run.segment].reader;
            for k in 0..stretch.len() {
                scratch.check_stop()?;
                let raw = reader.raw(&stretch, k, atoms, scratch);
                let raw = raw.map_err(|error| self.in_chain(error, frames.get(at + k)))?;
                take(at + k, &raw)?;
            }
            at += stretch.len();
        }
        Ok(())
    }

    /// The error of a file, in terms of the chain where there are several.
    fn in_chain(&self, error: Error, chained: u64) -> Error {
        if self.alone || matches!(error, Error::Interrupted) {
            return error;
        }
        Error::InChain { error: Box::new(error), frame: self.place(chained).frame, chained }
    }
}

impl Run {
    /// The number in its file of a frame of the chain.
    fn within(&self, frame: u64) -> u64 {
        frame - self.frames.start + self.first
    }

    /// The wanted frames from position `at` on, as far as they lie in this run, by their numbers in
    /// the file. Of a list that goes on behind `end` only as much as helps to read ahead.
    fn stretch(&self, frames: &Frames, at: usize, end: usize) -> Frames {
        match frames {
            Frames::Strided { step, count, .. } => {
                let frame = frames.get(at);
                let room = match *step {
                    0 => u64::MAX,
                    up @ 1.. => (self.frames.end - 1 - frame) / up.unsigned_abs() + 1,
                    down => (frame - self.frames.start) / down.unsigned_abs() + 1,
                };
                let count = room.min((count - at) as u64) as usize;
                Frames::Strided { first: self.within(frame), step: *step, count }
            }
            Frames::Listed(list) => {
                let here = |&&frame: &&u64| self.frames.contains(&frame);
                let needed = list[at..end].iter().take_while(here).count();
                let mut len = needed;
                if at + needed == end {
                    // Nobody reads ahead over a step back.
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
    /// How much work the index of several files was: that of the one that took most.
    fn max(self, other: IndexState) -> IndexState {
        let work = |state| match state {
            IndexState::Computed => 0,
            IndexState::Loaded => 1,
            IndexState::Extended => 2,
            IndexState::Built => 3,
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
mod tests;
