//! Errors of topology files and selections.

use std::fmt;
use std::path::{Path, PathBuf};

use trajet_kernels::memory::{self, NoMemory};

/// A place in a text file, counted from 1; 0 where the line as a whole is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// The line.
    pub line: u64,
    /// The column in bytes.
    pub column: u64,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}", self.line)?;
        if self.column > 0 {
            write!(f, ", column {}", self.column)?;
        }
        Ok(())
    }
}

/// Why a topology file cannot be read or a selection cannot be evaluated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system reported an error.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error.
        error: std::io::Error,
    },
    /// A text file is malformed.
    #[error("{}: {location}: {reason}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The place in the file.
        location: Location,
        /// The fault, and the expected content.
        reason: String,
    },
    /// A binary file is malformed.
    #[error("{}: byte {byte}: {reason}", path.display())]
    MalformedBinary {
        /// The file.
        path: PathBuf,
        /// The offset in the file.
        byte: u64,
        /// The fault, and the expected content.
        reason: String,
    },
    /// The file is of a version or kind that is not read.
    #[error("{}: {reason}", path.display())]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// The version or kind, and what to do.
        reason: String,
    },
    /// The path is a folder, a pipe or a device.
    #[error("{}: {}", path.display(), if *folder { "is a folder" } else { "not a regular file" })]
    NotAFile {
        /// The path.
        path: PathBuf,
        /// Whether it is a folder.
        folder: bool,
    },
    /// The system refused to give memory.
    #[error("{}: not enough memory for {needed} bytes of {what}", path.display())]
    Memory {
        /// The file.
        path: PathBuf,
        /// The number of bytes.
        needed: u64,
        /// The purpose.
        what: &'static str,
    },
}

/// The reason why bytes cannot be parsed. Parsers do not know the path; [`TopologyError::in_file`] adds it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TopologyError {
    /// A text is malformed.
    Malformed(Location, String),
    /// Binary data is malformed at this byte.
    MalformedBinary(u64, String),
    /// The version or kind is not read.
    Unsupported(String),
    /// The system refused to give memory: the number of bytes, and their purpose.
    Memory(u64, &'static str),
}

impl TopologyError {
    /// Returns the fault of a line and column, both counted from 1; column 0 stands for the whole line.
    pub fn at(line: u64, column: u64, reason: impl Into<String>) -> Self {
        TopologyError::Malformed(Location { line, column }, reason.into())
    }

    /// Returns the error that names the file as well.
    pub fn in_file(self, path: &Path) -> Error {
        let path = path.to_owned();
        match self {
            TopologyError::Malformed(location, reason) => {
                Error::Malformed { path, location, reason }
            }
            TopologyError::MalformedBinary(byte, reason) => {
                Error::MalformedBinary { path, byte, reason }
            }
            TopologyError::Unsupported(reason) => Error::Unsupported { path, reason },
            TopologyError::Memory(needed, what) => Error::Memory { path, needed, what },
        }
    }
}

/// Reserves capacity for `more` further elements.
///
/// # Errors
/// [`TopologyError::Memory`]; the process does not end.
pub(crate) fn reserve<T>(
    vector: &mut Vec<T>,
    more: usize,
    what: &'static str,
) -> Result<(), TopologyError> {
    Ok(memory::reserve(vector, more, what)?)
}

impl From<NoMemory> for TopologyError {
    fn from(NoMemory { needed, what }: NoMemory) -> Self {
        TopologyError::Memory(needed, what)
    }
}

/// Appends the last `n` elements again, `times` times.
///
/// # Errors
/// [`TopologyError::Memory`].
///
/// # Panics
/// If there are fewer than `n` elements.
pub(crate) fn repeat_tail<T: Copy>(
    vector: &mut Vec<T>,
    n: usize,
    times: usize,
    what: &'static str,
) -> Result<(), TopologyError> {
    let mut left = n.saturating_mul(times);
    reserve(vector, left, what)?;
    let start = vector.len() - n;
    // Twice as many elements each time: few copies, however short the tail is.
    while left > 0 {
        let some = left.min(vector.len() - start);
        vector.extend_from_within(start..start + some);
        left -= some;
    }
    Ok(())
}
