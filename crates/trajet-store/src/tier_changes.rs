//! Changes of where the tiers of a store are: their marks, and what is taken back of an operation that failed.

use std::fs;

use crate::catalog::SETTINGS;
use crate::journal::{Pending, TierChange};
use crate::links::link_left;
use crate::manifest::{self, Tier};
use crate::{Error, Store, atomic_files};

impl Store {
    /// Puts the file into the folder of a tier by which that is known.
    pub(crate) fn mark(&self, name: &str, tier: &Tier) -> Result<(), Error> {
        let words = self.words_of_mark(name);
        tier.marker().map_or(Ok(()), |marker| atomic_files::write_new(&marker, words.as_bytes()))
    }

    /// The text of the file by which the folder of a tier is known.
    pub(crate) fn words_of_mark(&self, name: &str) -> String {
        format!(
            "This folder is the tier {name:?} of the store {}.\nLeave this file here: without it the store \
             takes the folder for one on which nothing is mounted.\n",
            self.folder().display()
        )
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
                || match atomic_files::read(&marker) {
                    Ok(bytes) => bytes == self.words_of_mark(name).as_bytes(),
                    Err(Error::Io { source, .. }) if atomic_files::is_gone(&source) => false,
                    Err(error) => return Err(error),
                };
            removed = own && atomic_files::remove(&marker)?;
        }
        if makes_folder && (is_inside || removed) {
            // Not where others have put something there.
            let _ = fs::remove_dir(&tier.folder);
        }
        Ok(removed)
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
            found |= atomic_files::remove(&entry.path())?;
        }
        Ok(found)
    }
}
