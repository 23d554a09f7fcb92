//! Unpacks the bytes of chunks to numbers.

use flate2::{Decompress, FlushDecompress, Status};
use trajet_simd::multiversion;

use super::chunk_map::Part;
use super::description::Form;

/// Decompression state, reused for every chunk.
#[derive(Debug, Default)]
pub struct Unpacker(Option<Decompress>);

impl Unpacker {
    /// Decompresses a deflated chunk into `out`.
    ///
    /// # Errors
    /// A message, if the chunk is damaged or does not hold exactly `out.len()` bytes.
    pub fn inflate(&mut self, packed: &[u8], out: &mut [u8]) -> Result<(), String> {
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

/// Unpacked numbers of a part, before unshuffling.
#[derive(Clone, Copy, Debug)]
pub struct Numbers<'a> {
    /// The unpacked bytes.
    pub bytes: &'a [u8],
    /// Distance between the bytes of a number in shuffled data; 0 if they are contiguous.
    pub plane: usize,
    /// Index of the first number of the part's first atom.
    pub first: usize,
}

/// Selection of atoms and axes from the numbers of a part.
#[derive(Clone, Copy, Debug)]
pub struct PartSelection<'a> {
    /// Selected atoms; `None` for all atoms of the part.
    atoms: Option<&'a [u32]>,
    /// First atom of the part.
    from: u32,
    /// Number of atoms from the first to the last of the part.
    length: usize,
    /// Numbers per atom in the chunk.
    stride: usize,
    /// First axis and number of axes.
    axes: (usize, usize),
}

impl<'a> PartSelection<'a> {
    /// Creates the selection for a part, whose chunk has `stride` axes.
    pub fn of(part: &Part, sorted: Option<&'a [u32]>, stride: usize) -> Self {
        PartSelection {
            atoms: sorted.map(|list| &list[part.columns.clone()]),
            from: part.atoms.start as u32,
            length: part.atoms.len(),
            stride,
            axes: (part.axes.start, part.axes.len()),
        }
    }
}

multiversion! {
    /// Writes the selected numbers, rounded to floats and multiplied by the factor, to `out`.
    pub fn scaled(
        form: (Form, f32),
        numbers: Numbers<'_>,
        selection: PartSelection<'_>,
        out: &mut [[f32; 3]],
    ) = scaled_of
}

#[inline(always)]
fn scaled_of(
    (form, by): (Form, f32),
    numbers: Numbers<'_>,
    selection: PartSelection<'_>,
    out: &mut [[f32; 3]],
) {
    match (form.double, form.big_endian) {
        (false, false) => each(numbers, selection, out, |w| f32::from_le_bytes(w) * by),
        (false, true) => each(numbers, selection, out, |w| f32::from_be_bytes(w) * by),
        (true, false) => each(numbers, selection, out, |w| f64::from_le_bytes(w) as f32 * by),
        (true, true) => each(numbers, selection, out, |w| f64::from_be_bytes(w) as f32 * by),
    }
}

/// Writes the selected floats to `out` unchanged.
pub fn floats(
    form: Form,
    numbers: Numbers<'_>,
    selection: PartSelection<'_>,
    out: &mut [[f32; 3]],
) {
    match form.big_endian {
        false => each(numbers, selection, out, f32::from_le_bytes),
        true => each(numbers, selection, out, f32::from_be_bytes),
    }
}

/// Writes the selected doubles to `out` unchanged.
pub fn doubles(
    form: Form,
    numbers: Numbers<'_>,
    selection: PartSelection<'_>,
    out: &mut [[f64; 3]],
) {
    match form.big_endian {
        false => each(numbers, selection, out, f64::from_le_bytes),
        true => each(numbers, selection, out, f64::from_be_bytes),
    }
}

#[inline(always)]
fn each<const WIDTH: usize, T>(
    numbers: Numbers<'_>,
    selection: PartSelection<'_>,
    out: &mut [[T; 3]],
    number: impl Fn([u8; WIDTH]) -> T,
) {
    let Numbers { bytes, plane, first } = numbers;
    let n = selection.length * selection.stride;
    if plane == 0 {
        let words = &bytes[first * WIDTH..(first + n) * WIDTH].as_chunks::<WIDTH>().0[..n];
        spread(selection, n, out, |k| number(words[k]));
    } else {
        let planes: [&[u8]; WIDTH] = std::array::from_fn(|k| &bytes[k * plane + first..][..n]);
        spread(selection, n, out, |k| number(planes.map(|plane| plane[k])));
    }
}

#[inline(always)]
fn spread<T>(
    selection: PartSelection<'_>,
    n: usize,
    out: &mut [[T; 3]],
    value: impl Fn(usize) -> T,
) {
    let PartSelection { atoms, from, stride, axes: (axis, n_axes), .. } = selection;
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
