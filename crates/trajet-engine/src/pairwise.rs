//! RMSD of all pairs of frames, on threads.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use trajet_files::Error;
use trajet_formats::memory::{self, Refused};
use trajet_kernels::pairwise::{CentredFrames, FRAMES, Weights, rmsds, set_panel};
use trajet_kernels::products::{Tile, WIDTH};
use trajet_simd::InstructionSet;

use crate::error::{RunError, TaskError};
use crate::run::{Control, each, lock};

/// Panels of a block, whose frames are compared with those of another at a time.
const PANELS: usize = 4;
/// Frames of a block.
pub const BLOCK: usize = PANELS * FRAMES;

/// Centres frames, given as positions (`[n_frames, n_atoms, 3]`, Å), and multiplies them by the roots of the weights.
///
/// # Errors
/// [`RunError::Interrupted`] if `control` cancelled it, [`RunError::Tasks`] if the system refuses memory or threads.
///
/// # Panics
/// If there are no atoms, or the sizes do not match.
pub fn centred(
    positions: &[f64],
    n_frames: usize,
    weights: Option<&[f64]>,
    threads: usize,
    control: &mut dyn Control,
) -> Result<CentredFrames, RunError> {
    let width = positions.len() / n_frames.max(1);
    assert!(width.is_multiple_of(3) && width * n_frames == positions.len(), "positions of frames");
    let n_panels = n_frames.div_ceil(FRAMES);
    let what = "the positions of all frames";
    let refused = |error| refused(n_frames, error);
    let elements = memory::filled(n_panels * (width / 3), [0.0; WIDTH], what).map_err(refused)?;
    let inner = memory::filled(n_panels * FRAMES, 0.0, what).map_err(refused)?;
    let mut frames = CentredFrames::new(elements, inner, n_frames);
    let weights = weights.map(Weights::new);
    let panels: Vec<_> = frames.panels_mut().map(Mutex::new).collect();
    let chunks: Vec<_> = positions.chunks(FRAMES * width.max(1)).collect();
    let set = |k: usize, _: &AtomicUsize| {
        let (panel, inner) = &mut *lock(&panels[k]);
        set_panel(chunks[k], weights.as_ref(), panel, inner);
    };
    run(panels.len(), 0, threads, &set, control)?;
    drop(panels);
    Ok(frames)
}

/// Computes the RMSDs (Å) of the frames `rows` of `a` to all frames of `b`, `[rows, n_b]`. Without `b` those within
/// `a`: frame by frame the same in both orders, 0 on the diagonal; only columns from `rows.start` on are computed.
///
/// # Errors
/// As [`centred`].
///
/// # Panics
/// If the numbers of atoms differ, `rows` begins inside of a block ([`BLOCK`]), or `out` has another size.
pub fn matrix(
    a: &CentredFrames,
    b: Option<&CentredFrames>,
    rows: Range<usize>,
    out: &mut [f32],
    threads: usize,
    control: &mut dyn Control,
) -> Result<(), RunError> {
    assert!(rows.start.is_multiple_of(BLOCK), "rows begin with a block");
    let width = b.unwrap_or(a).len();
    assert_eq!(out.len(), rows.len() * width, "a number for each pair");
    if width == 0 {
        return Ok(());
    }
    let (first, last) = (rows.start / BLOCK, rows.end.div_ceil(BLOCK));
    let panels = |frames: &CentredFrames, block: usize| {
        block * PANELS..((block + 1) * PANELS).min(frames.len().div_ceil(FRAMES))
    };
    // Mirrored numbers go to the rows of other blocks.
    let parts: Vec<_> = out.chunks_mut(BLOCK * width).map(Mutex::new).collect();
    let set = InstructionSet::chosen();
    let compute = |k: usize, done: &AtomicUsize| {
        let block = first + k;
        let mut tile = Tile::default();
        let columns = match b {
            Some(b) => 0..b.len().div_ceil(BLOCK),
            None => block..a.len().div_ceil(BLOCK),
        };
        let mut found = [[0_f32; BLOCK]; BLOCK];
        for column in columns {
            let others = b.unwrap_or(a);
            let (p, q) = (panels(a, block), panels(others, column));
            rmsds(set, (a, p), (others, q), &mut tile, |i, j, value| {
                found[i % BLOCK][j % BLOCK] = value as f32;
            });
            if b.is_none() && column == block {
                mirror(&mut found);
            }
            let n_rows = (rows.end - block * BLOCK).min(BLOCK);
            let n_columns = (width - column * BLOCK).min(BLOCK);
            let mut part = lock(&parts[k]);
            for (row, found) in part.chunks_exact_mut(width).zip(&found) {
                row[column * BLOCK..][..n_columns].copy_from_slice(&found[..n_columns]);
            }
            drop(part);
            if b.is_none() && column > block && column < last {
                let mut part = lock(&parts[column - first]);
                for (j, row) in part.chunks_exact_mut(width).enumerate() {
                    for (to, found) in row[block * BLOCK..][..n_rows].iter_mut().zip(&found) {
                        *to = found[j];
                    }
                }
            }
            done.fetch_add(n_rows * n_columns, Ordering::Relaxed);
        }
    };
    let n_pairs = match b {
        Some(_) => rows.len() * width,
        None => (first..last).map(|k| BLOCK.min(rows.end - k * BLOCK) * (width - k * BLOCK)).sum(),
    };
    run(parts.len(), n_pairs, threads, &compute, control)
}

/// Makes a block on the diagonal symmetric: each pair is computed once.
fn mirror(found: &mut [[f32; BLOCK]; BLOCK]) {
    for i in 0..BLOCK {
        // NaN, if a position is.
        if !found[i][i].is_nan() {
            found[i][i] = 0.0;
        }
        for j in 0..i {
            found[i][j] = found[j][i];
        }
    }
}

/// Runs pieces of work, which count what they have done of `total`.
pub(crate) fn run(
    n: usize,
    total: usize,
    threads: usize,
    work: &(dyn Fn(usize, &AtomicUsize) + Sync),
    control: &mut dyn Control,
) -> Result<(), RunError> {
    let (done, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    if n == 0 {
        return Ok(());
    }
    let interrupted = each(n, threads, &|k| work(k, &done), (&done, total), &stop, control)?;
    if interrupted { Err(RunError::Interrupted) } else { Ok(()) }
}

/// Returns the error of memory that the system refused.
pub(crate) fn refused(n_frames: usize, refused: Refused) -> RunError {
    RunError::Tasks(vec![TaskError::of_run(n_frames, Error::from(refused).into())])
}
