//! What is being done to a store, written down before it is done.
//!
//! Whoever changes something first writes down which folders and tiers that concerns (`.pending/`), in a file that
//! stays locked as long as the process lives; then makes all files under names that no other has; then, with the store
//! locked, looks whether the data set is still the one that was begun with and replaces its manifest; then removes
//! what is not needed any more. Whenever that is cut short, the manifest is the old one or the new one, and
//! [`Store::repair`] removes the files that no manifest names.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::catalog::{MANIFEST, PENDING, random_id};
use crate::change::link_left;
use crate::manifest::{self, Manifest, Tier};
use crate::tiers::TierChange;
use crate::uses::RECORD;
use crate::{Error, Store, disk};

/// What an operation has written down before it does anything.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    /// Part of all names that it makes.
    id: String,
    /// The word that names the operation.
    doing: String,
    /// The data set.
    name: String,
    /// Folders that it makes: all that is in them is its own.
    made: BTreeSet<PathBuf>,
    /// Files that it makes, or that are needed no more when it is complete, and folders of such files.
    paths: BTreeSet<PathBuf>,
    /// What it changes of tiers, and those that it needs as they are.
    pub(crate) tiers: Vec<TierChange>,
}

/// A line of that.
#[derive(Serialize, Deserialize)]
enum Line {
    Doing { doing: String, name: String },
    Made(PathBuf),
    Path(PathBuf),
    Tier(TierChange),
}

/// An operation that is under way. Dropped, it takes back what it made, unless that is in use by then.
#[derive(Debug)]
pub(crate) struct Operation<'a> {
    pub(crate) store: &'a Store,
    pending: Pending,
    /// Locked.
    file: File,
}

impl Store {
    /// Writes down that something is about to be done to a data set.
    pub(crate) fn begin(&self, doing: &str, name: &str) -> Result<Operation<'_>, Error> {
        if !manifest::is_name(name) {
            return Err(Error::Refused(manifest::bad_name("data set", name)));
        }
        self.is_no_tier(name, &self.tiers()?)?;
        self.is_at_home()?;
        let folder = self.folder().join(PENDING);
        let locked = self.lock()?;
        fs::create_dir_all(&folder).map_err(Error::io(&folder, "make"))?;
        let id = random_id();
        let path = folder.join(format!("{id}.json"));
        // Others may add to it, see `hand_over`.
        let file = OpenOptions::new()
            .append(true)
            .create_new(true)
            .open(&path)
            .map_err(Error::io(&path, "write"))?;
        let pending = Pending { id, name: name.to_owned(), ..Pending::default() };
        let operation = Operation { store: self, pending, file };
        // A dropped operation takes the store's lock: nothing below may return while it is held here.
        let locked_entry = operation.file.lock();
        drop(locked);
        locked_entry.map_err(Error::io(&path, "lock"))?;
        operation.write([Line::Doing { doing: doing.to_owned(), name: name.to_owned() }])?;
        Ok(operation)
    }

    /// Finds tiers that were moved with the store's folder, and removes what operations have left behind that were
    /// cut short. Returns what was found and cleared, in words.
    ///
    /// # Errors
    /// [`Error::Copied`]; the first [`Error::Io`] or [`Error::TierGone`], after all else was cleared.
    pub fn repair(&self) -> Result<Vec<String>, Error> {
        self.is_original()?;
        let _locked = self.lock()?;
        let (mut cleared, mut failed) = (self.find_moved()?, None);
        if self.clear_settings()? {
            cleared.push("store.json, whose writing was cut short: 1 file removed".to_owned());
        }
        let (mut others, mut dead) = (Vec::new(), Vec::new());
        for path in self.records()? {
            let file = match OpenOptions::new().read(true).write(true).open(&path) {
                // It has ended just now.
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                file => file.map_err(Error::io(&path, "read"))?,
            };
            others.push(Pending::read(&path)?);
            match file.try_lock() {
                Ok(()) => dead.push((path, file)),
                Err(fs::TryLockError::WouldBlock) => {}
                Err(fs::TryLockError::Error(error)) => return Err(Error::io(&path, "lock")(error)),
            }
        }
        for (path, _held) in dead {
            // Another one may just have added to it.
            let pending = Pending::read(&path)?;
            others.retain(|other| other.id != pending.id);
            let done = self.clear(&pending, &mut others);
            let removed = match done.and_then(|n| disk::remove(&path).map(|_| n)) {
                Ok(removed) => removed,
                Err(error) => {
                    failed.get_or_insert(error);
                    continue;
                }
            };
            if !pending.name.is_empty() {
                cleared.push(format!(
                    "{} of {:?}, which was cut short: {removed} files removed",
                    pending.doing, pending.name
                ));
            }
        }
        failed.map_or(Ok(cleared), Err)
    }

    /// The files in which is written down what is pending.
    fn records(&self) -> Result<Vec<PathBuf>, Error> {
        let folder = self.folder().join(PENDING);
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(Error::io(&folder, "read"))?,
        };
        let path = |entry: std::io::Result<fs::DirEntry>| Ok(entry?.path());
        let paths = entries.map(path).collect::<std::io::Result<_>>();
        paths.map_err(Error::io(&folder, "read"))
    }

    /// Writes down for what is pending where it is since the store was moved from a folder.
    pub(crate) fn pending_in(&self, was: &Path) -> Result<(), Error> {
        for path in self.records()? {
            let pending = Pending::read(&path)?;
            let now = |there: &PathBuf| Some(self.folder().join(there.strip_prefix(was).ok()?));
            let made = pending.made.iter().filter_map(now).map(Line::Made);
            let paths = pending.paths.iter().filter_map(now).map(Line::Path);
            let tiers = pending.tiers.iter().filter_map(|change| {
                let now = Tier { folder: now(&change.now.folder)?, ..change.now.clone() };
                Some(Line::Tier(TierChange { now, ..change.clone() }))
            });
            add_lines(&path, made.chain(paths).chain(tiers))?;
        }
        Ok(())
    }

    /// Leaves it to another operation to take back what was changed of a tier.
    pub(crate) fn hand_over(&self, heir: &Pending, change: &TierChange) -> Result<(), Error> {
        let path = self.folder().join(PENDING).join(format!("{}.json", heir.id));
        add_lines(&path, [Line::Tier(change.clone())])
    }

    /// Removes the files that an operation has listed and no manifest names, and takes back what it has changed of
    /// tiers, unless it was completed or one of the others needs them; counts files.
    fn clear(&self, pending: &Pending, others: &mut [Pending]) -> Result<usize, Error> {
        let (mut needed, mut is_done) = (BTreeSet::new(), false);
        if let Some(manifest) = self.find(&pending.name)? {
            let frames = pending.name_of("frames", ".bin");
            is_done = manifest.segments.iter().any(|segment| segment.frames.file == frames);
            needed = self.files_named_by(&manifest)?;
            needed.insert(self.folder_of(&pending.name).join(RECORD));
            link_left(self, &manifest)?;
        }
        let mut removed = 0;
        for folder in &pending.made {
            removed += empty(folder, &needed, |_| true)?;
        }
        // What is in a folder comes behind it.
        for path in pending.paths.iter().rev().filter(|path| !needed.contains(*path)) {
            removed += match path.symlink_metadata() {
                // Indexes that readers have left.
                Ok(there) if there.is_dir() => empty(path, &needed, |name| name.starts_with('.'))?,
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(Error::io(path, "remove")(error));
                }
                _ => usize::from(disk::remove(path)?),
            };
        }
        if !pending.name.is_empty() {
            // Where nothing is left in it, there is no such data set any more.
            let _ = fs::remove_dir(self.folder_of(&pending.name));
        }
        // Files of a tier that is not there cannot be removed now, and are not to be forgotten.
        for (tier, Tier { folder, .. }) in self.tiers()? {
            let mut all = pending.made.iter().chain(&pending.paths);
            if all.any(|path| path.starts_with(&folder)) {
                self.tier_at_hand(&tier)?;
            }
        }
        if !is_done {
            removed += self.take_back(&pending.tiers, others)?;
        }
        Ok(removed)
    }
}

impl Operation<'_> {
    /// Writes down that these files or folders will be made, or be needed no more.
    pub(crate) fn touch(&mut self, paths: impl IntoIterator<Item = PathBuf>) -> Result<(), Error> {
        let paths: Vec<PathBuf> = paths.into_iter().collect();
        self.write(paths.iter().cloned().map(Line::Path))?;
        self.pending.paths.extend(paths);
        Ok(())
    }

    /// Writes down what will be changed of tiers, and which others are needed.
    pub(crate) fn need(&mut self, tiers: Vec<TierChange>) -> Result<(), Error> {
        self.write(tiers.iter().cloned().map(Line::Tier))?;
        self.pending.tiers.extend(tiers);
        Ok(())
    }

    /// The data set.
    pub(crate) fn name(&self) -> &str {
        &self.pending.name
    }

    fn path(&self) -> PathBuf {
        self.store.folder().join(PENDING).join(format!("{}.json", self.pending.id))
    }

    fn write(&self, what: impl IntoIterator<Item = Line>) -> Result<(), Error> {
        let bytes = lines(what);
        let written = (&self.file).write_all(&bytes).and_then(|()| self.file.sync_all());
        written.map_err(Error::io(&self.path(), "write"))
    }

    /// A folder for new files on a tier, from that tier's own folder on.
    pub(crate) fn folder_on(&mut self, tier: &str) -> Result<(Tier, PathBuf), Error> {
        let tier = self.tier_for_files(tier)?;
        let folder = PathBuf::from(format!("{}-{}", self.pending.name, self.pending.id));
        let path = tier.folder.join(&folder);
        self.write([Line::Made(path.clone())])?;
        fs::create_dir(&path).map_err(Error::io(&path, "make"))?;
        self.pending.made.insert(path);
        Ok((tier, folder))
    }

    /// The name of a new file beside the manifest, which is written down.
    pub(crate) fn name_beside(&mut self, kind: &str, ending: &str) -> Result<String, Error> {
        let name = self.pending.name_of(kind, ending);
        self.touch([self.folder().join(&name)])?;
        Ok(name)
    }

    /// The folder of the data set.
    pub(crate) fn folder(&self) -> PathBuf {
        self.store.folder_of(&self.pending.name)
    }

    /// The same, made where there is none.
    pub(crate) fn make_folder(&mut self) -> Result<PathBuf, Error> {
        let folder = self.folder();
        let busy = folder.join(format!(".{}", self.pending.id));
        self.touch([busy.clone()])?;
        let _locked = self.store.lock()?;
        match fs::create_dir(&folder) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists || !folder.is_dir() => {
                return Err(Error::io(&folder, "make")(error));
            }
            _ => {}
        }
        // Another operation that ends meanwhile would remove an empty folder.
        disk::write_new(&busy, &[])?;
        Ok(folder)
    }

    /// Replaces the manifest, if the data set is still what it was when the operation began. `new` is none
    /// where the data set is to be no more; `needed` are bytes that tiers must have room for.
    pub(crate) fn commit(
        &mut self,
        was: Option<&Manifest>,
        new: Option<&Manifest>,
        needed: &BTreeMap<String, u64>,
    ) -> Result<(), Error> {
        // What is in the making while the manifest is replaced.
        self.touch([self.folder().join(format!("{MANIFEST}-{}.tmp", self.pending.id))])?;
        let (store, name) = (self.store, &self.pending.name);
        let _locked = store.lock()?;
        if store.find(name)?.as_ref() != was {
            return Err(match was {
                None => Error::Exists { store: store.folder().to_owned(), name: name.clone() },
                Some(_) => Error::Meanwhile { dataset: name.clone() },
            });
        }
        store.check_rooms(needed)?;
        let path = self.folder().join(MANIFEST);
        let Some(new) = new else {
            fs::remove_file(&path).map_err(Error::io(&path, "remove"))?;
            return disk::sync_folder(&path);
        };
        debug_assert_eq!(new.check(), Ok(()));
        // What it names is on the disk before it is.
        for folder in self.pending.made.iter().chain([&self.folder()]) {
            disk::sync_folder(&folder.join(MANIFEST))?;
            disk::sync_folder(folder)?;
        }
        let json = serde_json::to_vec(new).expect("manifests are plain");
        disk::replace(&path, &self.pending.id, &json)
    }
}

impl Drop for Operation<'_> {
    /// Removes what no manifest names, of what was written down; where that fails, `repair` does it later.
    fn drop(&mut self) {
        let Ok(_locked) = self.store.lock() else { return };
        let own = self.path();
        let Ok(mut others) = self.store.records() else { return };
        others.retain(|path| *path != own);
        // One that ends just now needs nothing any more.
        let mut others: Vec<_> =
            others.iter().filter_map(|path| Pending::read(path).ok()).collect();
        // With what others have handed over.
        let pending = Pending::read(&own);
        if self.store.clear(pending.as_ref().unwrap_or(&self.pending), &mut others).is_ok() {
            let _ = fs::remove_file(own);
        }
    }
}

impl Pending {
    /// What stands in a file. A line that was cut short stands for something that was not made yet.
    fn read(path: &Path) -> Result<Pending, Error> {
        let id = path.file_stem().unwrap_or_default().display().to_string();
        let mut pending = Pending { id, ..Pending::default() };
        for line in disk::read(path)?.split_inclusive(|&byte| byte == b'\n') {
            match serde_json::from_slice(line) {
                Ok(Line::Doing { doing, name }) => (pending.doing, pending.name) = (doing, name),
                Ok(Line::Made(path)) => pending.made.extend([path]),
                Ok(Line::Path(path)) => pending.paths.extend([path]),
                Ok(Line::Tier(change)) => pending.tiers.push(change),
                Err(_) => {}
            }
        }
        Ok(pending)
    }

    /// Whether it found a tier as another one had changed it, or needs one that was new.
    pub(crate) fn counts_on(&self, change: &TierChange) -> bool {
        let TierChange { name, was, now, .. } = change;
        let found = |own: &TierChange| {
            own.name == *name && (was.is_none() || own.was.as_ref() == Some(now))
        };
        self.tiers.iter().any(found)
            || was.is_none() && self.made.iter().any(|path| path.starts_with(&now.folder))
    }

    /// The name of a file beside the manifest.
    fn name_of(&self, kind: &str, ending: &str) -> String {
        format!("{kind}-{}{ending}", self.id)
    }
}

/// Writes down more for what is pending.
fn add_lines(path: &Path, what: impl IntoIterator<Item = Line>) -> Result<(), Error> {
    let file = OpenOptions::new().append(true).open(path);
    let mut file = file.map_err(Error::io(path, "write"))?;
    // Behind a line that was cut short.
    let bytes = [b"\n", &lines(what)[..]].concat();
    file.write_all(&bytes).and_then(|()| file.sync_all()).map_err(Error::io(path, "write"))
}

/// Lines as they are written down.
fn lines(what: impl IntoIterator<Item = Line>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for line in what {
        serde_json::to_writer(&mut bytes, &line).expect("paths of a store are text");
        bytes.push(b'\n');
    }
    bytes
}

/// Removes files of some names in a folder, but not those that are needed, and the folder where nothing stays
/// in it; counts them.
fn empty(
    folder: &Path,
    needed: &BTreeSet<PathBuf>,
    which: impl Fn(&str) -> bool,
) -> Result<usize, Error> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(0),
        entries => entries.map_err(Error::io(folder, "read"))?,
    };
    let mut removed = 0;
    for entry in entries {
        let path = entry.map_err(Error::io(folder, "read"))?.path();
        let name = path.file_name().unwrap_or_default().display().to_string();
        if which(&name) && !needed.contains(&path) {
            removed += usize::from(disk::remove(&path)?);
        }
    }
    // Not where something is left in it.
    let _ = fs::remove_dir(folder);
    Ok(removed)
}
