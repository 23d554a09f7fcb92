//! Copies frames to outputs of any format, and partitions them by atoms.
//!
//! Threads read, decode and encode frames concurrently. The thread that holds the next frames in order writes them.
//! Outputs of different frames are made at the same time and share the threads. Outputs of the same frames but
//! different atoms (a partition) are made in one pass.
//!
//! Memory: each thread owns one window of file bytes and one frame, and in a partition the parts of that frame. At most
//! four encoded tasks per thread wait for those before them, in reused memory. A partition keeps a few numbers per
//! frame.
//!
//! An output of a partition is byte for byte what a copy of its atoms is. Each frame is compared with what
//! [`trajet_formats::Raw::join`] restores, unless the format makes that certain or the output allows loss.

use std::time::Instant;

use trajet_engine::Control;
use trajet_engine::{RunError, TaskError};
use trajet_files::{Chain, publish};

use crate::multi_output;
use crate::request::{Converted, Divided, Job, OutputPiece, Partition, Request, Target};

/// Copies frames to an output, which gets its name only when it is complete.
///
/// # Errors
/// [`RunError::Tasks`] with the first frames that failed, or [`RunError::Interrupted`]. There is no output then, and an
/// existing file is unchanged.
pub fn convert(
    chain: &Chain,
    request: &Request<'_>,
    threads: usize,
    control: &mut dyn Control,
) -> Result<Converted, RunError> {
    split(chain, std::slice::from_ref(request), threads, control).map(|mut one| one.remove(0))
}

/// Copies frames to several outputs, several at a time if there are enough threads. They get their names only when all
/// are complete.
///
/// # Errors
/// As [`convert`]; none of the outputs exists then.
pub fn split(
    chain: &Chain,
    requests: &[Request<'_>],
    threads: usize,
    control: &mut dyn Control,
) -> Result<Vec<Converted>, RunError> {
    let jobs: Vec<_> = requests.iter().map(|&request| Job::from(request)).collect();
    write(chain, &jobs, threads, control)
}

/// Writes a piece of an output: the frames of the request. [`crate::join`] joins pieces.
///
/// # Errors
/// As [`convert`].
pub fn convert_piece(
    chain: &Chain,
    request: &Request<'_>,
    piece: OutputPiece<'_>,
    threads: usize,
    control: &mut dyn Control,
) -> Result<Converted, RunError> {
    let job = Job { piece: Some(piece), ..Job::from(*request) };
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
    for mut done in multi_output::run(chain, jobs, threads, control)? {
        files.append(&mut done.files);
        let (messages, losses) = (done.messages.remove(0), done.losses.remove(0));
        converted.push(Converted { bytes: done.lens[0], messages, losses, report: done.report });
    }
    publish(files).map_err(|error| RunError::Tasks(vec![TaskError::of_run(0, error.into())]))?;
    if let [one] = &mut converted[..] {
        one.report.wall = begin.elapsed().as_secs_f64();
    }
    Ok(converted)
}

/// Partitions frames by atoms: each frame is read and decoded once, and written to every target. Targets that allow no
/// loss hold exactly the data from which [`trajet_formats::Raw::join`] restores the frame.
///
/// # Errors
/// [`RunError::Tasks`] with the first frames that failed, or [`RunError::Interrupted`]. Nothing is left of the outputs
/// then.
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
    let job = Job { frames, targets, force: false, whole, digests, piece: None };
    multi_output::run(chain, &[job], threads, control).map(|mut one| one.remove(0))
}
