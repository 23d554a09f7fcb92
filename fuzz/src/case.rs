//! A whole file as input.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Once};

use libfuzzer_sys::Corpus;
use trajet_io::{
    Atoms, Error, Field, OpenOptions, ParallelFor, Reader, Scratch, dcd, ncdf, trr, xtc,
};
use trajet_simd::InstructionSet;

use crate::memory::{self, Budget};
use crate::reading::{Reading, Way, assert_follows, assert_part, assert_same, n_frames, read};
use crate::stored;

/// What a target is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// GROMACS' compressed format.
    Xtc,
    /// GROMACS' format of full precision.
    Trr,
    /// The format of CHARMM and NAMD.
    Dcd,
    /// The NetCDF format of Amber.
    Ncdf,
}

impl Format {
    /// The format that the door takes an input for.
    fn of(input: &[u8]) -> Option<Format> {
        let first = &input[..input.len().min(16)];
        Some(match first {
            _ if xtc::sniff(first) => Format::Xtc,
            _ if trr::sniff(first) => Format::Trr,
            _ if dcd::sniff(first) => Format::Dcd,
            _ if ncdf::sniff(first) => Format::Ncdf,
            _ => return None,
        })
    }
}

/// Bytes that are searched at a time for the frame with which a piece begins.
const SEARCHED: usize = 256 << 10;

const FIELDS: [Field; 3] = [Field::Positions, Field::Velocities, Field::Forces];

/// Reads an input in all ways, which must agree:
///
/// - the index is the same for any number of pieces;
/// - all sets of vector instructions give the same bits or the same error;
/// - some atoms, read from the last frame to the first, are those atoms of the whole frame;
/// - the raw frame, converted, is the frame, and raw some atoms are those of the raw frame;
/// - frames that are copied are the bytes of the file;
/// - what opens strictly opens where a cut tail is allowed, with the same frames; and the other way
///   round nothing but a cut is between them;
/// - requests of another size read what those of the common size do. (They may read more of a damaged
///   file: DCD's markers are compared where they are read.)
///
/// An input that another target is about is rejected.
pub fn trajectory(format: Format, input: &[u8]) -> Corpus {
    if Format::of(input).is_some_and(|other| other != format) {
        return Corpus::Reject;
    }
    let file = OnDisk::new(input);
    let strict = without_sidecar();
    let lax = OpenOptions { allow_truncated_tail: true, ..without_sidecar() };
    let request_size = [1, 64, 300, 4096][input.len() / 8 % 4];
    let other = OpenOptions { request_size, ..lax.clone() };
    let pieces = [2, 3, 7][input.len() / 4 % 3];
    let opened = [strict, lax].map(|options| {
        let opened = open(file.path(), &options, 1);
        check_openings(&opened, &open(file.path(), &options, pieces));
        opened
    });
    let lax = match opened.into() {
        (Err(_), Err(_)) => return Corpus::Keep,
        (Err(Error::Truncated { .. }), Ok(lax)) => lax,
        (Err(error), Ok(_)) => panic!("does not open strictly, and not for a cut: {error}"),
        (Ok(_), Err(error)) => panic!("opens strictly, but not where a cut is allowed: {error}"),
        (Ok(strict), Ok(lax)) => {
            assert_eq!(strict.truncated_tail(), 0);
            check_indices(&*strict, &*lax);
            check_same_frames(&*strict, &*lax);
            lax
        }
    };
    check_index(&*lax, input.len());
    let other = open(file.path(), &other, 1).expect("requests of the common size are enough");
    check_indices(&*lax, &*other);
    check_copy(&*lax, input);
    let list = selection(lax.index().n_atoms(), input.len());
    for field in FIELDS {
        let whole = check_sets(&*lax, field, &list);
        check_raw(&*lax, field, &list, &whole);
        check_requests(&*other, field, &list, &whole);
    }
    Corpus::Keep
}

/// A file that is gone with its folder when the case ends.
pub(crate) struct OnDisk {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

impl OnDisk {
    /// In memory, where the system has such a folder.
    pub(crate) fn new(bytes: &[u8]) -> OnDisk {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            // The message of a panic may take more than the case is allowed.
            let fuzzers = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |info| {
                memory::lift();
                fuzzers(info);
            }));
        });
        let memory = Path::new("/dev/shm");
        let folder = match memory.is_dir() {
            true => tempfile::tempdir_in(memory),
            false => tempfile::tempdir(),
        };
        let folder = folder.expect("a folder can be made");
        let path = folder.path().join("input");
        std::fs::write(&path, bytes).expect("the input can be written");
        OnDisk { _folder: folder, path }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

pub(crate) fn without_sidecar() -> OpenOptions {
    OpenOptions { sidecar: false, ..OpenOptions::default() }
}

/// Pieces of work one after the other, the last first.
struct Pieces(usize);

impl ParallelFor for Pieces {
    fn width(&self) -> usize {
        self.0
    }
    fn each(&self, n: usize, work: &(dyn Fn(usize) + Sync)) {
        (0..n).rev().for_each(work);
    }
}

pub(crate) type Opened = Result<Arc<dyn Reader>, Error>;

/// Opens, with the index built in so many pieces, and does what else is done with a file that opens or
/// does not.
pub(crate) fn open(path: &Path, options: &OpenOptions, pieces: usize) -> Opened {
    let size = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    let searched = if pieces > 1 { SEARCHED } else { 0 };
    Budget::of(size).and(searched).theirs(|| {
        let opened = trajet_io::open(path, options, &Pieces(pieces));
        match &opened {
            Ok(reader) => assert!(reader.remarks().iter().all(|remark| !remark.contains('\n'))),
            Err(error) => {
                let words = error.to_string();
                assert!(!words.contains('\n'), "an error of several lines: {words}");
            }
        }
        opened
    })
}

/// Atoms that are wanted, in some order, perhaps repeated.
fn selection(n_atoms: usize, input: usize) -> Vec<i64> {
    let n = n_atoms as i64;
    match input % 7 {
        0 => vec![0],
        1 => vec![n - 1, 0, n - 1],
        2 => (0..n).step_by(3).collect(),
        3 => (0..n).filter(|&atom| atom != n / 2).collect(),
        4 => (n / 3..n / 2 + 1).collect(),
        5 => (0..n).rev().collect(),
        _ => Vec::new(),
    }
}

fn check_index(reader: &dyn Reader, input: usize) {
    let index = reader.index();
    assert!(index.n_frames() > 0 && index.n_atoms() > 0);
    assert_eq!(index.n_frames(), index.times().len());
    assert_eq!(index.n_frames(), index.steps().len());
    let n = index.n_frames() as u64;
    assert!((0..n).all(|frame| index.offset(frame) < index.offset(frame + 1)));
    assert!(index.end() <= input as u64 && reader.truncated_tail() <= input as u64);
}

fn check_openings(a: &Opened, b: &Opened) {
    match (a, b) {
        (Ok(a), Ok(b)) => check_indices(&**a, &**b),
        (Err(a), Err(b)) => assert_eq!(a.to_string(), b.to_string()),
        (a, b) => panic!("{:?} and {:?}", a.as_ref().err(), b.as_ref().err()),
    }
}

fn check_indices(a: &dyn Reader, b: &dyn Reader) {
    let (a, b) = (a.index(), b.index());
    assert_eq!(a.n_atoms(), b.n_atoms());
    assert_eq!((a.offsets(), a.end(), a.steps()), (b.offsets(), b.end(), b.steps()));
    let same = |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits();
    assert!(a.times().iter().zip(b.times()).all(same), "{:?} and {:?}", a.times(), b.times());
}

/// Compares the positions of all atoms.
fn check_same_frames(strict: &dyn Reader, lax: &dyn Reader) {
    let all = Atoms::all(strict.index().n_atoms());
    let set = InstructionSet::chosen();
    let way = Way { set, field: Field::Positions, atoms: &all, backwards: false };
    assert_same(&read(strict, way), &read(lax, way), "strictly, and where a cut is allowed");
}

/// Compares all sets of vector instructions, and with the whole what is read of some atoms; returns the
/// whole.
fn check_sets(reader: &dyn Reader, field: Field, list: &[i64]) -> Reading {
    let n_atoms = reader.index().n_atoms();
    let all = Atoms::all(n_atoms);
    let some = Atoms::listed(list, n_atoms).expect("the atoms are there");
    let way = |set, atoms, backwards| Way { set, field, atoms, backwards };
    let whole = read(reader, way(InstructionSet::SCALAR, &all, false));
    let part = read(reader, way(InstructionSet::SCALAR, &some, true));
    assert_part(&whole, &part, list, "some atoms");
    for set in InstructionSet::available().into_iter().filter(|&set| set != InstructionSet::SCALAR)
    {
        let again = read(reader, way(set, &all, false));
        assert_same(&whole, &again, set.name());
        let again = read(reader, way(set, &some, true));
        assert_same(&part, &again, set.name());
    }
    whole
}

/// Frames that are copied are the bytes of the file.
fn check_copy(reader: &dyn Reader, input: &[u8]) {
    let index = reader.index();
    let (n, mut scratch, mut out) = (index.n_frames() as u64, Scratch::default(), Vec::new());
    let budget = Budget::of(reader.source().size());
    let copied = budget.theirs(|| reader.copy_frames(0..n, &mut scratch, &mut out));
    match copied.expect("the index was made just now") {
        true => assert_eq!(out, input[index.offset(0) as usize..index.end() as usize]),
        false => assert!(out.is_empty()),
    }
}

/// Compares raw frames, of all atoms and of some, with the frames.
fn check_raw(reader: &dyn Reader, field: Field, list: &[i64], whole: &Reading) {
    let n_atoms = reader.index().n_atoms();
    let some = Atoms::listed(list, n_atoms).expect("the atoms are there");
    let indices: Vec<usize> = list.iter().map(|&atom| atom as usize).collect();
    let mut scratch = Scratch::default();
    let size = reader.source().size();
    for frame in 0..n_frames(reader) {
        let budget = Budget::of(size);
        let raw = budget.theirs(|| reader.read_raw(frame as u64, &mut scratch));
        let raw = match (raw, &whole[frame]) {
            (Ok(raw), _) => raw,
            (Err(_), Err(_)) => continue,
            (Err(error), Ok(_)) => panic!("no raw frame {frame}: {error}"),
        };
        assert_eq!(raw.n_atoms(), n_atoms);
        match (stored::vectors(&raw, field), &whole[frame]) {
            (Some(stored), Ok(got)) => assert_eq!(stored, got.vectors, "raw frame {frame}"),
            (None, Ok(got)) => assert!(got.vectors.iter().all(|&v| v == u32::MAX), "frame {frame}"),
            (None, Err(Error::NoField { .. })) => {}
            (_, Err(error)) => panic!("a raw frame {frame}, but {error}"),
        }
        let budget = Budget::of(size);
        let part = budget.theirs(|| reader.read_raw_of(frame as u64, &some, &mut scratch));
        let (part, taken) = (part.expect("all atoms were read"), raw.take(&indices));
        assert_eq!((part.n_atoms(), taken.n_atoms()), (list.len(), list.len()));
        assert_eq!(stored::vectors(&part, field), stored::vectors(&taken, field));
    }
}

/// Compares what was read with requests of the common size with what this reader's give.
fn check_requests(reader: &dyn Reader, field: Field, list: &[i64], whole: &Reading) {
    let n_atoms = reader.index().n_atoms();
    let set = InstructionSet::chosen();
    let all = Atoms::all(n_atoms);
    let some = Atoms::listed(list, n_atoms).expect("the atoms are there");
    let way = |atoms, backwards| Way { set, field, atoms, backwards };
    let again = read(reader, way(&all, false));
    assert_follows(whole, &again, "all atoms in other requests");
    for backwards in [false, true] {
        let part = read(reader, way(&some, backwards));
        assert_part(whole, &part, list, "some atoms in other requests");
    }
}
