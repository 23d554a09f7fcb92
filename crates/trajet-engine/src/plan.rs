//! Divides frames into leaves, and leaves into tasks.
//!
//! **Invariant:** leaves are a pure function of the number of requested frames and of the number of the analysis' own
//! atoms, never of what is decoded. The frames of a leaf are a power of two, so that the grids of several analyses
//! nest: each border of a coarser grid is a border of a finer one. Tasks are arbitrary contiguous runs of leaves and do
//! not affect any result.

use std::ops::Range;

/// Maximal bytes of coordinates in a leaf, so that it stays in the processor's second-level cache: 256 KiB times the
/// square root of two. After rounding down to a power of two, leaves have 256 KiB in the geometric mean.
const LEAF_BYTES: usize = 362 * 1024;
/// Maximal number of frames in a leaf, so that runs on small selections still divide among many workers.
const LEAF_FRAMES: usize = 256;
/// Number of leaves, approximately, below which leaves get fewer frames.
const LEAVES: usize = 256;
/// Bytes of one position.
const POSITION_BYTES: usize = 12;
/// Most blocks of frames whose states are kept for errors of a result.
pub const MAX_BLOCKS: usize = 128;
/// Number of tasks per worker, enough to even out slow ones.
const TASKS_PER_WORKER: usize = 16;

/// Division of the requested frames into leaves. Frames are given by position among the requested ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaves {
    n_frames: usize,
    frames_per_leaf: usize,
}

impl Leaves {
    /// Returns the leaves of `n_frames` requested frames, for an analysis of `n_atoms` atoms.
    pub fn new(n_frames: usize, n_atoms: usize) -> Self {
        let fit = LEAF_BYTES / POSITION_BYTES / n_atoms.max(1);
        let most = LEAF_FRAMES.min(n_frames.div_ceil(LEAVES)).max(1);
        Leaves { n_frames, frames_per_leaf: 1 << fit.clamp(1, most).ilog2() }
    }

    /// Returns the number of requested frames.
    pub fn n_frames(&self) -> usize {
        self.n_frames
    }

    /// Returns the number of leaves.
    pub fn len(&self) -> usize {
        self.n_frames.div_ceil(self.frames_per_leaf)
    }

    /// Returns whether there are no leaves.
    pub fn is_empty(&self) -> bool {
        self.n_frames == 0
    }

    /// Returns the number of frames in each leaf but the last, which may have fewer.
    pub fn frames_per_leaf(&self) -> usize {
        self.frames_per_leaf
    }

    /// Returns the frames of a leaf.
    pub fn frames(&self, leaf: usize) -> Range<usize> {
        let begin = leaf * self.frames_per_leaf;
        begin.min(self.n_frames)..(begin + self.frames_per_leaf).min(self.n_frames)
    }

    /// Returns the number of frames of each block whose state is kept for errors of a result. Blocks are nodes of the
    /// fixed tree: 65 to 128 of them, as far as there are so many leaves. The last one, if it has fewer frames, is no
    /// block.
    pub fn block_frames(&self) -> usize {
        let leaves_per_block = self.len().div_ceil(MAX_BLOCKS).max(1).next_power_of_two();
        self.frames_per_leaf * leaves_per_block
    }

    /// Returns the frames of a run of leaves.
    pub fn frames_of(&self, leaves: &Range<usize>) -> Range<usize> {
        self.frames(leaves.start).start..self.frames(leaves.end).start
    }
}

/// Divides a range of leaves into tasks of about `task_frames` frames. The default gives each of `workers` several
/// tasks.
pub fn tasks(
    leaves: &Leaves,
    part: Range<usize>,
    workers: usize,
    task_frames: Option<usize>,
) -> Vec<Range<usize>> {
    let per_task = leaves_per_task(leaves, part.len(), workers, task_frames);
    part.clone().step_by(per_task).map(|begin| begin..(begin + per_task).min(part.end)).collect()
}

/// Returns how many leaves a task has if `n` of the leaves are divided; see [`tasks`].
pub fn leaves_per_task(
    leaves: &Leaves,
    n: usize,
    workers: usize,
    task_frames: Option<usize>,
) -> usize {
    match task_frames {
        Some(frames) => frames.div_ceil(leaves.frames_per_leaf),
        None => n / (workers.max(1) * TASKS_PER_WORKER),
    }
    .clamp(1, n.max(1))
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

        #[test]
        fn leaf_sizes_are_powers_of_two_and_grids_nest(
            n_frames in 0usize..200_000,
            n_atoms in prop::array::uniform2(0usize..4_000_000),
        ) {
            let grids = n_atoms.map(|n_atoms| Leaves::new(n_frames, n_atoms));
            for (grid, n_atoms) in grids.iter().zip(n_atoms) {
                let size = grid.frames_per_leaf();
                prop_assert!(size.is_power_of_two() && size <= LEAF_FRAMES);
                prop_assert!(size == 1 || size * POSITION_BYTES * n_atoms <= LEAF_BYTES);
                let most = LEAF_FRAMES.min(n_frames.div_ceil(LEAVES)).max(1);
                let is_largest = 2 * size > most || 2 * size * POSITION_BYTES * n_atoms > LEAF_BYTES;
                prop_assert!(is_largest);
            }
            let [mut fine, mut coarse] = grids;
            if fine.frames_per_leaf() > coarse.frames_per_leaf() {
                (fine, coarse) = (coarse, fine);
            }
            for leaf in 0..coarse.len() {
                let border = coarse.frames(leaf).start;
                let other = fine.frames(border / fine.frames_per_leaf());
                prop_assert_eq!(other.start, border);
            }
        }
    }

    #[test]
    fn there_are_65_to_128_blocks_if_there_are_leaves_enough() {
        for (n_frames, n_atoms) in [(1, 10), (40, 10), (128, 5), (129, 5), (1000, 214), (98, 3341)]
        {
            let leaves = Leaves::new(n_frames, n_atoms);
            let n_blocks = n_frames.div_ceil(leaves.block_frames());
            assert!(n_blocks <= 128 && n_blocks >= 65.min(leaves.len()), "{n_frames} {n_blocks}");
        }
        assert_eq!(Leaves::new(100_000, 214).block_frames(), 1024);
        assert_eq!(Leaves::new(0, 1).block_frames(), 1);
    }

    #[test]
    fn leaves_stay_in_the_cache() {
        assert_eq!(Leaves::new(100_000, 214).frames_per_leaf(), 128);
        assert_eq!(Leaves::new(100_000, 3341).frames_per_leaf(), 8);
        assert_eq!(Leaves::new(100_000, 1_000_000).frames_per_leaf(), 1);
        assert_eq!(Leaves::new(100_000, 1).frames_per_leaf(), 256);
    }

    #[test]
    fn short_trajectories_divide_too() {
        assert_eq!(Leaves::new(98, 214).len(), 98);
        assert_eq!(Leaves::new(1000, 214).len(), 250);
    }
}
