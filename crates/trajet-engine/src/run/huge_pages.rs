//! Huge pages for large results: the system then clears 2 MiB at the first write to them, instead of 4 KiB some hundred
//! times, which takes longer than computing the numbers.
#![allow(unsafe_code)]

use std::ops::Range;

/// Size of a huge page, and of the smallest result that gets any.
const HUGE: usize = 2 << 20;

/// Asks the system for huge pages. Where it has none, nothing changes.
#[cfg(target_os = "linux")]
pub(super) fn request(memory: &mut [u64]) {
    use std::ptr::NonNull;

    use nix::sys::mman::{MmapAdvise, madvise};

    let Some(range) = whole_pages(memory.as_ptr_range()) else { return };
    let pointer = memory.as_mut_ptr().with_addr(range.start);
    let Some(pointer) = NonNull::new(pointer.cast()) else { return };
    // SAFETY: the range lies within `memory`, and this advice changes no byte of it. It may fail, which does no harm.
    let _ = unsafe { madvise(pointer, range.len(), MmapAdvise::MADV_HUGEPAGE) };
}

/// Does nothing: only Linux is asked.
#[cfg(not(target_os = "linux"))]
pub(super) fn request(_: &mut [u64]) {}

/// Returns the addresses of the whole huge pages in a range of memory; `None` if there is none.
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
fn whole_pages(memory: Range<*const u64>) -> Option<Range<usize>> {
    let first = memory.start.addr().checked_next_multiple_of(HUGE)?;
    let end = memory.end.addr() / HUGE * HUGE;
    (first < end).then_some(first..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_pages_within_the_memory_are_requested() {
        let range = |start: usize, end: usize| {
            whole_pages(std::ptr::without_provenance(start)..std::ptr::without_provenance(end))
        };
        assert_eq!(range(HUGE, 3 * HUGE), Some(HUGE..3 * HUGE));
        assert_eq!(range(HUGE - 8, 3 * HUGE + 8), Some(HUGE..3 * HUGE));
        assert_eq!(range(HUGE + 8, 3 * HUGE - 8), None);
        assert_eq!(range(HUGE + 8, 3 * HUGE), Some(2 * HUGE..3 * HUGE));
        assert_eq!(range(HUGE + 8, HUGE + 16), None);
        assert_eq!(range(usize::MAX - 8, usize::MAX), None);
    }

    #[test]
    fn numbers_do_not_change() {
        let mut numbers: Vec<u64> = (0..1_000_000).collect();
        request(&mut numbers);
        request(&mut []);
        assert!(numbers.iter().zip(0..).all(|(&number, i)| number == i));
    }
}
