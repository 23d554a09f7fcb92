//! Faults in bytes, and errors of encoding frames and of selecting atoms. None of them names a file: the code that
//! reads or writes the file adds its path.

use crate::memory::Refused;

/// A fault in the bytes of one frame.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DecodeError {
    /// The frame does not begin with a magic number of the format.
    #[error("a frame begins with the magic number {found}, expected 1995 or 2023")]
    Magic {
        /// The number found in the file.
        found: i32,
    },
    /// The header claims an impossible number of atoms.
    #[error("the header claims {found} atoms")]
    AtomCount {
        /// The number found in the file.
        found: i32,
    },
    /// The two atom counts of one frame disagree.
    #[error("the header claims {header} atoms, the coordinates {coordinates}")]
    AtomCountTwice {
        /// Atoms according to the frame's header.
        header: i32,
        /// Atoms according to the header of the compressed coordinates.
        coordinates: i32,
    },
    /// The precision is not a positive number.
    #[error("the precision is {found}, expected a positive number")]
    Precision {
        /// The number found in the file.
        found: f32,
    },
    /// The largest coordinate of an axis is below the smallest.
    #[error("axis {axis} spans {min} to {max}")]
    Range {
        /// 0, 1 or 2.
        axis: usize,
        /// Smallest integer coordinate according to the header.
        min: i32,
        /// Largest integer coordinate according to the header.
        max: i32,
    },
    /// The index of the small size is outside of the format's table.
    #[error("the index of the small size is {found}, expected 9 to 72")]
    SmallIndex {
        /// The number found in the file, or reached while decoding.
        found: i64,
    },
    /// The byte count cannot belong to this number of atoms.
    #[error("{bytes} bytes are claimed for {atoms} atoms, which need {least} to {most}")]
    ByteCount {
        /// Bytes of compressed coordinates according to the header.
        bytes: u64,
        /// Atoms of the frame.
        atoms: u64,
        /// Fewest bytes that the format can use for them.
        least: u64,
        /// Most bytes that the format can use for them.
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
        /// Bytes according to the header.
        claimed: u64,
    },
    /// A group of atoms extends past the last atom.
    #[error("a run of atoms begun at atom {atom} goes past the last one")]
    Overrun {
        /// The first atom of the group.
        atom: usize,
    },
    /// A coordinate is outside the range that its own header allows.
    #[error("a coordinate lies outside of the range that the frame declares")]
    OutsideRange,
    /// A number of the unit cell is NaN or infinite.
    #[error("its box has a number that is not finite")]
    Box,
    /// The system refused the memory that the frame needs; readers report that as an error of its own.
    #[error("{needed} bytes of memory are needed for {what}")]
    Memory {
        /// Bytes needed.
        needed: u64,
        /// Purpose of the memory.
        what: &'static str,
    },
    /// The frame is sound, but cannot be read with these options, or without further ones.
    #[error("{what}: {remedy}")]
    Options {
        /// What is missing, or contradicts the options.
        what: String,
        /// Advice to the user.
        remedy: &'static str,
    },
    /// Any other fault, described in text.
    #[error("{0}")]
    Malformed(String),
}

/// A fault in the header of a file.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum HeaderFault {
    /// The header contradicts the format.
    #[error("{0}")]
    Corrupt(DecodeError),
    /// The file ends inside of the header, or inside of a frame that the header describes.
    #[error(
        "cut inside frame {frame}, which begins at byte {offset} and needs {needed} bytes, {left} are left"
    )]
    Truncated {
        /// The incomplete frame.
        frame: u64,
        /// Byte at which it begins.
        offset: u64,
        /// Bytes that it needs, or that the header needs.
        needed: u64,
        /// Bytes from `offset` to the end of the file.
        left: u64,
    },
    /// The file is not a trajectory of the format.
    #[error("{looks_like}")]
    Unknown {
        /// A sentence that says what the file seems to be.
        looks_like: String,
    },
    /// The file uses a feature of its format that is not supported.
    #[error("{what}: {remedy}")]
    Unsupported {
        /// The feature, or the data that is missing.
        what: String,
        /// Advice to the user.
        remedy: &'static str,
    },
    /// The header is not the one that was read before.
    #[error("the header has changed since it was read first")]
    Changed,
}

impl From<DecodeError> for HeaderFault {
    fn from(fault: DecodeError) -> Self {
        HeaderFault::Corrupt(fault)
    }
}

/// Data of a frame that the format of an output cannot hold.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("frame {frame}: {format} cannot hold {what}: {remedy}")]
pub struct CannotHold {
    /// The frame's number in the output.
    pub frame: u64,
    /// Format of the output.
    pub format: &'static str,
    /// The data that would be lost, or wrong.
    pub what: String,
    /// Advice to the user.
    pub remedy: &'static str,
}

/// A fault in the bytes of frame metadata ([`crate::FrameMetadata`]), described in text.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct MetadataFault(pub String);

/// Reason why atoms cannot be selected.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum AtomsError {
    /// An index is out of range.
    #[error("atom {atom} is out of range: the trajectory has {n_atoms} atoms, 0 to {}", n_atoms.saturating_sub(1))]
    OutOfRange {
        /// The requested atom.
        atom: i64,
        /// Atoms in the trajectory.
        n_atoms: usize,
    },
    /// The system refused the memory that the list needs.
    #[error("cannot allocate {} bytes of memory for {}", .0.needed, .0.what)]
    Memory(Refused),
}

impl From<Refused> for AtomsError {
    fn from(refused: Refused) -> Self {
        AtomsError::Memory(refused)
    }
}

impl From<Refused> for DecodeError {
    fn from(Refused { needed, what }: Refused) -> Self {
        DecodeError::Memory { needed, what }
    }
}
