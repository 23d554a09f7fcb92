//! Finds the folders of a store's tiers and checks that each is the right one. A marker file (`.trajet-tier-…`)
//! identifies a tier, so that nothing is written below a mount point on which nothing is mounted.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::catalog::SETTINGS;
use crate::limits::{Filled, TierUsage};
use crate::manifest::{Manifest, Settings, Tier};
use crate::{Error, Store, atomic_files};

impl Store {
    /// Returns a tier by name.
    pub(crate) fn tier(&self, name: &str) -> Result<Tier, Error> {
        let mut tiers = self.tiers()?;
        tiers.remove(name).ok_or_else(|| self.no_tier(name, tiers.into_keys().collect()))
    }

    pub(crate) fn no_tier(&self, name: &str, known: Vec<String>) -> Error {
        Error::NoTier { store: self.folder().to_owned(), tier: name.to_owned(), known }
    }

    /// Returns a tier by name, after checking that its folder exists and carries its marker.
    pub(crate) fn tier_at_hand(&self, name: &str) -> Result<Tier, Error> {
        let tier = self.tier(name)?;
        if !tier.folder.is_dir() {
            let (tier, folder) = (name.to_owned(), tier.folder);
            let gone = Error::TierGone { tier, folder, settings: self.settings_path() };
            return Err(self.or_moved_error(gone));
        }
        let marker = tier.marker();
        match marker.symlink_metadata() {
            Err(error) if !atomic_files::is_gone(&error) => Err(Error::io(&marker, "read")(error)),
            Ok(found) if found.is_file() => Ok(tier),
            _ => {
                let what = format!(
                    "it has no {}; where it is the right folder all the same, make that file",
                    marker.file_name().unwrap_or_default().display()
                );
                let (tier, folder) = (name.to_owned(), tier.folder);
                Err(self.or_moved_error(Error::TierUnmounted { tier, folder, what }))
            }
        }
    }

    /// Returns [`Error::Moved`] if the store was moved, as that explains the missing tier; otherwise `error`.
    fn or_moved_error(&self, error: Error) -> Error {
        match self.check_in_place() {
            Err(moved @ Error::Moved { .. }) => moved,
            _ => error,
        }
    }

    /// Checks that no tier lies in the folder of a data set.
    pub(crate) fn check_no_tier(
        &self,
        name: &str,
        tiers: &BTreeMap<String, Tier>,
    ) -> Result<(), Error> {
        let own = self.folder_of(name);
        if tiers.values().any(|tier| tier.folder.starts_with(&own)) {
            let words = format!("{name:?}: is the folder of a tier: choose another name");
            return Err(Error::Refused(words));
        }
        Ok(())
    }

    /// Checks that this store is no copy (its removals would delete files of the original) and that its tiers were not
    /// moved along with its folder (which can be detected only until the settings are written again).
    pub(crate) fn check_in_place(&self) -> Result<(), Error> {
        self.check_original()?;
        let settings = self.settings()?;
        if self.moved(&settings).is_empty() {
            return Ok(());
        }
        Err(Error::Moved { folder: self.folder().to_owned(), was: settings.folder })
    }

    /// Checks that this store is no copy of another one that still exists.
    pub(crate) fn check_original(&self) -> Result<(), Error> {
        let original = self.settings()?.folder;
        let (own, there) = (self.settings_path(), original.join(SETTINGS));
        if original == self.folder() || is_same(&own, &there) {
            return Ok(());
        }
        match there.try_exists() {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            // Files that this user may not access cannot be changed through this store.
            Err(error) if error.kind() == ErrorKind::PermissionDenied => return Ok(()),
            Err(error) => return Err(Error::io(&there, "read")(error)),
        }
        Err(Error::Copied { folder: self.folder().to_owned(), original, settings: own })
    }

    /// Returns the tiers in the store's folder that were moved with it: missing at the old path, present at the new
    /// one.
    pub(crate) fn moved(&self, settings: &Settings) -> BTreeMap<String, Tier> {
        let mut moved = BTreeMap::new();
        if settings.folder == self.folder() {
            return moved;
        }
        let is_there =
            |tier: &Tier| tier.marker().symlink_metadata().is_ok_and(|found| found.is_file());
        for (name, tier) in &settings.tiers {
            let Ok(within) = tier.folder.strip_prefix(&settings.folder) else { continue };
            let now = Tier { folder: self.folder().join(within), ..tier.clone() };
            if is_there(&now) && !is_there(tier) {
                moved.insert(name.clone(), now);
            }
        }
        moved
    }

    /// Returns the bytes of this store on each tier.
    ///
    /// # Errors
    /// As [`Store::manifest`].
    pub fn used(&self) -> Result<BTreeMap<String, u64>, Error> {
        let mut used = BTreeMap::new();
        for name in self.names()? {
            for file in self.find(&name)?.iter().flat_map(Manifest::files) {
                let used: &mut u64 = used.entry(file.tier.clone()).or_default();
                *used = used.saturating_add(file.bytes());
            }
        }
        Ok(used)
    }

    /// Checks that `needed` more bytes are within the limit of each tier.
    pub(crate) fn check_usage<T: AsRef<str>>(
        &self,
        needed: &BTreeMap<T, u64>,
    ) -> Result<(), Error> {
        let tiers: Vec<&str> = needed.keys().map(AsRef::as_ref).collect();
        let usages = self.usage_of(&tiers)?.into_iter().zip(needed.values());
        let limited = usages.filter_map(|(usage, &needed)| Some((usage?, needed)));
        limited.into_iter().try_for_each(|(usage, needed)| usage.check(needed))
    }

    /// Returns the usage and limit of each tier; `None` for a tier without limit.
    fn usage_of(&self, names: &[&str]) -> Result<Vec<Option<TierUsage>>, Error> {
        let tiers = names.iter().map(|name| self.tier(name)).collect::<Result<Vec<_>, _>>()?;
        // Counting usage reads all manifests: skipped if no tier has a limit.
        let is_limited = tiers.iter().any(|tier| tier.limit.is_some());
        let used = if is_limited { self.used()? } else { BTreeMap::new() };
        let usage = |(&name, tier): (&&str, Tier)| {
            let (tier, limit) = (name.to_owned(), tier.limit?);
            let used = used.get(name).copied().unwrap_or(0);
            Some(TierUsage { tier, used, limit, settings: self.settings_path() })
        };
        Ok(names.iter().zip(tiers).map(usage).collect())
    }
    /// Returns the folders that are being filled, each with its tier's limit; folders on unlimited tiers are left out.
    ///
    /// # Errors
    /// As [`Store::used`].
    pub(crate) fn filled<'f>(
        &self,
        folders: impl Iterator<Item = (&'f str, PathBuf)>,
    ) -> Result<Filled, Error> {
        let (tiers, folders): (Vec<_>, Vec<_>) = folders.unzip();
        let usages = folders.into_iter().zip(self.usage_of(&tiers)?);
        let folders = usages.filter_map(|(folder, usage)| Some((folder, usage?))).collect();
        Ok(Filled { folders, excluded: Vec::new() })
    }
}

/// Returns whether two paths are the same file.
fn is_same(one: &Path, other: &Path) -> bool {
    #[cfg(unix)]
    if let (Ok(one), Ok(other)) = (one.metadata(), other.metadata()) {
        use std::os::unix::fs::MetadataExt;
        return (one.dev(), one.ino()) == (other.dev(), other.ino());
    }
    one.canonicalize().ok() == other.canonicalize().ok()
}
