//! Whether all that a store wrote is still what it was.

use std::fmt;
use std::io::{BufReader, ErrorKind, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use trajet_engine::{Control, run};
use trajet_io::xxh3_64;

use crate::hdf5::Piece;
use crate::manifest::{self, Manifest};
use crate::table::Column;
use crate::{Error, Store, disk};

/// Most damaged frames of a file that are named.
const MOST_NAMED: usize = 5;

/// What is known of a file.
pub(crate) enum Known {
    Frames(Column),
    /// Of HDF5.
    Pieces(Vec<Piece>),
}

impl Known {
    /// The file piece by piece: what it is, its bytes, and their digest.
    pub(crate) fn pieces(&self) -> Box<dyn Iterator<Item = (What, u64, u64)> + '_> {
        match self {
            Known::Frames(Column { head, sizes, digests }) => {
                let frames = (0..).zip(sizes).zip(digests);
                let frames =
                    frames.map(|((k, &size), &digest)| (What::Frames(k..k + 1), size, digest));
                Box::new(std::iter::once((What::Head, head.0, head.1)).chain(frames))
            }
            Known::Pieces(pieces) => Box::new(pieces.iter().map(|piece| {
                let Piece { frames, size, digest } = piece;
                (frames.clone().map_or(What::Tables, What::Frames), *size, *digest)
            })),
        }
    }
}

/// What a piece of a file holds.
#[derive(Debug)]
pub(crate) enum What {
    Head,
    Frames(Range<u64>),
    Tables,
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            What::Head => f.write_str("its head"),
            What::Frames(Range { start, end }) if end - start == 1 => write!(f, "frame {start}"),
            What::Frames(Range { start, end }) => write!(f, "frames {start} to {}", end - 1),
            What::Tables => f.write_str("its tables"),
        }
    }
}

/// What is compared of files of tags; those beside them, and beside the manifest, always are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum All {
    Bytes,
    /// What whoever reads all frames has not compared then.
    ButFrames,
}

impl All {
    fn has(self, what: &What) -> bool {
        self == All::Bytes || matches!(what, What::Tables)
    }

    /// Bytes of a request: what is no frame is short, and stands between long ones.
    fn request(self) -> usize {
        if self == All::Bytes { 1 << 20 } else { 1 << 12 }
    }
}

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
        self.damage(name, All::Bytes, threads, control)
    }

    /// The same of some bytes.
    pub(crate) fn damage(
        &self,
        name: &str,
        all: All,
        threads: usize,
        control: &mut dyn Control,
    ) -> Result<Vec<String>, Error> {
        loop {
            let manifest = match self.manifest(name) {
                Err(damaged @ Error::Damaged { .. }) => return Ok(vec![damaged.to_string()]),
                other => other?,
            };
            let problems = self.problems(&manifest, all, threads, control)?;
            // Files that somebody has replaced meanwhile are not there by right.
            if problems.is_empty() || self.manifest(name)? == manifest {
                return Ok(problems);
            }
        }
    }

    fn problems(
        &self,
        manifest: &Manifest,
        all: All,
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
        for kept in manifest.source.iter().filter_map(|source| source.rest.as_ref()) {
            said(disk::check_kept(&folder, kept));
        }
        let mut files: Vec<(PathBuf, Known)> = Vec::new();
        for segment in &manifest.segments {
            for kept in [Some(&segment.heads), segment.sources.as_ref()].into_iter().flatten() {
                said(disk::read_kept(&folder, kept).map(drop));
            }
            let table = match self.table(manifest, segment) {
                Ok(table) => table,
                Err(error) => {
                    said(Err(error));
                    continue;
                }
            };
            for (file, column) in segment.files.iter().zip(table.files) {
                let known =
                    self.known(&manifest.name, file, column).map_err(|error| said(Err(error)));
                match self.tier_at_hand(&file.tier) {
                    Ok(tier) => {
                        let path = tier.folder.join(&file.path);
                        let own = path.parent().unwrap_or(&tier.folder);
                        for kept in &file.beside {
                            said(disk::read_kept(own, kept).map(drop));
                        }
                        files.extend(known.map(|known| (path, known)));
                    }
                    Err(error) => said(Err(error)),
                }
            }
        }
        files.retain(|(_, known)| known.pieces().any(|(what, ..)| all.has(&what)));
        let total = manifest.files().map(|file| file.size as usize).sum();
        let (done, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
        let found: Vec<Mutex<Option<String>>> = files.iter().map(|_| Mutex::default()).collect();
        let work = |k: usize| {
            let (path, known) = &files[k];
            let mut look = |n| {
                done.fetch_add(n, Ordering::Relaxed);
                !stop.load(Ordering::Relaxed)
            };
            let problem = match check_file(path, known, all, &mut look) {
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

    /// What is known of a file, of which the table of frames has a column.
    pub(crate) fn known(
        &self,
        name: &str,
        file: &manifest::File,
        column: Column,
    ) -> Result<Known, Error> {
        let tables = self.tables_of(name, file)?;
        Ok(tables.map_or(Known::Frames(column), |tables| Known::Pieces(tables.pieces)))
    }
}

/// Compares a file with what is known of it. `look` is told of bytes, and says whether to go on.
pub(crate) fn check_file(
    path: &Path,
    known: &Known,
    all: All,
    look: &mut dyn FnMut(usize) -> bool,
) -> Result<Checked, Error> {
    let file = match disk::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Ok(Checked::Damaged("is not there any more".to_owned()));
        }
        file => file.map_err(Error::io(path, "read"))?,
    };
    let size = file.metadata().map_err(Error::io(path, "read"))?.len();
    let expected = known.pieces().map(|(_, len, _)| len).sum::<u64>();
    if size != expected {
        return Ok(Checked::Damaged(format!("has {size} bytes, and was written with {expected}")));
    }
    let mut file = BufReader::with_capacity(all.request(), file);
    let (mut bytes, mut at) = (Vec::new(), 0);
    let (mut bad, mut n_bad) = (Vec::new(), 0);
    for (what, len, digest) in known.pieces() {
        // The sizes add up to that of the file.
        let is_read = all.has(&what);
        bytes.resize(if is_read { len as usize } else { 0 }, 0);
        let read = match is_read {
            true => file.read_exact(&mut bytes),
            false => file.seek_relative(len as i64),
        };
        read.map_err(Error::io(path, "read"))?;
        if is_read && xxh3_64(&bytes) != digest {
            n_bad += 1;
            if bad.len() < MOST_NAMED {
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
