//! Decides whether a file at the path of a sidecar may be read or replaced.
//!
//! In a folder that others may write, anybody can plant an index with forged offsets and times. A sidecar is
//! trusted if it belongs to this user, to root or to the owner of the trajectory, who could change the frames
//! anyway.

use std::fmt;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::Path;

/// The reason why a file is not trusted.
#[derive(Debug, PartialEq)]
pub(super) enum DistrustReason {
    /// The file belongs to another user, with this id.
    Owner(u32),
    /// The file is a link, a folder, a named pipe or a device.
    NotRegular,
    /// The type or owner of the file cannot be determined.
    Unknown(ErrorKind),
}

impl fmt::Display for DistrustReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DistrustReason::Owner(uid) => write!(f, "it belongs to another user (user id {uid})"),
            DistrustReason::NotRegular => f.write_str("it is no regular file"),
            DistrustReason::Unknown(kind) => write!(f, "it cannot be opened ({kind})"),
        }
    }
}

/// Opens the sidecar at `path` of a trajectory that belongs to the user `owner`, without following a link. Returns
/// `None` if there is no file, or one that this user may replace but not read.
///
/// # Errors
/// [`DistrustReason`].
#[cfg(unix)]
pub(super) fn open(path: &Path, owner: Option<u32>) -> Result<Option<File>, DistrustReason> {
    use nix::fcntl::OFlag;
    use std::os::unix::fs::{MetadataExt, OpenOptionsExt};

    let check = |found: io::Result<std::fs::Metadata>| {
        let found = found.map_err(|error| DistrustReason::Unknown(error.kind()))?;
        if !found.is_file() {
            return Err(DistrustReason::NotRegular);
        }
        let own = nix::unistd::geteuid().as_raw();
        match found.uid() {
            uid if uid == own || uid == 0 || Some(uid) == owner => Ok(()),
            uid => Err(DistrustReason::Owner(uid)),
        }
    };
    // Opening a named pipe would wait for its writer.
    let flags = (OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits();
    match File::options().read(true).custom_flags(flags).open(path) {
        Ok(file) => check(file.metadata()).map(|()| Some(file)),
        Err(error) if is_missing(&error) => Ok(None),
        Err(_) => check(path.symlink_metadata()).map(|()| None),
    }
}

/// Opens the sidecar at `path`, on systems without file owners.
#[cfg(not(unix))]
pub(super) fn open(path: &Path, _: Option<u32>) -> Result<Option<File>, DistrustReason> {
    match path.symlink_metadata() {
        Ok(found) if !found.is_file() => Err(DistrustReason::NotRegular),
        Ok(_) => Ok(File::open(path).ok()),
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(DistrustReason::Unknown(error.kind())),
    }
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use nix::unistd::{Uid, geteuid};

    #[test]
    fn only_regular_files_are_trusted() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("file"), b"x").unwrap();
        std::fs::create_dir(at("folder")).unwrap();
        std::os::unix::fs::symlink(at("file"), at("link")).unwrap();
        std::os::unix::fs::symlink(at("nothing"), at("dangling")).unwrap();
        nix::unistd::mkfifo(&at("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert!(open(&at("file"), None).unwrap().is_some());
        assert!(open(&at("nothing"), None).unwrap().is_none());
        assert!(open(&at("file").join("below"), None).unwrap().is_none());
        for name in ["folder", "link", "dangling", "pipe"] {
            assert_eq!(open(&at(name), None).unwrap_err(), DistrustReason::NotRegular, "{name}");
        }
    }

    #[test]
    fn files_of_others_are_trusted_only_if_they_own_the_trajectory() {
        // Only root can give files away.
        if !geteuid().is_root() {
            eprintln!("skipped: needs root, to give a file to another user");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, b"x").unwrap();
        nix::unistd::chown(&path, Some(Uid::from_raw(4321)), None).unwrap();
        assert_eq!(open(&path, None).unwrap_err(), DistrustReason::Owner(4321));
        assert_eq!(open(&path, Some(0)).unwrap_err(), DistrustReason::Owner(4321));
        assert!(open(&path, Some(4321)).unwrap().is_some());
    }
}
