//! The folder of a store: its tiers, its data sets, and who may change them when.
//!
//! A data set is what its manifest says, which is replaced by renaming. Whoever changes something first writes
//! down which folders that concerns (`.pending/`), in a file that stays locked as long as the process lives;
//! then makes all files under names that no other has; then, with the store locked, looks whether the
//! data set is still the one that was begun with and replaces its manifest; then removes what is not needed
//! any more. Whenever that is cut short, the manifest is the old one or the new one, and [`Store::repair`]
//! removes the files that no manifest names.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::change::link_left;
use crate::hdf5::Writer;
use crate::manifest::{self, Manifest, SCHEMA, Settings, Tier};
use crate::{Error, disk};

/// Most tiers of a store.
pub const MOST_TIERS: usize = 8;
const SETTINGS: &str = "store.json";
pub(crate) const MANIFEST: &str = "manifest.json";
const LOCK: &str = "lock";
const PENDING: &str = ".pending";

/// A store that is there.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
    /// Who writes tags in HDF5.
    pub(crate) hdf5: Option<Arc<dyn Writer>>,
}

/// What an operation has written down before it does anything.
#[derive(Debug, Default)]
struct Pending {
    /// The word that names the operation.
    doing: String,
    /// The data set.
    name: String,
    /// Folders that it makes: all that is in them is its own.
    made: BTreeSet<PathBuf>,
    /// Files that it makes, or that are needed no more when it is complete, and folders of such files.
    paths: BTreeSet<PathBuf>,
}

/// A line of that.
#[derive(Serialize, Deserialize)]
enum Line {
    Doing { doing: String, name: String },
    Made(PathBuf),
    Path(PathBuf),
}

/// An operation that is under way. Dropped, it takes back what it made, unless that is in use by then.
#[derive(Debug)]
pub(crate) struct Operation<'a> {
    store: &'a Store,
    /// Part of all names that it makes.
    pub(crate) id: String,
    pending: Pending,
    /// Locked.
    file: File,
}

impl Store {
    /// The store in a folder.
    ///
    /// # Errors
    /// [`Error::NoStore`], [`Error::Io`], [`Error::Schema`], [`Error::Damaged`].
    pub fn open(folder: &Path) -> Result<Store, Error> {
        if folder.to_str().is_none() {
            let words = format!("{}: paths of a store must be text (UTF-8)", folder.display());
            return Err(Error::Refused(words));
        }
        let path = folder.join(SETTINGS);
        match path.try_exists() {
            Ok(true) => {}
            Ok(false) => return Err(Error::NoStore { folder: folder.to_owned() }),
            Err(error) => return Err(Error::io(&path, "read")(error)),
        }
        let folder = std::path::absolute(folder).map_err(Error::io(folder, "find"))?;
        let store = Store { folder, hdf5: None };
        store.settings()?;
        Ok(store)
    }

    /// The store in a folder, which is made where there is none.
    ///
    /// # Errors
    /// As [`Store::open`]; [`Error::Refused`] where the folder has other files.
    pub fn create(folder: &Path) -> Result<Store, Error> {
        match Store::open(folder) {
            Err(Error::NoStore { .. }) => {}
            other => return other,
        }
        let own = [LOCK, PENDING].map(std::ffi::OsStr::new);
        match fs::read_dir(folder) {
            Ok(entries) => {
                let other = |entry: &fs::DirEntry| {
                    let name = entry.file_name();
                    !own.contains(&&*name) && !name.to_string_lossy().starts_with(SETTINGS)
                };
                // Somebody else may have made the store just now.
                if let Some(entry) = entries.flatten().find(other)
                    && !folder.join(SETTINGS).exists()
                {
                    return Err(Error::Refused(format!(
                        "{}: is no store and not empty (there is {}): name a new folder",
                        folder.display(),
                        entry.file_name().display()
                    )));
                }
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(Error::io(folder, "read")(error)),
        }
        fs::create_dir_all(folder).map_err(Error::io(folder, "make"))?;
        let folder = std::path::absolute(folder).map_err(Error::io(folder, "find"))?;
        let store = Store { folder, hdf5: None };
        let _locked = store.lock()?;
        if !store.folder.join(SETTINGS).exists() {
            let (folder, tiers) = (None, BTreeMap::new());
            store.write_settings(Settings { schema: SCHEMA, folder, tiers })?;
        }
        Ok(store)
    }

    /// The same store, which can divide into files of HDF5.
    #[must_use]
    pub fn with_hdf5(self, writer: Arc<dyn Writer>) -> Store {
        Store { hdf5: Some(writer), ..self }
    }

    /// Its folder, absolute.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where its tiers are.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Schema`], [`Error::Damaged`].
    pub fn tiers(&self) -> Result<BTreeMap<String, Tier>, Error> {
        Ok(self.settings()?.tiers)
    }

    /// Names of the data sets.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn names(&self) -> Result<Vec<String>, Error> {
        let entries = fs::read_dir(&self.folder).map_err(Error::io(&self.folder, "read"))?;
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(Error::io(&self.folder, "read"))?;
            if let Ok(name) = entry.file_name().into_string()
                && manifest::is_name(&name)
                && entry.path().join(MANIFEST).is_file()
            {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    /// What is known of a data set.
    ///
    /// # Errors
    /// [`Error::NoDataset`], [`Error::Io`], [`Error::Schema`], [`Error::Damaged`].
    pub fn manifest(&self, name: &str) -> Result<Manifest, Error> {
        match self.find(name)? {
            Some(manifest) => Ok(manifest),
            None => Err(Error::NoDataset {
                store: self.folder.clone(),
                name: name.to_owned(),
                known: self.names()?,
            }),
        }
    }

    /// The folder of a data set.
    pub fn folder_of(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Where a file on a tier is.
    ///
    /// # Errors
    /// [`Error::NoTier`], and those of [`Store::tiers`].
    pub fn path_of(&self, file: &manifest::File) -> Result<PathBuf, Error> {
        Ok(self.tier(&file.tier)?.folder.join(&file.path))
    }

    pub(crate) fn find(&self, name: &str) -> Result<Option<Manifest>, Error> {
        if !manifest::is_name(name) {
            return Ok(None);
        }
        let path = self.folder_of(name).join(MANIFEST);
        let manifest: Option<Manifest> = read_json(&path)?;
        if let Some(manifest) = &manifest {
            if manifest.name != name {
                let words =
                    format!("is that of {:?}: give its folder that name again", manifest.name);
                return Err(Error::damaged(&path, words));
            }
            manifest.check().map_err(|what| {
                Error::damaged(&path, format!("{what}: bring the manifest back from a copy"))
            })?;
        }
        Ok(manifest)
    }

    /// A tier, by its name.
    pub(crate) fn tier(&self, name: &str) -> Result<Tier, Error> {
        let mut tiers = self.tiers()?;
        tiers.remove(name).ok_or_else(|| self.no_tier(name, tiers.into_keys().collect()))
    }

    pub(crate) fn no_tier(&self, name: &str, known: Vec<String>) -> Error {
        Error::NoTier { store: self.folder.clone(), tier: name.to_owned(), known }
    }

    /// The same, whose folder is there.
    pub(crate) fn tier_at_hand(&self, name: &str) -> Result<Tier, Error> {
        let tier = self.tier(name)?;
        match tier.folder.is_dir() {
            true => Ok(tier),
            false => Err(self.gone(name.to_owned(), tier.folder)),
        }
    }

    fn gone(&self, tier: String, folder: PathBuf) -> Error {
        Error::TierGone { tier, folder, settings: self.settings_path() }
    }

    fn settings(&self) -> Result<Settings, Error> {
        let path = self.folder.join(SETTINGS);
        read_json(&path)?.ok_or_else(|| Error::NoStore { folder: self.folder.clone() })
    }

    pub(crate) fn settings_path(&self) -> PathBuf {
        self.folder.join(SETTINGS)
    }

    /// Makes sure that this is no copy: what it would remove are the files of another store, too.
    fn is_original(&self) -> Result<(), Error> {
        let Some(original) = self.settings()?.folder else { return Ok(()) };
        let (own, there) = (self.settings_path(), original.join(SETTINGS));
        if original == self.folder || !there.exists() || is_same(&own, &there) {
            return Ok(());
        }
        Err(Error::Copied { folder: self.folder.clone(), original, settings: own })
    }

    fn write_settings(&self, settings: Settings) -> Result<Settings, Error> {
        let settings = Settings { folder: Some(self.folder.clone()), ..settings };
        let json = serde_json::to_vec_pretty(&settings).expect("settings are plain");
        disk::replace(&self.folder.join(SETTINGS), &random_id(), &json)?;
        Ok(settings)
    }

    /// Makes tiers known, and their folders where there are none.
    ///
    /// # Errors
    /// [`Error::Refused`] where a tier of that name is elsewhere, or there are too many.
    pub(crate) fn add_tiers(&self, wanted: &BTreeMap<String, Tier>) -> Result<NewTiers<'_>, Error> {
        let _locked = self.lock()?;
        self.is_original()?;
        let mut settings = self.settings()?;
        let before = settings.clone();
        let mut new = Vec::new();
        for (name, tier) in wanted {
            if !manifest::is_name(name) {
                return Err(Error::Refused(manifest::bad_name("tier", name)));
            }
            if let Some(there) = settings.tiers.get(name)
                && there.folder != tier.folder
            {
                return Err(Error::Refused(format!(
                    "{}: has a tier {name:?} in {}, and the profile says {}: give one of the two \
                     another name",
                    self.folder.display(),
                    there.folder.display(),
                    tier.folder.display()
                )));
            }
            if settings.tiers.insert(name.clone(), tier.clone()).is_none() {
                new.push(tier);
            }
        }
        if settings.tiers.len() > MOST_TIERS {
            let words = format!("{}: has at most {MOST_TIERS} tiers", self.folder.display());
            return Err(Error::Refused(words));
        }
        for tier in new {
            // Of a file system that is not mounted not even the folder above is there.
            match fs::create_dir(&tier.folder) {
                Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                    return Err(Error::io(&tier.folder, "make")(error));
                }
                _ => {}
            }
        }
        let after = self.write_settings(settings)?;
        Ok(NewTiers { store: self, change: Some((before, after)) })
    }

    /// Keeps others from changing what manifests say; given up when dropped, or when the process ends.
    fn lock(&self) -> Result<File, Error> {
        let path = self.folder.join(LOCK);
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(Error::io(&path, "write"))?;
        file.lock().map_err(Error::io(&path, "lock"))?;
        Ok(file)
    }

    /// Writes down that something is about to be done to a data set.
    pub(crate) fn begin(&self, doing: &str, name: &str) -> Result<Operation<'_>, Error> {
        if !manifest::is_name(name) {
            return Err(Error::Refused(manifest::bad_name("data set", name)));
        }
        if self.tiers()?.values().any(|tier| tier.folder.starts_with(self.folder_of(name))) {
            let words = format!("{name:?}: is the folder of a tier: choose another name");
            return Err(Error::Refused(words));
        }
        self.is_original()?;
        let folder = self.folder.join(PENDING);
        let _locked = self.lock()?;
        fs::create_dir_all(&folder).map_err(Error::io(&folder, "make"))?;
        let id = random_id();
        let path = folder.join(format!("{id}.json"));
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&path)
            .map_err(Error::io(&path, "write"))?;
        file.lock().map_err(Error::io(&path, "lock"))?;
        let pending = Pending::default();
        let mut operation = Operation { store: self, id, pending, file };
        let (doing, name) = (doing.to_owned(), name.to_owned());
        operation.pending.name.clone_from(&name);
        operation.write([Line::Doing { doing, name }])?;
        Ok(operation)
    }

    /// Bytes of this store on each tier.
    ///
    /// # Errors
    /// Those of [`Store::manifest`].
    pub fn used(&self) -> Result<BTreeMap<String, u64>, Error> {
        let mut used = BTreeMap::new();
        for name in self.names()? {
            for file in self.find(&name)?.iter().flat_map(Manifest::files) {
                *used.entry(file.tier.clone()).or_default() += file.size;
            }
        }
        Ok(used)
    }

    /// Makes sure that so many bytes more are within the limit of a tier.
    pub(crate) fn check_room(&self, name: &str, needed: u64) -> Result<(), Error> {
        let Some(limit) = self.tier(name)?.limit else { return Ok(()) };
        let used = self.used()?.get(name).copied().unwrap_or(0);
        if used.saturating_add(needed) <= limit {
            return Ok(());
        }
        let (tier, settings) = (name.to_owned(), self.settings_path());
        Err(Error::TierFull { tier, needed, used, limit, settings })
    }

    /// Removes what operations have left behind that were cut short. Returns what was cleared, in words.
    ///
    /// # Errors
    /// [`Error::Copied`]; the first [`Error::Io`] or [`Error::TierGone`], after all else was cleared.
    pub fn repair(&self) -> Result<Vec<String>, Error> {
        self.is_original()?;
        let _locked = self.lock()?;
        let folder = self.folder.join(PENDING);
        let (mut cleared, mut failed) = (Vec::new(), None);
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(cleared),
            entries => entries.map_err(Error::io(&folder, "read"))?,
        };
        for entry in entries {
            let path = entry.map_err(Error::io(&folder, "read"))?.path();
            let file = match OpenOptions::new().read(true).write(true).open(&path) {
                // It has ended just now.
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                file => file.map_err(Error::io(&path, "read"))?,
            };
            match file.try_lock() {
                Ok(()) => {}
                Err(fs::TryLockError::WouldBlock) => continue,
                Err(fs::TryLockError::Error(error)) => return Err(Error::io(&path, "lock")(error)),
            }
            let pending = Pending::of(&disk::read(&path)?);
            let done = self.clear(&pending).and_then(|n| disk::remove(&path).map(|_| n));
            let removed = match done {
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

    /// Removes the files that an operation has listed and no manifest names; counts them.
    fn clear(&self, pending: &Pending) -> Result<usize, Error> {
        let mut needed = BTreeSet::new();
        if let Some(manifest) = self.find(&pending.name)? {
            needed = self.files_named_by(&manifest)?;
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
            if all.any(|path| path.starts_with(&folder)) && !folder.is_dir() {
                return Err(self.gone(tier, folder));
            }
        }
        Ok(removed)
    }

    /// All files that a manifest names.
    pub(crate) fn files_named_by(&self, manifest: &Manifest) -> Result<BTreeSet<PathBuf>, Error> {
        let folder = self.folder_of(&manifest.name);
        let mut paths = BTreeSet::new();
        paths.insert(folder.join(&manifest.topology.file));
        for segment in &manifest.segments {
            paths.insert(folder.join(&segment.frames.file));
            paths.insert(folder.join(&segment.heads.file));
        }
        let left = manifest.left.iter().map(|left| &left.file);
        for file in manifest.files().chain(left) {
            let path = self.path_of(file)?;
            paths.extend(beside(&path, file));
            paths.extend(file.chunks.iter().map(|kept| folder.join(&kept.file)));
            paths.insert(path);
        }
        Ok(paths)
    }

    /// The same, and the folders on tiers in which they are: all that is to go when they are needed no more.
    pub(crate) fn all_of(&self, manifest: &Manifest) -> Result<BTreeSet<PathBuf>, Error> {
        let mut paths = self.files_named_by(manifest)?;
        let own = self.folder_of(&manifest.name);
        let folders = paths.iter().filter_map(|path| path.parent()).filter(|&path| path != own);
        let folders: Vec<PathBuf> = folders.map(Path::to_owned).collect();
        paths.extend(folders);
        Ok(paths)
    }
}

/// The index that readers keep of a file.
pub(crate) fn index_of(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().display();
    path.with_file_name(format!(".{name}.trajet-index"))
}

/// Tiers that were made known for something that is under way. Dropped before that is done, they are forgotten,
/// unless somebody else may use them by then.
#[derive(Debug)]
#[must_use]
pub(crate) struct NewTiers<'a> {
    store: &'a Store,
    /// What was known before and after.
    change: Option<(Settings, Settings)>,
}

impl NewTiers<'_> {
    /// They are used from now on.
    pub(crate) fn stay(mut self) {
        self.change = None;
    }

    fn forget(&self, before: &Settings, after: &Settings) -> Result<(), Error> {
        let store = self.store;
        let _locked = store.lock()?;
        let folder = store.folder.join(PENDING);
        let nobody = fs::read_dir(&folder).is_ok_and(|mut entries| entries.next().is_none());
        let used = store.used()?;
        let unused = used.keys().all(|tier| before.tiers.contains_key(tier));
        if nobody && unused && store.settings()? == *after {
            store.write_settings(before.clone())?;
        }
        Ok(())
    }
}

impl Drop for NewTiers<'_> {
    fn drop(&mut self) {
        if let Some((before, after)) = self.change.take() {
            // Known tiers that nobody uses do no harm.
            let _ = self.forget(&before, &after);
        }
    }
}

/// The files beside one on a tier: those that were written with it, and the index that readers keep.
pub(crate) fn beside(path: &Path, file: &manifest::File) -> Vec<PathBuf> {
    let mut paths = vec![index_of(path)];
    paths.extend(file.beside.iter().map(|kept| path.with_file_name(&kept.file)));
    paths
}

impl Operation<'_> {
    /// Writes down that these files or folders will be made, or be needed no more.
    pub(crate) fn touch(&mut self, paths: impl IntoIterator<Item = PathBuf>) -> Result<(), Error> {
        let paths: Vec<PathBuf> = paths.into_iter().collect();
        self.write(paths.iter().cloned().map(Line::Path))?;
        self.pending.paths.extend(paths);
        Ok(())
    }

    fn path(&self) -> PathBuf {
        self.store.folder.join(PENDING).join(format!("{}.json", self.id))
    }

    fn write(&self, lines: impl IntoIterator<Item = Line>) -> Result<(), Error> {
        let mut bytes = Vec::new();
        for line in lines {
            serde_json::to_writer(&mut bytes, &line).expect("paths of a store are text");
            bytes.push(b'\n');
        }
        let written = (&self.file).write_all(&bytes).and_then(|()| self.file.sync_all());
        written.map_err(Error::io(&self.path(), "write"))
    }

    /// A folder for new files on a tier.
    pub(crate) fn folder_on(&mut self, tier: &Tier) -> Result<PathBuf, Error> {
        let folder = PathBuf::from(format!("{}-{}", self.pending.name, self.id));
        let path = tier.folder.join(&folder);
        self.write([Line::Made(path.clone())])?;
        fs::create_dir(&path).map_err(Error::io(&path, "make"))?;
        self.pending.made.insert(path);
        Ok(folder)
    }

    /// The name of a new file beside the manifest, which is written down.
    pub(crate) fn name_beside(&mut self, kind: &str, ending: &str) -> Result<String, Error> {
        let name = format!("{kind}-{}{ending}", self.id);
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
        let busy = folder.join(format!(".{}", self.id));
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
        self.touch([self.folder().join(format!("{MANIFEST}-{}.tmp", self.id))])?;
        let (store, name) = (self.store, &self.pending.name);
        let _locked = store.lock()?;
        if store.find(name)?.as_ref() != was {
            return Err(match was {
                None => Error::Exists { store: store.folder.clone(), name: name.clone() },
                Some(_) => Error::Meanwhile { dataset: name.clone() },
            });
        }
        for (tier, &bytes) in needed {
            store.check_room(tier, bytes)?;
        }
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
        disk::replace(&path, &self.id, &json)
    }
}

impl Drop for Operation<'_> {
    /// Removes what no manifest names, of what was written down; where that fails, `repair` does it later.
    fn drop(&mut self) {
        let Ok(_locked) = self.store.lock() else { return };
        if self.store.clear(&self.pending).is_ok() {
            let _ = fs::remove_file(self.path());
        }
    }
}

impl Pending {
    /// What stands in a list. A line that was cut short stands for something that was not made yet.
    fn of(bytes: &[u8]) -> Pending {
        let mut pending = Pending::default();
        for line in bytes.split_inclusive(|&byte| byte == b'\n') {
            match serde_json::from_slice(line) {
                Ok(Line::Doing { doing, name }) => (pending.doing, pending.name) = (doing, name),
                Ok(Line::Made(path)) => pending.made.extend([path]),
                Ok(Line::Path(path)) => pending.paths.extend([path]),
                Err(_) => break,
            }
        }
        pending
    }
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

/// Reads a file of JSON; none where there is none.
fn read_json<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<Option<T>, Error> {
    #[derive(Deserialize)]
    struct Layout {
        schema: u32,
    }
    let bytes = match disk::read(path) {
        Err(Error::Io { source, .. })
            if matches!(source.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
        {
            return Ok(None);
        }
        other => other?,
    };
    if let Ok(Layout { schema }) = serde_json::from_slice(&bytes)
        && schema > SCHEMA
    {
        return Err(Error::Schema { path: path.to_owned(), found: schema, known: SCHEMA });
    }
    serde_json::from_slice(&bytes).map(Some).map_err(|error| {
        Error::damaged(
            path,
            format!("is no manifest of a store ({error}): bring it back from a copy"),
        )
    })
}

/// Whether two paths are one file.
fn is_same(one: &Path, other: &Path) -> bool {
    #[cfg(unix)]
    if let (Ok(one), Ok(other)) = (one.metadata(), other.metadata()) {
        use std::os::unix::fs::MetadataExt;
        return (one.dev(), one.ino()) == (other.dev(), other.ino());
    }
    one.canonicalize().ok() == other.canonicalize().ok()
}

/// Twelve digits that no other operation has.
fn random_id() -> String {
    // Hash maps are seeded with random numbers: that is a source of them; processes that were forked share it.
    let own = (std::process::id(), std::time::SystemTime::now());
    format!("{:012x}", RandomState::new().hash_one(own) >> 16)
}
