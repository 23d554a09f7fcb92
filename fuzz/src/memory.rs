//! Memory limits of a case. One that needs more ends with "memory allocation of … failed"; `gdb -ex 'b rust_oom' -ex run`
//! shows the allocation.

use std::alloc::System;
use std::sync::Once;

use cap::Cap;

/// Bytes of memory per byte of a file: the positions of the invariant in ARCHITECTURE.md (48), XTC's groups (64, if
/// each atom takes two bits), the window, the index.
pub(crate) const EACH: usize = 128;
/// Bytes of memory per byte of a file that may be deflated. Deflate expands a byte to at most 1032: these, and as many
/// in buffers kept for reuse.
pub(crate) const EACH_DEFLATED: usize = EACH + 2 * 1032;
/// Bytes independent of the input: batches of the decoder, paths, messages.
pub(crate) const FIXED: usize = 64 << 10;

#[global_allocator]
static MEMORY: Cap<System> = Cap::new(System, usize::MAX);

/// Limit on the memory that the code under test has allocated at any moment of opening or reading. Earlier allocations
/// and those of the harness are not counted.
#[derive(Debug)]
pub(crate) struct Budget {
    /// Bytes allocated before, and by the harness since.
    baseline: usize,
    most: usize,
}

impl Budget {
    /// Returns a limit of `most` bytes.
    pub(crate) fn of(most: usize) -> Budget {
        Budget { baseline: MEMORY.allocated(), most }
    }

    /// Runs code under test. If it exceeds the limit, the process ends at that request with "memory allocation of …
    /// bytes failed".
    pub(crate) fn limited<T>(&self, work: impl FnOnce() -> T) -> T {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            // The message of a panic may take more memory than the case is allowed.
            let fuzzers = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |info| {
                lift();
                fuzzers(info);
            }));
        });
        let limit = self.baseline + self.most;
        assert!(
            MEMORY.set_limit(limit).is_ok(),
            "{} bytes are kept where {} are the limit",
            MEMORY.allocated() - self.baseline,
            self.most
        );
        let value = work();
        lift();
        value
    }

    /// Runs code of the harness that allocates or frees memory.
    pub(crate) fn uncounted<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let before = MEMORY.allocated();
        let value = work();
        self.baseline = (self.baseline + MEMORY.allocated()).saturating_sub(before);
        value
    }
}

/// Removes the limit, for code that is not under test.
pub(crate) fn lift() {
    MEMORY.set_limit(usize::MAX).expect("nothing is above this limit");
}
