//! Decodes the vectors of a record.

use trajet_simd::multiversion;

use super::values::Scale;

/// Bits of the least number that stands out, 2^100 ([`super::values::OUTSTANDING`]); so do infinite numbers and those
/// that are not a number. NetCDF's fill value is one of them.
const OUTSTANDING: u32 = (127 + 100) << 23;
/// [`OUTSTANDING`] for the upper half of a double.
const OUTSTANDING_DOUBLE: u32 = (1023 + 100) << 20;
/// All bits but the sign.
const UNSIGNED: u32 = u32::MAX >> 1;

multiversion! {
    /// Converts and scales the vectors of the selected atoms. `stored` begins with atom `from`; `form` is whether
    /// numbers are doubles, and their scale factor. Returns whether a stored number stands out by its size, as
    /// NetCDF's fill value does.
    pub fn scaled(
        stored: &[u8],
        form: (bool, Option<Scale>),
        selected: Option<&[u32]>,
        from: u32,
        out: &mut [[f32; 3]],
    ) -> bool = scaled_of
}

multiversion! {
    /// Converts floats. Returns whether one stands out by its size.
    pub(super) fn floats(stored: &[u8], out: &mut [f32]) -> bool = floats_of
}

multiversion! {
    /// Converts doubles. Returns whether one stands out by its size.
    pub(super) fn doubles(stored: &[u8], out: &mut [f64]) -> bool = doubles_of
}

#[inline(always)]
fn floats_of(stored: &[u8], out: &mut [f32]) -> bool {
    convert(stored, out, f32::from_be_bytes)
}

#[inline(always)]
fn doubles_of(stored: &[u8], out: &mut [f64]) -> bool {
    convert(stored, out, f64::from_be_bytes)
}

#[inline(always)]
fn scaled_of(
    stored: &[u8],
    form: (bool, Option<Scale>),
    selected: Option<&[u32]>,
    from: u32,
    out: &mut [[f32; 3]],
) -> bool {
    let (float, double) = (f32::from_be_bytes, f64::from_be_bytes);
    match form {
        (false, None) => gather(stored, selected, from, out, float),
        (false, Some(Scale::Float(by))) => gather(stored, selected, from, out, |w| float(w) * by),
        (false, Some(Scale::Double(by))) => {
            gather(stored, selected, from, out, |w| (f64::from(float(w)) * by) as f32)
        }
        (true, None) => gather(stored, selected, from, out, |w| double(w) as f32),
        (true, Some(Scale::Float(by))) => {
            gather(stored, selected, from, out, |w| (double(w) * f64::from(by)) as f32)
        }
        (true, Some(Scale::Double(by))) => {
            gather(stored, selected, from, out, |w| (double(w) * by) as f32)
        }
    }
}

#[inline(always)]
fn gather<const WIDTH: usize>(
    stored: &[u8],
    selected: Option<&[u32]>,
    from: u32,
    out: &mut [[f32; 3]],
    number: impl Fn([u8; WIDTH]) -> f32,
) -> bool {
    let words = stored.as_chunks::<WIDTH>().0;
    match selected {
        None => convert(stored, out.as_flattened_mut(), number),
        Some(list) => {
            let mut found = false;
            let vectors = words.as_chunks::<3>().0;
            for (vector, &atom) in out.iter_mut().zip(list) {
                let stored = vectors[(atom - from) as usize];
                *vector = stored.map(&number);
                found |= stored.into_iter().any(stands_out);
            }
            found
        }
    }
}

#[inline(always)]
fn convert<const WIDTH: usize, T>(
    stored: &[u8],
    out: &mut [T],
    number: impl Fn([u8; WIDTH]) -> T,
) -> bool {
    let mut found = false;
    for (value, &word) in out.iter_mut().zip(stored.as_chunks::<WIDTH>().0) {
        *value = number(word);
        found |= stands_out(word);
    }
    found
}

/// Whether a stored number stands out by its size.
#[inline(always)]
fn stands_out<const WIDTH: usize>(word: [u8; WIDTH]) -> bool {
    let upper = u32::from_be_bytes([word[0], word[1], word[2], word[3]]);
    upper & UNSIGNED >= if WIDTH == 8 { OUTSTANDING_DOUBLE } else { OUTSTANDING }
}
