//! Errors of stores.

use std::io;
use std::path::{Path, PathBuf};

use trajet_engine::RunError;

use crate::manifest::SCHEMA;

/// An error of an operation on a store. The store is unchanged after any of them.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An error of the operating system.
    #[error("{}: cannot {doing}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The failed action.
        doing: &'static str,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A trajectory could not be read.
    #[error(transparent)]
    Input(#[from] trajet_files::Error),
    /// Reading, encoding or writing frames failed.
    #[error("{0}")]
    Run(RunError),
    /// There is no store in the folder.
    #[error("{}: not a store: create one with trajet store add", folder.display())]
    NoStore {
        /// The folder.
        folder: PathBuf,
    },
    /// The data set does not exist.
    #[error("{}: has no data set {name:?}: it has {}", store.display(), listed(known))]
    NoDataset {
        /// The store.
        store: PathBuf,
        /// The requested name.
        name: String,
        /// The existing names.
        known: Vec<String>,
    },
    /// A data set of that name exists already.
    #[error("{}: has a data set {name:?} already: remove it first, or choose another name", store.display())]
    Exists {
        /// The store.
        store: PathBuf,
        /// The requested name.
        name: String,
    },
    /// The tag does not exist.
    #[error("{dataset}: has no tag {tag:?}: it has {}", listed(known))]
    NoTag {
        /// The data set.
        dataset: String,
        /// The requested tag.
        tag: String,
        /// The existing tags.
        known: Vec<String>,
    },
    /// The tier does not exist.
    #[error("{}: has no tier {tier:?}: it has {}", store.display(), listed(known))]
    NoTier {
        /// The store.
        store: PathBuf,
        /// The requested tier.
        tier: String,
        /// The existing tiers.
        known: Vec<String>,
    },
    /// The folder of a tier does not exist.
    #[error(
        "tier {tier:?}: folder {} not found: is it mounted? If it was moved without the store, change its path in {}",
        folder.display(), settings.display()
    )]
    TierGone {
        /// Its name.
        tier: String,
        /// Its folder.
        folder: PathBuf,
        /// The file to change if the folder was moved.
        settings: PathBuf,
    },
    /// The folder of a tier exists, but lacks the tier's files, as if nothing were mounted on it.
    #[error("tier {tier:?}: nothing seems to be mounted on its folder {}: {what}", folder.display())]
    TierUnmounted {
        /// Its name.
        tier: String,
        /// Its folder.
        folder: PathBuf,
        /// The missing file, with advice.
        what: String,
    },
    /// The store is a copy of another one and shares its tiers.
    #[error(
        "{}: this is a copy of the store {} and shares its tiers: change the original, or copy the tiers as well \
         and set the paths of the copies and of this folder in {}",
        folder.display(), original.display(), settings.display()
    )]
    Copied {
        /// Folder of the copy.
        folder: PathBuf,
        /// Folder of the original.
        original: PathBuf,
        /// The file that names the folders.
        settings: PathBuf,
    },
    /// The store was moved together with tiers inside its folder.
    #[error(
        "{}: was moved from {}, with tiers inside: trajet store repair sets their new paths",
        folder.display(), was.display()
    )]
    Moved {
        /// The present folder.
        folder: PathBuf,
        /// The former folder.
        was: PathBuf,
    },
    /// The limit of a tier would be exceeded.
    #[error(
        "tier {tier:?}: {needed} more bytes would exceed its limit of {limit} bytes ({used} are used): \
         move a tag to another tier, or raise the limit in the profile and in {}", settings.display()
    )]
    TierFull {
        /// Its name.
        tier: String,
        /// Bytes to be added.
        needed: u64,
        /// Bytes of this store on the tier.
        used: u64,
        /// The limit in bytes.
        limit: u64,
        /// The file in which the limit is set.
        settings: PathBuf,
    },
    /// Another process changed the data set during the operation.
    #[error(
        "{dataset}: was changed by another process in the meantime: nothing was done; try again"
    )]
    Meanwhile {
        /// The data set.
        dataset: String,
    },
    /// A file of the store was modified or is inconsistent.
    #[error("{}: {what}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The cause, with advice.
        what: String,
    },
    /// An HDF5 file could not be written.
    #[error("{}: {what}", path.display())]
    Hdf5 {
        /// The file.
        path: PathBuf,
        /// The error message.
        what: String,
    },
    /// The settings or a manifest have another schema than this version writes.
    #[error("{}: has schema {found}, but this version reads schema {SCHEMA}: {advice}", path.display())]
    Schema {
        /// The file.
        path: PathBuf,
        /// Its schema.
        found: u32,
        /// The commands that rebuild an older store.
        advice: String,
    },
    /// The request is invalid or impossible.
    #[error("{0}")]
    Refused(String),
    /// The user interrupted the operation.
    #[error("interrupted")]
    Interrupted,
}

impl Error {
    /// Returns a function that adds path and action to an error of the operating system.
    pub(crate) fn io(path: &Path, doing: &'static str) -> impl FnOnce(io::Error) -> Error {
        move |source| Error::Io { path: path.to_owned(), doing, source }
    }

    pub(crate) fn damaged(path: &Path, what: impl Into<String>) -> Error {
        Error::Damaged { path: path.to_owned(), what: what.into() }
    }
}

impl From<RunError> for Error {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Interrupted => Error::Interrupted,
            other => Error::Run(other),
        }
    }
}

/// Returns a path as one argument of a shell command that a message advises.
pub(crate) fn shell_argument(path: &Path) -> String {
    let path = path.to_string_lossy();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:,=@%".contains(c);
    if !path.is_empty() && path.chars().all(is_plain) {
        return path.into_owned();
    }
    format!("'{}'", path.replace('\'', r"'\''"))
}

fn listed(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;

    use proptest::prelude::*;

    use super::shell_argument;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn shell_reads_a_path_as_one_argument(path in "[a-z /.$'\"\\\\*é~!&-]{1,20}") {
            let command = format!("printf %s {}", shell_argument(Path::new(&path)));
            let done = Command::new("sh").arg("-c").arg(command).output()?;
            prop_assert_eq!(String::from_utf8(done.stdout)?, path);
        }
    }
}
