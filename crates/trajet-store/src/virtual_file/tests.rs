//! Laws of virtual files: any read returns the bytes of the file that a copy would make.

use std::sync::Barrier;
use std::sync::atomic::AtomicUsize;
use std::sync::mpsc;
use std::time::Duration;

use proptest::prelude::*;
use trajet_convert::Request;
use trajet_engine::Control;
use trajet_files::OpenOptions;

use super::*;
use crate::atomic_files;
use crate::table::Column;

const FORMATS: [(Format, &str); 4] =
    [(Format::Xtc, "xtc"), (Format::Trr, "trr"), (Format::Dcd, "dcd"), (Format::Ncdf, "nc")];

struct Quiet;

impl Control for Quiet {
    fn progress(&mut self, _: usize, _: usize) {}
    fn interrupted(&mut self) -> bool {
        false
    }
}

fn opened(paths: &[PathBuf]) -> Arc<Chain> {
    let options = OpenOptions { sidecar: false, ..OpenOptions::default() };
    Arc::new(trajet_engine::open(paths, &options, 2, &mut Quiet).unwrap())
}

/// Writes frames of 100 moving atoms from frame `first` on. In TRR every third frame has velocities.
fn written(path: &Path, first: i64, n_frames: i64) -> PathBuf {
    let format = Format::of(path).unwrap();
    let mut state = first as u64 + 7;
    let mut random = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 40) as f32 / (1 << 20) as f32
    };
    let frames: Vec<Snapshot> = (first..first + n_frames)
        .map(|step| {
            let mut vectors = || Some((0..100).map(|_| [random(), random(), random()]).collect());
            Snapshot {
                n_atoms: 100,
                time: step as f64 * 2.0,
                step,
                cell: [50.0, 60.0, 70.0, 90.0, 90.0, 90.0],
                positions: vectors(),
                velocities: if format == Format::Trr && step % 3 == 0 { vectors() } else { None },
                ..Snapshot::default()
            }
        })
        .collect();
    let times: Vec<f64> = frames.iter().map(|frame| frame.time).collect();
    let steps: Vec<i64> = frames.iter().map(|frame| frame.step).collect();
    let options = WriteOptions::default();
    let first = Input::Snapshot(&frames[0]);
    let plan = Plan { first, times: &times, steps: &steps, options: &options };
    let encoder = encoder(format, &plan).unwrap();
    let mut bytes = encoder.head();
    for (number, frame) in frames.iter().enumerate() {
        let workspace = &mut Workspace::default();
        encoder.encode(number as u64, Input::Snapshot(frame), workspace, &mut bytes).unwrap();
    }
    std::fs::write(path, bytes).unwrap();
    path.to_owned()
}

fn frame_source(chain: &Arc<Chain>, sizes: Option<Vec<u64>>) -> FrameSource {
    let (times, steps) = (chain.times().into_owned(), chain.steps().into_owned());
    let chain = Arc::clone(chain);
    let open = Box::new(move || Ok(Arc::clone(&chain)));
    FrameSource { moments: Arc::new(Moments { times, steps }), sizes, messages: Vec::new(), open }
}

/// A chain and its copy in a format: the bytes, and the sizes of the frames.
struct Case {
    chain: Arc<Chain>,
    format: Format,
    options: WriteOptions,
    bytes: Vec<u8>,
    sizes: Vec<u64>,
}

impl Case {
    fn of(chain: &Arc<Chain>, format: Format, ending: &str) -> Case {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(format!("copy.{ending}"));
        let (frames, atoms) = (Frames::all(chain.n_frames()), Atoms::all(chain.n_atoms()));
        let options = WriteOptions { velocities: false, ..WriteOptions::default() };
        let trr = format == Format::Trr;
        let options = if trr { WriteOptions::default() } else { options };
        let request = Request {
            frames: &frames,
            atoms: &atoms,
            path: &path,
            format,
            options: &options,
            force: false,
        };
        trajet_convert::convert(chain, &request, 2, &mut Quiet).unwrap();
        let copy = opened(std::slice::from_ref(&path));
        let index = copy.segments()[0].reader.index();
        let sizes = (0..index.n_frames() as u64).map(|frame| index.extent(frame));
        let sizes = sizes.map(|extent| extent.end - extent.start).collect();
        let bytes = std::fs::read(&path).unwrap();
        Case { chain: Arc::clone(chain), format, options, bytes, sizes }
    }

    fn virtual_file(&self, kept: &Arc<GroupCache>) -> VirtualFile {
        self.try_virtual_file(Some(self.sizes.clone()), kept).unwrap()
    }

    fn try_virtual_file(
        &self,
        sizes: Option<Vec<u64>>,
        kept: &Arc<GroupCache>,
    ) -> Result<VirtualFile, Error> {
        let form = Form::Stored(self.options.clone());
        VirtualFile::new(
            frame_source(&self.chain, sizes),
            self.format,
            form,
            Path::new("virtual_file"),
            kept,
        )
    }

    fn check(&self, virtual_file: &VirtualFile, offset: u64, len: usize) {
        let mut out = vec![0xaa; len];
        let n = virtual_file.read_at(offset, &mut out, &mut Meter::default()).unwrap();
        let begin = self.bytes.len().min(offset as usize);
        let expected = &self.bytes[begin..self.bytes.len().min(begin.saturating_add(len))];
        assert_eq!(n, expected.len(), "{:?} {offset} {len}", self.format);
        assert!(&out[..n] == expected, "{:?} {offset} {len}", self.format);
        assert!(out[n..].iter().all(|&byte| byte == 0xaa));
    }
}

/// Chains of one file and of two, for every pair of formats.
fn cases(folder: &Path) -> Vec<Case> {
    let mut cases = Vec::new();
    for (_, ending) in FORMATS {
        let first = written(&folder.join(format!("first.{ending}")), 0, 700);
        let second = written(&folder.join(format!("second.{ending}")), 700, 300);
        for paths in [vec![first.clone()], vec![first, second]] {
            let chain = opened(&paths);
            cases.extend(FORMATS.map(|(format, ending)| Case::of(&chain, format, ending)));
        }
    }
    cases
}

#[test]
fn any_read_returns_the_bytes_of_a_copy() {
    let folder = tempfile::tempdir().unwrap();
    for case in cases(folder.path()) {
        let virtual_file = case.virtual_file(&Arc::default());
        let size = case.bytes.len();
        assert_eq!(virtual_file.size(), size as u64);
        assert!(virtual_file.extents.groups.len() > 1, "{:?}", case.format);
        // Reads of cached groups cost nothing.
        let mut meters = [Meter::default(), Meter::default()];
        for meter in &mut meters {
            virtual_file.read_at(0, &mut vec![0; size], meter).unwrap();
        }
        assert!(meters[0].bytes_read > 0 && meters[1] == Meter::default());
        case.check(&virtual_file, 0, size + 10);
        case.check(&virtual_file, size as u64, 1);
        case.check(&virtual_file, u64::MAX, 1);
        let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
            failure_persistence: None,
            cases: 60,
            ..ProptestConfig::default()
        });
        // A cache of one group: earlier groups are generated again.
        let virtual_file = case.virtual_file(&Arc::new(GroupCache::new(1)));
        let reads = (0..size as u64 + 100, prop_oneof![0..200usize, 0..2 * GROUP_BYTES as usize]);
        let law = |(offset, len)| {
            case.check(&virtual_file, offset, len);
            Ok(())
        };
        runner.run(&reads, law).unwrap();
    }
}

#[test]
fn many_threads_read_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    for case in cases(folder.path()) {
        let kept = Arc::new(GroupCache::new(2 * GROUP_BYTES));
        let virtual_file = case.virtual_file(&kept);
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let (case, virtual_file) = (&case, &virtual_file);
                scope.spawn(move || {
                    for k in 0..40 {
                        let offset = (k * 7919 + thread * 104_729) * 131 % case.bytes.len();
                        case.check(virtual_file, offset as u64, 5000);
                    }
                });
            }
        });
        let groups = lock(&kept.groups);
        assert!(groups.bytes <= kept.most && groups.slots.len() == groups.order.len());
    }
}

#[test]
fn a_frame_of_another_size_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(&folder.path().join("a.xtc"), 0, 50);
    let mut case = Case::of(&opened(&[path]), Format::Xtc, "xtc");
    case.sizes[30] += 4;
    let virtual_file = case.virtual_file(&Arc::default());
    let message = virtual_file.read_at(0, &mut [0], &mut Meter::default()).unwrap_err().to_string();
    assert!(
        message.contains("virtual_file: frame 30 has ") && message.contains("store verify"),
        "{message}"
    );
    case.sizes[30] = u64::MAX;
    for sizes in [None, Some(case.sizes.clone()), Some(case.sizes[..20].to_vec())] {
        let refused = case.try_virtual_file(sizes.clone(), &Arc::default());
        assert!(matches!(refused, Err(Error::Damaged { .. })), "{sizes:?}");
    }
}

/// Only reads open files.
#[test]
fn decoded_frames_equal_a_copy_and_sizes_need_no_file() {
    let folder = tempfile::tempdir().unwrap();
    for ending in ["xtc", "trr", "nc"] {
        let chain = opened(&[written(&folder.path().join(format!("a.{ending}")), 0, 300)]);
        let case = Case::of(&chain, Format::Dcd, "dcd");
        let cell = chain.read_raw(0, &mut Scratch::default()).unwrap().cell();
        let form = || Form::Decoded(cell, chain.n_atoms());
        let kept = Arc::default();
        let virtual_file = VirtualFile::new(
            frame_source(&chain, None),
            Format::Dcd,
            form(),
            Path::new("virtual_file"),
            &kept,
        );
        let virtual_file = virtual_file.unwrap();
        case.check(&virtual_file, 0, case.bytes.len() + 1);
        let gone = Box::new(|| Err(Error::Refused("gone".to_owned())));
        let given = FrameSource { open: gone, ..frame_source(&chain, None) };
        let virtual_file =
            VirtualFile::new(given, Format::Dcd, form(), Path::new("virtual_file"), &kept).unwrap();
        assert_eq!(virtual_file.size(), case.bytes.len() as u64);
        let read = virtual_file.read_at(0, &mut [0; 9000], &mut Meter::default());
        assert!(matches!(read, Err(Error::Refused(_))));
    }
    let chain = opened(&[written(&folder.path().join("b.xtc"), 0, 30)]);
    assert!(trajet_formats::dcd::holds_times(&chain.times(), &chain.steps()));
    let mut given = frame_source(&chain, None);
    let mut times = given.moments.times.clone();
    times[29] += 5.0;
    assert!(!trajet_formats::dcd::holds_times(&times, &chain.steps()));
    given.moments = Arc::new(Moments { times, steps: given.moments.steps.clone() });
    let form = Form::Decoded([f64::NAN; 6], 100);
    let refused =
        VirtualFile::new(given, Format::Dcd, form, Path::new("virtual_file"), &Arc::default());
    let message = refused.unwrap_err().to_string();
    assert!(message.contains("virtual_file: frame 1: DCD cannot hold the time 2 ps"), "{message}");
}

/// Opens files that are in no store.
#[derive(Debug)]
struct Plain;

impl FileOpener for Plain {
    fn open(&self, path: &Path) -> io::Result<File> {
        atomic_files::open(path)
    }
}

#[test]
fn a_missing_file_fails_only_the_reads_that_need_it() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = ["a.xtc", "b.xtc"].map(|name| written(&folder.path().join(name), 0, 20));
    let size = std::fs::metadata(&a).unwrap().len();
    let joined =
        || Concatenated::new(vec![(a.clone(), size), (b.clone(), size)], Arc::new(Plain)).unwrap();
    let both = joined();
    let bytes = std::fs::read(&a).unwrap().repeat(2);
    for (offset, len) in [(0, 2 * size), (size - 1, 2), (size, 5), (7, size), (2 * size, 1)] {
        let mut out = vec![0; len as usize];
        let n = both.read_at(offset, &mut out, &mut Meter::default()).unwrap();
        assert!(bytes[offset as usize..].starts_with(&out[..n]));
        assert_eq!(n as u64, len.min(2 * size - offset));
    }
    std::fs::write(&b, "less").unwrap();
    let again = joined();
    let meter = &mut Meter::default();
    assert_eq!(again.read_at(0, &mut [0; 8], meter).unwrap(), 8);
    let message = again.read_at(size - 1, &mut [0; 2], meter).unwrap_err().to_string();
    assert!(message.contains("b.xtc: has 4 bytes"), "{message}");
    std::fs::remove_file(&b).unwrap();
    assert!(
        matches!(again.read_at(size, &mut [0], meter), Err(Error::Io { path, .. }) if path == b)
    );
}

#[test]
fn files_are_verified_against_their_digests() {
    let folder = tempfile::tempdir().unwrap();
    for (_, ending) in FORMATS {
        let paths = ["a", "b"].map(|name| folder.path().join(format!("{name}.{ending}")));
        let files: Vec<_> = paths
            .iter()
            .map(|path| {
                let chain = opened(&[written(path, 0, 1500)]);
                let (bytes, index) =
                    (std::fs::read(path).unwrap(), chain.segments()[0].reader.index());
                let known = |extent: Range<u64>| {
                    let found = &bytes[extent.start as usize..extent.end as usize];
                    (found.len() as u64, xxh3_64(found))
                };
                let frames = (0..1500).map(|frame| known(index.extent(frame)));
                let (sizes, digests) = frames.unzip();
                (path.clone(), Column { head: known(0..index.offset(0)), sizes, digests })
            })
            .collect();
        let compared = || {
            let files =
                files.iter().cloned().map(|(path, column)| (path, ExpectedPieces::Frames(column)));
            let (files, cache) = (files.collect(), Arc::default());
            VerifiedFile::new(files, Arc::new(Plain), "do this".to_owned(), &cache).unwrap()
        };
        let read = |offset: usize, out: &mut [u8]| {
            let mut meter = Meter::default();
            let n = compared().read_at(offset as u64, out, &mut meter)?;
            assert!(meter.bytes_read >= n as u64);
            Ok::<_, Error>(n)
        };
        let bytes = paths.clone().map(|path| std::fs::read(path).unwrap()).concat();
        let (size, half) = (bytes.len(), bytes.len() / 2);
        assert_eq!(compared().size(), size as u64);
        for (offset, len) in [(0, size), (half - 1, 2), (half - 3, 1000), (7, half), (size, 1)] {
            let mut out = vec![0; len];
            let n = read(offset, &mut out).unwrap();
            assert_eq!(n, len.min(size - offset));
            assert!(out[..n] == bytes[offset..offset + n]);
        }
        let head = files[1].1.head.0 as usize;
        for (at, what) in [(head + 9, "frame 0"), (half - 1, "frame 1499"), (0, "its head")] {
            if head == 0 && what == "its head" {
                continue;
            }
            let mut changed = bytes[half..].to_vec();
            changed[at] ^= 1;
            std::fs::write(&paths[1], changed).unwrap();
            let message = read(half + at, &mut [0]).unwrap_err();
            let message = message.to_string();
            assert!(message.contains(&format!("b.{ending}: {what}")), "{message}");
            assert!(message.ends_with("is not what was written: do this"), "{message}");
            assert_eq!(read(0, &mut [0; 99]).unwrap(), 99);
        }
    }
}

/// Fails, instead of waiting forever, if groups are generated one after the other.
#[test]
fn groups_are_generated_concurrently_and_each_once() {
    let kept = GroupCache::default();
    let (send, receive): (Vec<_>, Vec<_>) = (0..2).map(|_| mpsc::channel::<()>()).unzip();
    std::thread::scope(|scope| {
        let kept = &kept;
        for (key, (to, from)) in send.into_iter().rev().zip(receive).enumerate() {
            scope.spawn(move || {
                kept.get((0, key), 1, || {
                    to.send(()).unwrap();
                    from.recv_timeout(Duration::from_secs(60)).unwrap();
                    Ok(vec![0])
                })
            });
        }
    });
    let (times, all) = (AtomicUsize::new(0), Barrier::new(8));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                all.wait();
                let make = || {
                    times.fetch_add(1, Ordering::Relaxed);
                    Ok(vec![5])
                };
                assert_eq!(**kept.get((1, 0), 1, make).unwrap(), [5]);
            });
        }
    });
    assert_eq!(times.into_inner(), 1);
}

#[test]
fn least_recently_read_groups_are_evicted_and_errors_are_not_cached() {
    let kept = GroupCache::new(3);
    let mut made = Vec::new();
    for key in [0, 1, 2, 0, 3, 0, 1] {
        kept.get((0, key), 1, || {
            made.push(key);
            Ok(vec![0])
        })
        .unwrap();
    }
    assert_eq!(made, [0, 1, 2, 3, 1]);
    let refused = || Err(Error::Refused("no".to_owned()));
    assert!(kept.get((9, 0), 1, refused).is_err());
    assert_eq!(**kept.get((9, 0), 1, || Ok(vec![1])).unwrap(), [1]);
}
