//! Where the files of a store may be: the one place that turns a path that a store has written down into one of the
//! file system, before anything is changed there.
//!
//! A store may come from anybody. Its records name files beside a manifest, or on a tier of the store, and nothing
//! else: not by `..`, not through a link to a folder, and only on tiers that carry their mark, or lie in the store's
//! own folder.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::catalog::random_id;
use crate::manifest::{self, Tier};
use crate::{Error, Store, disk};

/// A file or folder that belongs to a data set.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Location {
    /// The tier; none beside the manifest.
    tier: Option<String>,
    /// From there on.
    path: PathBuf,
}

impl Location {
    /// A file beside the manifest.
    pub(crate) fn beside(name: &str) -> Location {
        Location { tier: None, path: PathBuf::from(name) }
    }

    /// A file or folder on a tier.
    pub(crate) fn on(tier: &str, path: impl Into<PathBuf>) -> Location {
        Location { tier: Some(tier.to_owned()), path: path.into() }
    }

    /// The location of a file in this folder.
    pub(crate) fn join(&self, name: &str) -> Location {
        Location { path: self.path.join(name), ..self.clone() }
    }

    /// The location of another file in the same folder.
    pub(crate) fn with_file_name(&self, name: &str) -> Location {
        Location { path: self.path.with_file_name(name), ..self.clone() }
    }

    /// The folder on a tier in which it is; none beside the manifest.
    pub(crate) fn folder(&self) -> Option<Location> {
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty())?;
        self.tier.as_ref().map(|tier| Location::on(tier, folder))
    }

    /// The tier; none beside the manifest.
    pub(crate) fn tier(&self) -> Option<&str> {
        self.tier.as_deref()
    }

    /// Whether it can be a file of this data set: beside the manifest, or in one of the folders on a tier that begin
    /// with the data set's name.
    fn is_of(&self, dataset: &str) -> bool {
        let mut parts = Vec::new();
        for part in self.path.components() {
            match part {
                Component::Normal(part) => parts.push(part.to_str().unwrap_or("")),
                _ => return false,
            }
        }
        // Hidden files are those of readers and of what is under way.
        let is_file = |name: &str| manifest::is_file_name(name.strip_prefix('.').unwrap_or(name));
        match (&self.tier, &parts[..]) {
            (None, [file]) => is_file(file),
            (Some(_), [folder]) => is_folder_of(folder, dataset),
            (Some(_), [folder, file]) => is_folder_of(folder, dataset) && is_file(file),
            _ => false,
        }
    }
}

/// Whether a folder on a tier can have files of a data set.
pub(crate) fn is_folder_of(folder: &str, dataset: &str) -> bool {
    let rest = folder.strip_prefix(dataset).and_then(|rest| rest.strip_prefix('-'));
    rest.is_some_and(|rest| !rest.is_empty()) && manifest::is_file_name(folder)
}

/// Finds files of a data set that the store may change, and remembers which folders it has looked at.
pub(crate) struct Resolver<'a> {
    store: &'a Store,
    dataset: &'a str,
    /// Of tiers, and none for the data set's own.
    roots: BTreeMap<Option<String>, PathBuf>,
    folders: BTreeSet<PathBuf>,
}

impl Resolver<'_> {
    /// Returns where a file is.
    ///
    /// # Errors
    /// [`Error::Refused`] where that is outside of the store and its tiers, [`Error::Damaged`] where a folder is a
    /// link; [`Error::NoTier`], [`Error::TierGone`], [`Error::TierUnmounted`].
    pub(crate) fn resolve(&mut self, location: &Location) -> Result<PathBuf, Error> {
        let Location { tier, path } = location;
        if !manifest::is_name(self.dataset) || !location.is_of(self.dataset) {
            return Err(Error::Refused(format!(
                "{}: {path:?} cannot be a file of the data set {:?}: nothing was changed",
                self.store.folder().display(),
                self.dataset
            )));
        }
        let root = match (self.roots.get(tier), tier) {
            (Some(root), _) => root.clone(),
            (None, Some(name)) => self.store.tier_for_changes(name)?.folder,
            (None, None) => {
                let folder = self.store.folder_of(self.dataset);
                disk::is_folder(&folder)?;
                folder
            }
        };
        if let Some(folder) = location.folder() {
            let folder = root.join(folder.path);
            if !self.folders.contains(&folder) {
                disk::is_folder(&folder)?;
                self.folders.insert(folder);
            }
        }
        let path = root.join(path);
        self.roots.insert(tier.clone(), root);
        Ok(path)
    }
}

impl Store {
    /// Returns where a file of a data set is that the store may change.
    ///
    /// # Errors
    /// As [`Resolver::resolve`].
    pub(crate) fn resolve(&self, dataset: &str, location: &Location) -> Result<PathBuf, Error> {
        self.resolver(dataset).resolve(location)
    }

    /// Finds files of a data set.
    pub(crate) fn resolver<'a>(&'a self, dataset: &'a str) -> Resolver<'a> {
        Resolver { store: self, dataset, roots: BTreeMap::new(), folders: BTreeSet::new() }
    }

    /// Returns a tier in whose folder files may be changed: one that carries its mark, or, in stores of before, one
    /// inside of the store's folder.
    ///
    /// # Errors
    /// As [`Store::tier_at_hand`]; [`Error::Refused`] where nothing shows that the folder is the store's.
    pub(crate) fn tier_for_changes(&self, name: &str) -> Result<Tier, Error> {
        let tier = self.tier_at_hand(name)?;
        if tier.mark.is_some() || self.is_inside(&tier.folder) {
            return Ok(tier);
        }
        let mark = random_id();
        Err(Error::Refused(format!(
            "tier {name:?}: nothing shows that the folder {} belongs to this store: if it does, make an empty file \
             .trajet-tier-{mark} in it, and write \"mark\": \"{mark}\" for the tier in {}",
            tier.folder.display(),
            self.settings_path().display()
        )))
    }

    /// Whether a folder is inside of the store's, and no link is on the way to it.
    pub(crate) fn is_inside(&self, folder: &Path) -> bool {
        let Ok(within) = folder.strip_prefix(self.folder()) else { return false };
        let mut path = self.folder().to_owned();
        let mut parts = within.components().peekable();
        parts.peek().is_some()
            && parts.all(|part| {
                path.push(part);
                matches!(part, Component::Normal(_)) && matches!(disk::is_folder(&path), Ok(true))
            })
    }

    /// Returns the location that an absolute path stands for, as journals of before have them.
    ///
    /// # Errors
    /// [`Error::Refused`] where it is outside of the store and its tiers.
    pub(crate) fn location_of(&self, dataset: &str, path: &Path) -> Result<Location, Error> {
        let settings = self.settings()?;
        for store in [Some(self.folder()), settings.folder.as_deref()].into_iter().flatten() {
            if let Ok(within) = path.strip_prefix(store.join(dataset)) {
                return Ok(Location { tier: None, path: within.to_owned() });
            }
        }
        for (name, tier) in &settings.tiers {
            if let Ok(within) = path.strip_prefix(&tier.folder) {
                return Ok(Location::on(name, within));
            }
        }
        Err(Error::Refused(format!(
            "{}: {path:?} is outside of the store and its tiers: nothing was changed",
            self.folder().display()
        )))
    }

    /// Removes the mark of a tier that is not known, and its folder where that was made for it; returns whether there
    /// was a mark. Outside of the store's folder that is done only where the mark says that it is one of this store.
    pub(crate) fn unmark(
        &self,
        name: &str,
        tier: &Tier,
        makes_folder: bool,
    ) -> Result<bool, Error> {
        if tier.mark.as_ref().is_none_or(|mark| !manifest::is_name(mark)) {
            return Ok(false);
        }
        let is_inside = self.is_inside(&tier.folder);
        let mut removed = false;
        if let Some(marker) = tier.marker() {
            // Cut short outside of the store, a mark stays: whose it is cannot be told.
            let own = is_inside
                || match disk::read(&marker) {
                    Ok(bytes) => bytes == self.words_of_mark(name).as_bytes(),
                    Err(Error::Io { source, .. }) if disk::is_gone(&source) => false,
                    Err(error) => return Err(error),
                };
            removed = own && disk::remove(&marker)?;
        }
        if makes_folder && (is_inside || removed) {
            // Not where others have put something there.
            let _ = fs::remove_dir(&tier.folder);
        }
        Ok(removed)
    }
}
