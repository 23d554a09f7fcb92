//! Memory that is requested before it is used, so that a refusal is an error and not the end of the process.

use std::alloc::{Layout, handle_alloc_error};

/// Error for memory that the system refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoMemory {
    /// Number of bytes.
    pub needed: u64,
    /// The purpose of the memory.
    pub what: &'static str,
}

impl NoMemory {
    /// Ends the process as a refused allocation of a vector does.
    pub fn abort(self) -> ! {
        let bytes = usize::try_from(self.needed).ok();
        let layout = bytes.and_then(|bytes| Layout::from_size_align(bytes, 1).ok());
        handle_alloc_error(layout.unwrap_or(Layout::new::<u8>()))
    }
}

/// Reserves capacity for `more` further elements.
///
/// # Errors
/// [`NoMemory`].
#[inline]
pub fn reserve<T>(vector: &mut Vec<T>, more: usize, what: &'static str) -> Result<(), NoMemory> {
    vector.try_reserve(more).map_err(|_| {
        let elements = vector.len().saturating_add(more) as u64;
        NoMemory { needed: elements.saturating_mul(size_of::<T>() as u64), what }
    })
}
