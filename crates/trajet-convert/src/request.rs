//! Requests to copy frames, and their results.

use std::path::Path;

use trajet_engine::report::RunReport;
use trajet_io::divided::Heads;
use trajet_io::{Atoms, Chain, Extra, Format, Frames, Losses, Raw, Whole, WriteOptions};

/// What is copied, and where to.
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
    /// What is asked of it.
    pub options: &'a WriteOptions,
    /// Whether to replace what stands there.
    pub force: bool,
}

/// Which of an output's frames are written, where others write the rest: a stretch of them, without what
/// stands in front of the first frame. [`crate::join`] makes the output of all its stretches.
#[derive(Clone, Copy, Debug)]
pub struct Stretch<'a> {
    /// The number of the output's first frame in the trajectory: heads of files describe all frames by it.
    pub head: u64,
    /// How many frames of the output come before the stretch.
    pub begin: usize,
    /// Times of all frames of the output, ps.
    pub times: &'a [f64],
    /// Their integration steps.
    pub steps: &'a [i64],
}

/// What was written.
#[derive(Clone, Debug)]
pub struct Converted {
    /// Bytes.
    pub bytes: u64,
    /// What a user should know: what was left out because that was allowed.
    pub remarks: Vec<String>,
    /// What the frames have lost because that was allowed: of a stretch, for [`crate::join`].
    pub losses: Losses,
    /// Where the time went; encoding counts as computing, writing as merging.
    pub report: RunReport,
}

/// Some atoms of each frame, and where they go.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// The atoms.
    pub atoms: &'a Atoms,
    /// The output.
    pub path: &'a Path,
    /// Its format.
    pub format: Format,
    /// What is asked of it. Unless loss is allowed, every frame must come back as it was.
    pub options: &'a WriteOptions,
    /// Whether a file of HDF5 is to be made of it, which has positions in Å in single precision: these must
    /// give the frame back.
    pub to_hdf5: bool,
    /// What it leaves out of all frames, since what is read of its atoms lacks it.
    pub without: &'a [Extra],
}

/// Frames that are to be divided by their atoms.
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

/// What a division has written.
#[derive(Debug, Default)]
pub struct Divided {
    /// A file for each target, whole, but without its name yet. Dropped, they leave nothing behind.
    pub files: Vec<Whole>,
    /// What a user should know of each.
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

/// What is known of the frames of a division.
#[derive(Debug, Default)]
pub struct FrameRows {
    /// Bytes of each frame that is put together again, as the encoder of the whole's format writes it; of
    /// parts that allow loss too, where that changes them.
    pub whole: Vec<u64>,
    /// Of each target the bytes of each frame.
    pub sizes: Vec<Vec<u64>>,
    /// Of each target the XXH3 digest of each frame's bytes.
    pub digests: Vec<Vec<u64>>,
    /// What each frame says beside its atoms.
    pub heads: Heads,
    /// The digest of each frame as it was read, where that is wanted.
    pub sources: Vec<u64>,
}

/// What is known of a frame of a division.
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
    /// Whether to replace what stands there.
    pub(crate) force: bool,
    /// Of a division the format of the whole; without it there is one target.
    pub(crate) whole: Option<Format>,
    /// Of a division whether frames get digests.
    pub(crate) digests: bool,
    /// Where the one target is a part of an output.
    pub(crate) stretch: Option<Stretch<'a>>,
}

impl<'a> From<Request<'a>> for Job<'a> {
    fn from(request: Request<'a>) -> Self {
        let Request { frames, atoms, path, format, options, force } = request;
        let targets = vec![Target { atoms, path, format, options, to_hdf5: false, without: &[] }];
        Job { frames, targets, force, whole: None, digests: false, stretch: None }
    }
}

/// Times (ps) and steps of frames.
pub(crate) fn when_of(chain: &Chain, frames: &Frames) -> (Vec<f64>, Vec<i64>) {
    (0..frames.len()).map(|k| chain.when(frames.get(k))).unzip()
}
