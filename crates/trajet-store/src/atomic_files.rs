//! Access to files of a store: atomic replacement (temporary file, fsync, rename), opening without following links, and
//! digests.

use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::fcntl::OFlag;
use nix::libc;
use trajet_files::PIECE;
use trajet_formats::digest::{Xxh3, xxh3_64};

use crate::Error;
use crate::manifest::StoredFile;

/// Creates or replaces a file atomically. `own` makes the temporary name differ from that of other processes.
pub(crate) fn replace(path: &Path, own: &str, bytes: &[u8]) -> Result<(), Error> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!("-{own}.tmp"));
    let beside = path.with_file_name(name);
    let written = write_new(&beside, bytes).and_then(|()| {
        fs::rename(&beside, path).map_err(Error::io(path, "write"))?;
        sync_folder(path)
    });
    if written.is_err() {
        // Nothing more can be done about a file that cannot be removed either.
        let _ = fs::remove_file(&beside);
    }
    written
}

/// Writes and syncs a file that does not exist yet.
pub(crate) fn write_new(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)
        .map_err(Error::io(path, "write"))?;
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(Error::io(path, "write"))
}

/// Opens a regular file of a store for reading. A link is an error, since an untrusted store may link to any file of
/// the user. So is a named pipe, as opening it would wait for a writer.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    open_with(OpenOptions::new().read(true), path)
}

/// Opens it as [`open`] does, with other options.
pub(crate) fn open_with(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    let file = options.custom_flags(flags.bits()).open(path).map_err(|error| {
        match (error.raw_os_error(), path.symlink_metadata()) {
            (Some(libc::ELOOP), Ok(there)) if there.is_symlink() => is_link(),
            (Some(libc::ENXIO), _) => not_regular(),
            _ => error,
        }
    })?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(not_regular()),
    }
}

/// Opens a regular file that the user names, and follows links.
fn open_given(path: &Path) -> io::Result<File> {
    let flags = OFlag::O_NONBLOCK.bits();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(not_regular()),
    }
}

/// Returns the error for a link.
pub(crate) fn is_link() -> io::Error {
    io::Error::other("it is a link, and links in stores are not followed")
}

/// Returns the error for a folder, a named pipe or a device.
pub(crate) fn not_regular() -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, "it is no regular file")
}

/// Returns whether a path is a folder; false if it does not exist.
///
/// # Errors
/// [`Error::Damaged`] if it is a link or no folder.
pub(crate) fn is_folder(path: &Path) -> Result<bool, Error> {
    match path.symlink_metadata() {
        Ok(there) if there.is_dir() => Ok(true),
        Ok(_) => {
            let what = "not a folder, or a link to one, which a store does not follow: give the store the folder \
                        itself";
            Err(Error::damaged(path, what))
        }
        Err(error) if is_gone(&error) => Ok(false),
        Err(error) => Err(Error::io(path, "read")(error)),
    }
}

/// Returns whether an error means that a file does not exist.
pub(crate) fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// Copies an open file to a new file, and returns its digest and size. Calls `look` with the size of each piece.
pub(crate) fn copy_from(
    mut source: File,
    from: &Path,
    to: &Path,
    mut look: impl FnMut(usize) -> Result<(), Error>,
) -> Result<(String, u64), Error> {
    let mut target =
        OpenOptions::new().write(true).create_new(true).open(to).map_err(Error::io(to, "write"))?;
    let (mut digest, mut size, mut piece) = (Xxh3::new(), 0, vec![0; PIECE]);
    loop {
        let n = match source.read(&mut piece) {
            Ok(0) => break,
            Ok(n) => n,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(Error::io(from, "read")(error)),
        };
        digest.write(&piece[..n]);
        target.write_all(&piece[..n]).map_err(Error::io(to, "write"))?;
        size += n as u64;
        look(n)?;
    }
    target.sync_all().map_err(Error::io(to, "write"))?;
    Ok((named(digest.finish()), size))
}

/// Reads a file beside a manifest, and compares it with its digest.
pub(crate) fn read_kept(folder: &Path, kept: &StoredFile) -> Result<Vec<u8>, Error> {
    let path = folder.join(&kept.file);
    let bytes = read(&path)?;
    if named(xxh3_64(&bytes)) != kept.digest {
        return Err(not_as_written(&path));
    }
    Ok(bytes)
}

/// Compares a file beside a manifest with its digest, without holding all of it in memory.
pub(crate) fn check_kept(folder: &Path, kept: &StoredFile) -> Result<(), Error> {
    let path = folder.join(&kept.file);
    check_open(open(&path).map_err(Error::io(&path, "read"))?, &path, kept)
}

/// Compares an open file with its digest.
pub(crate) fn check_open(mut file: File, path: &Path, kept: &StoredFile) -> Result<(), Error> {
    let (mut digest, mut piece) = (Xxh3::new(), vec![0; PIECE]);
    loop {
        match file.read(&mut piece) {
            Ok(0) => break,
            Ok(n) => digest.write(&piece[..n]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(Error::io(path, "read")(error)),
        }
    }
    if named(digest.finish()) == kept.digest { Ok(()) } else { Err(not_as_written(path)) }
}

fn not_as_written(path: &Path) -> Error {
    let what = "is not what the store wrote: restore it from a copy, or add the data set again";
    Error::damaged(path, what)
}

/// Reads a whole file. A file that does not fit in memory is an I/O error.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Error> {
    let failed = |source| Error::io(path, "read")(source);
    let mut file = open(path).map_err(failed)?;
    let mut bytes = memory(file.metadata().map_err(failed)?.len()).map_err(failed)?;
    file.read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

/// Allocates memory for `size` bytes.
fn memory(size: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let n_bytes = usize::try_from(size).unwrap_or(usize::MAX);
    bytes.try_reserve_exact(n_bytes).map_err(|_| ErrorKind::OutOfMemory)?;
    Ok(bytes)
}

/// Writes a new file beside a manifest.
pub(crate) fn write_kept(folder: &Path, file: String, bytes: &[u8]) -> Result<StoredFile, Error> {
    write_new(&folder.join(&file), bytes)?;
    Ok(StoredFile { file, digest: named(xxh3_64(bytes)), size: bytes.len() as u64 })
}

/// Copies a file that the user names into a folder, as a new file.
pub(crate) fn copy_kept(from: &Path, folder: &Path, file: String) -> Result<StoredFile, Error> {
    let source = open_given(from).map_err(Error::io(from, "read"))?;
    let (digest, size) = copy_from(source, from, &folder.join(&file), |_| Ok(()))?;
    Ok(StoredFile { file, digest, size })
}

/// Removes a file, and returns whether it existed.
pub(crate) fn remove(path: &Path) -> Result<bool, Error> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(Error::io(path, "remove")(error)),
    }
}

/// Returns a digest as manifests spell it.
pub(crate) fn named(digest: u64) -> String {
    format!("xxh3:{digest:016x}")
}

/// Syncs the folder of a file, so that its name is on the disk, if the system can do that.
pub(crate) fn sync_folder(path: &Path) -> Result<(), Error> {
    if let Some(folder) = path.parent()
        && let Ok(folder) = File::open(folder)
    {
        let _ = folder.sync_all();
    }
    Ok(())
}

/// Returns twelve random hexadecimal digits.
pub(crate) fn random_id() -> String {
    // Hash maps are seeded with random numbers, which makes them a source of randomness. Forked processes share the
    // seed.
    let own = (std::process::id(), std::time::SystemTime::now());
    format!("{:012x}", RandomState::new().hash_one(own) >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_files_are_not_read_through_links_or_from_pipes() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), b"x").unwrap();
        std::os::unix::fs::symlink(at("file"), at("link")).unwrap();
        nix::unistd::mkfifo(&at("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        let checked = |file: &str| {
            let kept = StoredFile { file: file.to_owned(), digest: named(xxh3_64(b"x")), size: 1 };
            check_kept(folder.path(), &kept).and(read_kept(folder.path(), &kept).map(drop))
        };
        checked("file").unwrap();
        for (name, why) in [("link", "it is a link"), ("pipe", "it is no regular file")] {
            assert!(checked(name).unwrap_err().to_string().contains(why), "{name}");
        }
    }

    #[test]
    fn oversized_allocations_are_errors() {
        assert_eq!(memory(u64::MAX).unwrap_err().kind(), ErrorKind::OutOfMemory);
        assert!(memory(5_000).is_ok_and(|bytes| bytes.capacity() >= 5_000));
    }
}
