//! Trajectories in worker processes: the spec from which they are opened, and the index of the frames of a task.
//!
//! Workers do not build or load indexes: for formats that need one, they get the index of the frames to read. A
//! file is opened when it is first read, and must not have changed.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use trajet_formats::Atoms;

use crate::chain::{Chain, Clock, MAX_OPEN, Run, Segment};
use crate::open::open_known;
use crate::opener::{KnownFile, WorkerOpener};
use crate::range_bytes::{OpenObject, RemoteFault};
use crate::reader::{Reader, WorkerFile};
use crate::remote::{Remote, RemoteOptions};
use crate::source::{Handles, Source, absolute};
use crate::{Error, FrameIndex, Frames, IndexState, Meter, OpenOptions, Stamp};

/// The data from which worker processes open a chain, without the index of its frames.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WorkerSpec {
    files: Vec<FileSpec>,
    runs: Vec<Run>,
    alone: bool,
    clock: Option<Clock>,
    n_frames: u64,
    n_atoms: usize,
    request_size: usize,
    allow_truncated_tail: bool,
    connections: usize,
    merge_gap: Option<u64>,
    /// Paths of objects from which files of other names are read, and the data from which they are opened.
    parts: Vec<(PathBuf, Vec<u8>)>,
}

/// The data from which worker processes open a file.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct FileSpec {
    /// The path as the user gave it.
    path: PathBuf,
    /// The absolute path, which is valid in all processes.
    absolute: PathBuf,
    stamp: Stamp,
    file: WorkerFile,
    /// The data from which an object in remote storage is opened; `None` for a file.
    object: Option<Vec<u8>>,
}

/// The files that hold some frames, by number, and the index of these frames if the format needs one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Slice(Vec<(usize, Option<FrameIndex>)>);

impl Chain {
    /// Returns the spec from which worker processes open the chain, to read only these atoms and those that its
    /// transform needs; `options` are those with which the chain was opened. The transform is not part of the spec.
    ///
    /// # Errors
    /// [`Error::Io`] if the working folder was removed; as [`Chain::decoded`].
    pub fn worker_spec(&self, options: &OpenOptions, atoms: &Atoms) -> Result<WorkerSpec, Error> {
        let atoms = self.decoded(atoms)?;
        let spec = |segment: &Segment| {
            let reader = &segment.reader;
            let path = reader.source().path().to_owned();
            let remote = reader.source().remote();
            Ok(FileSpec {
                absolute: if remote.is_some() { path.clone() } else { absolute(&path)? },
                object: remote
                    .map(|remote| remote.object().for_worker(options.remote.worker_secrets)),
                stamp: *reader.stamp(),
                file: reader.for_worker(&atoms)?,
                path,
            })
        };
        let objects = options.remote.objects.iter();
        let is_part = |path: &Path| {
            self.segments().iter().all(|segment| segment.reader.source().path() != path)
        };
        let parts = objects
            .filter(|(path, _)| is_part(path))
            .map(|(path, object)| (path.clone(), object.for_worker(options.remote.worker_secrets)))
            .collect();
        Ok(WorkerSpec {
            files: self.segments().iter().map(spec).collect::<Result<_, Error>>()?,
            runs: self.runs.clone(),
            alone: self.is_alone(),
            clock: self.clock(),
            n_frames: self.n_frames() as u64,
            n_atoms: self.n_atoms(),
            request_size: options.request_size,
            allow_truncated_tail: options.allow_truncated_tail,
            connections: self.connections().map_or(1, |_| options.remote.connections),
            merge_gap: options.remote.merge_gap,
            parts,
        })
    }

    /// Returns the files and index that a worker process needs to read `frames`.
    ///
    /// # Panics
    /// If there is no such frame.
    pub fn slice(&self, frames: &Frames) -> Slice {
        let frames = self.frames_read(frames);
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
    /// Returns the number of atoms in each frame.
    pub fn n_atoms(&self) -> usize {
        self.n_atoms
    }

    /// Returns the number of frames in the chain.
    pub fn n_frames(&self) -> usize {
        self.n_frames as usize
    }
}

/// A chain that was opened in another process, in a worker process.
pub struct WorkerTrajectory {
    runs: Vec<Run>,
    alone: bool,
    clock: Option<Clock>,
    n_frames: u64,
    n_atoms: usize,
    options: OpenOptions,
    /// Openers beside those of the formats.
    openers: &'static [WorkerOpener],
    /// Opens objects in remote storage.
    open_object: OpenObject,
    /// As in [`WorkerSpec`].
    parts: Vec<(PathBuf, Vec<u8>)>,
    handles: Arc<Handles>,
    files: Vec<Mutex<FileState>>,
}

/// A file of a worker, which is opened when it is first read.
enum FileState {
    Closed(FileSpec),
    Open(Arc<dyn Reader>),
}

impl WorkerTrajectory {
    /// Returns the trajectory without opening a file. `openers` open files that are not opened by the reader of a
    /// format.
    pub fn new(spec: WorkerSpec, openers: &'static [WorkerOpener]) -> Self {
        let WorkerSpec { files, runs, alone, clock, n_frames, n_atoms, .. } = spec;
        let WorkerSpec { connections, merge_gap, parts, .. } = spec;
        let (request_size, allow_truncated_tail) = (spec.request_size, spec.allow_truncated_tail);
        let handles = Arc::new(Handles::new(MAX_OPEN));
        let options = OpenOptions {
            allow_truncated_tail,
            request_size,
            sidecar: false,
            handles: Some(Arc::clone(&handles)),
            remote: RemoteOptions { connections, merge_gap, ..RemoteOptions::default() },
            ..OpenOptions::default()
        };
        let files = files.into_iter().map(FileState::Closed).map(Mutex::new).collect();
        WorkerTrajectory {
            runs,
            alone,
            clock,
            n_frames,
            n_atoms,
            options,
            openers,
            open_object: |_, _| Err(RemoteFault::Failed("no remote storage here".to_owned())),
            parts,
            handles,
            files,
        }
    }

    /// Returns the trajectory, whose objects in remote storage are opened by `open_object`.
    #[must_use]
    pub fn with_objects(self, open_object: OpenObject) -> Self {
        WorkerTrajectory { open_object, ..self }
    }

    /// Returns the number of atoms in each frame.
    pub fn n_atoms(&self) -> usize {
        self.n_atoms
    }

    /// Returns the number of threads that wait for requests to remote storage; 1 if all files are here.
    pub fn connections(&self) -> usize {
        self.options.remote.connections
    }

    /// Returns for how long one of these `threads` has been opening a file: the longest time, or zero.
    pub fn opening(&self, threads: &[ThreadId]) -> Duration {
        self.handles.opening(threads)
    }

    /// Returns the chain, of which only the frames of `slice` can be read. The cost of opening its files is added
    /// to `meter`.
    ///
    /// # Errors
    /// The errors of files that have changed since.
    pub fn chain(&self, slice: Slice, meter: &mut Meter) -> Result<Chain, Error> {
        let mut segments = Vec::with_capacity(slice.0.len());
        let mut numbers = HashMap::new();
        for (number, index) in slice.0 {
            let Some(file) = self.files.get(number) else { continue };
            // Others wait for the thread that opens the same file, not for those that open others.
            let mut file = meter.lock_or_stop(file)?;
            numbers.insert(number, segments.len());
            let reader = match (&*file, index) {
                (FileState::Open(reader), None) => Arc::clone(reader),
                (FileState::Open(reader), Some(index)) => match reader.as_partial_index() {
                    Some(partial) => partial.with_index(index),
                    None => Arc::clone(reader),
                },
                (FileState::Closed(spec), index) => {
                    let reader = self.open(spec, index, meter.stop.get())?;
                    meter.add(&reader.opening().meter);
                    *file = FileState::Open(Arc::clone(&reader));
                    reader
                }
            };
            segments.push(Segment::new(reader, 0));
        }
        let renumbered =
            |run: &Run| numbers.get(&run.segment).map(|&segment| Run { segment, ..run.clone() });
        let runs = self.runs.iter().filter_map(renumbered).collect();
        Ok(Chain::of_runs(segments, runs, self.n_frames, self.alone).at_times_of(self.clock))
    }

    /// Returns the reader of a file. If it gets an index, it opens the file when it first reads a frame.
    fn open(
        &self,
        spec: &FileSpec,
        index: Option<FrameIndex>,
        stop: Option<&AtomicBool>,
    ) -> Result<Arc<dyn Reader>, Error> {
        let FileSpec { path, absolute, stamp, file, object } = spec;
        let source = match object {
            None => Source::known(path.clone(), absolute.clone(), *stamp, &self.handles),
            Some(data) => {
                let object = (self.open_object)(data, stop)
                    .map_err(|fault| Error::of_remote(path, fault))?;
                let RemoteOptions { connections, merge_gap, .. } = self.options.remote;
                Source::of_object(path.clone(), Remote::new(object, connections, merge_gap))?
            }
        };
        let (opener, data) = (&file.opener[..], &file.data[..]);
        let known = KnownFile { source, stamp: *stamp, index, opener, data };
        match self.openers.iter().find(|known| known.name == opener) {
            Some(opener) => (opener.open)(known, &self.options_of_parts(stop)?),
            None => open_known(known, &self.options),
        }
    }

    /// Returns the options with the objects from which parts of a file are read.
    fn options_of_parts(&self, stop: Option<&AtomicBool>) -> Result<OpenOptions, Error> {
        let open = |(path, data): &(PathBuf, Vec<u8>)| {
            let object =
                (self.open_object)(data, stop).map_err(|fault| Error::of_remote(path, fault))?;
            Ok((path.clone(), object))
        };
        let objects = Arc::new(self.parts.iter().map(open).collect::<Result<_, Error>>()?);
        let remote = RemoteOptions { objects, ..self.options.remote.clone() };
        Ok(OpenOptions { remote, ..self.options.clone() })
    }
}
