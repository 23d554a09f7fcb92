//! Records of a store by an attacker as input: its manifest, settings, journal, access log, and the profile (tiers and
//! tags) for adding a data set.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use trajet_files::{OpenOptions, Serial, chain};
use trajet_store::{Access, AddedFiles, Error, Spec, Store};

use crate::case::in_pieces;
use crate::disk::OnDisk;
use crate::memory::{Budget, EACH, FIXED};
use crate::seeds;
use crate::store::{PIECE, Quiet, TRUTH, one_line};

/// Placeholder in inputs for the folder that contains store and tier.
pub(crate) const HERE: &str = "@HERE@";

/// A record of a store other than its tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Record {
    /// `manifest.json`.
    Manifest,
    /// `store.json`.
    Settings,
    /// The journal of a killed process.
    Journal,
    /// `access.jsonl`.
    Uses,
    /// Tiers and tags, as Python passes them from a profile.
    Profile,
}

impl Record {
    /// Returns the path of the record, relative to the folder.
    fn path(self) -> &'static str {
        match self {
            Record::Manifest => "store/set/manifest.json",
            Record::Settings => "store/store.json",
            Record::Journal => "store/.pending/000000000001.json",
            Record::Uses => "store/set/access.jsonl",
            Record::Profile => "profile.json",
        }
    }

    /// Returns the record as the store wrote it.
    pub(crate) fn sound(self) -> String {
        let found = TRUTH.files.iter().find(|(path, _)| path == Path::new(self.path()));
        let (_, bytes) = found.expect("the store wrote it");
        String::from_utf8_lossy(bytes).replace(&TRUTH.folder, HERE)
    }
}

/// Uses a store with the input for one of its records. Nothing outside of the store and its tier may change, and memory
/// must be bounded by the size of the files.
pub(crate) fn record(which: Record, input: &[u8]) {
    let file = OnDisk::new(&[]);
    let folder = file.path().parent().expect("a file has a folder");
    let here = folder.to_str().expect("a plain name");
    let text = String::from_utf8_lossy(input).replace(HERE, here);
    lay(folder, which, &text);
    let before = tree(folder);
    let n_bytes: usize = TRUTH.files.iter().map(|(_, bytes)| bytes.len()).sum();
    let budget = Budget::of(EACH * (text.len() + n_bytes) + FIXED + 2 * PIECE);
    budget.limited(|| match which {
        Record::Profile => divide(folder, &text),
        _ => work(folder),
    });
    let after = tree(folder);
    for (path, bytes) in &before {
        assert_eq!(after.get(path), Some(bytes), "{path:?} was changed");
    }
    // Adding a data set makes the folders that the user's profile names.
    if which != Record::Profile {
        assert_eq!(after.len(), before.len(), "something was made");
    }
}

/// Writes the store with the record to a folder, beside files of the user.
fn lay(folder: &Path, which: Record, text: &str) {
    let write = |to: &Path, bytes: &[u8]| {
        let to = folder.join(to);
        std::fs::create_dir_all(to.parent().expect("it is in a folder")).expect("it can be made");
        std::fs::write(to, bytes).expect("it can be written");
    };
    let here = folder.to_str().expect("a plain name");
    for (path, bytes) in &TRUTH.files {
        match path.extension().is_some_and(|ending| ending == "json") {
            true => {
                let text = String::from_utf8_lossy(bytes).replace(&TRUTH.folder, here);
                write(path, text.as_bytes());
            }
            false => write(path, bytes),
        }
    }
    for path in ["home/file", "home/set-1/file", "home/.trajet-tier-other", "set-1/file"] {
        write(Path::new(path), b"mine");
    }
    std::fs::create_dir_all(folder.join("home/empty")).expect("it can be made");
    std::os::unix::fs::symlink(folder.join("home"), folder.join("tier/set-linked"))
        .expect("a link can be made");
    write(Path::new(which.path()), text.as_bytes());
}

fn work(folder: &Path) {
    let check_error = |result: Result<(), Error>| {
        if let Err(error) = result {
            one_line(&error.to_string());
        }
    };
    let store = match Store::open(&folder.join("store")) {
        Ok(store) => store,
        Err(error) => return one_line(&error.to_string()),
    };
    check_error(store.names().map(drop));
    check_error(store.used().map(drop));
    check_error(store.verify("set", 1, &mut Quiet).map(drop));
    let options = OpenOptions { sidecar: false, ..in_pieces() };
    check_error(store.dataset("set").and_then(|set| set.chain(None, &options)).map(drop));
    Access::new("read", 1, []).write_down(&folder.join("store/set"));
    check_error(store.repair().map(drop));
    check_error(store.move_tag("set", "one", "t", &mut Quiet));
    check_error(store.remove("set"));
    check_error(store.repair().map(drop));
}

/// Adds a data set by the input, if all folders in it are in the case's own folder.
fn divide(folder: &Path, text: &str) {
    let Ok(spec) = serde_json::from_str::<Spec>(text) else { return };
    let is_here = |path: &Path| {
        path.strip_prefix(folder).is_ok_and(|rest| !rest.iter().any(|part| part == ".."))
    };
    if !spec.tiers.values().all(|tier| is_here(&tier.folder)) {
        return;
    }
    let source = folder.join("source");
    std::fs::write(&source, &seeds::indexed()[0]).expect("it can be written");
    let options = OpenOptions { sidecar: false, ..in_pieces() };
    let chain = chain::open(&[source], &options, &Serial).expect("it is sound");
    let structures = vec![Vec::new(); spec.tags.len()];
    let topology = folder.join("home/file");
    let given = AddedFiles { topology: &topology, structures: &structures };
    let store = Store::open(&folder.join("store")).expect("it is sound");
    if let Err(error) = store.add("new", &chain, &spec, &given, 1, &mut Quiet) {
        one_line(&error.to_string());
    }
}

/// Returns all files outside of the store and its tier, with their contents.
fn tree(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let (mut found, mut folders) = (BTreeMap::new(), vec![folder.to_owned()]);
    while let Some(here) = folders.pop() {
        for entry in here.read_dir().expect("it was made") {
            let path = entry.expect("it is there").path();
            if [folder.join("store"), folder.join("tier")].contains(&path) {
                continue;
            }
            let is_folder = path.symlink_metadata().is_ok_and(|found| found.is_dir());
            let bytes = match is_folder {
                true => Vec::new(),
                false => std::fs::read(&path).unwrap_or_default(),
            };
            if is_folder {
                folders.push(path.clone());
            }
            found.insert(path, bytes);
        }
    }
    found
}

/// Returns initial inputs: as the store writes them, and as an attacker would.
pub(crate) fn seeds_of(which: Record) -> Vec<Vec<u8>> {
    let texts = match which {
        Record::Manifest => {
            let sound = which.sound();
            let outside = sound.replace("set-", "../home/set-");
            let linked = sound.replace(".xtc", "/../../home/file");
            vec![sound, outside, linked]
        }
        Record::Settings => {
            let sound = which.sound();
            vec![
                sound.replace(&format!("{HERE}/tier"), &format!("{HERE}/home")),
                sound.replace(&format!("{HERE}/tier"), &format!("{HERE}/tier/../home")),
                sound.replace(&format!("{HERE}/store"), &format!("{HERE}/home")),
                sound.replace("\"mark\"", "\"other\""),
                sound,
            ]
        }
        Record::Journal => {
            let doing = r#"{"Doing":{"doing":"add","name":"set"}}"#;
            let tier = |folder: &str, mark: &str| {
                format!(
                    r#"{{"Tier":{{"name":"n","was":null,"now":{{"folder":"{HERE}/{folder}","limit":null,"mark":"{mark}"}},"makes_folder":true}}}}"#
                )
            };
            [
                r#"{"Made":{"tier":"t","path":"set-1"}}"#.to_owned(),
                r#"{"Path":{"tier":"t","path":"set-linked/file"}}"#.to_owned(),
                r#"{"Path":{"tier":null,"path":"frames-1.bin"}}"#.to_owned(),
                r#"{"Path":{"tier":"t","path":"../home/file"}}"#.to_owned(),
                tier("home", "other"),
                tier("home/empty", "none"),
            ]
            .map(|line| format!("{doing}\n{line}\n"))
            .to_vec()
        }
        Record::Uses => vec![
            r#"{"at":"2026-01-01T00:00:00Z","what":"read","tags":["one"],"frames":1,"bytes":{}}"#
                .to_owned(),
        ],
        Record::Profile => {
            let n_atoms = TRUTH.positions[0].len() / 3;
            let tag = |name: &str, atoms: [usize; 2]| {
                format!(
                    r#"{{"name":"{name}","short_name":"{name}","select":"","tier":"t","format":"exact","atoms":[[{},{}]]}}"#,
                    atoms[0], atoms[1]
                )
            };
            let tags = format!("[{},{}]", tag("a", [0, 3]), tag("b", [3, n_atoms]));
            ["tier", "new", "home", "home/file", "store/set"]
                .map(|folder| {
                    format!(
                        r#"{{"tiers":{{"t":{{"folder":"{HERE}/{folder}","limit":null}}}},"tags":{tags}}}"#
                    )
                })
                .to_vec()
        }
    };
    texts.into_iter().map(String::into_bytes).collect()
}
