//! Changes to a store: the data that they preserve, and the requests that they refuse.

// Links.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;

use trajet_engine::Control;
use trajet_files::{Chain, OpenOptions, Scratch};
use trajet_formats::{Atoms, Code, Format, Input, Plan, Snapshot, Workspace, WriteOptions};
use trajet_store::{AddedFiles, Error, Manifest, Spec, Store, Tier};

const ATOMS: usize = 30;

/// Runs a closure whenever it is polled.
struct OnPoll<F: FnMut()>(F);

impl<F: FnMut()> Control for OnPoll<F> {
    fn progress(&mut self, _: usize, _: usize) {}

    fn interrupted(&mut self) -> bool {
        (self.0)();
        false
    }
}

/// Runs a closure when it is first polled, which decides whether to cancel.
struct Once<F: FnOnce() -> bool>(Option<F>);

impl<F: FnOnce() -> bool> Control for Once<F> {
    fn progress(&mut self, _: usize, _: usize) {}

    fn interrupted(&mut self) -> bool {
        self.0.take().is_some_and(|first| first())
    }
}

fn quiet() -> impl Control {
    OnPoll(|| {})
}

/// A folder with a short trajectory, its topology, and a store with the data set `one`.
struct Case {
    folder: tempfile::TempDir,
    store: Store,
}

impl Case {
    fn new() -> Case {
        let folder = tempfile::tempdir().unwrap();
        write(&folder.path().join("a.xtc"), 5);
        fs::write(folder.path().join("top.pdb.gz"), "any").unwrap();
        let store = Store::create(&folder.path().join("store")).unwrap();
        let case = Case { folder, store };
        case.add("one", ["p", "w"]).unwrap();
        case
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn open(&self, name: &str) -> Chain {
        trajet_engine::open(&[self.path(name)], &OpenOptions::default(), 1, &mut quiet()).unwrap()
    }

    /// Partitions the atoms into two tags with these short names.
    fn add(&self, name: &str, short: [&str; 2]) -> Result<(), Error> {
        self.add_while("a.xtc", name, short, &mut quiet())
    }

    fn add_while(
        &self,
        source: &str,
        name: &str,
        short: [&str; 2],
        control: &mut dyn Control,
    ) -> Result<(), Error> {
        let spec = self.spec(short);
        let topology = self.path("top.pdb.gz");
        let given = AddedFiles { topology: &topology, structures: &[vec![], vec![]] };
        self.store.add(name, &self.open(source), &spec, &given, 1, control).map(drop)
    }

    fn spec(&self, short: [&str; 2]) -> Spec {
        let spec = serde_json::json!({
            "tiers": {
                "fast": {"folder": self.path("fast"), "limit": null},
                "slow": {"folder": self.path("slow"), "limit": null},
            },
            "tags": [
                {"name": "protein", "short_name": short[0], "select": "", "tier": "fast", "format": "exact",
                 "atoms": [[0, 12]]},
                {"name": "water", "short_name": short[1], "select": "", "tier": "slow", "format": "exact",
                 "atoms": [[12, ATOMS]]},
            ],
        });
        serde_json::from_value(spec).unwrap()
    }

    /// Adds a data set with files beside the tags.
    fn add_beside(&self, name: &str, structures: &[Vec<PathBuf>; 2]) -> Result<(), Error> {
        let spec = self.spec(["p", "w"]);
        let topology = self.path("top.pdb.gz");
        let given = AddedFiles { topology: &topology, structures };
        self.store.add(name, &self.open("a.xtc"), &spec, &given, 1, &mut quiet()).map(drop)
    }

    /// Changes the tiers in the store's settings.
    fn settings(&self, change: impl Fn(&mut serde_json::Value)) {
        let path = self.path("store/store.json");
        let mut settings: serde_json::Value =
            serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        settings["tiers"].as_object_mut().unwrap().values_mut().for_each(change);
        fs::write(path, settings.to_string()).unwrap();
    }

    /// Returns the path of a tier's marker file.
    fn marker(&self, tier: &str) -> PathBuf {
        let mark = self.store.tiers().unwrap()[tier].mark.clone().unwrap();
        self.path(tier).join(format!(".trajet-tier-{mark}"))
    }

    /// Returns the other entries in a tier's folder.
    fn entries_on(&self, tier: &str) -> Vec<String> {
        let names = fs::read_dir(self.path(tier)).unwrap().map(|entry| entry.unwrap().file_name());
        let names = names.map(|name| name.into_string().unwrap());
        names.filter(|name| !name.starts_with(".trajet-tier-")).collect()
    }

    fn one(&self) -> Manifest {
        self.store.manifest("one").unwrap()
    }

    fn problems(&self) -> Vec<String> {
        self.store.verify("one", 1, &mut quiet()).unwrap()
    }

    /// Returns all files below a folder with their contents or link targets, except those that operations may leave.
    fn tree(&self, folder: &str) -> BTreeMap<PathBuf, Vec<u8>> {
        let (mut found, mut folders) = (BTreeMap::new(), vec![self.path(folder)]);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let kind = path.symlink_metadata().unwrap().file_type();
                let bytes = match () {
                    () if kind.is_dir() => {
                        folders.push(path.clone());
                        Vec::new()
                    }
                    () if kind.is_symlink() => {
                        fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
                    }
                    () if kind.is_file() => fs::read(&path).unwrap(),
                    () => b"special".to_vec(),
                };
                if path != self.path("store/lock") && path != self.path("store/.pending") {
                    found.insert(path, bytes);
                }
            }
        }
        found
    }

    /// Creates the remains of a killed process: a journal with these lines.
    fn write_journal(&self, doing: &str, lines: &str) {
        let first = format!(r#"{{"Doing":{{"doing":"{doing}","name":"one"}}}}"#);
        fs::write(self.path("store/.pending/left.json"), format!("{first}\n{lines}")).unwrap();
    }
}

fn write(path: &Path, n_frames: i64) {
    write_at(path, n_frames, 1.5);
}

/// Writes frames whose atoms all have this z coordinate.
fn write_at(path: &Path, n_frames: i64, z: f32) {
    write_of(path, n_frames, |_, _| z);
}

/// Writes frames with z coordinates by step and atom index.
fn write_of(path: &Path, n_frames: i64, z: impl Fn(i64, usize) -> f32) {
    let frame = |step: i64| Snapshot {
        n_atoms: ATOMS,
        time: step as f64,
        step,
        cell: [50.0, 50.0, 50.0, 90.0, 90.0, 90.0],
        positions: Some((0..ATOMS).map(|k| [k as f32, step as f32, z(step, k)]).collect()),
        ..Snapshot::default()
    };
    let frames: Vec<Snapshot> = (0..n_frames).map(frame).collect();
    let times: Vec<f64> = frames.iter().map(|frame| frame.time).collect();
    let steps: Vec<i64> = frames.iter().map(|frame| frame.step).collect();
    let options = WriteOptions::default();
    let first = Input::Snapshot(&frames[0]);
    let plan = Plan { first, times: &times, steps: &steps, options: &options };
    let encoder = trajet_formats::encoder(Format::of(path).unwrap(), &plan).unwrap();
    let mut bytes = encoder.head();
    for (k, frame) in frames.iter().enumerate() {
        let workspace = &mut Workspace::default();
        encoder.encode(k as u64, Input::Snapshot(frame), workspace, &mut bytes).unwrap();
    }
    fs::write(path, bytes).unwrap();
}

fn words<T>(result: Result<T, Error>) -> String {
    result.map(drop).unwrap_err().to_string()
}

#[test]
fn a_file_is_not_added_twice_by_any_path() {
    let case = Case::new();
    symlink(case.path("a.xtc"), case.path("link.xtc")).unwrap();
    write(&case.path("more.xtc"), 3);
    let append = |name, skip| case.store.append("one", &case.open(name), skip, 1, &mut quiet());
    for name in ["link.xtc", "fast/../a.xtc"] {
        assert!(words(append(name, 0)).contains("was divided already"), "{name}");
    }
    assert_eq!(append("link.xtc", 5).unwrap().n_frames, 0);
    let more = append("more.xtc", 0).unwrap();
    let text = "the new frames begin at 0 ps, and \"one\" went on to 4 ps";
    assert_eq!((more.n_frames, more.messages), (3, vec![Code::OverlappingFiles.message(text)]));
    assert!(words(append("more.xtc", 0)).contains("was divided already"));
    assert_eq!(case.one().n_frames(), 8);
}

/// DCD counts frames in its header, which changes when the file grows.
#[test]
fn a_source_may_grow_but_not_change_meanwhile() {
    let case = Case::new();
    let path = case.path("a.dcd");
    for (z, expected) in [(1.5, None), (2.5, Some("has changed while it was divided"))] {
        write(&path, 100);
        let added = case.add_while(
            "a.dcd",
            &format!("z{z}"),
            ["p", "w"],
            &mut OnPoll(|| write_at(&path, 150, z)),
        );
        assert_eq!(added.is_err(), expected.is_some());
        assert!(expected.is_none_or(|expected| words(added).contains(expected)));
    }
}

#[test]
fn tag_names_are_unique() {
    let case = Case::new();
    assert!(words(case.add("two", ["water", "w"])).contains("same name or short name"));
    assert!(words(case.add("two", ["p", "protein"])).contains("same name or short name"));
    case.add("two", ["protein", "water"]).unwrap();
}

#[test]
fn lossy_tags_never_become_exact() {
    let case = Case::new();
    let retag = |tags: &[(&str, &str, [usize; 2], bool)]| {
        let tags = tags.iter().map(|(name, format, atoms, lossy)| {
            let precision = lossy.then_some(10.0);
            serde_json::json!({"name": name, "short_name": name, "select": "", "tier": "fast", "format": format,
                "lossy": lossy, "precision": precision, "atoms": [atoms]})
        });
        let tiers = serde_json::json!({"fast": {"folder": case.path("fast"), "limit": null}});
        let spec = serde_json::json!({"tiers": tiers, "tags": tags.collect::<Vec<_>>()});
        let spec: Spec = serde_json::from_value(spec).unwrap();
        let structures = vec![vec![]; spec.tags.len()];
        let done = case.store.retag("one", &spec, &structures, 1, &mut quiet()).unwrap();
        (case.one().tags.iter().map(|tag| tag.lossy).collect::<Vec<_>>(), done.messages.len())
    };
    retag(&[("a", "exact", [0, 15], false), ("b", "xtc", [15, ATOMS], true)]);
    let lossy = retag(&[
        ("c", "exact", [0, 15], false),
        ("d", "exact", [15, 20], false),
        ("e", "exact", [20, ATOMS], false),
    ]);
    assert_eq!(lossy, (vec![false, true, true], 2));
    // Another simulation with the same times.
    write_at(&case.path("a.xtc"), 9, 2.5);
    let other = case.store.append("one", &case.open("a.xtc"), 5, 1, &mut quiet());
    assert!(words(other).contains("frame 0 is not what was divided"));
    write(&case.path("a.xtc"), 9);
    let more = case.store.append("one", &case.open("a.xtc"), 5, 1, &mut quiet()).unwrap();
    assert_eq!((more.n_frames, more.messages), (4, vec![]));
    retag(&[("a", "xtc", [0, ATOMS], true)]);
    write_at(&case.path("a.xtc"), 12, 2.5);
    let other = case.store.append("one", &case.open("a.xtc"), 9, 1, &mut quiet());
    assert!(words(other).contains("is not what was divided"));
    write(&case.path("a.xtc"), 12);
    let more = case.store.append("one", &case.open("a.xtc"), 9, 1, &mut quiet()).unwrap();
    assert_eq!(more.n_frames, 3);
}

/// The changed frame is detected in any format, by its size or its contents.
#[test]
fn a_changed_source_is_refused() {
    let plain = |_: i64, k: usize| if k < 12 { 1.0 } else { 2.0 };
    for (ending, before) in
        [("xtc", false), ("xtc", true), ("trr", false), ("dcd", false), ("nc", true)]
    {
        let case = Case::new();
        let name = format!("b.{ending}");
        let path = case.path(&name);
        write_of(&path, 9, plain);
        case.add_while(&name, "two", ["p", "w"], &mut quiet()).unwrap();
        if before {
            // As of a file whose library tells no sizes.
            let manifest = case.path("store/two/manifest.json");
            let mut json: serde_json::Value =
                serde_json::from_slice(&fs::read(&manifest).unwrap()).unwrap();
            json["source"][0].as_object_mut().unwrap().remove("sizes").unwrap();
            fs::write(&manifest, json.to_string()).unwrap();
        }
        let append = || case.store.append("two", &case.open(&name), 9, 2, &mut quiet());
        for frame in [1, 4, 7] {
            // A small change of one atom: XTC takes as many bytes as before.
            write_of(&path, 11, |step, k| {
                plain(step, k) + if (step, k) == (frame, 3) { 0.01 } else { 0.0 }
            });
            let expected = format!("frame {frame} is not what was divided");
            let message = words(append());
            assert!(message.contains(&expected), "{ending}: {message}");
            let other = |step, k| if step == frame { (k * k) as f32 * 1.7 } else { plain(step, k) };
            write_of(&path, 11, other);
            let message = words(append());
            let by_size = ending == "xtc" && !before;
            let expected =
                if by_size { "frames 0 to 8 take other numbers of bytes" } else { &expected };
            assert!(message.contains(expected), "{ending}: {message}");
        }
        write_of(&path, 11, plain);
        assert_eq!(append().unwrap().n_frames, 2, "{ending}");
    }
}

/// Lossy tags cannot be compared with the source, but digests of its frames can.
#[test]
fn a_changed_source_of_lossy_tags_is_refused() {
    let plain = |_: i64, k: usize| k as f32;
    for (ending, was_exact) in [("xtc", false), ("dcd", false), ("nc", false), ("dcd", true)] {
        let case = Case::new();
        let name = format!("b.{ending}");
        let path = case.path(&name);
        let corrected = |n_frames: i64, frame: i64| {
            write_of(&path, n_frames, |step, k| {
                plain(step, k) + if (step, k) == (frame, 3) { 0.01 } else { 0.0 }
            });
        };
        let append = |skip: u64| {
            let done = case.store.append("two", &case.open(&name), skip, 2, &mut quiet());
            done.map(|done| done.n_frames)
        };
        let refuses = |skip: u64, frame: i64| {
            let message = words(append(skip));
            assert!(
                message.contains(&format!("frame {frame} is not what was divided")),
                "{message}"
            );
        };
        let exact = case.spec(["p", "w"]);
        let mut lossy = exact.clone();
        for tag in &mut lossy.tags {
            (tag.format, tag.lossy) = ("xtc".to_owned(), true);
        }
        let retag = |spec: &Spec| {
            case.store.retag("two", spec, &[vec![], vec![]], 1, &mut quiet()).unwrap();
            assert_eq!(case.store.verify("two", 1, &mut quiet()).unwrap(), [""; 0]);
        };
        write_of(&path, 9, plain);
        let given =
            AddedFiles { topology: &case.path("top.pdb.gz"), structures: &[vec![], vec![]] };
        let first = if was_exact { &exact } else { &lossy };
        case.store.add("two", &case.open(&name), first, &given, 1, &mut quiet()).unwrap();
        if was_exact {
            retag(&lossy);
        }
        corrected(11, 4);
        refuses(9, 4);
        write_of(&path, 11, plain);
        assert_eq!(append(9).unwrap(), 2, "{ending}");
        // Lossy tags differ from what was read.
        retag(&exact);
        for frame in [0, 4, 10] {
            corrected(12, frame);
            refuses(11, frame);
        }
        write_of(&path, 12, plain);
        assert_eq!(append(11).unwrap(), 1, "{ending}");
        case.store.remove("two").unwrap();
        assert!(!case.path("store/two").exists());
    }
}

/// Frames are verified when they are read, other files before.
#[test]
fn damaged_data_are_not_repartitioned() {
    for ending in ["xtc", "trr", "dcd", "nc"] {
        let case = Case::new();
        let name = format!("b.{ending}");
        let beside = case.path("any.ndx");
        fs::write(&beside, "[ any ]").unwrap();
        case.store.remove("one").unwrap();
        write(&case.path(&name), 9);
        let topology = case.path("top.pdb.gz");
        let given = AddedFiles { topology: &topology, structures: &[vec![beside], vec![]] };
        let (spec, chain) = (case.spec(["p", "w"]), case.open(&name));
        case.store.add("one", &chain, &spec, &given, 1, &mut quiet()).unwrap();
        let retag = || case.store.retag("one", &spec, &[vec![], vec![]], 1, &mut quiet());
        let was = case.one();
        let kept =
            |kept: &trajet_store::manifest::StoredFile| case.path("store/one").join(&kept.file);
        let segment = &was.segments[0];
        let mut paths: Vec<PathBuf> =
            [&was.topology, &segment.frames, &segment.frame_metadata].map(kept).into();
        for file in &segment.files {
            let path = case.store.path_of(file).unwrap();
            paths.extend(file.companion_files.iter().map(|kept| path.with_file_name(&kept.file)));
            paths.push(path);
        }
        assert_eq!(paths.len(), 6);
        for path in paths {
            let sound = fs::read(&path).unwrap();
            for at in (0..sound.len()).step_by(1 + sound.len() / 7).chain([sound.len() - 1]) {
                let mut bytes = sound.clone();
                bytes[at] ^= 4;
                fs::write(&path, bytes).unwrap();
                assert!(retag().is_err(), "{}: {at}", path.display());
            }
            fs::write(&path, sound).unwrap();
            assert_eq!((case.one() == was, case.problems()), (true, vec![]));
        }
        retag().unwrap();
        assert_eq!(case.problems(), [""; 0]);
    }
}

#[test]
fn files_of_the_store_are_no_data_sets() {
    let case = Case::new();
    for name in ["lock", "store.json"] {
        let mut asked = 0;
        let added = case.add_while("a.xtc", name, ["p", "w"], &mut OnPoll(|| asked += 1));
        assert!(words(added).contains("cannot make"));
        assert_eq!(asked, 0, "nothing was divided before");
    }
    assert!(Store::open(case.store.folder()).is_ok());
}

#[test]
fn a_compressed_topology_keeps_both_suffixes() {
    assert!(Case::new().one().topology.file.ends_with(".pdb.gz"));
}

#[test]
fn a_running_operation_keeps_its_folder_while_others_end() {
    let case = Case::new();
    case.store.remove("one").unwrap();
    let mut control = OnPoll(|| {
        case.write_journal("add", "");
        case.store.repair().unwrap();
    });
    case.add_while("a.xtc", "one", ["p", "w"], &mut control).unwrap();
    assert_eq!(case.problems(), [""; 0]);
}

#[test]
fn repair_completes_an_interrupted_move() {
    let case = Case::new();
    let old = case.path("fast").join(&case.one().segments[0].files[0].path);
    let before = fs::read(&old).unwrap();
    case.store.move_tag("one", "protein", "slow", &mut quiet()).unwrap();
    assert!(old.is_symlink());
    let new = fs::read_link(&old).unwrap();
    let index = |path: &Path| fs::read(path.with_file_name(".protein.xtc.trajet-index")).unwrap();
    assert_eq!(index(&old), index(&new));
    fs::remove_file(&old).unwrap();
    fs::write(&old, &before).unwrap();
    case.write_journal("move", "");
    case.store.repair().unwrap();
    assert!(old.is_symlink());
    assert_eq!(fs::read(&old).unwrap(), before);
    case.store.move_tag("one", "protein", "fast", &mut quiet()).unwrap();
    assert_eq!(fs::read(&old).unwrap(), before);
    assert_eq!(case.problems(), [""; 0]);
    case.store.remove("one").unwrap();
    for tier in ["fast", "slow"] {
        assert_eq!(case.entries_on(tier), [""; 0], "{tier}");
    }
}

#[test]
fn files_on_a_missing_tier_are_removed_later() {
    let case = Case::new();
    let file = case.path("slow/one-1/water.xtc");
    fs::rename(case.path("slow"), case.path("away")).unwrap();
    assert!(words(case.store.remove("one")).contains("is it mounted?"));
    case.write_journal("add", "{\"Made\":{\"tier\":\"slow\",\"path\":\"one-1\"}}\n");
    assert!(words(case.store.repair()).contains("is it mounted?"));
    fs::rename(case.path("away"), case.path("slow")).unwrap();
    fs::create_dir(file.parent().unwrap()).unwrap();
    fs::write(&file, "any").unwrap();
    assert_eq!(case.store.repair().unwrap().len(), 1);
    assert!(!file.exists());
    assert_eq!(case.problems(), [""; 0]);
    case.store.remove("one").unwrap();
    assert_eq!(case.entries_on("slow"), [""; 0]);
}

/// Nothing is written below an unused mount point, and its emptiness is not taken for an empty tier.
#[test]
fn a_tier_that_is_not_mounted_is_left_alone() {
    let case = Case::new();
    let dataset = case.store.dataset("one").unwrap();
    let chain = dataset.chain(None, &OpenOptions::default()).unwrap();
    fs::rename(case.path("slow"), case.path("away")).unwrap();
    fs::create_dir(case.path("slow")).unwrap();
    let expected = "nothing seems to be mounted";
    assert!(words(case.add("two", ["p", "w"])).contains(expected));
    assert!(words(case.store.remove("one")).contains(expected));
    assert!(words(case.store.move_tag("one", "protein", "slow", &mut quiet())).contains(expected));
    let problems = case.problems();
    assert!(matches!(&problems[..], [problem] if problem.contains(expected)), "{problems:?}");
    let read = chain.read_raw(0, &mut Scratch::default()).unwrap_err().to_string();
    assert!(read.contains("water.xtc: file not found") && read.contains("is the tier mounted?"));
    assert_eq!(fs::read_dir(case.path("slow")).unwrap().count(), 0);
    fs::remove_dir(case.path("slow")).unwrap();
    fs::rename(case.path("away"), case.path("slow")).unwrap();
    assert!(chain.read_raw(0, &mut Scratch::default()).is_ok());
    case.add("two", ["p", "w"]).unwrap();
    assert_eq!(case.problems(), [""; 0]);
    // The marker identifies a folder by itself.
    let marker = case.marker("slow");
    fs::remove_file(&marker).unwrap();
    let refused = words(case.add("three", ["p", "w"]));
    assert!(refused.contains(marker.file_name().unwrap().to_str().unwrap()), "{refused}");
    fs::write(&marker, "").unwrap();
    case.add("three", ["p", "w"]).unwrap();
}

/// Tags are opened on first access.
#[test]
fn reading_a_data_set_that_is_gone_explains_why() {
    let case = Case::new();
    let open = || {
        let chain =
            case.store.dataset("one").unwrap().chain(None, &OpenOptions::default()).unwrap();
        let mut scratch = Scratch::default();
        let protein = Atoms::listed(&[0, 3], ATOMS).unwrap();
        chain.read_raw_of(1, &protein, &mut scratch).unwrap();
        (chain, scratch)
    };
    let read = |(chain, scratch): &mut (Chain, Scratch)| {
        chain.read_raw(1, scratch).map(drop).map_err(|error| error.to_string())
    };
    let mut before = open();
    case.store.move_tag("one", "water", "fast", &mut quiet()).unwrap();
    read(&mut before).unwrap();
    let mut before = open();
    let spec = case.spec(["p", "w"]);
    case.store.retag("one", &spec, &[vec![], vec![]], 1, &mut quiet()).unwrap();
    let message = read(&mut before).unwrap_err();
    assert!(message.contains("water.xtc: file not found"), "{message}");
    assert!(
        message.contains("store/one was divided again or moved since it was opened: open it again")
    );
    let mut before = open();
    case.store.remove("one").unwrap();
    let message = read(&mut before).unwrap_err();
    assert!(message.contains("water.xtc: file not found"), "{message}");
    assert!(message.contains("store/one was removed since it was opened"), "{message}");
}

/// A profile without a limit keeps the present one, and a changed limit gives a message.
#[test]
fn limits_of_a_store_do_not_change_silently() {
    let case = Case::new();
    let limit = |tier: &str| case.store.tiers().unwrap()[tier].limit;
    case.settings(|tier| tier["limit"] = 1_000_000.into());
    case.add("two", ["p", "w"]).unwrap();
    assert_eq!((limit("fast"), limit("slow")), (Some(1_000_000), Some(1_000_000)));
    let mut spec = case.spec(["p", "w"]);
    spec.tiers.get_mut("slow").unwrap().limit = Some(2_000_000);
    spec.tiers.get_mut("fast").unwrap().limit = Some(1_000_000);
    let done = case.store.retag("two", &spec, &[vec![], vec![]], 1, &mut quiet()).unwrap();
    let expected = "tier \"slow\": its limit is 2000000 bytes now, and was 1000000 bytes";
    assert_eq!(done.messages, [Code::TierLimit.message(expected)]);
    assert_eq!((limit("fast"), limit("slow")), (Some(1_000_000), Some(2_000_000)));
}

/// Checked for tags and the files beside them, before all frames are written.
#[test]
fn limits_are_never_exceeded() {
    let case = Case::new();
    let size = |file: &trajet_store::manifest::File| file.size;
    let one = case.one().files_of(1).map(size).sum::<u64>();
    let limit = |bytes: u64| case.settings(|tier| tier["limit"] = bytes.into());
    limit(2 * one);
    case.add("two", ["p", "w"]).unwrap();
    case.store.remove("two").unwrap();
    limit(2 * one - 1);
    let full = words(case.add("two", ["p", "w"]));
    assert!(full.contains(&format!("{one} more bytes would exceed its limit")), "{full}");
    // Files beside tags count: moved away and back, the tag no longer fits.
    limit(2 * one);
    let beside = case.path("beside.ndx");
    fs::write(&beside, "[ any ]").unwrap();
    let full = words(case.add_beside("two", &[vec![], vec![beside.clone()]]));
    assert!(full.contains(&format!("{} more bytes would exceed", one + 7)), "{full}");
    limit(2 * one + 7);
    case.add_beside("two", &[vec![], vec![beside]]).unwrap();
    assert_eq!(case.store.used().unwrap()["slow"], 2 * one + 7);
    // Far too large: refused before anything is written.
    write(&case.path("long.xtc"), 20_000);
    limit(4 * one);
    let mut asked = 0;
    let full = case.add_while("long.xtc", "three", ["p", "w"], &mut OnPoll(|| asked += 1));
    assert!(words(full).contains("exceed its limit"));
    assert_eq!(asked, 0);
    // Slightly too large: the run is interrupted.
    let long = case.path("long.xtc").metadata().unwrap().len();
    limit(2 * one + long / 3);
    let mut seen = 0;
    let grown = |tier: &str| -> u64 {
        let folders = case.entries_on(tier).into_iter().filter(|name| name.starts_with("three"));
        let files = folders.flat_map(|name| fs::read_dir(case.path(tier).join(name)).unwrap());
        files.map(|file| file.unwrap().metadata().unwrap().len()).sum()
    };
    let mut control = OnPoll(|| seen = seen.max(grown("slow")));
    let full = case.add_while("long.xtc", "three", ["p", "w"], &mut control);
    assert!(words(full).contains("exceed its limit"));
    assert!(seen < long / 2, "{seen} of {long}");
    assert_eq!(case.store.names().unwrap(), ["one", "two"]);
}

/// A copy shares the tiers of the original.
#[test]
fn nothing_is_changed_through_a_copy_of_a_store() {
    let case = Case::new();
    let folder = case.path("copy");
    for name in ["", "one"] {
        fs::create_dir(folder.join(name)).unwrap();
        for entry in fs::read_dir(case.store.folder().join(name)).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                fs::copy(&path, folder.join(name).join(path.file_name().unwrap())).unwrap();
            }
        }
    }
    let copy = Store::open(&folder).unwrap();
    assert_eq!(copy.verify("one", 1, &mut quiet()).unwrap(), [""; 0]);
    for refused in [
        copy.remove("one"),
        copy.move_tag("one", "water", "fast", &mut quiet()),
        copy.repair().map(drop),
    ] {
        assert!(words(refused).contains("is a copy of the store"));
    }
    assert_eq!(case.problems(), [""; 0]);
    // By another path it is the same store.
    symlink(case.store.folder(), case.path("link")).unwrap();
    Store::open(&case.path("link")).unwrap().remove("one").unwrap();
}

#[test]
fn a_manifest_of_another_name_is_refused() {
    let case = Case::new();
    fs::create_dir(case.path("store/two")).unwrap();
    fs::copy(case.path("store/one/manifest.json"), case.path("store/two/manifest.json")).unwrap();
    assert!(words(case.store.remove("two")).contains("is that of \"one\""));
    let problems = case.store.verify("two", 1, &mut quiet()).unwrap();
    assert!(matches!(&problems[..], [problem] if problem.contains("is that of \"one\"")));
    assert_eq!(case.problems(), [""; 0]);
}

/// Returns the limits of two tiers, one of them new, after two concurrent operations changed them. The first operation
/// fails while the second one runs.
fn limits_after(limits: [u64; 2], fails: bool) -> (Option<u64>, Option<Option<u64>>) {
    let case = Case::new();
    let add = |name: &str, limit: u64, control: &mut dyn Control| {
        let mut spec = case.spec(["p", "w"]);
        let tier = Tier { limit: Some(limit), ..spec.tiers["fast"].clone() };
        let new = Tier { folder: case.path("new"), ..tier.clone() };
        spec.tiers.extend([("fast".to_owned(), tier), ("new".to_owned(), new)]);
        spec.tags[1].tier = "new".to_owned();
        let topology = case.path("top.pdb.gz");
        let given = AddedFiles { topology: &topology, structures: &[vec![], vec![]] };
        case.store.add(name, &case.open("a.xtc"), &spec, &given, 1, control).map(drop)
    };
    let (first_works, first_at_work) = mpsc::channel();
    let (second_works, second_at_work) = mpsc::channel();
    thread::scope(|scope| {
        let add = &add;
        let first = scope.spawn(move || {
            let wait = || {
                first_works.send(()).unwrap();
                second_at_work.recv().is_ok()
            };
            add("two", limits[0], &mut Once(Some(wait)))
        });
        first_at_work.recv().unwrap();
        let wait = || {
            second_works.send(()).unwrap();
            assert!(matches!(first.join().unwrap(), Err(Error::Interrupted)));
            fails
        };
        assert_eq!(add("three", limits[1], &mut Once(Some(wait))).is_err(), fails);
    });
    let tiers = case.store.tiers().unwrap();
    assert_eq!(case.path("new").exists(), tiers.contains_key("new"));
    assert!(case.store.repair().unwrap().is_empty());
    assert_eq!(case.problems(), [""; 0]);
    (tiers["fast"].limit, tiers.get("new").map(|tier| tier.limit))
}

#[test]
fn a_limit_that_another_operation_relies_on_stays() {
    let [x, y] = [1 << 30, 2 << 30];
    assert_eq!(limits_after([x, x], false), (Some(x), Some(Some(x))));
    assert_eq!(limits_after([x, y], false), (Some(y), Some(Some(y))));
    // If both fail, everything is as before.
    assert_eq!(limits_after([x, x], true), (None, None));
    assert_eq!(limits_after([x, y], true), (None, None));
}

/// Killed operations hand over changes, too, whichever is cleared first.
#[test]
fn limits_of_operations_that_were_killed_are_taken_back() {
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    for order in orders {
        let [first, second, third] = order.map(|k| ["left", "other", "third"][k]);
        let case = Case::new();
        let untouched = case.store.tiers().unwrap()["fast"].clone();
        let change = |was: Option<u64>, now: u64| {
            let tier = |limit| Tier { limit, ..untouched.clone() };
            let change = serde_json::json!({"name": "fast", "was": tier(was), "now": tier(Some(now)),
                "makes_folder": false});
            serde_json::json!({"Tier": change}).to_string()
        };
        let doing = r#"{"Doing":{"doing":"add","name":"two"}}"#;
        let changes = [(first, None, 5), (second, Some(5), 7), (third, Some(7), 9)];
        for (name, change) in changes.map(|(name, was, now)| (name, change(was, now))) {
            let path = case.path(&format!("store/.pending/{name}.json"));
            fs::write(path, format!("{doing}\n{change}\n")).unwrap();
        }
        case.settings(|tier| tier["limit"] = 9.into());
        assert_eq!(case.store.repair().unwrap().len(), 3);
        assert_eq!(case.store.tiers().unwrap()["fast"], untouched);
    }
}

/// A store with records by an attacker, beside files of the user.
impl Case {
    fn hostile() -> Case {
        let case = Case::new();
        fs::create_dir_all(case.path("home/one-1/empty")).unwrap();
        for name in ["file", ".profile", "one-1/file", ".trajet-tier-known"] {
            fs::write(case.path("home").join(name), "mine").unwrap();
        }
        case
    }

    /// Asserts that nothing outside of the store and its tiers changes.
    fn assert_harmless(&self, what: &str, work: impl FnOnce(&Store)) {
        let before = self.tree("home");
        work(&self.store);
        assert_eq!(self.tree("home"), before, "{what}");
    }
}

#[test]
fn a_journal_changes_nothing_outside_of_the_store() {
    let case = Case::hostile();
    let home = case.path("home").display().to_string();
    let tier = |folder: &str, mark: &str| {
        format!(
            r#"{{"Tier":{{"name":"new","was":null,"now":{{"folder":"{folder}","limit":null,"mark":"{mark}"}},"makes_folder":true}}}}"#
        )
    };
    let lines = [
        format!(r#"{{"Path":"{home}/file"}}"#),
        format!(r#"{{"Made":"{home}/one-1"}}"#),
        format!(r#"{{"Path":"{}/fast/../home/file"}}"#, case.folder.path().display()),
        format!(r#"{{"Path":"{}/store/one/../../home/file"}}"#, case.folder.path().display()),
        r#"{"Path":{"tier":"fast","path":"../home/file"}}"#.to_owned(),
        r#"{"Path":{"tier":"fast","path":"one-1/../../home/file"}}"#.to_owned(),
        r#"{"Made":{"tier":"fast","path":"one-linked"}}"#.to_owned(),
        r#"{"Path":{"tier":"fast","path":"one-linked/file"}}"#.to_owned(),
        r#"{"Path":{"tier":"fast","path":"one-linked"}}"#.to_owned(),
        r#"{"Path":{"tier":null,"path":"../../home/file"}}"#.to_owned(),
        format!(r#"{{"Path":{{"tier":null,"path":"{home}/file"}}}}"#),
        r#"{"Made":{"tier":null,"path":".."}}"#.to_owned(),
        r#"{"Doing":{"doing":"add","name":"../home/one-1/empty"}}"#.to_owned(),
        tier(&home, "known"),
        tier(&format!("{home}/one-1/empty"), "none"),
        tier(&format!("{}/fast", case.folder.path().display()), "x/../../home/file"),
    ];
    symlink(case.path("home"), case.path("fast/one-linked")).unwrap();
    fs::create_dir(case.path("fast/.trajet-tier-x")).unwrap();
    for line in lines {
        case.write_journal("add", &line);
        case.assert_harmless(&line, |store| {
            let _ = store.repair();
            // Another operation, whose tiers the journals may need.
            let _ = store.move_tag("one", "protein", "slow", &mut quiet());
            let _ = store.move_tag("one", "protein", "fast", &mut quiet());
        });
        fs::remove_file(case.path("store/.pending/left.json")).ok();
    }
    assert_eq!(case.problems(), [""; 0]);
    // A journal folder that is a link.
    fs::remove_dir(case.path("store/.pending")).unwrap();
    symlink(case.path("home"), case.path("store/.pending")).unwrap();
    case.assert_harmless("a linked folder of journals", |store| {
        assert!(words(store.repair()).contains("link"));
        assert!(words(store.remove("one")).contains("link"));
    });
}

#[test]
fn a_manifest_names_no_files_outside_and_no_name_of_a_command() {
    let case = Case::hostile();
    let path = case.path("store/one/manifest.json");
    let sound: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let folder = case.folder.path().display().to_string();
    let file = "/segments/0/files/0/path";
    for (pointer, value) in [
        (file, "../home/file".to_owned()),
        (file, "one-1/../../home/file".to_owned()),
        (file, format!("{folder}/home/file")),
        (file, "file".to_owned()),
        (file, "two-1/file".to_owned()),
        (file, "one-1/x/file".to_owned()),
        ("/segments/0/files/0/tier", "../fast".to_owned()),
        ("/segments/0/frame_metadata/file", "../../home/file".to_owned()),
        ("/segments/0/frames/file", ".profile".to_owned()),
        ("/topology/file", "../../home/file".to_owned()),
        ("/tags/0/name", "$(touch x)".to_owned()),
        ("/tags/0/name", "../../home/file".to_owned()),
        ("/tags/0/name", "-rf".to_owned()),
        ("/tags/0/name", "\u{1b}[31m".to_owned()),
        ("/tags/0/name", "a\nb".to_owned()),
        ("/tags/0/name", "x".repeat(101)),
        ("/tags/0/name", "water".to_owned()),
        ("/tags/0/short_name", "a b".to_owned()),
        ("/tags/0/tier", ".".to_owned()),
    ] {
        let mut manifest = sound.clone();
        *manifest.pointer_mut(pointer).unwrap() = value.clone().into();
        fs::write(&path, manifest.to_string()).unwrap();
        case.assert_harmless(&value, |store| {
            let message = words(store.manifest("one"));
            assert!(message.contains("manifest.json") && !message.contains('\u{1b}'), "{message}");
            assert!(store.remove("one").is_err());
            assert!(store.move_tag("one", "protein", "slow", &mut quiet()).is_err());
            assert_eq!(store.names().unwrap(), ["one"]);
        });
    }
    for (pointer, value) in [
        ("/segments", serde_json::json!([])),
        ("/source", serde_json::json!([])),
        ("/segments/0/n_frames", serde_json::json!(0)),
        ("/segments/0/n_frames", serde_json::json!(u64::MAX)),
        ("/segments/0/files/0/size", serde_json::json!(u64::MAX)),
        ("/tags", serde_json::json!([])),
    ] {
        let mut manifest = sound.clone();
        *manifest.pointer_mut(pointer).unwrap() = value;
        fs::write(&path, manifest.to_string()).unwrap();
        assert!(matches!(case.store.manifest("one"), Err(Error::Damaged { .. })), "{pointer}");
    }
}

#[test]
fn settings_name_folders_from_the_root_on() {
    let case = Case::hostile();
    let sound = fs::read(case.path("store/store.json")).unwrap();
    let folder = case.folder.path().display().to_string();
    for (key, value) in [
        ("folder", "fast".to_owned()),
        ("folder", format!("{folder}/fast/../home")),
        ("mark", "../x".to_owned()),
        ("mark", String::new()),
    ] {
        case.settings(|tier| tier[key] = value.clone().into());
        assert!(matches!(case.store.tiers(), Err(Error::Damaged { .. })), "{key} {value}");
        fs::write(case.path("store/store.json"), &sound).unwrap();
    }
}

#[test]
fn implausible_numbers_of_atoms_are_refused_before_allocation() {
    let case = Case::new();
    let path = case.path("store/one/manifest.json");
    let mut manifest: serde_json::Value =
        serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    manifest["n_atoms"] = u32::MAX.into();
    manifest["tags"][1]["atoms"] = serde_json::json!([[12, u32::MAX]]);
    fs::write(&path, manifest.to_string()).unwrap();
    let dataset = case.store.dataset("one").unwrap();
    let message = words(dataset.partition(None));
    assert!(message.contains("cannot hold the 4294967283 atoms"), "{message}");
    // The other tag is not checked.
    let tags = ["protein".to_owned()];
    assert_eq!(dataset.partition(Some(&tags)).unwrap().n_atoms, 12);
}

#[test]
fn accesses_are_logged_to_a_file_of_the_data_set_only() {
    let case = Case::hostile();
    let record = case.path("store/one/access.jsonl");
    let used = trajet_store::Access::new("read", 1, [("$(touch x)".to_owned(), 1)]);
    let write = || used.write_down(&case.path("store/one"));
    symlink(case.path("home/.profile"), &record).unwrap();
    case.assert_harmless("a link", |_| write());
    fs::remove_file(&record).unwrap();
    symlink(case.path("home/new"), &record).unwrap();
    case.assert_harmless("a link to nothing", |_| write());
    fs::remove_file(&record).unwrap();
    fs::hard_link(case.path("home/.profile"), &record).unwrap();
    case.assert_harmless("another name of a file", |_| write());
    fs::remove_file(&record).unwrap();
    pipe(&record);
    case.assert_harmless("a named pipe", |_| write());
    fs::remove_file(&record).unwrap();
    write();
    assert!(record.is_file());
    fs::rename(case.path("store/one"), case.path("store/other")).unwrap();
    symlink(case.path("home"), case.path("store/one")).unwrap();
    case.assert_harmless("a linked data set", |_| write());
}

/// Opening such an entry must not block.
#[test]
fn links_and_named_pipes_are_no_files_of_a_store() {
    let case = Case::hostile();
    let topology = case.one().topology.file;
    for name in ["store.json", "one/manifest.json", &format!("one/{topology}"), "lock"] {
        let (path, away) = (case.path("store").join(name), case.path("away"));
        fs::rename(&path, &away).unwrap();
        for what in ["it is a link", "it is no regular file"] {
            match what {
                "it is a link" => symlink(&away, &path).unwrap(),
                _ => pipe(&path),
            }
            let message = match name {
                "store.json" => words(Store::open(case.store.folder())),
                "one/manifest.json" => words(case.store.manifest("one")),
                "lock" => words(case.store.remove("one")),
                _ => case.problems().remove(0),
            };
            assert!(message.contains(what) && message.contains(name), "{message}");
            fs::remove_file(&path).unwrap();
        }
        fs::rename(&away, &path).unwrap();
    }
    assert_eq!(case.problems(), [""; 0]);
    // No file is created through a link.
    fs::remove_file(case.path("store/lock")).unwrap();
    symlink(case.path("home/new"), case.path("store/lock")).unwrap();
    case.assert_harmless("the lock", |store| assert!(store.remove("one").is_err()));
    fs::remove_file(case.path("store/lock")).unwrap();
    fs::rename(case.path("store/one"), case.path("away")).unwrap();
    symlink(case.path("away"), case.path("store/one")).unwrap();
    assert!(words(case.store.manifest("one")).contains("link"));
    assert!(words(case.add("one", ["p", "w"])).contains("link"));
}

fn pipe(path: &Path) {
    assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn a_concurrent_retag_asks_to_try_again() {
    let case = Case::new();
    let mut control = Once(Some(|| {
        case.store
            .retag("one", &case.spec(["a", "b"]), &[vec![], vec![]], 1, &mut quiet())
            .unwrap();
        false
    }));
    let moved = case.store.move_tag("one", "protein", "slow", &mut control);
    assert!(matches!(moved, Err(Error::Meanwhile { .. })), "{moved:?}");
    assert_eq!(case.problems(), [""; 0]);
}
