//! Resolves locations to paths of the file system, before anything is changed there.
//!
//! A store may come from an untrusted source. Its records may name only files beside a manifest or on a tier of the
//! store: not by `..`, not through a link to a folder, and only on tiers that carry their marker.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use crate::location::Location;
use crate::manifest;
use crate::{Error, Store, atomic_files};

/// Resolves the locations of a data set's files, and caches the folders it has checked.
pub(crate) struct Resolver<'a> {
    store: &'a Store,
    dataset: &'a str,
    /// Root folders by tier; `None` is the data set's own folder.
    roots: BTreeMap<Option<String>, PathBuf>,
    folders: BTreeSet<PathBuf>,
}

impl Resolver<'_> {
    /// Returns the path of a location.
    ///
    /// # Errors
    /// [`Error::Refused`] if the path is outside of the store and its tiers, [`Error::Damaged`] if a folder is a link;
    /// [`Error::NoTier`], [`Error::TierGone`], [`Error::TierUnmounted`].
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
            (None, Some(name)) => self.store.tier_at_hand(name)?.folder,
            (None, None) => {
                let folder = self.store.folder_of(self.dataset);
                atomic_files::is_folder(&folder)?;
                folder
            }
        };
        if let Some(folder) = location.folder() {
            let folder = root.join(folder.path);
            if !self.folders.contains(&folder) {
                atomic_files::is_folder(&folder)?;
                self.folders.insert(folder);
            }
        }
        let path = root.join(path);
        self.roots.insert(tier.clone(), root);
        Ok(path)
    }
}

impl Store {
    /// Returns the path of a file of a data set that the store may change.
    ///
    /// # Errors
    /// As [`Resolver::resolve`].
    pub(crate) fn resolve(&self, dataset: &str, location: &Location) -> Result<PathBuf, Error> {
        self.resolver(dataset).resolve(location)
    }

    /// Returns a resolver for the files of a data set.
    pub(crate) fn resolver<'a>(&'a self, dataset: &'a str) -> Resolver<'a> {
        Resolver { store: self, dataset, roots: BTreeMap::new(), folders: BTreeSet::new() }
    }

    /// Returns whether a folder is below the store's folder, with no link on the way to it.
    pub(crate) fn is_inside(&self, folder: &Path) -> bool {
        let Ok(within) = folder.strip_prefix(self.folder()) else { return false };
        let mut path = self.folder().to_owned();
        let mut parts = within.components().peekable();
        parts.peek().is_some()
            && parts.all(|part| {
                path.push(part);
                matches!(part, Component::Normal(_))
                    && matches!(atomic_files::is_folder(&path), Ok(true))
            })
    }
}
