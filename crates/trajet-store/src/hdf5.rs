//! Tags in HDF5. This crate does not link libhdf5: the caller that opens a store supplies a [`Writer`]. Frames are
//! first written to an intermediate file, from which the writer makes an HDF5 file; the two are then compared value by
//! value.
//!
//! The layout of the file is stored beside the manifest (`hdf5::tables`).
//!
//! Digests cover the chunks and the bytes between them (tables, times, steps, boxes), which are shared out among
//! frames: reading all frames compares every byte, those between chunks once per process. A chunk without a known
//! digest is an error. Exact cells, times and steps of the tag are in the index of the whole trajectory, once for all
//! such tags.

use std::io::Read;
use std::ops::Range;
use std::path::Path;
use std::slice::from_ref;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use trajet_engine::{Control, run};
use trajet_files::{
    Chain, FrameIndex, Frames, HdfLayouts, OpenOptions, ReadRequest, Scratch, Serial, chain,
};
use trajet_formats::h5md::{Boxes, Description, NO_ROW, Series, Storage};
use trajet_formats::{
    Atoms, Extra, Field, Format, FrameMeta, ReportedBox, vectors_from_cell, xxh3_64,
};

use crate::control::Staged;
use crate::hdf5::tables::{Piece, Tables};
use crate::limits::Filled;
use crate::location::index_of;
use crate::manifest::{self, StoredFile, Tag};
use crate::partitioned::{MetadataFile, Part, Partition, Partitions};
use crate::transaction::Transaction;
use crate::{Error, Store, atomic_files};

mod native_units;
pub(crate) mod tables;
pub(crate) mod writer;

pub use writer::{Job, Stage, Writer};

/// Maximal bytes of a piece that holds no vectors. Reading a single frame verifies one such piece, too.
const PIECE: u64 = 256 << 10;
/// Stages of making a file: writing and comparing.
pub(crate) const STAGES: usize = 2;
/// Frames per comparison task.
const COMPARED: usize = 64;
/// Tolerance for box vectors, relative to the longest edge. The height of a flat cell is the square root of a small
/// difference, which magnifies rounding.
const BOX_TOLERANCE: f64 = 1e-6;

/// A tag's HDF5 file that is to be made from an intermediate file.
pub(crate) struct Hdf5Job<'a> {
    pub(crate) tag: &'a Tag,
    /// Fields of the frames that the tag omits.
    pub(crate) lost: &'a [Extra],
    /// The intermediate file, which is deleted when the HDF5 file is done.
    pub(crate) from: &'a Path,
    pub(crate) to: &'a Path,
    /// The format of the original.
    pub(crate) format: Format,
    pub(crate) times: &'a [f64],
    pub(crate) steps: &'a [i64],
    /// Bytes of each frame of the intermediate file.
    pub(crate) sizes: &'a [u64],
    pub(crate) heads: &'a MetadataFile,
    /// Path of the file that holds `heads`.
    pub(crate) heads_at: &'a Path,
    pub(crate) filled: &'a Filled,
    pub(crate) threads: usize,
    pub(crate) stage: Stage,
}

impl Hdf5Job<'_> {
    /// Makes the HDF5 file. Returns its size in bytes and the file of its layout.
    pub(crate) fn make(
        self,
        writer: &dyn Writer,
        transaction: &mut Transaction<'_>,
        control: &mut dyn Control,
    ) -> Result<(u64, StoredFile), Error> {
        let Hdf5Job { tag, to, filled, threads, stage, .. } = self;
        let own = self.is_own();
        let velocities = self.any_holds(Field::Velocities)?;
        let forces = self.any_holds(Field::Forces)?;
        let (chain, options) = self.open()?;
        let filled = filled.clone();
        let job = Job { chain, options, path: to, own, velocities, forces, filled, threads, stage };
        let what = |what: String| Error::Hdf5 { path: to.to_owned(), what };
        let mut description = writer.write(job).map_err(what)?.condensed();
        let (from, options) = self.open()?;
        let described = HdfLayouts([(to.to_owned(), Arc::new(description.clone()))].into());
        let made = chain::open_with(&[to.to_owned()], &options, &[&described], &Serial)?;
        let fields = Field::ALL.into_iter().zip([true, velocities, forces]);
        let fields = fields.filter(|(_, is)| *is).map(|(field, _)| field).collect();
        let pair = Pair {
            from,
            made,
            n_frames: self.times.len(),
            n_atoms: tag.n_atoms(),
            fields,
            own,
            path: to,
        };
        let stage = Stage { number: stage.number + 1, ..stage };
        let boxes = pair.compare(threads, &mut Staged { control, stage })?;
        description.boxes = Boxes::of_reported(boxes);
        drop(pair);
        let pieces = pieces_of(to, &description, control)?;
        let size = pieces.iter().map(|piece| piece.size).sum();
        (description.times, description.steps) = Default::default();
        let file = transaction.name_beside(&format!("layout-{}", tag.name), ".bin")?;
        let tables = Tables { description, pieces }.to_bytes();
        let kept = atomic_files::write_kept(&transaction.folder(), file, &tables)?;
        // Frees the space before the next tag is made.
        atomic_files::remove(self.from)?;
        atomic_files::remove(&index_of(self.from))?;
        Ok((size, kept))
    }

    /// Returns whether the original is H5MD, too.
    fn is_own(&self) -> bool {
        self.format.is_of_library()
    }

    /// Returns whether a frame has vectors that the tag can hold; false for tags that allow no loss.
    fn any_holds(&self, field: Field) -> Result<bool, Error> {
        let is_lost = Extra::of(field).is_some_and(|extra| self.lost.contains(&extra));
        let looked_at = if self.tag.lossy && !is_lost { self.heads.len() } else { 0 };
        for frame in 0..looked_at {
            if self.heads.get(frame)?.holds(field) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Opens the intermediate file with the times and steps of the original, which not every format holds.
    fn open(&self) -> Result<(Chain, OpenOptions), Error> {
        let n_atoms = self.tag.n_atoms();
        let (mut index, mut end) = (FrameIndex::new(n_atoms), 0);
        for ((&time, &step), &size) in self.times.iter().zip(self.steps).zip(self.sizes) {
            index.push(end, end + size, time, step);
            end += size;
        }
        let all = 0..n_atoms as u32;
        // Times and boxes of H5MD in the units of the file are stored with the heads.
        let (described, heads) = match self.is_own() {
            true => (vec![Arc::new(self.rows()?)], vec![self.heads_at.to_owned()]),
            false => Default::default(),
        };
        let path = self.from.to_owned();
        let part = Part {
            name: self.tag.name.clone(),
            tier: 0,
            paths: vec![path.clone()],
            written: Vec::new(),
            described,
            atoms: vec![all],
            lost: self.lost.to_vec(),
            mark: None,
            precision: None,
        };
        let partition = Partition {
            n_atoms,
            format: self.format.name().to_owned(),
            index: index.into(),
            heads,
            parts: vec![part],
            files: None,
            filled: false,
            remedy: String::new(),
            stored_messages: Vec::new(),
            on_files: Vec::new(),
        };
        let divided = Partitions([(path.clone(), partition)].into());
        let options = OpenOptions::default();
        Ok((chain::open_with(from_ref(&path), &options, &[&divided], &Serial)?, options))
    }
}

/// An intermediate file, and the HDF5 file made from it.
struct Pair<'a> {
    from: Chain,
    made: Chain,
    n_frames: usize,
    n_atoms: usize,
    fields: Vec<Field>,
    /// Whether everything in a frame must be equal, instead of only vectors, times and steps.
    own: bool,
    path: &'a Path,
}

impl Pair<'_> {
    /// Checks that both files hold the same frames. Returns the boxes.
    fn compare(
        &self,
        threads: usize,
        control: &mut dyn Control,
    ) -> Result<Vec<ReportedBox>, Error> {
        let Pair { made, n_frames, n_atoms, .. } = self;
        if (made.n_frames(), made.n_atoms()) != (*n_frames, *n_atoms) {
            let (frames, atoms) = (made.n_frames(), made.n_atoms());
            let what = format!("has {frames} frames of {atoms} atoms, not {n_frames} of {n_atoms}");
            return Err(self.other(&what));
        }
        let n_pieces = n_frames.div_ceil(COMPARED);
        let found: Vec<Mutex<Result<Vec<ReportedBox>, Error>>> =
            (0..n_pieces).map(|_| Mutex::new(Ok(Vec::new()))).collect();
        let (done, stop) = (AtomicUsize::new(0), Arc::new(AtomicBool::new(false)));
        let work = |k: usize| {
            let frames = k * COMPARED..(*n_frames).min((k + 1) * COMPARED);
            *found[k].lock().unwrap_or_else(PoisonError::into_inner) =
                self.compare_some(frames, &done, &stop);
        };
        run::each(n_pieces, threads, &work, (&done, *n_frames), &stop, control)?;
        if stop.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        let mut boxes = Vec::with_capacity(*n_frames);
        for piece in found {
            boxes.extend(piece.into_inner().unwrap_or_else(PoisonError::into_inner)?);
        }
        Ok(boxes)
    }

    /// Compares a range of frames.
    fn compare_some(
        &self,
        some: Range<usize>,
        done: &AtomicUsize,
        stop: &Arc<AtomicBool>,
    ) -> Result<Vec<ReportedBox>, Error> {
        if self.own {
            return self.compare_all(some, done, stop);
        }
        let (frames, atoms) = (Frames::all(self.n_frames), Atoms::all(self.n_atoms));
        let mut boxes = Vec::with_capacity(some.len());
        for &field in &self.fields {
            let request = ReadRequest { frames: &frames, atoms: &atoms, field };
            let scratch = || Scratch::stopped_by(Arc::clone(stop));
            let (mut ours, mut theirs) = (scratch(), scratch());
            let mut vectors = [vec![0.0; 3 * self.n_atoms], vec![0.0; 3 * self.n_atoms]];
            for at in some.clone() {
                let ([a, b], here) = (&mut vectors, at..at + 1);
                let [mut was, mut is] = [FrameMeta::default(), FrameMeta::default()];
                self.from.read_into(&request, here.clone(), &mut ours, a, &mut was)?;
                self.made.read_into(&request, here, &mut theirs, b, &mut is)?;
                let when = |meta: &FrameMeta| (meta.times[0].to_bits(), meta.steps[0]);
                let alike =
                    |(x, y): (&f32, &f32)| x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan();
                if !a.iter().zip(&*b).all(alike) || when(&was) != when(&is) {
                    return Err(
                        self.other(&format!("frame {at} differs from the one that was divided"))
                    );
                }
                if field == Field::Positions {
                    let made = self.made.known_box(at as u64);
                    let is_same = was.cells[0][0].is_nan() || was.periodic == is.periodic;
                    if !is_box(&was, made) || !is_same {
                        return Err(self.other(&format!(
                            "the box of frame {at} differs from the one that was divided"
                        )));
                    }
                    boxes.push((was.cells[0], was.turned[0], was.periodic[0]));
                    done.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
        Ok(boxes)
    }

    fn other(&self, what: &str) -> Error {
        let words = "the HDF5 writer of this installation is faulty, and nothing was divided";
        Error::damaged(self.path, format!("{what}: {words}"))
    }
}

/// Returns whether box vectors equal the cell of a frame within [`BOX_TOLERANCE`]. Cells that are geometrically
/// impossible have no vectors to compare with and pass.
fn is_box(was: &FrameMeta, vectors: Option<[f64; 9]>) -> bool {
    match (was.turned[0], vectors_from_cell(&was.cells[0])) {
        (Some(turned), _) => vectors == Some(turned),
        (None, Some(usual)) => vectors.is_some_and(|vectors| {
            let most = BOX_TOLERANCE * was.cells[0][..3].iter().copied().fold(0.0, f64::max);
            vectors.iter().zip(&usual).all(|(x, y)| (x - y).abs() <= most)
        }),
        (None, None) => !was.cells[0][0].is_nan() || vectors.is_none(),
    }
}

impl Store {
    /// Reads the layout and digests of an HDF5 file; `None` for other files.
    pub(crate) fn tables_of(
        &self,
        name: &str,
        file: &manifest::File,
    ) -> Result<Option<Tables>, Error> {
        let Some(kept) = &file.layout_file else { return Ok(None) };
        let folder = self.folder_of(name);
        let tables = Tables::of(&atomic_files::read_kept(&folder, kept)?);
        let what = "is of another version: divide the data set again with trajet store retag";
        let damaged = || Error::damaged(&folder.join(&kept.file), what);
        tables.map(Some).ok_or_else(damaged)
    }

    /// Returns the layout of an HDF5 file and the boxes of its frames; `None` for other files.
    pub(crate) fn layout_of(
        &self,
        name: &str,
        file: &manifest::File,
        n_frames: usize,
    ) -> Result<Option<(Description, Vec<ReportedBox>)>, Error> {
        let (Some(kept), Some(tables)) = (&file.layout_file, self.tables_of(name, file)?) else {
            return Ok(None);
        };
        let what = format!("does not hold the boxes of {n_frames} frames");
        let damaged = || Error::damaged(&self.folder_of(name).join(&kept.file), what);
        tables.described(n_frames).map(Some).ok_or_else(damaged)
    }
}

/// Splits a file into pieces and computes their digests.
fn pieces_of(
    path: &Path,
    description: &Description,
    control: &mut dyn Control,
) -> Result<Vec<Piece>, Error> {
    let mut file = atomic_files::open(path).map_err(Error::io(path, "read"))?;
    let size = file.metadata().map_err(Error::io(path, "read"))?.len();
    let Description { positions, velocities, forces, .. } = description;
    let mut chunks = Vec::new();
    for series in [positions, velocities, forces].into_iter().flatten() {
        let found =
            chunks_of(series, description.n_atoms).map_err(|what| Error::damaged(path, what))?;
        chunks.extend(found);
    }
    chunks.sort_unstable_by_key(|&(offset, ..)| offset);
    let (mut pieces, mut bytes, mut at) = (Vec::new(), Vec::new(), 0);
    let mut add = |frames, len: u64| -> Result<(), Error> {
        if control.interrupted() {
            return Err(Error::Interrupted);
        }
        bytes.resize(len as usize, 0);
        file.read_exact(&mut bytes).map_err(Error::io(path, "read"))?;
        pieces.push(Piece { frames, size: len, digest: xxh3_64(&bytes) });
        Ok(())
    };
    for (offset, len, frames) in chunks.into_iter().chain([(size, 0, 0..0)]) {
        while at < offset {
            let len = (offset - at).min(PIECE);
            add(None, len)?;
            at += len;
        }
        if at != offset {
            let what = format!("has a chunk at byte {offset}, inside the one before it");
            return Err(Error::damaged(path, what));
        }
        if len > 0 {
            add(Some(frames), len)?;
            at += len;
        }
    }
    Ok(pieces)
}

/// Returns offset, size in bytes, and frames of each chunk of a series.
///
/// # Errors
/// A message if reads of the series could not be verified chunk by chunk.
fn chunks_of(series: &Series, n_atoms: u64) -> Result<Vec<(u64, u64, Range<u64>)>, String> {
    let (Storage::Chunked { shape, .. } | Storage::Runs { shape, .. }) = series.storage else {
        return Err("has vectors that stand in no chunks".to_owned());
    };
    let frame_of: Option<Vec<u64>> = series.row_of.as_ref().map(|rows| {
        let there = (0..).zip(&rows[..]).filter(|&(_, &row)| row != NO_ROW);
        there.map(|(frame, _)| frame).collect()
    });
    let frame = |row: u64| match &frame_of {
        None => Some(row).filter(|&row| row < series.rows),
        Some(frames) => frames.get(row as usize).copied(),
    };
    let chunk = |(row, offset, size): (u64, u64, u64)| {
        let last = series.rows.min(row.saturating_add(shape[0])).saturating_sub(1);
        match (frame(row), frame(last)) {
            (Some(first), Some(last)) => Ok((offset, size, first..last + 1)),
            _ => Err(format!("has a chunk at byte {offset} for row {row}, which is of no frame")),
        }
    };
    series.chunks(n_atoms).unwrap_or_default().into_iter().map(chunk).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use trajet_formats::h5md::{Chunk, Filters, Form};

    use super::*;

    /// A control that never interrupts.
    struct Never;

    impl Control for Never {
        fn progress(&mut self, _: usize, _: usize) {}

        fn interrupted(&mut self) -> bool {
            false
        }
    }

    fn series(shape: [u64; 3], chunks: Vec<Chunk>, rows: u64, row_of: Option<Vec<u64>>) -> Series {
        let form = Form { double: false, big_endian: false };
        let storage = Storage::Chunked { shape, filters: Filters::default(), chunks };
        Series { rows, row_of: row_of.map(Into::into), form, factor: 1.0, storage }
    }

    #[test]
    fn chunks_have_the_frames_of_their_rows() {
        let chunk = |at: u64, offset| Chunk { at: [at, 0, 0], offset, size: 10, skipped: 0 };
        let chunks = vec![chunk(0, 50), chunk(2, 60), chunk(4, 5)];
        let all = series([2, 9, 3], chunks.clone(), 5, None);
        assert_eq!(chunks_of(&all, 9).unwrap(), [(50, 10, 0..2), (60, 10, 2..4), (5, 10, 4..5)]);
        // Only frames 1, 3, 4, 8 and 9 have rows.
        let row_of = [NO_ROW, 0, NO_ROW, 1, 2, NO_ROW, NO_ROW, NO_ROW, 3, 4];
        let some = series([2, 9, 3], chunks, 5, Some(row_of.to_vec()));
        assert_eq!(chunks_of(&some, 9).unwrap(), [(50, 10, 1..4), (60, 10, 4..9), (5, 10, 9..10)]);
    }

    #[test]
    fn chunks_that_cannot_be_verified_are_refused() {
        let chunk = |row: u64, offset| Chunk { at: [row, 0, 0], offset, size: 10, skipped: 0 };
        let some = |row_of| series([2, 9, 3], vec![chunk(0, 50), chunk(2, 60)], 4, row_of);
        let words = |series: Series| chunks_of(&series, 9).unwrap_err();
        let row_of = Some(vec![0, 1, NO_ROW]);
        assert_eq!(words(some(row_of)), "has a chunk at byte 60 for row 2, which is of no frame");
        let beyond = Series { rows: 2, ..some(None) };
        assert_eq!(words(beyond), "has a chunk at byte 60 for row 2, which is of no frame");
        let contiguous = Series { storage: Storage::Contiguous(8), ..some(None) };
        assert_eq!(words(contiguous), "has vectors that stand in no chunks");
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), [0; 100]).unwrap();
        let chunks = vec![chunk(0, 50), chunk(2, 55)];
        let positions = Some(series([2, 9, 3], chunks, 4, None));
        let description = Description { positions, ..Description::default() };
        let error = pieces_of(file.path(), &description, &mut Never).unwrap_err().to_string();
        assert!(error.contains("a chunk at byte 55, inside the one before it"), "{error}");
    }

    #[test]
    fn boxes_are_compared_if_the_cell_is_possible() {
        let meta = |cell, turned| FrameMeta {
            cells: vec![cell],
            turned: vec![turned],
            ..FrameMeta::default()
        };
        let cell = [30.0, 40.0, 50.0, 80.0, 70.0, 60.0];
        let was = meta(cell, None);
        let vectors = vectors_from_cell(&cell).unwrap();
        assert!(is_box(&was, Some(vectors.map(|x| x * (1.0 + 1e-9)))));
        assert!(!is_box(&was, None));
        for k in 0..9 {
            let mut other = vectors;
            other[k] += 1e-3;
            assert!(!is_box(&was, Some(other)), "{k}");
            other[k] = f64::NAN;
            assert!(!is_box(&was, Some(other)), "{k}");
            let turned = meta(cell, Some(vectors));
            other[k] = f64::from_bits(vectors[k].to_bits() ^ 1);
            assert!(is_box(&turned, Some(vectors)) && !is_box(&turned, Some(other)), "{k}");
        }
        let none = meta([f64::NAN; 6], None);
        assert!(is_box(&none, None) && !is_box(&none, Some(vectors)));
        // No box has these angles.
        let impossible = meta([30.0, 40.0, 50.0, 0.0, 0.0, 0.0], None);
        assert!(is_box(&impossible, None) && is_box(&impossible, Some([0.0; 9])));
    }

    #[test]
    fn stages_follow_one_another() {
        let done: Vec<usize> = (0..3)
            .flat_map(|number| (0..=7).map(move |done| Stage { number, of: 3 }.done(done, 7)))
            .collect();
        assert!(done.is_sorted());
        assert_eq!((done[0], done[done.len() - 1]), (0, 7));
        assert_eq!(Stage { number: 0, of: 1 }.done(5, 7), 5);
    }

    proptest! {
        #[test]
        fn pieces_cover_the_file(
            gaps in prop::collection::vec((0u64..3_000_000, 1u64..5000), 0..4),
            tail in 0u64..100,
        ) {
            let (mut chunks, mut at) = (Vec::new(), 0);
            for (row, &(gap, size)) in (0..).zip(&gaps) {
                at += gap;
                chunks.push(Chunk { at: [row, 0, 0], offset: at, size, skipped: 0 });
                at += size;
            }
            let bytes: Vec<u8> = (0..at + tail).map(|k| (k % 251) as u8).collect();
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), &bytes).unwrap();
            chunks.reverse();
            let positions = Some(series([1, 9, 3], chunks, gaps.len() as u64, None));
            let description = Description { n_atoms: 9, positions, ..Description::default() };
            let pieces = pieces_of(file.path(), &description, &mut Never).unwrap();
            let description = description.condensed();
            let again = pieces_of(file.path(), &description, &mut Never).unwrap();
            prop_assert_eq!(&again, &pieces);
            let (mut at, mut chunks) = (0, Vec::new());
            for Piece { frames, size, digest } in &pieces {
                let here = &bytes[at..at + *size as usize];
                prop_assert_eq!(*digest, xxh3_64(here));
                prop_assert!(*size > 0 && (frames.is_some() || *size <= PIECE));
                at += here.len();
                chunks.extend(frames.clone().map(|frames| (frames.start, *size)));
            }
            prop_assert_eq!(at, bytes.len());
            let expected: Vec<_> = (0..).zip(&gaps).map(|(row, &(_, size))| (row, size)).collect();
            prop_assert_eq!(chunks, expected);
            let tables = Tables { description, pieces };
            let kept = tables.to_bytes();
            let back = Tables::of(&kept).unwrap();
            prop_assert_eq!(&back.pieces, &tables.pieces);
            prop_assert_eq!(back.to_bytes(), kept.clone());
            for n in 0..kept.len() {
                prop_assert!(Tables::of(&kept[..n]).is_none());
            }
        }
    }
}
