//! Checks all files of a data set against their digests.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use trajet_engine::{Control, run};

use crate::file_check::{CheckScope, Checked, ExpectedPieces, check_file};
use crate::manifest::{self, Manifest};
use crate::table::Column;
use crate::{Error, Store, atomic_files};

impl Store {
    /// Reads all files of a data set and returns a message for each that differs from what was written. Links that
    /// moves have left are not checked.
    ///
    /// # Errors
    /// [`Error::NoDataset`], [`Error::Schema`], [`Error::Interrupted`], and [`Error::Io`] of a manifest.
    pub fn verify(
        &self,
        name: &str,
        threads: usize,
        control: &mut dyn Control,
    ) -> Result<Vec<String>, Error> {
        self.damage(name, CheckScope::Bytes, threads, control)
    }

    /// Checks the files of a data set, restricted to the pieces in `scope`. Files beside them are always checked.
    pub(crate) fn damage(
        &self,
        name: &str,
        scope: CheckScope,
        threads: usize,
        control: &mut dyn Control,
    ) -> Result<Vec<String>, Error> {
        loop {
            let manifest = match self.manifest(name) {
                Err(damaged @ Error::Damaged { .. }) => return Ok(vec![damaged.to_string()]),
                other => other?,
            };
            let problems = self.problems(&manifest, scope, threads, control)?;
            // Files that another process replaced meanwhile are missing for a good reason: check the new manifest.
            if problems.is_empty() || self.manifest(name)? == manifest {
                return Ok(problems);
            }
        }
    }

    /// Checks the files that a manifest names, which need not be that of a data set yet.
    pub(crate) fn problems(
        &self,
        manifest: &Manifest,
        scope: CheckScope,
        threads: usize,
        control: &mut dyn Control,
    ) -> Result<Vec<String>, Error> {
        let folder = self.folder_of(&manifest.name);
        let mut problems = Vec::new();
        let mut note = |result: Result<(), Error>| match result {
            Ok(()) => {}
            Err(error) => {
                // A missing tier is reported once, not for each of its files.
                let words = error.to_string();
                if !problems.contains(&words) {
                    problems.push(words);
                }
            }
        };
        note(atomic_files::read_kept(&folder, &manifest.topology).map(drop));
        for kept in manifest.source.iter().filter_map(|source| source.other_contents.as_ref()) {
            note(atomic_files::check_kept(&folder, kept));
        }
        let opener = self.files()?;
        let mut files: Vec<(PathBuf, ExpectedPieces)> = Vec::new();
        for segment in &manifest.segments {
            for kept in [Some(&segment.frame_metadata), segment.original_digests.as_ref()]
                .into_iter()
                .flatten()
            {
                note(atomic_files::read_kept(&folder, kept).map(drop));
            }
            let table = match self.table(manifest, segment) {
                Ok(table) => table,
                Err(error) => {
                    note(Err(error));
                    continue;
                }
            };
            for (file, column) in segment.files.iter().zip(table.files) {
                let known =
                    self.known(&manifest.name, file, column).map_err(|error| note(Err(error)));
                match self.tier_at_hand(&file.tier) {
                    Ok(tier) => {
                        let path = tier.folder.join(&file.path);
                        let own = path.parent().unwrap_or(&tier.folder);
                        for kept in &file.companion_files {
                            note(opener.check_kept(own, kept));
                        }
                        files.extend(known.map(|known| (path, known)));
                    }
                    Err(error) => note(Err(error)),
                }
            }
        }
        files.retain(|(_, known)| known.pieces().any(|(what, ..)| scope.has(&what)));
        let total = manifest.files().map(|file| file.size as usize).sum();
        let (done, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
        let found: Vec<Mutex<Option<String>>> = files.iter().map(|_| Mutex::default()).collect();
        let work = |k: usize| {
            let (path, known) = &files[k];
            let mut look = |n| {
                done.fetch_add(n, Ordering::Relaxed);
                !stop.load(Ordering::Relaxed)
            };
            let problem = match check_file(&opener, path, known, scope, &mut look) {
                Ok(Checked::Damaged(what)) => format!("{}: {what}", path.display()),
                Ok(_) => return,
                Err(error) => error.to_string(),
            };
            *found[k].lock().expect("nobody panics with it") = Some(problem);
        };
        run::each(files.len(), threads, &work, (&done, total), &stop, control)?;
        if stop.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        let found = found.into_iter().filter_map(|one| one.into_inner().ok().flatten());
        problems.extend(found);
        Ok(problems)
    }

    /// Returns the sizes and digests of a file's pieces. `column` is its column of the frame table.
    pub(crate) fn known(
        &self,
        name: &str,
        file: &manifest::File,
        column: Column,
    ) -> Result<ExpectedPieces, Error> {
        let tables = self.tables_of(name, file)?;
        Ok(tables
            .map_or(ExpectedPieces::Frames(column), |tables| ExpectedPieces::Pieces(tables.pieces)))
    }
}
