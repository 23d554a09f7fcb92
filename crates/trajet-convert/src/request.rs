//! Requests to copy frames, and their results.

use std::path::Path;

use trajet_engine::report::RunReport;
use trajet_files::{Chain, Frames, UnpublishedFile};
use trajet_formats::FrameMetadata;
use trajet_formats::{Atoms, Extra, Format, Losses, Message, Raw, WriteOptions};

/// Frames to copy, and the output.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The frames, in the order in which they are written.
    pub frames: &'a Frames,
    /// The atoms of each frame.
    pub atoms: &'a Atoms,
    /// The output.
    pub path: &'a Path,
    /// Its format.
    pub format: Format,
    /// Options of the encoder.
    pub options: &'a WriteOptions,
    /// Whether an existing file is replaced.
    pub force: bool,
}

/// A part of one output: some of its frames, without the header of the file. Workers write the pieces of an output at
/// the same time, and [`crate::join`] joins them.
#[derive(Clone, Copy, Debug)]
pub struct OutputPiece<'a> {
    /// Index of the output's first frame in the trajectory, by which headers describe all frames.
    pub head: u64,
    /// Number of frames of the output before the piece.
    pub begin: usize,
    /// Times of all frames of the output, ps.
    pub times: &'a [f64],
    /// Integration steps of all frames of the output.
    pub steps: &'a [i64],
}

/// A written output.
#[derive(Clone, Debug)]
pub struct Converted {
    /// Size in bytes.
    pub bytes: u64,
    /// Messages for the user on permitted losses.
    pub messages: Vec<Message>,
    /// Permitted losses; [`crate::join`] takes those of the pieces.
    pub losses: Losses,
    /// Time accounting. Encoding counts as computing, writing as merging.
    pub report: RunReport,
}

/// An output, and the atoms of each frame that are written to it.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// The atoms.
    pub atoms: &'a Atoms,
    /// The output.
    pub path: &'a Path,
    /// Its format.
    pub format: Format,
    /// Options of the encoder. Unless loss is allowed, every frame must be restorable.
    pub options: &'a WriteOptions,
    /// Whether the output is the intermediate file of an HDF5 file, which has positions in Å in single precision.
    /// Frames must be restorable from these.
    pub to_hdf5: bool,
    /// Fields to omit from all frames, since the source lacks them for these atoms.
    pub without: &'a [Extra],
}

impl Target<'_> {
    /// Returns the format that the frames are stored in at last.
    pub(crate) fn stored_format(&self) -> Format {
        if self.to_hdf5 { Format::of_library() } else { self.format }
    }
}

/// Frames to partition by atoms.
#[derive(Clone, Copy, Debug)]
pub struct Partition<'a> {
    /// The frames, in the order in which they are written.
    pub frames: &'a Frames,
    /// The parts. Each atom is in exactly one.
    pub targets: &'a [Target<'a>],
    /// The format in which frames can be restored with all atoms.
    pub whole: Format,
    /// Whether to compute digests of the source frames.
    pub digests: bool,
}

/// The result of a partition.
#[derive(Debug, Default)]
pub struct Divided {
    /// A complete file for each target, still without its name. Dropping removes it.
    pub files: Vec<UnpublishedFile>,
    /// Messages for the user, per target.
    pub messages: Vec<Vec<Message>>,
    /// Permitted losses, per target.
    pub losses: Vec<Losses>,
    /// Size in bytes, per target.
    pub lens: Vec<u64>,
    /// Size in bytes and XXH3 digest of the header before the first frame, per target.
    pub heads_of_files: Vec<(u64, u64)>,
    /// Records of all frames.
    pub frames: FrameRows,
    /// Time accounting, as in [`Converted`].
    pub report: RunReport,
}

/// Records of the frames of a partition, as columns.
#[derive(Debug, Default)]
pub struct FrameRows {
    /// Encoded size in bytes of each frame with all atoms, restored from its parts where that affects the size.
    pub whole: Vec<u64>,
    /// Size in bytes of each frame, per target.
    pub sizes: Vec<Vec<u64>>,
    /// XXH3 digest of each frame's bytes, per target.
    pub digests: Vec<Vec<u64>>,
    /// Per-frame data other than atoms.
    pub heads: FrameMetadata,
    /// The digest of each source frame, if requested.
    pub sources: Vec<u64>,
}

/// Record of one frame of a partition.
#[derive(Debug)]
pub(crate) struct FrameRow {
    pub(crate) whole: u64,
    /// Size in bytes and digest, per target.
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
    /// The format of the whole in a partition; `None` for a copy, which has exactly one target.
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
