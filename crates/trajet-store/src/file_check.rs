//! Checks a file against the digests of its pieces.

use std::fmt;
use std::io::{BufReader, ErrorKind, Read};
use std::ops::Range;
use std::path::Path;

use trajet_formats::xxh3_64;

use crate::hdf5::tables::Piece;
use crate::table::Column;
use crate::{Error, StoreFiles};

/// Maximal number of damaged pieces that a message lists.
const MAX_NAMED: usize = 5;

/// Expected sizes and digests of a file.
pub(crate) enum ExpectedPieces {
    Frames(Column),
    /// Pieces of an HDF5 file.
    Pieces(Vec<Piece>),
}

impl ExpectedPieces {
    /// Returns content, size and digest of each piece, in order.
    pub(crate) fn pieces(&self) -> Box<dyn Iterator<Item = (PieceContent, u64, u64)> + '_> {
        match self {
            ExpectedPieces::Frames(Column { head, sizes, digests }) => {
                let frames = (0..).zip(sizes).zip(digests);
                let frames = frames
                    .map(|((k, &size), &digest)| (PieceContent::Frames(k..k + 1), size, digest));
                Box::new(std::iter::once((PieceContent::Head, head.0, head.1)).chain(frames))
            }
            ExpectedPieces::Pieces(pieces) => Box::new(pieces.iter().map(|piece| {
                let Piece { frames, size, digest } = piece;
                (frames.clone().map_or(PieceContent::Tables, PieceContent::Frames), *size, *digest)
            })),
        }
    }
}

/// Content of a piece.
#[derive(Debug)]
pub(crate) enum PieceContent {
    Head,
    Frames(Range<u64>),
    Tables,
}

impl fmt::Display for PieceContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PieceContent::Head => f.write_str("its head"),
            PieceContent::Frames(Range { start, end }) if end - start == 1 => {
                write!(f, "frame {start}")
            }
            PieceContent::Frames(Range { start, end }) => {
                write!(f, "frames {start} to {}", end - 1)
            }
            PieceContent::Tables => f.write_str("its tables"),
        }
    }
}

/// The pieces of tag files to check. Files beside them and beside the manifest are always checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CheckScope {
    Bytes,
    /// All but frames, which are verified when they are read.
    ButFrames,
}

impl CheckScope {
    pub(crate) fn has(self, what: &PieceContent) -> bool {
        self == CheckScope::Bytes || matches!(what, PieceContent::Tables)
    }

    /// Returns the buffer size for reads: small if only the short pieces between long ones are read.
    fn request(self) -> usize {
        if self == CheckScope::Bytes { 1 << 20 } else { 1 << 12 }
    }
}

/// Outcome of a check.
pub(crate) enum Checked {
    Sound,
    /// A message on what is wrong.
    Damaged(String),
    Stopped,
}

/// Compares a file with the digests of its pieces. `look` is called with the size of each piece in bytes, and returns
/// whether to continue.
pub(crate) fn check_file(
    files: &StoreFiles,
    path: &Path,
    known: &ExpectedPieces,
    scope: CheckScope,
    look: &mut dyn FnMut(usize) -> bool,
) -> Result<Checked, Error> {
    let file = match files.open_regular(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Ok(Checked::Damaged("is missing".to_owned()));
        }
        file => file.map_err(Error::io(path, "read"))?,
    };
    let size = file.metadata().map_err(Error::io(path, "read"))?.len();
    let expected = known.pieces().map(|(_, len, _)| len).sum::<u64>();
    if size != expected {
        return Ok(Checked::Damaged(format!("has {size} bytes, expected {expected}")));
    }
    let mut file = BufReader::with_capacity(scope.request(), file);
    let (mut bytes, mut at) = (Vec::new(), 0);
    let (mut bad, mut n_bad) = (Vec::new(), 0);
    for (what, len, digest) in known.pieces() {
        // The file is large enough: its size equals the sum.
        let is_read = scope.has(&what);
        bytes.resize(if is_read { len as usize } else { 0 }, 0);
        let read = match is_read {
            true => file.read_exact(&mut bytes),
            false => file.seek_relative(len as i64),
        };
        read.map_err(Error::io(path, "read"))?;
        if is_read && xxh3_64(&bytes) != digest {
            n_bad += 1;
            if bad.len() < MAX_NAMED {
                bad.push(format!("{what} (bytes {at} to {})", at + len));
            }
        }
        at += len;
        if !look(len as usize) {
            return Ok(Checked::Stopped);
        }
    }
    if bad.is_empty() {
        return Ok(Checked::Sound);
    }
    let more = n_bad - bad.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Ok(Checked::Damaged(format!("was changed in {}{more}", bad.join(", "))))
}
