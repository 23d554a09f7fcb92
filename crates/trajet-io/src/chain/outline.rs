//! A chain for workers elsewhere: what they are told once, and what they are told of the frames of a task.
//!
//! They look for no index: of formats that need one they get that of the frames to read. A file is opened
//! when it is first read, and must be what it was.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Chain, MOST_OPEN, Run, Segment};
use crate::dcd::CellForm;
use crate::divided::{Division, Told};
use crate::h5md::Description;
use crate::reader::Reader;
use crate::source::{Handles, absolute};
use crate::{Atoms, Error, FrameIndex, Frames, IndexState, Meter, OpenOptions, Stamp, open};

/// What a chain is, apart from where its frames are.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Outline {
    files: Vec<Known>,
    runs: Vec<Run>,
    n_frames: u64,
    n_atoms: usize,
    request_size: usize,
    allow_truncated_tail: bool,
}

/// What is known of a file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Known {
    /// As the user gave it.
    pub(crate) path: PathBuf,
    /// Where it is for everybody.
    pub(crate) absolute: PathBuf,
    pub(crate) format: String,
    pub(crate) stamp: Stamp,
    /// The form of the cells of a DCD file.
    pub(crate) dcd_cell: Option<CellForm>,
    /// What is told of an HDF5 file.
    pub(crate) description: Option<Arc<Description>>,
    /// What is told of a divided trajectory.
    pub(crate) divided: Option<Told>,
}

/// The files that hold some frames, and the index of these frames where the format needs one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Slice(Vec<(usize, Option<FrameIndex>)>);

impl Chain {
    /// What workers elsewhere are told once, who read no other atoms than these; `options` are those of the
    /// opening.
    ///
    /// # Errors
    /// [`Error::Io`] where there is no working folder any more.
    pub fn outline(&self, options: &OpenOptions, atoms: &Atoms) -> Result<Outline, Error> {
        let told = |division: &Division| division.told(atoms);
        let known = |segment: &Segment| {
            let reader = &segment.reader;
            let path = reader.source().path().to_owned();
            Ok(Known {
                absolute: absolute(&path)?,
                format: reader.format().to_owned(),
                stamp: *reader.stamp(),
                dcd_cell: reader.dcd_cell(),
                description: options.described.get(&path).cloned(),
                divided: options.divided.get(&path).map(told).transpose()?,
                path,
            })
        };
        Ok(Outline {
            files: self.segments.iter().map(known).collect::<Result<_, Error>>()?,
            runs: self.runs.clone(),
            n_frames: self.n_frames,
            n_atoms: self.n_atoms(),
            request_size: options.request_size,
            allow_truncated_tail: options.allow_truncated_tail,
        })
    }

    /// What workers elsewhere are told of `frames`.
    ///
    /// # Panics
    /// If there is no such frame.
    pub fn slice(&self, frames: &Frames) -> Slice {
        let mut by_file: Vec<Vec<u64>> = vec![Vec::new(); self.segments.len()];
        for k in 0..frames.len() {
            let place = self.place(frames.get(k));
            by_file[place.segment].push(place.frame);
        }
        let touched = by_file.into_iter().enumerate().filter(|(_, frames)| !frames.is_empty());
        let of_file = |(segment, frames): (usize, Vec<u64>)| {
            let reader = &self.segments[segment].reader;
            let computed = reader.opening().state == IndexState::Computed;
            (segment, (!computed).then(|| reader.index().part(frames)))
        };
        Slice(touched.map(of_file).collect())
    }
}

impl Outline {
    /// Atoms of every frame.
    pub fn n_atoms(&self) -> usize {
        self.n_atoms
    }

    /// Frames of the chain.
    pub fn n_frames(&self) -> usize {
        self.n_frames as usize
    }
}

/// A chain that was opened elsewhere.
pub struct Elsewhere {
    outline: Outline,
    options: OpenOptions,
    /// Those that were read already.
    readers: Mutex<HashMap<usize, Arc<dyn Reader>>>,
}

impl Elsewhere {
    /// Opens nothing yet.
    pub fn new(outline: Outline) -> Self {
        let options = OpenOptions {
            allow_truncated_tail: outline.allow_truncated_tail,
            request_size: outline.request_size,
            sidecar: false,
            handles: Some(Arc::new(Handles::new(MOST_OPEN))),
            ..OpenOptions::default()
        };
        Elsewhere { outline, options, readers: Mutex::default() }
    }

    /// Atoms of every frame.
    pub fn n_atoms(&self) -> usize {
        self.outline.n_atoms
    }

    /// How long the longest opening of a file lasts that is under way on one of these `threads`.
    pub fn opening(&self, threads: &[ThreadId]) -> Duration {
        self.options.handles.as_ref().map_or(Duration::ZERO, |handles| handles.opening(threads))
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
                (Some(reader), Some(index)) => {
                    reader.with_index(index).unwrap_or_else(|| Arc::clone(reader))
                }
                (None, index) => {
                    let reader = open::known(known, index, &self.options)?;
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
        let (n_frames, alone) = (self.outline.n_frames, self.outline.files.len() == 1);
        Ok(Chain { segments, runs, n_frames, remarks: Vec::new(), alone, continuous: false })
    }
}
