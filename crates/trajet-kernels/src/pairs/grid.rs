//! A grid over the reduced cell: the grid cells of atoms, and the neighbours of grid cells within reach.

use trajet_simd::{InstructionSet, multiversion};

use crate::cell::{Basis, Cell, Vector, combine, dot, minus, square};

/// Number of points whose distances are computed at once.
pub(crate) const CHUNK: usize = 16;
/// Grid cells are at least the reach divided by this wide.
const FINENESS: f64 = 3.0;
/// Minimal average number of atoms per grid cell.
const OCCUPANCY: f64 = 8.0;
/// At more than this many cells away, `f32` cannot resolve the place of an atom in the cell.
const FARTHEST: f64 = (1 << 22) as f64;
/// Maximal distance of an atom outside of its grid cell due to rounding, in units of the vectors.
const SLACK: f64 = 1e-6;
/// Bits of a coordinate below the size of the cell; five more are reserved for sums of coordinates and shifts.
const BITS: u64 = 48;

/// A grid over the parallelepiped of the reduced vectors.
pub(crate) struct Grid {
    basis: Basis,
    /// Number of grid cells along each vector.
    pub(crate) divisions: [i32; 3],
    reach: f64,
    /// Added and subtracted again, rounds to a multiple of the smallest step.
    rounding: f64,
}

/// Neighbours in one row: cells `first..=last` along the first vector relative to a cell, `along` the others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) along: [i32; 2],
    pub(crate) first: i32,
    pub(crate) last: i32,
}

impl Grid {
    /// Returns a grid for `n` atoms and pair distances up to `reach`.
    pub(crate) fn new(cell: &Cell, reach: f64, n: usize) -> Self {
        let size: f64 = cell.reduced().iter().map(|&v| square(v).sqrt()).sum();
        // The power of two above the size, by its exponent.
        let exponent = (size.to_bits() >> 52) + 1;
        let step = f64::from_bits((exponent - BITS) << 52);
        let rounding = 1.5 * (1u64 << 52) as f64 * step;
        let basis = Basis::new(cell.reduced().map(|v| v.map(|x| x + rounding - rounding)));
        let most = (n as f64 / OCCUPANCY).max(1.0);
        let mut width = (cell.volume() / most).cbrt().max(reach / FINENESS);
        let divide = |width: f64| basis.heights().map(|height| (height / width).floor().max(1.0));
        // For a cell that is thinner than this, there would be more.
        while divide(width).iter().product::<f64>() > most {
            width *= 1.25;
        }
        let divisions = divide(width).map(|n| n as i32);
        Grid { basis, divisions, reach, rounding }
    }

    /// Returns the number of grid cells.
    pub(crate) fn len(&self) -> usize {
        self.divisions.iter().map(|&n| n as usize).product()
    }

    /// Returns the index of a grid cell. The first coordinate varies fastest.
    pub(crate) fn number(&self, place: [i32; 3]) -> usize {
        let [n, m, _] = self.divisions.map(|n| n as usize);
        let [i, j, k] = place.map(|i| i as usize);
        (k * m + j) * n + i
    }

    /// Returns a lattice vector. The result is exact.
    pub(crate) fn shift(&self, whole: [i32; 3]) -> Vector {
        combine(&self.basis.vectors, whole.map(f64::from))
    }

    /// Returns all neighbours of a cell, including itself, in which an atom can have a minimum image within reach of an
    /// atom in the cell.
    ///
    /// A neighbour is left out if some direction separates the two cells. The difference of any two of their points is
    /// the difference `centre` of the cells plus up to one cell along each vector; the neighbour is excluded if the
    /// product of all such differences with the direction is too large. For the reach, the directions are `centre`
    /// itself and the normals of the grid's planes. For minimum images, whose product with a lattice vector is at most
    /// half of that vector's square, they are the three vectors.
    pub(crate) fn neighbours(&self) -> Vec<Row> {
        let heights = self.basis.heights();
        let shortest = self.basis.bounds_of_shortest();
        let sides: [Vector; 3] = std::array::from_fn(|k| {
            self.basis.vectors[k].map(|x| x / f64::from(self.divisions[k]))
        });
        let widths: [Vector; 3] = std::array::from_fn(|k| {
            self.basis.vectors[k].map(|x| x * (1.0 / f64::from(self.divisions[k]) + SLACK))
        });
        let reach = self.reach * (1.0 + SLACK);
        let least = |centre: Vector, direction: Vector| {
            dot(centre, direction).abs()
                - widths.iter().map(|&w| dot(w, direction).abs()).sum::<f64>()
        };
        let within = |offset: [i32; 3]| {
            let centre = combine(&sides, offset.map(f64::from));
            let planes = self.basis.reciprocal.iter().zip(heights);
            least(centre, centre) <= reach * square(centre).sqrt()
                && planes.into_iter().all(|(&r, height)| least(centre, r) * height <= reach)
                && self
                    .basis
                    .vectors
                    .iter()
                    .all(|&v| least(centre, v) <= square(v) / 2.0 * (1.0 + SLACK))
        };
        let [a, b, c]: [i32; 3] = std::array::from_fn(|k| {
            let farthest = shortest[k].min(reach / heights[k]) + SLACK;
            (f64::from(self.divisions[k]) * farthest) as i32 + 1
        });
        let row = |along: [i32; 2]| {
            let inside = |i: &i32| within([*i, along[0], along[1]]);
            let first = (-a..=a).find(inside)?;
            let last = (-a..=a).rev().find(inside)?;
            Some(Row { along, first, last })
        };
        (-c..=c).flat_map(|k| (-b..=b).filter_map(move |j| row([j, k]))).collect()
    }
}

/// Coordinates of atoms as one array per axis, with labels if pairs are excluded by them, and with tags if visitors need
/// to distinguish pairs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Points {
    pub(crate) axes: [Vec<f64>; 3],
    pub(crate) labels: Vec<f64>,
    pub(crate) tags: Vec<u32>,
}

impl Points {
    pub(crate) fn len(&self) -> usize {
        self.axes[0].len()
    }

    pub(crate) fn clear(&mut self) {
        self.axes.iter_mut().for_each(Vec::clear);
        self.labels.clear();
        self.tags.clear();
    }

    /// Keeps only the first `n` points.
    pub(crate) fn truncate(&mut self, n: usize) {
        self.axes.iter_mut().for_each(|axis| axis.truncate(n));
        self.labels.truncate(n);
        self.tags.truncate(n);
    }

    /// Appends shifted points of another set.
    pub(crate) fn extend(&mut self, from: &Points, points: std::ops::Range<usize>, shift: Vector) {
        for k in 0..3 {
            let (axis, by) = (&from.axes[k][points.clone()], shift[k]);
            self.axes[k].extend(axis.iter().map(|x| x + by));
        }
        if !from.labels.is_empty() {
            self.labels.extend_from_slice(&from.labels[points.clone()]);
        }
        if !from.tags.is_empty() {
            self.tags.extend_from_slice(&from.tags[points]);
        }
    }

    /// Appends points at infinity, so that a chunk may begin at any point before them.
    pub(crate) fn pad(&mut self) {
        let n = self.len() + CHUNK;
        self.axes.iter_mut().for_each(|axis| axis.resize(n, f64::INFINITY));
        if !self.labels.is_empty() {
            self.labels.resize(n, f64::INFINITY);
        }
        if !self.tags.is_empty() {
            self.tags.resize(n, 0);
        }
    }
}

/// Atoms sorted by grid cell.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sorted {
    pub(crate) points: Points,
    /// Index of each cell's first atom, and the end.
    starts: Vec<u32>,
    placed: [Vec<f64>; 3],
    cells: Vec<u32>,
}

/// Numbers that visitors get with each atom.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Tags<'a> {
    /// None.
    Nothing,
    /// The index of the atom in its group.
    Indices,
    /// One number per atom.
    Given(&'a [u32]),
}

impl Sorted {
    /// Sorts positions (`[n, 3]`, Å) by grid cell, wrapped into the reduced cell.
    ///
    /// # Errors
    /// The first atom that cannot be placed.
    pub(crate) fn sort(
        &mut self,
        set: InstructionSet,
        grid: &Grid,
        positions: &[[f32; 3]],
        labels: Option<&[u32]>,
        tags: Tags<'_>,
    ) -> Result<(), usize> {
        let n = positions.len();
        self.placed.iter_mut().for_each(|axis| axis.resize(n, 0.0));
        self.cells.resize(n, 0);
        if !place(set, grid, positions, &mut self.placed, &mut self.cells) {
            let misplaced = |p: &[f32; 3]| {
                let f = grid.basis.coordinates(p.map(f64::from));
                !f.iter().all(|f| f.abs() < FARTHEST)
            };
            return Err(positions.iter().position(misplaced).expect("one was found"));
        }
        self.starts.clear();
        self.starts.resize(grid.len() + 1, 0);
        for &cell in &self.cells {
            self.starts[cell as usize] += 1;
        }
        let mut end = 0;
        for start in &mut self.starts {
            end += *start;
            *start = end;
        }
        self.points.axes.iter_mut().for_each(|axis| axis.resize(n, 0.0));
        self.points.labels.resize(labels.map_or(0, <[u32]>::len), 0.0);
        self.points.tags.resize(if let Tags::Nothing = tags { 0 } else { n }, 0);
        for i in (0..n).rev() {
            let start = &mut self.starts[self.cells[i] as usize];
            *start -= 1;
            let to = *start as usize;
            for k in 0..3 {
                self.points.axes[k][to] = self.placed[k][i];
            }
            if let Some(labels) = labels {
                self.points.labels[to] = f64::from(labels[i]);
            }
            match tags {
                Tags::Nothing => {}
                Tags::Indices => self.points.tags[to] = i as u32,
                Tags::Given(tags) => self.points.tags[to] = tags[i],
            }
        }
        Ok(())
    }

    /// Returns the atoms of consecutive cells.
    pub(crate) fn atoms(&self, cells: std::ops::Range<usize>) -> std::ops::Range<usize> {
        self.starts[cells.start] as usize..self.starts[cells.end] as usize
    }
}

multiversion! {
    /// Wraps positions and finds their grid cells. Returns false if one cannot be placed.
    fn place(
        grid: &Grid, positions: &[[f32; 3]], axes: &mut [Vec<f64>; 3], cells: &mut [u32]
    ) -> bool = place_of
}

#[inline(always)]
fn place_of(
    grid: &Grid,
    positions: &[[f32; 3]],
    axes: &mut [Vec<f64>; 3],
    cells: &mut [u32],
) -> bool {
    let n = positions.len();
    let [x, y, z] = axes;
    let (x, y, z, cells) = (&mut x[..n], &mut y[..n], &mut z[..n], &mut cells[..n]);
    let [a, b, c] = grid.divisions;
    let mut placed = true;
    for i in 0..n {
        let position = positions[i].map(f64::from);
        let coordinates = grid.basis.coordinates(position);
        for f in coordinates {
            placed &= f.abs() < FARTHEST;
        }
        let whole = coordinates.map(f64::floor);
        let wrapped = minus(position, combine(&grid.basis.vectors, whole))
            .map(|x| x + grid.rounding - grid.rounding);
        let [f, g, h] = grid.basis.coordinates(wrapped);
        let division = |f: f64, n: i32| ((f * f64::from(n)) as i32).clamp(0, n - 1) as u32;
        cells[i] = (division(h, c) * b as u32 + division(g, b)) * a as u32 + division(f, a);
        (x[i], y[i], z[i]) = (wrapped[0], wrapped[1], wrapped[2]);
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::tests::cells;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn shortest_images_within_reach_are_in_neighbours(
            numbers in cells(),
            part in 0.05..1.5f64,
            samples in prop::collection::vec((
                [0.0..1.0f64, 0.0..1.0f64, 0.0..1.0f64],
                [-1.0..1.0f64, -1.0..1.0f64, -1.0..1.0f64],
                prop_oneof![Just(0.999_999), 0.0..1.0f64],
            ), 100),
        ) {
            let cell = Cell::new(numbers).unwrap();
            let reach = part * cell.volume().cbrt();
            let grid = Grid::new(&cell, reach, 100_000);
            let rows = grid.neighbours();
            for (from, direction, length) in samples {
                let from = combine(&grid.basis.vectors, from);
                // A vector from a point, of the length of the reach or any other, reduced to its minimum image.
                let scale = reach * length / square(direction).sqrt().max(1e-9);
                let difference = cell.shortest(direction.map(|x| x * scale));
                let to = minus(from, difference.map(|x| -x));
                let place = |point: Vector| {
                    let f = grid.basis.coordinates(point);
                    [0, 1, 2].map(|k| (f[k] * f64::from(grid.divisions[k])).floor() as i32)
                };
                let (from, to) = (place(from), place(to));
                let offset = [0, 1, 2].map(|k| to[k] - from[k]);
                let seen = |row: &Row| {
                    row.along == offset[1..] && (row.first..=row.last).contains(&offset[0])
                };
                prop_assert!(rows.iter().any(seen), "{:?} of {:?}", offset, grid.divisions);
            }
        }
    }
}
