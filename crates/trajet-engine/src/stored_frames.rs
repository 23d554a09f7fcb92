//! Frames in memory, compared with one structure, or averaged on it, on threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use trajet_kernels::superpose::{Coordinates, Reference};

use crate::error::RunError;
use crate::pairwise::run;
use crate::run::{Control, lock};

/// Frames that a thread takes at a time. Sums of so many frames are added in their order, whatever the threads.
const CHUNK: usize = 256;

/// Positions of all frames.
#[derive(Clone, Copy, Debug)]
pub struct StoredFrames<'a> {
    positions: &'a [f32],
    width: usize,
}

impl<'a> StoredFrames<'a> {
    /// Returns frames of positions (`[n_frames, n_atoms, 3]`, Å).
    ///
    /// # Panics
    /// If they are no whole frames.
    pub fn new(positions: &'a [f32], n_atoms: usize) -> Self {
        let width = 3 * n_atoms;
        assert!(width > 0 && positions.len().is_multiple_of(width), "whole frames");
        StoredFrames { positions, width }
    }

    /// Returns the number of frames.
    pub fn len(&self) -> usize {
        self.positions.len() / self.width
    }

    /// Returns whether there are no frames.
    pub fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }

    /// Returns the positions of a frame.
    fn frame(&self, k: usize) -> &'a [f32] {
        &self.positions[k * self.width..(k + 1) * self.width]
    }

    /// Computes the RMSD (Å) of each of the chosen frames from a structure after optimal superposition.
    ///
    /// # Errors
    /// [`RunError::Interrupted`] if `control` cancelled it, [`RunError::Tasks`] if the system refuses threads.
    ///
    /// # Panics
    /// If there are not as many numbers as frames, a frame is out of range, or the structure has other atoms.
    pub fn rmsds(
        &self,
        chosen: &[usize],
        structure: &Reference,
        out: &mut [f64],
        threads: usize,
        control: &mut dyn Control,
    ) -> Result<(), RunError> {
        assert_eq!(chosen.len(), out.len(), "a number for each frame");
        let parts: Vec<_> =
            chosen.chunks(CHUNK).zip(out.chunks_mut(CHUNK)).map(Mutex::new).collect();
        let compute = |k: usize, done: &AtomicUsize| {
            let (frames, out) = &mut *lock(&parts[k]);
            for (&frame, to) in frames.iter().zip(out.iter_mut()) {
                *to = structure.rmsd(&Coordinates::of(self.frame(frame)));
            }
            done.fetch_add(frames.len(), Ordering::Relaxed);
        };
        run(parts.len(), chosen.len(), threads, &compute, control)
    }

    /// Returns the mean positions (`[n_atoms, 3]`, Å) of the chosen frames, each superposed on a structure first; NaN
    /// without frames.
    ///
    /// # Errors
    /// As [`StoredFrames::rmsds`].
    ///
    /// # Panics
    /// If a frame is out of range, or the structure has other atoms.
    pub fn mean(
        &self,
        chosen: &[usize],
        structure: &Reference,
        threads: usize,
        control: &mut dyn Control,
    ) -> Result<Vec<f64>, RunError> {
        let n_parts = chosen.len().div_ceil(CHUNK);
        let parts: Vec<_> = (0..n_parts).map(|_| Mutex::new(Vec::new())).collect();
        let compute = |k: usize, done: &AtomicUsize| {
            let frames = &chosen[k * CHUNK..chosen.len().min((k + 1) * CHUNK)];
            let mut sums = vec![0.0; self.width];
            for &frame in frames {
                let positions = self.frame(frame);
                let (_, motion) = structure.superpose(&Coordinates::of(positions));
                let atoms = positions.as_chunks::<3>().0;
                for (sum, position) in sums.as_chunks_mut::<3>().0.iter_mut().zip(atoms) {
                    let moved = motion.apply(position.map(f64::from));
                    sum.iter_mut().zip(moved).for_each(|(sum, x)| *sum += x);
                }
            }
            *lock(&parts[k]) = sums;
            done.fetch_add(frames.len(), Ordering::Relaxed);
        };
        run(n_parts, chosen.len(), threads, &compute, control)?;
        let mut mean = vec![0.0; self.width];
        for part in &parts {
            mean.iter_mut().zip(lock(part).iter()).for_each(|(sum, x)| *sum += x);
        }
        mean.iter_mut().for_each(|sum| *sum /= chosen.len() as f64);
        Ok(mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use trajet_kernels::reference;

    struct Unwatched;

    impl Control for Unwatched {
        fn progress(&mut self, _: usize, _: usize) {}

        fn interrupted(&mut self) -> bool {
            false
        }
    }

    /// Frames of one structure, deformed.
    fn frames() -> impl Strategy<Value = (usize, Vec<f32>, Vec<f64>, Vec<usize>)> {
        (3..20usize, 1..700usize).prop_flat_map(|(n_atoms, n_frames)| {
            (
                Just(n_atoms),
                prop::collection::vec(-30f32..30.0, 3 * n_atoms * n_frames),
                prop::collection::vec(0.1f64..40.0, n_atoms),
                prop::collection::vec(0..n_frames, 0..800),
            )
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn rmsds_and_means_equal_the_reference_on_any_threads(
            (n_atoms, positions, weights, chosen) in frames(),
        ) {
            let stored = StoredFrames::new(&positions, n_atoms);
            let first = stored.frame(0);
            let given: Vec<f64> = first.iter().copied().map(f64::from).collect();
            let structure = Reference::new(&given, Some(&weights));
            let mut rmsds = vec![0.0; chosen.len()];
            stored.rmsds(&chosen, &structure, &mut rmsds, 1, &mut Unwatched).unwrap();
            let mean = stored.mean(&chosen, &structure, 1, &mut Unwatched).unwrap();
            let mut sums = vec![0.0; 3 * n_atoms];
            let total: f64 = weights.iter().sum();
            let centre = |frame: &[f32], axis: usize| {
                let atoms = frame.chunks(3).zip(&weights);
                atoms.map(|(p, w)| w * f64::from(p[axis])).sum::<f64>() / total
            };
            let to = [0, 1, 2].map(|axis| centre(first, axis));
            for (&k, rmsd) in chosen.iter().zip(&rmsds) {
                let frame = stored.frame(k);
                let (naive, rotation) = reference::superpose(frame, first, Some(&weights));
                prop_assert!((rmsd - naive).abs() < 1e-9 * (1.0 + naive) || naive < 1e-6);
                let from = [0, 1, 2].map(|axis| centre(frame, axis));
                for (sum, p) in sums.chunks_mut(3).zip(frame.chunks(3)) {
                    for i in 0..3 {
                        let turned = (0..3).map(|j| rotation[i][j] * (f64::from(p[j]) - from[j]));
                        sum[i] += turned.sum::<f64>() + to[i];
                    }
                }
            }
            for (sum, mean) in sums.iter().zip(&mean) {
                prop_assert!(chosen.is_empty() || (sum / chosen.len() as f64 - mean).abs() < 1e-6);
            }
            prop_assert!(!chosen.is_empty() || mean.iter().all(|x| x.is_nan()));
            let bits = |values: &[f64]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            for threads in [2, 5] {
                let mut others = vec![0.0; chosen.len()];
                stored.rmsds(&chosen, &structure, &mut others, threads, &mut Unwatched).unwrap();
                prop_assert_eq!(bits(&others), bits(&rmsds));
                let other = stored.mean(&chosen, &structure, threads, &mut Unwatched).unwrap();
                prop_assert_eq!(bits(&other), bits(&mean));
            }
        }
    }
}
