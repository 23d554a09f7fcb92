//! Opens the files of a store for reading.
//!
//! A store may come from an untrusted source, and a link in it may name any file of the user. Files are therefore opened
//! component by component, each by the descriptor of the folder above it: a folder that is replaced meanwhile leads
//! nowhere else. The folder of a tier, which may itself be a link, must contain the tier's mark. Below it, only a link in
//! place of a file of a tag is followed, since moves leave such links, and only to a file that is opened in the same way.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use nix::errno::Errno;
use nix::fcntl::{OFlag, openat, readlinkat};
use nix::sys::stat::{Mode, SFlag, fstatat};
use serde::{Deserialize, Serialize};
use trajet_files::source::FileOpener;

use crate::manifest::{MAX_TIERS, StoredFile, Tier};
use crate::{Error, Store, atomic_files};

/// Maximal number of links that lead to a file. A move replaces the links of earlier moves, on all tiers that are
/// mounted.
const MAX_LINKS: usize = MAX_TIERS;

/// Opens a folder only to look up names in it, where the system can do that: reading it needs another permission.
#[cfg(target_os = "linux")]
const LOOKUP: OFlag = OFlag::O_PATH;
#[cfg(not(target_os = "linux"))]
const LOOKUP: OFlag = OFlag::O_RDONLY;

/// The files of a store, as its settings were when this was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreFiles {
    /// The store's folder.
    folder: PathBuf,
    /// Paths of the marks of its tiers.
    marks: Vec<PathBuf>,
}

/// Result of looking up a path.
enum Found {
    File(File),
    /// Target of a link in place of a file.
    Link(PathBuf),
}

impl Store {
    /// Returns the files of the store.
    ///
    /// # Errors
    /// As [`Store::tiers`].
    pub fn files(&self) -> Result<StoreFiles, Error> {
        let marks = self.tiers()?.values().map(Tier::marker).collect();
        Ok(StoreFiles { folder: self.folder().to_owned(), marks })
    }
}

impl FileOpener for StoreFiles {
    /// Opens a file of a data set: on a tier, or beside its manifest. Follows links that moves have left, which may lead
    /// to tiers that the store got later.
    fn open(&self, path: &Path) -> io::Result<File> {
        let mut target = match self.find(path)? {
            Found::File(file) => return Ok(file),
            Found::Link(target) => target,
        };
        let store = Store::open(&self.folder).map_err(io::Error::other)?;
        let now = store.files().map_err(io::Error::other)?;
        for _ in 0..MAX_LINKS {
            target = match now.find(&target) {
                Ok(Found::File(file)) => return Ok(file),
                Ok(Found::Link(next)) => next,
                Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                    let what = format!("it is a link to {}, and {error}", target.display());
                    return Err(io::Error::new(error.kind(), what));
                }
                Err(error) => return Err(error),
            };
        }
        Err(refused("it is a link to a link, again and again"))
    }
}

impl StoreFiles {
    /// Returns the opener for options of readers.
    pub(crate) fn opener(&self) -> Arc<dyn FileOpener> {
        Arc::new(self.clone())
    }

    /// Opens a file without following a link.
    pub(crate) fn open_regular(&self, path: &Path) -> io::Result<File> {
        match self.find(path)? {
            Found::File(file) => Ok(file),
            Found::Link(_) => Err(atomic_files::is_link()),
        }
    }

    /// Copies a file to a new file, and returns its digest and size. Calls `look` with the size of each piece.
    pub(crate) fn copy(
        &self,
        from: &Path,
        to: &Path,
        look: impl FnMut(usize) -> Result<(), Error>,
    ) -> Result<(String, u64), Error> {
        let file = self.open_regular(from).map_err(Error::io(from, "read"))?;
        atomic_files::copy_from(file, from, to, look)
    }

    /// Compares a file in a folder with its digest.
    pub(crate) fn check_kept(&self, folder: &Path, kept: &StoredFile) -> Result<(), Error> {
        let path = folder.join(&kept.file);
        let file = self.open_regular(&path).map_err(Error::io(&path, "read"))?;
        atomic_files::check_open(file, &path, kept)
    }

    /// Looks up a file on a tier, or beside a manifest.
    fn find(&self, path: &Path) -> io::Result<Found> {
        let mut failed = None;
        for mark in &self.marks {
            let Some(root) = mark.parent() else { continue };
            let Some([folder, file]) = components(path, root) else { continue };
            // Several tiers may have the same folder.
            match marked(root, mark) {
                Ok(root) => return find_in(&root, folder, file, true),
                Err(error) => failed = Some(error),
            }
        }
        if let Some(error) = failed {
            return Err(error);
        }
        match components(path, &self.folder) {
            Some([folder, file]) => find_in(&root_of(&self.folder)?, folder, file, false),
            None => Err(refused("that is no file of this store and its tiers")),
        }
    }
}

/// Returns the folder and the name of a path below `root`; `None` if it has other components.
fn components<'a>(path: &'a Path, root: &Path) -> Option<[&'a Path; 2]> {
    let mut parts = path.strip_prefix(root).ok()?.components();
    let mut next = || match parts.next()? {
        Component::Normal(part) => Some(Path::new(part)),
        _ => None,
    };
    let found = [next()?, next()?];
    parts.next().is_none().then_some(found)
}

/// Opens the folder of a tier after checking that it contains its mark.
fn marked(root: &Path, mark: &Path) -> io::Result<OwnedFd> {
    let folder = root_of(root)?;
    let name = mark.file_name().unwrap_or_default();
    match fstatat(&folder, name, nix::fcntl::AtFlags::AT_SYMLINK_NOFOLLOW) {
        Ok(found) if is_kind(found.st_mode, SFlag::S_IFREG) => Ok(folder),
        Ok(_) | Err(Errno::ENOENT) => {
            let what = format!("{}, the mark of its tier, is missing", mark.display());
            Err(io::Error::new(ErrorKind::NotFound, what))
        }
        Err(error) => Err(error.into()),
    }
}

fn root_of(folder: &Path) -> io::Result<OwnedFd> {
    Ok(nix::fcntl::open(folder, LOOKUP | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC, Mode::empty())?)
}

/// Opens a regular file in a folder below `root`, or returns the target of a link in its place if moves may leave one.
fn find_in(root: &OwnedFd, folder: &Path, file: &Path, has_links: bool) -> io::Result<Found> {
    let flags = LOOKUP | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let within = openat(root, folder, flags, Mode::empty()).map_err(|error| match error {
        Errno::ELOOP | Errno::ENOTDIR => {
            refused("its folder is a link or a file, and links in stores are not followed")
        }
        other => other.into(),
    })?;
    // Opening a named pipe would wait for its writer.
    let flags = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
    let opened = match openat(&within, file, flags, Mode::empty()) {
        Err(Errno::ELOOP) if has_links => {
            return Ok(Found::Link(PathBuf::from(readlinkat(&within, file)?)));
        }
        Err(Errno::ELOOP) => return Err(atomic_files::is_link()),
        Err(Errno::ENXIO) => return Err(atomic_files::not_regular()),
        opened => File::from(opened?),
    };
    if opened.metadata()?.is_file() {
        Ok(Found::File(opened))
    } else {
        Err(atomic_files::not_regular())
    }
}

fn is_kind(mode: nix::libc::mode_t, kind: SFlag) -> bool {
    SFlag::from_bits_truncate(mode) & SFlag::S_IFMT == kind
}

fn refused(what: &str) -> io::Error {
    io::Error::new(ErrorKind::PermissionDenied, what)
}
