//! Where the tiers of a store are, and whether what is there is the tier: each has a file in it by which it is known
//! (`.trajet-tier-…`), so that nothing is written below a mount point on which nothing is mounted.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::catalog::{MOST_TIERS, SETTINGS, check_text, random_id};
use crate::change::link_left;
use crate::manifest::{self, Settings, Tier};
use crate::operation::{Operation, Pending};
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
        let Some(marker) = tier.marker() else { return Ok(tier) };
        match marker.symlink_metadata() {
            Err(error) if !disk::is_gone(&error) => Err(Error::io(&marker, "read")(error)),
            Ok(found) if found.is_file() => Ok(tier),
            _ => {
                let what = format!(
                    "it has no {}; where it is the right folder all the same, make that file",
                    marker.file_name().unwrap_or_default().display()
                );
                let (tier, folder) = (name.to_owned(), tier.folder);
                Err(self.or_moved(Error::TierUnmounted { tier, folder, what }))
            }
        }
    }

    /// The error of a tier that is not there, or the reason for it.
    fn or_moved(&self, error: Error) -> Error {
        match self.is_at_home() {
            Err(moved @ Error::Moved { .. }) => moved,
            _ => error,
        }
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
            Some(marker) => marker.symlink_metadata().is_ok_and(|found| found.is_file()),
            None => self.expected(name, &tier.folder)?.iter().any(|path| path.exists()),
        })
    }

    /// Puts the file into the folder of a tier by which that is known.
    fn mark(&self, name: &str, tier: &Tier) -> Result<(), Error> {
        let words = self.words_of_mark(name);
        tier.marker().map_or(Ok(()), |marker| disk::write_new(&marker, words.as_bytes()))
    }

    /// The text of the file by which the folder of a tier is known.
    pub(crate) fn words_of_mark(&self, name: &str) -> String {
        format!(
            "This folder is the tier {name:?} of the store {}.\nLeave this file here: without it the store \
             takes the folder for one on which nothing is mounted.\n",
            self.folder().display()
        )
    }

    /// Makes sure that the folder of a data set is none in which a tier is.
    pub(crate) fn is_no_tier(
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
        if original == self.folder() || is_same(&own, &there) {
            return Ok(());
        }
        match there.try_exists() {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            // The user cannot change what is there.
            Err(error) if error.kind() == ErrorKind::PermissionDenied => return Ok(()),
            Err(error) => return Err(Error::io(&there, "read")(error)),
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

    /// Takes back what was changed of tiers for what was not done: forgets those that were new, unless they are
    /// used by then. What one of the others counts on stays, and that one takes it back if it fails, too. Returns
    /// how many files it removed. The store is locked.
    pub(crate) fn take_back(
        &self,
        changes: &[TierChange],
        others: &mut [Pending],
    ) -> Result<usize, Error> {
        if changes.is_empty() {
            return Ok(0);
        }
        let before = self.settings()?;
        let mut settings = before.clone();
        for change in changes {
            let TierChange { name, was, now, .. } = change;
            let Some(there) = settings.tiers.get_mut(name) else { continue };
            if was.as_ref() == Some(now) {
                continue;
            }
            if let Some(heir) = others.iter_mut().find(|other| other.counts_on(change)) {
                self.hand_over(heir, change)?;
                // What is handed over next may follow it, now or when another one is cleared.
                heir.tiers.push(change.clone());
                continue;
            }
            match was {
                Some(was) if there == now => (there.limit, there.rank) = (was.limit, was.rank),
                None if there.mark == now.mark && !self.is_used(name)? => {
                    settings.tiers.remove(name);
                }
                _ => {}
            }
        }
        if settings != before {
            self.write_settings(settings.clone())?;
        }
        let mut removed = 0;
        for TierChange { name, was, now, makes_folder } in changes {
            let known = settings.tiers.get(name).is_some_and(|there| there.mark == now.mark);
            let marked = was.as_ref().is_none_or(|was| was.mark != now.mark);
            if !known && marked {
                removed += usize::from(self.unmark(name, now, *makes_folder)?);
            }
        }
        Ok(removed)
    }

    /// Whether a data set uses a tier. One whose manifest cannot be read may.
    fn is_used(&self, name: &str) -> Result<bool, Error> {
        let uses = |dataset: &String| match self.find(dataset) {
            Ok(manifest) => manifest.is_some_and(|manifest| manifest.uses(name)),
            Err(_) => true,
        };
        Ok(self.names()?.iter().any(uses))
    }

    /// Removes what was to become the settings, if something is there; the store is locked, so that nobody writes it.
    pub(crate) fn clear_settings(&self) -> Result<bool, Error> {
        let entries =
            fs::read_dir(self.folder()).map_err(Error::io(self.folder(), "read"))?.flatten();
        let own = |name: &str| name.starts_with(SETTINGS) && name.ends_with(".tmp");
        let mut found = false;
        for entry in entries.filter(|entry| entry.file_name().to_str().is_some_and(own)) {
            found |= disk::remove(&entry.path())?;
        }
        Ok(found)
    }
}

/// What an operation changes of a tier; it needs it all the same where that is nothing.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TierChange {
    pub(crate) name: String,
    /// None where it is new.
    pub(crate) was: Option<Tier>,
    pub(crate) now: Tier,
    /// Whether its folder is made for it.
    pub(crate) makes_folder: bool,
}

impl Operation<'_> {
    /// Makes tiers known, and their folders where there are none; returns what a user should know of them. They
    /// are forgotten again where the operation is not completed.
    ///
    /// # Errors
    /// [`Error::Refused`] where a tier of that name is elsewhere, or there are too many.
    pub(crate) fn add_tiers(
        &mut self,
        wanted: &BTreeMap<String, Tier>,
    ) -> Result<Vec<String>, Error> {
        let store = self.store;
        store.is_no_tier(self.name(), wanted)?;
        let _locked = store.lock()?;
        store.is_at_home()?;
        let before = store.settings()?;
        let mut settings = before.clone();
        let (mut changes, mut remarks) = (Vec::new(), Vec::new());
        for (name, tier) in wanted {
            if !manifest::is_name(name) {
                return Err(Error::Refused(manifest::bad_name("tier", name)));
            }
            check_text(&tier.folder)?;
            let was = settings.tiers.get(name).cloned();
            let now = match &was {
                Some(there) if there.folder != tier.folder => {
                    return Err(Error::Refused(format!(
                        "{}: has a tier {name:?} in {}, and the profile says {}: give one of the \
                         two another name",
                        store.folder().display(),
                        there.folder.display(),
                        tier.folder.display()
                    )));
                }
                // A profile that says nothing of a limit takes none away.
                Some(there) => {
                    let limit = tier.limit.or(there.limit);
                    Tier { limit, rank: tier.rank, ..there.clone() }
                }
                None => Tier { mark: Some(random_id()), ..tier.clone() },
            };
            if let Some(was) = &was
                && let Some(limit) = now.limit.filter(|_| was.limit != now.limit)
            {
                let was = was.limit.map_or("none".to_owned(), |was| format!("{was} bytes"));
                remarks
                    .push(format!("tier {name:?}: its limit is {limit} bytes now, and was {was}"));
            }
            settings.tiers.insert(name.clone(), now.clone());
            let makes_folder = was.is_none() && !now.folder.exists();
            changes.push(TierChange { name: name.clone(), was, now, makes_folder });
        }
        if settings.tiers.len() > MOST_TIERS {
            let words = format!("{}: has at most {MOST_TIERS} tiers", store.folder().display());
            return Err(Error::Refused(words));
        }
        let new: Vec<_> = changes.iter().filter(|change| change.was.is_none()).cloned().collect();
        self.need(changes)?;
        for TierChange { name, now, .. } in &new {
            // Of a file system that is not mounted not even the folder above is there.
            match fs::create_dir(&now.folder) {
                Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                    return Err(Error::io(&now.folder, "make")(error));
                }
                _ => {}
            }
            store.mark(name, now)?;
        }
        if settings != before || before.folder.as_deref() != Some(store.folder()) {
            store.write_settings(settings)?;
        }
        Ok(remarks)
    }

    /// A tier at hand, for new files. One of a store of before is known by any file that should be there, and gets
    /// its mark.
    pub(crate) fn tier_for_files(&mut self, name: &str) -> Result<Tier, Error> {
        let store = self.store;
        let tier = store.tier_for_changes(name)?;
        if tier.mark.is_some() {
            return Ok(tier);
        }
        let _locked = store.lock()?;
        let expected = store.expected(name, &tier.folder)?;
        if !expected.is_empty() && !expected.iter().any(|path| path.exists()) {
            let first = expected[0].display();
            let what = format!("none of the files is there that it should have, as {first}");
            return Err(Error::TierUnmounted { tier: name.to_owned(), folder: tier.folder, what });
        }
        let mut settings = store.settings()?;
        let Some(known) = settings.tiers.get_mut(name) else {
            return Err(store.no_tier(name, settings.tiers.into_keys().collect()));
        };
        // Somebody else may have given it one meanwhile.
        if known.mark.is_some() {
            return Ok(known.clone());
        }
        let (name, was) = (name.to_owned(), known.clone());
        known.mark = Some(random_id());
        let now = known.clone();
        let change = TierChange {
            name: name.clone(),
            was: Some(was),
            now: now.clone(),
            makes_folder: false,
        };
        self.need(vec![change])?;
        store.mark(&name, &now)?;
        store.write_settings(settings)?;
        Ok(now)
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
