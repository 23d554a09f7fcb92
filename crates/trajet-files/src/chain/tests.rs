//! Tests of chains, on files of seven atoms made by a minimal writer that stores plain floats.

use std::sync::atomic::AtomicUsize;

use proptest::prelude::*;
use trajet_formats::{Atoms, Field};

use super::*;
use crate::worker::WorkerTrajectory;
use crate::{Meter, Serial};

const ATOMS: usize = 7;

/// Returns coordinate `k` of a frame, nm.
fn value(frame: u32, k: usize) -> f32 {
    let mixed = (frame * 1009 + k as u32 * 31 + 77).wrapping_mul(2_654_435_761);
    f32::from_bits(0x3f00_0000 | mixed >> 8)
}

/// A frame, whose number determines its coordinates.
#[derive(Clone, Copy, Debug)]
struct Made {
    number: u32,
    time: f32,
}

fn row(frames: Range<u32>) -> Vec<Made> {
    frames.map(|number| Made { number, time: number as f32 * 0.3 }).collect()
}

fn xtc(frames: &[Made], n_atoms: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    for frame in frames {
        let words = [1995, n_atoms as i32, frame.number as i32];
        bytes.extend(words.iter().flat_map(|w| w.to_be_bytes()));
        bytes.extend(frame.time.to_be_bytes());
        bytes.extend([0u8; 36]);
        bytes.extend((n_atoms as i32).to_be_bytes());
        bytes.extend((0..3 * n_atoms).flat_map(|k| value(frame.number, k).to_be_bytes()));
    }
    bytes
}

fn trr(frames: &[Made]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for frame in frames {
        let word = |bytes: &mut Vec<u8>, w: i32| bytes.extend(w.to_be_bytes());
        [1993, 13, 12].iter().for_each(|&w| word(&mut bytes, w));
        bytes.extend(b"GMX_trn_file");
        let positions = 12 * ATOMS as i32;
        let sizes = [0, 0, 0, 0, 0, 0, 0, positions, 0, 0, ATOMS as i32, frame.number as i32, 0];
        sizes.iter().for_each(|&w| word(&mut bytes, w));
        bytes.extend(frame.time.to_be_bytes());
        bytes.extend(0f32.to_be_bytes());
        bytes.extend((0..3 * ATOMS).flat_map(|k| value(frame.number, k).to_be_bytes()));
    }
    bytes
}

pub(crate) struct Folder {
    folder: tempfile::TempDir,
    paths: Vec<PathBuf>,
}

impl Folder {
    fn of(files: impl IntoIterator<Item = Vec<u8>>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let write = |(k, bytes): (usize, Vec<u8>)| {
            let path = folder.path().join(format!("part{k}"));
            std::fs::write(&path, bytes).unwrap();
            path
        };
        let paths = files.into_iter().enumerate().map(write).collect();
        Folder { folder, paths }
    }

    pub(crate) fn chain(&self, options: &OpenOptions) -> Chain {
        open(&self.paths, options, &Serial).unwrap()
    }

    fn error(&self, options: &OpenOptions) -> Error {
        open(&self.paths, options, &Serial).expect_err("not a chain")
    }
}

pub(crate) fn plain() -> OpenOptions {
    OpenOptions { sidecar: false, ..OpenOptions::default() }
}

fn continuous() -> OpenOptions {
    OpenOptions { continuous: true, ..plain() }
}

pub(crate) fn of_times(times: &[&[f32]]) -> Folder {
    let mut number = 0;
    Folder::of(times.iter().map(|times| {
        let frames: Vec<Made> = times
            .iter()
            .map(|&time| {
                number += 1;
                Made { number, time }
            })
            .collect();
        xtc(&frames, ATOMS)
    }))
}

/// Returns the coordinates, as bits, and the metadata of the frames at `positions`.
fn read(
    chain: &Chain,
    frames: &Frames,
    atoms: &Atoms,
    positions: Range<usize>,
    scratch: &mut Scratch,
) -> Result<(Vec<u32>, FrameMeta), Error> {
    let mut out = vec![0.0; positions.len() * atoms.len() * 3];
    let mut meta = FrameMeta::default();
    chain.read_into(
        &ReadRequest::positions(frames, atoms),
        positions,
        scratch,
        &mut out,
        &mut meta,
    )?;
    Ok((out.iter().map(|v| v.to_bits()).collect(), meta))
}

fn read_all(chain: &Chain, frames: &Frames, scratch: &mut Scratch) -> Result<Vec<u32>, Error> {
    let atoms = Atoms::all(chain.n_atoms());
    read(chain, frames, &atoms, 0..frames.len(), scratch).map(|(positions, _)| positions)
}

fn requested_frames(n: usize) -> impl Strategy<Value = Frames> {
    let n = n as u64;
    let strided = (0..n, -7i64..=7, 1usize..60).prop_map(move |(first, step, count)| {
        let room = match step {
            0 => u64::MAX,
            1.. => (n - 1 - first) / step as u64 + 1,
            _ => first / step.unsigned_abs() + 1,
        };
        Frames::Strided { first, step, count: room.min(count as u64) as usize }
    });
    let listed = prop::collection::vec(0..n, 1..80).prop_map(Frames::from);
    let ascending = prop::collection::btree_set(0..n, 1..80)
        .prop_map(|set| Frames::from(set.into_iter().collect::<Vec<_>>()));
    prop_oneof![strided, listed, ascending]
}

/// Ends of files within 40 frames, and whether each is TRR.
fn splits() -> impl Strategy<Value = (Vec<usize>, Vec<bool>)> {
    (prop::collection::btree_set(1usize..40, 0..12), prop::collection::vec(any::<bool>(), 13))
        .prop_map(|(ends, kinds)| (ends.into_iter().chain([40]).collect(), kinds))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_chain_reads_as_one_file_with_all_frames(
        (ends, kinds) in splits(),
        frames in requested_frames(40),
        atoms in prop::collection::vec(0..ATOMS as i64, 1..10),
        cut in any::<prop::sample::Index>(),
        (request_size, most_open) in (1usize..4000, 1usize..5),
    ) {
        let frames_of = row(0..40);
        let begins = [0].into_iter().chain(ends.iter().copied());
        let parts = Folder::of(begins.zip(&ends).zip(kinds).map(|((begin, &end), is_trr)| {
            let frames = &frames_of[begin..end];
            if is_trr { trr(frames) } else { xtc(frames, ATOMS) }
        }));
        let whole = Folder::of([xtc(&frames_of, ATOMS)]);
        let whole = whole.chain(&plain());
        let handles = Arc::new(Handles::new(most_open));
        let options =
            OpenOptions { request_size, handles: Some(Arc::clone(&handles)), ..plain() };
        let chain = parts.chain(&options);
        prop_assert_eq!((chain.n_frames(), chain.n_atoms()), (40, ATOMS));
        prop_assert_eq!(chain.times(), whole.times());
        prop_assert_eq!(chain.steps(), whole.steps());
        prop_assert!(chain.messages().is_empty());
        let atoms = Atoms::listed(&atoms, ATOMS).unwrap();
        let all = 0..frames.len();
        let mut scratch = Scratch::default();
        let (want, expected) = read(&whole, &frames, &atoms, all, &mut Scratch::default()).unwrap();
        // In two calls with one scratch, as the leaves of a task are read.
        let cut = cut.index(frames.len() + 1);
        let (mut got, mut meta) = read(&chain, &frames, &atoms, 0..cut, &mut scratch).unwrap();
        let (more, rest) = read(&chain, &frames, &atoms, cut..frames.len(), &mut scratch).unwrap();
        got.extend(more);
        meta.frames.extend(rest.frames);
        meta.times.extend(rest.times);
        meta.steps.extend(rest.steps);
        prop_assert_eq!(got, want);
        prop_assert_eq!(meta.frames, expected.frames);
        prop_assert_eq!(meta.times, expected.times);
        prop_assert_eq!(meta.steps, expected.steps);
        prop_assert!(handles.n_open() <= most_open);
        prop_assert_eq!(scratch.meter.frames, frames.len() as u64);
        if most_open > ends.len() {
            prop_assert_eq!(scratch.meter.opens, 0);
        }
    }

    #[test]
    fn worker_processes_read_the_same_frames(
        (ends, kinds) in splits(),
        frames in requested_frames(40),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
        continuous in any::<bool>(),
    ) {
        let frames_of = row(0..40);
        let begins = [0].into_iter().chain(ends.iter().copied());
        let parts = Folder::of(begins.zip(&ends).zip(kinds).map(|((begin, &end), is_trr)| {
            let frames = &frames_of[begin..end];
            if is_trr { trr(frames) } else { xtc(frames, ATOMS) }
        }));
        let options = OpenOptions { continuous, ..plain() };
        let chain = parts.chain(&options);
        let atoms = Atoms::all(ATOMS);
        let all = 0..frames.len();
        let (want, expected) = read(&chain, &frames, &atoms, all, &mut Scratch::default()).unwrap();
        let spec = chain.worker_spec(&options, &Atoms::all(chain.n_atoms())).unwrap();
        let worker = WorkerTrajectory::new(spec, &[]);
        prop_assert_eq!(worker.n_atoms(), ATOMS);
        let mut borders: Vec<usize> = cuts.iter().map(|cut| cut.index(frames.len())).collect();
        borders.extend([0, frames.len()]);
        borders.sort_unstable();
        borders.dedup();
        let mut scratch = Scratch::default();
        let (mut got, mut numbers, mut opening) = (Vec::new(), Vec::new(), Meter::default());
        for task in borders.windows(2) {
            let frames = frames.slice(task[0]..task[1]);
            let part = worker.chain(chain.slice(&frames), &mut opening).unwrap();
            let all = 0..frames.len();
            let (positions, meta) = read(&part, &frames, &atoms, all, &mut scratch).unwrap();
            got.extend(positions);
            numbers.extend(meta.frames);
        }
        prop_assert_eq!(got, want);
        prop_assert_eq!(numbers, expected.frames);
        // Each file that is read is opened once, to check its head and tail.
        let touched: std::collections::BTreeSet<usize> =
            (0..frames.len()).map(|k| chain.place(frames.get(k)).segment).collect();
        prop_assert_eq!(opening, Meter::default());
        prop_assert_eq!(scratch.meter.opens, touched.len() as u64);
    }

    #[test]
    fn times_of_continuous_chains_ascend(
        files in prop::collection::vec((0u32..60, 1u32..30), 1..7),
    ) {
        // Each file continues from some checkpoint, at the same times.
        let parts = Folder::of(files.iter().map(|&(first, n)| xtc(&row(first..first + n), ATOMS)));
        let chain = parts.chain(&continuous());
        let (times, steps) = (chain.times(), chain.steps());
        prop_assert!(times.windows(2).all(|pair| pair[0] < pair[1]));
        let all: usize = files.iter().map(|&(_, n)| n as usize).sum();
        let dropped: usize = chain.segments().iter().map(|segment| segment.dropped).sum();
        prop_assert_eq!(chain.n_frames() + dropped, all);
        // A frame is kept if the last file that begins at or before it has it.
        let mut sorted = files.clone();
        sorted.sort_by_key(|&(first, _)| first);
        for number in 0..100 {
            let last = sorted.iter().rfind(|&&(first, _)| first <= number);
            let there = last.is_some_and(|&(first, n)| number < first + n);
            prop_assert_eq!(steps.contains(&i64::from(number)), there, "{}", number);
        }
        // The coordinates are those of the kept frames.
        let got = read_all(&chain, &Frames::all(chain.n_frames()), &mut Scratch::default()).unwrap();
        let want: Vec<u32> = steps
            .iter()
            .flat_map(|&step| (0..3 * ATOMS).map(move |k| (value(step as u32, k) * 10.0).to_bits()))
            .collect();
        prop_assert_eq!(got, want);
    }
}

#[test]
fn requests_do_not_extend_past_a_file() {
    let parts = Folder::of((0..4).map(|k| xtc(&row(100 * k..100 * (k + 1)), ATOMS)));
    let chain = parts.chain(&plain());
    let size = std::fs::metadata(&parts.paths[0]).unwrap().len();
    let meter = |frames: Frames| {
        let mut scratch = Scratch::default();
        read_all(&chain, &frames, &mut scratch).unwrap();
        scratch.meter
    };
    let all = meter(Frames::all(400));
    assert_eq!((all.requests, all.bytes_read), (4, 4 * size));
    let listed = meter(Frames::from((0..400).collect::<Vec<_>>()));
    assert_eq!((listed.requests, listed.bytes_read), (4, 4 * size));
    // From the middle of one file to the middle of the next.
    let some = meter(Frames::Strided { first: 50, step: 1, count: 100 });
    assert_eq!((some.requests, some.bytes_read), (2, size));
}

#[test]
fn the_number_of_open_files_is_bounded() {
    let parts = Folder::of((0..100).map(|k| xtc(&row(3 * k..3 * (k + 1)), ATOMS)));
    let handles = Arc::new(Handles::new(MAX_OPEN));
    let chain = parts.chain(&OpenOptions { handles: Some(Arc::clone(&handles)), ..plain() });
    assert_eq!((chain.opening().meter.opens, handles.n_open()), (100, MAX_OPEN));
    let opens = |frames: Frames| {
        let mut scratch = Scratch::default();
        read_all(&chain, &frames, &mut scratch).unwrap();
        assert_eq!(handles.n_open(), MAX_OPEN);
        scratch.meter.opens
    };
    // The last 64 are open: reading backwards reopens only the others.
    let count = 300;
    assert_eq!(opens(Frames::Strided { first: 299, step: -1, count }), 36);
    assert_eq!(opens(Frames::Strided { first: 0, step: 1, count: 64 * 3 }), 0);
    assert!(opens(Frames::all(300)) <= 100);
    assert_eq!(opens(Frames::from(vec![299; 50])), 0);
}

#[test]
fn a_single_file_is_a_chain() {
    let one = Folder::of([xtc(&row(0..9), ATOMS)]);
    let chain = one.chain(&plain());
    assert_eq!(
        (chain.format(), chain.n_frames(), chain.opening().meter.opens),
        ("XTC".into(), 9, 1)
    );
    assert_eq!(chain.path_of(8), one.paths[0]);
    let error = read_all(&chain, &Frames::from(vec![9]), &mut Scratch::default()).unwrap_err();
    assert!(matches!(error, Error::FrameOutOfRange { frame: 9, n_frames: 9, .. }));
    let request =
        ReadRequest { frames: &Frames::all(1), atoms: &Atoms::all(ATOMS), field: Field::Forces };
    let (mut out, mut meta) = (vec![0.0; 3 * ATOMS], FrameMeta::default());
    let read = chain.read_into(&request, 0..1, &mut Scratch::default(), &mut out, &mut meta);
    assert!(matches!(read, Err(Error::NoField { .. })));
}

#[test]
fn different_atom_counts_are_an_error_with_both_counts() {
    let parts = Folder::of([xtc(&row(0..3), 7), xtc(&row(3..6), 7), xtc(&row(6..9), 6)]);
    let error = parts.error(&plain());
    let [a, _, c] = [0, 1, 2].map(|k| parts.paths[k].display().to_string());
    let words = "files that are one trajectory hold the same atoms";
    assert_eq!(error.to_string(), format!("{c}: 6 atoms, but {a} has 7: {words}"));
}

#[test]
fn errors_name_the_file_and_both_frame_numbers() {
    let mut damaged = xtc(&row(5..10), ATOMS);
    let len = damaged.len() / 5;
    let parts = Folder::of([xtc(&row(0..5), ATOMS), damaged.clone(), xtc(&row(10..15), ATOMS)]);
    let chain = parts.chain(&plain());
    damaged[3 * len..].fill(0);
    std::fs::write(&parts.paths[1], &damaged).unwrap();
    let path = parts.paths[1].display();
    let failed = |frames: Frames| {
        let error = read_all(&chain, &frames, &mut Scratch::default()).unwrap_err();
        assert_eq!(error.changed(), Some(&*parts.paths[1]));
        error.to_string()
    };
    for frames in [Frames::all(15), Frames::from(vec![12, 6, 7, 8]), Frames::from(vec![8])] {
        let words = failed(frames);
        let begin = format!("{path}: frame 3 at byte {} does not match the index", 3 * len);
        assert!(words.starts_with(&begin), "{words}");
        assert!(words.ends_with("(frame 3 of this file is frame 8 of the chain)"), "{words}");
    }
    assert!(
        failed(Frames::from(vec![9, 8]))
            .ends_with("(frame 4 of this file is frame 9 of the chain)")
    );
    let raw = chain.read_raw(9, &mut Scratch::default()).unwrap_err();
    assert!(matches!(raw, Error::InChain { frame: 4, chained: 9, .. }));
    assert!(chain.read_raw(12, &mut Scratch::default()).is_ok());
    let beyond = read_all(&chain, &Frames::from(vec![15]), &mut Scratch::default()).unwrap_err();
    assert!(matches!(beyond, Error::FrameOutOfRange { frame: 15, n_frames: 15, .. }));
    let stopped = Scratch::stopped_by(Arc::new(true.into()));
    let stopped = read_all(&chain, &Frames::all(15), &mut { stopped }).unwrap_err();
    assert!(matches!(stopped, Error::Interrupted));
}

#[test]
fn errors_in_workers_name_the_same_frames() {
    let parts = Folder::of((0..3).map(|k| xtc(&row(100 * k..100 * (k + 1)), ATOMS)));
    let chain = parts.chain(&plain());
    let spec = chain.worker_spec(&plain(), &Atoms::all(chain.n_atoms())).unwrap();
    let mut bytes = std::fs::read(&parts.paths[1]).unwrap();
    let frame = bytes.len() / 100;
    bytes[40 * frame..40 * frame + 4].fill(0);
    std::fs::write(&parts.paths[1], &bytes).unwrap();
    let frames = Frames::Strided { first: 130, step: 1, count: 20 };
    let error = |spec| {
        let worker = WorkerTrajectory::new(spec, &[]);
        let part = worker.chain(chain.slice(&frames), &mut Meter::default()).unwrap();
        read_all(&part, &frames, &mut Scratch::default()).unwrap_err()
    };
    let here = read_all(&chain, &frames, &mut Scratch::default()).unwrap_err();
    let message = here.to_string();
    assert!(message.contains("part1: frame 40 at byte"), "{message}");
    assert!(message.contains("frame 140"), "{message}");
    // Head and tail, which the worker checks when it opens the file, are unchanged.
    assert_eq!(error(spec.clone()).to_string(), message);
    bytes[0..4].fill(0);
    std::fs::write(&parts.paths[1], &bytes).unwrap();
    let Error::InChain { error, .. } = error(spec) else { panic!("an error of the chain") };
    assert!(matches!(*error, Error::Changed { .. }));
}

#[test]
fn a_file_that_changed_while_closed_is_an_error() {
    let bytes = |k: u32| xtc(&row(5 * k..5 * (k + 1)), ATOMS);
    let parts = Folder::of((0..3).map(bytes));
    let one = || Some(Arc::new(Handles::new(1)));
    let chain = parts.chain(&OpenOptions { handles: one(), ..plain() });
    let first = |chain: &Chain| read_all(chain, &Frames::all(2), &mut Scratch::default());
    let last = |chain: &Chain| read_all(chain, &Frames::from(vec![14]), &mut Scratch::default());
    assert!(first(&chain).is_ok());
    // Rewritten unchanged, and extended: the frames are still there.
    let mut grown = bytes(0);
    grown.extend(bytes(3));
    for same in [bytes(0), grown] {
        assert!(last(&chain).is_ok());
        std::fs::write(&parts.paths[0], same).unwrap();
        assert!(first(&chain).is_ok());
    }
    let (mut head, mut tail) = (bytes(0), bytes(0));
    head[60] ^= 1;
    *tail.last_mut().unwrap() ^= 1;
    let short = bytes(0)[..bytes(0).len() - 1].to_vec();
    for other in [head, tail, short, Vec::new(), bytes(1)] {
        assert!(last(&chain).is_ok());
        std::fs::write(&parts.paths[0], other).unwrap();
        let error = first(&chain).unwrap_err();
        assert!(
            matches!(error.root(), Error::Changed { path } if *path == parts.paths[0]),
            "{error}"
        );
        assert_eq!(error.changed(), Some(&*parts.paths[0]));
    }
    std::fs::remove_file(&parts.paths[0]).unwrap();
    assert!(matches!(first(&chain).unwrap_err().root(), Error::Io { .. }));
    std::fs::create_dir(&parts.paths[0]).unwrap();
    assert!(matches!(first(&chain).unwrap_err().root(), Error::Changed { .. }));
    drop(parts.folder);
}

#[test]
fn truncated_files_are_errors_unless_allowed() {
    let whole = |k: u32| xtc(&row(5 * k..5 * (k + 1)), ATOMS);
    let cut = |k: u32| whole(k)[..whole(k).len() - 10].to_vec();
    let allowed = OpenOptions { allow_truncated_tail: true, ..plain() };
    for (files, n_cut) in [
        ([cut(0), whole(1), whole(2)], 1),
        ([whole(0), cut(1), cut(2)], 2),
        ([whole(0), whole(1), cut(2)], 1),
    ] {
        let parts = Folder::of(files);
        let error = parts.error(&plain());
        assert!(matches!(error, Error::Truncated { frame: 4, .. }), "{error}");
        let chain = parts.chain(&allowed);
        assert_eq!(chain.n_frames(), 15 - n_cut);
        let tails = chain.segments().iter().filter(|s| s.reader.truncated_tail() > 0);
        let messages = chain.messages();
        assert_eq!(messages.len(), n_cut);
        for (message, segment) in messages.iter().zip(tails) {
            let path = segment.reader.source().path().display();
            assert_eq!(message.code, Code::CutFrame);
            assert!(message.text.starts_with(&format!("{path}: ")), "{message}");
            assert!(message.text.contains("bytes of an unfinished frame at the end are left out"));
        }
    }
}

/// Runs iterations on several threads, as the engine does.
struct Several(usize);

impl ParallelFor for Several {
    fn width(&self) -> usize {
        self.0
    }
    fn each(&self, n: usize, work: &(dyn Fn(usize) + Sync)) {
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..self.0.min(n) {
                scope.spawn(|| {
                    while let Some(k) =
                        Some(next.fetch_add(1, Ordering::Relaxed)).filter(|&k| k < n)
                    {
                        work(k);
                    }
                });
            }
        });
    }
}

#[test]
fn the_error_is_that_of_the_first_bad_file_for_any_number_of_threads() {
    let good = |k: u32| xtc(&row(5 * k..5 * (k + 1)), ATOMS);
    let mut files: Vec<_> = (0..40).map(good).collect();
    for bad in [17, 23, 39] {
        files[bad].truncate(100);
    }
    let parts = Folder::of(files);
    for threads in [1, 2, 3, 8] {
        for _ in 0..10 {
            let opened = open(&parts.paths, &plain(), &Several(threads));
            let Err(Error::Truncated { path, .. }) = opened else { panic!("{opened:?}") };
            assert_eq!(path, parts.paths[17]);
        }
    }
    let options = plain();
    options.watch.stop.store(true, Ordering::Relaxed);
    assert!(matches!(open(&parts.paths, &options, &Several(2)), Err(Error::Interrupted)));
}

#[test]
fn many_threads_can_read_and_reopen_files() {
    let parts = Folder::of((0..30).map(|k| xtc(&row(10 * k..10 * (k + 1)), ATOMS)));
    let handles = Some(Arc::new(Handles::new(4)));
    let chain = open(&parts.paths, &OpenOptions { handles, ..plain() }, &Several(8)).unwrap();
    let want = Folder::of([xtc(&row(0..300), ATOMS)]);
    let want = read_all(&want.chain(&plain()), &Frames::all(300), &mut Scratch::default()).unwrap();
    let opens = Mutex::new(Meter::default());
    Several(8).each(8, &|k| {
        let mut scratch = Scratch::default();
        let (first, step) = if k % 2 == 0 { (0, 1) } else { (299, -1) };
        let mut got =
            read_all(&chain, &Frames::Strided { first, step, count: 300 }, &mut scratch).unwrap();
        if step < 0 {
            got = got.chunks(3 * ATOMS).rev().flatten().copied().collect();
        }
        assert!(got == want);
        opens.lock().unwrap().add(&scratch.meter);
    });
    // A thread that reads the files in order opens each at most once.
    assert!(opens.into_inner().unwrap().opens <= 8 * 30);
}

#[test]
fn repeated_frames_are_taken_from_the_later_file() {
    // A repeated last frame; a restart from an earlier frame; a gap.
    let parts = of_times(&[&[0.0, 1.0, 2.0], &[2.0, 3.0, 4.0, 5.0], &[4.0, 5.0, 6.0], &[9.0]]);
    let chain = parts.chain(&continuous());
    assert_eq!(*chain.times(), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 9.0]);
    assert_eq!(*chain.steps(), [1, 2, 4, 5, 8, 9, 10, 11]);
    let dropped: Vec<_> = chain.segments().iter().map(|segment| segment.dropped).collect();
    assert_eq!(dropped, [1, 2, 0, 0]);
    assert_eq!(
        chain.messages(),
        [Code::DroppedFrames.message(
            "3 frames were dropped at 2 of 3 file boundaries: later files repeat their times"
        )]
    );
    let place = |segment, frame| Place { segment, frame };
    assert_eq!(
        [1, 2, 4, 7].map(|f| chain.place(f)),
        [place(0, 1), place(1, 0), place(2, 0), place(3, 0)]
    );
    assert_eq!(chain.offsets()[2], 0);
    let all = parts.chain(&plain());
    assert_eq!(all.n_frames(), 11);
    let [message] = &all.messages()[..] else { panic!("{:?}", all.messages()) };
    let [a, b] = [0, 1].map(|k| parts.paths[k].display().to_string());
    let begin = format!(
        "times overlap or step back at 2 of 3 file boundaries, first from 2 ps ({a}) to 2 ps ({b}): "
    );
    assert_eq!(message.code, Code::OverlappingFiles);
    assert!(message.text.starts_with(&begin), "{message}");
}

#[test]
fn files_of_a_continuous_chain_are_sorted_by_time() {
    let parts = of_times(&[&[4.0, 5.0], &[0.0, 1.0], &[2.0, 3.0]]);
    let chain = parts.chain(&continuous());
    assert_eq!(*chain.times(), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    assert_eq!(*chain.steps(), [3, 4, 5, 6, 1, 2]);
    let [order, dropped] = &chain.messages()[..] else { panic!("{:?}", chain.messages()) };
    let [a, b, c] = [1, 2, 0].map(|k| parts.paths[k].display().to_string());
    let text = format!("files are in the order of their first times: {a}, {b}, {c}");
    assert_eq!(*order, Code::FileOrder.message(text));
    assert!(dropped.text.starts_with("0 frames were dropped at 0 of 2 file boundaries"));
    let message = &parts.chain(&plain()).messages()[0];
    let begin = "times overlap or step back at 1 of 2 file boundaries";
    assert!(message.text.starts_with(begin), "{message}");
}

#[test]
fn dropped_frames_without_a_replacement_are_reported() {
    // The second file begins and ends inside the first; the fourth repeats all of the third.
    let parts = of_times(&[&[0.0, 1.0, 2.0, 3.0, 4.0], &[2.0, 3.0], &[7.0, 8.0], &[7.0, 8.0, 9.0]]);
    let chain = parts.chain(&continuous());
    assert_eq!(*chain.times(), [0.0, 1.0, 2.0, 3.0, 7.0, 8.0, 9.0]);
    let messages = chain.messages();
    assert!(
        messages[0].text.starts_with("5 frames were dropped at 2 of 3 file boundaries"),
        "{messages:?}"
    );
    let begin = "1 of the dropped frames lie where the later files have none";
    assert!(messages[1].text.starts_with(begin));
    let none = format!("{}: none of its 2 frames is kept", parts.paths[2].display());
    assert!(messages[2].text.starts_with(&none), "{messages:?}");
    let parts = of_times(&[&[0.0, 1.0, 2.0, 3.0, 4.0], &[2.0, 3.0]]);
    let chain = parts.chain(&continuous());
    assert_eq!(*chain.times(), [0.0, 1.0, 2.0, 3.0]);
    let messages = chain.messages();
    assert!(messages[1].text.starts_with(begin), "{messages:?}");
}

#[test]
fn times_are_compared_with_single_precision() {
    let up = |t: f32| f32::from_bits(t.to_bits() + 1);
    let down = |t: f32| f32::from_bits(t.to_bits() - 1);
    for near in [up, down, |t| t] {
        let parts = of_times(&[&[99_998.0, 100_000.0], &[near(100_000.0), 100_002.0]]);
        let chain = parts.chain(&continuous());
        assert_eq!(*chain.steps(), [1, 3, 4]);
        assert!(parts.chain(&plain()).messages()[0].text.contains("step back"));
    }
    // Frames whose times are adjacent floats are still two frames.
    let t = 1e7f32;
    let parts = of_times(&[&[down(down(t)), down(t)], &[t, up(t)]]);
    assert_eq!(parts.chain(&continuous()).n_frames(), 4);
    assert!(parts.chain(&plain()).messages().is_empty());
}

#[test]
fn files_with_nan_times_are_kept() {
    let parts = of_times(&[&[f32::NAN, f32::NAN], &[f32::NAN]]);
    assert_eq!(parts.chain(&continuous()).n_frames(), 3);
    // All times are zero: none by which frames could be dropped.
    let parts = of_times(&[&[0.0, 0.0], &[0.0, 0.0, 0.0]]);
    assert!(matches!(parts.error(&continuous()), Error::NoTimes { .. }));
    let chain = parts.chain(&OpenOptions { time_step: Some(2.0), ..continuous() });
    assert_eq!(chain.n_frames(), 5);
    let codes: Vec<Code> = chain.messages().iter().map(|message| message.code).collect();
    assert_eq!(codes, [Code::UncheckedOverlap, Code::GivenTimes]);
}

#[test]
fn files_of_a_chain_may_have_different_formats() {
    let parts = Folder::of([xtc(&row(0..3), ATOMS), trr(&row(3..6)), xtc(&row(6..9), ATOMS)]);
    let chain = parts.chain(&plain());
    assert_eq!(chain.format(), "XTC, TRR");
    let request = ReadRequest {
        frames: &Frames::all(9),
        atoms: &Atoms::all(ATOMS),
        field: Field::Velocities,
    };
    let (mut out, mut meta) = (vec![0.0; 27 * ATOMS], FrameMeta::default());
    let error =
        chain.read_into(&request, 0..9, &mut Scratch::default(), &mut out, &mut meta).unwrap_err();
    assert!(matches!(error.root(), Error::NoField { .. }));
    assert!(error.to_string().starts_with(&parts.paths[0].display().to_string()));
}
