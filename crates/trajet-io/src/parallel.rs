//! How callers lend their threads: this crate starts none.

/// Does several pieces of work, perhaps at the same time. This crate starts no threads itself.
pub trait ParallelFor: Sync {
    /// How many pieces are worth making.
    fn width(&self) -> usize;
    /// Calls `work` with each number below `n`.
    fn each(&self, n: usize, work: &(dyn Fn(usize) + Sync));
}

/// One piece after the other.
#[derive(Clone, Copy, Debug)]
pub struct Serial;

impl ParallelFor for Serial {
    fn width(&self) -> usize {
        1
    }
    fn each(&self, n: usize, work: &(dyn Fn(usize) + Sync)) {
        (0..n).for_each(work);
    }
}

/// Pieces in any order, as threads would finish them.
#[cfg(test)]
pub(crate) struct Backwards(pub(crate) usize);

#[cfg(test)]
impl ParallelFor for Backwards {
    fn width(&self) -> usize {
        self.0
    }
    fn each(&self, n: usize, work: &(dyn Fn(usize) + Sync)) {
        (0..n).rev().for_each(work);
    }
}
