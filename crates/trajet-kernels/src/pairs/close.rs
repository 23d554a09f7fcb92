//! Lists the pairs of two groups of atoms that are close to each other.

use std::ops::Range;

use trajet_simd::{InstructionSet, multiversion};

use super::Misplaced;
use super::grid::{CHUNK, Grid, Points, Row, Sorted, Tags};
use super::search::divide;
use crate::cell::{Cell, Vector, square};

/// Relative increase of the reach, for distances that are rounded.
const SLACK: f64 = 1e-9;
/// Resolution of coordinates on the grid, in units of the cell's size.
const RESOLUTION: f64 = 1.0 / (1u64 << 44) as f64;
/// Thinnest cell around atoms without a cell, in units of its longest side.
const THINNEST: f64 = 1e-6;

/// Finds pairs by a grid of cells. Buffers are reused between calls.
#[derive(Clone, Debug, Default)]
pub struct PairFinder {
    set: InstructionSet,
    sorted: [Sorted; 2],
    near: Points,
    indices: Vec<u32>,
}

impl PairFinder {
    /// Returns a finder that uses these instructions; [`Default`] uses the best.
    pub fn new(set: InstructionSet) -> Self {
        PairFinder { set, ..Default::default() }
    }

    /// Replaces `pairs` by candidates for close pairs: every pair of an atom of `a` and one of `b` whose minimum-image
    /// distance (without a cell: whose distance) is at most `reach` (Å), and some that are farther apart. Each pair is
    /// given by the indices of its atoms, in any order, and possibly several times.
    ///
    /// # Errors
    /// [`Misplaced`]; the pairs are then undefined.
    pub fn candidates(
        &mut self,
        cell: Option<&Cell>,
        [a, b]: [&[[f32; 3]]; 2],
        reach: f64,
        pairs: &mut Vec<[u32; 2]>,
    ) -> Result<(), Misplaced> {
        pairs.clear();
        if a.is_empty() || b.is_empty() {
            return Ok(());
        }
        let around;
        let cell = match cell {
            Some(cell) => cell,
            None => {
                around = cell_around([a, b], reach)?;
                &around
            }
        };
        let size: f64 = cell.reduced().iter().map(|&v| square(v).sqrt()).sum();
        let reach = reach * (1.0 + SLACK) + size * RESOLUTION;
        let grid = Grid::new(cell, reach, a.len().max(b.len()));
        for (group, positions) in [a, b].into_iter().enumerate() {
            self.sorted[group]
                .sort(self.set, &grid, positions, None, Tags::Indices)
                .map_err(|atom| Misplaced { group, atom })?;
        }
        // The neighbourhood of a grid cell is gathered once for all of its atoms: the fewer such cells, the better.
        let home = usize::from(a.len() > b.len());
        let [homes, others] = [home, 1 - home].map(|group| &self.sorted[group]);
        let rows = grid.neighbours();
        let [n, m, l] = grid.divisions;
        for (k, j) in (0..l).flat_map(|k| (0..m).map(move |j| (k, j))) {
            for i in 0..n {
                let number = grid.number([i, j, k]);
                let atoms = homes.atoms(number..number + 1);
                if atoms.is_empty() {
                    continue;
                }
                self.near.clear();
                self.indices.clear();
                for &row in &rows {
                    gather(&grid, others, row, [i, j, k], &mut self.near, &mut self.indices);
                }
                let limit = reach * reach;
                let near = (&mut self.near, &mut self.indices);
                scan(self.set, homes, atoms, near, limit, home == 1, pairs);
            }
        }
        Ok(())
    }
}

/// Returns a cell so large that no image is within reach of an atom.
fn cell_around(groups: [&[[f32; 3]]; 2], reach: f64) -> Result<Cell, Misplaced> {
    let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
    for (group, positions) in groups.into_iter().enumerate() {
        for (atom, position) in positions.iter().enumerate() {
            for k in 0..3 {
                let x = f64::from(position[k]);
                if !x.is_finite() {
                    return Err(Misplaced { group, atom });
                }
                (low[k], high[k]) = (low[k].min(x), high[k].max(x));
            }
        }
    }
    let sides = [0, 1, 2].map(|k| high[k] - low[k] + 2.0 * reach + 1.0);
    let longest = sides.into_iter().fold(0.0, f64::max);
    let [x, y, z] = sides.map(|side| side.max(longest * THINNEST));
    Ok(Cell::of_vectors([[x, 0.0, 0.0], [0.0, y, 0.0], [0.0, 0.0, z]]).expect("has a volume"))
}

/// Appends the atoms of a row of neighbours of the grid cell at `place`, as the images that it sees.
fn gather(
    grid: &Grid,
    others: &Sorted,
    row: Row,
    place: [i32; 3],
    near: &mut Points,
    indices: &mut Vec<u32>,
) {
    let [a, b, c] = grid.divisions;
    let (j, shift_b) = divide(place[1] + row.along[0], b);
    let (k, shift_c) = divide(place[2] + row.along[1], c);
    let mut at = place[0] + row.first;
    let end = place[0] + row.last + 1;
    while at < end {
        let (i, shift_a) = divide(at, a);
        let length = (end - at).min(a - i);
        let start = grid.number([i, j, k]);
        let atoms = others.atoms(start..start + length as usize);
        indices.extend_from_slice(&others.points.tags[atoms.clone()]);
        near.extend(&others.points, atoms, grid.shift([shift_a, shift_b, shift_c]));
        at += length;
    }
}

multiversion! {
    /// Appends the pairs of some atoms with the gathered ones whose squared distance is at most `limit`.
    fn scan(
        homes: &Sorted,
        atoms: Range<usize>,
        near: (&mut Points, &mut Vec<u32>),
        limit: f64,
        swapped: bool,
        pairs: &mut Vec<[u32; 2]>,
    ) = scan_of
}

#[inline(always)]
fn scan_of(
    homes: &Sorted,
    atoms: Range<usize>,
    near: (&mut Points, &mut Vec<u32>),
    limit: f64,
    swapped: bool,
    pairs: &mut Vec<[u32; 2]>,
) {
    let (points, indices) = near;
    drop_distant(points, indices, &homes.points, atoms.clone(), limit);
    points.pad();
    let [x, y, z] = points.axes.each_ref().map(|axis| axis.as_chunks::<CHUNK>().0);
    for atom in atoms {
        let own = homes.points.tags[atom];
        let at: Vector = [0, 1, 2].map(|k| homes.points.axes[k][atom]);
        for (chunk, others) in indices.chunks(CHUNK).enumerate() {
            let mut squares = [0.0; CHUNK];
            for k in 0..CHUNK {
                let d = [x[chunk][k] - at[0], y[chunk][k] - at[1], z[chunk][k] - at[2]];
                squares[k] = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
            }
            let mut nearest = f64::INFINITY;
            for square in squares {
                nearest = if square < nearest { square } else { nearest };
            }
            if nearest > limit {
                continue;
            }
            for (&other, square) in others.iter().zip(squares) {
                if square <= limit {
                    pairs.push(if swapped { [other, own] } else { [own, other] });
                }
            }
        }
    }
}

/// Drops points whose squared distance from the bounding box of some atoms is above `limit`.
#[inline(always)]
fn drop_distant(
    points: &mut Points,
    indices: &mut Vec<u32>,
    homes: &Points,
    atoms: Range<usize>,
    limit: f64,
) {
    let mut centre = [0.0; 3];
    let mut half = [0.0; 3];
    for k in 0..3 {
        let axis = &homes.axes[k][atoms.clone()];
        let low = axis.iter().copied().fold(f64::INFINITY, f64::min);
        let high = axis.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        (centre[k], half[k]) = ((low + high) / 2.0, (high - low) / 2.0);
    }
    let farthest = limit * (1.0 + SLACK);
    let outside = |x: f64, k: usize| {
        let d = (x - centre[k]).abs() - half[k];
        if d > 0.0 { d } else { 0.0 }
    };
    let n = points.len();
    let [x, y, z] = points.axes.each_mut().map(|axis| &mut axis[..n]);
    let mut kept = 0;
    for i in 0..n {
        let (px, py, pz) = (x[i], y[i], z[i]);
        let d = [outside(px, 0), outside(py, 1), outside(pz, 2)];
        let near = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] <= farthest;
        (x[kept], y[kept], z[kept], indices[kept]) = (px, py, pz, indices[i]);
        kept += usize::from(near);
    }
    points.truncate(kept);
    indices.truncate(kept);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::tests::cells;
    use crate::reference;
    use proptest::prelude::*;

    /// Positions in the cell, around it and far away, some of them identical.
    fn positions(n: Range<usize>) -> impl Strategy<Value = Vec<[f32; 3]>> {
        let x = || prop_oneof![4 => 0.0..60.0f32, 2 => -300.0..300.0f32, 1 => Just(5.0f32)];
        prop::collection::vec([x(), x(), x()], n)
    }

    /// Returns the pairs within reach by a double loop.
    fn naive(cell: Option<&Cell>, a: &[[f32; 3]], b: &[[f32; 3]], reach: f64) -> Vec<[u32; 2]> {
        let vectors = cell.map(Cell::vectors);
        let distances = reference::distances(vectors, a.as_flattened(), b.as_flattened());
        let pairs = (0..a.len()).flat_map(|i| (0..b.len()).map(move |j| [i as u32, j as u32]));
        pairs.zip(distances).filter(|(_, d)| *d <= reach).map(|(pair, _)| pair).collect()
    }

    proptest! {
        #[test]
        fn candidates_contain_all_close_pairs_and_few_others(
            numbers in cells(),
            has_cell in any::<bool>(),
            a in positions(0..60),
            b in positions(0..60),
            reach in prop_oneof![0.5..6.0f64, 0.5..100.0f64],
        ) {
            let cell = Some(Cell::new(numbers).unwrap()).filter(|_| has_cell);
            let cell = cell.as_ref();
            let mut of_sets = InstructionSet::available().into_iter().map(|set| {
                let mut pairs = vec![[7, 7]];
                PairFinder::new(set).candidates(cell, [&a, &b], reach, &mut pairs).unwrap();
                pairs
            });
            let first = of_sets.next().unwrap();
            for pairs in of_sets {
                prop_assert_eq!(&first, &pairs);
            }
            let mut pairs = first;
            pairs.sort_unstable();
            pairs.dedup();
            for close in naive(cell, &a, &b, reach - 1e-6) {
                prop_assert!(pairs.binary_search(&close).is_ok(), "{:?}", close);
            }
            let wider = naive(cell, &a, &b, reach + 1e-6);
            for pair in &pairs {
                prop_assert!(wider.binary_search(pair).is_ok(), "{:?}", pair);
            }
        }

        #[test]
        fn any_position_is_taken_or_refused(
            numbers in cells(),
            has_cell in any::<bool>(),
            a in prop::collection::vec(any::<[f32; 3]>(), 1..20),
        ) {
            let cell = Some(Cell::new(numbers).unwrap()).filter(|_| has_cell);
            let mut pairs = Vec::new();
            let result =
                PairFinder::default().candidates(cell.as_ref(), [&a, &a], 3.0, &mut pairs);
            match result {
                Ok(()) => for i in 0..a.len() as u32 {
                    prop_assert!(pairs.contains(&[i, i]));
                },
                Err(Misplaced { group, atom }) => {
                    prop_assert!(group < 2);
                    prop_assert!(a[atom].iter().any(|x| !x.is_finite() || x.abs() > 1e5));
                }
            }
        }
    }

    #[test]
    fn buffers_are_reused() {
        let cell = Cell::new([20.0, 20.0, 20.0, 90.0, 90.0, 90.0]).unwrap();
        let row: Vec<[f32; 3]> = (0..10).map(|i| [2.0 * i as f32, 0.0, 0.0]).collect();
        let mut finder = PairFinder::default();
        let mut pairs = Vec::new();
        for (reach, expected) in [(2.5, 30), (0.5, 10), (2.5, 30)] {
            finder.candidates(Some(&cell), [&row, &row], reach, &mut pairs).unwrap();
            assert_eq!(pairs.len(), expected);
        }
        finder.candidates(None, [&row[..3], &row], 2.5, &mut pairs).unwrap();
        assert_eq!(pairs.len(), 8);
        finder.candidates(None, [&row, &[]], 2.5, &mut pairs).unwrap();
        assert_eq!(pairs, [[0; 2]; 0]);
    }
}
