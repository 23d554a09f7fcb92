//! Maps frames and atoms to chunks and byte ranges of a file. Checks the description against the file.

use std::ops::Range;
use std::sync::Arc;

use super::description::{
    Boxes, Description, Digests, Filters, Form, LayoutResult, NO_ROW, Run, Series, Storage, across,
    runs_of, shape_of,
};
use crate::{Atoms, DecodeError, HeaderFault};

/// Largest expansion of Deflate: decompressed bytes per compressed byte.
pub const MAX_OF_A_BYTE: u64 = 1032;

/// Returns the fault of a file that does not match its description.
pub fn corrupt(words: String) -> HeaderFault {
    DecodeError::Malformed(words).into()
}

/// A series whose location was checked against the file.
#[derive(Debug)]
pub struct Field {
    row_of: Option<Arc<[u64]>>,
    /// Format of the stored numbers.
    pub form: Form,
    /// Factor that converts stored numbers to the unit of [`crate::Field`].
    pub factor: f32,
    n_atoms: usize,
    /// Numbers of frames, atoms and axes per chunk.
    pub shape: [usize; 3],
    /// Numbers of chunks along atoms and axes.
    across: [usize; 2],
    location: Location,
    /// Number of rows in the dataset.
    pub rows: u64,
    /// Number of leading rows that were written completely.
    whole_rows: u64,
}

/// Location of the numbers of a series.
#[derive(Debug)]
enum Location {
    Compact(Vec<u8>),
    Contiguous(u64),
    /// Runs of chunks, and the digest of each chunk (empty if unknown).
    Chunked(Vec<ChunkRun>, Vec<u64>),
}

/// A run of chunks that follow one another in the file.
#[derive(Clone, Copy, Debug)]
struct ChunkRun {
    /// Number of the first chunk, in C order.
    first: u64,
    offset: u64,
    /// Size of each chunk, bytes.
    size: u32,
    filters: Filters,
}

/// Selected atoms that lie in the same chunk.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Index of the chunk among those that hold a frame.
    pub chunk: usize,
    /// Range from the first to the last of these atoms.
    pub atoms: Range<usize>,
    /// Range of indices in the list of selected atoms.
    pub columns: Range<usize>,
    /// Range of axes in the chunk.
    pub axes: Range<usize>,
}

/// Bytes of the file that hold a part of a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Piece {
    /// Byte at which they begin.
    pub from: u64,
    /// Number of bytes.
    pub len: usize,
    /// Index in the unpacked piece of the first number of the part's first atom.
    pub first: usize,
    /// Filters to be undone.
    pub filters: Filters,
    /// Digest that the bytes must have, if known.
    pub digest: Option<u64>,
}

impl Piece {
    /// Whether the piece is a whole chunk, although only a part of it may be needed, because it must be unpacked
    /// or compared with its digest.
    pub fn is_chunk(&self) -> bool {
        self.digest.is_some() || !self.filters.are_none()
    }
}

impl Field {
    /// Checks the description of a series against the size of the file. Digests, if given, must cover all of its
    /// chunks.
    ///
    /// # Errors
    /// [`HeaderFault::Corrupt`], [`HeaderFault::Truncated`].
    pub fn new(
        series: &Series,
        n_atoms: usize,
        n_frames: u64,
        digests: Option<&Digests>,
        file_size: u64,
    ) -> Result<Field, HeaderFault> {
        let &Series { rows, ref row_of, form, factor, ref storage } = series;
        check_rows(rows, row_of.as_deref(), n_frames).map_err(corrupt)?;
        let row_len = 3 * n_atoms as u64 * form.width() as u64;
        let all = rows.checked_mul(row_len).ok_or_else(|| corrupt(too_many(rows)))?;
        if digests.is_some() && matches!(storage, Storage::Compact(_) | Storage::Contiguous(_)) {
            let words = "there are checksums for vectors that are not stored in chunks";
            return Err(corrupt(words.to_owned()));
        }
        type Chunked = ([usize; 3], Location, u64);
        let chunked = |runs: &[Run], shape: [usize; 3], filters| -> Result<Chunked, HeaderFault> {
            let across = across(n_atoms as u64, shape.map(|n| n as u64));
            let raw = shape.iter().product::<usize>() as u64 * form.width() as u64;
            let runs_in_file =
                checked_runs(runs, across, shape[0] as u64, (filters, raw), file_size)?;
            let n_chunks = runs.iter().map(|run| run.n).sum::<u64>();
            let digests =
                digests.map(|digests| digests_of(&runs_in_file, n_chunks, &digests.chunks));
            let digests = digests.transpose().map_err(corrupt)?.unwrap_or_default();
            let whole = (n_chunks / across).saturating_mul(shape[0] as u64).min(rows);
            Ok((shape, Location::Chunked(runs_in_file, digests), whole))
        };
        let (shape, location, whole_rows) = match storage {
            Storage::Compact(bytes) if bytes.len() as u64 == all => {
                ([1, n_atoms, 3], Location::Compact(bytes.clone()), rows)
            }
            Storage::Compact(bytes) => {
                return Err(corrupt(format!("{} bytes are there of {all}", bytes.len())));
            }
            &Storage::Contiguous(offset) => {
                check_inside(file_size, 0, offset, all)?;
                ([1, n_atoms, 3], Location::Contiguous(offset), rows)
            }
            &Storage::Chunked { shape, filters, ref chunks } => {
                let sizes = shape_of(shape, form).map_err(corrupt)?;
                let runs = runs_of(chunks, [rows, n_atoms as u64, 3], shape).map_err(corrupt)?;
                chunked(&runs, sizes, filters)?
            }
            &Storage::Runs { shape, filters, ref runs } => {
                let sizes = shape_of(shape, form).map_err(corrupt)?;
                chunked(runs, sizes, filters)?
            }
        };
        let across = [n_atoms.div_ceil(shape[1]), 3usize.div_ceil(shape[2])];
        let row_of = row_of.clone();
        Ok(Field { row_of, form, factor, n_atoms, shape, across, location, rows, whole_rows })
    }

    /// Returns the row of a frame; `None` if the series lacks it.
    pub fn row(&self, frame: u64) -> Option<u64> {
        match &self.row_of {
            None => Some(frame),
            Some(rows) => Some(rows[frame as usize]).filter(|&row| row != NO_ROW),
        }
    }

    /// Returns the first frame that was not written.
    pub fn first_unwritten(&self, n_frames: u64) -> Option<u64> {
        match &self.row_of {
            None => (self.whole_rows < n_frames).then_some(self.whole_rows),
            Some(rows) => {
                let missing = |&row: &u64| row != NO_ROW && row >= self.whole_rows;
                rows.iter().position(missing).map(|frame| frame as u64)
            }
        }
    }

    /// Returns the number of chunks that hold a frame.
    pub fn chunks_of_a_row(&self) -> usize {
        self.across[0] * self.across[1]
    }

    /// Returns the number of values in a chunk.
    pub fn numbers_of_a_chunk(&self) -> usize {
        self.shape.iter().product()
    }

    /// Collects the parts of a frame's chunks that hold selected atoms.
    pub fn parts(&self, atoms: &Atoms, parts: &mut Vec<Part>) {
        parts.clear();
        let span = atoms.span();
        let [_, length, width] = self.shape;
        let mut chunk = span.start / length;
        while chunk * length < span.end {
            let inside = (chunk * length).max(span.start)..((chunk + 1) * length).min(span.end);
            let (inside, columns) = match atoms.sorted() {
                None => (inside.clone(), inside),
                Some(list) => {
                    let place = |atom: usize| list.partition_point(|&a| (a as usize) < atom);
                    let columns = place(inside.start)..place(inside.end);
                    match list[columns.clone()] {
                        [] => (0..0, columns),
                        [first, ..] => {
                            (first as usize..list[columns.end - 1] as usize + 1, columns)
                        }
                    }
                }
            };
            if !columns.is_empty() {
                for k in 0..self.across[1] {
                    parts.push(Part {
                        chunk: chunk * self.across[1] + k,
                        atoms: inside.clone(),
                        columns: columns.clone(),
                        axes: k * width..((k + 1) * width).min(3),
                    });
                }
            }
            chunk += 1;
        }
    }

    /// Returns the bytes of the file that hold a part of a row.
    pub fn piece(&self, row: u64, part: &Part) -> Piece {
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
        match &self.location {
            Location::Compact(_) => stretch(start(0), before * width),
            Location::Contiguous(offset) => stretch(start(*offset), before * width),
            Location::Chunked(runs, digests) => {
                let row_of_chunks = row / frames as u64;
                let number = row_of_chunks * self.chunks_of_a_row() as u64 + part.chunk as u64;
                let run = &runs[runs.partition_point(|run| run.first <= number) - 1];
                let &ChunkRun { first, offset, size, filters } = run;
                let offset = offset + (number - first) * u64::from(size);
                let digest = digests.get(number as usize).copied();
                let first = ((row % frames as u64) as usize * length + before) * width;
                let whole = Piece { from: offset, len: size as usize, first, filters, digest };
                if whole.is_chunk() { whole } else { stretch(offset, first) }
            }
        }
    }

    /// Returns the bytes of a series whose numbers are part of the description.
    pub fn compact_numbers(&self) -> Option<&[u8]> {
        match &self.location {
            Location::Compact(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// Returns offset and end of the first piece of a frame, for the index; zeros if there is none.
    pub fn extent(&self, frame: u64) -> (u64, u64) {
        let Some(row) = self.row(frame) else { return (0, 0) };
        if self.compact_numbers().is_some() {
            return (0, 0);
        }
        let part =
            Part { chunk: 0, atoms: 0..self.shape[1].min(self.n_atoms), columns: 0..0, axes: 0..3 };
        let Piece { from, len, .. } = self.piece(row, &part);
        (from, from + len as u64)
    }
}

/// Checks that the numbers of atoms, times, steps and boxes are consistent; returns the numbers of atoms and
/// frames.
///
/// # Errors
/// [`HeaderFault::Corrupt`].
pub fn check_counts(description: &Description) -> Result<(usize, u64), HeaderFault> {
    let &Description { n_atoms, ref boxes, .. } = description;
    let n = u32::try_from(n_atoms).ok().filter(|&n| n > 0 && n < u32::MAX);
    let n = n.ok_or_else(|| {
        corrupt(format!("{n_atoms} atoms are described: a trajectory has 1 to 4,294,967,294"))
    })?;
    let [times, steps, n_boxes] = [description.times.len(), description.steps.len(), boxes.len()];
    let (n_frames, fit) = match boxes {
        &Boxes::InParentIndex(n) => (n, n > 0 && times == 0 && steps == 0),
        _ => (times as u64, times > 0 && steps == times && (n_boxes <= 1 || n_boxes == times)),
    };
    if !fit {
        let rule = match boxes {
            Boxes::InParentIndex(_) => "times and steps must be omitted with the boxes",
            _ => "there must be as many steps as times, and no cell, one, or one per time",
        };
        let words =
            format!("{times} times, {steps} steps and {n_boxes} cells are described: {rule}");
        return Err(corrupt(words));
    }
    Ok((n as usize, n_frames))
}

fn too_many(n: u64) -> String {
    format!("no file holds {n} frames")
}

/// Checks that there are rows for all frames.
fn check_rows(rows: u64, row_of: Option<&[u64]>, n_frames: u64) -> LayoutResult<()> {
    let fits = match row_of {
        None => n_frames <= rows,
        Some(list) => {
            list.len() as u64 == n_frames && list.iter().all(|&row| row < rows || row == NO_ROW)
        }
    };
    if fits {
        Ok(())
    } else {
        Err(format!("{n_frames} frames are described, but there are {rows} rows"))
    }
}

/// Checks that `needed` bytes from `offset` on lie in a file.
///
/// # Errors
/// [`HeaderFault::Truncated`].
pub fn check_inside(
    file_size: u64,
    frame: u64,
    offset: u64,
    needed: u64,
) -> Result<(), HeaderFault> {
    let left = file_size.saturating_sub(offset);
    if needed <= left {
        return Ok(());
    }
    Err(HeaderFault::Truncated { frame, offset, needed, left })
}

/// Checks that a chunk of `raw` bytes before filters may have `size` bytes in the file.
fn check_size(size: u64, raw: u64, filters: Filters) -> LayoutResult<()> {
    let fits = match filters.deflate {
        true => raw <= size.saturating_mul(MAX_OF_A_BYTE),
        false => size == raw,
    };
    if fits { Ok(()) } else { Err(format!("{size} bytes cannot be a chunk of {raw} bytes")) }
}

/// Checks runs against the size of the file. Chunks have `raw` bytes before filters and hold `frames` frames.
fn checked_runs(
    runs: &[Run],
    of_a_row: u64,
    frames: u64,
    (filters, raw): (Filters, u64),
    file_size: u64,
) -> Result<Vec<ChunkRun>, HeaderFault> {
    let (mut first, mut together) = (0u64, 0u64);
    let mut runs_in_file = Vec::with_capacity(runs.len());
    for &Run { n, offset, size, skipped } in runs {
        // Number of the run's chunks that lie in the file.
        let inside = file_size.saturating_sub(offset) / size.max(1);
        if inside < n {
            let row = ((first + inside) / of_a_row).saturating_mul(frames);
            check_inside(file_size, row, offset + inside * size, size)?;
        }
        let filters = filters.without(skipped);
        check_size(size, raw, filters).map_err(corrupt)?;
        let wrong = |_| corrupt(format!("a chunk of {size} bytes"));
        runs_in_file.push(ChunkRun {
            first,
            offset,
            size: u32::try_from(size).map_err(wrong)?,
            filters,
        });
        together = together.saturating_add(n.saturating_mul(size));
        first = first.saturating_add(n);
        if together > file_size {
            return Err(corrupt("chunks lie on top of each other".to_owned()));
        }
    }
    Ok(runs_in_file)
}

/// Returns the digest of each chunk in C order; `all` holds offsets and digests, sorted by offset.
fn digests_of(
    runs_in_file: &[ChunkRun],
    n_chunks: u64,
    all: &[(u64, u64)],
) -> LayoutResult<Vec<u64>> {
    let mut digests = Vec::with_capacity(n_chunks as usize);
    let ends = runs_in_file.iter().skip(1).map(|next| next.first).chain([n_chunks]);
    for (&ChunkRun { first, offset, size, .. }, end) in runs_in_file.iter().zip(ends) {
        for k in 0..end - first {
            let offset = offset + k * u64::from(size);
            let at = all.binary_search_by_key(&offset, |&(at, _)| at);
            let none = |_| format!("there is no checksum for the chunk at byte {offset}");
            digests.push(all[at.map_err(none)?].1);
        }
    }
    Ok(digests)
}
