//! What is told of a file: plain numbers that say where those of a trajectory stand in it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::OwnTables;
use crate::{GivenBox, cell_from_vectors};

/// The row of a frame that a series does not have.
pub const NO_ROW: u64 = u64::MAX;
/// HDF5 allowed no larger chunks for most of its life, and nobody wants them.
const MOST_OF_A_CHUNK: u64 = u32::MAX as u64;

/// Which of the layouts a file has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Layout {
    /// The published one.
    #[default]
    H5md,
    /// That of mdtraj.
    Mdtraj,
}

/// What whoever looked at the tables of an HDF5 file tells of a trajectory in it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Description {
    /// Which layout it is.
    pub layout: Layout,
    /// Atoms of every frame.
    pub n_atoms: u64,
    /// Of each frame, ps.
    pub times: Vec<f64>,
    /// Of each frame.
    pub steps: Vec<i64>,
    /// None, one for all frames, or one a frame.
    pub boxes: Boxes,
    /// Positions.
    pub positions: Option<Series>,
    /// Velocities.
    pub velocities: Option<Series>,
    /// Forces.
    pub forces: Option<Series>,
    /// What its bytes must be, where that was written down.
    pub digests: Option<Digests>,
    /// What a user should know.
    pub remarks: Vec<String>,
    /// Remarks that the file keeps of its source; workers do not get them.
    #[serde(skip)]
    pub noted: Vec<String>,
    /// For whoever writes the file's frames again; nobody else is told.
    #[serde(skip)]
    pub own: Option<OwnTables>,
    /// Nanoseconds that it took to look at the tables.
    pub ns: u64,
}

impl Description {
    /// The same in less memory.
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

    /// Whether boxes, times and steps are known elsewhere.
    pub(crate) fn lacks_boxes(&self) -> bool {
        matches!(self.boxes, Boxes::Elsewhere(_))
    }
}

/// XXH3 of all bytes of a file. Chunks are read whole then, and compared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Digests {
    /// Of each chunk of every series, by the byte at which it stands, ascending.
    pub chunks: Vec<(u64, u64)>,
    /// Of what stands between them: tables, times, steps and boxes as other programs read them.
    pub between: Vec<Stretch>,
}

/// Bytes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stretch {
    /// Where they begin.
    pub offset: u64,
    /// How many there are.
    pub size: u64,
    /// Their XXH3.
    pub digest: u64,
}

/// Boxes, one or one a frame.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Boxes {
    /// Lengths and angles, as in [`crate::FrameMeta`].
    Cells(Vec<[f64; 6]>),
    /// Vectors row by row, Å.
    Vectors(Vec<[f64; 9]>),
    /// As a reader of another format gave them: vectors alone give angles back but for their last bits.
    Given(Vec<GivenBox>),
    /// Those of so many frames are known elsewhere, as are their times and steps, which are not told of then.
    Elsewhere(u64),
}

impl Default for Boxes {
    /// None.
    fn default() -> Self {
        Boxes::Cells(Vec::new())
    }
}

impl Boxes {
    pub(super) fn len(&self) -> usize {
        match self {
            Boxes::Cells(cells) => cells.len(),
            Boxes::Vectors(vectors) => vectors.len(),
            Boxes::Given(boxes) => boxes.len(),
            Boxes::Elsewhere(_) => 0,
        }
    }

    /// Lengths and angles; NaN where a frame has no box, infinite where a number of it is not finite.
    pub(super) fn cell(&self, frame: u64) -> [f64; 6] {
        match self {
            Boxes::Cells(cells) => of(cells, frame).copied().unwrap_or([f64::NAN; 6]),
            Boxes::Vectors(vectors) => of(vectors, frame)
                .filter(|vectors| !vectors.iter().all(|x| x.is_nan()))
                .map_or([f64::NAN; 6], |vectors| cell_from_vectors(vectors, 1.0)),
            Boxes::Given(boxes) => of(boxes, frame).map_or([f64::NAN; 6], |(cell, _)| *cell),
            Boxes::Elsewhere(_) => [f64::NAN; 6],
        }
    }

    /// Vectors, where there are some.
    pub(super) fn vectors(&self, frame: u64) -> Option<&[f64; 9]> {
        match self {
            Boxes::Cells(_) | Boxes::Elsewhere(_) => None,
            Boxes::Vectors(vectors) => of(vectors, frame),
            Boxes::Given(boxes) => of(boxes, frame).and_then(|(_, turned)| turned.as_ref()),
        }
    }
}

/// That of a frame, or the one of all.
fn of<T>(boxes: &[T], frame: u64) -> Option<&T> {
    match boxes {
        [fixed] => Some(fixed),
        boxes => boxes.get(frame as usize),
    }
}

/// A dataset of `[rows, n_atoms, 3]` floating-point numbers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Series {
    /// Its first dimension.
    pub rows: u64,
    /// The row of each frame, or [`NO_ROW`]; where this is none, frame k stands in row k.
    pub row_of: Option<Arc<[u64]>>,
    /// How a number is stored.
    pub form: Form,
    /// What numbers are multiplied with to be of the units of [`crate::Field`].
    pub factor: f32,
    /// Where they stand.
    pub storage: Storage,
}

/// How a number is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Form {
    /// Of eight bytes, not of four.
    pub double: bool,
    /// With the byte of the sign first.
    pub big_endian: bool,
}

impl Form {
    /// Bytes of a number.
    pub(super) fn width(self) -> usize {
        if self.double { 8 } else { 4 }
    }
}

/// Where the numbers of a dataset stand.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Storage {
    /// Here: small datasets stand among the file's tables.
    Held(Vec<u8>),
    /// One after the other from this byte on.
    Contiguous(u64),
    /// In chunks.
    Chunked {
        /// Frames, atoms and axes of a chunk.
        shape: [u64; 3],
        /// What was done to each of them.
        filters: Filters,
        /// Those that were written, in any order.
        chunks: Vec<Chunk>,
    },
    /// The same, as [`Description::condensed`] makes it.
    Runs {
        /// Frames, atoms and axes of a chunk.
        shape: [u64; 3],
        /// What was done to each of them.
        filters: Filters,
        /// All of the first rows of chunks, in C order.
        runs: Vec<Run>,
    },
}

/// Chunks that follow one another, in C order and in the file, all of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// How many there are.
    pub n: u64,
    /// Where the first one stands in the file.
    pub offset: u64,
    /// Bytes that each takes there.
    pub size: u64,
    /// A bit for each filter that was left out.
    pub skipped: u32,
}

impl Series {
    /// Rows, places and sizes of the chunks; none where there are none.
    pub fn chunks(&self, n_atoms: u64) -> Option<Vec<(u64, u64, u64)>> {
        match &self.storage {
            Storage::Held(_) | Storage::Contiguous(_) => None,
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

    /// The same in less memory, where its chunks are what those of a file can be.
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

/// What was done to the bytes of a chunk, in this order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filters {
    /// The first bytes of all numbers, then the second ones, ….
    pub shuffle: bool,
    /// Gzip's compression in zlib's wrapping.
    pub deflate: bool,
}

impl Filters {
    /// What was done to a chunk for which the filters with these numbers were left out.
    pub(super) fn without(self, skipped: u32) -> Filters {
        let deflate_at = u32::from(self.shuffle);
        Filters {
            shuffle: self.shuffle && skipped & 1 == 0,
            deflate: self.deflate && skipped >> deflate_at & 1 == 0,
        }
    }

    /// Whether bytes stand in the file as they are.
    pub(super) fn are_none(self) -> bool {
        !self.shuffle && !self.deflate
    }
}

/// A chunk that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chunk {
    /// The first row, atom and axis in it.
    pub at: [u64; 3],
    /// Where it stands in the file.
    pub offset: u64,
    /// Bytes that it takes there.
    pub size: u64,
    /// A bit for each filter that was left out.
    pub skipped: u32,
}

/// Words for what no file of the format can say.
pub(super) type LayoutResult<T> = Result<T, String>;

pub(super) fn shape_of(shape: [u64; 3], form: Form) -> LayoutResult<[usize; 3]> {
    let wrong = || format!("a chunk of {} x {} x {} numbers", shape[0], shape[1], shape[2]);
    let numbers = shape.iter().try_fold(1u64, |n, &d| n.checked_mul(d));
    match numbers.and_then(|n| n.checked_mul(form.width() as u64)) {
        Some(1..=MOST_OF_A_CHUNK) => Ok(shape.map(|d| d as usize)),
        _ => Err(wrong()),
    }
}

/// Chunks of a row of chunks.
pub(super) fn across(n_atoms: u64, shape: [u64; 3]) -> u64 {
    n_atoms.div_ceil(shape[1]).saturating_mul(3u64.div_ceil(shape[2]))
}

/// The chunks in C order, up to the first that is missing.
pub(super) fn runs_of(chunks: &[Chunk], extent: [u64; 3], shape: [u64; 3]) -> LayoutResult<Vec<Run>> {
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
    // Rows of chunks that are not whole hold no frame.
    order.truncate((there - there % of_a_row.max(1)) as usize);
    let mut runs: Vec<Run> = Vec::new();
    for (_, k) in order {
        let Chunk { offset, size, skipped, .. } = chunks[k];
        match runs.last_mut() {
            Some(run) if run.goes_on_with(offset, size, skipped) => run.n += 1,
            _ => runs.push(Run { n: 1, offset, size, skipped }),
        }
    }
    runs.shrink_to_fit();
    Ok(runs)
}

impl Run {
    fn goes_on_with(&self, offset: u64, size: u64, skipped: u32) -> bool {
        let end = self.n.checked_mul(self.size).and_then(|bytes| bytes.checked_add(self.offset));
        (self.size, self.skipped) == (size, skipped) && end == Some(offset)
    }
}
