//! The possible paths of a sidecar, and reading and writing its bytes there.

use std::collections::hash_map::RandomState;
use std::fs;
use std::hash::{BuildHasher, Hasher};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use trajet_formats::xxh3_64;

use super::place;

/// Characters at the end of an object's name that are a part of the names of its sidecars.
const STEM_CHARS: usize = 48;

/// The possible paths of a file's sidecar, best first.
#[derive(Clone, Debug)]
pub(crate) struct Paths {
    candidates: Vec<PathBuf>,
    /// Number of leading candidates beside the file; the others are in the cache folder.
    n_beside: usize,
    /// User id of the owner of the file.
    owner: Option<u32>,
}

impl Paths {
    /// Returns the possible paths of the sidecar of `file`, which belongs to the user `owner`: beside it, unless
    /// `beside` is false, then in the folder `kind` of `cache`. The name ends in `.trajet-KIND`.
    pub(crate) fn of(
        file: &Path,
        owner: Option<u32>,
        kind: &str,
        beside: bool,
        cache: Option<&Path>,
    ) -> Self {
        let absolute = fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
        let name = absolute.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut candidates = Vec::new();
        if beside {
            candidates.push(absolute.with_file_name(format!(".{name}.trajet-{kind}")));
        }
        let n_beside = candidates.len();
        if let Some(cache) = cache {
            // The digest distinguishes files of one name in different folders.
            let digest = xxh3_64(absolute.as_os_str().as_encoded_bytes());
            candidates.push(cache.join(kind).join(format!("{digest:016x}-{name}.trajet-{kind}")));
        }
        Paths { candidates, n_beside, owner }
    }

    /// Returns the possible paths of the sidecar of an object in remote storage: one in `cache`, which is that of this
    /// version alone.
    pub(crate) fn of_object(name: &Path, version: &str, kind: &str, cache: Option<&Path>) -> Self {
        let stem = name.file_name().unwrap_or_default().to_string_lossy();
        // Keys may be longer than names of files.
        let from = stem.char_indices().rev().nth(STEM_CHARS - 1).map_or(0, |(at, _)| at);
        let stem = &stem[from..];
        let mut key = name.as_os_str().as_encoded_bytes().to_vec();
        key.push(0);
        key.extend_from_slice(version.as_bytes());
        let digest = xxh3_64(&key);
        let path =
            |cache: &Path| cache.join(kind).join(format!("{digest:016x}-{stem}.trajet-{kind}"));
        Paths { candidates: cache.map(path).into_iter().collect(), n_beside: 0, owner: None }
    }

    /// Returns the paths, best first.
    pub(crate) fn candidates(&self) -> &[PathBuf] {
        &self.candidates
    }

    /// Returns the bytes of the sidecar at one of the paths; `None` if it is not there, not trusted (module `place`)
    /// or longer than `most` bytes.
    pub(crate) fn read(&self, path: &Path, most: u64) -> Option<Vec<u8>> {
        let file = place::open(path, self.owner).ok()??;
        let len = file.metadata().ok()?.len();
        if len > most {
            return None;
        }
        // Reading one byte more detects a file that grew meanwhile.
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(usize::try_from(len).ok()?.checked_add(1)?).ok()?;
        file.take(len + 1).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    /// Writes the sidecar to the first possible path and returns that; `None` if there is none. Files that are not
    /// trusted are never replaced: two users of one folder would replace each other's sidecars for ever.
    pub(crate) fn write(&self, bytes: &[u8]) -> Option<PathBuf> {
        self.candidates.iter().enumerate().find_map(|(k, path)| {
            place::open(path, self.owner).ok()?;
            if k >= self.n_beside {
                // The cache folder is made when it is needed.
                fs::create_dir_all(path.parent()?).ok()?;
            }
            write_beside_and_rename(path, bytes).ok()?;
            Some(path.clone())
        })
    }

    /// Returns the first existing sidecar that is not trusted, with the reason.
    pub(crate) fn untrusted(&self) -> Option<(&Path, String)> {
        self.candidates
            .iter()
            .find_map(|path| Some((&**path, place::open(path, self.owner).err()?.to_string())))
    }
}

/// Writes a file atomically: readers see the old file or the new one. A failed attempt leaves no file behind.
fn write_beside_and_rename(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    // Hash maps are seeded with random numbers: nobody can predict the name and create the file first.
    let random = RandomState::new().build_hasher().finish();
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}-{random:016x}.tmp", std::process::id()));
    let temporary = PathBuf::from(name);
    let written = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&temporary)
        .and_then(|mut file| file.write_all(bytes).and_then(|()| fs::rename(&temporary, path)));
    if written.is_err() {
        // If the file cannot be removed either, it stays.
        let _ = fs::remove_file(&temporary);
    }
    written
}
