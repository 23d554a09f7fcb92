//! Atomic outputs: a file is written beside its final path under a temporary name, and renamed when it is complete.
//! The final path never shows an incomplete file.
//!
//! A name that is a symbolic link stands for the file at its end. Links are followed, and relative names made
//! absolute, when the file is begun: the folder of the process may be another when it is complete. The permissions of
//! a file that is replaced are kept. A forked process never removes or renames the files of its parent.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, Permissions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use trajet_formats::Patch;

use crate::Error;
use crate::leftovers::temporary_name;

/// Symbolic links that are followed one after the other, as many as Linux follows.
const MAX_LINKS: usize = 40;
/// Bits of a mode: read, write and execute.
const PERMISSIONS: u32 = 0o777;
/// Bit of the mode of a folder in which all users may make files, such as /tmp.
const WORLD_WRITABLE: u32 = 0o002;

/// Size of a write request in bytes. Shorter frames are buffered. For larger writes, Linux allocates as much
/// contiguous memory, which a virtual machine may have to get from its host: from 128 KiB on, writes were measured
/// to take eight times as long.
pub const PIECE: usize = 1 << 16;

/// Returns where the file of an output is: an absolute path, at the end of the links that its name leads through.
/// There need not be a file.
///
/// # Errors
/// Those of the operating system; `PermissionDenied` for a link that another user has put into a folder of all users, as
/// `fs.protected_symlinks` of Linux has it for /tmp.
pub fn destination(path: &Path) -> io::Result<PathBuf> {
    let mut place = std::path::absolute(path)?;
    for _ in 0..=MAX_LINKS {
        match place.symlink_metadata() {
            Ok(link) if link.is_symlink() => {
                let folder = place.parent().unwrap_or(Path::new("/"));
                let shared = folder.metadata()?;
                let trusted = [nix::unistd::geteuid().as_raw(), shared.uid(), 0];
                if shared.mode() & WORLD_WRITABLE != 0 && !trusted.contains(&link.uid()) {
                    return Err(io::Error::new(
                        io::ErrorKind::PermissionDenied,
                        format!("{} is a link of another user in a folder of all", place.display()),
                    ));
                }
                place = folder.join(fs::read_link(&place)?);
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => return Ok(place),
        }
    }
    Err(Errno::ELOOP.into())
}

/// Creates the file `beside`, which will replace the one at `place` and has its permissions, if there is one.
///
/// # Errors
/// Those of the operating system, also if `beside` exists.
pub fn create_beside(beside: &Path, place: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    let Ok(before) = place.metadata() else { return options.open(beside) };
    let mode = before.mode() & PERMISSIONS;
    let file = options.mode(mode).open(beside)?;
    // The mask of the process does not apply to a file that was there.
    match file.set_permissions(Permissions::from_mode(mode)) {
        Ok(()) => Ok(file),
        Err(error) => {
            // Nobody else knows of it yet.
            let _ = fs::remove_file(beside);
            Err(error)
        }
    }
}

/// A file that is being written. If it is dropped before [`Output::finish`], it is removed.
#[derive(Debug)]
pub struct Output {
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
        if path.file_name().is_none() {
            return Err(failed(io::ErrorKind::InvalidInput.into()));
        }
        let place = destination(path).map_err(failed)?;
        match place.symlink_metadata() {
            Ok(there) if !there.is_file() => {
                return Err(Error::NotAFile { path: path.to_owned(), folder: there.is_dir() });
            }
            Ok(_) if !force => return Err(Error::Exists { path: path.to_owned() }),
            _ => {}
        }
        let folder = place.parent().unwrap_or(Path::new("/"));
        let beside = folder.join(temporary_name(folder));
        let file = create_beside(&beside, &place).map_err(failed)?;
        let target = UnpublishedFile::new(path, place, (beside, file), force);
        Ok(Output { target, buffer: Vec::new(), len: 0 })
    }

    /// Gives the unfinished file a name that tells users what it is, and that no later process removes: if this process
    /// is killed, its bytes are kept.
    pub fn keep_if_killed(&mut self) {
        self.target.rename_to_keep();
    }

    /// Leaves the unfinished file where it is instead of removing it, and returns its path. Bytes that cannot be written
    /// are lost.
    pub fn keep(mut self) -> PathBuf {
        let _ = self.flush();
        self.target.keep()
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
        self.target.check_process()?;
        self.len += bytes.len() as u64;
        if self.buffer.len() + bytes.len() > PIECE {
            self.flush()?;
        }
        let mut pieces = bytes.chunks_exact(PIECE);
        for piece in &mut pieces {
            self.target.write_all(piece)?;
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
        self.target.check_process()?;
        self.flush()?;
        let unreadable = |source| Error::Io { path: path.to_owned(), doing: "read it", source };
        let begin = other.stream_position().map_err(unreadable)?;
        let copied = io::copy(&mut other.take(most), &mut self.target.file).map_err(|source| {
            // The error does not name the file that failed: find out whether the other one can be read.
            let again = other.seek(SeekFrom::Start(begin));
            let again = again.and_then(|_| io::copy(&mut other.take(most), &mut io::sink()));
            again.map_or_else(unreadable, |_| self.target.failed(source))
        })?;
        self.len += copied;
        Ok(copied)
    }

    /// Writes all bytes so far to the disk.
    ///
    /// # Errors
    /// [`Error::Unwritable`].
    pub fn sync(&mut self) -> Result<(), Error> {
        self.flush()?;
        self.target.file.sync_all().map_err(|source| self.target.failed(source))
    }

    /// Applies the patches and syncs the file to the disk.
    ///
    /// # Errors
    /// [`Error::Unwritable`].
    pub fn finish(mut self, patches: &[Patch]) -> Result<UnpublishedFile, Error> {
        self.target.check_process()?;
        self.flush()?;
        let file = &mut self.target.file;
        let mut complete = || {
            for Patch { offset, bytes } in patches {
                file.seek(SeekFrom::Start(*offset))?;
                file.write_all(bytes)?;
            }
            file.sync_all()
        };
        match complete() {
            Ok(()) => Ok(self.target),
            Err(source) => Err(self.target.failed(source)),
        }
    }

    fn flush(&mut self) -> Result<(), Error> {
        self.target.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }
}

/// A complete file that does not have its final name yet. If it is dropped before [`publish`], it is removed.
#[derive(Debug)]
pub struct UnpublishedFile {
    /// The path as it was given, for messages.
    path: PathBuf,
    place: PathBuf,
    beside: PathBuf,
    file: File,
    force: bool,
    /// The process that removes and renames it; `None` if it is kept.
    process: Option<u32>,
}

impl UnpublishedFile {
    /// Returns a complete file, given by its path and open, which [`publish`] renames to `place`: see [`destination`].
    pub fn new(
        path: &Path,
        place: PathBuf,
        (beside, file): (PathBuf, File),
        force: bool,
    ) -> UnpublishedFile {
        let process = Some(std::process::id());
        UnpublishedFile { path: path.to_owned(), place, beside, file, force, process }
    }

    fn write_all(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.file.write_all(bytes).map_err(|source| self.failed(source))
    }

    fn failed(&self, source: io::Error) -> Error {
        Error::Unwritable { path: self.path.clone(), source }
    }

    fn check_process(&self) -> Result<(), Error> {
        match self.process == Some(std::process::id()) {
            true => Ok(()),
            false => Err(self.failed(io::Error::other(
                "another process, of which this is a fork, writes it: write a file of another name",
            ))),
        }
    }

    /// Renames the file to one of which the name tells users what it is, and that no process removes.
    fn rename_to_keep(&mut self) {
        // Its folder may have been moved.
        let opened = fs::read_link(format!("/proc/self/fd/{}", self.file.as_raw_fd()));
        let now = opened.unwrap_or_else(|_| self.beside.clone());
        // Hash maps are seeded with random numbers.
        let random = RandomState::new().build_hasher().finish() >> 32;
        let mut name = self.place.file_name().unwrap_or_default().to_owned();
        name.push(format!(".unfinished-{random:08x}"));
        let kept = now.with_file_name(name);
        self.beside = if fs::rename(&now, &kept).is_ok() { kept } else { now };
    }

    /// Leaves the file where it is, and returns its path.
    fn keep(&mut self) -> PathBuf {
        self.rename_to_keep();
        self.process = None;
        self.beside.clone()
    }
}

impl Drop for UnpublishedFile {
    fn drop(&mut self) {
        if self.process == Some(std::process::id()) {
            // After the rename there is no such file any more. Some systems do not remove open files: NFS gives them
            // another name until they are closed.
            let _ = fs::remove_file(&self.beside);
        }
    }
}

/// Renames files to their final paths, one after the other. If one fails, it is kept under another name, and the
/// following ones are removed.
///
/// # Errors
/// [`Error::Unnamed`] if a file cannot be renamed, also if another process created one of its name meanwhile.
pub fn publish(files: Vec<UnpublishedFile>) -> Result<(), Error> {
    let mut folders = BTreeSet::new();
    for mut file in files {
        file.check_process()?;
        if let Ok(before) = file.place.metadata() {
            // Other programs may have made the file.
            let _ = file.file.set_permissions(Permissions::from_mode(before.mode() & PERMISSIONS));
        }
        let moved = match file.force {
            true => fs::rename(&file.beside, &file.place),
            false => rename_new(&file.beside, &file.place),
        };
        if let Err(source) = moved {
            let kept = file.keep();
            return Err(Error::Unnamed { path: file.path.clone(), kept, source });
        }
        folders.insert(file.place.parent().map(Path::to_owned));
    }
    folders.iter().flatten().for_each(|folder| sync_folder(folder));
    Ok(())
}

/// Renames a file without replacing an existing one. A hard link does so atomically. On file systems without hard
/// links, existence is checked first, so that a file which another program creates meanwhile may be replaced.
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(from, to) {
        Ok(()) => {
            // The file has its name; `UnpublishedFile` tries again to remove the other one when it is dropped.
            let _ = fs::remove_file(from);
            Ok(())
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        Err(_) => match to.symlink_metadata() {
            Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
            Err(_) => fs::rename(from, to),
        },
    }
}

/// Syncs a folder to the disk, where the system supports it.
fn sync_folder(folder: &Path) {
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
        output.target.file = OpenOptions::new().write(true).open("/dev/full").unwrap();
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
        let failed = publish(vec![output.finish(&[]).unwrap()]).unwrap_err();
        assert!(failed.to_string().contains("File exists"), "{failed}");
        assert_eq!(std::fs::read(&path).unwrap(), b"theirs");
        let Error::Unnamed { kept, .. } = failed else { panic!("{failed}") };
        assert_eq!(std::fs::read(&kept).unwrap(), b"ours");
        assert!(kept.to_str().unwrap().contains("out.xtc.unfinished-"), "{kept:?}");
        assert_eq!(names(folder.path()).len(), 2);
    }

    /// Links to a file and to none, one after the other, and in other folders.
    #[test]
    fn a_link_is_written_through() {
        use std::os::unix::fs::symlink;
        for (n_links, exists) in (0..4).flat_map(|n| [(n, false), (n, true)]) {
            let folder = tempfile::tempdir().unwrap();
            let target = folder.path().join("far/away/target.xtc");
            fs::create_dir_all(target.parent().unwrap()).unwrap();
            if exists {
                fs::write(&target, "old").unwrap();
                fs::set_permissions(&target, Permissions::from_mode(0o640)).unwrap();
            }
            let mut path = target.clone();
            for k in 0..n_links {
                let link = folder.path().join(format!("link{k}.xtc"));
                let to = path.strip_prefix(folder.path()).unwrap();
                symlink(if k % 2 == 0 { to } else { &path }, &link).unwrap();
                path = link;
            }
            assert_eq!(destination(&path).unwrap(), target);
            assert_eq!(Output::begin(&path, false).is_err(), exists);
            let mut output = Output::begin(&path, true).unwrap();
            output.append(b"new").unwrap();
            assert_eq!(names(target.parent().unwrap()).len(), 1 + usize::from(exists));
            publish(vec![output.finish(&[]).unwrap()]).unwrap();
            assert_eq!(path.symlink_metadata().unwrap().is_symlink(), n_links > 0);
            assert_eq!(fs::read(&target).unwrap(), b"new");
            assert_eq!(names(target.parent().unwrap()), ["target.xtc"]);
            if exists {
                assert_eq!(target.metadata().unwrap().mode() & PERMISSIONS, 0o640);
            }
        }
    }

    #[test]
    fn links_that_lead_nowhere_or_to_a_device_are_refused() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let [ring, device] = ["ring.xtc", "device.xtc"].map(|name| folder.path().join(name));
        symlink("ring.xtc", &ring).unwrap();
        symlink("/dev/null", &device).unwrap();
        let refused = Output::begin(&ring, true).map(drop).unwrap_err().to_string();
        assert!(refused.contains("Too many levels of symbolic links"), "{refused}");
        let refused = Output::begin(&device, true);
        assert!(matches!(refused, Err(Error::NotAFile { folder: false, .. })));
    }

    /// Only root can make a link of another user.
    #[test]
    fn links_of_others_in_a_folder_for_all_are_not_followed() {
        use std::os::unix::fs::{lchown, symlink};
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o1777)).unwrap();
        let path = folder.path().join("out.csv");
        symlink("elsewhere.csv", &path).unwrap();
        assert_eq!(destination(&path).unwrap(), folder.path().join("elsewhere.csv"));
        if lchown(&path, Some(12345), None).is_ok() {
            let refused = destination(&path).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::PermissionDenied);
            assert!(matches!(Output::begin(&path, true), Err(Error::Unwritable { .. })));
        }
    }

    #[test]
    fn permissions_are_kept_while_the_file_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.xtc");
        for mode in [0o600, 0o640, 0o644, 0o666, 0o777, 0o400] {
            fs::write(&path, "old").unwrap();
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            let output = Output::begin(&path, true).unwrap();
            let modes = [&output.target.beside, &path].map(|path| path.metadata().unwrap().mode());
            assert_eq!(modes.map(|found| found & PERMISSIONS), [mode; 2]);
            publish(vec![output.finish(&[]).unwrap()]).unwrap();
            assert_eq!(path.metadata().unwrap().mode() & PERMISSIONS, mode);
            fs::remove_file(&path).unwrap();
        }
    }

    /// The folder is moved, or a folder takes the name.
    #[test]
    fn a_file_that_gets_no_name_is_kept() {
        for moved in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let (here, there) = (folder.path().join("here"), folder.path().join("there"));
            fs::create_dir(&here).unwrap();
            let path = here.join("out.xtc");
            let mut output = Output::begin(&path, true).unwrap();
            output.append(b"ours").unwrap();
            if moved {
                fs::rename(&here, &there).unwrap();
            } else {
                fs::create_dir(&path).unwrap();
            }
            let failed = publish(vec![output.finish(&[]).unwrap()]).unwrap_err();
            let Error::Unnamed { kept, .. } = &failed else { panic!("{failed}") };
            assert_eq!(fs::read(kept).unwrap(), b"ours");
            assert_eq!(kept.parent().unwrap(), if moved { &there } else { &here });
            assert!(failed.to_string().contains(kept.to_str().unwrap()));
        }
    }

    #[test]
    fn an_unfinished_file_can_be_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.xtc");
        let mut output = Output::begin(&path, true).unwrap();
        output.keep_if_killed();
        output.append(b"some").unwrap();
        let name = names(folder.path());
        assert!(name.len() == 1 && name[0].starts_with("out.xtc.unfinished-"), "{name:?}");
        let kept = output.keep();
        assert_eq!(fs::read(&kept).unwrap(), b"some");
        let mut output = Output::begin(&path, true).unwrap();
        output.keep_if_killed();
        output.append(b"whole").unwrap();
        publish(vec![output.finish(&[]).unwrap()]).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        assert_eq!(names(folder.path()).len(), 2);
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
        let failed = publish(files).unwrap_err();
        let Error::Unnamed { path, kept, .. } = failed else { panic!("{failed}") };
        assert_eq!((&path, std::fs::read(&kept).unwrap()), (&paths[1], b"ours".to_vec()));
        let mut left = names(folder.path());
        left.sort();
        assert_eq!(left[..2], ["a.xtc", "b.xtc"]);
        assert_eq!(left[2..], [kept.file_name().unwrap().to_str().unwrap()]);
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
            output.target.file = OpenOptions::new().write(true).open("/dev/full").unwrap();
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
