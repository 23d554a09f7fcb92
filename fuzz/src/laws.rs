//! Laws that hold for every file, sound or not.

use std::path::Path;
use std::sync::Arc;

use trajet_files::worker::WorkerTrajectory;
use trajet_files::{
    Chain, Error, Frames, HdfLayouts, Meter, OpenOptions, ParallelFor, Reader, Scratch, Serial,
};
use trajet_formats::{Atoms, DecodeError, Field, Format, Raw};
use trajet_simd::InstructionSet;

use crate::case::without_sidecar;
use crate::disk::OnDisk;
use crate::memory::Budget;
use crate::reading::{
    Reading, Way, assert_follows, assert_part, assert_same, n_frames, read, read_frames,
};
use crate::stored;
use crate::written::{self, WrittenFile};

/// Bytes that are searched at a time for the first frame of a piece.
const SEARCHED: usize = 256 << 10;

const FIELDS: [Field; 3] = [Field::Positions, Field::Velocities, Field::Forces];

/// A file, with options for opening and reading.
#[derive(Clone, Debug)]
pub(crate) struct Case<'a> {
    pub(crate) path: &'a Path,
    /// Its contents.
    pub(crate) bytes: &'a [u8],
    /// Options common to all ways of opening.
    pub(crate) options: OpenOptions,
    /// The layout of an HDF5 file; empty for other formats.
    pub(crate) described: HdfLayouts,
    /// Memory limit in bytes for opening or reading.
    pub(crate) most: usize,
    /// Selects the further parameters: atoms, sizes of requests, numbers of pieces.
    pub(crate) turn: usize,
}

pub(crate) type Opened = Result<Arc<dyn Reader>, Error>;

impl Case<'_> {
    /// Opens and reads the file in all ways, which must agree.
    pub(crate) fn check(&self) {
        let pieces = [2, 3, 7][self.turn / 4 % 3];
        let strict = self.options.clone();
        let lax = OpenOptions { allow_truncated_tail: true, ..self.options.clone() };
        let request_size = [1, 64, 300, 4096][self.turn / 8 % 4];
        let other = OpenOptions { request_size, ..lax.clone() };
        let opened = [strict, lax].map(|options| {
            let opened = self.open(&options, 1);
            check_openings(&opened, &self.open(&options, pieces));
            opened
        });
        let lax = match opened.into() {
            (Err(_), Err(_)) => return,
            (
                Err(
                    Error::Truncated { .. }
                    | Error::Unwritten { .. }
                    | Error::UnwrittenTime { .. }
                    // A NetCDF file whose header counts no frames.
                    | Error::Unsupported { .. },
                ),
                Ok(lax),
            ) => lax,
            (Err(error), Ok(_)) => panic!("does not open strictly, and not for a cut: {error}"),
            (Ok(_), Err(error)) => {
                panic!("opens strictly, but not where a cut is allowed: {error}")
            }
            (Ok(strict), Ok(lax)) => {
                assert_eq!(strict.truncated_tail(), 0);
                self.check_index(&*strict);
                check_indices(&*strict, &*lax);
                self.check_same_frames(&*strict, &*lax);
                lax
            }
        };
        self.check_index(&*lax);
        let other = self.open(&other, 1).expect("requests of the common size are enough");
        check_indices(&*lax, &*other);
        self.check_copy(&*lax);
        let list = selection(lax.index().n_atoms(), self.turn);
        for field in FIELDS {
            let whole = self.check_sets(&*lax, field, &list);
            self.check_raw(&*lax, field, &list, &whole);
            self.check_requests(&*other, field, &list, &whole);
            self.check_worker(&lax, field, &whole);
            self.check_writing(&*lax, field, &whole);
        }
    }

    /// Opens the file, with the index built in `pieces` pieces, and checks its messages, or its error.
    pub(crate) fn open(&self, options: &OpenOptions, pieces: usize) -> Opened {
        let searched = if pieces > 1 { SEARCHED } else { 0 };
        Budget::of(self.most + searched).limited(|| {
            let opened =
                trajet_files::open_with(self.path, options, &[&self.described], &Pieces(pieces));
            match &opened {
                Ok(reader) => {
                    assert!(reader.messages().iter().all(|message| !message.text.contains('\n')))
                }
                Err(error) => {
                    let words = error.to_string();
                    assert!(!words.contains('\n'), "an error of several lines: {words}");
                }
            }
            opened
        })
    }

    /// Reads the positions of all atoms with default parameters.
    pub(crate) fn positions(&self, reader: &dyn Reader) -> Reading {
        let all = Atoms::all(reader.index().n_atoms());
        read(reader, self.way(InstructionSet::chosen(), Field::Positions, &all, false))
    }

    fn way<'a>(
        &self,
        set: InstructionSet,
        field: Field,
        atoms: &'a Atoms,
        backwards: bool,
    ) -> Way<'a> {
        Way { most: self.most, set, field, atoms, backwards }
    }

    fn check_index(&self, reader: &dyn Reader) {
        let (index, size) = (reader.index(), self.bytes.len() as u64);
        assert!(index.n_frames() > 0 && index.n_atoms() > 0);
        assert_eq!(index.n_frames(), index.times().len());
        assert_eq!(index.n_frames(), index.steps().len());
        assert!(index.end() <= size && reader.truncated_tail() <= size);
        // Frames of HDF5 need not be in order, nor contiguous.
        let n = index.n_frames() as u64;
        let follow = (0..n).all(|frame| index.offset(frame) < index.offset(frame + 1));
        assert!(follow || !self.described.0.is_empty());
        // Bounds the memory that is allocated per frame.
        let n_atoms = index.n_atoms();
        assert!(12 * n_atoms <= self.most, "{n_atoms} atoms in {size} bytes");
    }

    /// Compares the positions of all atoms.
    fn check_same_frames(&self, strict: &dyn Reader, lax: &dyn Reader) {
        let what = "strictly, and where a cut is allowed";
        assert_same(&self.positions(strict), &self.positions(lax), what);
    }

    /// Compares all sets of vector instructions, and some atoms with whole frames. Returns the whole frames.
    fn check_sets(&self, reader: &dyn Reader, field: Field, list: &[i64]) -> Reading {
        let n_atoms = reader.index().n_atoms();
        let all = Atoms::all(n_atoms);
        let some = Atoms::listed(list, n_atoms).expect("the atoms are there");
        let scalar = InstructionSet::SCALAR;
        let whole = read(reader, self.way(scalar, field, &all, false));
        let part = read(reader, self.way(scalar, field, &some, true));
        assert_part(&whole, &part, list, "some atoms");
        for set in InstructionSet::available().into_iter().filter(|&set| set != scalar) {
            let again = read(reader, self.way(set, field, &all, false));
            assert_same(&whole, &again, set.name());
            let again = read(reader, self.way(set, field, &some, true));
            assert_same(&part, &again, set.name());
        }
        whole
    }

    /// Checks that copied frames are the bytes of the file. A frame whose box is not finite must be an error both when
    /// it is copied and when it is read.
    fn check_copy(&self, reader: &dyn Reader) {
        let Some(copying) = reader.as_copy_frames() else { return };
        let index = reader.index();
        let (n, mut scratch, mut out) = (index.n_frames() as u64, Scratch::default(), Vec::new());
        let copied =
            Budget::of(self.most).limited(|| copying.copy_frames(0..n, &mut scratch, &mut out));
        if let Err(Error::Corrupt { frame, fault: DecodeError::Box, .. }) = copied {
            assert!(reader.read_raw(frame, &mut scratch).is_err());
            return;
        }
        copied.expect("the index was made just now");
        assert_eq!(out, self.bytes[index.offset(0) as usize..index.end() as usize]);
    }

    /// Compares raw frames, of all atoms and of some, with the frames.
    fn check_raw(&self, reader: &dyn Reader, field: Field, list: &[i64], whole: &Reading) {
        let n_atoms = reader.index().n_atoms();
        let some = Atoms::listed(list, n_atoms).expect("the atoms are there");
        let indices: Vec<usize> = list.iter().map(|&atom| atom as usize).collect();
        let mut scratch = Scratch::default();
        assert_eq!(whole.len(), n_frames(reader));
        for (frame, got) in whole.iter().enumerate() {
            let raw = Budget::of(self.most).limited(|| reader.read_raw(frame as u64, &mut scratch));
            let raw = match (raw, got) {
                (Ok(raw), _) => raw,
                (Err(_), Err(_)) => continue,
                // A raw frame contains all vectors: in HDF5, chunks of another field may be damaged.
                (Err(_), Ok(_)) if !self.described.0.is_empty() => continue,
                // In a text, so may numbers of another field, or a step of more than 32 bits.
                (Err(_), Ok(_)) if is_text(reader) => continue,
                // Another field was never written.
                (Err(Error::UnwrittenField { .. }), Ok(_)) => continue,
                (Err(error), Ok(_)) => panic!("no raw frame {frame}: {error}"),
            };
            match (stored::vectors(&raw, field), got) {
                (Some(stored), Ok(got)) => assert_eq!(stored, got.vectors, "raw frame {frame}"),
                (None, Ok(got)) => assert!(got.vectors.iter().all(|&v| v == u32::MAX), "{frame}"),
                // Of a field without units, raw frames have nothing either.
                (None, Err(Error::NoField { .. } | Error::Options { .. })) => {}
                (_, Err(error)) => panic!("a raw frame {frame}, but {error}"),
            }
            // An HDF5 frame without any vectors does not know its atoms.
            if matches!(raw, Raw::H5md(_)) && raw.n_atoms() == 0 {
                continue;
            }
            assert_eq!(raw.n_atoms(), n_atoms);
            let part = Budget::of(self.most)
                .limited(|| reader.read_raw_of(frame as u64, &some, &mut scratch))
                .expect("all atoms were read");
            let taken = raw.take(&indices);
            assert_eq!((part.n_atoms(), taken.n_atoms()), (list.len(), list.len()));
            assert_eq!(stored::vectors(&part, field), stored::vectors(&taken, field));
        }
    }

    /// Compares frames read with requests of the default size with those of this reader's size.
    fn check_requests(&self, reader: &dyn Reader, field: Field, list: &[i64], whole: &Reading) {
        let n_atoms = reader.index().n_atoms();
        let set = InstructionSet::chosen();
        let all = Atoms::all(n_atoms);
        let some = Atoms::listed(list, n_atoms).expect("the atoms are there");
        let again = read(reader, self.way(set, field, &all, false));
        assert_follows(whole.iter(), &again, "all atoms in other requests");
        for backwards in [false, true] {
            let part = read(reader, self.way(set, field, &some, backwards));
            assert_part(whole, &part, list, "some atoms in other requests");
        }
    }

    /// Compares frames with those of a worker process, which gets the positions of some frames, and then of others.
    fn check_worker(&self, reader: &Arc<dyn Reader>, field: Field, whole: &Reading) {
        let options = OpenOptions { allow_truncated_tail: true, ..self.options.clone() };
        let chain = Chain::from(Arc::clone(reader));
        let all = Atoms::all(reader.index().n_atoms());
        let spec = chain.worker_spec(&options, &all).expect("there is a working folder");
        let worker = WorkerTrajectory::new(spec, &[]);
        let way = self.way(InstructionSet::chosen(), field, &all, false);
        // The index of frames that lie far apart has gaps.
        let step = [1, 2, 11][self.turn % 3];
        for first in [0, 1] {
            let list: Vec<u64> = (first..whole.len() as u64).step_by(step).collect();
            let frames = Frames::Listed(list.as_slice().into());
            let slice = chain.slice(&frames);
            let there = Budget::of(self.most)
                .limited(|| worker.chain(slice, &mut Meter::default()))
                .expect("it is as it was");
            let again = read_frames(way, &frames, |request, positions, scratch, out, meta| {
                there.read_into(request, positions, scratch, out, meta)
            });
            let part = list.iter().map(|&frame| &whole[frame as usize]);
            assert_follows(part, &again, "elsewhere");
        }
    }

    /// Compares frames with those of a file to which they were written.
    fn check_writing(&self, reader: &dyn Reader, field: Field, whole: &Reading) {
        let format = [Format::Xtc, Format::Trr, Format::Dcd, Format::Ncdf][self.turn / 2 % 4];
        let written = written::write(reader, whole.len(), format, self.turn.is_multiple_of(2));
        let Some(WrittenFile { bytes, exact, own }) = written else { return };
        let file = OnDisk::new(&bytes);
        let again = match trajet_files::open(file.path(), &without_sidecar(), &Serial) {
            Ok(again) => again,
            // All atoms at the origin at time 0: such a record looks as if it had never been written.
            Err(Error::Corrupt { offset, .. })
                if format == Format::Ncdf
                    && bytes[offset as usize..][..12 * reader.index().n_atoms()]
                        .iter()
                        .all(|&byte| byte == 0) =>
            {
                return;
            }
            Err(error) => panic!("what was written as {format:?}: {error}"),
        };
        assert_eq!(again.index().n_frames(), whole.len(), "written as {format:?}");
        assert_eq!(again.index().n_atoms(), reader.index().n_atoms(), "written as {format:?}");
        if !own && (!exact || field != Field::Positions) {
            return;
        }
        let all = Atoms::all(reader.index().n_atoms());
        let way =
            Way { most: usize::MAX / 2, ..self.way(InstructionSet::SCALAR, field, &all, false) };
        for (frame, pair) in whole.iter().zip(&read(&*again, way)).enumerate() {
            match pair {
                (Ok(first), Ok(second)) => {
                    assert_eq!(first.vectors, second.vectors, "{frame} written as {format:?}");
                    // DCD computes times from the first time and a step.
                    let first_given = if format == Format::Dcd { 1 } else { 0 };
                    let same =
                        !own || first.numbers[first_given..] == second.numbers[first_given..];
                    assert!(same, "{first:?} and {second:?} written as {format:?}");
                }
                (Err(Error::NoField { .. }), Err(Error::NoField { .. })) => {}
                (Err(first), Err(second)) => {
                    panic!("frame {frame} written as {format:?}: {first} and {second}")
                }
                (Err(error), Ok(_)) => panic!("frame {frame}: {error}, but written as {format:?}"),
                (Ok(_), Err(error)) => panic!("frame {frame} written as {format:?}: {error}"),
            }
        }
    }
}

/// Runs pieces of work one after the other, the last first.
struct Pieces(usize);

impl ParallelFor for Pieces {
    fn width(&self) -> usize {
        self.0
    }
    fn each(&self, n: usize, work: &(dyn Fn(usize) + Sync)) {
        (0..n).rev().for_each(work);
    }
}

/// Returns selected atoms, in varying order and perhaps repeated.
fn selection(n_atoms: usize, turn: usize) -> Vec<i64> {
    let n = n_atoms as i64;
    match turn % 7 {
        0 => vec![0],
        1 => vec![n - 1, 0, n - 1],
        2 => (0..n).step_by(3).collect(),
        3 => (0..n).filter(|&atom| atom != n / 2).collect(),
        4 => (n / 3..n / 2 + 1).collect(),
        5 => (0..n).rev().collect(),
        _ => Vec::new(),
    }
}

fn check_openings(a: &Opened, b: &Opened) {
    match (a, b) {
        (Ok(a), Ok(b)) => check_indices(&**a, &**b),
        (Err(a), Err(b)) => assert_eq!(a.to_string(), b.to_string()),
        (a, b) => panic!("{:?} and {:?}", a.as_ref().err(), b.as_ref().err()),
    }
}

fn is_text(reader: &dyn Reader) -> bool {
    Format::named(reader.format()).is_some_and(|format| format.info().is_text)
}

fn check_indices(a: &dyn Reader, b: &dyn Reader) {
    let (a, b) = (a.index(), b.index());
    assert_eq!(a.n_atoms(), b.n_atoms());
    assert_eq!((a.offsets(), a.end(), a.steps()), (b.offsets(), b.end(), b.steps()));
    let same = |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits();
    assert!(a.times().iter().zip(b.times()).all(same), "{:?} and {:?}", a.times(), b.times());
}
