//! Mount points: which folders are mounted on, mounting and unmounting.
//!
//! Unmounting detaches the folder first and aborts the connection, so that readers get errors at once. `fuser` would
//! refuse while somebody reads, and unmount by path, where another mount may be by then: its session is never dropped.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::errno::Errno;
use nix::mount::{MntFlags, umount2};

use crate::Error;

/// Our source name in the kernel's list of mounts.
pub(super) const SOURCE: &str = "trajet";
const DEVICE: &str = "/dev/fuse";
/// The setuid helper that mounts and unmounts for users who are not root.
const HELPER: &str = "fusermount3";

/// An entry of the kernel's list of mounts.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mounted {
    /// Device number, as "0:57".
    device: String,
    kind: String,
    source: String,
}

/// Returns what is mounted on a folder: the topmost file system if there are several.
pub(super) fn on(folder: &Path) -> Result<Option<Mounted>, Error> {
    let path = Path::new("/proc/self/mountinfo");
    let list = fs::read(path).map_err(Error::io(path, "read"))?;
    Ok(last_on(&list, folder))
}

/// Returns the last entry for a folder, which is the one in effect.
fn last_on(list: &[u8], folder: &Path) -> Option<Mounted> {
    use std::os::unix::ffi::OsStrExt;
    let entry = |line: &[u8]| {
        let mut words = line.split(|&byte| byte == b' ');
        let device = words.nth(2)?;
        if unescaped(words.nth(1)?) != folder.as_os_str().as_bytes() {
            return None;
        }
        let mut words = words.skip_while(|&word| word != b"-").skip(1);
        let text = |word: &[u8]| String::from_utf8_lossy(word).into_owned();
        let (kind, source) = (text(words.next()?), text(words.next()?));
        Some(Mounted { device: text(device), kind, source })
    };
    list.split(|&byte| byte == b'\n').filter_map(entry).next_back()
}

/// Decodes the octal escapes (`\040`) in paths of the list.
fn unescaped(word: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(word.len());
    let mut rest = word;
    while let [first, after @ ..] = rest {
        let number = after.get(..3).and_then(|digits| str::from_utf8(digits).ok());
        let number = number.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match (first, number) {
            (b'\\', Some(byte)) => {
                bytes.push(byte);
                rest = &after[3..];
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    bytes
}

/// Checks that a folder can be mounted on, and returns its absolute path without links. Unmounts what a killed process
/// of ours has left there.
pub(super) fn prepare(folder: &Path) -> Result<PathBuf, Error> {
    let refused = |what: &str| Error::Refused(format!("{}: {what}", folder.display()));
    let whole = match folder.canonicalize() {
        Ok(whole) => whole,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(refused("there is no such folder to mount on: make it first (mkdir)"));
        }
        // The path of a mount whose process has died cannot be resolved.
        Err(error) => {
            let name = folder.file_name().ok_or_else(|| Error::io(folder, "find")(error))?;
            let parent = match folder.parent() {
                Some(parent) if parent != Path::new("") => parent,
                _ => Path::new("."),
            };
            parent.canonicalize().map_err(Error::io(folder, "find"))?.join(name)
        }
    };
    if let Some(there) = on(&whole)? {
        if !(there.source == SOURCE && is_dead(&whole)) {
            let Mounted { kind, source, .. } = there;
            return Err(refused(&format!(
                "something is mounted there already ({source}, {kind}): give another folder, or unmount it \
                 first (umount, or {HELPER} -u)"
            )));
        }
        detach(&whole)?;
    }
    let entries = fs::read_dir(&whole).map_err(|error| match error.kind() {
        io::ErrorKind::NotADirectory => refused("not a folder: give an empty one to mount on"),
        _ => Error::io(folder, "read")(error),
    })?;
    if let Some(entry) = entries.flatten().next() {
        let name = entry.file_name();
        return Err(refused(&format!(
            "is not empty (there is {}), and what is in it would be hidden: give an empty folder",
            name.display()
        )));
    }
    Ok(whole)
}

/// Returns the error of a failed mount, with advice.
pub(super) fn explained(folder: &Path, error: io::Error) -> Error {
    let device = fs::OpenOptions::new().read(true).write(true).open(DEVICE);
    let why = match device.map_err(|error| error.kind()) {
        Err(io::ErrorKind::NotFound) => format!(
            "there is no {DEVICE}: load it (modprobe fuse), or let the container have it (docker run \
             --device {DEVICE} --cap-add SYS_ADMIN)"
        ),
        Err(io::ErrorKind::PermissionDenied) => {
            format!("{DEVICE} cannot be opened by this user: ask the administrator of the machine")
        }
        _ if error.kind() == io::ErrorKind::NotFound && !has_helper() => format!(
            "only root may mount without {HELPER}: install the package fuse3 (apt-get install fuse3)"
        ),
        _ => error.to_string().trim().to_owned(),
    };
    Error::Refused(format!(
        "{}: cannot be mounted on: {why}; trajet store link makes a folder of links without FUSE",
        folder.display()
    ))
}

fn has_helper() -> bool {
    let found = Command::new(HELPER).arg("-V").stdout(Stdio::null()).stderr(Stdio::null()).status();
    found.is_ok()
}

/// Unmounts a folder if it still carries this mount. Open files get errors. If our session has ended (`is_answered` is
/// false), another mount may have got the same device number, so that the mount is only removed if it is dead.
pub(super) fn take_away(folder: &Path, mounted: &Mounted, is_answered: bool) -> Result<(), Error> {
    if on(folder)?.as_ref() == Some(mounted) && (is_answered || is_dead(folder)) {
        detach(folder)?;
    }
    // Users other than root cannot force an unmount, but may abort the connection here.
    if is_answered && let Some(number) = mounted.device.strip_prefix("0:") {
        let _ = fs::write(format!("/sys/fs/fuse/connections/{number}/abort"), "1");
    }
    Ok(())
}

/// Returns whether the process that serves a mount has died.
fn is_dead(folder: &Path) -> bool {
    let error = fs::metadata(folder).err();
    error.is_some_and(|error| error.raw_os_error() == Some(Errno::ENOTCONN as i32))
}

fn detach(folder: &Path) -> Result<(), Error> {
    match umount2(folder, MntFlags::MNT_FORCE | MntFlags::MNT_DETACH) {
        Ok(()) => return Ok(()),
        Err(Errno::EPERM) => {}
        Err(error) => return Err(Error::io(folder, "unmount")(error.into())),
    }
    let done = Command::new(HELPER).args(["-u", "-z", "--"]).arg(folder).output();
    let done = done.map_err(Error::io(folder, "unmount"))?;
    match done.status.success() {
        true => Ok(()),
        false => Err(Error::Refused(format!(
            "{}: cannot be unmounted: {}",
            folder.display(),
            String::from_utf8_lossy(&done.stderr).trim()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_mount_on_a_folder_counts() {
        let list = b"36 35 8:1 / /a\\040b rw,noatime master:1 - ext4 /dev/sda1 rw\n\
                     37 36 0:57 / /a\\040b ro,nosuid - fuse trajet ro,user_id=0\n\
                     38 36 0:58 / /c\\134d ro shared:3 master:2 - fuse.sshfs host: ro\n";
        let found = |folder: &str| last_on(list, Path::new(folder));
        let [device, kind, source] = ["0:57", "fuse", "trajet"].map(str::to_owned);
        assert_eq!(found("/a b"), Some(Mounted { device, kind, source }));
        assert_eq!(found("/c\\d").unwrap().kind, "fuse.sshfs");
        assert_eq!(
            (found("/a"), found("/a b/c"), last_on(b"", Path::new("/"))),
            (None, None, None)
        );
    }

    #[test]
    fn folders_that_cannot_be_mounted_on_are_errors() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let error = |path: &Path| prepare(path).unwrap_err().to_string();
        assert!(error(&path.join("no")).contains("no: there is no such folder to mount on"));
        assert_eq!(prepare(path).unwrap(), path.canonicalize().unwrap());
        fs::write(path.join("file"), "").unwrap();
        assert!(error(path).contains("is not empty (there is file)"), "{}", error(path));
        assert!(error(&path.join("file")).contains("not a folder"));
        let proc = error(Path::new("/proc"));
        assert!(proc.contains("/proc: something is mounted there already (proc, proc)"), "{proc}");
    }
}
