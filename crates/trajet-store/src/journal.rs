//! Journals: what a transaction is about to do to a store, written down before it starts (`.pending/`).

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::catalog::JOURNALS;
use crate::location::Location;
use crate::manifest::Tier;
use crate::{Error, Store, atomic_files};

/// The journal of a transaction.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    /// The journal's id, part of all names that the transaction makes.
    pub(crate) id: String,
    /// The kind of transaction: "add", "append", "move", …
    pub(crate) doing: String,
    /// The data set.
    pub(crate) name: String,
    /// Folders that the transaction makes; it owns all files in them.
    pub(crate) made: BTreeSet<Location>,
    /// Files that it makes or that become obsolete when it commits, and their folders.
    pub(crate) paths: BTreeSet<Location>,
    /// Tiers that it changes, or needs unchanged.
    pub(crate) tiers: Vec<TierChange>,
}

/// A line of a journal.
#[derive(Serialize, Deserialize)]
pub(crate) enum Line {
    Doing { doing: String, name: String },
    Made(Location),
    Path(Location),
    Tier(TierChange),
}

/// A tier before and after a transaction; both are equal if it needs the tier unchanged.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TierChange {
    pub(crate) name: String,
    /// None if the tier is new.
    pub(crate) was: Option<Tier>,
    pub(crate) now: Tier,
    /// Whether the transaction makes its folder.
    pub(crate) makes_folder: bool,
}

impl Store {
    /// Returns the paths of all journals.
    pub(crate) fn journals(&self) -> Result<Vec<PathBuf>, Error> {
        let folder = self.folder().join(JOURNALS);
        if !atomic_files::is_folder(&folder)? {
            return Ok(Vec::new());
        }
        let entries = fs::read_dir(&folder).map_err(Error::io(&folder, "read"))?;
        let path = |entry: std::io::Result<fs::DirEntry>| Ok(entry?.path());
        let paths = entries.map(path).collect::<std::io::Result<_>>();
        paths.map_err(Error::io(&folder, "read"))
    }

    /// Appends to all journals where their tiers are after the store was moved from the folder `was`.
    pub(crate) fn relocate_journals(&self, was: &Path) -> Result<(), Error> {
        for path in self.journals()? {
            let Some(journal) = Journal::read(&path)? else { continue };
            let now = |there: &PathBuf| Some(self.folder().join(there.strip_prefix(was).ok()?));
            let tiers = journal.tiers.iter().filter_map(|change| {
                let now = Tier { folder: now(&change.now.folder)?, ..change.now.clone() };
                Some(Line::Tier(TierChange { now, ..change.clone() }))
            });
            add_lines(&path, tiers)?;
        }
        Ok(())
    }

    /// Appends a change of a tier to the journal of another transaction, which takes it back if it fails.
    pub(crate) fn hand_over(&self, heir: &Journal, change: &TierChange) -> Result<(), Error> {
        let path = self.folder().join(JOURNALS).join(format!("{}.json", heir.id));
        add_lines(&path, [Line::Tier(change.clone())])
    }
}

impl Journal {
    /// Reads a journal; none if the file does not exist. A truncated line is ignored: what it names was not made yet.
    pub(crate) fn read(path: &Path) -> Result<Option<Journal>, Error> {
        let id = path.file_stem().unwrap_or_default().display().to_string();
        let mut journal = Journal { id, ..Journal::default() };
        let bytes = match atomic_files::read(path) {
            Err(Error::Io { source, .. }) if atomic_files::is_gone(&source) => return Ok(None),
            bytes => bytes?,
        };
        for line in bytes.split_inclusive(|&byte| byte == b'\n') {
            match serde_json::from_slice(line) {
                Ok(Line::Doing { doing, name }) => (journal.doing, journal.name) = (doing, name),
                Ok(Line::Made(location)) => journal.made.extend([location]),
                Ok(Line::Path(location)) => journal.paths.extend([location]),
                Ok(Line::Tier(change)) => journal.tiers.push(change),
                Err(_) => {}
            }
        }
        Ok(Some(journal))
    }

    /// Returns whether the transaction relies on a change of a tier by another one.
    pub(crate) fn counts_on(&self, change: &TierChange) -> bool {
        let TierChange { name, was, now, .. } = change;
        let found = |own: &TierChange| {
            own.name == *name && (was.is_none() || own.was.as_ref() == Some(now))
        };
        self.tiers.iter().any(found)
            || was.is_none() && self.made.iter().any(|made| made.tier() == Some(name))
    }

    /// Returns the name of a file beside the manifest.
    pub(crate) fn name_of(&self, kind: &str, ending: &str) -> String {
        format!("{kind}-{}{ending}", self.id)
    }
}

/// Appends lines to a journal.
fn add_lines(path: &Path, what: impl IntoIterator<Item = Line>) -> Result<(), Error> {
    let file = atomic_files::open_with(OpenOptions::new().append(true), path);
    let mut file = file.map_err(Error::io(path, "write"))?;
    // The last line may be truncated.
    let bytes = [b"\n", &lines(what)[..]].concat();
    file.write_all(&bytes).and_then(|()| file.sync_all()).map_err(Error::io(path, "write"))
}

/// Returns lines as bytes.
pub(crate) fn lines(what: impl IntoIterator<Item = Line>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for line in what {
        serde_json::to_writer(&mut bytes, &line).expect("paths of a store are text");
        bytes.push(b'\n');
    }
    bytes
}
