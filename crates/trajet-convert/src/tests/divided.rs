//! Laws of partitioning: each part equals a copy of its atoms, all parts together restore the source, and one pass
//! makes them.

use trajet_files::publish;
use trajet_formats::ncdf::{self, Stored, Values};
use trajet_formats::trr::{self, Reals};
use trajet_formats::xtc::{self, Positions};
use trajet_formats::{Input, Plan, Workspace, dcd, encoder, xxh3_64};

use super::*;

const ATOMS: usize = 40;
const FRAMES: usize = 150;

/// Reproducible numbers that differ between frames.
fn numbers(frame: usize, salt: u64) -> impl Iterator<Item = i32> {
    let mut state = salt.wrapping_add(frame as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    std::iter::repeat_with(move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 48) as i32 - (1 << 15)
    })
}

fn reals(frame: usize, salt: u64, n: usize) -> Vec<f32> {
    numbers(frame, salt).take(n).map(|n| n as f32 / 700.0).collect()
}

/// Frame `k` of a trajectory of a format.
fn frame(format: Format, k: usize) -> Raw {
    let (step, time) = (k as i32 * 5, k as f32 * 2.0);
    let vectors = [5.0, 0.0, 0.0, 0.0, 5.0 + k as f32, 0.0, 0.0, 0.0, 5.0];
    let positions = reals(k, 1, 3 * ATOMS);
    match format {
        Format::Xtc => {
            let all: Vec<i32> = numbers(k, 1).take(3 * ATOMS).collect();
            let triples = all.as_chunks().0.to_vec();
            let positions = Positions::Integers { precision: 1000.0, triples };
            Raw::Xtc(xtc::Frame { magic: xtc::MAGIC, step, time, vectors, positions })
        }
        Format::Trr => Raw::Trr(trr::Frame {
            n_atoms: ATOMS,
            double: false,
            step,
            time: f64::from(time),
            lambda: 0.25,
            vectors: Some(Reals::Single(vectors.to_vec())),
            virial: None,
            pressure: None,
            positions: Some(Reals::Single(positions)),
            velocities: k.is_multiple_of(3).then(|| Reals::Single(reals(k, 2, 3 * ATOMS))),
            forces: None,
        }),
        Format::Dcd => Raw::Dcd(dcd::Frame {
            version: 24,
            cell: Some(dcd::Cell {
                numbers: [50.0, 0.0, 50.0, 0.0, 0.0, 50.0 + k as f64],
                form: dcd::CellForm::Angles,
            }),
            axes: (0..3).map(|axis| reals(k, axis, ATOMS)).collect(),
        }),
        Format::Ncdf => {
            let float = |values| Stored { values: Values::Float(values), scale_factor: None };
            Raw::Ncdf(Box::new(ncdf::Frame {
                time: Some(float(vec![time])),
                coordinates: float(positions),
                velocities: None,
                forces: None,
                cell: None,
                further: None,
            }))
        }
        other => unreachable!("this crate writes no {}", other.name()),
    }
}

/// Returns a file of frames, and its folder.
fn source(format: Format, frames: &[Raw]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("source");
    let times: Vec<f64> = (0..frames.len()).map(|k| k as f64 * 2.0).collect();
    let steps: Vec<i64> = (0..frames.len()).map(|k| k as i64 * 5).collect();
    let input = |k: usize| Input::Raw { raw: &frames[k], time: times[k], step: steps[k] };
    let options = WriteOptions::default();
    let plan = Plan { first: input(0), times: &times, steps: &steps, options: &options };
    let encoder = encoder(format, &plan).unwrap();
    let mut bytes = encoder.head();
    for k in 0..frames.len() {
        encoder.encode(k as u64, input(k), &mut Workspace::default(), &mut bytes).unwrap();
    }
    std::fs::write(&path, bytes).unwrap();
    (folder, path)
}

fn open_file(path: &Path) -> Chain {
    let options = OpenOptions { sidecar: false, ..OpenOptions::default() };
    open(&[path.to_owned()], &options, 1, &mut Quiet::default()).unwrap()
}

/// Every third atom but the last one, a few, and the rest.
fn shares() -> [Atoms; 3] {
    let few = [4, 5, 7, 39];
    let third: Vec<i64> = (0..39).step_by(3).collect();
    let rest: Vec<i64> = (0..40).filter(|a| !few.contains(a) && !third.contains(a)).collect();
    [&third[..], &few, &rest].map(|list| Atoms::listed(list, ATOMS).unwrap())
}

fn ranges(atoms: &Atoms) -> Vec<std::ops::Range<u32>> {
    atoms.sorted().unwrap().iter().map(|&atom| atom..atom + 1).collect()
}

/// Partitions into three files, one for each share.
fn divide_in(
    folder: &Path,
    chain: &Chain,
    formats: [Format; 3],
    options: [&WriteOptions; 3],
    threads: usize,
    control: &mut Quiet,
) -> Result<Divided, RunError> {
    divide_as(folder, chain, formats, options, threads, control, |target| target)
}

/// Partitions with other targets.
fn divide_as(
    folder: &Path,
    chain: &Chain,
    formats: [Format; 3],
    options: [&WriteOptions; 3],
    threads: usize,
    control: &mut Quiet,
    changed: for<'t> fn(Target<'t>) -> Target<'t>,
) -> Result<Divided, RunError> {
    let (shares, paths) = (shares(), paths(folder));
    let target = |k: usize| {
        let (atoms, path, format, options) = (&shares[k], &paths[k], formats[k], options[k]);
        changed(Target { atoms, path, format, options, to_hdf5: false, without: &[] })
    };
    let (frames, targets) = (Frames::all(chain.n_frames()), [0, 1, 2].map(target));
    let whole = [Format::Xtc, Format::Trr, Format::Dcd, Format::Ncdf];
    let whole = whole.into_iter().find(|format| chain.format().starts_with(format.name())).unwrap();
    let partition = Partition { frames: &frames, targets: &targets, whole, digests: true };
    divide(chain, &partition, threads, control)
}

fn paths(folder: &Path) -> [PathBuf; 3] {
    ["0", "1", "2"].map(|name| folder.join(name))
}

fn left_in(folder: &Path) -> usize {
    std::fs::read_dir(folder).unwrap().count()
}

/// Partitions successfully; the parts get their names.
fn divided(
    chain: &Chain,
    formats: [Format; 3],
    options: [&WriteOptions; 3],
    threads: usize,
) -> (tempfile::TempDir, Divided) {
    let folder = tempfile::tempdir().unwrap();
    let mut control = Quiet::default();
    let mut done =
        divide_in(folder.path(), chain, formats, options, threads, &mut control).unwrap();
    assert_eq!(control.last, chain.n_frames(), "each frame counts once");
    assert!(paths(folder.path()).iter().all(|path| !path.exists()));
    publish(std::mem::take(&mut done.files)).unwrap();
    assert_eq!(left_in(folder.path()), 3, "nothing else is left");
    (folder, done)
}

/// Returns the bytes of a copy of some atoms.
fn copied(chain: &Chain, atoms: &Atoms, format: Format, options: &WriteOptions) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("copy");
    let frames = Frames::all(chain.n_frames());
    let request = Request { frames: &frames, atoms, path: &path, format, options, force: false };
    convert(chain, &request, 1, &mut Quiet::default()).unwrap();
    std::fs::read(&path).unwrap()
}

/// Returns the frames restored from the files of the parts and the kept metadata.
fn joined(folder: &Path, rows: &FrameRows) -> Vec<Raw> {
    let shares = shares().map(|share| ranges(&share));
    let chains = paths(folder).map(|path| open_file(&path));
    let frame = |k: usize| {
        let read = |chain: &Chain| chain.read_raw(k as u64, &mut Scratch::default()).unwrap();
        let parts = chains.each_ref().map(read);
        let parts: Vec<_> = shares.iter().map(|r| &r[..]).zip(&parts).collect();
        Raw::join(&rows.heads.get(k).unwrap(), ATOMS, &parts).unwrap()
    };
    (0..rows.heads.len()).map(frame).collect()
}

/// Returns the size of each frame in a file of `len` bytes.
fn sizes(path: &Path, len: u64) -> Vec<u64> {
    let mut begins = open_file(path).offsets().to_vec();
    begins.push(len);
    begins.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

#[test]
fn parts_equal_copies_of_their_atoms_and_join_to_the_source() {
    use Format::{Dcd, Ncdf, Trr, Xtc};
    let options = WriteOptions::default();
    for (format, formats) in [
        (Xtc, [Xtc; 3]),
        (Xtc, [Dcd, Xtc, Ncdf]),
        (Xtc, [Trr, Xtc, Xtc]),
        (Trr, [Trr; 3]),
        (Dcd, [Dcd; 3]),
        (Dcd, [Ncdf, Dcd, Dcd]),
        (Ncdf, [Ncdf; 3]),
        (Ncdf, [Ncdf, Dcd, Ncdf]),
    ] {
        let frames: Vec<_> = (0..FRAMES).map(|k| frame(format, k)).collect();
        let (source_folder, path) = source(format, &frames);
        let chain = open_file(&path);
        // Compared as created, and with the layout of the file.
        let read = |k: usize| chain.read_raw(k as u64, &mut Scratch::default()).unwrap();
        let read_frames: Vec<Raw> = (0..FRAMES).map(read).collect();
        let plain = |raw: &Raw| {
            let mut raw = raw.clone();
            raw.forget_further();
            raw
        };
        assert!(read_frames.iter().map(plain).eq(frames.iter().cloned()), "{format:?}");
        let copy = source_folder.path().join("copy");
        std::fs::write(&copy, copied(&chain, &Atoms::all(ATOMS), format, &options)).unwrap();
        let whole = sizes(&copy, std::fs::metadata(&copy).unwrap().len());
        for threads in [1, 2, 3] {
            let (folder, done) = divided(&chain, formats, [&options; 3], threads);
            let Divided { lens, heads_of_files, frames: rows, report, .. } = &done;
            for (k, path) in paths(folder.path()).iter().enumerate() {
                let bytes = std::fs::read(path).unwrap();
                let alone = copied(&chain, &shares()[k], formats[k], &options);
                assert!(bytes == alone, "{format:?} {k}");
                assert_eq!(lens[k], bytes.len() as u64);
                let (head, digest) = heads_of_files[k];
                assert_eq!(digest, xxh3_64(&bytes[..head as usize]));
                let mut at = head as usize;
                for (&size, &digest) in rows.sizes[k].iter().zip(&rows.digests[k]) {
                    assert_eq!(digest, xxh3_64(&bytes[at..at + size as usize]));
                    at += size as usize;
                }
                assert_eq!((at, rows.digests[k].len()), (bytes.len(), FRAMES));
                assert_eq!(rows.sizes[k], sizes(path, lens[k]));
            }
            assert!(joined(folder.path(), rows) == read_frames, "{format:?}");
            assert_eq!(rows.whole, whole, "{format:?}");
            let read: u64 = report.workers.iter().map(|w| w.meter.bytes_read).sum();
            // The first frame is read twice.
            let first = read - whole.iter().sum::<u64>();
            assert_eq!(first, whole[0], "{format:?}: every other byte once");
        }
    }
}

#[test]
fn sizes_of_lossy_partitions_are_those_of_the_restored_frame() {
    let mut frames: Vec<_> = (0..FRAMES).map(|k| frame(Format::Xtc, k)).collect();
    for raw in &mut frames {
        // Nearby atoms need as many bytes as the resolution of their steps requires.
        let Raw::Xtc(raw) = raw else { unreachable!("made as such") };
        let Positions::Integers { triples, .. } = &mut raw.positions else {
            unreachable!("made as such")
        };
        triples.as_flattened_mut().iter_mut().for_each(|n| *n >>= 10);
    }
    let (_folder, path) = source(Format::Xtc, &frames);
    let before = sizes(&path, std::fs::metadata(&path).unwrap().len());
    let options = |precision| WriteOptions { precision, allow_loss: true, ..Default::default() };
    let (coarse, same) = (options(Some(100.0)), WriteOptions::default());
    let (parts, done) = divided(&open_file(&path), [Format::Xtc; 3], [&coarse, &same, &same], 2);
    let union = joined(parts.path(), &done.frames);
    assert!(union != frames);
    assert_ne!(done.frames.whole, before);
    let (_again, path) = source(Format::Xtc, &union);
    assert_eq!(done.frames.whole, sizes(&path, std::fs::metadata(&path).unwrap().len()));
}

#[test]
fn hdf5_targets_must_restore_frames_from_floats() {
    use Format::{Dcd, Ncdf, Trr, Xtc};
    for (format, lost) in [
        (Xtc, None),
        (Dcd, None),
        (Ncdf, None),
        (Trr, Some("frame 0: H5MD cannot hold a frame of TRR (a part lacks the velocities")),
    ] {
        let frames: Vec<_> = (0..FRAMES).map(|k| frame(format, k)).collect();
        let (_folder, path) = source(format, &frames);
        let chain = open_file(&path);
        let divide = |options: &WriteOptions, folder: &Path| {
            let control = &mut Quiet::default();
            divide_as(folder, &chain, [format; 3], [options; 3], 2, control, |target| Target {
                to_hdf5: true,
                without: &[],
                ..target
            })
        };
        let folder = tempfile::tempdir().unwrap();
        let options = WriteOptions::default();
        let done = divide(&options, folder.path());
        if let Some(words) = lost {
            let error = done.unwrap_err().to_string();
            assert!(error.contains(words) && error.contains("lossy = true"), "{error}");
            assert_eq!(left_in(folder.path()), 0);
            divide(&WriteOptions { allow_loss: true, ..options }, folder.path()).unwrap();
            continue;
        }
        publish(done.unwrap().files).unwrap();
        // The intermediate files lose nothing.
        for (k, path) in paths(folder.path()).iter().enumerate() {
            assert!(std::fs::read(path).unwrap() == copied(&chain, &shares()[k], format, &options));
        }
    }
}

#[test]
fn hdf5_targets_refuse_frames_without_positions() {
    let without = |k: usize| match frame(Format::Trr, k) {
        Raw::Trr(raw) if k == 70 => Raw::Trr(trr::Frame { positions: None, ..raw }),
        raw => raw,
    };
    let frames: Vec<_> = (0..FRAMES).map(without).collect();
    let (_folder, path) = source(Format::Trr, &frames);
    let options = WriteOptions { allow_loss: true, ..WriteOptions::default() };
    let folder = tempfile::tempdir().unwrap();
    let (chain, control) = (open_file(&path), &mut Quiet::default());
    let formats = [Format::Trr; 3];
    let done = divide_as(folder.path(), &chain, formats, [&options; 3], 2, control, |target| {
        Target { to_hdf5: true, ..target }
    });
    let error = done.unwrap_err().to_string();
    assert!(error.contains("frame 70: H5MD cannot hold a frame without positions"), "{error}");
}

/// Partitions frames that must be refused. The error must name the file, the frame and the reason.
fn refused(
    chain: &Chain,
    formats: [Format; 3],
    options: &WriteOptions,
    threads: usize,
) -> (String, u64, String) {
    let folder = tempfile::tempdir().unwrap();
    let control = &mut Quiet::default();
    let done = divide_in(folder.path(), chain, formats, [options; 3], threads, control);
    let Err(RunError::Tasks(errors)) = done else { panic!("{formats:?} {options:?}") };
    assert_eq!(left_in(folder.path()), 0);
    match &errors[0].fault {
        TaskFault::Input(error @ Error::CannotHold { path, frame, .. }) => {
            let name = path.strip_prefix(&folder).unwrap().display().to_string();
            (name, *frame, error.to_string())
        }
        other => panic!("{other}"),
    }
}

#[test]
fn frames_that_cannot_be_restored_are_refused() {
    use Format::{Dcd, Ncdf, Trr, Xtc};
    let plain = WriteOptions::default();
    let coarse = WriteOptions { precision: Some(100.0), ..WriteOptions::default() };
    let still = WriteOptions { velocities: false, ..WriteOptions::default() };
    let double = WriteOptions { double: Some(true), ..WriteOptions::default() };
    for (of, target, options, what) in [
        (Xtc, Xtc, &coarse, "XTC cannot hold steps of 1/1000 nm in steps of 1/100 nm"),
        (Dcd, Xtc, &plain, "XTC cannot hold positions of DCD as they are stored there"),
        (Dcd, Trr, &plain, "TRR cannot hold positions of DCD as they are stored there"),
        (Trr, Dcd, &plain, "DCD cannot hold velocities, λ = 0.25"),
        (Trr, Ncdf, &plain, "NCDF cannot hold λ = 0.25"),
        (Trr, Trr, &still, "TRR cannot hold the velocities, which are not to be written"),
        (Trr, Trr, &double, "TRR cannot hold numbers in another precision than the source's"),
    ] {
        let frames: Vec<_> = (0..FRAMES).map(|k| frame(of, k)).collect();
        let (_folder, path) = source(of, &frames);
        let chain = open_file(&path);
        let (file, frame, words) = refused(&chain, [target; 3], options, 2);
        assert_eq!((&file[..], frame), ("0", 0), "{words}");
        assert!(words.contains(what) && words.contains("lossy = true"), "{words}");
        let lossy = WriteOptions { allow_loss: true, velocities: false, ..options.clone() };
        divided(&chain, [target; 3], [&lossy; 3], 2);
    }
}

#[test]
fn any_frame_that_cannot_be_restored_is_found() {
    use Format::{Dcd, Ncdf, Xtc};
    let frames = |format| -> Vec<_> { (0..FRAMES).map(|k| frame(format, k)).collect() };
    let mut doubles = frames(Ncdf);
    for (k, raw) in doubles.iter_mut().enumerate() {
        let Raw::Ncdf(raw) = raw else { unreachable!("made as such") };
        let Values::Float(values) = &raw.coordinates.values else { unreachable!("made as such") };
        let mut values: Vec<f64> = values.iter().map(|&x| f64::from(x)).collect();
        values[3] += if k == 140 { 1e-9 } else { 0.0 };
        raw.coordinates.values = Values::Double(values);
    }
    // Floats cannot represent odd numbers of that size.
    let mut far = frames(Xtc);
    let Raw::Xtc(xtc::Frame { positions: Positions::Integers { triples, .. }, .. }) = &mut far[140]
    else {
        unreachable!("made as such")
    };
    triples.iter_mut().for_each(|triple| triple[1] = 1 << 25);
    triples[7][1] += 1;
    for (format, frames, formats, file, what) in [
        (Ncdf, &doubles, [Ncdf, Ncdf, Dcd], "2", "DCD cannot hold positions of NCDF so that"),
        (Xtc, &far, [Xtc, Xtc, Xtc], "1", "XTC cannot hold steps so large: of 4 atoms it"),
    ] {
        let (_folder, path) = source(format, frames);
        for threads in [1, 3] {
            let (name, frame, words) =
                refused(&open_file(&path), formats, &WriteOptions::default(), threads);
            assert_eq!((&name[..], frame), (file, 140), "{words}");
            assert!(words.contains(what) && words.contains("lossy = true"), "{words}");
        }
    }
}

#[test]
fn files_that_differ_in_storage_from_the_first_are_refused() {
    use Format::{Ncdf, Trr, Xtc};
    let frames = |format| -> Vec<_> { (0..5).map(|k| frame(format, k)).collect() };
    let mut doubles = frames(Ncdf);
    for raw in &mut doubles {
        let Raw::Ncdf(raw) = raw else { unreachable!("made as such") };
        raw.coordinates.values = Values::Double(vec![0.1; 3 * ATOMS]);
    }
    for (first, second, of, what) in [
        (Ncdf, &doubles, Ncdf, "NCDF cannot hold a frame that is stored in another way"),
        (Xtc, &frames(Trr), Trr, "XTC cannot hold velocities, λ = 0.25"),
    ] {
        let (_first, one) = source(first, &frames(first));
        let (_second, other) = source(of, second);
        let options = OpenOptions { sidecar: false, ..OpenOptions::default() };
        let chain = open(&[one, other], &options, 1, &mut Quiet::default()).unwrap();
        let (file, frame, words) = refused(&chain, [first; 3], &WriteOptions::default(), 2);
        assert_eq!((&file[..], frame), ("0", 5), "{words}");
        assert!(words.contains(what) && words.contains("lossy = true"), "{words}");
    }
}

#[test]
fn unpublished_and_failed_outputs_leave_nothing() {
    let frames: Vec<_> = (0..FRAMES).map(|k| frame(Format::Xtc, k)).collect();
    let (_folder, path) = source(Format::Xtc, &frames);
    let (chain, options) = (open_file(&path), WriteOptions::default());
    let folder = tempfile::tempdir().unwrap();
    let into = |folder: &Path, control: &mut Quiet| {
        divide_in(folder, &chain, [Format::Xtc; 3], [&options; 3], 2, control)
    };
    let done = into(folder.path(), &mut Quiet::default()).unwrap();
    assert_eq!(left_in(folder.path()), 3);
    drop(done);
    assert_eq!(left_in(folder.path()), 0);
    let control = &mut Quiet { stop_at_once: true, ..Quiet::default() };
    assert!(matches!(into(folder.path(), control), Err(RunError::Interrupted)));
    assert_eq!(left_in(folder.path()), 0);
    // The second file cannot be created.
    std::fs::create_dir(&paths(folder.path())[1]).unwrap();
    let Err(RunError::Tasks(errors)) = into(folder.path(), &mut Quiet::default()) else {
        panic!("a folder in the way")
    };
    assert!(matches!(errors[0].fault, TaskFault::Input(Error::NotAFile { .. })));
    assert_eq!(left_in(folder.path()), 1);
    // A source that ends before its last indexed frame.
    std::fs::remove_dir(&paths(folder.path())[1]).unwrap();
    let len = std::fs::metadata(&path).unwrap().len();
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(len - 100).unwrap();
    assert!(matches!(into(folder.path(), &mut Quiet::default()), Err(RunError::Tasks(_))));
    assert_eq!(left_in(folder.path()), 0);
}
