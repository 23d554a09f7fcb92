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
use trajet_io::leftovers::remove_leftovers;

use crate::catalog::{MANIFEST, PENDING, random_id};
use crate::change::link_left;
use crate::location::Location;
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
    made: BTreeSet<Location>,
    /// Files that it makes, or that are needed no more when it is complete, and folders of such files.
    paths: BTreeSet<Location>,
    /// Absolute paths of the same in a journal of before: made or not.
    absolute: Vec<(bool, PathBuf)>,
    /// What it changes of tiers, and those that it needs as they are.
    pub(crate) tiers: Vec<TierChange>,
}

/// A line of that.
#[derive(Serialize, Deserialize)]
enum Line {
    Doing { doing: String, name: String },
    Made(Place),
    Path(Place),
    Tier(TierChange),
}

/// Where a file or folder is.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Place {
    Here(Location),
    /// In journals of before.
    Absolute(PathBuf),
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
        match fs::create_dir(&folder) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                return Err(Error::io(&folder, "make")(error));
            }
            _ => disk::is_folder(&folder)?,
        };
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
        let mut n_left = remove_leftovers(self.folder());
        for name in self.names()? {
            let folder = self.folder_of(&name);
            if disk::is_folder(&folder)? {
                n_left += remove_leftovers(&folder);
            }
        }
        if n_left > 0 {
            cleared
                .push(format!("temporary files of processes that were killed: {n_left} removed"));
        }
        let (mut others, mut dead) = (Vec::new(), Vec::new());
        for path in self.records()? {
            let file = match disk::open_with(OpenOptions::new().read(true).write(true), &path) {
                // It has ended just now.
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                file => file.map_err(Error::io(&path, "read"))?,
            };
            others.extend(Pending::read(&path)?);
            match file.try_lock() {
                Ok(()) => dead.push((path, file)),
                Err(fs::TryLockError::WouldBlock) => {}
                Err(fs::TryLockError::Error(error)) => return Err(Error::io(&path, "lock")(error)),
            }
        }
        for (path, _held) in dead {
            // Another one may just have added to it.
            let Some(pending) = Pending::read(&path)? else { continue };
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
        if !disk::is_folder(&folder)? {
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

    /// Removes the files that an operation has listed and no manifest names, and takes back what it has changed of
    /// tiers, unless it was completed or one of the others needs them; counts files.
    fn clear(&self, pending: &Pending, others: &mut [Pending]) -> Result<usize, Error> {
        let name = &pending.name;
        if !name.is_empty() && !manifest::is_name(name) {
            return Err(Error::Refused(manifest::bad_name("data set", name)));
        }
        // A path outside of the store is an error before anything is removed.
        let (mut made, mut paths) = (pending.made.clone(), pending.paths.clone());
        for (is_made, path) in &pending.absolute {
            let all = if *is_made { &mut made } else { &mut paths };
            all.insert(self.location_of(name, path)?);
        }
        let (mut needed, mut is_done) = (BTreeSet::new(), false);
        if let Some(manifest) = self.find(name)? {
            let frames = pending.name_of("frames", ".bin");
            is_done = manifest.segments.iter().any(|segment| segment.frames.file == frames);
            needed = manifest.locations();
            needed.insert(Location::beside(RECORD));
            link_left(self, &manifest)?;
        }
        let (tiers, mut resolver) = (self.tiers()?, self.resolver(name));
        let mut resolved = |all: &BTreeSet<Location>| -> Result<Vec<(Location, PathBuf)>, Error> {
            // A tier that was forgotten again has nothing of it any more.
            let is_known = |one: &&Location| one.tier().is_none_or(|tier| tiers.contains_key(tier));
            let unneeded = all.iter().filter(|one| !needed.contains(*one)).filter(is_known);
            unneeded.map(|one| Ok((one.clone(), resolver.resolve(one)?))).collect()
        };
        // Files of a tier that is not there cannot be removed now, and are not to be forgotten.
        let (made, paths) = (resolved(&made)?, resolved(&paths)?);
        let mut removed = 0;
        for (folder, path) in &made {
            removed += empty(folder, path, &needed, |_| true)?;
        }
        // What is in a folder comes behind it.
        for (location, path) in paths.iter().rev() {
            removed += match path.symlink_metadata() {
                // Indexes that readers have left.
                Ok(there) if there.is_dir() => {
                    empty(location, path, &needed, |name| name.starts_with('.'))?
                }
                Err(error) if !disk::is_gone(&error) => {
                    return Err(Error::io(path, "remove")(error));
                }
                _ => usize::from(disk::remove(path)?),
            };
        }
        if !name.is_empty() {
            // Where nothing is left in it, there is no such data set any more.
            let _ = fs::remove_dir(self.folder_of(name));
        }
        if !is_done {
            removed += self.take_back(&pending.tiers, others)?;
        }
        Ok(removed)
    }
}

impl Operation<'_> {
    /// Writes down that these files or folders will be made, or be needed no more.
    pub(crate) fn touch(&mut self, paths: impl IntoIterator<Item = Location>) -> Result<(), Error> {
        let paths: Vec<Location> = paths.into_iter().collect();
        self.write(paths.iter().cloned().map(Place::Here).map(Line::Path))?;
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
        let name = tier;
        let tier = self.tier_for_files(name)?;
        let folder = PathBuf::from(format!("{}-{}", self.pending.name, self.pending.id));
        let location = Location::on(name, &folder);
        let path = self.store.resolve(&self.pending.name, &location)?;
        self.write([Line::Made(Place::Here(location.clone()))])?;
        fs::create_dir(&path).map_err(Error::io(&path, "make"))?;
        self.pending.made.insert(location);
        Ok((tier, folder))
    }

    /// The name of a new file beside the manifest, which is written down.
    pub(crate) fn name_beside(&mut self, kind: &str, ending: &str) -> Result<String, Error> {
        let name = self.pending.name_of(kind, ending);
        self.touch([Location::beside(&name)])?;
        Ok(name)
    }

    /// The folder of the data set.
    pub(crate) fn folder(&self) -> PathBuf {
        self.store.folder_of(&self.pending.name)
    }

    /// The same, made where there is none.
    pub(crate) fn make_folder(&mut self) -> Result<PathBuf, Error> {
        let folder = self.folder();
        let busy = format!(".{}", self.pending.id);
        self.touch([Location::beside(&busy)])?;
        let _locked = self.store.lock()?;
        match fs::create_dir(&folder) {
            Err(error) if !folder.symlink_metadata().is_ok_and(|there| there.is_dir()) => {
                return Err(Error::io(&folder, "make")(error));
            }
            _ => {}
        }
        // Another operation that ends meanwhile would remove an empty folder.
        disk::write_new(&folder.join(busy), &[])?;
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
        self.touch([Location::beside(&format!("{MANIFEST}-{}.tmp", self.pending.id))])?;
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
        let mut resolver = store.resolver(name);
        let made = self.pending.made.iter().map(|made| resolver.resolve(made));
        for folder in made.chain([Ok(self.folder())]) {
            let folder = folder?;
            disk::sync_folder(&folder.join(MANIFEST))?;
            disk::sync_folder(&folder)?;
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
        // One that ends just now needs nothing any more; what another one needs that cannot be read is not known.
        let others: Result<Vec<_>, _> =
            others.iter().filter_map(|path| Pending::read(path).transpose()).collect();
        let Ok(mut others) = others else { return };
        // With what others have handed over.
        let Ok(Some(pending)) = Pending::read(&own) else { return };
        if self.store.clear(&pending, &mut others).is_ok() {
            let _ = fs::remove_file(own);
        }
    }
}

impl Pending {
    /// What stands in a file. A line that was cut short stands for something that was not made yet.
    /// None where there is no such file.
    fn read(path: &Path) -> Result<Option<Pending>, Error> {
        let id = path.file_stem().unwrap_or_default().display().to_string();
        let mut pending = Pending { id, ..Pending::default() };
        let bytes = match disk::read(path) {
            Err(Error::Io { source, .. }) if disk::is_gone(&source) => return Ok(None),
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
    fn name_of(&self, kind: &str, ending: &str) -> String {
        format!("{kind}-{}{ending}", self.id)
    }
}

/// Writes down more for what is pending.
fn add_lines(path: &Path, what: impl IntoIterator<Item = Line>) -> Result<(), Error> {
    let file = disk::open_with(OpenOptions::new().append(true), path);
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
    location: &Location,
    folder: &Path,
    needed: &BTreeSet<Location>,
    which: impl Fn(&str) -> bool,
) -> Result<usize, Error> {
    if !disk::is_folder(folder)? {
        return Ok(0);
    }
    let entries = fs::read_dir(folder).map_err(Error::io(folder, "read"))?;
    let mut removed = 0;
    for entry in entries {
        let path = entry.map_err(Error::io(folder, "read"))?.path();
        let name = path.file_name().unwrap_or_default().display().to_string();
        if which(&name) && !needed.contains(&location.join(&name)) {
            removed += usize::from(disk::remove(&path)?);
        }
    }
    // Not where something is left in it.
    let _ = fs::remove_dir(folder);
    Ok(removed)
}
