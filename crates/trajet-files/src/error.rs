//! The errors of this crate, with path, frame and byte offset.

use std::io;
use std::path::{Path, PathBuf};

use crate::range_bytes::RemoteFault;
use trajet_formats::memory::Refused;
use trajet_formats::{AtomsError, CannotHold, DecodeError, HeaderFault, format_names};

/// An error of this crate.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system reported an error.
    #[error("{}: cannot {doing}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The operation that failed.
        doing: &'static str,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The path is that of a folder or a device.
    #[error("{}: not a regular file: give the path of a trajectory", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
        /// Whether the path is that of a folder.
        folder: bool,
    },
    /// The file is empty.
    #[error("{}: the file is empty (0 bytes): no frame 0 at byte 0; was the copy cut short?", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// The first bytes belong to no supported format.
    #[error(
        "{}: frame 0 at byte 0: unrecognised trajectory format ({looks_like}): give a file of {}",
        path.display(),
        format_names()
    )]
    UnknownFormat {
        /// The file.
        path: PathBuf,
        /// A guess from the first bytes.
        looks_like: String,
    },
    /// The file uses a feature of its format that is not supported.
    #[error("{}: frame 0 at byte 0: {what}: {remedy}", path.display())]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// The feature, or the data that is missing.
        what: String,
        /// Advice to the user.
        remedy: &'static str,
    },
    /// A frame cannot be read with these options, or without further ones.
    #[error("{}: {what}: {remedy}", path.display())]
    Options {
        /// The file.
        path: PathBuf,
        /// The frame, and what is missing or contradicts the options.
        what: String,
        /// Advice to the user.
        remedy: &'static str,
    },
    /// The file ends inside a frame.
    #[error(
        "{}: cut inside frame {frame}, which begins at byte {offset} and needs {needed} bytes, \
         {left} are left: copy the file again{}",
        path.display(),
        whole_frames(*frame)
    )]
    Truncated {
        /// The file.
        path: PathBuf,
        /// The incomplete frame.
        frame: u64,
        /// Byte at which it begins.
        offset: u64,
        /// Bytes that the frame needs, or that its header needs if that is cut.
        needed: u64,
        /// Bytes from `offset` to the end of the file.
        left: u64,
    },
    /// The file has room for frames that were never written to it.
    #[error(
        "{}: frame {frame} was never written, although the file has room for {n_frames} frames: \
         let the program that writes it end{}",
        path.display(),
        whole_frames(*frame)
    )]
    Unwritten {
        /// The file.
        path: PathBuf,
        /// The first missing frame.
        frame: u64,
        /// Frames for which the file has room.
        n_frames: u64,
    },
    /// A variable of a frame was never written, although the file has room for it.
    #[error(
        "{}: frame {frame} at byte {offset}: its {variable} were never written (a fill value is there): leave such frames out, or let \
         the program that writes the file finish",
        path.display()
    )]
    UnwrittenField {
        /// The file.
        path: PathBuf,
        /// The frame.
        frame: u64,
        /// Byte at which it begins.
        offset: u64,
        /// The variable, by its name in the file, in the plural.
        variable: &'static str,
    },
    /// The times of some frames were never written, although the file has room for them.
    #[error(
        "{}: frame {frame}: its time was never written (the variable {variable} holds a fill value): {}",
        path.display(),
        match is_tail {
            true => "let the program that writes the file finish, read the frames before it with \
                     allow_truncated_tail=True, or give the time between frames with time_step=PS",
            false => "give the time between frames with time_step=PS",
        }
    )]
    UnwrittenTime {
        /// The file.
        path: PathBuf,
        /// The first frame without a time.
        frame: u64,
        /// The variable that holds the times.
        variable: &'static str,
        /// Whether frames before it have times, and none after it.
        is_tail: bool,
    },
    /// A frame has another number of atoms than the first.
    #[error(
        "{}: frame {frame} at byte {offset}: expected {expected} atoms as in frame 0, found \
         {found}: write frames of different systems to files of their own",
        path.display()
    )]
    AtomCount {
        /// The file.
        path: PathBuf,
        /// The frame.
        frame: u64,
        /// Byte at which it begins.
        offset: u64,
        /// Atoms of frame 0.
        expected: usize,
        /// Atoms of this frame.
        found: usize,
    },
    /// The bytes of a frame contradict the format.
    #[error("{}: frame {frame} at byte {offset} is corrupt: {fault}; copy the file again or end before this frame", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// The frame.
        frame: u64,
        /// Byte at which it begins.
        offset: u64,
        /// The fault.
        fault: DecodeError,
    },
    /// A compressed file cannot be uncompressed.
    #[error("{}: {compression} file, at byte {at}: {why}", path.display())]
    Compressed {
        /// The file.
        path: PathBuf,
        /// The compression.
        compression: &'static str,
        /// Byte of the file.
        at: u64,
        /// The cause, with advice.
        why: String,
    },
    /// A frame names other atoms than frame 0, or the same in another order.
    #[error(
        "{}: frame {frame} at byte {offset}: its atoms are not those of frame 0 in the same order: {what}: write the \
         frames again with the same atoms in one order, or text frames of each order to a file of its own (such \
         files are put in order when they are opened together)",
        path.display()
    )]
    OtherAtoms {
        /// The file.
        path: PathBuf,
        /// The frame.
        frame: u64,
        /// Byte at which it begins.
        offset: u64,
        /// The first atom that differs.
        what: String,
    },
    /// The cell record of a DCD frame does not have the form that the file declares.
    #[error(
        "{}: frame {frame} at byte {offset}: {what}: say which it is with \
         format_options={{\"dcd\": {{\"cell\": \"matrix\"}}}}, or \"angles\"",
        path.display()
    )]
    DcdCell {
        /// The file.
        path: PathBuf,
        /// The frame.
        frame: u64,
        /// Byte at which it begins.
        offset: u64,
        /// The record and its possible interpretations.
        what: String,
    },
    /// A frame is not the one that was indexed.
    #[error(
        "{}: frame {frame} at byte {offset} does not match the index: the file has \
         changed; open it again (or run the command again) to rebuild the index",
        path.display()
    )]
    Stale {
        /// The file.
        path: PathBuf,
        /// The frame.
        frame: u64,
        /// Byte at which it begins according to the index.
        offset: u64,
    },
    /// A file that was closed meanwhile has changed when it is reopened.
    #[error(
        "{}: the file has changed since it was opened first; open it again (or run the command \
         again) to rebuild the index",
        path.display()
    )]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// An object in remote storage cannot be read.
    #[error("{}: {why}", path.display())]
    Remote {
        /// The redacted URL of the object.
        path: PathBuf,
        /// The cause, with advice.
        why: String,
    },
    /// A file of a chain does not have as many atoms as the first one.
    #[error(
        "{}: {found} atoms, but {} has {expected}: files that are one trajectory hold the same atoms",
        path.display(),
        first.display()
    )]
    ChainAtoms {
        /// The file.
        path: PathBuf,
        /// Number of atoms in the file.
        found: usize,
        /// The first file of the chain.
        first: PathBuf,
        /// Number of atoms in the first file.
        expected: usize,
    },
    /// Repeated frames are to be dropped by times that the file does not state.
    #[error("{}: it states no times by which continuous=True could drop repeated frames: leave \
             that out, and give the time between frames with time_step=PS", path.display())]
    NoTimes {
        /// The file.
        path: PathBuf,
    },
    /// Repeated frames are to be dropped by times that are stored too coarsely.
    #[error("{}: its times are too large for single precision to tell its frames apart, and its steps only \
             number the frames, so that continuous=True cannot drop repeated frames: choose \
             frames of each file, or give the time between frames with time_step=PS and \
             leave that out", path.display())]
    CoarseTimes {
        /// The file.
        path: PathBuf,
    },
    /// The atoms of a file of a chain have other numbers than those of the first one that numbers its atoms.
    #[error(
        "{}: its atoms have other numbers (id) than those of {}: files that are one trajectory hold the same atoms",
        path.display(),
        first.display()
    )]
    ChainNumbers {
        /// The file.
        path: PathBuf,
        /// The first file of the chain that numbers its atoms.
        first: PathBuf,
    },
    /// The stored metadata of a partitioned trajectory is not what was written.
    #[error("{}: {what}: verify the store", path.display())]
    Partition {
        /// The file.
        path: PathBuf,
        /// The fault.
        what: String,
    },
    /// A file of a partitioned trajectory is missing, for a known reason.
    #[error("{}: file not found: {why}", path.display())]
    PartGone {
        /// The file.
        path: PathBuf,
        /// The reason, and advice to the user.
        why: String,
    },
    /// The bytes of a file are not those that were written.
    #[error("{}: {what}", path.display())]
    Altered {
        /// The file.
        path: PathBuf,
        /// The bytes that differ.
        what: String,
    },
    /// A file of a partitioned trajectory was changed.
    #[error("{error}: this file of {part} was changed from outside: {remedy}")]
    InPart {
        /// The error, in terms of the file.
        error: Box<Error>,
        /// The name of the part.
        part: String,
        /// Advice to the user.
        remedy: String,
    },
    /// An error in a frame of a file that is one of several in a chain.
    #[error("{error}{}", of_chain(*frame, *chained))]
    InChain {
        /// The error, in terms of the file.
        error: Box<Error>,
        /// The frame's number in its file.
        frame: u64,
        /// The frame's number in the chain.
        chained: u64,
    },
    /// A requested frame is past the end of the trajectory.
    #[error("{}: frame {frame} is out of range: the trajectory has {n_frames} frames, 0 to {}", path.display(), n_frames.saturating_sub(1))]
    FrameOutOfRange {
        /// The file.
        path: PathBuf,
        /// The requested frame.
        frame: i64,
        /// Frames in the trajectory.
        n_frames: u64,
    },
    /// A requested atom index is out of range.
    #[error("atom {atom} is out of range: the trajectory has {n_atoms} atoms, 0 to {}", n_atoms.saturating_sub(1))]
    AtomOutOfRange {
        /// The requested atom.
        atom: i64,
        /// Atoms in the trajectory.
        n_atoms: usize,
    },
    /// The format, or this file, does not have the requested field.
    #[error("{}: there are no {field} in this {format} file: read its positions only", path.display())]
    NoField {
        /// The file.
        path: PathBuf,
        /// Format of the file.
        format: &'static str,
        /// The requested field.
        field: &'static str,
    },
    /// The requested field was omitted from parts of a partitioned trajectory.
    #[error(
        "{}: no {what} for some of these atoms, since lossy tags omit them ({}): read positions \
         only, or atoms of other tags",
        path.display(),
        parts.join(", ")
    )]
    FieldOmitted {
        /// The folder of the partitioned trajectory.
        path: PathBuf,
        /// The names of the parts that omit it.
        parts: Vec<String>,
        /// The requested field.
        what: &'static str,
    },
    /// A transform cannot take a frame.
    #[error("{}: frame {frame}: {why}", path.display())]
    Transform {
        /// The file.
        path: PathBuf,
        /// The frame's number in the file.
        frame: u64,
        /// The cause, with advice.
        why: String,
    },
    /// The format of an output has no place for data that is to be written.
    #[error("{}: frame {frame}: {format} cannot hold {what}: {remedy}", path.display())]
    CannotHold {
        /// The output.
        path: PathBuf,
        /// The frame's number in the output.
        frame: u64,
        /// Format of the output.
        format: &'static str,
        /// The data that would be lost, or wrong.
        what: String,
        /// Advice to the user.
        remedy: &'static str,
    },
    /// The output exists already.
    #[error("{}: already exists: give another name, or replace it with force=True", path.display())]
    Exists {
        /// The output.
        path: PathBuf,
    },
    /// An output cannot be created or written.
    #[error("{}: cannot be written: {source}{}", path.display(), remedy(source))]
    Unwritable {
        /// The output.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A complete output cannot get its name.
    #[error(
        "{}: cannot be written: {source}{}: the complete file is {}: rename it",
        path.display(),
        remedy(source),
        kept.display()
    )]
    Unnamed {
        /// The output.
        path: PathBuf,
        /// Where its file is.
        kept: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The system refused the memory that a file or a request needs.
    #[error("cannot allocate {needed} bytes of memory for {what}")]
    Memory {
        /// Bytes needed.
        needed: u64,
        /// Purpose of the memory.
        what: &'static str,
    },
    /// The caller cancelled the operation.
    #[error("interrupted")]
    Interrupted,
}

impl From<Refused> for Error {
    fn from(refused: Refused) -> Self {
        Error::Memory { needed: refused.needed, what: refused.what }
    }
}

impl From<AtomsError> for Error {
    fn from(error: AtomsError) -> Self {
        match error {
            AtomsError::OutOfRange { atom, n_atoms } => Error::AtomOutOfRange { atom, n_atoms },
            AtomsError::Memory(refused) => refused.into(),
        }
    }
}

impl Error {
    /// Returns the error for data that the output at `path` cannot hold.
    pub fn of_output(path: &Path, error: CannotHold) -> Error {
        let CannotHold { frame, format, what, remedy } = error;
        Error::CannotHold { path: path.to_owned(), frame, format, what, remedy }
    }

    /// Returns the error for a range of a remote object that was not returned.
    pub fn of_remote(path: &Path, fault: RemoteFault) -> Error {
        let path = path.to_owned();
        let io = |kind, why: String| Error::Io {
            path: path.clone(),
            doing: "read it",
            source: io::Error::new(kind, why),
        };
        match fault {
            RemoteFault::Replaced => Error::Changed { path },
            RemoteFault::Interrupted => Error::Interrupted,
            RemoteFault::Missing(why) => io(io::ErrorKind::NotFound, why),
            RemoteFault::Denied(why) => io(io::ErrorKind::PermissionDenied, why),
            RemoteFault::Failed(why) => Error::Remote { path, why },
        }
    }

    /// Returns the error for a fault in the bytes of a frame that begins at byte `offset`.
    pub(crate) fn of_frame(path: &Path, frame: u64, offset: u64, fault: DecodeError) -> Error {
        match fault {
            DecodeError::Memory { needed, what } => Error::Memory { needed, what },
            DecodeError::Options { what, remedy } => {
                let what = format!("frame {frame} at byte {offset}: {what}");
                Error::Options { path: path.to_owned(), what, remedy }
            }
            fault => Error::Corrupt { path: path.to_owned(), frame, offset, fault },
        }
    }

    /// Returns the error for a fault in the header of a file.
    pub(crate) fn of_header(path: &Path, fault: HeaderFault) -> Error {
        let owned = || path.to_owned();
        match fault {
            HeaderFault::Corrupt(fault) => Error::of_frame(path, 0, 0, fault),
            HeaderFault::Truncated { frame, offset, needed, left } => {
                Error::Truncated { path: owned(), frame, offset, needed, left }
            }
            HeaderFault::Unknown { looks_like } => {
                Error::UnknownFormat { path: owned(), looks_like }
            }
            HeaderFault::Unsupported { what, remedy } => {
                Error::Unsupported { path: owned(), what, remedy }
            }
            HeaderFault::Changed => Error::Changed { path: owned() },
        }
    }

    /// Returns whether the error means that the bytes of a file are not what they should be.
    pub fn is_damage(&self) -> bool {
        matches!(
            self.root(),
            Error::Altered { .. }
                | Error::AtomCount { .. }
                | Error::ChainAtoms { .. }
                | Error::Changed { .. }
                | Error::CoarseTimes { .. }
                | Error::Compressed { .. }
                | Error::Corrupt { .. }
                | Error::DcdCell { .. }
                | Error::Empty { .. }
                | Error::NoTimes { .. }
                | Error::Stale { .. }
                | Error::Truncated { .. }
                | Error::UnknownFormat { .. }
                | Error::Unsupported { .. }
                | Error::Unwritten { .. }
                | Error::UnwrittenField { .. }
                | Error::UnwrittenTime { .. }
        )
    }

    /// Returns the error in terms of one file.
    pub fn root(&self) -> &Error {
        match self {
            Error::InChain { error, .. } => error.root(),
            other => other,
        }
    }

    /// Returns the path of the file that has changed since it was indexed, if that is the error.
    pub fn changed(&self) -> Option<&Path> {
        match self.root() {
            Error::Changed { path } | Error::Stale { path, .. } => Some(path),
            _ => None,
        }
    }
}

/// Returns the end of a message, which relates a file's frame number to that in the chain.
pub fn of_chain(frame: u64, chained: u64) -> String {
    format!(" (frame {frame} of this file is frame {chained} of the chain)")
}

/// Returns advice to the user about an output that cannot be written.
fn remedy(source: &io::Error) -> &'static str {
    use io::ErrorKind::{PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    match source.kind() {
        StorageFull | QuotaExceeded => ": make room, or write it elsewhere",
        PermissionDenied | ReadOnlyFilesystem => ": write it where you may",
        _ => "",
    }
}

/// Returns advice to the user about a file whose frames before `frame` are whole.
fn whole_frames(frame: u64) -> String {
    match frame {
        0 => "; not even one frame is whole".to_owned(),
        n => format!(", or read the {n} whole frames before it with allow_truncated_tail=True"),
    }
}
