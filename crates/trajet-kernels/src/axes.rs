//! Positions by axis, some atoms at a time, and numbers of atoms that begin on a cache line: a vector of 64 bytes that
//! crosses lines takes two loads.

use std::ops::{Deref, Range};

use crate::cell::Vector;
use crate::lanes::LANES;

/// Atoms that are split at a time. Their coordinates stay in the first-level cache, with a reference of as many atoms.
const BLOCK: usize = 32 * LANES;

/// Iterates over blocks of positions, with the range of their atoms. All blocks but the last consist of whole lanes.
#[inline(always)]
pub(crate) fn blocks(points: &[[f32; 3]]) -> impl Iterator<Item = (Range<usize>, &[[f32; 3]])> {
    let range = |(k, block): (usize, &[[f32; 3]])| k * BLOCK..k * BLOCK + block.len();
    points.chunks(BLOCK).enumerate().map(move |one| (range(one), one.1))
}

/// Coordinates of a block, one array for each axis.
#[repr(align(64))]
pub(crate) struct Axes([[f64; BLOCK]; 3]);

impl Axes {
    /// Returns memory for coordinates.
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Axes([[0.0; BLOCK]; 3])
    }

    /// Returns the coordinates of a block relative to `origin`.
    #[inline(always)]
    pub(crate) fn of(&mut self, block: &[[f32; 3]], origin: Vector) -> [&[f64]; 3] {
        let n = block.len();
        let [x, y, z] = &mut self.0;
        let (x, y, z) = (&mut x[..n], &mut y[..n], &mut z[..n]);
        for i in 0..n {
            x[i] = f64::from(block[i][0]) - origin[0];
            y[i] = f64::from(block[i][1]) - origin[1];
            z[i] = f64::from(block[i][2]) - origin[2];
        }
        [x, y, z]
    }
}

/// Bytes of a cache line.
const LINE: usize = 64;

/// Numbers that begin on a cache line.
#[derive(Debug)]
pub(crate) struct Aligned {
    memory: Vec<f64>,
    first: usize,
}

impl FromIterator<f64> for Aligned {
    fn from_iter<T: IntoIterator<Item = f64>>(numbers: T) -> Self {
        let numbers: Vec<f64> = numbers.into_iter().collect();
        let mut memory: Vec<f64> = Vec::with_capacity(numbers.len() + LINE / size_of::<f64>());
        let first = memory.as_ptr().align_offset(LINE).min(LINE / size_of::<f64>());
        memory.resize(first, 0.0);
        memory.extend(numbers);
        Aligned { memory, first }
    }
}

impl Clone for Aligned {
    fn clone(&self) -> Self {
        self.iter().copied().collect()
    }
}

impl Deref for Aligned {
    type Target = [f64];

    #[inline(always)]
    fn deref(&self) -> &[f64] {
        &self.memory[self.first..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_begin_on_a_cache_line() {
        for n in 0..40 {
            let numbers: Vec<f64> = (0..n).map(f64::from).collect();
            let aligned: Aligned = numbers.iter().copied().collect();
            for copy in [&aligned, &aligned.clone()] {
                assert_eq!(copy[..], numbers);
                assert_eq!(copy.as_ptr() as usize % LINE, 0);
            }
        }
    }
}
