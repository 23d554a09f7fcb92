//! The input is a list of links, pipes and missing files in the tiers of a store, three bytes each: what is put in which
//! place, and where it leads.

use std::fs;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use trajet_files::source::FileOpener;
use trajet_store::Store;

use crate::Target;
use crate::disk::OnDisk;
use crate::store::one_line;

/// Folders and files. Those of `tier/` and `other/` belong to the store, those of `home/` to the user.
const FOLDERS: [&str; 6] =
    ["store/one", "tier/one-1", "tier/one-2", "other/one-1", "home/one-1", "home/one-2"];
const FILES: [&str; 9] = [
    "store/one/a",
    "tier/one-1/a",
    "tier/one-1/b",
    "tier/one-2/a",
    "other/one-1/a",
    "home/one-1/a",
    "home/one-2/b",
    "home/a",
    "top",
];
const TIERS: [&str; 2] = ["tier", "other"];
const SECRET: &str = "a file of the user";

pub(crate) const TARGET: Target = Target {
    seeds: || {
        // A link as moves leave it, links to the user's files and folders, a pipe, a missing mark and one that is a
        // link, links in a row and in a circle; then links from one place to each.
        let few: [&[u8]; 10] = [
            &[0, 1, 4],
            &[0, 1, 5],
            &[1, 1, 5],
            &[0, 10, 13],
            &[0, 15, 17],
            &[2, 1, 0],
            &[3, 18, 0],
            &[0, 18, 7],
            &[0, 1, 3, 0, 3, 4],
            &[0, 1, 2, 0, 2, 1],
        ];
        let to_all = |place: u8| (0..21).map(move |to| vec![0, place, to]);
        let few = few.iter().map(|steps| steps.to_vec());
        few.chain([1, 10, 15].into_iter().flat_map(to_all)).collect()
    },
    check: |input| {
        check(input);
        true
    },
};

/// Puts something in place of a file or folder of the stranger's.
fn put(folder: &Path, places: &[PathBuf], step: &[u8]) {
    let [kind, place, to] = *step else { return };
    let at = |k: u8| &places[usize::from(k) % places.len()];
    let (place, to) = (at(place), at(to));
    if place.starts_with(folder.join("home")) || !place.starts_with(folder) {
        return;
    }
    // Also of the folders of tiers, which may be links.
    let _ = fs::remove_file(place).or_else(|_| fs::remove_dir_all(place));
    let relative = || Path::new("..").join("..").join(to.strip_prefix(folder).unwrap_or(to));
    match kind % 4 {
        0 => drop(symlink(to, place)),
        1 => drop(symlink(relative(), place)),
        2 => drop(Command::new("mkfifo").arg(place).output()),
        _ => {}
    }
}

/// Opens all paths. What is opened must be a file of the store by its own path, without any link below its tier.
fn check(input: &[u8]) {
    let disk = OnDisk::named(SECRET.as_bytes(), "top");
    let folder = disk.path().parent().expect("a file has a folder");
    for name in FOLDERS {
        fs::create_dir_all(folder.join(name)).expect("it can be made");
    }
    for name in FILES {
        let secret = name.starts_with("home") || name == "top";
        let text = if secret { SECRET } else { "a file of the store" };
        fs::write(folder.join(name), text).expect("it can be written");
    }
    let tiers = TIERS.map(|tier| {
        fs::write(folder.join(tier).join(".trajet-tier-m"), "").expect("it can be written");
        format!(r#""{tier}": {{"folder": {:?}, "limit": null, "mark": "m"}}"#, folder.join(tier))
    });
    let own = folder.join("store");
    let settings =
        format!(r#"{{"schema": 2, "folder": {own:?}, "tiers": {{{}}}}}"#, tiers.join(", "));
    fs::write(own.join("store.json"), settings).expect("it can be written");
    let names = FILES.iter().chain(&FOLDERS).chain(&TIERS).chain(&["home", "tier/.trajet-tier-m"]);
    let mut places: Vec<PathBuf> = names.map(|name| folder.join(name)).collect();
    places.extend([folder.join("tier/one-1/../../home/one-1/a"), PathBuf::from("/etc/hostname")]);
    input.chunks(3).take(32).for_each(|step| put(folder, &places, step));
    let files = Store::open(&own).and_then(|store| store.files());
    let files = match files {
        Ok(files) => files,
        Err(error) => return one_line(&error.to_string()),
    };
    for path in &places {
        let mut opened = match files.open(path) {
            Ok(opened) => opened,
            Err(error) => {
                one_line(&error.to_string());
                continue;
            }
        };
        let mut text = String::new();
        opened.read_to_string(&mut text).expect("it can be read");
        assert_ne!(text, SECRET, "{path:?}");
        let found = opened.metadata().expect("it is open");
        let is_it = |path: &PathBuf| {
            let there = path.symlink_metadata();
            there.is_ok_and(|there| (there.dev(), there.ino()) == (found.dev(), found.ino()))
        };
        assert!(plain_files(folder).iter().any(is_it), "{path:?}");
    }
}

/// Returns the regular files of the store that no link below their tier leads to.
fn plain_files(folder: &Path) -> Vec<PathBuf> {
    let marked = |tier: &PathBuf| {
        let mark = tier.join(".trajet-tier-m").symlink_metadata();
        mark.is_ok_and(|mark| mark.is_file())
    };
    let tiers = TIERS.iter().map(|tier| folder.join(tier)).filter(marked);
    let mut found = Vec::new();
    for root in tiers.chain([folder.join("store")]) {
        for within in fs::read_dir(root).into_iter().flatten().flatten() {
            if within.file_type().is_ok_and(|kind| kind.is_dir()) {
                let files = fs::read_dir(within.path()).into_iter().flatten().flatten();
                let files = files.filter(|file| file.file_type().is_ok_and(|kind| kind.is_file()));
                found.extend(files.map(|file| file.path()));
            }
        }
    }
    found
}
