//! Errors of topology files and selections.

use std::fmt;
use std::path::PathBuf;

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
        /// Where in the file.
        location: Location,
        /// What is wrong and what was expected.
        reason: String,
    },
    /// A binary file is malformed.
    #[error("{}: byte {byte}: {reason}", path.display())]
    MalformedBinary {
        /// The file.
        path: PathBuf,
        /// The offset in the file.
        byte: u64,
        /// What is wrong and what was expected.
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
}
