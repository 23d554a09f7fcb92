//! Whether all that a store wrote is still what it was.

use std::fs::File;
use std::io::{BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use trajet_engine::{Control, run};
use trajet_io::xxh3_64;

use crate::manifest::Manifest;
use crate::table::Column;
use crate::{Error, Store, disk};

/// Most damaged frames of a file that are named.
const MOST_NAMED: usize = 5;

/// What came of reading a file.
pub(crate) enum Checked {
    Sound,
    /// What is wrong, in words.
    Damaged(String),
    Stopped,
}

impl Store {
    /// Reads all files of a data set, and says what is wrong with each that is not what was written. Links
    /// that moves have left are not looked at.
    ///
    /// # Errors
    /// [`Error::NoDataset`], [`Error::Schema`], [`Error::Interrupted`], and [`Error::Io`] of a manifest.
    pub fn verify(
        &self,
        name: &str,
        threads: usize,
        control: &mut dyn Control,
    ) -> Result<Vec<String>, Error> {
        loop {
            let manifest = match self.manifest(name) {
                Err(damaged @ Error::Damaged { .. }) => return Ok(vec![damaged.to_string()]),
                other => other?,
            };
            let problems = self.problems(&manifest, threads, control)?;
            // Files that somebody has replaced meanwhile are not there by right.
            if problems.is_empty() || self.manifest(name)? == manifest {
                return Ok(problems);
            }
        }
    }

    fn problems(
        &self,
        manifest: &Manifest,
        threads: usize,
        control: &mut dyn Control,
    ) -> Result<Vec<String>, Error> {
        let folder = self.folder_of(&manifest.name);
        let mut problems = Vec::new();
        let mut said = |result: Result<(), Error>| match result {
            Ok(()) => {}
            Err(error) => {
                // A tier that is gone is gone for all of its files.
                let words = error.to_string();
                if !problems.contains(&words) {
                    problems.push(words);
                }
            }
        };
        said(disk::read_kept(&folder, &manifest.topology).map(drop));
        let mut files: Vec<(PathBuf, Column)> = Vec::new();
        for segment in &manifest.segments {
            said(disk::read_kept(&folder, &segment.heads).map(drop));
            let table = match self.table(manifest, segment) {
                Ok(table) => table,
                Err(error) => {
                    said(Err(error));
                    continue;
                }
            };
            for (file, column) in segment.files.iter().zip(table.files) {
                match self.tier_at_hand(&file.tier) {
                    Ok(tier) => {
                        let path = tier.folder.join(&file.path);
                        let own = path.parent().unwrap_or(&tier.folder);
                        for kept in &file.beside {
                            said(disk::read_kept(own, kept).map(drop));
                        }
                        files.push((path, column));
                    }
                    Err(error) => said(Err(error)),
                }
            }
        }
        let total = manifest.files().map(|file| file.size as usize).sum();
        let (done, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
        let found: Vec<Mutex<Option<String>>> = files.iter().map(|_| Mutex::default()).collect();
        let work = |k: usize| {
            let (path, column) = &files[k];
            let mut look = |n| {
                done.fetch_add(n, Ordering::Relaxed);
                !stop.load(Ordering::Relaxed)
            };
            let problem = match check_file(path, column, &mut look) {
                Ok(Checked::Damaged(what)) => format!("{}: {what}", path.display()),
                Ok(_) => return,
                Err(error) => error.to_string(),
            };
            *found[k].lock().expect("nobody panics with it") = Some(problem);
        };
        run::each(files.len(), threads, &work, (&done, total), &stop, control);
        if stop.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        let found = found.into_iter().filter_map(|one| one.into_inner().ok().flatten());
        problems.extend(found);
        Ok(problems)
    }
}

/// Compares a file with what is known of it. `look` is told of bytes, and says whether to go on.
pub(crate) fn check_file(
    path: &Path,
    column: &Column,
    look: &mut dyn FnMut(usize) -> bool,
) -> Result<Checked, Error> {
    let file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Ok(Checked::Damaged("is not there any more".to_owned()));
        }
        file => file.map_err(Error::io(path, "read"))?,
    };
    let size = file.metadata().map_err(Error::io(path, "read"))?.len();
    let expected = column.size();
    if size != expected {
        return Ok(Checked::Damaged(format!("has {size} bytes, and was written with {expected}")));
    }
    let mut file = BufReader::with_capacity(1 << 20, file);
    let (mut bytes, mut at) = (Vec::new(), 0);
    let (mut bad, mut n_bad) = (Vec::new(), 0);
    let head = std::iter::once((None, column.head));
    let frames = column.sizes.iter().copied().zip(column.digests.iter().copied());
    let frames = frames.enumerate().map(|(frame, known)| (Some(frame), known));
    for (frame, (len, digest)) in head.chain(frames) {
        // The sizes add up to that of the file.
        bytes.resize(len as usize, 0);
        file.read_exact(&mut bytes).map_err(Error::io(path, "read"))?;
        if xxh3_64(&bytes) != digest {
            n_bad += 1;
            if bad.len() < MOST_NAMED {
                let what = frame.map_or("its head".to_owned(), |frame| format!("frame {frame}"));
                bad.push(format!("{what} (bytes {at} to {})", at + len));
            }
        }
        at += len;
        if !look(len as usize) {
            return Ok(Checked::Stopped);
        }
    }
    if bad.is_empty() {
        return Ok(Checked::Sound);
    }
    let more = n_bad - bad.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Ok(Checked::Damaged(format!("was changed in {}{more}", bad.join(", "))))
}
