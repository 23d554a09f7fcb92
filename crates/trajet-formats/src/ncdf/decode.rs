//! Decodes the vectors of a record.

use trajet_simd::multiversion;

use super::values::Scale;

multiversion! {
    /// Converts and scales the vectors of the selected atoms. `stored` begins with atom `from`; `form` is whether
    /// numbers are doubles, and their scale factor.
    pub fn scaled(
        stored: &[u8],
        form: (bool, Option<Scale>),
        selected: Option<&[u32]>,
        from: u32,
        out: &mut [[f32; 3]],
    ) = scaled_of
}

#[inline(always)]
fn scaled_of(
    stored: &[u8],
    form: (bool, Option<Scale>),
    selected: Option<&[u32]>,
    from: u32,
    out: &mut [[f32; 3]],
) {
    let (float, double) = (f32::from_be_bytes, f64::from_be_bytes);
    match form {
        (false, None) => gather(stored, selected, from, out, float),
        (false, Some(Scale::Float(by))) => gather(stored, selected, from, out, |w| float(w) * by),
        (false, Some(Scale::Double(by))) => {
            gather(stored, selected, from, out, |w| (f64::from(float(w)) * by) as f32);
        }
        (true, None) => gather(stored, selected, from, out, |w| double(w) as f32),
        (true, Some(Scale::Float(by))) => {
            gather(stored, selected, from, out, |w| (double(w) * f64::from(by)) as f32);
        }
        (true, Some(Scale::Double(by))) => {
            gather(stored, selected, from, out, |w| (double(w) * by) as f32);
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
) {
    let words = stored.as_chunks::<WIDTH>().0;
    match selected {
        None => {
            for (value, &word) in out.as_flattened_mut().iter_mut().zip(words) {
                *value = number(word);
            }
        }
        Some(list) => {
            let vectors = words.as_chunks::<3>().0;
            for (vector, &atom) in out.iter_mut().zip(list) {
                *vector = vectors[(atom - from) as usize].map(&number);
            }
        }
    }
}
