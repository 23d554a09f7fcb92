//! Moving tags between tiers, and removing data sets.

use std::collections::BTreeMap;
use std::path::Path;

use trajet_engine::Control;

use crate::access_log::LOG;
use crate::file_check::{CheckScope, Checked, check_file};
use crate::location::{Location, index_of};
use crate::manifest::{File, Manifest, MovedLink};
use crate::{Dataset, Error, Store};

impl Store {
    /// Moves the files of a tag to another tier. Readers continue: the old files stay open, and are replaced by links
    /// to the new ones.
    ///
    /// # Errors
    /// [`Error::NoTag`], [`Error::NoTier`], [`Error::TierGone`], [`Error::TierUnmounted`], [`Error::TierFull`],
    /// [`Error::Damaged`] if a file differs from its digest, [`Error::Meanwhile`], [`Error::Interrupted`].
    pub fn move_tag(
        &self,
        name: &str,
        tag: &str,
        tier: &str,
        control: &mut dyn Control,
    ) -> Result<(), Error> {
        let dataset = self.dataset(name)?;
        let moved = self.move_files(&dataset, tag, tier, control);
        moved.map_err(|error| self.or_concurrent_change(&dataset.manifest, error))
    }

    fn move_files(
        &self,
        dataset: &Dataset,
        tag: &str,
        tier: &str,
        control: &mut dyn Control,
    ) -> Result<(), Error> {
        let was = &dataset.manifest;
        let name = &was.name[..];
        let number = dataset.tags(Some(&[tag.to_owned()]))?[0];
        self.tier_at_hand(tier)?;
        let mut new = was.clone();
        new.tags[number].tier = tier.to_owned();
        let to_move: Vec<&File> = was.files_of(number).filter(|file| file.tier != tier).collect();
        let needed: u64 = to_move.iter().map(|file| file.bytes()).sum();
        let total: u64 = to_move.iter().map(|file| file.size).sum();
        let needed = BTreeMap::from([(tier.to_owned(), needed)]);
        self.check_usage(&needed)?;
        let mut transaction = self.begin("move", name)?;
        let (target, folder) = transaction.folder_on(tier)?;
        let (files, mut done) = (self.files()?, 0);
        for (k, segment) in new.segments.iter_mut().enumerate() {
            let file = &mut segment.files[number];
            if file.tier == tier {
                continue;
            }
            let from = self.resolve(name, &file.location())?;
            // All segments of a tag are moved to one folder.
            let number_of = if k > 0 { format!("-{k}") } else { String::new() };
            let ending = from.extension().unwrap_or_default().display();
            let path = folder.join(format!("{}{number_of}.{ending}", was.tags[number].name));
            let to = target.folder.join(&path);
            files.copy(&from, &to, |n| {
                done += n;
                control.progress(done, total as usize);
                if control.interrupted() { Err(Error::Interrupted) } else { Ok(()) }
            })?;
            let column = self.table(was, &was.segments[k])?.files.swap_remove(number);
            let known = self.known(name, file, column)?;
            match check_file(&files, &to, &known, CheckScope::Bytes, &mut |_| true)? {
                Checked::Sound => {}
                Checked::Stopped => return Err(Error::Interrupted),
                Checked::Damaged(what) => return Err(unmoved(&from, &what)),
            }
            // A missing index is rebuilt by the first reader.
            let _ = files.copy(&index_of(&from), &index_of(&to), |_| Ok(()));
            for kept in &file.companion_files {
                let (from, to) = (from.with_file_name(&kept.file), to.with_file_name(&kept.file));
                if files.copy(&from, &to, |_| Ok(()))?.0 != kept.digest {
                    return Err(unmoved(&from, "is not what was written"));
                }
            }
            let there = File { tier: tier.to_owned(), path, ..file.clone() };
            let file = std::mem::replace(file, there);
            new.moved_links.push(MovedLink {
                tag: was.tags[number].name.clone(),
                segment: k,
                file,
            });
        }
        // Files in the journal are removed when the transaction ends, unless the new manifest names them.
        transaction.touch(was.all_locations())?;
        // Moved files become links when the transaction ends.
        transaction.commit(Some(was), Some(&new), &needed)
    }

    /// Returns [`Error::Meanwhile`] if the data set has changed since `was`, as that explains missing files; otherwise
    /// `error`.
    pub(crate) fn or_concurrent_change(&self, was: &Manifest, error: Error) -> Error {
        match error {
            Error::Interrupted | Error::TierFull { .. } => error,
            _ if matches!(self.find(&was.name), Ok(now) if now.as_ref() != Some(was)) => {
                Error::Meanwhile { dataset: was.name.clone() }
            }
            _ => error,
        }
    }

    /// Removes a data set and all its files.
    ///
    /// # Errors
    /// [`Error::NoDataset`], [`Error::TierGone`], [`Error::TierUnmounted`], [`Error::Io`], [`Error::Meanwhile`].
    pub fn remove(&self, name: &str) -> Result<(), Error> {
        let was = self.manifest(name)?;
        // Files on a missing tier could never be removed later.
        for file in was.files().chain(was.moved_links.iter().map(|left| &left.file)) {
            self.tier_at_hand(&file.tier)?;
        }
        let mut transaction = self.begin("remove", name)?;
        transaction.touch(was.all_locations())?;
        transaction.touch([Location::beside(LOG)])?;
        transaction.commit(Some(&was), None, &BTreeMap::new())
    }
}

fn unmoved(path: &Path, what: &str) -> Error {
    Error::damaged(path, format!("{what}: nothing was moved; see trajet store verify"))
}
