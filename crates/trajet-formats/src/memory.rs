//! Allocations whose size is determined by a file or a request. A refused allocation is an error and does not
//! abort the process.

/// An allocation that the system refused.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Refused {
    /// Bytes needed.
    pub needed: u64,
    /// Purpose of the memory.
    pub what: &'static str,
}

/// Resizes a buffer; new elements are `value`.
///
/// # Errors
/// [`Refused`] if there is not enough memory.
#[inline]
pub fn resize<T: Copy>(
    buffer: &mut Vec<T>,
    len: usize,
    value: T,
    what: &'static str,
) -> Result<(), Refused> {
    reserve(buffer, len.saturating_sub(buffer.len()), what)?;
    buffer.resize(len, value);
    Ok(())
}

/// Reserves capacity for `more` further elements of a vector.
///
/// # Errors
/// [`Refused`] if there is not enough memory.
#[inline]
pub fn reserve<T>(buffer: &mut Vec<T>, more: usize, what: &'static str) -> Result<(), Refused> {
    buffer.try_reserve(more).map_err(|_| refused::<T>(buffer.len().saturating_add(more), what))
}

/// Returns a vector of `len` elements, all of them `value`.
///
/// # Errors
/// [`Refused`] if there is not enough memory.
pub fn filled<T: Copy>(len: usize, value: T, what: &'static str) -> Result<Vec<T>, Refused> {
    let mut made = room_for(len, what)?;
    made.resize(len, value);
    Ok(made)
}

/// Returns a vector with the elements of a slice.
///
/// # Errors
/// [`Refused`] if there is not enough memory.
pub fn copied<T: Copy>(from: &[T], what: &'static str) -> Result<Vec<T>, Refused> {
    let mut made = room_for(from.len(), what)?;
    made.extend_from_slice(from);
    Ok(made)
}

/// Returns an empty vector with room for `len` elements.
fn room_for<T>(len: usize, what: &'static str) -> Result<Vec<T>, Refused> {
    let mut made = Vec::new();
    made.try_reserve_exact(len).map_err(|_| refused::<T>(len, what))?;
    Ok(made)
}

/// Allocates memory and frees it again, to find out whether code that cannot report a failed allocation may
/// take as much.
///
/// # Errors
/// [`Refused`] if there is not enough memory.
pub fn ask(bytes: usize, what: &'static str) -> Result<(), Refused> {
    // Without this, the compiler removes the unused allocation.
    std::hint::black_box(room_for::<u8>(bytes, what)?);
    Ok(())
}

#[cold]
fn refused<T>(len: usize, what: &'static str) -> Refused {
    Refused { needed: (len as u64).saturating_mul(size_of::<T>() as u64), what }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// More than any process can address.
    const TOO_MANY: usize = usize::MAX / 16;

    #[test]
    fn a_refused_allocation_is_an_error_that_names_the_bytes() {
        let needed = |Refused { needed, what }| {
            assert_eq!(what, "numbers");
            needed
        };
        let mut held = vec![1.0_f64, 2.0];
        let bytes = 8 * TOO_MANY as u64;
        assert_eq!(needed(resize(&mut held, TOO_MANY, 0.0, "numbers").unwrap_err()), bytes);
        assert_eq!(needed(reserve(&mut held, TOO_MANY - 2, "numbers").unwrap_err()), bytes);
        assert_eq!(needed(filled(TOO_MANY, 0.0_f64, "numbers").unwrap_err()), bytes);
        assert_eq!(held, [1.0, 2.0]);
        resize(&mut held, 3, 0.5, "numbers").unwrap();
        assert_eq!(held, [1.0, 2.0, 0.5]);
        assert_eq!(copied(&held, "numbers").unwrap(), held);
        assert_eq!(filled(2, 7, "numbers").unwrap(), [7, 7]);
        assert_eq!(needed(ask(8 * TOO_MANY, "numbers").unwrap_err()), bytes);
        ask(1, "numbers").unwrap();
    }
}
