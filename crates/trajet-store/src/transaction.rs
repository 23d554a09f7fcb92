//! Transactions: changes of a store that happen wholly or not at all.
//!
//! A transaction first writes the folders and tiers that it concerns to its journal (`.pending/`), a file that stays
//! locked as long as the process lives. Then it makes all files under names that no other transaction uses. To commit,
//! it locks the store, checks that the data set has not changed since it began, and replaces the manifest. At last it
//! removes obsolete files. After an interruption at any point the manifest is the old or the new one, and
//! [`Store::repair`] removes the files that no manifest names.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use trajet_files::leftovers::remove_leftovers;
use trajet_formats::{Code, Message};

use crate::access_log::LOG;
use crate::atomic_files::random_id;
use crate::catalog::{JOURNALS, MANIFEST, check_text};
use crate::journal::{Journal, Line, TierChange, lines};
use crate::links::link_left;
use crate::location::Location;
use crate::manifest::{self, MAX_TIERS, Manifest, Tier};
use crate::{Error, Store, atomic_files};

/// A transaction under way. Dropping it removes what it made, unless a manifest names it by then.
#[derive(Debug)]
pub(crate) struct Transaction<'a> {
    pub(crate) store: &'a Store,
    journal: Journal,
    /// The journal's file, locked.
    file: File,
    /// Whether the files stay after an error, for another transaction of the same id that goes on with them.
    pub(crate) keeps_files: bool,
}

impl Store {
    /// Begins a transaction on a data set, and writes its journal.
    pub(crate) fn begin(&self, doing: &str, name: &str) -> Result<Transaction<'_>, Error> {
        self.begin_as(doing, name, random_id(), false)
    }

    /// Begins a transaction with this id, or goes on with one that has kept its files.
    ///
    /// # Errors
    /// [`Error::Refused`] if another process has it open.
    pub(crate) fn begin_resumable(
        &self,
        doing: &str,
        name: &str,
        id: &str,
    ) -> Result<Transaction<'_>, Error> {
        if !manifest::is_file_name(id) {
            return Err(Error::Refused(format!("{id:?} cannot be the name of an unfinished copy")));
        }
        self.begin_as(doing, name, id.to_owned(), true)
    }

    fn begin_as(
        &self,
        doing: &str,
        name: &str,
        id: String,
        is_resumable: bool,
    ) -> Result<Transaction<'_>, Error> {
        if !manifest::is_name(name) {
            return Err(Error::Refused(manifest::bad_name("data set", name)));
        }
        self.check_no_tier(name, &self.tiers()?)?;
        self.check_in_place()?;
        let folder = self.folder().join(JOURNALS);
        let locked = self.lock()?;
        match fs::create_dir(&folder) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                return Err(Error::io(&folder, "make")(error));
            }
            _ => atomic_files::is_folder(&folder)?,
        };
        let path = folder.join(format!("{id}.json"));
        // Others may append to it: see `hand_over`.
        let mut options = OpenOptions::new();
        options.append(true).create(true).create_new(!is_resumable);
        let file = atomic_files::open_with(&mut options, &path);
        let mut file = file.map_err(Error::io(&path, "write"))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => {
                return Err(Error::Refused(format!(
                    "{name}: another process is doing the same ({doing}): wait for its end"
                )));
            }
            Err(fs::TryLockError::Error(error)) => return Err(Error::io(&path, "lock")(error)),
        }
        let before = Journal::read(&path)?.filter(|before| before.name == name);
        let keeps_files = before.is_some();
        let empty = Journal { id, name: name.to_owned(), ..Journal::default() };
        if keeps_files {
            // The last line may be truncated.
            file.write_all(b"\n").map_err(Error::io(&path, "write"))?;
        }
        let journal = before.unwrap_or(empty);
        let transaction = Transaction { store: self, journal, file, keeps_files };
        // A dropped transaction takes the store's lock: nothing may return while it is held here.
        drop(locked);
        transaction.write([Line::Doing { doing: doing.to_owned(), name: name.to_owned() }])?;
        Ok(transaction)
    }

    /// Finds tiers that were moved with the store's folder, and removes files of interrupted transactions. Returns
    /// messages on what was found and removed.
    ///
    /// # Errors
    /// [`Error::Copied`]; the first [`Error::Io`] or [`Error::TierGone`], after everything else was cleared.
    pub fn repair(&self) -> Result<Vec<String>, Error> {
        self.check_original()?;
        let _locked = self.lock()?;
        let (mut cleared, mut failed) = (self.find_moved()?, None);
        if self.clear_settings()? {
            cleared.push("store.json, whose writing was cut short: 1 file removed".to_owned());
        }
        let mut n_left = remove_leftovers(self.folder());
        for name in self.names()? {
            let folder = self.folder_of(&name);
            if atomic_files::is_folder(&folder)? {
                n_left += remove_leftovers(&folder);
            }
        }
        if n_left > 0 {
            cleared
                .push(format!("temporary files of processes that were killed: {n_left} removed"));
        }
        let (mut others, mut dead) = (Vec::new(), Vec::new());
        for path in self.journals()? {
            let file =
                match atomic_files::open_with(OpenOptions::new().read(true).write(true), &path) {
                    // The transaction ended just now.
                    Err(error) if error.kind() == ErrorKind::NotFound => continue,
                    file => file.map_err(Error::io(&path, "read"))?,
                };
            others.extend(Journal::read(&path)?);
            match file.try_lock() {
                Ok(()) => dead.push((path, file)),
                Err(fs::TryLockError::WouldBlock) => {}
                Err(fs::TryLockError::Error(error)) => return Err(Error::io(&path, "lock")(error)),
            }
        }
        for (path, _held) in dead {
            // Another transaction may have appended to it.
            let Some(journal) = Journal::read(&path)? else { continue };
            others.retain(|other| other.id != journal.id);
            let done = self.clear(&journal, &mut others);
            let removed = match done.and_then(|n| atomic_files::remove(&path).map(|_| n)) {
                Ok(removed) => removed,
                Err(error) => {
                    failed.get_or_insert(error);
                    continue;
                }
            };
            if !journal.name.is_empty() {
                cleared.push(format!(
                    "{} of {:?}, which was cut short: {removed} files removed",
                    journal.doing, journal.name
                ));
            }
        }
        failed.map_or(Ok(cleared), Err)
    }

    /// Removes the files that a journal lists and no manifest names, and takes back its changes of tiers, unless the
    /// transaction was committed or another one needs them. Returns the number of files.
    fn clear(&self, journal: &Journal, others: &mut [Journal]) -> Result<usize, Error> {
        let name = &journal.name;
        if !name.is_empty() && !manifest::is_name(name) {
            return Err(Error::Refused(manifest::bad_name("data set", name)));
        }
        let (mut needed, mut is_done) = (BTreeSet::new(), false);
        if let Some(manifest) = self.find(name)? {
            let frames = journal.name_of("frames", ".bin");
            is_done = manifest.segments.iter().any(|segment| segment.frames.file == frames);
            needed = manifest.locations();
            needed.insert(Location::beside(LOG));
            link_left(self, &manifest)?;
        }
        let (tiers, mut resolver) = (self.tiers()?, self.resolver(name));
        let mut resolved = |all: &BTreeSet<Location>| -> Result<Vec<(Location, PathBuf)>, Error> {
            // A tier that is no longer in the settings has no files of the transaction.
            let is_known = |one: &&Location| one.tier().is_none_or(|tier| tiers.contains_key(tier));
            let unneeded = all.iter().filter(|one| !needed.contains(*one)).filter(is_known);
            unneeded.map(|one| Ok((one.clone(), resolver.resolve(one)?))).collect()
        };
        // A path outside of the store is an error before anything is removed. Files of a missing tier cannot be removed
        // now: the journal stays.
        let (made, paths) = (resolved(&journal.made)?, resolved(&journal.paths)?);
        let mut removed = 0;
        for (folder, path) in &made {
            removed += remove_files_in(folder, path, &needed, |_| true)?;
        }
        // The files of a folder come after the folder.
        for (location, path) in paths.iter().rev() {
            removed += match path.symlink_metadata() {
                // Indexes that readers have left.
                Ok(there) if there.is_dir() => {
                    remove_files_in(location, path, &needed, |name| name.starts_with('.'))?
                }
                Err(error) if !atomic_files::is_gone(&error) => {
                    return Err(Error::io(path, "remove")(error));
                }
                _ => usize::from(atomic_files::remove(path)?),
            };
        }
        if !name.is_empty() {
            // An empty folder is no data set.
            let _ = fs::remove_dir(self.folder_of(name));
        }
        if !is_done {
            removed += self.revert_tier_changes(&journal.tiers, others)?;
        }
        Ok(removed)
    }
}

impl Transaction<'_> {
    /// Writes to the journal that these files or folders will be made, or become obsolete.
    pub(crate) fn touch(&mut self, paths: impl IntoIterator<Item = Location>) -> Result<(), Error> {
        let paths: Vec<Location> = paths.into_iter().collect();
        self.write(paths.iter().cloned().map(Line::Path))?;
        self.journal.paths.extend(paths);
        Ok(())
    }

    /// Writes tiers that the transaction changes or relies on to the journal.
    pub(crate) fn need(&mut self, tiers: Vec<TierChange>) -> Result<(), Error> {
        self.write(tiers.iter().cloned().map(Line::Tier))?;
        self.journal.tiers.extend(tiers);
        Ok(())
    }

    /// Returns the name of the data set.
    pub(crate) fn name(&self) -> &str {
        &self.journal.name
    }

    fn path(&self) -> PathBuf {
        self.store.folder().join(JOURNALS).join(format!("{}.json", self.journal.id))
    }

    fn write(&self, what: impl IntoIterator<Item = Line>) -> Result<(), Error> {
        let bytes = lines(what);
        let written = (&self.file).write_all(&bytes).and_then(|()| self.file.sync_all());
        written.map_err(Error::io(&self.path(), "write"))
    }

    /// Makes a folder for new files on a tier; returns the tier, and the folder relative to it.
    pub(crate) fn folder_on(&mut self, tier: &str) -> Result<(Tier, PathBuf), Error> {
        self.numbered_folder_on(tier, "")
    }

    /// Makes one of several folders on a tier, with a suffix; or finds it, if it was made before the transaction went
    /// on.
    pub(crate) fn numbered_folder_on(
        &mut self,
        tier: &str,
        suffix: &str,
    ) -> Result<(Tier, PathBuf), Error> {
        let name = tier;
        let tier = self.store.tier_at_hand(name)?;
        let folder = PathBuf::from(format!("{}-{}{suffix}", self.journal.name, self.journal.id));
        let location = Location::on(name, &folder);
        let path = self.store.resolve(&self.journal.name, &location)?;
        if self.journal.made.contains(&location) && atomic_files::is_folder(&path)? {
            return Ok((tier, folder));
        }
        self.write([Line::Made(location.clone())])?;
        fs::create_dir(&path).map_err(Error::io(&path, "make"))?;
        self.journal.made.insert(location);
        Ok((tier, folder))
    }

    /// Returns the name of a new file beside the manifest, after writing it to the journal.
    pub(crate) fn name_beside(&mut self, kind: &str, ending: &str) -> Result<String, Error> {
        let name = self.journal.name_of(kind, ending);
        self.touch([Location::beside(&name)])?;
        Ok(name)
    }

    /// Returns the folder of the data set.
    pub(crate) fn folder(&self) -> PathBuf {
        self.store.folder_of(&self.journal.name)
    }

    /// Makes the folder of the data set if there is none, and returns it.
    pub(crate) fn make_folder(&mut self) -> Result<PathBuf, Error> {
        let folder = self.folder();
        let busy = format!(".{}", self.journal.id);
        self.touch([Location::beside(&busy)])?;
        let _locked = self.store.lock()?;
        match fs::create_dir(&folder) {
            Err(error) if !folder.symlink_metadata().is_ok_and(|there| there.is_dir()) => {
                return Err(Error::io(&folder, "make")(error));
            }
            _ => {}
        }
        // Another transaction that ends now would remove an empty folder. A transaction that goes on has the file.
        let busy = folder.join(busy);
        if !busy.symlink_metadata().is_ok_and(|there| there.is_file()) {
            atomic_files::write_new(&busy, &[])?;
        }
        Ok(folder)
    }

    /// Replaces the manifest, if the data set has not changed since the transaction began. `new` is none to remove the
    /// data set. `needed` is the bytes that each tier must have room for.
    pub(crate) fn commit(
        &mut self,
        was: Option<&Manifest>,
        new: Option<&Manifest>,
        needed: &BTreeMap<String, u64>,
    ) -> Result<(), Error> {
        // The temporary file of the manifest.
        self.touch([Location::beside(&format!("{MANIFEST}-{}.tmp", self.journal.id))])?;
        let (store, name) = (self.store, &self.journal.name);
        let _locked = store.lock()?;
        if store.find(name)?.as_ref() != was {
            return Err(match was {
                None => Error::Exists { store: store.folder().to_owned(), name: name.clone() },
                Some(_) => Error::Meanwhile { dataset: name.clone() },
            });
        }
        store.check_usage(needed)?;
        let path = self.folder().join(MANIFEST);
        let Some(new) = new else {
            fs::remove_file(&path).map_err(Error::io(&path, "remove"))?;
            return atomic_files::sync_folder(&path);
        };
        debug_assert_eq!(new.check(), Ok(()));
        // All named files are on the disk before the manifest is.
        let mut resolver = store.resolver(name);
        let made = self.journal.made.iter().map(|made| resolver.resolve(made));
        for folder in made.chain([Ok(self.folder())]) {
            let folder = folder?;
            atomic_files::sync_folder(&folder.join(MANIFEST))?;
            atomic_files::sync_folder(&folder)?;
        }
        let json = serde_json::to_vec(new).expect("manifests are plain");
        atomic_files::replace(&path, &self.journal.id, &json)
    }
}

impl Transaction<'_> {
    /// Adds tiers to the settings and makes missing folders. Returns messages for the user. Both are undone unless the
    /// transaction commits.
    ///
    /// # Errors
    /// [`Error::Refused`] if a tier of that name has another folder, or there are too many tiers.
    pub(crate) fn add_tiers(
        &mut self,
        requested: &BTreeMap<String, Tier>,
    ) -> Result<Vec<Message>, Error> {
        let store = self.store;
        store.check_no_tier(self.name(), requested)?;
        let _locked = store.lock()?;
        store.check_in_place()?;
        let before = store.settings()?;
        let mut settings = before.clone();
        let (mut changes, mut messages) = (Vec::new(), Vec::new());
        for (name, tier) in requested {
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
                // A profile without a limit keeps the known one.
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
                messages.push(Code::TierLimit.message(format!(
                    "tier {name:?}: its limit is {limit} bytes now, and was {was}"
                )));
            }
            settings.tiers.insert(name.clone(), now.clone());
            let makes_folder = was.is_none() && !now.folder.exists();
            changes.push(TierChange { name: name.clone(), was, now, makes_folder });
        }
        if settings.tiers.len() > MAX_TIERS {
            let words = format!("{}: has at most {MAX_TIERS} tiers", store.folder().display());
            return Err(Error::Refused(words));
        }
        let new: Vec<_> = changes.iter().filter(|change| change.was.is_none()).cloned().collect();
        self.need(changes)?;
        for TierChange { name, now, .. } in &new {
            // The parent folder exists only if the file system is mounted.
            match fs::create_dir(&now.folder) {
                Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                    return Err(Error::io(&now.folder, "make")(error));
                }
                _ => {}
            }
            store.mark(name, now)?;
        }
        if settings != before || before.folder != store.folder() {
            store.write_settings(settings)?;
        }
        Ok(messages)
    }
}

impl Drop for Transaction<'_> {
    /// Removes the files of the journal that no manifest names, unless they are kept for a transaction that goes on. If
    /// that fails, `repair` does it later.
    fn drop(&mut self) {
        if self.keeps_files {
            return;
        }
        let Ok(_locked) = self.store.lock() else { return };
        let own = self.path();
        let Ok(mut others) = self.store.journals() else { return };
        others.retain(|path| *path != own);
        // A journal that is gone needs nothing. If one cannot be read, its needs are unknown, and nothing is removed.
        let others: Result<Vec<_>, _> =
            others.iter().filter_map(|path| Journal::read(path).transpose()).collect();
        let Ok(mut others) = others else { return };
        // Read again: others may have appended to it.
        let Ok(Some(journal)) = Journal::read(&own) else { return };
        if self.store.clear(&journal, &mut others).is_ok() {
            let _ = fs::remove_file(own);
        }
    }
}

/// Removes files in a folder whose names `which` accepts and which are not needed, then the folder if it is empty.
/// Returns the number of files.
fn remove_files_in(
    location: &Location,
    folder: &Path,
    needed: &BTreeSet<Location>,
    which: impl Fn(&str) -> bool,
) -> Result<usize, Error> {
    if !atomic_files::is_folder(folder)? {
        return Ok(0);
    }
    let entries = fs::read_dir(folder).map_err(Error::io(folder, "read"))?;
    let mut removed = 0;
    for entry in entries {
        let path = entry.map_err(Error::io(folder, "read"))?.path();
        let name = path.file_name().unwrap_or_default().display().to_string();
        if which(&name) && !needed.contains(&location.join(&name)) {
            removed += usize::from(atomic_files::remove(&path)?);
        }
    }
    // Fails if a file is left.
    let _ = fs::remove_dir(folder);
    Ok(removed)
}
