//! Tags from tier to tier, and data sets out of the store.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use trajet_engine::Control;

use crate::catalog::index_of;
use crate::manifest::{File, Left, Manifest};
use crate::uses::RECORD;
use crate::verify::{All, Checked, check_file};
use crate::{Error, Store, disk};

impl Store {
    /// Moves the files of a tag to another tier. Whoever reads them goes on: the old ones stay open, and
    /// where they stood there are links to the new ones.
    ///
    /// # Errors
    /// [`Error::NoTag`], [`Error::NoTier`], [`Error::TierGone`], [`Error::TierUnmounted`], [`Error::TierFull`],
    /// [`Error::Damaged`]
    /// where a file is not what was written, [`Error::Meanwhile`], [`Error::Interrupted`].
    pub fn move_tag(
        &self,
        name: &str,
        tag: &str,
        tier: &str,
        control: &mut dyn Control,
    ) -> Result<(), Error> {
        let dataset = self.dataset(name)?;
        let was = &dataset.manifest;
        let number = dataset.tags(Some(&[tag.to_owned()]))?[0];
        self.tier_at_hand(tier)?;
        let mut new = was.clone();
        new.tags[number].tier = tier.to_owned();
        let elsewhere: Vec<&File> = was.files_of(number).filter(|file| file.tier != tier).collect();
        let needed: u64 = elsewhere.iter().map(|file| file.bytes()).sum();
        let total: u64 = elsewhere.iter().map(|file| file.size).sum();
        let needed = BTreeMap::from([(tier.to_owned(), needed)]);
        self.check_rooms(&needed)?;
        let mut operation = self.begin("move", name)?;
        let (target, folder) = operation.folder_on(tier)?;
        let mut done = 0;
        for (k, segment) in new.segments.iter_mut().enumerate() {
            let file = &mut segment.files[number];
            if file.tier == tier {
                continue;
            }
            let from = self.path_of(file)?;
            // All segments of a tag come into one folder.
            let number_of = if k > 0 { format!("-{k}") } else { String::new() };
            let ending = from.extension().unwrap_or_default().display();
            let path = folder.join(format!("{}{number_of}.{ending}", was.tags[number].name));
            let to = target.folder.join(&path);
            disk::copy(&from, &to, |n| {
                done += n;
                control.progress(done, total as usize);
                if control.interrupted() { Err(Error::Interrupted) } else { Ok(()) }
            })?;
            let column = self.table(was, &was.segments[k])?.files.swap_remove(number);
            match check_file(&to, &self.known(name, file, column)?, All::Bytes, &mut |_| true)? {
                Checked::Sound => {}
                Checked::Stopped => return Err(Error::Interrupted),
                Checked::Damaged(what) => return Err(unmoved(&from, &what)),
            }
            // Where there is none, who reads first makes it.
            let _ = disk::copy(&index_of(&from), &index_of(&to), |_| Ok(()));
            for kept in &file.beside {
                let (from, to) = (from.with_file_name(&kept.file), to.with_file_name(&kept.file));
                if disk::copy(&from, &to, |_| Ok(()))?.0 != kept.digest {
                    return Err(unmoved(&from, "is not what was written"));
                }
            }
            let there = File { tier: tier.to_owned(), path, ..file.clone() };
            let file = std::mem::replace(file, there);
            new.left.push(Left { tag: was.tags[number].name.clone(), segment: k, file });
        }
        // What was written down goes unless the new manifest names it.
        operation.touch(self.all_of(was)?)?;
        // What was moved becomes links when the operation ends.
        operation.commit(Some(was), Some(&new), &needed)
    }

    /// Removes a data set and all its files.
    ///
    /// # Errors
    /// [`Error::NoDataset`], [`Error::TierGone`], [`Error::TierUnmounted`], [`Error::Io`], [`Error::Meanwhile`].
    pub fn remove(&self, name: &str) -> Result<(), Error> {
        let was = self.manifest(name)?;
        // What cannot be removed now would be forgotten.
        for file in was.files().chain(was.left.iter().map(|left| &left.file)) {
            self.tier_at_hand(&file.tier)?;
        }
        let mut operation = self.begin("remove", name)?;
        operation.touch(self.all_of(&was)?)?;
        operation.touch([self.folder_of(name).join(RECORD)])?;
        operation.commit(Some(&was), None, &BTreeMap::new())
    }
}

fn unmoved(path: &Path, what: &str) -> Error {
    Error::damaged(path, format!("{what}: nothing was moved; see trajet store verify"))
}

/// Puts links where files stood that were moved since, unless they are there.
pub(crate) fn link_left(store: &Store, manifest: &Manifest) -> Result<(), Error> {
    for Left { tag, segment, file } in &manifest.left {
        let number = manifest.tags.iter().position(|other| other.name == *tag);
        let now = manifest.segments.get(*segment).zip(number);
        let Some(now) = now.and_then(|(segment, number)| segment.files.get(number)) else {
            continue;
        };
        let (from, to) = (store.path_of(file)?, store.path_of(now)?);
        link(&from, &to);
        for kept in &file.beside {
            link(&from.with_file_name(&kept.file), &to.with_file_name(&kept.file));
        }
    }
    Ok(())
}

/// Puts a link where a file stood; where the file system has no links, there is nothing.
fn link(from: &Path, to: &Path) {
    if !to.exists() || fs::read_link(from).is_ok_and(|there| there == to) {
        return;
    }
    // Hidden: what is cut short here goes with the folder's other hidden files.
    let name = format!(".{}.link.tmp", from.file_name().unwrap_or_default().display());
    let own = from.with_file_name(name);
    let _ = fs::remove_file(&own);
    #[cfg(unix)]
    if std::os::unix::fs::symlink(to, &own).is_ok() && fs::rename(&own, from).is_ok() {
        return;
    }
    let _ = fs::remove_file(&own);
    let _ = fs::remove_file(from);
}
