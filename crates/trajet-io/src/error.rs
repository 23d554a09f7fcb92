//! What can go wrong between a path and its coordinates, with path, frame and byte offset.

use std::io;
use std::path::{Path, PathBuf};

/// What is wrong with the bytes of one frame.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Fault {
    /// The frame does not begin with a magic number of the format.
    #[error("a frame begins with the magic number {found}, expected 1995 or 2023")]
    Magic {
        /// The number in the file.
        found: i32,
    },
    /// The header claims an impossible number of atoms.
    #[error("the header claims {found} atoms")]
    AtomCount {
        /// The number in the file.
        found: i32,
    },
    /// The two atom counts of one frame disagree.
    #[error("the header claims {header} atoms, the coordinates {coordinates}")]
    AtomCountTwice {
        /// Atoms by the frame's header.
        header: i32,
        /// Atoms by the header of the compressed coordinates.
        coordinates: i32,
    },
    /// The precision is not a positive number.
    #[error("the precision is {found}, expected a positive number")]
    Precision {
        /// The number in the file.
        found: f32,
    },
    /// The largest coordinate of an axis is below the smallest.
    #[error("axis {axis} spans {min} to {max}")]
    Range {
        /// 0, 1 or 2.
        axis: usize,
        /// Smallest integer coordinate by the header.
        min: i32,
        /// Largest integer coordinate by the header.
        max: i32,
    },
    /// The index of the small size is outside of the format's table.
    #[error("the index of the small size is {found}, expected 9 to 72")]
    SmallIndex {
        /// The number in the file, or reached by the stream.
        found: i64,
    },
    /// The byte count cannot belong to this number of atoms.
    #[error("{bytes} bytes are claimed for {atoms} atoms, which need {least} to {most}")]
    ByteCount {
        /// Bytes of compressed coordinates by the header.
        bytes: u64,
        /// Atoms of the frame.
        atoms: u64,
        /// Fewest bytes that the format can spend.
        least: u64,
        /// Most bytes that the format can spend.
        most: u64,
    },
    /// The compressed coordinates end before the last atom.
    #[error("the compressed coordinates end at atom {atom}")]
    Exhausted {
        /// The first atom of the group that does not fit.
        atom: usize,
    },
    /// Bytes are left after the last atom.
    #[error("the compressed coordinates fill {used} of the {claimed} bytes claimed")]
    Leftover {
        /// Bytes that the atoms take.
        used: u64,
        /// Bytes by the header.
        claimed: u64,
    },
    /// A group of atoms goes past the last atom.
    #[error("a run of atoms begun at atom {atom} goes past the last one")]
    Overrun {
        /// The first atom of the group.
        atom: usize,
    },
    /// A coordinate is outside the range that its own header allows.
    #[error("a coordinate lies outside of the range that the frame declares")]
    OutsideRange,
    /// A number of the box is NaN or infinite.
    #[error("its box has a number that is not finite")]
    Box,
    /// The system refuses the memory that the frame needs; readers return [`Error::Memory`] for it.
    #[error("{needed} bytes of memory are needed for {what}")]
    Memory {
        /// Bytes.
        needed: u64,
        /// What they are for.
        what: &'static str,
    },
    /// Anything else, in words.
    #[error("{0}")]
    Malformed(String),
}

/// Everything that can go wrong in this crate.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system refused.
    #[error("{}: cannot {doing}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was tried.
        doing: &'static str,
        /// The reason given.
        source: io::Error,
    },
    /// The path names a folder or a device.
    #[error("{}: not a regular file: give the path of a trajectory", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
        /// Whether it is a folder.
        folder: bool,
    },
    /// The file has no byte.
    #[error("{}: the file is empty (0 bytes): no frame 0 at byte 0; was the copy cut short?", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// The first bytes are of no format that is read here.
    #[error("{}: frame 0 at byte 0: of no format that is read ({looks_like}): XTC, TRR, DCD, NCDF (Amber's NetCDF 3) and H5MD are, and the topology comes before the trajectory", path.display())]
    UnknownFormat {
        /// The file.
        path: PathBuf,
        /// What the first bytes suggest.
        looks_like: String,
    },
    /// The file is of a format that is read, but holds what is not.
    #[error("{}: frame 0 at byte 0: {what}: {remedy}", path.display())]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// What it holds, or lacks.
        what: String,
        /// What to do about it.
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
        /// The frame that is not whole.
        frame: u64,
        /// Where it begins.
        offset: u64,
        /// Bytes that the frame needs (of its header, where that is cut).
        needed: u64,
        /// Bytes from `offset` to the end of the file.
        left: u64,
    },
    /// The file has room for frames that were never written.
    #[error(
        "{}: frame {frame} was never written, although the file has room for {n_frames} frames: \
         let the program that writes it end{}",
        path.display(),
        whole_frames(*frame)
    )]
    Unwritten {
        /// The file.
        path: PathBuf,
        /// The first frame that is not there.
        frame: u64,
        /// Frames for which there is room.
        n_frames: u64,
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
        /// Where it begins.
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
        /// Where it begins.
        offset: u64,
        /// What is wrong.
        fault: Fault,
    },
    /// The cell record of a DCD file has another form than the file says.
    #[error(
        "{}: frame {frame} at byte {offset}: {what}: say which it is with --dcd-cell matrix or --dcd-cell \
         angles (dcd_cell=\"matrix\", dcd_cell=\"angles\")",
        path.display()
    )]
    DcdCell {
        /// The file.
        path: PathBuf,
        /// The frame.
        frame: u64,
        /// Where it begins.
        offset: u64,
        /// The record and its readings.
        what: String,
    },
    /// A frame does not begin where the index says.
    #[error(
        "{}: frame {frame} at byte {offset} is not the one that the index knows: the file has \
         changed; open it again (or run the command again) to index it anew",
        path.display()
    )]
    Stale {
        /// The file.
        path: PathBuf,
        /// The frame.
        frame: u64,
        /// Where the index puts it.
        offset: u64,
    },
    /// A file that was closed meanwhile is another one when it is opened again.
    #[error(
        "{}: the file has changed since it was opened first; open it again (or run the command \
         again) to index it anew",
        path.display()
    )]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// A file of a chain has another number of atoms than the first one.
    #[error(
        "{}: {found} atoms, but {} has {expected}: files that are one trajectory hold the same atoms",
        path.display(),
        first.display()
    )]
    ChainAtoms {
        /// The file.
        path: PathBuf,
        /// Its atoms.
        found: usize,
        /// The first file of the chain.
        first: PathBuf,
        /// Its atoms.
        expected: usize,
    },
    /// What a store keeps of a divided trajectory is not what was written.
    #[error("{}: {what}: verify the store", path.display())]
    Division {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// A file of a divided trajectory is not there, for a reason that is known.
    #[error("{}: is not there: {why}", path.display())]
    PartGone {
        /// The file.
        path: PathBuf,
        /// Why, and what to do.
        why: String,
    },
    /// Bytes are not those that were written.
    #[error("{}: {what}", path.display())]
    Altered {
        /// The file.
        path: PathBuf,
        /// Which bytes.
        what: String,
    },
    /// A file of a divided trajectory is not what was written.
    #[error("{error}: this file of {part} was changed from outside: {remedy}")]
    InPart {
        /// What is wrong, in terms of the file.
        error: Box<Error>,
        /// Whose atoms it has.
        part: String,
        /// What to do about it.
        remedy: String,
    },
    /// Something is wrong with a frame of a file that is one of several.
    #[error("{error}{}", of_chain(*frame, *chained))]
    InChain {
        /// What is wrong, in terms of the file.
        error: Box<Error>,
        /// The frame's number in its file.
        frame: u64,
        /// Its number in the chain.
        chained: u64,
    },
    /// A frame number past the end was asked for.
    #[error("{}: frame {frame} is out of range: the trajectory has {n_frames} frames, 0 to {}", path.display(), n_frames.saturating_sub(1))]
    FrameOutOfRange {
        /// The file.
        path: PathBuf,
        /// The frame asked for.
        frame: i64,
        /// Frames in the trajectory.
        n_frames: u64,
    },
    /// An atom index past the end was asked for.
    #[error("atom {atom} is out of range: the trajectory has {n_atoms} atoms, 0 to {}", n_atoms.saturating_sub(1))]
    AtomOutOfRange {
        /// The atom asked for.
        atom: i64,
        /// Atoms in the trajectory.
        n_atoms: usize,
    },
    /// The format, or this file, has no such vectors.
    #[error("{}: there are no {field} in this {format} file: read its positions only", path.display())]
    NoField {
        /// The file.
        path: PathBuf,
        /// Its format.
        format: &'static str,
        /// Which vectors were asked for.
        field: &'static str,
    },
    /// Parts of a divided trajectory were allowed to lose what is asked for.
    #[error(
        "{}: has no {what} of all these atoms, lossy tags have let go of them ({}): read positions \
         only, or atoms of other tags",
        path.display(),
        parts.join(", ")
    )]
    LetGo {
        /// What stands for the trajectory.
        path: PathBuf,
        /// The parts.
        parts: Vec<String>,
        /// What was asked for.
        what: &'static str,
    },
    /// An output's format has no place for something that it is to hold.
    #[error("{}: frame {frame}: {format} cannot hold {what}: {remedy}", path.display())]
    CannotHold {
        /// The output.
        path: PathBuf,
        /// Its frame.
        frame: u64,
        /// Its format.
        format: &'static str,
        /// What would be lost, or wrong.
        what: String,
        /// What to do about it.
        remedy: &'static str,
    },
    /// An output is there already.
    #[error("{}: is there already: give another name, or replace it with --force (force=True)", path.display())]
    Exists {
        /// The output.
        path: PathBuf,
    },
    /// The operating system refused to make or to write an output.
    #[error("{}: cannot be written: {source}{}", path.display(), remedy(source))]
    Unwritable {
        /// The output.
        path: PathBuf,
        /// The reason given.
        source: io::Error,
    },
    /// The system has not got the memory that a file or a request needs.
    #[error("{needed} bytes of memory are needed for {what}, and the system refuses them")]
    Memory {
        /// Bytes.
        needed: u64,
        /// What they are for.
        what: &'static str,
    },
    /// The caller asked to stop.
    #[error("interrupted")]
    Interrupted,
}

impl Error {
    /// Whether the bytes of a file are not what they should be.
    pub(crate) fn is_damage(&self) -> bool {
        matches!(
            self.root(),
            Error::Altered { .. }
                | Error::AtomCount { .. }
                | Error::ChainAtoms { .. }
                | Error::Changed { .. }
                | Error::Corrupt { .. }
                | Error::DcdCell { .. }
                | Error::Empty { .. }
                | Error::Stale { .. }
                | Error::Truncated { .. }
                | Error::UnknownFormat { .. }
                | Error::Unsupported { .. }
                | Error::Unwritten { .. }
        )
    }

    /// What is wrong, in terms of one file.
    pub fn root(&self) -> &Error {
        match self {
            Error::InChain { error, .. } => error.root(),
            other => other,
        }
    }

    /// The file whose index is of no use any more, since the file has changed.
    pub fn changed(&self) -> Option<&Path> {
        match self.root() {
            Error::Changed { path } | Error::Stale { path, .. } => Some(path),
            _ => None,
        }
    }
}

/// Which frame of a chain a frame of one of its files is, for the end of a message.
pub fn of_chain(frame: u64, chained: u64) -> String {
    format!(" (frame {frame} of this file is frame {chained} of the chain)")
}

/// What to do where an output cannot be written.
fn remedy(source: &io::Error) -> &'static str {
    use io::ErrorKind::{PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    match source.kind() {
        StorageFull | QuotaExceeded => ": make room, or write it elsewhere",
        PermissionDenied | ReadOnlyFilesystem => ": write it where you may",
        _ => "",
    }
}

/// What can still be done with a file whose frames before `frame` are whole.
fn whole_frames(frame: u64) -> String {
    match frame {
        0 => "; not even one frame is whole".to_owned(),
        n => format!(
            ", or read the {n} whole frames before it with --allow-truncated-tail \
             (allow_truncated_tail=True)"
        ),
    }
}
