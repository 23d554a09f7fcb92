//! Errors between a host and a trajectory, as messages for the host's console.

use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Trajectory(#[from] trajet_files::Error),
    #[error(transparent)]
    Store(#[from] trajet_store::Error),
    #[error("{}: the pointer file cannot be read: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{}: line {line}: {what}", path.display())]
    Pointer { path: PathBuf, line: usize, what: String },
    #[error(
        "{}: {found} atoms, but the host asks for {expected}: load it into the molecule it belongs to",
        path.display()
    )]
    AtomCount { path: PathBuf, found: usize, expected: i64 },
    #[error("{}: {found} atoms are more than the interface can count", path.display())]
    TooManyAtoms { path: PathBuf, found: usize },
    #[error("{}: no frame is read after one that could not be", path.display())]
    Failed { path: PathBuf },
    #[error("the host gave no {0}")]
    Missing(&'static str),
    /// An invalid value of the variable that selects an instruction set.
    #[error("{0}")]
    InstructionSet(String),
    #[error("the host takes plug-ins of none of the versions 16 to 18 of the molfile interface")]
    Refused,
    #[error("internal error, please report it")]
    Panicked,
}
