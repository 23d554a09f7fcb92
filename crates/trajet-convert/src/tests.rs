//! Laws of copying: outputs are complete or absent, and have the same bytes for any number of threads.

use std::path::{Path, PathBuf};

use trajet_engine::{Control, RunError, TaskFault, open};
use trajet_files::{Chain, Error, Frames, OpenOptions, Scratch};
use trajet_formats::{Atoms, Field, Format, Raw, WriteOptions};

use crate::encode_pipeline::TASK_FRAMES;
use crate::*;

mod divided;
mod output_pieces;

const N_ATOMS: usize = 7;

struct Made {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

/// Writes an XTC file of seven moving atoms (stored as plain floats).
fn made(n_frames: usize) -> Made {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made.xtc");
    let (mut bytes, mut state) = (Vec::new(), 7u64);
    for frame in 0..n_frames as i32 {
        bytes.extend([1995, N_ATOMS as i32, frame].iter().flat_map(|v| v.to_be_bytes()));
        bytes.extend((frame as f32 * 2.0).to_be_bytes());
        bytes.extend([0u8; 36]);
        bytes.extend((N_ATOMS as i32).to_be_bytes());
        for _ in 0..3 * N_ATOMS {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            bytes.extend(((state >> 40) as f32 / (1 << 22) as f32).to_be_bytes());
        }
    }
    std::fs::write(&path, bytes).unwrap();
    Made { _folder: folder, path }
}

fn opened(made: &Made) -> Chain {
    let options = OpenOptions { sidecar: false, request_size: 4096, ..OpenOptions::default() };
    open(std::slice::from_ref(&made.path), &options, 2, &mut Quiet::default()).unwrap()
}

/// Cancels on request. Progress must not decrease.
#[derive(Default)]
struct Quiet {
    last: usize,
    stop_at_once: bool,
}

impl Control for Quiet {
    fn progress(&mut self, done: usize, _: usize) {
        assert!(done >= self.last);
        self.last = done;
    }

    fn interrupted(&mut self) -> bool {
        self.stop_at_once
    }
}

fn request<'a>(
    frames: &'a Frames,
    atoms: &'a Atoms,
    path: &'a Path,
    format: Format,
    options: &'a WriteOptions,
) -> Request<'a> {
    Request { frames, atoms, path, format, options, force: false }
}

fn copied(threads: usize, format: Format, name: &str) -> (tempfile::TempDir, Vec<u8>) {
    let made = made(700);
    let chain = opened(&made);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    let frames = Frames::Strided { first: 699, step: -3, count: 200 };
    let atoms = Atoms::listed(&[5, 0, 3], 7).unwrap();
    let options = WriteOptions::default();
    let request = request(&frames, &atoms, &path, format, &options);
    let done = convert(&chain, &request, threads, &mut Quiet::default()).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!(done.bytes, bytes.len() as u64);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left");
    let again = convert(&chain, &request, threads, &mut Quiet::default());
    let Err(RunError::Tasks(errors)) = again else { panic!("an output that is there") };
    assert!(matches!(errors[0].fault, TaskFault::Input(Error::Exists { .. })));
    (folder, bytes)
}

#[test]
fn any_number_of_threads_writes_the_same_bytes() {
    for (format, name) in [
        (Format::Xtc, "c.xtc"),
        (Format::Trr, "c.trr"),
        (Format::Dcd, "c.dcd"),
        (Format::Ncdf, "c.nc"),
    ] {
        let (folder, serial) = copied(1, format, name);
        for threads in [2, 7] {
            assert!(copied(threads, format, name).1 == serial, "{name} {threads}");
        }
        let options = OpenOptions { sidecar: false, ..Default::default() };
        let copy = open(&[folder.path().join(name)], &options, 1, &mut Quiet::default());
        let copy = copy.unwrap();
        assert_eq!((copy.n_frames(), copy.n_atoms()), (200, 3));
        let raw = copy.read_raw(1, &mut Scratch::default()).unwrap();
        assert!(raw.holds(Field::Positions));
    }
}

#[test]
fn a_stop_leaves_nothing_behind() {
    let made = made(20_000);
    let chain = opened(&made);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.xtc");
    let (frames, atoms) = (Frames::all(20_000), Atoms::all(7));
    let options = WriteOptions::default();
    let request = request(&frames, &atoms, &path, Format::Xtc, &options);
    let mut control = Quiet { stop_at_once: true, ..Quiet::default() };
    assert!(matches!(convert(&chain, &request, 2, &mut control), Err(RunError::Interrupted)));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn whole_frames_are_copied_without_decoding() {
    let made = made(700);
    let chain = opened(&made);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.xtc");
    let frames = Frames::Strided { first: 100, step: 1, count: 500 };
    let (atoms, options) = (Atoms::all(7), WriteOptions::default());
    let request = request(&frames, &atoms, &path, Format::Xtc, &options);
    let done = convert(&chain, &request, 2, &mut Quiet::default()).unwrap();
    let source = std::fs::read(&made.path).unwrap();
    let frame = source.len() / 700;
    assert!(std::fs::read(&path).unwrap() == source[100 * frame..600 * frame]);
    let decoded: u64 = done.report.workers.iter().map(|w| w.meter.atoms_decoded).sum();
    assert_eq!(decoded, 0);
}

#[test]
fn several_outputs_exist_all_or_none() {
    let made = made(700);
    let chain = opened(&made);
    let source = std::fs::read(&made.path).unwrap();
    let frame = source.len() / 700;
    let (atoms, options) = (Atoms::all(7), WriteOptions::default());
    let folder = tempfile::tempdir().unwrap();
    let parts: Vec<_> = [0, 100, 350, 699, 700]
        .windows(2)
        .map(|ends| {
            let (first, count) = (ends[0] as u64, ends[1] - ends[0]);
            let path = folder.path().join(format!("{first}.xtc"));
            (Frames::Strided { first, step: 1, count }, path)
        })
        .collect();
    let request = |(frames, path)| Request {
        frames,
        atoms: &atoms,
        path,
        format: Format::Xtc,
        options: &options,
        force: true,
    };
    let requests: Vec<_> = parts.iter().map(|(frames, path)| request((frames, path))).collect();
    for threads in [1, 3, 16] {
        let mut control = Quiet::default();
        let done = split(&chain, &requests, threads, &mut control).unwrap();
        let joined: Vec<u8> =
            parts.iter().flat_map(|(_, path)| std::fs::read(path).unwrap()).collect();
        assert!(joined == source);
        assert_eq!(done.iter().map(|one| one.bytes).sum::<u64>(), source.len() as u64);
        for (frames, path) in &parts {
            assert_eq!(std::fs::metadata(path).unwrap().len(), (frames.len() * frame) as u64);
            std::fs::remove_file(path).unwrap();
        }
    }
    // The last output cannot be created.
    let nowhere = folder.path().join("none/at/all.xtc");
    let bad = [requests.clone(), vec![request((&parts[0].0, &nowhere))]].concat();
    for threads in [1, 2, 7] {
        let Err(RunError::Tasks(errors)) = split(&chain, &bad, threads, &mut Quiet::default())
        else {
            panic!("a folder that is not there")
        };
        let fault = &errors[0].fault;
        assert!(
            matches!(fault, TaskFault::Input(Error::Unwritable { path, .. }) if *path == nowhere)
        );
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

#[test]
fn frames_of_a_task_are_read_in_few_requests() {
    let made = made(700);
    let chain = opened(&made);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.dcd");
    let (frames, atoms, options) = (Frames::all(700), Atoms::all(7), WriteOptions::default());
    let request = request(&frames, &atoms, &path, Format::Dcd, &options);
    let done = convert(&chain, &request, 3, &mut Quiet::default()).unwrap();
    let size = std::fs::metadata(&made.path).unwrap().len();
    let sum = |count: fn(&trajet_files::Meter) -> u64| -> u64 {
        done.report.workers.iter().map(|worker| count(&worker.meter)).sum()
    };
    let n_tasks = 700u64.div_ceil(TASK_FRAMES as u64);
    let bytes = sum(|meter| meter.bytes_read);
    assert!((size + 1..=size + 4096).contains(&bytes), "every byte once, the first frame twice");
    assert!(sum(|meter| meter.requests) <= 1 + size / 4096 + 2 * n_tasks);
    assert_eq!(sum(|meter| meter.frames), 700);
}
