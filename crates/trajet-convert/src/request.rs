//! Requests to copy frames, and their results.

use std::path::Path;

use trajet_engine::report::RunReport;
use trajet_io::divided::FrameMetadata;
use trajet_io::{Atoms, Chain, Extra, Format, Frames, Losses, Raw, Whole, WriteOptions};

/// Frames to copy, and the output.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The frames, in the order in which they are written.
    pub frames: &'a Frames,
    /// The atoms of each.
    pub atoms: &'a Atoms,
    /// The output.
    pub path: &'a Path,
    /// Its format.
    pub format: Format,
    /// How it is written.
    pub options: &'a WriteOptions,
    /// Whether an existing file is replaced.
    pub force: bool,
}

/// A part of one output: some of its frames, without the head of the file. Workers write the pieces of an output at
/// the same time, and [`crate::join`] joins them.
#[derive(Clone, Copy, Debug)]
pub struct OutputPiece<'a> {
    /// The number of the output's first frame in the trajectory: heads of files describe all frames by it.
    pub head: u64,
    /// How many frames of the output come before the piece.
    pub begin: usize,
    /// Times of all frames of the output, ps.
    pub times: &'a [f64],
    /// Their integration steps.
    pub steps: &'a [i64],
}

/// A written output.
#[derive(Clone, Debug)]
pub struct Converted {
    /// Bytes.
    pub bytes: u64,
    /// Remarks for the user: what was left out because that was allowed.
    pub remarks: Vec<String>,
    /// What the frames have lost because that was allowed; [`crate::join`] takes those of pieces.
    pub losses: Losses,
    /// Where the time went; encoding counts as computing, writing as merging.
    pub report: RunReport,
}

/// Some atoms of each frame, and their output.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// The atoms.
    pub atoms: &'a Atoms,
    /// The output.
    pub path: &'a Path,
    /// Its format.
    pub format: Format,
    /// How it is written. Unless loss is allowed, every frame must come back as it was.
    pub options: &'a WriteOptions,
    /// Whether a file of HDF5 is to be made of it, which has positions in Å in single precision: these must
    /// give the frame back.
    pub to_hdf5: bool,
    /// Fields that it leaves out of all frames, since the source lacks them for its atoms.
    pub without: &'a [Extra],
}

/// Frames to divide by their atoms.
#[derive(Clone, Copy, Debug)]
pub struct Partition<'a> {
    /// The frames, in the order in which they are written.
    pub frames: &'a Frames,
    /// The parts: each atom is in one of them.
    pub targets: &'a [Target<'a>],
    /// The format in which frames shall be put together again.
    pub whole: Format,
    /// Whether digests of the frames are wanted.
    pub digests: bool,
}

/// The result of a partition.
#[derive(Debug, Default)]
pub struct Divided {
    /// A file for each target, whole, but without its name yet. Dropped, they leave nothing behind.
    pub files: Vec<Whole>,
    /// Remarks for the user on each.
    pub remarks: Vec<Vec<String>>,
    /// What the frames of each have lost because that was allowed.
    pub losses: Vec<Losses>,
    /// Bytes of each.
    pub lens: Vec<u64>,
    /// Of each the bytes in front of its first frame: how many, and their XXH3 digest.
    pub heads_of_files: Vec<(u64, u64)>,
    /// What is known of every frame.
    pub frames: FrameRows,
    /// Where the time went, as of [`Converted`].
    pub report: RunReport,
}

/// What is known of the frames of a partition.
#[derive(Debug, Default)]
pub struct FrameRows {
    /// Bytes of each frame that is put together again, as the encoder of the whole's format writes it; of
    /// parts that allow loss too, where that changes them.
    pub whole: Vec<u64>,
    /// Of each target the bytes of each frame.
    pub sizes: Vec<Vec<u64>>,
    /// Of each target the XXH3 digest of each frame's bytes.
    pub digests: Vec<Vec<u64>>,
    /// Per-frame data beside the atoms.
    pub heads: FrameMetadata,
    /// The digest of each frame as it was read, where that is wanted.
    pub sources: Vec<u64>,
}

/// What is known of one frame of a partition.
#[derive(Debug)]
pub(crate) struct FrameRow {
    pub(crate) whole: u64,
    /// Of each target the bytes and their digest.
    pub(crate) parts: Vec<(u64, u64)>,
    pub(crate) head: Raw,
    pub(crate) source: Option<u64>,
}

impl FrameRows {
    pub(crate) fn push(&mut self, row: &FrameRow) {
        self.whole.push(row.whole);
        self.sizes.resize_with(row.parts.len(), Vec::new);
        self.digests.resize_with(row.parts.len(), Vec::new);
        let known = self.sizes.iter_mut().zip(&mut self.digests);
        for ((sizes, digests), &(size, digest)) in known.zip(&row.parts) {
            sizes.push(size);
            digests.push(digest);
        }
        self.heads.push(&row.head);
        self.sources.extend(row.source);
    }
}

/// Outputs that are made in one pass over their frames.
pub(crate) struct Job<'a> {
    pub(crate) frames: &'a Frames,
    pub(crate) targets: Vec<Target<'a>>,
    /// Whether an existing file is replaced.
    pub(crate) force: bool,
    /// The format of the whole in a partition; none if there is one target.
    pub(crate) whole: Option<Format>,
    /// Whether frames of a partition get digests.
    pub(crate) digests: bool,
    /// Set if the one target is a piece of an output.
    pub(crate) piece: Option<OutputPiece<'a>>,
}

impl<'a> From<Request<'a>> for Job<'a> {
    fn from(request: Request<'a>) -> Self {
        let Request { frames, atoms, path, format, options, force } = request;
        let targets = vec![Target { atoms, path, format, options, to_hdf5: false, without: &[] }];
        Job { frames, targets, force, whole: None, digests: false, piece: None }
    }
}

/// Returns times (ps) and steps of frames.
pub(crate) fn times_and_steps(chain: &Chain, frames: &Frames) -> (Vec<f64>, Vec<i64>) {
    (0..frames.len()).map(|k| chain.when(frames.get(k))).unzip()
}
