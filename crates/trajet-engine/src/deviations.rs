//! Products of the deviations of all frames: the Gram matrix of frames, or the covariance of coordinates, on threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use trajet_formats::memory;
use trajet_kernels::deviations::{means, set_columns, set_rows};
use trajet_kernels::products::{LANES, Panels, Tile, WIDTH};
use trajet_simd::InstructionSet;

use crate::error::RunError;
use crate::pairwise::{refused, run};
use crate::run::{Control, lock};

/// Panels of a block, whose rows are multiplied with those of another at a time.
const PANELS: usize = 4;
/// Columns whose means a thread computes at a time.
const COLUMNS: usize = 512;

/// The meaning of the rows of a table of deviations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// A frame: products are a Gram matrix.
    Frames,
    /// A coordinate of an atom: products are sums of a covariance.
    Coordinates,
}

/// Deviations of the positions of all frames from their mean.
#[derive(Clone, Debug)]
pub struct Deviations {
    panels: Panels,
    mean: Vec<f64>,
    len: usize,
}

impl Deviations {
    /// Subtracts the mean from frames, given as positions (`[n_frames, width]`, Å).
    ///
    /// # Errors
    /// [`RunError::Interrupted`] if `control` cancelled it, [`RunError::Tasks`] if the system refuses memory or threads.
    ///
    /// # Panics
    /// If there are no whole frames.
    pub fn new(
        positions: &[f64],
        width: usize,
        rows: Rows,
        threads: usize,
        control: &mut dyn Control,
    ) -> Result<Self, RunError> {
        assert!(width > 0 && positions.len().is_multiple_of(width), "whole frames");
        let set = InstructionSet::chosen();
        let n_frames = positions.len() / width;
        let mut mean = vec![0.0; width];
        let chunks: Vec<_> = mean.chunks_mut(COLUMNS).map(Mutex::new).collect();
        let compute = |k: usize, _: &AtomicUsize| {
            means(set, positions, width, k * COLUMNS, &mut lock(&chunks[k]));
        };
        run(chunks.len(), 0, threads, &compute, control)?;
        drop(chunks);
        let (len, depth) = match rows {
            Rows::Frames => (n_frames, width),
            Rows::Coordinates => (width, n_frames),
        };
        let elements = len.div_ceil(WIDTH) * depth;
        let elements = memory::filled(elements, [0.0; WIDTH], "the positions of all frames");
        let elements = elements.map_err(|error| refused(n_frames, error))?;
        let mut panels = Panels::new(elements, depth);
        let parts: Vec<_> = panels.panels_mut().map(Mutex::new).collect();
        let fill = |p: usize, _: &AtomicUsize| {
            let (first, last) = (p * WIDTH, len.min((p + 1) * WIDTH));
            let panel = &mut lock(&parts[p]);
            match rows {
                Rows::Frames => set_rows(&positions[first * width..last * width], &mean, panel),
                Rows::Coordinates => {
                    set_columns(positions, width, first, &mean[first..last], panel);
                }
            }
        };
        run(parts.len(), 0, threads, &fill, control)?;
        drop(parts);
        Ok(Deviations { panels, mean, len })
    }

    /// Returns the mean positions (`[width]`, Å).
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Computes the products of all pairs of rows (`[len, len]`, Å²), which are symmetric bit by bit.
    ///
    /// # Errors
    /// As [`Deviations::new`].
    ///
    /// # Panics
    /// If `out` has another size.
    pub fn products(
        &self,
        out: &mut [f64],
        threads: usize,
        control: &mut dyn Control,
    ) -> Result<(), RunError> {
        let n = self.len;
        assert_eq!(out.len(), n * n, "a number for each pair");
        if n == 0 {
            return Ok(());
        }
        let set = InstructionSet::chosen();
        let height = PANELS * WIDTH;
        let n_blocks = n.div_ceil(height);
        let range = |block: usize| block * PANELS..((block + 1) * PANELS).min(self.panels.len());
        // Mirrored numbers go to the rows of other blocks.
        let parts: Vec<_> = out.chunks_mut(height * n).map(Mutex::new).collect();
        let compute = |block: usize, done: &AtomicUsize| {
            let mut tile = Tile::default();
            for column in block..n_blocks {
                tile.compute(set, (&self.panels, range(block)), (&self.panels, range(column)));
                let sum = |i: usize, j: usize| {
                    let sums = tile.sums(i / WIDTH, i % LANES, j / WIDTH);
                    sums[i % WIDTH / LANES][j % WIDTH / LANES][j % LANES]
                };
                let (first, last) = (column * height, n.min((column + 1) * height));
                for (i, row) in lock(&parts[block]).chunks_exact_mut(n).enumerate() {
                    for (j, to) in row[first..last].iter_mut().enumerate() {
                        *to = sum(i, j);
                    }
                }
                let (first, last) = (block * height, n.min((block + 1) * height));
                if column > block {
                    for (j, row) in lock(&parts[column]).chunks_exact_mut(n).enumerate() {
                        for (i, to) in row[first..last].iter_mut().enumerate() {
                            *to = sum(i, j);
                        }
                    }
                }
            }
            done.fetch_add(1, Ordering::Relaxed);
        };
        run(n_blocks, n_blocks, threads, &compute, control)
    }
}
