//! How much memory a case may take.

use std::alloc::System;

use cap::Cap;

/// Bytes that the reading of one byte of a file may take: the positions of the invariant in
/// ARCHITECTURE.md (48), XTC's groups (64, where each atom of two bits is one), the window, the index.
pub(crate) const EACH: usize = 128;
/// Where bytes may be deflated, which makes at most 1032 of one: those, and as many that wait to be used
/// again.
pub(crate) const EACH_DEFLATED: usize = EACH + 2 * 1032;
/// Bytes that do not depend on the input: batches of the decoder, paths, messages.
pub(crate) const FIXED: usize = 64 << 10;

#[global_allocator]
static MEMORY: Cap<System> = Cap::new(System, usize::MAX);

/// What the code under test may have allocated at any moment of an opening or a reading. What was there
/// before and the harness' own memory are not counted.
#[derive(Debug)]
pub(crate) struct Budget {
    /// Allocated before, and by the harness since.
    ours: usize,
    most: usize,
}

impl Budget {
    /// Of so many bytes.
    pub(crate) fn of(most: usize) -> Budget {
        Budget { ours: MEMORY.allocated(), most }
    }

    /// Runs code under test; where it asks for too much, the process ends at that request with
    /// "memory allocation of … bytes failed".
    pub(crate) fn theirs<T>(&self, work: impl FnOnce() -> T) -> T {
        let limit = self.ours + self.most;
        assert!(
            MEMORY.set_limit(limit).is_ok(),
            "{} bytes are kept where {} are the limit",
            MEMORY.allocated() - self.ours,
            self.most
        );
        let value = work();
        lift();
        value
    }

    /// Runs what allocates or frees memory of the harness.
    pub(crate) fn ours<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let before = MEMORY.allocated();
        let value = work();
        self.ours = (self.ours + MEMORY.allocated()).saturating_sub(before);
        value
    }
}

/// Takes the limit away: for what is not under test, the message of a panic too.
pub(crate) fn lift() {
    MEMORY.set_limit(usize::MAX).expect("nothing is above this limit");
}
