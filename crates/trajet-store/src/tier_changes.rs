//! Changes of tiers: the marks in their folders, tiers that were moved, and changes that are taken back.

use std::fs;

use crate::catalog::SETTINGS;
use crate::journal::{Journal, TierChange};
use crate::links::link_left;
use crate::manifest::{self, Tier};
use crate::{Error, Store, atomic_files};

impl Store {
    /// Writes the mark of a tier into its folder.
    pub(crate) fn mark(&self, name: &str, tier: &Tier) -> Result<(), Error> {
        let words = self.words_of_mark(name);
        atomic_files::write_new(&tier.marker(), words.as_bytes())
    }

    /// Returns the text of the mark of a tier.
    pub(crate) fn words_of_mark(&self, name: &str) -> String {
        format!(
            "This folder is the tier {name:?} of the store {}.\nLeave this file here: without it the store \
             takes the folder for one on which nothing is mounted.\n",
            self.folder().display()
        )
    }

    /// Removes the mark of a tier that is no longer in the settings, and the folder if it was made for the tier.
    /// Returns whether there was a mark. Outside of the store's folder only a mark of this store is removed.
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
        let marker = tier.marker();
        // A truncated mark outside of the store stays: its store is unknown.
        let own = is_inside
            || match atomic_files::read(&marker) {
                Ok(bytes) => bytes == self.words_of_mark(name).as_bytes(),
                Err(Error::Io { source, .. }) if atomic_files::is_gone(&source) => false,
                Err(error) => return Err(error),
            };
        let removed = own && atomic_files::remove(&marker)?;
        if makes_folder && (is_inside || removed) {
            // Fails if there are files of others.
            let _ = fs::remove_dir(&tier.folder);
        }
        Ok(removed)
    }

    /// Updates the settings for tiers that were moved with the store's folder. Returns a message for each. The caller
    /// holds the store's lock.
    pub(crate) fn find_moved(&self) -> Result<Vec<String>, Error> {
        let mut settings = self.settings()?;
        let moved = self.moved(&settings);
        if moved.is_empty() {
            return Ok(Vec::new());
        }
        // Journals first: after the settings are written, the old folder is no longer known.
        self.relocate_journals(&settings.folder)?;
        let found = |(name, tier): (&String, &Tier)| {
            format!("tier {name:?}: is in {} now", tier.folder.display())
        };
        let found = moved.iter().map(found).collect();
        settings.tiers.extend(moved);
        self.write_settings(settings)?;
        for name in self.names()? {
            if let Ok(Some(manifest)) = self.find(&name) {
                // Links at former paths are a convenience.
                let _ = link_left(self, &manifest);
            }
        }
        Ok(found)
    }

    /// Reverts the tier changes of a failed transaction: removes new tiers from the settings unless a data set uses
    /// them. A change that another transaction relies on is handed over to it. Returns the number of removed files. The
    /// caller holds the store's lock.
    pub(crate) fn revert_tier_changes(
        &self,
        changes: &[TierChange],
        others: &mut [Journal],
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
                // Later changes may rely on it.
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

    /// Returns whether a data set uses a tier, or may use it because its manifest cannot be read.
    fn is_used(&self, name: &str) -> Result<bool, Error> {
        let uses = |dataset: &String| match self.find(dataset) {
            Ok(manifest) => manifest.is_some_and(|manifest| manifest.uses(name)),
            Err(_) => true,
        };
        Ok(self.names()?.iter().any(uses))
    }

    /// Removes temporary files of the settings. Returns whether there were any. The caller holds the store's lock, so
    /// that none is being written.
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
