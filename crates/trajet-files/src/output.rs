//! Atomic outputs: a file is written beside its final path under a temporary name, and renamed when it is complete.
//! The final path never shows an incomplete file.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use trajet_formats::Patch;

use crate::Error;
use crate::leftovers::temporary_name;

/// Size of a write request in bytes. Shorter frames are buffered. For larger writes, Linux allocates as much
/// contiguous memory, which a virtual machine may have to get from its host: from 128 KiB on, writes were measured
/// to take eight times as long.
pub const PIECE: usize = 1 << 16;

/// A file that is being written. If it is dropped before [`Output::finish`], it is removed.
#[derive(Debug)]
pub struct Output {
    // Declared first, so that it is closed before it is removed: some systems do not remove open files.
    file: File,
    target: UnpublishedFile,
    buffer: Vec<u8>,
    len: u64,
}

impl Output {
    /// Begins a file that will be published at `path`. An existing file is replaced only with `force`.
    ///
    /// # Errors
    /// [`Error::Exists`], [`Error::NotAFile`], [`Error::Unwritable`].
    pub fn begin(path: &Path, force: bool) -> Result<Output, Error> {
        let failed = |source| Error::Unwritable { path: path.to_owned(), source };
        match path.symlink_metadata() {
            Ok(there) if there.is_dir() => {
                return Err(Error::NotAFile { path: path.to_owned(), folder: true });
            }
            Ok(_) if !force => return Err(Error::Exists { path: path.to_owned() }),
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        if path.file_name().is_none() {
            return Err(failed(io::ErrorKind::InvalidInput.into()));
        }
        let folder = path.parent().unwrap_or(Path::new(""));
        let beside = path.with_file_name(temporary_name(folder));
        let file = OpenOptions::new().write(true).create_new(true).open(&beside).map_err(failed)?;
        let target = UnpublishedFile { path: path.to_owned(), beside, force };
        Ok(Output { file, target, buffer: Vec::new(), len: 0 })
    }

    /// Returns the final path of the file.
    pub fn path(&self) -> &Path {
        &self.target.path
    }

    /// Returns the number of bytes so far.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Returns whether there are no bytes yet.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// [`Error::Unwritable`], for instance if the disk is full.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.len += bytes.len() as u64;
        if self.buffer.len() + bytes.len() > PIECE {
            self.flush()?;
        }
        let mut pieces = bytes.chunks_exact(PIECE);
        for piece in &mut pieces {
            self.file.write_all(piece).map_err(|source| self.target.failed(source))?;
        }
        self.buffer.extend_from_slice(pieces.remainder());
        Ok(())
    }

    /// Appends up to `most` bytes of another file, which was opened at `path`, from its current position on. Returns
    /// the number of bytes appended. The copy is made in the kernel if possible.
    ///
    /// # Errors
    /// [`Error::Unwritable`], and [`Error::Io`] if the other file cannot be read.
    pub fn append_file(&mut self, path: &Path, mut other: &File, most: u64) -> Result<u64, Error> {
        self.flush()?;
        let unreadable = |source| Error::Io { path: path.to_owned(), doing: "read it", source };
        let begin = other.stream_position().map_err(unreadable)?;
        let copied = io::copy(&mut other.take(most), &mut self.file).map_err(|source| {
            // The error does not name the file that failed: find out whether the other one can be read.
            let again = other.seek(SeekFrom::Start(begin));
            let again = again.and_then(|_| io::copy(&mut other.take(most), &mut io::sink()));
            again.map_or_else(unreadable, |_| self.target.failed(source))
        })?;
        self.len += copied;
        Ok(copied)
    }

    /// Applies the patches and syncs the file to the disk.
    ///
    /// # Errors
    /// [`Error::Unwritable`].
    pub fn finish(mut self, patches: &[Patch]) -> Result<UnpublishedFile, Error> {
        self.flush()?;
        let Output { mut file, target, .. } = self;
        let mut complete = || {
            for Patch { offset, bytes } in patches {
                file.seek(SeekFrom::Start(*offset))?;
                file.write_all(bytes)?;
            }
            file.sync_all()
        };
        let completed = complete();
        drop(file);
        completed.map_err(|source| target.failed(source))?;
        Ok(target)
    }

    fn flush(&mut self) -> Result<(), Error> {
        self.file.write_all(&self.buffer).map_err(|source| self.target.failed(source))?;
        self.buffer.clear();
        Ok(())
    }
}

/// A complete file that does not have its final name yet. If it is dropped before [`publish`], it is removed.
#[derive(Debug)]
pub struct UnpublishedFile {
    path: PathBuf,
    beside: PathBuf,
    force: bool,
}

impl UnpublishedFile {
    fn failed(&self, source: io::Error) -> Error {
        Error::Unwritable { path: self.path.clone(), source }
    }
}

impl Drop for UnpublishedFile {
    fn drop(&mut self) {
        // After the rename there is no such file any more.
        let _ = std::fs::remove_file(&self.beside);
    }
}

/// Renames files to their final paths, one after the other. If one fails, the following ones are not renamed.
///
/// # Errors
/// [`Error::Exists`] if another process created a file of that name meanwhile, and [`Error::Unwritable`].
pub fn publish(files: Vec<UnpublishedFile>) -> Result<(), Error> {
    let mut folders = BTreeSet::new();
    for file in &files {
        let moved = match file.force {
            true => std::fs::rename(&file.beside, &file.path),
            false => rename_new(&file.beside, &file.path),
        };
        moved.map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => Error::Exists { path: file.path.clone() },
            _ => file.failed(source),
        })?;
        folders.insert(file.path.parent());
    }
    folders.into_iter().flatten().for_each(sync_folder);
    Ok(())
}

/// Renames a file without replacing an existing one. A hard link does so atomically. On file systems without hard
/// links, existence is checked first, so that a file which another program creates meanwhile may be replaced.
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    match std::fs::hard_link(from, to) {
        Ok(()) => {
            // The file has its name; `UnpublishedFile` tries again to remove the other one when it is dropped.
            let _ = std::fs::remove_file(from);
            Ok(())
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        Err(_) => match to.symlink_metadata() {
            Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
            Err(_) => std::fs::rename(from, to),
        },
    }
}

/// Syncs a folder to the disk, where the system supports it.
fn sync_folder(folder: &Path) {
    let folder = if folder == Path::new("") { Path::new(".") } else { folder };
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let names = std::fs::read_dir(folder).unwrap();
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn bytes_and_patches_are_published_at_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.dcd");
        let mut output = Output::begin(&path, false).unwrap();
        let large = vec![7; PIECE + 1];
        let pieces: [&[u8]; 5] = [b"head", b"", &large, b"frame", &large[1..]];
        for bytes in pieces {
            output.append(bytes).unwrap();
        }
        assert_eq!(output.len(), pieces.concat().len() as u64);
        let before = names(folder.path());
        assert!(before.len() == 1 && before[0].starts_with(".trajet-"), "{before:?}");
        let patch = Patch { offset: 1, bytes: b"EA".to_vec() };
        publish(vec![output.finish(&[patch]).unwrap()]).unwrap();
        assert_eq!(names(folder.path()), ["out.dcd"]);
        let mut expected = pieces.concat();
        expected[1..3].copy_from_slice(b"EA");
        assert!(std::fs::read(&path).unwrap() == expected);
    }

    #[test]
    fn the_rest_of_another_file_is_appended() {
        let folder = tempfile::tempdir().unwrap();
        let [path, other] = ["out.dcd", "part"].map(|name| folder.path().join(name));
        let large: Vec<u8> = (0..2 * PIECE as u32).map(|k| (k / 7) as u8).collect();
        std::fs::write(&other, &large).unwrap();
        let file = File::open(&other).unwrap();
        let mut output = Output::begin(&path, false).unwrap();
        output.append(b"head").unwrap();
        let copied = [1000, u64::MAX, 10].map(|most| output.append_file(&other, &file, most));
        assert_eq!(copied.map(Result::unwrap), [1000, large.len() as u64 - 1000, 0]);
        assert_eq!(output.len(), 4 + large.len() as u64);
        publish(vec![output.finish(&[]).unwrap()]).unwrap();
        assert!(std::fs::read(&path).unwrap() == [b"head", &large[..]].concat());
    }

    /// A folder can be opened, but not read; `/dev/full` simulates a full disk.
    #[cfg(target_os = "linux")]
    #[test]
    fn errors_of_append_file_name_the_file_that_failed() {
        let folder = tempfile::tempdir().unwrap();
        let [path, other] = ["out.xtc", "part"].map(|name| folder.path().join(name));
        let mut output = Output::begin(&path, false).unwrap();
        let file = File::open(folder.path()).unwrap();
        let message = output.append_file(folder.path(), &file, 10).unwrap_err().to_string();
        assert_eq!(
            message,
            format!("{}: cannot read it: Is a directory (os error 21)", folder.path().display())
        );
        std::fs::write(&other, [7; 100]).unwrap();
        output.file = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let error = output.append_file(&other, &File::open(&other).unwrap(), 10).unwrap_err();
        assert!(error.to_string().contains("out.xtc: cannot be written: No space left"), "{error}");
    }

    #[test]
    fn a_dropped_output_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.xtc");
        let mut output = Output::begin(&path, false).unwrap();
        output.append(&vec![0; 2 * PIECE]).unwrap();
        drop(output);
        assert_eq!(names(folder.path()), [""; 0]);
    }

    #[test]
    fn an_existing_file_is_replaced_only_with_force() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.xtc");
        std::fs::write(&path, "old").unwrap();
        assert!(matches!(Output::begin(&path, false), Err(Error::Exists { .. })));
        let mut output = Output::begin(&path, true).unwrap();
        output.append(b"new").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        publish(vec![output.finish(&[]).unwrap()]).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        assert_eq!(names(folder.path()), ["out.xtc"]);
    }

    #[test]
    fn a_file_created_meanwhile_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.xtc");
        let mut output = Output::begin(&path, false).unwrap();
        output.append(b"ours").unwrap();
        std::fs::write(&path, "theirs").unwrap();
        assert!(matches!(publish(vec![output.finish(&[]).unwrap()]), Err(Error::Exists { .. })));
        assert_eq!(std::fs::read(&path).unwrap(), b"theirs");
        assert_eq!(names(folder.path()), ["out.xtc"]);
    }

    #[test]
    fn files_are_renamed_only_by_publish() {
        let folder = tempfile::tempdir().unwrap();
        let paths = ["a.xtc", "b.xtc", "c.xtc"].map(|name| folder.path().join(name));
        let whole = |path: &PathBuf| {
            let mut output = Output::begin(path, false).unwrap();
            output.append(b"ours").unwrap();
            output.finish(&[]).unwrap()
        };
        let files: Vec<_> = paths.iter().map(whole).collect();
        assert!(names(folder.path()).iter().all(|name| name.starts_with(".trajet-")));
        drop(files);
        assert_eq!(names(folder.path()), [""; 0]);
        let files: Vec<_> = paths.iter().map(whole).collect();
        std::fs::write(&paths[1], "theirs").unwrap();
        assert!(matches!(publish(files), Err(Error::Exists { path }) if path == paths[1]));
        let mut left = names(folder.path());
        left.sort();
        assert_eq!(left, ["a.xtc", "b.xtc"]);
        assert_eq!(std::fs::read(&paths[1]).unwrap(), b"theirs");
    }

    #[test]
    fn folders_and_missing_folders_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        for force in [false, true] {
            let refused = Output::begin(folder.path(), force);
            assert!(matches!(refused, Err(Error::NotAFile { folder: true, .. })));
            let nowhere = folder.path().join("no/out.xtc");
            let refused = Output::begin(&nowhere, force).map(drop).unwrap_err().to_string();
            assert!(refused.contains("cannot be written: No such file"), "{refused}");
        }
        assert_eq!(names(folder.path()), [""; 0]);
    }

    /// `/dev/full` simulates a full disk.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_an_error_and_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.xtc");
        for many in [10, 2 * PIECE] {
            let mut output = Output::begin(&path, false).unwrap();
            output.file = OpenOptions::new().write(true).open("/dev/full").unwrap();
            let done = output.append(&vec![0; many]).and_then(|()| output.finish(&[]));
            let message = done.unwrap_err().to_string();
            assert!(
                message.contains("out.xtc: cannot be written: No space left on device"),
                "{message}"
            );
            assert_eq!(names(folder.path()), [""; 0]);
        }
    }
}
