//! From the bytes of a chunk to numbers.

use flate2::{Decompress, FlushDecompress, Status};
use trajet_simd::multiversion;

use super::description::Form;
use super::chunk_map::Part;

/// The state of decompression, used again for every chunk.
#[derive(Debug, Default)]
pub(super) struct Unpacker(Option<Decompress>);

impl Unpacker {
    /// Fills `out` from the chunk that it was deflated to.
    ///
    /// # Errors
    /// What is wrong with the chunk, in words; also where it holds more or less than `out`.
    pub(super) fn inflate(&mut self, packed: &[u8], out: &mut [u8]) -> Result<(), String> {
        let state = self.0.get_or_insert_with(|| Decompress::new(true));
        state.reset(true);
        let wrong = |what: &str| Err(format!("its compressed bytes {what}"));
        match state.decompress(packed, out, FlushDecompress::Finish) {
            Ok(Status::StreamEnd) if state.total_out() == out.len() as u64 => Ok(()),
            Ok(Status::StreamEnd) => wrong("hold too few numbers"),
            Ok(_) if state.total_out() == out.len() as u64 => wrong("hold too many numbers"),
            Ok(_) => wrong("end too early"),
            Err(_) => wrong("are damaged"),
        }
    }
}

/// Numbers of a part, unpacked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbers<'a> {
    pub(super) bytes: &'a [u8],
    /// How many numbers apart the bytes of a number are; 0 where they stand together.
    pub(super) plane: usize,
    /// The place of the first number of the part's first atom.
    pub(super) first: usize,
}

/// Which of them are wanted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Want<'a> {
    /// Atoms; none for all of the part.
    atoms: Option<&'a [u32]>,
    /// The part's first atom.
    from: u32,
    /// Atoms from the part's first to its last.
    length: usize,
    /// Numbers from atom to atom.
    stride: usize,
    /// First axis, and how many.
    axes: (usize, usize),
}

impl<'a> Want<'a> {
    /// The atoms of a part, whose chunk has `stride` axes.
    pub(super) fn of(part: &Part, sorted: Option<&'a [u32]>, stride: usize) -> Self {
        Want {
            atoms: sorted.map(|list| &list[part.places.clone()]),
            from: part.atoms.start as u32,
            length: part.atoms.len(),
            stride,
            axes: (part.axes.start, part.axes.len()),
        }
    }
}

multiversion! {
    /// Puts wanted numbers, rounded to floats and multiplied with the factor, to their places.
    pub(super) fn scaled(
        form: (Form, f32),
        numbers: Numbers<'_>,
        want: Want<'_>,
        out: &mut [[f32; 3]],
    ) = scaled_of
}

#[inline(always)]
fn scaled_of((form, by): (Form, f32), numbers: Numbers<'_>, want: Want<'_>, out: &mut [[f32; 3]]) {
    match (form.double, form.big_endian) {
        (false, false) => each(numbers, want, out, |w| f32::from_le_bytes(w) * by),
        (false, true) => each(numbers, want, out, |w| f32::from_be_bytes(w) * by),
        (true, false) => each(numbers, want, out, |w| f64::from_le_bytes(w) as f32 * by),
        (true, true) => each(numbers, want, out, |w| f64::from_be_bytes(w) as f32 * by),
    }
}

/// Puts wanted floats to their places.
pub(super) fn floats(form: Form, numbers: Numbers<'_>, want: Want<'_>, out: &mut [[f32; 3]]) {
    match form.big_endian {
        false => each(numbers, want, out, f32::from_le_bytes),
        true => each(numbers, want, out, f32::from_be_bytes),
    }
}

/// Puts wanted doubles to their places.
pub(super) fn doubles(form: Form, numbers: Numbers<'_>, want: Want<'_>, out: &mut [[f64; 3]]) {
    match form.big_endian {
        false => each(numbers, want, out, f64::from_le_bytes),
        true => each(numbers, want, out, f64::from_be_bytes),
    }
}

#[inline(always)]
fn each<const WIDTH: usize, T>(
    numbers: Numbers<'_>,
    want: Want<'_>,
    out: &mut [[T; 3]],
    number: impl Fn([u8; WIDTH]) -> T,
) {
    let Numbers { bytes, plane, first } = numbers;
    let n = want.length * want.stride;
    if plane == 0 {
        let words = &bytes[first * WIDTH..(first + n) * WIDTH].as_chunks::<WIDTH>().0[..n];
        spread(want, n, out, |k| number(words[k]));
    } else {
        let planes: [&[u8]; WIDTH] = std::array::from_fn(|k| &bytes[k * plane + first..][..n]);
        spread(want, n, out, |k| number(planes.map(|plane| plane[k])));
    }
}

#[inline(always)]
fn spread<T>(want: Want<'_>, n: usize, out: &mut [[T; 3]], value: impl Fn(usize) -> T) {
    let Want { atoms, from, stride, axes: (axis, n_axes), .. } = want;
    match atoms {
        None if stride == 3 => {
            let out = &mut out.as_flattened_mut()[..n];
            for k in 0..n {
                out[k] = value(k);
            }
        }
        None => {
            for (k, vector) in out.iter_mut().enumerate() {
                for x in 0..n_axes {
                    vector[axis + x] = value(k * stride + x);
                }
            }
        }
        Some(list) => {
            for (vector, &atom) in out.iter_mut().zip(list) {
                let k = (atom - from) as usize * stride;
                for x in 0..n_axes {
                    vector[axis + x] = value(k + x);
                }
            }
        }
    }
}
