//! Decodes the numbers of a frame.

use trajet_simd::{InstructionSet, multiversion};

use super::frame::{ANGSTROM_PER_NM, Reals};
use super::head::{Head, real_at};
use crate::xdr::{f32_at, f64_at};
use crate::{FrameInfo, cell_from_vectors, turned_vectors};

/// Returns time, step and cell of a frame. `front` must contain the frame up to the end of its box.
pub fn frame_info(head: &Head, front: &[u8]) -> FrameInfo {
    let (mut cell, mut turned) = ([f64::NAN; 6], None);
    if let Some(place) = head.part(0) {
        let real = |k: usize| real_at(front, head.real, place.start + k * head.real);
        let vectors = std::array::from_fn(real);
        cell = cell_from_vectors(&vectors, ANGSTROM_PER_NM);
        turned = turned_vectors(&vectors, ANGSTROM_PER_NM);
    }
    FrameInfo::of_periodic(head.time, i64::from(head.step), cell, turned)
}

/// Returns the numbers of a part, each of `real` (4 or 8) bytes, as they are stored.
pub fn reals(real: usize, bytes: &[u8]) -> Reals {
    let n = bytes.len() / real;
    if real == 4 {
        Reals::Single((0..n).map(|i| f32_at(bytes, 4 * i)).collect())
    } else {
        Reals::Double((0..n).map(|i| f64_at(bytes, 8 * i)).collect())
    }
}

/// Writes the vectors of the selected atoms to `out`. `bytes` begins with those of atom `from`; if it is `None`,
/// the frame lacks them and the vectors are NaN.
pub fn fill(
    set: InstructionSet,
    real: usize,
    bytes: Option<&[u8]>,
    selected: Option<&[u32]>,
    from: u32,
    scale: f32,
    out: &mut [[f32; 3]],
) {
    match bytes {
        None => out.fill([f32::NAN; 3]),
        Some(bytes) if real == 4 => floats(set, bytes, selected, from, scale, out),
        Some(bytes) => doubles(set, bytes, selected, from, scale, out),
    }
}

multiversion! {
    /// Converts floats to native byte order and scales them.
    fn floats(
        bytes: &[u8],
        selected: Option<&[u32]>,
        from: u32,
        scale: f32,
        out: &mut [[f32; 3]],
    ) = floats_of
}

#[inline(always)]
fn floats_of(bytes: &[u8], selected: Option<&[u32]>, from: u32, scale: f32, out: &mut [[f32; 3]]) {
    let words = bytes.as_chunks::<4>().0;
    match selected {
        None => {
            for (value, &word) in out.as_flattened_mut().iter_mut().zip(words) {
                *value = f32::from_be_bytes(word) * scale;
            }
        }
        Some(list) => {
            let triples = words.as_chunks::<3>().0;
            for (vector, &atom) in out.iter_mut().zip(list) {
                *vector = triples[(atom - from) as usize].map(|w| f32::from_be_bytes(w) * scale);
            }
        }
    }
}

multiversion! {
    /// Converts doubles to native byte order, rounds them to floats and then scales them, in this order as in
    /// other readers.
    fn doubles(
        bytes: &[u8],
        selected: Option<&[u32]>,
        from: u32,
        scale: f32,
        out: &mut [[f32; 3]],
    ) = doubles_of
}

#[inline(always)]
fn doubles_of(bytes: &[u8], selected: Option<&[u32]>, from: u32, scale: f32, out: &mut [[f32; 3]]) {
    let triples = bytes.as_chunks::<8>().0.as_chunks::<3>().0;
    let one = |triple: &[[u8; 8]; 3]| triple.map(|word| f64::from_be_bytes(word) as f32 * scale);
    match selected {
        None => out.iter_mut().zip(triples).for_each(|(vector, triple)| *vector = one(triple)),
        Some(list) => {
            for (vector, &atom) in out.iter_mut().zip(list) {
                *vector = one(&triples[(atom - from) as usize]);
            }
        }
    }
}
