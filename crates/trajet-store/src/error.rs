//! What a store refuses, and what can go wrong in it.

use std::io;
use std::path::{Path, PathBuf};

use trajet_engine::RunError;

/// Why something was not done. Whatever it was, the store is as it was before.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system refused.
    #[error("{}: cannot {doing}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What was tried.
        doing: &'static str,
        /// The reason given.
        source: io::Error,
    },
    /// A trajectory could not be read.
    #[error(transparent)]
    Input(#[from] trajet_io::Error),
    /// Frames could not be divided.
    #[error("{0}")]
    Run(RunError),
    /// There is no store.
    #[error("{}: is no store: make one with trajet store add", folder.display())]
    NoStore {
        /// Where one was looked for.
        folder: PathBuf,
    },
    /// There is no such data set.
    #[error("{}: has no data set {name:?}: it has {}", store.display(), listed(known))]
    NoDataset {
        /// The store.
        store: PathBuf,
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// The data set is there already.
    #[error("{}: has a data set {name:?} already: remove it first, or choose another name", store.display())]
    Exists {
        /// The store.
        store: PathBuf,
        /// What was to be added.
        name: String,
    },
    /// There is no such tag.
    #[error("{dataset}: has no tag {tag:?}: it has {}", listed(known))]
    NoTag {
        /// The data set.
        dataset: String,
        /// What was asked for.
        tag: String,
        /// What there is.
        known: Vec<String>,
    },
    /// There is no such tier.
    #[error("{}: has no tier {tier:?}: it has {}", store.display(), listed(known))]
    NoTier {
        /// The store.
        store: PathBuf,
        /// What was asked for.
        tier: String,
        /// What there is.
        known: Vec<String>,
    },
    /// The folder of a tier is not there.
    #[error(
        "tier {tier:?}: its folder {} is not there: is it mounted? Where it was moved alone, change it in {}",
        folder.display(), settings.display()
    )]
    TierGone {
        /// Its name.
        tier: String,
        /// Its folder.
        folder: PathBuf,
        /// Where the folder stands.
        settings: PathBuf,
    },
    /// The folder of a tier is there, and what is in it is not the tier.
    #[error("tier {tier:?}: nothing seems to be mounted on its folder {}: {what}", folder.display())]
    TierUnmounted {
        /// Its name.
        tier: String,
        /// Its folder.
        folder: PathBuf,
        /// What is missing there, and what to do.
        what: String,
    },
    /// The store is a copy of another one, whose files on tiers are its own, too.
    #[error(
        "{}: is a copy of the store in {}, and its tiers have the files of that one: change that one, or give \
         this one copies of the tiers, and their folders and its own in {}",
        folder.display(), original.display(), settings.display()
    )]
    Copied {
        /// The copy.
        folder: PathBuf,
        /// Where its settings were written.
        original: PathBuf,
        /// Where folders stand.
        settings: PathBuf,
    },
    /// The store's folder was moved with tiers in it.
    #[error(
        "{}: was moved here from {} with tiers in it: trajet store repair finds them",
        folder.display(), was.display()
    )]
    Moved {
        /// Where it is.
        folder: PathBuf,
        /// Where it was.
        was: PathBuf,
    },
    /// A tier has no room.
    #[error(
        "tier {tier:?}: {needed} bytes more would be above its limit of {limit}, of which {used} are \
         used: move a tag to another tier, or raise the limit, in the profile and in {}", settings.display()
    )]
    TierFull {
        /// Its name.
        tier: String,
        /// Bytes that were to be added.
        needed: u64,
        /// Bytes of this store that are there.
        used: u64,
        /// Most bytes.
        limit: u64,
        /// Where the limit stands.
        settings: PathBuf,
    },
    /// Somebody else changed the data set meanwhile.
    #[error("{dataset}: was changed by somebody else meanwhile: nothing was done here; try again")]
    Meanwhile {
        /// The data set.
        dataset: String,
    },
    /// A file that the store wrote is not what it was.
    #[error("{}: {what}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong, and what to do.
        what: String,
    },
    /// A file of HDF5 could not be written.
    #[error("{}: {what}", path.display())]
    Hdf5 {
        /// The file.
        path: PathBuf,
        /// Why.
        what: String,
    },
    /// A manifest of a later version.
    #[error(
        "{}: is of schema {found}, and this version knows up to {known}: use a newer trajet",
        path.display()
    )]
    Schema {
        /// The manifest.
        path: PathBuf,
        /// What it says.
        found: u32,
        /// The latest that is known.
        known: u32,
    },
    /// Something was asked for that cannot be.
    #[error("{0}")]
    Refused(String),
    /// The user asked to stop.
    #[error("interrupted")]
    Interrupted,
}

impl Error {
    /// Turns an error of the operating system into one that says where and at what.
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

fn listed(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
