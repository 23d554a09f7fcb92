//! What is told of a file, and where the numbers of a frame stand by it.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::OwnTables;
use crate::source::Source;
use crate::{Atoms, Error, Fault, cell_from_vectors};

/// The row of a frame that a series does not have.
pub const NO_ROW: u64 = u64::MAX;
/// Deflate makes at most so many bytes of one.
pub(super) const MOST_OF_A_BYTE: u64 = 1032;
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
    /// Of chunks, by the byte at which they stand, ascending: the XXH3 of their bytes in the file. Those that
    /// are named are read whole and compared.
    pub digests: Vec<(u64, u64)>,
    /// What a user should know.
    pub remarks: Vec<String>,
    /// For whoever writes the file's frames again; nobody else is told.
    #[serde(skip)]
    pub own: Option<OwnTables>,
    /// Nanoseconds that it took to look at the tables.
    pub ns: u64,
}

/// Boxes, one or one a frame.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Boxes {
    /// Lengths and angles, as in [`crate::FrameMeta`].
    Cells(Vec<[f64; 6]>),
    /// Vectors row by row, Å.
    Vectors(Vec<[f64; 9]>),
    /// Lengths and angles, and the vectors of those that are turned, as a reader of another format gave them:
    /// vectors alone give angles back but for their last bits.
    Given(Vec<([f64; 6], Option<[f64; 9]>)>),
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
        }
    }

    /// Leaves the boxes of the first frames, or the one of all.
    pub(super) fn truncate(&mut self, n: usize) {
        match self {
            Boxes::Cells(cells) => cells.truncate(n.max(1)),
            Boxes::Vectors(vectors) => vectors.truncate(n.max(1)),
            Boxes::Given(boxes) => boxes.truncate(n.max(1)),
        }
    }

    /// Lengths and angles; NaN where a frame has no box.
    pub(super) fn cell(&self, frame: u64) -> [f64; 6] {
        match self {
            Boxes::Cells(cells) => of(cells, frame).copied().unwrap_or([f64::NAN; 6]),
            Boxes::Vectors(vectors) => {
                of(vectors, frame).map_or([f64::NAN; 6], |v| cell_from_vectors(v, 1.0))
            }
            Boxes::Given(boxes) => of(boxes, frame).map_or([f64::NAN; 6], |(cell, _)| *cell),
        }
    }

    /// Vectors, where there are some.
    pub(super) fn vectors(&self, frame: u64) -> Option<&[f64; 9]> {
        match self {
            Boxes::Cells(_) => None,
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
    pub row_of: Option<Vec<u64>>,
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
    fn without(self, skipped: u32) -> Filters {
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

/// A series whose places have been checked against the file.
#[derive(Debug)]
pub(super) struct Field {
    row_of: Option<Vec<u64>>,
    pub(super) form: Form,
    pub(super) factor: f32,
    n_atoms: usize,
    /// Frames, atoms and axes of a chunk.
    pub(super) shape: [usize; 3],
    /// Chunks along the atoms, and along the axes.
    across: [usize; 2],
    place: Place,
    /// Rows for which there is room, and those of them that are there from the first on.
    pub(super) rows: u64,
    whole_rows: u64,
}

#[derive(Debug)]
enum Place {
    Held(Vec<u8>),
    Contiguous(u64),
    /// Offset, size, skipped filters and digest of each chunk, in C order.
    Chunked(Filters, Vec<(u64, u64, u32, Option<u64>)>),
}

/// Wanted atoms that stand in the same chunk.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Part {
    /// Which of the chunks that hold a frame.
    pub(super) chunk: usize,
    /// From the first of them to the last.
    pub(super) atoms: Range<usize>,
    /// Places among all wanted ones.
    pub(super) places: Range<usize>,
    /// Which of their axes.
    pub(super) axes: Range<usize>,
}

/// Bytes of the file that hold a part of a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Piece {
    pub(super) from: u64,
    pub(super) len: usize,
    /// The place in the piece of the first number of the part's first atom, once it is unpacked.
    pub(super) first: usize,
    /// What is to be undone.
    pub(super) filters: Filters,
    /// What the bytes must be, where that is known.
    pub(super) digest: Option<u64>,
}

impl Piece {
    /// Whether it is a whole chunk, of which only a part may be wanted: there is something to be undone, or
    /// compared.
    pub(super) fn is_chunk(&self) -> bool {
        self.digest.is_some() || !self.filters.are_none()
    }
}

/// Words for what no file of the format can say.
type Said<T> = Result<T, String>;

impl Field {
    /// Checks what is told of a series.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Truncated`].
    pub(super) fn new(
        series: &Series,
        n_atoms: usize,
        n_frames: usize,
        digests: &[(u64, u64)],
        source: &Source,
    ) -> Result<Field, Error> {
        let corrupt = |words: String| Error::Corrupt {
            path: source.path().to_owned(),
            frame: 0,
            offset: 0,
            fault: Fault::Malformed(words),
        };
        let &Series { rows, ref row_of, form, factor, ref storage } = series;
        check_rows(rows, row_of.as_deref(), n_frames).map_err(corrupt)?;
        let row_len = 3 * n_atoms as u64 * form.width() as u64;
        let all = rows.checked_mul(row_len).ok_or_else(|| corrupt(too_many(rows)))?;
        let (shape, place, whole_rows) = match storage {
            Storage::Held(bytes) if bytes.len() as u64 == all => {
                ([1, n_atoms, 3], Place::Held(bytes.clone()), rows)
            }
            Storage::Held(bytes) => {
                return Err(corrupt(format!("{} bytes are there of {all}", bytes.len())));
            }
            &Storage::Contiguous(offset) => {
                check_inside(source, 0, offset, all)?;
                ([1, n_atoms, 3], Place::Contiguous(offset), rows)
            }
            &Storage::Chunked { shape, filters, ref chunks } => {
                let sizes = shape_of(shape, form).map_err(corrupt)?;
                let raw = sizes.iter().product::<usize>() as u64 * form.width() as u64;
                let (chunks, whole) =
                    in_order(chunks, [rows, n_atoms as u64, 3], shape).map_err(corrupt)?;
                let mut together = 0u64;
                for &(row, offset, size, skipped) in &chunks {
                    check_inside(source, row, offset, size)?;
                    check_size(size, raw, filters.without(skipped)).map_err(corrupt)?;
                    together = together.saturating_add(size);
                }
                if together > source.size() {
                    return Err(corrupt("chunks lie on top of each other".to_owned()));
                }
                let digest = |offset| {
                    let at = digests.binary_search_by_key(&offset, |&(at, _)| at).ok()?;
                    Some(digests[at].1)
                };
                let placed = |(_, offset, size, skip)| (offset, size, skip, digest(offset));
                let chunks = chunks.into_iter().map(placed).collect();
                (sizes, Place::Chunked(filters, chunks), whole)
            }
        };
        let across = [n_atoms.div_ceil(shape[1]), 3usize.div_ceil(shape[2])];
        let row_of = row_of.clone();
        Ok(Field { row_of, form, factor, n_atoms, shape, across, place, rows, whole_rows })
    }

    /// Where a frame stands; none where this has no such frame.
    pub(super) fn row(&self, frame: u64) -> Option<u64> {
        match &self.row_of {
            None => Some(frame),
            Some(rows) => Some(rows[frame as usize]).filter(|&row| row != NO_ROW),
        }
    }

    /// The first frame that was not written.
    pub(super) fn first_unwritten(&self, n_frames: u64) -> Option<u64> {
        match &self.row_of {
            None => (self.whole_rows < n_frames).then_some(self.whole_rows),
            Some(rows) => {
                let missing = |&row: &u64| row != NO_ROW && row >= self.whole_rows;
                rows.iter().position(missing).map(|frame| frame as u64)
            }
        }
    }

    /// Chunks that hold a frame.
    pub(super) fn chunks_of_a_row(&self) -> usize {
        self.across[0] * self.across[1]
    }

    /// Numbers in a chunk.
    pub(super) fn numbers_of_a_chunk(&self) -> usize {
        self.shape.iter().product()
    }

    /// Where wanted atoms stand in the chunks of a frame.
    pub(super) fn parts(&self, atoms: &Atoms, parts: &mut Vec<Part>) {
        parts.clear();
        let span = atoms.span();
        let [_, length, width] = self.shape;
        let mut chunk = span.start / length;
        while chunk * length < span.end {
            let inside = (chunk * length).max(span.start)..((chunk + 1) * length).min(span.end);
            let (inside, places) = match atoms.sorted() {
                None => (inside.clone(), inside),
                Some(list) => {
                    let place = |atom: usize| list.partition_point(|&a| (a as usize) < atom);
                    let places = place(inside.start)..place(inside.end);
                    match list[places.clone()] {
                        [] => (0..0, places),
                        [first, ..] => (first as usize..list[places.end - 1] as usize + 1, places),
                    }
                }
            };
            if !places.is_empty() {
                for k in 0..self.across[1] {
                    parts.push(Part {
                        chunk: chunk * self.across[1] + k,
                        atoms: inside.clone(),
                        places: places.clone(),
                        axes: k * width..((k + 1) * width).min(3),
                    });
                }
            }
            chunk += 1;
        }
    }

    /// The bytes that hold a part of a row.
    pub(super) fn piece(&self, row: u64, part: &Part) -> Piece {
        let [frames, length, width] = self.shape;
        let number = self.form.width();
        let before = part.atoms.start % length;
        let stretch = |from: u64, first: usize| Piece {
            from: from + (first * number) as u64,
            len: part.atoms.len() * width * number,
            first: 0,
            filters: Filters::default(),
            digest: None,
        };
        let start = |offset: u64| offset + row * (3 * self.n_atoms * number) as u64;
        match &self.place {
            Place::Held(_) => stretch(start(0), before * width),
            Place::Contiguous(offset) => stretch(start(*offset), before * width),
            Place::Chunked(filters, chunks) => {
                let row_of_chunks = (row / frames as u64) as usize;
                let (offset, size, skipped, digest) =
                    chunks[row_of_chunks * self.chunks_of_a_row() + part.chunk];
                let first = ((row % frames as u64) as usize * length + before) * width;
                let filters = filters.without(skipped);
                let whole = Piece { from: offset, len: size as usize, first, filters, digest };
                if whole.is_chunk() { whole } else { stretch(offset, first) }
            }
        }
    }

    /// Bytes that stand here, and not in the file.
    pub(super) fn held(&self) -> Option<&[u8]> {
        match &self.place {
            Place::Held(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// Where the bytes of a frame begin and end in the file, as far as one can say.
    pub(super) fn extent(&self, frame: u64) -> (u64, u64) {
        let Some(row) = self.row(frame) else { return (0, 0) };
        if self.held().is_some() {
            return (0, 0);
        }
        let part =
            Part { chunk: 0, atoms: 0..self.shape[1].min(self.n_atoms), places: 0..0, axes: 0..3 };
        let Piece { from, len, .. } = self.piece(row, &part);
        (from, from + len as u64)
    }
}

fn too_many(n: u64) -> String {
    format!("no file holds {n} frames")
}

fn check_rows(rows: u64, row_of: Option<&[u64]>, n_frames: usize) -> Said<()> {
    let fits = match row_of {
        None => n_frames as u64 <= rows,
        Some(list) => list.len() == n_frames && list.iter().all(|&row| row < rows || row == NO_ROW),
    };
    if fits { Ok(()) } else { Err(format!("{n_frames} frames are told of, {rows} are there")) }
}

/// Makes sure that bytes lie in the file.
fn check_inside(source: &Source, frame: u64, offset: u64, needed: u64) -> Result<(), Error> {
    let left = source.size().saturating_sub(offset);
    if needed <= left {
        return Ok(());
    }
    Err(Error::Truncated { path: source.path().to_owned(), frame, offset, needed, left })
}

fn shape_of(shape: [u64; 3], form: Form) -> Said<[usize; 3]> {
    let wrong = || format!("a chunk of {} x {} x {} numbers", shape[0], shape[1], shape[2]);
    let numbers = shape.iter().try_fold(1u64, |n, &d| n.checked_mul(d));
    match numbers.and_then(|n| n.checked_mul(form.width() as u64)) {
        Some(1..=MOST_OF_A_CHUNK) => Ok(shape.map(|d| d as usize)),
        _ => Err(wrong()),
    }
}

/// Makes sure that a chunk of `size` bytes in the file may be one of `raw` bytes.
fn check_size(size: u64, raw: u64, filters: Filters) -> Said<()> {
    let fits = match filters.deflate {
        true => raw <= size.saturating_mul(MOST_OF_A_BYTE),
        false => size == raw,
    };
    if fits { Ok(()) } else { Err(format!("{size} bytes cannot be a chunk of {raw} bytes")) }
}

type Placed = (u64, u64, u64, u32);

/// Row, offset, size and skipped filters of the chunks in C order, up to the first row of chunks that
/// is not whole, and the number of rows that they hold.
fn in_order(chunks: &[Chunk], extent: [u64; 3], shape: [u64; 3]) -> Said<(Vec<Placed>, u64)> {
    let across = [extent[1].div_ceil(shape[1]), extent[2].div_ceil(shape[2])];
    let of_a_row = across[0].checked_mul(across[1]).ok_or_else(|| too_many(extent[0]))?;
    let mut placed = Vec::with_capacity(chunks.len());
    for &Chunk { at, offset, size, skipped } in chunks {
        let fits = (0..3).all(|k| at[k] < extent[k] && at[k].is_multiple_of(shape[k]));
        let column = (at[1] / shape[1]) * across[1] + at[2] / shape[2];
        let number = (at[0] / shape[0]).checked_mul(of_a_row).and_then(|n| n.checked_add(column));
        match number {
            Some(number) if fits => placed.push((number, (at[0], offset, size, skipped))),
            _ => return Err(format!("a chunk at {}, {}, {}", at[0], at[1], at[2])),
        }
    }
    placed.sort_unstable_by_key(|&(number, _)| number);
    if placed.windows(2).any(|pair| pair[0].0 == pair[1].0) {
        return Err("two chunks for the same numbers".to_owned());
    }
    let there = (0..).zip(&placed).take_while(|(k, (number, _))| k == number).count() as u64;
    let whole = there / of_a_row;
    placed.truncate((whole * of_a_row) as usize);
    let rows = whole.saturating_mul(shape[0]).min(extent[0]);
    Ok((placed.into_iter().map(|(_, chunk)| chunk).collect(), rows))
}
