//! Products of all pairs of rows of two tables, `Σ_k a[i, k] b[j, k]`: correlation matrices of all pairs of frames,
//! covariances, and Gram matrices.
//!
//! Tables have `f32` elements, whose products are exact in `f64`. Each sum is in the order of `k`, so that neither
//! blocks nor instruction sets change a bit. Vectors hold the sums of neighbouring rows of `b`, and therefore need no
//! sum over lanes. The blocks for registers and caches are those of K. Goto and R. A. van de Geijn, ACM Trans. Math.
//! Softw. 34, 12 (2008), doi:10.1145/1356052.1356053.

use std::ops::Range;

use trajet_simd::{InstructionSet, multiversion};

/// Rows that are neighbours in a vector.
pub const LANES: usize = 8;
/// Rows of a panel: three groups of [`LANES`]. Row `r` is in group `r / LANES`.
pub const WIDTH: usize = 3 * LANES;
/// Elements of a row that are converted at a time, so that a panel of `f64` remains in the cache of the first level.
const DEPTH: usize = 96;

/// The sums of three rows with the rows of a panel: row of `a`, group of `b`, row of the group.
pub type Sums = [[[f64; LANES]; 3]; 3];

/// A table in panels of [`WIDTH`] rows: element `k` of all rows of a panel, then element `k + 1`.
#[derive(Clone, Debug)]
pub struct Panels {
    elements: Vec<[f32; WIDTH]>,
    depth: usize,
}

impl Panels {
    /// Makes a table of rows with `depth` elements.
    ///
    /// # Panics
    /// If the number of elements is not a multiple of `depth`.
    pub fn new(elements: Vec<[f32; WIDTH]>, depth: usize) -> Self {
        assert!(elements.len().is_multiple_of(depth.max(1)), "panels are whole");
        Panels { elements, depth }
    }

    /// Returns the number of panels.
    pub fn len(&self) -> usize {
        self.elements.len() / self.depth.max(1)
    }

    /// Returns whether there are no panels.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns a panel, `[depth, WIDTH]`.
    pub fn panel(&self, p: usize) -> &[[f32; WIDTH]] {
        &self.elements[p * self.depth..(p + 1) * self.depth]
    }

    /// Returns all panels, to be set.
    pub fn panels_mut(&mut self) -> std::slice::ChunksExactMut<'_, [f32; WIDTH]> {
        self.elements.chunks_exact_mut(self.depth.max(1))
    }
}

/// Memory for the products of some panels, reused from call to call.
#[derive(Clone, Debug, Default)]
pub struct Tile {
    sums: Vec<Sums>,
    columns: usize,
    a: Vec<[f64; WIDTH]>,
    b: Vec<[f64; WIDTH]>,
}

impl Tile {
    /// Computes the products of all rows of the panels `rows` of `a` with all rows of the panels `columns` of `b`.
    ///
    /// # Panics
    /// If the tables have rows of different lengths, or a panel is out of range.
    pub fn compute(
        &mut self,
        set: InstructionSet,
        (a, rows): (&Panels, Range<usize>),
        (b, columns): (&Panels, Range<usize>),
    ) {
        assert_eq!(a.depth, b.depth, "rows of the same length");
        self.columns = columns.len();
        self.sums.clear();
        self.sums.resize(rows.len() * columns.len() * LANES, Sums::default());
        for begin in (0..a.depth).step_by(DEPTH) {
            let slab = begin..a.depth.min(begin + DEPTH);
            convert(set, a, rows.clone(), slab.clone(), &mut self.a);
            convert(set, b, columns.clone(), slab.clone(), &mut self.b);
            let chunks = self.a.chunks_exact(slab.len());
            for (a, sums) in chunks.zip(self.sums.chunks_exact_mut(self.columns * LANES)) {
                let chunks = self.b.chunks_exact(slab.len());
                for (b, sums) in chunks.zip(sums.as_chunks_mut::<LANES>().0) {
                    add_products(set, a, b, sums);
                }
            }
        }
    }

    /// Returns the sums of rows `lane`, `lane + LANES` and `lane + 2 LANES` of the `row`-th panel of `a` with the rows
    /// of the `column`-th panel of `b`.
    ///
    /// # Panics
    /// If one of them is out of range.
    pub fn sums(&self, row: usize, lane: usize, column: usize) -> &Sums {
        assert!(lane < LANES && column < self.columns, "a row and a panel of the tile");
        &self.sums[(row * self.columns + column) * LANES + lane]
    }
}

multiversion! {
    /// Converts elements `slab` of some panels to double precision.
    fn convert(from: &Panels, panels: Range<usize>, slab: Range<usize>, to: &mut Vec<[f64; WIDTH]>) = convert_of
}

#[inline(always)]
fn convert_of(from: &Panels, panels: Range<usize>, slab: Range<usize>, to: &mut Vec<[f64; WIDTH]>) {
    to.clear();
    for p in panels {
        to.extend(from.panel(p)[slab.clone()].iter().map(|rows| rows.map(f64::from)));
    }
}

/// Adds the products of all rows of a panel of `a` with all rows of a panel of `b` to `sums`.
fn add_products(
    set: InstructionSet,
    a: &[[f64; WIDTH]],
    b: &[[f64; WIDTH]],
    sums: &mut [Sums; LANES],
) {
    // As many sums as the registers of the set hold.
    match set.is_avx512() {
        true => add_in_eights(set, a, b, sums),
        false => add_in_fours(set, a, b, sums),
    }
}

multiversion! {
    /// Adds products, in vectors of eight.
    fn add_in_eights(a: &[[f64; WIDTH]], b: &[[f64; WIDTH]], sums: &mut [Sums; LANES]) = add_of::<8>
}

multiversion! {
    /// Adds products, in vectors of four.
    fn add_in_fours(a: &[[f64; WIDTH]], b: &[[f64; WIDTH]], sums: &mut [Sums; LANES]) = add_of::<4>
}

/// Rows of each group of `a` whose sums are in registers at a time, so that each element of `b` is used as often.
const TOGETHER: usize = 2;

#[inline(always)]
fn add_of<const N: usize>(a: &[[f64; WIDTH]], b: &[[f64; WIDTH]], sums: &mut [Sums; LANES]) {
    for (part, sums) in sums.as_chunks_mut::<TOGETHER>().0.iter_mut().enumerate() {
        for first in (0..LANES).step_by(N) {
            let mut own = [[[[0.0; N]; 3]; 3]; TOGETHER];
            for (own, sums) in own.as_flattened_mut().iter_mut().zip(sums.as_flattened()) {
                for (own, sums) in own.iter_mut().zip(sums) {
                    own.copy_from_slice(&sums[first..first + N]);
                }
            }
            for (a, b) in a.iter().zip(b) {
                for (row, own) in own.iter_mut().enumerate() {
                    for i in 0..3 {
                        let factor = a[LANES * i + TOGETHER * part + row];
                        for j in 0..3 {
                            for k in 0..N {
                                own[i][j][k] += factor * b[LANES * j + first + k];
                            }
                        }
                    }
                }
            }
            for (own, sums) in own.as_flattened().iter().zip(sums.as_flattened_mut()) {
                for (own, sums) in own.iter().zip(sums) {
                    sums[first..first + N].copy_from_slice(own);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Some panels of one depth.
    fn panels(n: usize, depth: usize, seed: u64) -> Panels {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 40) as f32 / 1000.0 - 8000.0
        };
        let elements = (0..n * depth).map(|_| std::array::from_fn(|_| next())).collect();
        Panels::new(elements, depth)
    }

    proptest! {
        #[test]
        fn products_have_the_bits_of_plain_sums_on_every_instruction_set(
            (n, m) in (1..3usize, 1..4usize),
            depth in prop::sample::select(vec![1, 2, 95, 96, 97, 200]),
            seed in any::<u64>(),
        ) {
            let (a, b) = (panels(n, depth, seed), panels(m, depth, !seed));
            let plain = |i: usize, j: usize| {
                let (x, y) = (a.panel(i / WIDTH), b.panel(j / WIDTH));
                let products = x.iter().zip(y).map(|(x, y)| {
                    f64::from(x[i % WIDTH]) * f64::from(y[j % WIDTH])
                });
                products.fold(0.0, |sum, product| sum + product)
            };
            let mut tile = Tile::default();
            for set in InstructionSet::available() {
                tile.compute(set, (&a, n - 1..n), (&b, 0..m));
                for i in 0..WIDTH {
                    for j in 0..WIDTH * m {
                        let sums = tile.sums(0, i % LANES, j / WIDTH);
                        let sum = sums[i / LANES][j % WIDTH / LANES][j % LANES];
                        prop_assert_eq!(sum.to_bits(), plain((n - 1) * WIDTH + i, j).to_bits());
                    }
                }
            }
        }
    }
}
