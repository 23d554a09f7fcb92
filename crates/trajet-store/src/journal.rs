//! Journals: what an operation is about to do to a store, written down before it is done.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::catalog::PENDING;
use crate::location::Location;
use crate::manifest::Tier;
use crate::{Error, Store, atomic_files};

/// What an operation has written down before it does anything.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    /// Part of all names that it makes.
    pub(crate) id: String,
    /// The word that names the operation.
    pub(crate) doing: String,
    /// The data set.
    pub(crate) name: String,
    /// Folders that it makes: all that is in them is its own.
    pub(crate) made: BTreeSet<Location>,
    /// Files that it makes, or that are needed no more when it is complete, and folders of such files.
    pub(crate) paths: BTreeSet<Location>,
    /// Absolute paths of the same in a journal of before: made or not.
    pub(crate) absolute: Vec<(bool, PathBuf)>,
    /// What it changes of tiers, and those that it needs as they are.
    pub(crate) tiers: Vec<TierChange>,
}

/// A line of that.
#[derive(Serialize, Deserialize)]
pub(crate) enum Line {
    Doing { doing: String, name: String },
    Made(Place),
    Path(Place),
    Tier(TierChange),
}

/// Where a file or folder is.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Place {
    Here(Location),
    /// In journals of before.
    Absolute(PathBuf),
}

/// What an operation changes of a tier; it needs it all the same where that is nothing.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TierChange {
    pub(crate) name: String,
    /// None where it is new.
    pub(crate) was: Option<Tier>,
    pub(crate) now: Tier,
    /// Whether its folder is made for it.
    pub(crate) makes_folder: bool,
}

impl Store {
    /// The files in which is written down what is pending.
    pub(crate) fn records(&self) -> Result<Vec<PathBuf>, Error> {
        let folder = self.folder().join(PENDING);
        if !atomic_files::is_folder(&folder)? {
            return Ok(Vec::new());
        }
        let entries = fs::read_dir(&folder).map_err(Error::io(&folder, "read"))?;
        let path = |entry: std::io::Result<fs::DirEntry>| Ok(entry?.path());
        let paths = entries.map(path).collect::<std::io::Result<_>>();
        paths.map_err(Error::io(&folder, "read"))
    }

    /// Writes down for what is pending where its tiers are since the store was moved from a folder.
    pub(crate) fn pending_in(&self, was: &Path) -> Result<(), Error> {
        for path in self.records()? {
            let Some(pending) = Pending::read(&path)? else { continue };
            let now = |there: &PathBuf| Some(self.folder().join(there.strip_prefix(was).ok()?));
            let tiers = pending.tiers.iter().filter_map(|change| {
                let now = Tier { folder: now(&change.now.folder)?, ..change.now.clone() };
                Some(Line::Tier(TierChange { now, ..change.clone() }))
            });
            let absolute = pending.absolute.iter().filter_map(|(made, path)| {
                let place = Place::Absolute(now(path)?);
                Some(if *made { Line::Made(place) } else { Line::Path(place) })
            });
            add_lines(&path, tiers.chain(absolute))?;
        }
        Ok(())
    }

    /// Leaves it to another operation to take back what was changed of a tier.
    pub(crate) fn hand_over(&self, heir: &Pending, change: &TierChange) -> Result<(), Error> {
        let path = self.folder().join(PENDING).join(format!("{}.json", heir.id));
        add_lines(&path, [Line::Tier(change.clone())])
    }
}

impl Pending {
    /// What stands in a file. A line that was cut short stands for something that was not made yet.
    /// None where there is no such file.
    pub(crate) fn read(path: &Path) -> Result<Option<Pending>, Error> {
        let id = path.file_stem().unwrap_or_default().display().to_string();
        let mut pending = Pending { id, ..Pending::default() };
        let bytes = match atomic_files::read(path) {
            Err(Error::Io { source, .. }) if atomic_files::is_gone(&source) => return Ok(None),
            bytes => bytes?,
        };
        for line in bytes.split_inclusive(|&byte| byte == b'\n') {
            match serde_json::from_slice(line) {
                Ok(Line::Doing { doing, name }) => (pending.doing, pending.name) = (doing, name),
                Ok(Line::Made(Place::Here(location))) => pending.made.extend([location]),
                Ok(Line::Path(Place::Here(location))) => pending.paths.extend([location]),
                Ok(Line::Made(Place::Absolute(path))) => pending.absolute.push((true, path)),
                Ok(Line::Path(Place::Absolute(path))) => pending.absolute.push((false, path)),
                Ok(Line::Tier(change)) => pending.tiers.push(change),
                Err(_) => {}
            }
        }
        Ok(Some(pending))
    }

    /// Whether it found a tier as another one had changed it, or needs one that was new.
    pub(crate) fn counts_on(&self, change: &TierChange) -> bool {
        let TierChange { name, was, now, .. } = change;
        let found = |own: &TierChange| {
            own.name == *name && (was.is_none() || own.was.as_ref() == Some(now))
        };
        self.tiers.iter().any(found)
            || was.is_none()
                && (self.made.iter().any(|made| made.tier() == Some(name))
                    || self.absolute.iter().any(|(_, path)| path.starts_with(&now.folder)))
    }

    /// The name of a file beside the manifest.
    pub(crate) fn name_of(&self, kind: &str, ending: &str) -> String {
        format!("{kind}-{}{ending}", self.id)
    }
}

/// Writes down more for what is pending.
fn add_lines(path: &Path, what: impl IntoIterator<Item = Line>) -> Result<(), Error> {
    let file = atomic_files::open_with(OpenOptions::new().append(true), path);
    let mut file = file.map_err(Error::io(path, "write"))?;
    // Behind a line that was cut short.
    let bytes = [b"\n", &lines(what)[..]].concat();
    file.write_all(&bytes).and_then(|()| file.sync_all()).map_err(Error::io(path, "write"))
}

/// Lines as they are written down.
pub(crate) fn lines(what: impl IntoIterator<Item = Line>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for line in what {
        serde_json::to_writer(&mut bytes, &line).expect("paths of a store are text");
        bytes.push(b'\n');
    }
    bytes
}
