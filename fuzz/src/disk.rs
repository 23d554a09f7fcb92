//! Inputs as files.

use std::path::{Path, PathBuf};

/// A temporary file, which is removed with its folder at the end of the case.
pub(crate) struct OnDisk {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

impl OnDisk {
    /// Writes the file, to memory if the system has such a file system.
    pub(crate) fn new(bytes: &[u8]) -> OnDisk {
        OnDisk::named(bytes, "input")
    }

    /// Writes the file as [`OnDisk::new`] does, under a name.
    pub(crate) fn named(bytes: &[u8], name: &str) -> OnDisk {
        let memory = Path::new("/dev/shm");
        let folder = match memory.is_dir() {
            true => tempfile::tempdir_in(memory),
            false => tempfile::tempdir(),
        };
        let folder = folder.expect("a folder can be made");
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).expect("the input can be written");
        OnDisk { _folder: folder, path }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}
