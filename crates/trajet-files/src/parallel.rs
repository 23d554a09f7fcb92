//! Parallel loops on threads that the caller provides: this crate starts none.

/// Runs the iterations of a loop, possibly in parallel, on the caller's threads.
pub trait ParallelFor: Sync {
    /// Returns the number of pieces into which work should be divided.
    fn width(&self) -> usize;
    /// Calls `work` once with each number in `0..n`, in any order.
    fn each(&self, n: usize, work: &(dyn Fn(usize) + Sync));
}

/// Runs all iterations in order, on the calling thread.
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

/// Runs iterations in reverse order, to test that results do not depend on it.
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
