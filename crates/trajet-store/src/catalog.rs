//! The folder of a store: its tiers, its data sets, and who may change them when.
//!
//! A data set is what its manifest says, which is replaced by renaming.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::manifest::{self, Manifest, SCHEMA, Settings, Tier};
use crate::{Error, disk};

/// Most tiers of a store.
pub const MOST_TIERS: usize = 8;
const SETTINGS: &str = "store.json";
pub(crate) const MANIFEST: &str = "manifest.json";
const LOCK: &str = "lock";
pub(crate) const PENDING: &str = ".pending";

/// A store that is there.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
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
        let store = Store { folder };
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
        let store = Store { folder };
        let _locked = store.lock()?;
        if !store.folder.join(SETTINGS).exists() {
            let (folder, tiers) = (None, BTreeMap::new());
            store.write_settings(Settings { schema: SCHEMA, folder, tiers })?;
        }
        Ok(store)
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

    /// The same, whose folder is there, and is the tier.
    pub(crate) fn tier_at_hand(&self, name: &str) -> Result<Tier, Error> {
        let tier = self.tier(name)?;
        if !tier.folder.is_dir() {
            let (tier, folder) = (name.to_owned(), tier.folder);
            return Err(Error::TierGone { tier, folder, settings: self.settings_path() });
        }
        match tier.marker() {
            Some(marker) if matches!(marker.try_exists(), Ok(false)) => {
                let what = format!(
                    "it has no {}; where it is the right folder all the same, make that file",
                    marker.file_name().unwrap_or_default().display()
                );
                Err(Error::TierUnmounted { tier: name.to_owned(), folder: tier.folder, what })
            }
            _ => Ok(tier),
        }
    }

    /// The same, for new files. A tier of a store of before is known by any file that should be there, and gets
    /// its mark.
    pub(crate) fn tier_for_files(&self, name: &str) -> Result<Tier, Error> {
        let tier = self.tier_at_hand(name)?;
        if tier.mark.is_some() {
            return Ok(tier);
        }
        let _locked = self.lock()?;
        let mut there = Vec::new();
        for dataset in self.names()? {
            let files = self.find(&dataset)?.map(|manifest| manifest.segments).unwrap_or_default();
            let files = files.into_iter().flat_map(|segment| segment.files);
            there.extend(
                files.filter(|file| file.tier == name).map(|file| tier.folder.join(file.path)),
            );
        }
        if !there.is_empty() && !there.iter().any(|path| path.exists()) {
            let what = format!(
                "none of the files is there that it should have, as {}",
                there[0].display()
            );
            return Err(Error::TierUnmounted { tier: name.to_owned(), folder: tier.folder, what });
        }
        let mut settings = self.settings()?;
        let Some(known) = settings.tiers.get_mut(name) else {
            return Err(self.no_tier(name, settings.tiers.into_keys().collect()));
        };
        // Somebody else may have given it one meanwhile.
        if known.mark.is_none() {
            self.mark(name, known)?;
        }
        let tier = known.clone();
        self.write_settings(settings)?;
        Ok(tier)
    }

    /// Puts a file into the folder of a tier by which that is known.
    fn mark(&self, name: &str, tier: &mut Tier) -> Result<(), Error> {
        tier.mark = Some(random_id());
        let words = format!(
            "This folder is the tier {name:?} of the store {}.\nLeave this file here: without it the store \
             takes the folder for one on which nothing is mounted.\n",
            self.folder.display()
        );
        tier.marker().map_or(Ok(()), |marker| disk::write_new(&marker, words.as_bytes()))
    }

    fn settings(&self) -> Result<Settings, Error> {
        let path = self.folder.join(SETTINGS);
        read_json(&path)?.ok_or_else(|| Error::NoStore { folder: self.folder.clone() })
    }

    pub(crate) fn settings_path(&self) -> PathBuf {
        self.folder.join(SETTINGS)
    }

    /// Makes sure that this is no copy: what it would remove are the files of another store, too.
    pub(crate) fn is_original(&self) -> Result<(), Error> {
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
        let (mut new, mut remarks) = (Vec::new(), Vec::new());
        for (name, tier) in wanted {
            if !manifest::is_name(name) {
                return Err(Error::Refused(manifest::bad_name("tier", name)));
            }
            match settings.tiers.get_mut(name) {
                Some(there) if there.folder != tier.folder => {
                    return Err(Error::Refused(format!(
                        "{}: has a tier {name:?} in {}, and the profile says {}: give one of the \
                         two another name",
                        self.folder.display(),
                        there.folder.display(),
                        tier.folder.display()
                    )));
                }
                Some(there) => {
                    there.rank = tier.rank;
                    // A profile that says nothing of a limit takes none away.
                    if let Some(limit) = tier.limit
                        && let was = there.limit.replace(limit)
                        && was != Some(limit)
                    {
                        let was = was.map_or("none".to_owned(), |was| format!("{was} bytes"));
                        remarks.push(format!(
                            "tier {name:?}: its limit is {limit} bytes now, and was {was}"
                        ));
                    }
                }
                None => {
                    settings.tiers.insert(name.clone(), Tier { mark: None, ..tier.clone() });
                    new.push(name);
                }
            }
        }
        if settings.tiers.len() > MOST_TIERS {
            let words = format!("{}: has at most {MOST_TIERS} tiers", self.folder.display());
            return Err(Error::Refused(words));
        }
        for name in &new {
            let folder = &wanted[*name].folder;
            // Of a file system that is not mounted not even the folder above is there.
            match fs::create_dir(folder) {
                Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                    return Err(Error::io(folder, "make")(error));
                }
                _ => {}
            }
        }
        let mut new = settings.tiers.iter_mut().filter(|(name, _)| new.contains(name));
        let marked = new.try_for_each(|(name, tier)| self.mark(name, tier));
        let written = marked.and_then(|()| self.write_settings(settings.clone()));
        match written {
            Ok(after) => Ok(NewTiers { store: self, remarks, change: Some((before, after)) }),
            Err(error) => {
                unmark(&before, &settings);
                Err(error)
            }
        }
    }

    /// Keeps others from changing what manifests say; given up when dropped, or when the process ends.
    pub(crate) fn lock(&self) -> Result<File, Error> {
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
    /// What a user should know of them.
    remarks: Vec<String>,
    /// What was known before and after.
    change: Option<(Settings, Settings)>,
}

impl NewTiers<'_> {
    /// They are used from now on; returns what a user should know of them.
    pub(crate) fn stay(mut self) -> Vec<String> {
        self.change = None;
        std::mem::take(&mut self.remarks)
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
            unmark(before, after);
        }
        Ok(())
    }
}

/// Removes the marks of tiers that are not known any more.
fn unmark(before: &Settings, after: &Settings) {
    let new = after.tiers.iter().filter(|(name, _)| !before.tiers.contains_key(*name));
    for marker in new.filter_map(|(_, tier)| tier.marker()) {
        // One that stays does no harm.
        let _ = disk::remove(&marker);
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
pub(crate) fn random_id() -> String {
    // Hash maps are seeded with random numbers: that is a source of them; processes that were forked share it.
    let own = (std::process::id(), std::time::SystemTime::now());
    format!("{:012x}", RandomState::new().hash_one(own) >> 16)
}
