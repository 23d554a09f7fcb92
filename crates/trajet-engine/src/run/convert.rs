//! Copies frames to outputs of any format: read, decoded and encoded by many threads at once, and
//! written in their order by whichever thread has the next ones. Of several outputs of different frames as
//! many are made at a time as there are threads, which they share: threads of one output wait for each
//! other. Outputs of the same frames, of other atoms each, are made in one pass: a division.
//!
//! Memory: each thread owns one window and one frame, and of a division the parts of that frame; encoded
//! frames wait for those before them, at most four tasks a thread, in memory that is used again. Of a
//! division some numbers of every frame are kept.

use std::path::Path;
use std::time::Instant;

use trajet_io::divided::Heads;
use trajet_io::{Atoms, Chain, Extra, Format, Frames, Losses, Raw, Whole, WriteOptions, publish};

pub use stretches::{Stretched, join};

use super::{Control, LOOK, Leaving, MOST_THREADS, lock, message, watch};
use crate::error::{RunError, TaskError, TaskFault};
use crate::report::RunReport;

mod lanes;
mod line;
mod parts;
mod stretches;

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
/// stands in front of the first frame. [`join`] makes the output of all its stretches.
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
    /// What the frames have lost because that was allowed: of a stretch, for [`join`].
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
struct FrameRow {
    whole: u64,
    /// Of each target the bytes and their digest.
    parts: Vec<(u64, u64)>,
    head: Raw,
    source: Option<u64>,
}

impl FrameRows {
    fn push(&mut self, row: &FrameRow) {
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
struct Job<'a> {
    frames: &'a Frames,
    targets: Vec<Target<'a>>,
    /// Whether to replace what stands there.
    force: bool,
    /// Of a division the format of the whole; without it there is one target.
    whole: Option<Format>,
    /// Of a division whether frames get digests.
    digests: bool,
    /// Where the one target is a part of an output.
    stretch: Option<Stretch<'a>>,
}

impl<'a> From<Request<'a>> for Job<'a> {
    fn from(request: Request<'a>) -> Self {
        let Request { frames, atoms, path, format, options, force } = request;
        let targets = vec![Target { atoms, path, format, options, to_hdf5: false, without: &[] }];
        Job { frames, targets, force, whole: None, digests: false, stretch: None }
    }
}

/// Copies frames to an output, which has its name only when it is whole.
///
/// # Errors
/// [`RunError::Tasks`] with the first frames that failed, or [`RunError::Interrupted`]; then there is
/// no output, and what stood there before still does.
pub fn convert(
    chain: &Chain,
    request: &Request<'_>,
    threads: usize,
    control: &mut dyn Control,
) -> Result<Converted, RunError> {
    split(chain, std::slice::from_ref(request), threads, control).map(|mut one| one.remove(0))
}

/// Copies frames to several outputs, several at the same time where there are threads for that. They
/// have their names only when all are whole.
///
/// # Errors
/// As [`convert`]; then there is none of the outputs.
pub fn split(
    chain: &Chain,
    requests: &[Request<'_>],
    threads: usize,
    control: &mut dyn Control,
) -> Result<Vec<Converted>, RunError> {
    let jobs: Vec<_> = requests.iter().map(|&request| Job::from(request)).collect();
    write(chain, &jobs, threads, control)
}

/// Writes a stretch of an output's frames, which are those of the request.
///
/// # Errors
/// As [`convert`].
pub fn convert_stretch(
    chain: &Chain,
    request: &Request<'_>,
    stretch: Stretch<'_>,
    threads: usize,
    control: &mut dyn Control,
) -> Result<Converted, RunError> {
    let job = Job { stretch: Some(stretch), ..Job::from(*request) };
    write(chain, &[job], threads, control).map(|mut one| one.remove(0))
}

fn write(
    chain: &Chain,
    jobs: &[Job<'_>],
    threads: usize,
    control: &mut dyn Control,
) -> Result<Vec<Converted>, RunError> {
    let begin = Instant::now();
    let (mut files, mut converted) = (Vec::new(), Vec::new());
    for mut done in lanes::run(chain, jobs, threads, control)? {
        files.append(&mut done.files);
        let (remarks, losses) = (done.remarks.remove(0), done.losses.remove(0));
        converted.push(Converted { bytes: done.lens[0], remarks, losses, report: done.report });
    }
    publish(files).map_err(|error| RunError::Tasks(vec![failed_copy(0, error.into())]))?;
    if let [one] = &mut converted[..] {
        one.report.wall = begin.elapsed().as_secs_f64();
    }
    Ok(converted)
}

/// Divides frames by their atoms: each is read and decoded once, and written to every target. Targets
/// that allow no loss hold exactly what [`trajet_io::Raw::join`] makes the frame of again.
///
/// # Errors
/// [`RunError::Tasks`] with the first frames that failed, or [`RunError::Interrupted`]; then there is
/// nothing left of the outputs.
///
/// # Panics
/// If an atom is in no target, or in several.
pub fn divide(
    chain: &Chain,
    partition: &Partition<'_>,
    threads: usize,
    control: &mut dyn Control,
) -> Result<Divided, RunError> {
    let &Partition { frames, targets, whole, digests } = partition;
    let listed = |target: &Target<'_>| {
        let Target { atoms, .. } = *target;
        atoms.listed_indices().unwrap_or_else(|| (0..atoms.n_total()).collect())
    };
    let mut atoms: Vec<usize> = targets.iter().flat_map(listed).collect();
    atoms.sort_unstable();
    assert!(atoms.into_iter().eq(0..chain.n_atoms()), "each atom is in one target");
    let (targets, whole) = (targets.to_vec(), Some(whole));
    let job = Job { frames, targets, force: false, whole, digests, stretch: None };
    lanes::run(chain, &[job], threads, control).map(|mut one| one.remove(0))
}

/// Times (ps) and steps of frames.
fn when_of(chain: &Chain, frames: &Frames) -> (Vec<f64>, Vec<i64>) {
    (0..frames.len()).map(|k| chain.when(frames.get(k))).unzip()
}

/// The error of a copy as a whole.
fn failed_copy(frames: usize, fault: TaskFault) -> TaskError {
    TaskError { task: 0, first: 0, frames, fault }
}

#[cfg(test)]
mod tests;
