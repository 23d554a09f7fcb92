//! Trajectories in worker processes: what opens them there, and the index of the frames of a task.
//!
//! Workers look for no index: of formats that need one they get the index of the frames to read. A file is
//! opened when it is first read, and must be what it was.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::chain::{Chain, MOST_OPEN, Run, Segment};
use crate::open::open_known;
use crate::opener::{KnownFile, WorkerOpener};
use crate::reader::{Reader, WorkerFile};
use crate::source::{Handles, Source, absolute};
use crate::{Atoms, Error, FrameIndex, Frames, IndexState, Meter, OpenOptions, Stamp};

/// What worker processes need to open a chain, apart from where its frames are.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WorkerSpec {
    files: Vec<Known>,
    runs: Vec<Run>,
    n_frames: u64,
    n_atoms: usize,
    request_size: usize,
    allow_truncated_tail: bool,
}

/// What is known of a file.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Known {
    /// As the user gave it.
    path: PathBuf,
    /// Where it is for everybody.
    absolute: PathBuf,
    stamp: Stamp,
    file: WorkerFile,
}

/// The files that hold some frames, and the index of these frames where the format needs one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Slice(Vec<(usize, Option<FrameIndex>)>);

impl Chain {
    /// Returns what worker processes need once, who read no other atoms than these; `options` are those with
    /// which the chain was opened.
    ///
    /// # Errors
    /// [`Error::Io`] where there is no working folder any more.
    pub fn outline(&self, options: &OpenOptions, atoms: &Atoms) -> Result<WorkerSpec, Error> {
        let known = |segment: &Segment| {
            let reader = &segment.reader;
            let path = reader.source().path().to_owned();
            Ok(Known {
                absolute: absolute(&path)?,
                stamp: *reader.stamp(),
                file: reader.for_worker(atoms)?,
                path,
            })
        };
        Ok(WorkerSpec {
            files: self.segments().iter().map(known).collect::<Result<_, Error>>()?,
            runs: self.runs.clone(),
            n_frames: self.n_frames() as u64,
            n_atoms: self.n_atoms(),
            request_size: options.request_size,
            allow_truncated_tail: options.allow_truncated_tail,
        })
    }

    /// Returns what a worker process needs to read `frames`.
    ///
    /// # Panics
    /// If there is no such frame.
    pub fn slice(&self, frames: &Frames) -> Slice {
        let mut by_file: Vec<Vec<u64>> = vec![Vec::new(); self.segments().len()];
        for k in 0..frames.len() {
            let place = self.place(frames.get(k));
            by_file[place.segment].push(place.frame);
        }
        let touched = by_file.into_iter().enumerate().filter(|(_, frames)| !frames.is_empty());
        let of_file = |(segment, frames): (usize, Vec<u64>)| {
            let reader = &self.segments()[segment].reader;
            let computed = reader.opening().state == IndexState::Computed;
            (segment, (!computed).then(|| reader.index().part(frames)))
        };
        Slice(touched.map(of_file).collect())
    }
}

impl WorkerSpec {
    /// Atoms of every frame.
    pub fn n_atoms(&self) -> usize {
        self.n_atoms
    }

    /// Frames of the chain.
    pub fn n_frames(&self) -> usize {
        self.n_frames as usize
    }
}

/// A chain in a worker process, opened in another one.
pub struct WorkerTrajectory {
    outline: WorkerSpec,
    options: OpenOptions,
    /// Openers beside those of formats.
    openers: &'static [WorkerOpener],
    handles: Arc<Handles>,
    /// Readers of the files that were read already.
    readers: Mutex<HashMap<usize, Arc<dyn Reader>>>,
}

impl WorkerTrajectory {
    /// Opens nothing yet. `openers` open files that no format's own reader opened.
    pub fn new(outline: WorkerSpec, openers: &'static [WorkerOpener]) -> Self {
        let handles = Arc::new(Handles::new(MOST_OPEN));
        let options = OpenOptions {
            allow_truncated_tail: outline.allow_truncated_tail,
            request_size: outline.request_size,
            sidecar: false,
            handles: Some(Arc::clone(&handles)),
            ..OpenOptions::default()
        };
        WorkerTrajectory { outline, options, openers, handles, readers: Mutex::default() }
    }

    /// Atoms of every frame.
    pub fn n_atoms(&self) -> usize {
        self.outline.n_atoms
    }

    /// How long the longest opening of a file lasts that is under way on one of these `threads`.
    pub fn opening(&self, threads: &[ThreadId]) -> Duration {
        self.handles.opening(threads)
    }

    /// The chain, of which only the frames of `slice` can be read. What opening its files cost is added to
    /// `meter`.
    ///
    /// # Errors
    /// Of files that have changed since.
    pub fn chain(&self, slice: Slice, meter: &mut Meter) -> Result<Chain, Error> {
        let mut readers = meter.lock(&self.readers);
        let mut segments = Vec::with_capacity(slice.0.len());
        let mut numbers = HashMap::new();
        for (number, index) in slice.0 {
            let Some(known) = self.outline.files.get(number) else { continue };
            numbers.insert(number, segments.len());
            let reader = match (readers.get(&number), index) {
                (Some(reader), None) => Arc::clone(reader),
                (Some(reader), Some(index)) => match reader.as_partial_index() {
                    Some(partial) => partial.with_index(index),
                    None => Arc::clone(reader),
                },
                (None, index) => {
                    let reader = self.open(known, index)?;
                    meter.add(&reader.opening().meter);
                    readers.insert(number, Arc::clone(&reader));
                    reader
                }
            };
            segments.push(Segment::new(reader, 0));
        }
        let renumbered =
            |run: &Run| numbers.get(&run.segment).map(|&segment| Run { segment, ..run.clone() });
        let runs = self.outline.runs.iter().filter_map(renumbered).collect();
        let alone = self.outline.files.len() == 1;
        Ok(Chain::of_runs(segments, runs, self.outline.n_frames, alone))
    }

    /// Opens a file, or makes it ready to be opened when it is first read.
    fn open(&self, known: &Known, index: Option<FrameIndex>) -> Result<Arc<dyn Reader>, Error> {
        let Known { path, absolute, stamp, file } = known;
        let source = Source::known(path.clone(), absolute.clone(), *stamp, &self.handles);
        let known = KnownFile { source, stamp: *stamp, index, data: &file.data };
        match self.openers.iter().find(|opener| opener.name == file.opener) {
            Some(opener) => (opener.open)(known, &self.options),
            None => open_known(&file.opener, known, &self.options),
        }
    }
}
