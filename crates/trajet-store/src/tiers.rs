//! Where the tiers of a store are, and whether what is there is the tier: each has a file in it by which it is known
//! (`.trajet-tier-…`), so that nothing is written below a mount point on which nothing is mounted.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::catalog::{MOST_TIERS, PENDING, SETTINGS, random_id};
use crate::change::link_left;
use crate::manifest::{self, Settings, Tier};
use crate::{Error, Store, disk};

impl Store {
    /// A tier, by its name.
    pub(crate) fn tier(&self, name: &str) -> Result<Tier, Error> {
        let mut tiers = self.tiers()?;
        tiers.remove(name).ok_or_else(|| self.no_tier(name, tiers.into_keys().collect()))
    }

    pub(crate) fn no_tier(&self, name: &str, known: Vec<String>) -> Error {
        Error::NoTier { store: self.folder().to_owned(), tier: name.to_owned(), known }
    }

    /// The same, whose folder is there, and is the tier.
    pub(crate) fn tier_at_hand(&self, name: &str) -> Result<Tier, Error> {
        let tier = self.tier(name)?;
        if !tier.folder.is_dir() {
            let (tier, folder) = (name.to_owned(), tier.folder);
            let gone = Error::TierGone { tier, folder, settings: self.settings_path() };
            return Err(self.or_moved(gone));
        }
        match tier.marker() {
            Some(marker) if matches!(marker.try_exists(), Ok(false)) => {
                let what = format!(
                    "it has no {}; where it is the right folder all the same, make that file",
                    marker.file_name().unwrap_or_default().display()
                );
                let (tier, folder) = (name.to_owned(), tier.folder);
                Err(self.or_moved(Error::TierUnmounted { tier, folder, what }))
            }
            _ => Ok(tier),
        }
    }

    /// The error of a tier that is not there, or the reason for it.
    fn or_moved(&self, error: Error) -> Error {
        match self.is_at_home() {
            Err(moved @ Error::Moved { .. }) => moved,
            _ => error,
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
        let expected = self.expected(name, &tier.folder)?;
        if !expected.is_empty() && !expected.iter().any(|path| path.exists()) {
            let first = expected[0].display();
            let what = format!("none of the files is there that it should have, as {first}");
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

    /// The files that a folder should have as a tier; manifests that cannot be read name none.
    fn expected(&self, name: &str, folder: &Path) -> Result<Vec<PathBuf>, Error> {
        let manifests =
            self.names()?.into_iter().filter_map(|name| self.find(&name).ok().flatten());
        let segments = manifests.flat_map(|manifest| manifest.segments);
        let files = segments.flat_map(|segment| segment.files).filter(|file| file.tier == name);
        Ok(files.map(|file| folder.join(file.path)).collect())
    }

    /// Whether the folder is the tier: whether its mark is there, or, without one, any file that should be.
    fn is_there(&self, name: &str, tier: &Tier) -> Result<bool, Error> {
        Ok(match tier.marker() {
            Some(marker) => marker.exists(),
            None => self.expected(name, &tier.folder)?.iter().any(|path| path.exists()),
        })
    }

    /// Puts a file into the folder of a tier by which that is known.
    fn mark(&self, name: &str, tier: &mut Tier) -> Result<(), Error> {
        tier.mark = Some(random_id());
        let words = format!(
            "This folder is the tier {name:?} of the store {}.\nLeave this file here: without it the store \
             takes the folder for one on which nothing is mounted.\n",
            self.folder().display()
        );
        tier.marker().map_or(Ok(()), |marker| disk::write_new(&marker, words.as_bytes()))
    }

    /// Makes sure that this is no copy, what it would remove are the files of another store, too; and that its
    /// tiers were not moved with its folder, which is only known as long as nothing is written there.
    pub(crate) fn is_at_home(&self) -> Result<(), Error> {
        self.is_original()?;
        let settings = self.settings()?;
        match settings.folder.clone() {
            Some(was) if !self.moved(&settings)?.is_empty() => {
                Err(Error::Moved { folder: self.folder().to_owned(), was })
            }
            _ => Ok(()),
        }
    }

    /// Makes sure that this is no copy.
    pub(crate) fn is_original(&self) -> Result<(), Error> {
        let Some(original) = self.settings()?.folder else { return Ok(()) };
        let (own, there) = (self.settings_path(), original.join(SETTINGS));
        if original == self.folder() || !there.exists() || is_same(&own, &there) {
            return Ok(());
        }
        Err(Error::Copied { folder: self.folder().to_owned(), original, settings: own })
    }

    /// The tiers that are no longer where they were in the store's folder, but where they should be in what that is
    /// now.
    fn moved(&self, settings: &Settings) -> Result<BTreeMap<String, Tier>, Error> {
        let mut moved = BTreeMap::new();
        let Some(was) = settings.folder.as_ref().filter(|was| *was != self.folder()) else {
            return Ok(moved);
        };
        for (name, tier) in &settings.tiers {
            let Ok(within) = tier.folder.strip_prefix(was) else { continue };
            let now = Tier { folder: self.folder().join(within), ..tier.clone() };
            if self.is_there(name, &now)? && !self.is_there(name, tier)? {
                moved.insert(name.clone(), now);
            }
        }
        Ok(moved)
    }

    /// Makes tiers known that were moved with the store's folder; says what it found. The store is locked.
    pub(crate) fn find_moved(&self) -> Result<Vec<String>, Error> {
        let mut settings = self.settings()?;
        let moved = self.moved(&settings)?;
        let Some(was) = settings.folder.clone().filter(|_| !moved.is_empty()) else {
            return Ok(Vec::new());
        };
        // What is to be cleared is found by nobody any more once the settings have forgotten where it was.
        self.pending_in(&was)?;
        let found = |(name, tier): (&String, &Tier)| {
            format!("tier {name:?}: is in {} now", tier.folder.display())
        };
        let found = moved.iter().map(found).collect();
        settings.tiers.extend(moved);
        self.write_settings(settings)?;
        for name in self.names()? {
            if let Ok(Some(manifest)) = self.find(&name) {
                // Who has the path of before a move goes without.
                let _ = link_left(self, &manifest);
            }
        }
        Ok(found)
    }

    /// Makes tiers known, and their folders where there are none.
    ///
    /// # Errors
    /// [`Error::Refused`] where a tier of that name is elsewhere, or there are too many.
    pub(crate) fn add_tiers(&self, wanted: &BTreeMap<String, Tier>) -> Result<NewTiers<'_>, Error> {
        let _locked = self.lock()?;
        self.is_at_home()?;
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
                        self.folder().display(),
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
            let words = format!("{}: has at most {MOST_TIERS} tiers", self.folder().display());
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
        let folder = store.folder().join(PENDING);
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

/// Whether two paths are one file.
fn is_same(one: &Path, other: &Path) -> bool {
    #[cfg(unix)]
    if let (Ok(one), Ok(other)) = (one.metadata(), other.metadata()) {
        use std::os::unix::fs::MetadataExt;
        return (one.dev(), one.ino()) == (other.dev(), other.ino());
    }
    one.canonicalize().ok() == other.canonicalize().ok()
}
