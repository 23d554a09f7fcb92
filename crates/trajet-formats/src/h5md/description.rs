//! Descriptions of HDF5 files: where in a file the numbers of a trajectory are stored, and how.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::OwnTables;
use crate::{Message, PERIODIC, Periodic, ReportedBox, cell_from_vectors};

/// Row number of frames that a series lacks.
pub const NO_ROW: u64 = u64::MAX;
/// Largest size of a chunk, bytes. HDF5 allowed no larger ones for most of its history.
const MAX_OF_A_CHUNK: u64 = u32::MAX as u64;

/// Options for opening HDF5 files, which the code that describes them takes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Name of the group of particles; `None` for the only one.
    pub particles: Option<String>,
    /// Units of quantities of which the file does not name them.
    pub units: BTreeMap<String, String>,
}

/// Layout of an HDF5 file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Layout {
    /// H5MD.
    #[default]
    H5md,
    /// mdtraj's HDF5 layout.
    Mdtraj,
}

/// Location, form and metadata of a trajectory in an HDF5 file, as found through libhdf5.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Description {
    /// Layout of the file.
    pub layout: Layout,
    /// Number of atoms in every frame.
    pub n_atoms: u64,
    /// Time of each frame, ps; empty if [`Boxes::InParentIndex`].
    pub times: Vec<f64>,
    /// Step of each frame; empty if [`Boxes::InParentIndex`].
    pub steps: Vec<i64>,
    /// No box, one for all frames, or one per frame.
    pub boxes: Boxes,
    /// Positions.
    pub positions: Option<Series>,
    /// Velocities.
    pub velocities: Option<Series>,
    /// Forces.
    pub forces: Option<Series>,
    /// Digests of the file's bytes, if they were recorded.
    pub digests: Option<Digests>,
    /// Messages for the user.
    pub messages: Vec<Message>,
    /// Messages on the source of the file, stored in the file. Not sent to workers.
    #[serde(skip)]
    pub stored_messages: Vec<Message>,
    /// Whether the file states no times. Not sent to workers.
    #[serde(skip)]
    pub no_times: bool,
    /// Whether the file stores times in single precision. Not sent to workers.
    #[serde(skip)]
    pub single_times: bool,
    /// Tables in the file's own units, for writing its frames again. Not sent to workers.
    #[serde(skip)]
    pub own: Option<OwnTables>,
    /// Time that reading the tables took, ns.
    pub ns: u64,
}

impl Description {
    /// Returns the description with runs of chunks in place of single chunks, in less memory.
    #[must_use]
    pub fn condensed(self) -> Description {
        let condensed = |series: Option<Series>| Some(series?.condensed(self.n_atoms));
        Description {
            positions: condensed(self.positions),
            velocities: condensed(self.velocities),
            forces: condensed(self.forces),
            ..self
        }
    }

    /// Whether boxes, times and steps are omitted here because the parent index keeps them.
    pub fn lacks_boxes(&self) -> bool {
        matches!(self.boxes, Boxes::InParentIndex(_))
    }
}

/// XXH3 digests of all bytes of a file. With them, chunks are read whole and compared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Digests {
    /// Offset and digest of each chunk of every series, ascending.
    pub chunks: Vec<(u64, u64)>,
    /// Regions between chunks: tables, and times, steps and boxes as other programs read them.
    pub between: Vec<DigestedRegion>,
}

/// A region of a file and its digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DigestedRegion {
    /// Byte at which it begins.
    pub offset: u64,
    /// Length, bytes.
    pub size: u64,
    /// XXH3 of its bytes.
    pub digest: u64,
}

/// No box, one for all frames, or one per frame.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Boxes {
    /// Lengths (Å) and angles (degrees), as in [`crate::FrameMeta`].
    Cells(Vec<[f64; 6]>),
    /// Box vectors row by row, Å.
    Vectors(Vec<[f64; 9]>),
    /// Boxes as the reader of another format returned them, periodic in all directions. Angles recomputed from vectors
    /// would differ in their last bits.
    Reported(Vec<([f64; 6], Option<[f64; 9]>)>),
    /// Boxes, times and steps of this many frames are kept in the parent index and omitted here.
    InParentIndex(u64),
    /// Box vectors row by row (Å) of boxes with these boundaries.
    WithBoundaries(Periodic, Vec<[f64; 9]>),
    /// Boxes as [`Boxes::Reported`], each with its boundaries.
    ReportedWithBoundaries(Vec<ReportedBox>),
}

impl Default for Boxes {
    /// Returns no boxes.
    fn default() -> Self {
        Boxes::Cells(Vec::new())
    }
}

impl Boxes {
    pub(super) fn len(&self) -> usize {
        match self {
            Boxes::Cells(cells) => cells.len(),
            Boxes::Vectors(vectors) | Boxes::WithBoundaries(_, vectors) => vectors.len(),
            Boxes::Reported(boxes) => boxes.len(),
            Boxes::ReportedWithBoundaries(boxes) => boxes.len(),
            Boxes::InParentIndex(_) => 0,
        }
    }

    /// Returns lengths (Å) and angles (degrees); NaN for a frame without a box, infinite if a number of it is not
    /// finite.
    pub fn cell(&self, frame: u64) -> [f64; 6] {
        match self {
            Boxes::Cells(cells) => of(cells, frame).copied().unwrap_or([f64::NAN; 6]),
            Boxes::Vectors(vectors) | Boxes::WithBoundaries(_, vectors) => of(vectors, frame)
                .filter(|vectors| !vectors.iter().all(|x| x.is_nan()))
                .map_or([f64::NAN; 6], |vectors| cell_from_vectors(vectors, 1.0)),
            Boxes::Reported(boxes) => of(boxes, frame).map_or([f64::NAN; 6], |(cell, _)| *cell),
            Boxes::ReportedWithBoundaries(boxes) => {
                of(boxes, frame).map_or([f64::NAN; 6], |(cell, ..)| *cell)
            }
            Boxes::InParentIndex(_) => [f64::NAN; 6],
        }
    }

    /// Returns the box vectors of a frame, if there are any.
    pub fn vectors(&self, frame: u64) -> Option<&[f64; 9]> {
        match self {
            Boxes::Cells(_) | Boxes::InParentIndex(_) => None,
            Boxes::Vectors(vectors) | Boxes::WithBoundaries(_, vectors) => of(vectors, frame),
            Boxes::Reported(boxes) => of(boxes, frame).and_then(|(_, turned)| turned.as_ref()),
            Boxes::ReportedWithBoundaries(boxes) => {
                of(boxes, frame).and_then(|(_, turned, _)| turned.as_ref())
            }
        }
    }

    /// Returns whether the box of a frame is periodic along each of its vectors.
    pub fn periodic(&self, frame: u64) -> Periodic {
        match self {
            Boxes::WithBoundaries(periodic, _) => *periodic,
            Boxes::ReportedWithBoundaries(boxes) => {
                of(boxes, frame).map_or(PERIODIC, |(.., periodic)| *periodic)
            }
            Boxes::Cells(_) | Boxes::Vectors(_) | Boxes::Reported(_) | Boxes::InParentIndex(_) => {
                PERIODIC
            }
        }
    }

    /// Returns boxes as readers returned them.
    pub fn of_reported(boxes: Vec<ReportedBox>) -> Boxes {
        match boxes.iter().all(|(.., periodic)| *periodic == PERIODIC) {
            true => {
                let pair = |(cell, turned, _): ReportedBox| (cell, turned);
                Boxes::Reported(boxes.into_iter().map(pair).collect())
            }
            false => Boxes::ReportedWithBoundaries(boxes),
        }
    }

    /// Returns the boxes that [`Boxes::of_reported`] made; `None` for others.
    pub fn into_reported(self) -> Option<Vec<ReportedBox>> {
        match self {
            Boxes::Reported(boxes) => {
                Some(boxes.into_iter().map(|(cell, turned)| (cell, turned, PERIODIC)).collect())
            }
            Boxes::ReportedWithBoundaries(boxes) => Some(boxes),
            _ => None,
        }
    }
}

/// Returns the box of a frame, or the constant box.
fn of<T>(boxes: &[T], frame: u64) -> Option<&T> {
    match boxes {
        [fixed] => Some(fixed),
        boxes => boxes.get(frame as usize),
    }
}

/// A dataset of `[rows, n_atoms, 3]` floating-point numbers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Series {
    /// Number of rows, the first dimension.
    pub rows: u64,
    /// Row of each frame, or [`NO_ROW`]; if `None`, row k holds frame k.
    pub row_of: Option<Arc<[u64]>>,
    /// Format of the stored numbers.
    pub form: Form,
    /// Factor that converts stored numbers to the unit of [`crate::Field`].
    pub factor: f32,
    /// Location of the numbers.
    pub storage: Storage,
}

/// Format of stored numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Form {
    /// Double (eight bytes) instead of single precision (four bytes).
    pub double: bool,
    /// Big instead of little endian.
    pub big_endian: bool,
}

impl Form {
    /// Returns the size of a number, bytes.
    pub fn width(self) -> usize {
        if self.double { 8 } else { 4 }
    }
}

/// Location of the numbers of a dataset.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Storage {
    /// HDF5's compact layout: the bytes themselves, which stand in the header of the dataset.
    Compact(Vec<u8>),
    /// Contiguous, from this byte of the file on.
    Contiguous(u64),
    /// In chunks, listed one by one.
    Chunked {
        /// Numbers of frames, atoms and axes per chunk.
        shape: [u64; 3],
        /// Filters of the dataset.
        filters: Filters,
        /// Chunks that were written, in any order.
        chunks: Vec<Chunk>,
    },
    /// In chunks, listed as runs by [`Description::condensed`].
    Runs {
        /// Numbers of frames, atoms and axes per chunk.
        shape: [u64; 3],
        /// Filters of the dataset.
        filters: Filters,
        /// Runs of the complete rows of chunks before the first incomplete one, in C order.
        runs: Vec<Run>,
    },
}

/// Chunks of equal size that follow one another both in C order and in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// Number of chunks.
    pub n: u64,
    /// Byte at which the first chunk begins.
    pub offset: u64,
    /// Size of each chunk in the file, bytes.
    pub size: u64,
    /// A bit for each filter that was skipped.
    pub skipped: u32,
}

impl Series {
    /// Returns first row, offset and size of each chunk; `None` if the dataset is not chunked.
    pub fn chunks(&self, n_atoms: u64) -> Option<Vec<(u64, u64, u64)>> {
        match &self.storage {
            Storage::Compact(_) | Storage::Contiguous(_) => None,
            Storage::Chunked { chunks, .. } => {
                Some(chunks.iter().map(|chunk| (chunk.at[0], chunk.offset, chunk.size)).collect())
            }
            Storage::Runs { shape, runs, .. } => {
                let row = |k: u64| k / across(n_atoms, *shape).max(1) * shape[0];
                let of_run = |&Run { n, offset, size, .. }: &Run| {
                    (0..n).map(move |k| (offset + k * size, size))
                };
                let places = runs.iter().flat_map(of_run);
                Some((0..).zip(places).map(|(k, (at, size))| (row(k), at, size)).collect())
            }
        }
    }

    /// Returns the series with runs in place of chunks; unchanged if the list of chunks is invalid.
    #[must_use]
    fn condensed(mut self, n_atoms: u64) -> Series {
        if let &Storage::Chunked { shape, filters, ref chunks } = &self.storage
            && shape_of(shape, self.form).is_ok()
            && let Ok(runs) = runs_of(chunks, [self.rows, n_atoms, 3], shape)
        {
            self.storage = Storage::Runs { shape, filters, runs };
        }
        self
    }
}

/// Filters applied to the bytes of a chunk, in this order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filters {
    /// Shuffle: the first bytes of all numbers, then the second bytes, ….
    pub shuffle: bool,
    /// Deflate compression in zlib format, HDF5's gzip filter.
    pub deflate: bool,
}

impl Filters {
    /// Returns the filters of a chunk that skipped some: bit k of `skipped` stands for filter k of the pipeline.
    pub(super) fn without(self, skipped: u32) -> Filters {
        let deflate_at = u32::from(self.shuffle);
        Filters {
            shuffle: self.shuffle && skipped & 1 == 0,
            deflate: self.deflate && skipped >> deflate_at & 1 == 0,
        }
    }

    /// Whether no filter is applied.
    pub fn are_none(self) -> bool {
        !self.shuffle && !self.deflate
    }
}

/// A chunk that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chunk {
    /// The first row, atom and axis in it.
    pub at: [u64; 3],
    /// Byte at which it begins.
    pub offset: u64,
    /// Size in the file, bytes.
    pub size: u64,
    /// A bit for each filter that was skipped.
    pub skipped: u32,
}

/// A result whose error describes what is wrong with a description.
pub(super) type LayoutResult<T> = Result<T, String>;

/// Returns the shape of a chunk, if its size is possible.
pub(super) fn shape_of(shape: [u64; 3], form: Form) -> LayoutResult<[usize; 3]> {
    let wrong = || format!("a chunk of {} x {} x {} numbers", shape[0], shape[1], shape[2]);
    let numbers = shape.iter().try_fold(1u64, |n, &d| n.checked_mul(d));
    match numbers.and_then(|n| n.checked_mul(form.width() as u64)) {
        Some(1..=MAX_OF_A_CHUNK) => Ok(shape.map(|d| d as usize)),
        _ => Err(wrong()),
    }
}

/// Returns the number of chunks in a row of chunks.
pub(super) fn across(n_atoms: u64, shape: [u64; 3]) -> u64 {
    n_atoms.div_ceil(shape[1]).saturating_mul(3u64.div_ceil(shape[2]))
}

/// Combines chunks to runs in C order, up to the first row of chunks with a missing one.
pub(super) fn runs_of(
    chunks: &[Chunk],
    extent: [u64; 3],
    shape: [u64; 3],
) -> LayoutResult<Vec<Run>> {
    let of_a_row = across(extent[1], shape);
    let columns = 3u64.div_ceil(shape[2]);
    let mut order = Vec::with_capacity(chunks.len());
    for (k, &Chunk { at, .. }) in chunks.iter().enumerate() {
        let fits = (0..3).all(|k| at[k] < extent[k] && at[k].is_multiple_of(shape[k]));
        let column = (at[1] / shape[1]).checked_mul(columns);
        let column = column.and_then(|column| column.checked_add(at[2] / shape[2]));
        let row = (at[0] / shape[0]).checked_mul(of_a_row);
        let number = row.zip(column).and_then(|(row, column)| row.checked_add(column));
        match number {
            Some(number) if fits => order.push((number, k)),
            _ => return Err(format!("a chunk at {}, {}, {}", at[0], at[1], at[2])),
        }
    }
    order.sort_unstable();
    if order.windows(2).any(|pair| pair[0].0 == pair[1].0) {
        return Err("two chunks for the same numbers".to_owned());
    }
    let there = (0..).zip(&order).take_while(|(k, (number, _))| k == number).count() as u64;
    // Incomplete rows of chunks hold no frame.
    order.truncate((there - there % of_a_row.max(1)) as usize);
    let mut runs: Vec<Run> = Vec::new();
    for (_, k) in order {
        let Chunk { offset, size, skipped, .. } = chunks[k];
        match runs.last_mut() {
            Some(run) if run.continues_with(offset, size, skipped) => run.n += 1,
            _ => runs.push(Run { n: 1, offset, size, skipped }),
        }
    }
    runs.shrink_to_fit();
    Ok(runs)
}

impl Run {
    /// Whether a chunk continues this run.
    fn continues_with(&self, offset: u64, size: u64, skipped: u32) -> bool {
        let end = self.n.checked_mul(self.size).and_then(|bytes| bytes.checked_add(self.offset));
        (self.size, self.skipped) == (size, skipped) && end == Some(offset)
    }
}
