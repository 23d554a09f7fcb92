//! Frames to leaves, leaves to tasks.
//!
//! **Invariant:** leaves are a pure function of the number of wanted frames and of atoms read a
//! frame. Tasks are any contiguous runs of leaves, so that nothing about them shows in a result.

use std::ops::Range;

/// Bytes of coordinates that a leaf should fill: it stays in the processor's second-level cache.
const LEAF_BYTES: usize = 256 * 1024;
/// Most frames of a leaf, so that short selections still divide among many workers.
const LEAF_FRAMES: usize = 256;
/// Leaves that even a short trajectory is cut into, as far as it has frames.
const LEAVES: usize = 256;
/// Bytes of one position.
const POSITION_BYTES: usize = 12;
/// Tasks that each worker should get: enough to even out slow ones.
const TASKS_PER_WORKER: usize = 16;

/// The wanted frames, by position, cut into leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaves {
    n_frames: usize,
    frames_per_leaf: usize,
}

impl Leaves {
    /// The leaves of `n_frames` wanted frames of which `n_atoms` atoms are read.
    pub fn new(n_frames: usize, n_atoms: usize) -> Self {
        let fit = LEAF_BYTES / (POSITION_BYTES * n_atoms.max(1));
        let most = LEAF_FRAMES.min(n_frames.div_ceil(LEAVES)).max(1);
        Leaves { n_frames, frames_per_leaf: fit.clamp(1, most) }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.n_frames.div_ceil(self.frames_per_leaf)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.n_frames == 0
    }

    /// Most frames of a leaf.
    pub fn frames_per_leaf(&self) -> usize {
        self.frames_per_leaf
    }

    /// The positions of a leaf's frames.
    pub fn frames(&self, leaf: usize) -> Range<usize> {
        let begin = leaf * self.frames_per_leaf;
        begin.min(self.n_frames)..(begin + self.frames_per_leaf).min(self.n_frames)
    }

    /// The positions of the frames of a run of leaves.
    pub fn frames_of(&self, leaves: &Range<usize>) -> Range<usize> {
        self.frames(leaves.start).start..self.frames(leaves.end).start
    }
}

/// A part of the leaves as runs of about `task_frames` frames; by default so many that `workers` are kept
/// busy.
pub fn tasks(
    leaves: &Leaves,
    part: Range<usize>,
    workers: usize,
    task_frames: Option<usize>,
) -> Vec<Range<usize>> {
    let n = part.len();
    let per_task = match task_frames {
        Some(frames) => frames.div_ceil(leaves.frames_per_leaf),
        None => n / (workers.max(1) * TASKS_PER_WORKER),
    }
    .clamp(1, n.max(1));
    part.clone().step_by(per_task).map(|begin| begin..(begin + per_task).min(part.end)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_frame_is_in_one_leaf_and_one_task(
            n_frames in 0usize..5000,
            n_atoms in 1usize..100_000,
            workers in 1usize..20,
            task_frames in prop::option::of(1usize..10_000),
            border in 0.0f64..=1.0,
        ) {
            let leaves = Leaves::new(n_frames, n_atoms);
            let border = (border * leaves.len() as f64) as usize;
            let parts = [0..border, border..leaves.len()];
            let all = parts.map(|part| tasks(&leaves, part, workers, task_frames));
            let mut next = 0;
            for task in all.concat() {
                prop_assert!(!task.is_empty());
                let frames = leaves.frames_of(&task);
                prop_assert_eq!(frames.start, next);
                for leaf in task {
                    let frames = leaves.frames(leaf);
                    prop_assert_eq!(frames.start, next);
                    prop_assert!(!frames.is_empty());
                    next = frames.end;
                }
                prop_assert_eq!(frames.end, next);
            }
            prop_assert_eq!(next, n_frames);
        }
    }

    #[test]
    fn leaves_stay_in_the_cache() {
        assert_eq!(Leaves::new(100_000, 214).frames_per_leaf(), 102);
        assert_eq!(Leaves::new(100_000, 1_000_000).frames_per_leaf(), 1);
        assert_eq!(Leaves::new(100_000, 1).frames_per_leaf(), 256);
    }

    #[test]
    fn short_trajectories_divide_too() {
        assert_eq!(Leaves::new(98, 214).len(), 98);
        assert_eq!(Leaves::new(1000, 214).len(), 250);
    }
}
