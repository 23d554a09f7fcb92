//! The plug-in in a host. `host.c`, built once for each version of the interface, makes VMD's calls in VMD's order. If
//! `TRAJET_HOST_UNDER` names a program, hosts run under it (`make test-valgrind`).

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use trajet_engine::run::Control;
use trajet_files::{Chain, Frames, OpenOptions, ReadRequest, Scratch, Serial, chain, publish};
use trajet_formats::{
    Atoms, Field, Format, FrameMeta, Input, Plan, Snapshot, Workspace, WriteOptions, encoder,
};
use trajet_store::manifest::Tag;
use trajet_store::{AddedFiles, Spec, Store, Tier};

/// Interface versions of VMD 1.9.4, 1.9.3 and older.
const VERSIONS: [u32; 3] = [18, 17, 16];
const FORMATS: [(Format, &str); 4] = [
    (Format::Xtc, "made.xtc"),
    (Format::Trr, "made.trr"),
    (Format::Dcd, "made.dcd"),
    (Format::Ncdf, "made.nc"),
];
const ATOMS: usize = 301;
const FRAMES: usize = 23;

/// Exit codes of `host.c`.
const REFUSED: i32 = 3;
const SHORT: i32 = 4;

/// Returns the library, which cargo builds beside this test.
fn library() -> PathBuf {
    let test = std::env::current_exe().expect("the path of this test");
    let name =
        format!("{}trajet_molfile{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let beside = test.with_file_name(&name);
    assert!(beside.is_file(), "{} is missing", beside.display());
    beside
}

/// Returns the host for a version, compiled on first use.
fn host(version: u32) -> &'static Path {
    static HOSTS: [OnceLock<PathBuf>; 3] = [const { OnceLock::new() }; 3];
    let place = VERSIONS.iter().position(|&known| known == version).expect("a known version");
    HOSTS[place].get_or_init(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR"));
        let program =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("molfile-host-{version}"));
        let status = Command::new("cc")
            .args(["-std=c11", "-O1", "-g", "-Wall", "-Wextra", "-Werror"])
            .arg(format!("-DMOLFILE_ABI={version}"))
            .arg("-I")
            .arg(source.join("include"))
            .arg(source.join("tests/host.c"))
            .arg("-o")
            .arg(&program)
            .arg("-ldl")
            .status();
        assert!(status.expect("cc, which cargo needs too").success(), "cc");
        program
    })
}

/// Outcome of a host's run.
struct HostRun {
    status: i32,
    stdout: String,
    stderr: String,
    read: PathBuf,
}

fn run(version: u32, kind: &str, file: &Path, options: &[&str]) -> HostRun {
    let read = file.with_extension(format!("{version}.{}.read", options.join(".")));
    // From an earlier run.
    let _ = std::fs::remove_file(&read);
    let under = std::env::var("TRAJET_HOST_UNDER").unwrap_or_default();
    let mut words = under.split_whitespace().map(Into::into).collect::<Vec<PathBuf>>();
    words.extend([host(version).to_owned(), library(), kind.into(), file.to_owned(), read.clone()]);
    let mut command = Command::new(&words[0]);
    // Freed memory in a thread's cache would count as used.
    command.args(&words[1..]).args(options).env("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0");
    let Output { status, stdout, stderr } = command.output().expect("a host");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    let (stdout, stderr) = (text(stdout), text(stderr));
    HostRun { status: status.code().expect("no signal"), stdout, stderr, read }
}

/// Runs a host that must read every frame and print nothing. Returns the bytes that it read.
fn succeed(version: u32, kind: &str, file: &Path, options: &[&str]) -> Vec<u8> {
    let done = run(version, kind, file, options);
    assert_eq!((done.status, &*messages_in(&done.stderr)), (0, ""), "{}", file.display());
    std::fs::read(done.read).expect("what was read")
}

/// Returns the lines of the plug-in, without those of a program that runs the host.
fn messages_in(stderr: &str) -> String {
    let own = |line: &&str| line.starts_with("trajet: ") || line.starts_with("host: ");
    stderr.lines().filter(own).collect::<Vec<_>>().join("\n")
}

/// Runs a host that must refuse the file with one message, which is returned.
fn refused(kind: &str, file: &Path) -> String {
    let done = run(18, kind, file, &[]);
    let message = messages_in(&done.stderr);
    assert_eq!(
        (done.status, message.lines().count()),
        (REFUSED, 1),
        "{}: {message}",
        file.display()
    );
    assert!(!done.read.exists(), "something was read of {}", file.display());
    message
}

/// Numbers of ordinary size, different for each frame.
fn numbers(frame: usize, kind: u32) -> Vec<[f32; 3]> {
    let number = |k: usize| {
        let mixed =
            (frame as u32 * 7919 + k as u32 * 31 + kind * 104_729).wrapping_mul(2_654_435_761);
        (mixed >> 8) as f32 / (1 << 24) as f32 * 80.0 - 10.0
    };
    (0..ATOMS).map(|atom| [0, 1, 2].map(|axis| number(3 * atom + axis))).collect()
}

/// Frames with all fields that the formats support together.
fn snapshots(cell: bool, velocities: bool) -> Vec<Snapshot> {
    let one = |k: usize| Snapshot {
        n_atoms: ATOMS,
        time: 2.5 * k as f64,
        cell: match cell {
            true => [61.0 + k as f64 / 3.0, 72.0, 83.0, 90.0, 90.0, 75.0],
            false => [f64::NAN; 6],
        },
        positions: Some(numbers(k, 0)),
        velocities: velocities.then(|| numbers(k, 1)),
        ..Snapshot::default()
    };
    (0..FRAMES).map(one).collect()
}

fn write(path: &Path, format: Format, frames: &[Snapshot]) {
    let times: Vec<f64> = frames.iter().map(|frame| frame.time).collect();
    let steps = vec![0; frames.len()];
    let options = WriteOptions { allow_loss: true, ..WriteOptions::default() };
    let first = Input::Snapshot(&frames[0]);
    let plan = Plan { first, times: &times, steps: &steps, options: &options };
    let encoder = encoder(format, &plan).expect("an encoder");
    let mut output = trajet_files::Output::begin(path, true).expect("an output");
    let (mut workspace, mut bytes) = (Workspace::default(), encoder.head());
    for (number, frame) in (0..).zip(frames) {
        let frame = Input::Snapshot(frame);
        encoder.encode(number, frame, &mut workspace, &mut bytes).expect("a frame");
    }
    output.append(&bytes).expect("room");
    let whole = output.finish(&encoder.patches(frames.len() as u64)).expect("room");
    publish(vec![whole]).expect("a name");
}

fn opened(paths: &[&Path]) -> Chain {
    let options = OpenOptions { sidecar: false, ..OpenOptions::default() };
    let paths: Vec<PathBuf> = paths.iter().map(|&path| path.to_owned()).collect();
    chain::open(&paths, &options, &Serial).expect("a trajectory")
}

/// Returns the expected bytes, from our own reader.
fn expected(paths: &[&Path], velocities: bool, step: usize) -> Vec<u8> {
    let chain = opened(paths);
    expected_of(&chain, &Atoms::all(chain.n_atoms()), velocities, step)
}

fn expected_of(chain: &Chain, atoms: &Atoms, velocities: bool, step: usize) -> Vec<u8> {
    let frames = Frames::all(chain.n_frames());
    let numbers = atoms.len() * 3;
    let len = chain.n_frames() * numbers;
    let read = |field| {
        let request = ReadRequest { frames: &frames, atoms, field };
        let (mut out, mut meta) = (vec![0.0; len], FrameMeta::default());
        let all = 0..chain.n_frames();
        chain
            .read_into(&request, all, &mut Scratch::default(), &mut out, &mut meta)
            .expect("frames");
        (out, meta)
    };
    let (positions, meta) = read(Field::Positions);
    let velocities = velocities.then(|| read(Field::Velocities).0);
    let mut bytes = Vec::new();
    bytes.extend((atoms.len() as i32).to_ne_bytes());
    bytes.extend(i32::from(velocities.is_some()).to_ne_bytes());
    for k in (0..chain.n_frames()).step_by(step) {
        let none = meta.cells[k][0].is_nan();
        let cell = if none { [0.0, 0.0, 0.0, 90.0, 90.0, 90.0] } else { meta.cells[k] };
        bytes.extend(cell.iter().flat_map(|&x| (x as f32).to_ne_bytes()));
        bytes.extend(meta.times[k].to_ne_bytes());
        let here = k * numbers..(k + 1) * numbers;
        for field in [Some(&positions), velocities.as_ref()].into_iter().flatten() {
            bytes.extend(field[here.clone()].iter().flat_map(|x| x.to_ne_bytes()));
        }
    }
    bytes
}

/// Returns files of every format, and whether hosts find velocities in them.
fn made(folder: &Path) -> Vec<(PathBuf, bool)> {
    let frames = snapshots(true, true);
    let one = |(format, name): (Format, &str)| {
        let path = folder.join(name);
        write(&path, format, &frames);
        (path, matches!(format, Format::Trr | Format::Ncdf))
    };
    FORMATS.map(one).to_vec()
}

#[test]
fn all_frames_and_cells_equal_our_reader() {
    let folder = tempfile::tempdir().expect("a folder");
    for (path, velocities) in made(folder.path()) {
        let expected = expected(&[&path], velocities, 1);
        let frame = 32 + 12 * ATOMS * (1 + usize::from(velocities));
        assert_eq!(expected.len(), 8 + FRAMES * frame, "{}", path.display());
        for version in VERSIONS {
            let read = succeed(version, "trajet", &path, &[]);
            assert!(read == expected, "{} by version {version}", path.display());
        }
    }
}

#[test]
fn frames_without_a_cell_have_none() {
    let folder = tempfile::tempdir().expect("a folder");
    for (format, name) in FORMATS {
        let path = folder.path().join(name);
        write(&path, format, &snapshots(false, false));
        let read = succeed(18, "trajet", &path, &[]);
        assert!(read == expected(&[&path], false, 1), "{name}");
        let cell: Vec<u8> =
            [0f32, 0.0, 0.0, 90.0, 90.0, 90.0].iter().flat_map(|x| x.to_ne_bytes()).collect();
        assert_eq!(read[8..32], cell, "{name}");
    }
}

#[test]
fn frames_without_positions_are_nan_and_reported_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("made.trr");
    let mut frames = snapshots(true, true);
    frames.iter_mut().skip(1).step_by(2).for_each(|frame| frame.positions = None);
    write(&path, Format::Trr, &frames);
    let done = run(18, "trajet", &path, &[]);
    let message = messages_in(&done.stderr);
    assert_eq!((done.status, message.lines().count()), (0, 1), "{message}");
    assert!(message.contains("frame 1 and perhaps others hold no positions"), "{message}");
    let read = std::fs::read(done.read).expect("what was read");
    assert!(read == expected(&[&path], true, 1));
}

#[test]
fn frames_can_be_skipped() {
    let folder = tempfile::tempdir().expect("a folder");
    for (path, velocities) in made(folder.path()) {
        for step in [2, 7, 100] {
            let read = succeed(18, "trajet", &path, &[&format!("step={step}")]);
            assert!(read == expected(&[&path], velocities, step), "{} by {step}", path.display());
        }
    }
}

#[test]
fn a_host_accepts_its_own_version_only() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("made.dcd");
    write(&path, Format::Dcd, &snapshots(true, false));
    for (n, version) in (1..).zip(VERSIONS) {
        let done = run(version, "tjt", &path, &[]);
        assert_eq!(done.status, 0, "{}", done.stderr);
        let offers: Vec<&str> = done.stdout.lines().collect();
        assert_eq!(offers.len(), 2 * n, "{offers:?}");
        let own =
            [format!("offered {version} tjt tjt"), format!("offered {version} trajet trajet")];
        assert_eq!(offers[2 * n - 2..], own);
    }
}

#[test]
fn a_pointer_names_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let made = made(folder.path());
    let pointer = folder.path().join("bar.p.tjt");
    let trr = &*made[1].0;
    std::fs::write(&pointer, "trajet-pointer 1\nfile made.trr\n").expect("room");
    assert!(succeed(17, "tjt", &pointer, &[]) == expected(&[trr], true, 1));
    // Two files that begin at the same time, one of them without velocities.
    let text = format!("trajet-pointer 1\nfile made.xtc\nfile {}", trr.display());
    std::fs::write(&pointer, text).expect("room");
    let done = run(18, "tjt", &pointer, &[]);
    let read = std::fs::read(done.read).expect("what was read");
    assert!(read == expected(&[&made[0].0, trr], false, 1));
    let message = messages_in(&done.stderr);
    assert!(
        done.status == 0 && message.contains("times overlap or step back at 1 of 1"),
        "{message}"
    );
    std::fs::write(&pointer, "trajet-pointer 1\nfile gone.xtc\n").expect("room");
    assert!(refused("tjt", &pointer).contains("gone.xtc"));
    std::fs::write(&pointer, "trajet-pointer 2\n").expect("room");
    assert!(refused("tjt", &pointer).contains("take a newer trajet"));
}

struct Quiet;

impl Control for Quiet {
    fn progress(&mut self, _: usize, _: usize) {}
    fn interrupted(&mut self) -> bool {
        false
    }
}

/// Every fifth atom is protein.
fn protein() -> impl Iterator<Item = usize> + Clone {
    (0..ATOMS).filter(|atom| atom % 5 == 0)
}

/// Creates a store with the trajectory as data set `bar`. Returns the data set's path.
fn stored(folder: &Path, trajectory: &Path) -> PathBuf {
    let store = Store::create(&folder.join("store")).expect("a store");
    let rest = (0..ATOMS).filter(|atom| atom % 5 != 0);
    let tag = |name: &str, atoms: &mut dyn Iterator<Item = usize>| Tag {
        name: name.into(),
        short_name: name[..1].into(),
        select: name.into(),
        tier: "fast".into(),
        format: "exact".into(),
        lossy: false,
        precision: None,
        atoms: atoms.map(|atom| atom as u32..atom as u32 + 1).collect(),
    };
    let tags = vec![tag("protein", &mut protein()), tag("misc", &mut rest.clone())];
    let tier = Tier { folder: folder.join("fast"), limit: None, rank: 0, mark: None };
    let spec = Spec { tiers: [("fast".into(), tier)].into(), tags };
    let topology = folder.join("bar.pdb");
    std::fs::write(&topology, "END\n").expect("room");
    let given = AddedFiles { topology: &topology, structures: &[Vec::new(), Vec::new()] };
    store.add("bar", &opened(&[trajectory]), &spec, &given, 1, &mut Quiet).expect("a data set");
    folder.join("store/bar")
}

#[test]
fn a_pointer_names_a_tag_of_a_store() {
    for (format, name) in FORMATS {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(name);
        write(&path, format, &snapshots(true, true));
        let dataset = stored(folder.path(), &path);
        let pointer = folder.path().join("bar.p.tjt");
        let velocities = matches!(format, Format::Trr | Format::Ncdf);
        let list: Vec<i64> = protein().map(|atom| atom as i64).collect();
        let atoms = Atoms::listed(&list, ATOMS).expect("atoms");
        let expected = expected_of(&opened(&[&path]), &atoms, velocities, 1);
        for (tag, times) in [("protein", "times=1"), ("p", "times=100")] {
            let text = format!("trajet-pointer 1\ndataset {}\ntag {tag}\n", dataset.display());
            std::fs::write(&pointer, text).expect("room");
            assert!(succeed(18, "tjt", &pointer, &[times]) == expected, "{name}, {tag}");
        }
        let wrong =
            [("store/bar", "lipid", "lipid"), ("store/foo", "p", "foo"), ("none/bar", "p", "none")];
        for (place, tag, expected) in wrong {
            let text = format!("trajet-pointer 1\ndataset {place}\ntag {tag}\n");
            std::fs::write(&pointer, text).expect("room");
            let complaint = refused("tjt", &pointer);
            assert!(complaint.contains(expected), "{complaint}");
        }
        let text = "trajet-pointer 1\ndataset store/bar\ntag protein\n";
        std::fs::write(&pointer, text).expect("room");
        let file = subset(&folder.path().join("fast"), "protein");
        let bytes = std::fs::read(&file).expect("a subset");
        let last = opened(&[&file]).offsets()[FRAMES - 1] as usize;
        // Cut inside the last frame, and before it.
        for keep in [bytes.len() - 20, last] {
            std::fs::write(&file, &bytes[..keep]).expect("room");
            let message = refused("tjt", &pointer);
            assert!(message.contains("/protein."), "{message}");
        }
    }
}

#[test]
fn a_changed_byte_of_a_tag_ends_the_animation_with_a_message() {
    for (format, name) in FORMATS {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(name);
        write(&path, format, &snapshots(true, false));
        let dataset = stored(folder.path(), &path);
        let list: Vec<i64> = protein().map(|atom| atom as i64).collect();
        let atoms = Atoms::listed(&list, ATOMS).expect("atoms");
        let whole = expected_of(&opened(&[&path]), &atoms, false, 1);
        let pointer = folder.path().join("bar.p.tjt");
        let text = format!("trajet-pointer 1\ndataset {}\ntag p\n", dataset.display());
        std::fs::write(&pointer, text).expect("room");
        let file = subset(&folder.path().join("fast"), "protein");
        let bad = FRAMES - 3;
        let end = opened(&[&file]).offsets()[bad + 1] as usize;
        let mut bytes = std::fs::read(&file).expect("a subset");
        bytes[end - 9] ^= 2;
        std::fs::write(&file, bytes).expect("room");
        let done = run(18, "tjt", &pointer, &[]);
        let message = messages_in(&done.stderr);
        assert_eq!(done.status, SHORT, "{message}");
        assert!(message.contains(&format!("frame {bad} at byte")), "{message}");
        assert!(message.contains("/bar says what else is damaged"), "{message}");
        let read = std::fs::read(done.read).expect("what was read");
        assert!(read == whole[..8 + bad * (32 + 12 * list.len())], "{name}");
        let mut bytes = std::fs::read(&file).expect("a subset");
        bytes[20] ^= 2;
        std::fs::write(&file, bytes).expect("room");
        let message = refused("tjt", &pointer);
        assert!(message.contains("/bar says what else is damaged"), "{message}");
    }
}

/// Returns the file of a tag on a tier.
fn subset(tier: &Path, tag: &str) -> PathBuf {
    let files = std::fs::read_dir(tier).expect("a tier").flat_map(|folder| {
        let folder = folder.expect("an entry").path();
        // The tier's folder also contains its marker file.
        std::fs::read_dir(folder).into_iter().flatten().map(|file| file.expect("an entry").path())
    });
    let mut files = files.filter(|path| path.file_stem().is_some_and(|stem| stem == tag));
    files.next().expect("a subset")
}

#[test]
fn a_hundred_opens_and_closes_leak_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    for (path, velocities) in made(folder.path()) {
        let read = succeed(18, "trajet", &path, &["times=100"]);
        assert!(read == expected(&[&path], velocities, 1), "{}", path.display());
    }
}

#[test]
fn a_truncated_file_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    for (path, _) in made(folder.path()) {
        let bytes = std::fs::read(&path).expect("a file");
        for keep in [bytes.len() - 1, bytes.len() / 2 + 5] {
            let cut = path.with_file_name(format!("cut-{keep}"));
            std::fs::write(&cut, &bytes[..keep]).expect("room");
            let message = refused("trajet", &cut);
            assert!(message.contains("cut inside frame"), "{message}");
            assert!(message.contains(&*cut.to_string_lossy()), "{message}");
        }
    }
}

#[test]
fn files_that_are_no_trajectories_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let place = |name: &str| folder.path().join(name);
    std::fs::write(place("text"), "Notes on a simulation\nof water\n").expect("room");
    std::fs::write(place("empty"), "").expect("room");
    for (name, expected) in
        [("text", "text file"), ("empty", "0 bytes"), ("gone", "gone"), (".", "not a regular file")]
    {
        let message = refused("trajet", &place(name));
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn a_damaged_frame_ends_the_animation_with_a_message() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("made.xtc");
    write(&path, Format::Xtc, &snapshots(true, false));
    let whole = expected(&[&path], false, 1);
    let options = OpenOptions { sidecar: false, ..OpenOptions::default() };
    let reader = trajet_files::open(&path, &options, &Serial).expect("a trajectory");
    let bad = FRAMES - 3;
    let begin = format!("damage={}", reader.index().offset(bad as u64));
    let done = run(18, "trajet", &path, &[&begin, "after=0"]);
    let message = messages_in(&done.stderr);
    let [first, again] = message.lines().collect::<Vec<_>>()[..] else { panic!("{message}") };
    assert_eq!(done.status, SHORT);
    assert!(first.contains(&format!("frame {bad} at byte")), "{message}");
    assert!(again.contains("no frame is read after one that could not be"), "{message}");
    let read = std::fs::read(done.read).expect("what was read");
    assert!(read == whole[..8 + bad * (32 + 12 * ATOMS)]);
}

#[test]
fn a_wrong_number_of_atoms_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("made.dcd");
    write(&path, Format::Dcd, &snapshots(true, false));
    for atoms in ["0", "300", "302"] {
        let done = run(18, "trajet", &path, &[&format!("atoms={atoms}")]);
        let message = messages_in(&done.stderr);
        assert_eq!(done.status, SHORT);
        assert!(
            message.contains(&format!("301 atoms, but the host asks for {atoms}")),
            "{message}"
        );
    }
}
