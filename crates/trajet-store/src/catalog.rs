//! The folder of a store: settings, data sets, and the lock that serialises changes.
//!
//! A data set is defined by its manifest, which is replaced atomically by a rename.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use trajet_formats::Format;

use crate::error::shell_argument;
use crate::hdf5::writer::Writer;
use crate::manifest::{self, Manifest, SCHEMA, Settings, Tier};
use crate::{Error, atomic_files};

/// The file that makes a folder a store.
pub const SETTINGS: &str = "store.json";
/// The manifest in the folder of a data set.
pub const MANIFEST: &str = "manifest.json";
const LOCK: &str = "lock";
pub(crate) const JOURNALS: &str = ".pending";

/// An existing store.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
    /// The writer of tags in HDF5.
    pub(crate) hdf5: Option<Arc<dyn Writer>>,
    /// For each source file a file with its contents other than frames; empty if there are none.
    pub(crate) other_contents: Vec<PathBuf>,
}

impl Store {
    /// Opens the store in a folder.
    ///
    /// # Errors
    /// [`Error::NoStore`], [`Error::Io`], [`Error::Schema`], [`Error::Damaged`].
    pub fn open(folder: &Path) -> Result<Store, Error> {
        check_text(folder)?;
        let path = folder.join(SETTINGS);
        match path.try_exists() {
            Ok(true) => {}
            Ok(false) => return Err(Error::NoStore { folder: folder.to_owned() }),
            Err(error) if error.kind() == ErrorKind::NotADirectory => {
                let words = format!("{}: is a file: a store is a folder", folder.display());
                return Err(Error::Refused(words));
            }
            Err(error) => return Err(Error::io(&path, "read")(error)),
        }
        let folder = std::path::absolute(folder).map_err(Error::io(folder, "find"))?;
        let store = Store { folder, hdf5: None, other_contents: Vec::new() };
        store.settings()?;
        Ok(store)
    }

    /// Opens the store in a folder, or creates one if there is none.
    ///
    /// # Errors
    /// As [`Store::open`]; [`Error::Refused`] if the folder contains other files.
    pub fn create(folder: &Path) -> Result<Store, Error> {
        match Store::open(folder) {
            Err(Error::NoStore { .. }) => {}
            other => return other,
        }
        let own = [LOCK, JOURNALS].map(std::ffi::OsStr::new);
        match fs::read_dir(folder) {
            Ok(entries) => {
                let other = |entry: &fs::DirEntry| {
                    let name = entry.file_name();
                    !own.contains(&&*name) && !name.to_string_lossy().starts_with(SETTINGS)
                };
                // Another process may have created the store just now.
                if let Some(entry) = entries.flatten().find(other)
                    && matches!(folder.join(SETTINGS).try_exists(), Ok(false))
                {
                    return Err(Error::Refused(format!(
                        "{}: neither a store nor empty (it contains {}): name a new folder",
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
        let store = Store { folder, hdf5: None, other_contents: Vec::new() };
        let _locked = store.lock()?;
        let settings = store.settings_path();
        if !settings.try_exists().map_err(Error::io(&settings, "read"))? {
            let (folder, tiers) = (store.folder.clone(), BTreeMap::new());
            store.write_settings(Settings { schema: SCHEMA, folder, tiers })?;
        }
        Ok(store)
    }

    /// Returns the store with a writer, so that tags can be stored in HDF5.
    #[must_use]
    pub fn with_hdf5(self, writer: Arc<dyn Writer>) -> Store {
        Store { hdf5: Some(writer), ..self }
    }

    /// Returns the store with files that hold what each source file contains other than frames. The store keeps a copy
    /// of each: the n-th belongs to the n-th source file.
    #[must_use]
    pub fn with_other_contents(self, other_contents: Vec<PathBuf>) -> Store {
        Store { other_contents, ..self }
    }

    /// Returns the absolute path of the store's folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the tiers by name.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Schema`], [`Error::Damaged`].
    pub fn tiers(&self) -> Result<BTreeMap<String, Tier>, Error> {
        Ok(self.settings()?.tiers)
    }

    /// Returns the names of the data sets, sorted.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn names(&self) -> Result<Vec<String>, Error> {
        let entries = fs::read_dir(&self.folder).map_err(Error::io(&self.folder, "read"))?;
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(Error::io(&self.folder, "read"))?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            if !manifest::is_name(&name) {
                continue;
            }
            let path = entry.path().join(MANIFEST);
            match path.symlink_metadata() {
                Ok(found) if !found.is_dir() => names.push(name),
                Ok(_) => {}
                Err(error) if atomic_files::is_gone(&error) => {}
                // Skipping this data set would make it look as if it did not exist.
                Err(error) => return Err(Error::io(&path, "read")(error)),
            }
        }
        names.sort();
        Ok(names)
    }

    /// Reads the manifest of a data set.
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

    /// Returns the folder of a data set.
    pub fn folder_of(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Returns the path of a file on a tier.
    ///
    /// # Errors
    /// [`Error::NoTier`], and the errors of [`Store::tiers`].
    pub fn path_of(&self, file: &manifest::File) -> Result<PathBuf, Error> {
        Ok(self.tier(&file.tier)?.folder.join(&file.path))
    }

    pub(crate) fn find(&self, name: &str) -> Result<Option<Manifest>, Error> {
        if !manifest::is_name(name) {
            return Ok(None);
        }
        let folder = self.folder_of(name);
        // Only links must be refused here: below a regular file there is no manifest.
        if folder.is_symlink() {
            atomic_files::is_folder(&folder)?;
        }
        let path = folder.join(MANIFEST);
        let remedy = format!(
            "restore it from a copy, or remove {} and the folders {name}-… of all tiers, and add it again",
            self.folder_of(name).display()
        );
        let manifest: Option<Manifest> = read_json(&self.folder, &path, &remedy)?;
        if let Some(manifest) = &manifest {
            if manifest.name != name {
                let words =
                    format!("is that of {:?}: give its folder that name again", manifest.name);
                return Err(Error::damaged(&path, words));
            }
            manifest.check().map_err(|what| Error::damaged(&path, format!("{what}: {remedy}")))?;
        }
        Ok(manifest)
    }

    pub(crate) fn settings(&self) -> Result<Settings, Error> {
        let path = self.folder.join(SETTINGS);
        let remedy = "restore it from a copy";
        let settings: Option<Settings> = read_json(&self.folder, &path, remedy)?;
        let settings = settings.ok_or_else(|| Error::NoStore { folder: self.folder.clone() })?;
        let checked = settings.check();
        checked.map_err(|what| Error::damaged(&path, format!("{what}; or {remedy}")))?;
        Ok(settings)
    }

    pub(crate) fn settings_path(&self) -> PathBuf {
        self.folder.join(SETTINGS)
    }

    /// Replaces the settings. The caller holds the lock.
    pub(crate) fn write_settings(&self, settings: Settings) -> Result<(), Error> {
        let settings = Settings { folder: self.folder.clone(), ..settings };
        let json = serde_json::to_vec_pretty(&settings).expect("settings are plain");
        atomic_files::replace(&self.folder.join(SETTINGS), &atomic_files::random_id(), &json)
    }

    /// Locks the store against changes by other processes, until the returned file is dropped or the process ends.
    pub(crate) fn lock(&self) -> Result<File, Error> {
        let path = self.folder.join(LOCK);
        let options = &mut OpenOptions::new();
        let file = atomic_files::open_with(options.write(true).create(true).truncate(false), &path);
        let file = file.map_err(Error::io(&path, "write"))?;
        file.lock().map_err(Error::io(&path, "lock"))?;
        Ok(file)
    }
}

/// Checks that a path is valid UTF-8, so that a manifest can hold it.
pub(crate) fn check_text(path: &Path) -> Result<(), Error> {
    match path.to_str() {
        Some(_) => Ok(()),
        None => Err(Error::Refused(format!(
            "{}: paths that a store keeps must be text (UTF-8): rename it",
            path.display()
        ))),
    }
}

/// Reads a JSON file of a store; `None` if it does not exist. `remedy` is advice for the error of a damaged file.
fn read_json<T: for<'de> Deserialize<'de>>(
    store: &Path,
    path: &Path,
    remedy: &str,
) -> Result<Option<T>, Error> {
    #[derive(Deserialize)]
    struct Layout {
        schema: u32,
    }
    let bytes = match atomic_files::read(path) {
        Err(Error::Io { source, .. }) if atomic_files::is_gone(&source) => return Ok(None),
        other => other?,
    };
    if let Ok(Layout { schema: found }) = serde_json::from_slice(&bytes)
        && found != SCHEMA
    {
        let advice = if found > SCHEMA { "use a newer trajet".to_owned() } else { rebuild(store) };
        return Err(Error::Schema { path: path.to_owned(), found, advice });
    }
    serde_json::from_slice(&bytes).map(Some).map_err(|error| {
        Error::damaged(path, format!("is not what a store writes ({error}): {remedy}"))
    })
}

/// Returns the commands that rebuild a store of an older schema from its own tags. They are those for its first data
/// set, as far as the manifest tells.
fn rebuild(store: &Path) -> String {
    #[derive(Deserialize)]
    struct OldManifest {
        format: String,
        topology: OldFile,
    }
    #[derive(Deserialize)]
    struct OldFile {
        file: String,
    }
    let first = fs::read_dir(store).into_iter().flatten().flatten().find_map(|entry| {
        let manifest = atomic_files::read(&entry.path().join(MANIFEST)).ok()?;
        let OldManifest { format, topology } = serde_json::from_slice(&manifest).ok()?;
        let name = entry.file_name().into_string().ok()?;
        let is_sound = manifest::is_name(&name) && manifest::is_file_name(&topology.file);
        is_sound.then_some((name, Format::named(&format)?.suffix(), topology.file))
    });
    let (name, ending, topology) =
        first.unwrap_or(("NAME".to_owned(), "xtc", "topology-…".to_owned()));
    let folder = store.join(&name);
    let new = PathBuf::from(format!("{}-new", store.display())).join(&name);
    let [old, new, topology] =
        [&folder, &new, &folder.join(topology)].map(|path| shell_argument(path));
    format!(
        "rebuild it from its own tags. For each data set, restore the trajectory with the trajet that wrote the \
         store: trajet store get {old} -o {name}.{ending}; then add {name}.{ending} to a new store, with the \
         topology {topology} and the profile that it had: trajet store add {new}"
    )
}
