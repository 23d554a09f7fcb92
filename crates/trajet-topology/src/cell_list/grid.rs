//! The grid: which grid cell a point is in, and which grid cells can hold atoms within the distance of it.

use std::ops::Range;

use trajet_kernels::cell::Cell;
use trajet_simd::{InstructionSet, multiversion};

/// Grid cells beyond one for each atom; small systems are searched on as many. A table has at least as many cells along
/// each vector as are neighbours of one.
pub(super) const SPARE_CELLS: usize = 32_768;
/// Most cells of a table; their numbers are computed as `i32`.
const MOST_CELLS: usize = i32::MAX as usize;
/// Share of a box vector by which rounding can displace an atom.
const SLACK: f64 = 1e-6;
/// Bounds of the same, for differences of coordinates in f32.
const ROUGH_SLACK: f64 = 3e-6;
/// Width of grid cells in units of the distance, or of a part of it; a little more, so that neighbours are as far as
/// one cell for each part.
const WIDTH: f64 = 1.01;
/// Grid cells are about as wide as this (Å) if the distance is longer, unless there would be too many neighbours.
const USUAL_WIDTH: f64 = 6.0;
/// Most grid cells that a distance spans.
const MOST_PARTS: f64 = 5.0;
/// Fewest cells of a table along each axis without a box: atoms around a small group are in grid cells of their own,
/// not in those of its repetitions.
const FEWEST_CELLS: f64 = 16.0;
/// Most turns of a box vector that neighbours may span for their images to be examined one by one.
const MOST_TURNS: usize = 3;
/// Number of atoms whose grid cells are computed together.
pub(super) const BLOCK: usize = 64;

/// A grid that repeats itself in all directions.
#[derive(Clone, Debug)]
pub(super) struct Grid<'a> {
    cell: Option<&'a Cell>,
    pub(super) set: InstructionSet,
    /// Vectors whose products with a position are its coordinates: in units of the box vectors, or without a cell in
    /// units of the length of the table.
    reciprocal: [[f64; 3]; 3],
    /// Number of cells of the table along each vector.
    table: [usize; 3],
    /// How often the table repeats itself along each box vector; 1 without a cell.
    repeats: [usize; 3],
    /// How many grid cells farther along each vector an atom within the distance can be.
    reach: [usize; 3],
    images: Images,
    /// How far (Å) rounding to f32 can move an image.
    pub(super) slack: f64,
    pub(super) square_of_distance: f64,
    /// Bounds of squared distances in f32: up to the first, a pair is certainly within the distance; beyond the second,
    /// it certainly is not.
    pub(super) limits: Limits,
}

/// Bounds of squared distances in f32.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// A pair is certainly within the distance up to this; −1 if no pair certainly is.
    pub(super) sure: f32,
    /// A pair is certainly not within the distance beyond this.
    pub(super) possible: f32,
}

/// The images of an atom that the neighbours of a grid cell stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Images {
    /// There are no periodic images.
    One,
    /// Each neighbour is one of the images.
    Listed,
    /// The cell is so thin for the distance that neighbours stand for all images at once.
    All,
}

/// Grid cells in one direction: a range of the table, and the number of box vectors to add to the images.
type Segment = (Range<usize>, f64);

/// Memory for the neighbours of a grid cell: ranges along the first vector, places along the others.
#[derive(Debug, Default)]
pub(super) struct NeighbourMemory {
    xs: Vec<Segment>,
    rows: [Vec<(usize, f64)>; 2],
}

impl<'a> Grid<'a> {
    /// Returns a grid for searches up to a distance (Å), with cells at least as wide as `least_width`. The `bounds` are
    /// the lengths of a box around the atoms.
    pub(super) fn new(
        cell: Option<&'a Cell>,
        n_atoms: usize,
        bounds: [f64; 3],
        distance: f64,
        least_width: f64,
        set: InstructionSet,
    ) -> Self {
        let most = n_atoms.saturating_add(SPARE_CELLS).min(MOST_CELLS);
        let (mut reciprocal, heights) = match cell {
            Some(cell) => reciprocal(cell.reduced()),
            None => ([[0.0; 3]; 3], bounds),
        };
        let parts = (distance / USUAL_WIDTH).ceil().clamp(1.0, MOST_PARTS);
        let width = (distance * WIDTH / parts).max(least_width);
        let fewest = if cell.is_some() { 1.0 } else { FEWEST_CELLS };
        let divisions = heights.map(|h| (h / width).clamp(fewest, MOST_CELLS as f64) as usize);
        let mut table = divisions;
        while table.iter().fold(1_usize, |n, &m| n.saturating_mul(m)) > most {
            let largest = table.iter_mut().max().expect("three numbers");
            *largest = largest.div_ceil(2);
        }
        let mut repeats = [1; 3];
        if cell.is_some() {
            repeats = [0, 1, 2].map(|k| divisions[k] / table[k]);
        }
        let period = [0, 1, 2].map(|k| match cell {
            Some(_) => heights[k],
            None => width * table[k] as f64,
        });
        let reach = |repeats: [usize; 3]| {
            [0, 1, 2].map(|k| {
                let farthest = (distance / period[k] + SLACK) * (table[k] * repeats[k]) as f64;
                farthest.min(MOST_CELLS as f64) as usize + 1
            })
        };
        if cell.is_none() {
            (0..3).for_each(|k| reciprocal[k][k] = 1.0 / period[k]);
        }
        let (mut images, mut reached) = (Images::One, reach(repeats));
        if cell.is_some() {
            images = Images::Listed;
            if (0..3).any(|k| 2 * reached[k] + 1 > MOST_TURNS * table[k] * repeats[k]) {
                (images, repeats) = (Images::All, [1; 3]);
                reached = reach(repeats);
            }
        }
        let size: f64 = cell.map_or(0.0, |cell| {
            cell.reduced().iter().map(|v| v.iter().map(|x| x.abs()).sum::<f64>()).sum()
        });
        let slack = ROUGH_SLACK * size;
        let limits = Limits::new(distance, slack);
        let square_of_distance = distance * distance;
        Grid {
            cell,
            set,
            reciprocal,
            table,
            repeats,
            reach: reached,
            images,
            slack,
            square_of_distance,
            limits,
        }
    }

    /// Returns the number of cells of the table.
    pub(super) fn len(&self) -> usize {
        self.table.iter().product()
    }

    /// Returns the bounds of squared distances in f32 for another distance (Å).
    #[inline]
    pub(super) fn limits_of(&self, distance: f64) -> Limits {
        Limits::new(distance, self.slack)
    }

    /// Returns whether neighbours stand for all images at once, so that only [`Grid::square`] decides.
    pub(super) fn has_all_images(&self) -> bool {
        self.images == Images::All
    }

    /// Returns whether two images of one atom can be neighbours of a grid cell.
    pub(super) fn has_several_images(&self) -> bool {
        let spans = |k: usize| 2 * self.reach[k] + 1 > self.table[k] * self.repeats[k];
        self.images == Images::Listed && (0..3).any(spans)
    }

    /// Returns whether all atoms of a grid cell have the same neighbours, none of them in two images.
    pub(super) fn has_rows(&self) -> bool {
        let is_single = self.images == Images::One || self.repeats == [1; 3];
        is_single && !self.has_all_images() && !self.has_several_images()
    }

    /// Returns whether all neighbours of a grid cell are between the ends of the table, so that no one is an image.
    #[inline]
    pub(super) fn is_within(&self, place: [usize; 3]) -> bool {
        (0..3).all(|k| place[k] >= self.reach[k] && place[k] + self.reach[k] < self.table[k])
    }

    /// Returns how far along its row a neighbour can be.
    pub(super) fn reach_along_rows(&self) -> usize {
        self.reach[0]
    }

    /// Returns by how much the numbers of grid cells in neighbouring rows differ, in ascending order, for those whose
    /// neighbours are all between the ends of the table.
    pub(super) fn offsets_of_rows(&self) -> Vec<isize> {
        let ([n, m, l], [_, across, up]) = (self.table, self.reach);
        if 2 * across >= m || 2 * up >= l {
            return Vec::new();
        }
        let [n, m, across, up] = [n, m, across, up].map(|count| count as isize);
        (-up..=up).flat_map(|k| (-across..=across).map(move |j| (k * m + j) * n)).collect()
    }

    /// Advances the position of a grid cell in the table to that of the next.
    #[inline]
    pub(super) fn advance(&self, place: &mut [usize; 3]) {
        for k in 0..3 {
            place[k] += 1;
            if place[k] < self.table[k] {
                return;
            }
            place[k] = 0;
        }
    }

    /// Returns whether atoms of different places can be in one cell of the table.
    pub(super) fn repeats_itself(&self) -> bool {
        self.images == Images::One || self.repeats != [1; 3]
    }

    /// Returns the numbers of the grid cells of some atoms; −1 for positions that are not finite.
    pub(super) fn numbers(&self, positions: &[[f32; 3]], atoms: &[u32]) -> [i32; BLOCK] {
        let axes = gathered(positions, atoms);
        let mut numbers = [0; BLOCK];
        numbers_of_block(self.set, self, &axes, &mut numbers);
        numbers
    }

    /// Returns which repetition of the table a finite point is in, along each vector.
    pub(super) fn repetition(&self, point: [f32; 3]) -> [f64; 3] {
        let point = point.map(f64::from);
        [0, 1, 2].map(|k| {
            let r = self.reciprocal[k];
            let along = r[0] * point[0] + r[1] * point[1] + r[2] * point[2];
            match self.cell {
                None => along.floor(),
                Some(_) => {
                    let repeats = self.repeats[k] as f64;
                    ((along - along.floor()) * repeats).floor().min(repeats - 1.0)
                }
            }
        })
    }

    /// Fills the coordinates of some atoms with their images within the box; without a box with their positions, which
    /// must be finite.
    pub(super) fn images(&self, positions: &[[f32; 3]], atoms: &[u32], axes: &mut [Vec<f32>; 3]) {
        let [xs, ys, zs] = axes;
        for (k, block) in atoms.chunks(BLOCK).enumerate() {
            let mut points = gathered(positions, block);
            if let Some(cell) = self.cell {
                images_of_block(self.set, &self.reciprocal, cell.reduced(), &mut points);
            }
            let start = k * BLOCK;
            for (axis, points) in [&mut *xs, &mut *ys, &mut *zs].into_iter().zip(&points) {
                axis[start..start + block.len()].copy_from_slice(&points[..block.len()]);
            }
        }
    }

    /// Returns a lattice vector.
    #[inline]
    fn shift(&self, whole: [f64; 3]) -> [f32; 3] {
        let Some(cell) = self.cell.filter(|_| whole != [0.0; 3]) else { return [0.0; 3] };
        let [a, b, c] = cell.reduced();
        let along = |k: usize| (whole[0] * a[k] + whole[1] * b[k] + whole[2] * c[k]) as f32;
        [along(0), along(1), along(2)]
    }

    /// Returns the position of a grid cell in the table.
    pub(super) fn place_of(&self, number: usize) -> [usize; 3] {
        let [n, m, _] = self.table;
        [number % n, number / n % m, number / (n * m)]
    }

    /// Calls a function with ranges of grid cells, which together are the neighbours of a cell and itself, and with the
    /// vector to add to their images, until it returns `false`. If `nearest_first`, the nearest come first, roughly. A
    /// range comes again for another image only.
    #[inline]
    pub(super) fn neighbours(
        &self,
        place: [usize; 3],
        repetition: [f64; 3],
        nearest_first: bool,
        memory: &mut NeighbourMemory,
        mut each: impl FnMut(Range<usize>, [f32; 3]) -> bool,
    ) {
        let NeighbourMemory { xs, rows: [ys, zs] } = memory;
        xs.clear();
        self.each_segment(0, place[0], repetition[0], |range, whole| xs.push((range, whole)));
        for (k, places) in [(1, &mut *ys), (2, &mut *zs)] {
            places.clear();
            self.each_segment(k, place[k], repetition[k], |range, whole| {
                places.extend(range.map(|at| (at, whole)));
            });
            if nearest_first {
                places.sort_by_key(|(at, whole)| (whole.abs() as usize, at.abs_diff(place[k])));
            }
        }
        let [n, m, _] = self.table;
        for &(k, whole_z) in &*zs {
            for &(j, whole_y) in &*ys {
                let row = (k * m + j) * n;
                for (x, whole_x) in &*xs {
                    let shift = self.shift([*whole_x, whole_y, whole_z]);
                    if !each(row + x.start..row + x.end, shift) {
                        return;
                    }
                }
            }
        }
    }

    /// Calls a function with the ranges of places along an axis that are neighbours of a place.
    #[inline]
    fn each_segment(
        &self,
        axis: usize,
        place: usize,
        repetition: f64,
        mut each: impl FnMut(Range<usize>, f64),
    ) {
        let (m, reach) = (self.table[axis], self.reach[axis]);
        match self.images {
            Images::Listed => {
                let first = place + repetition as usize * m;
                segments(first, reach, m, m * self.repeats[axis], each);
            }
            Images::One | Images::All => around(place, reach, m, |range| each(range, 0.0)),
        }
    }

    /// Marks the neighbours of a grid cell, and itself.
    pub(super) fn mark_neighbours(&self, number: usize, marks: &mut [bool]) {
        let place = self.place_of(number);
        let [n, m, l] = self.table;
        around(place[2], self.reach[2], l, |zs| {
            for k in zs {
                around(place[1], self.reach[1], m, |ys| {
                    for j in ys {
                        let row = (k * m + j) * n;
                        around(place[0], self.reach[0], n, |x| {
                            marks[row + x.start..row + x.end].fill(true);
                        });
                    }
                });
            }
        });
    }

    /// Returns the squared distance of two points, that of the nearest images in a cell.
    #[inline]
    pub(super) fn square(&self, a: [f32; 3], b: [f32; 3]) -> f64 {
        let (a, b) = (a.map(f64::from), b.map(f64::from));
        match self.cell {
            Some(cell) => cell.distance_squared(a, b),
            None => {
                let d = [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
                d[0] * d[0] + d[1] * d[1] + d[2] * d[2]
            }
        }
    }
}

impl Limits {
    /// Returns the bounds for a distance; coordinates may be displaced by `slack`.
    fn new(distance: f64, slack: f64) -> Self {
        let possible = (distance + slack).powi(2) * (1.0 + ROUGH_SLACK);
        let sure = (distance - slack).max(0.0).powi(2) * (1.0 - ROUGH_SLACK);
        // Squares beyond these are not accurate in f32.
        let is_accurate = distance > slack && (1e-30..1e37).contains(&sure);
        Limits {
            sure: if is_accurate { sure as f32 } else { -1.0 },
            possible: if possible < 1e-30 { 1e-30 } else { possible as f32 },
        }
    }
}

/// Calls a function with the numbers within `reach` of a place on a ring of `n`, as ranges without repetitions.
#[inline]
fn around(place: usize, reach: usize, n: usize, mut each: impl FnMut(Range<usize>)) {
    if reach >= n.div_ceil(2) || 2 * reach + 1 >= n {
        return each(0..n);
    }
    match (place.checked_sub(reach), place + reach + 1) {
        (Some(first), end) if end > n => {
            each(first..n);
            each(0..end - n);
        }
        (Some(first), end) => each(first..end),
        (None, end) => {
            each(0..end);
            each(n + place - reach..n);
        }
    }
}

/// Calls a function with the places within `reach` of a place on a line, as ranges of a table of `m` that repeats itself,
/// and with the number of turns of `n` that lead to each; `n` is a multiple of `m`.
#[inline]
fn segments(
    place: usize,
    reach: usize,
    m: usize,
    n: usize,
    mut each: impl FnMut(Range<usize>, f64),
) {
    // Most places are far from both ends of the table.
    if n == m && place >= reach && place + reach < m {
        return each(place - reach..place + reach + 1, 0.0);
    }
    let (m, n) = (m as i64, n as i64);
    let (mut first, end) = (place as i64 - reach as i64, (place + reach + 1) as i64);
    while first < end {
        let start = first.rem_euclid(m);
        let length = (m - start).min(end - first);
        each(start as usize..(start + length) as usize, first.div_euclid(n) as f64);
        first += length;
    }
}

/// Returns the coordinates of at most a block of atoms.
fn gathered(positions: &[[f32; 3]], atoms: &[u32]) -> [[f32; BLOCK]; 3] {
    let mut axes = [[0.0; BLOCK]; 3];
    for (lane, &atom) in atoms.iter().enumerate() {
        let [x, y, z] = positions[atom as usize];
        (axes[0][lane], axes[1][lane], axes[2][lane]) = (x, y, z);
    }
    axes
}

multiversion! {
    fn images_of_block(
        reciprocal: &[[f64; 3]; 3], vectors: &[[f64; 3]; 3], points: &mut [[f32; BLOCK]; 3],
    ) = images_body
}

#[inline(always)]
fn images_body(
    reciprocal: &[[f64; 3]; 3],
    vectors: &[[f64; 3]; 3],
    points: &mut [[f32; BLOCK]; 3],
) {
    let [xs, ys, zs] = points;
    for lane in 0..BLOCK {
        let [x, y, z] = [xs[lane], ys[lane], zs[lane]].map(f64::from);
        let (mut at_x, mut at_y, mut at_z) = (x, y, z);
        for k in 0..3 {
            let (r, v) = (&reciprocal[k], &vectors[k]);
            let whole = (r[0] * x + r[1] * y + r[2] * z).floor();
            at_x -= whole * v[0];
            at_y -= whole * v[1];
            at_z -= whole * v[2];
        }
        (xs[lane], ys[lane], zs[lane]) = (at_x as f32, at_y as f32, at_z as f32);
    }
}

multiversion! {
    fn numbers_of_block<'a, 'b>(
        grid: &Grid<'a>, axes: &[[f32; BLOCK]; 3], numbers: &'b mut [i32; BLOCK],
    ) = numbers_body
}

#[inline(always)]
fn numbers_body(grid: &Grid<'_>, axes: &[[f32; BLOCK]; 3], numbers: &mut [i32; BLOCK]) {
    let mut sums = [0.0; BLOCK];
    let [xs, ys, zs] = axes;
    for back in 0..3 {
        let k = 2 - back;
        let ([x, y, z], m) = (grid.reciprocal[k], grid.table[k] as f64);
        let repeats = grid.repeats[k] as f64;
        let (turns, last) = match grid.cell {
            Some(_) => (1.0, repeats - 1.0),
            None => (0.0, f64::INFINITY),
        };
        for lane in 0..BLOCK {
            let along = x * f64::from(xs[lane]) + y * f64::from(ys[lane]) + z * f64::from(zs[lane]);
            let scaled = (along - turns * along.floor()) * repeats;
            let within = (scaled - scaled.floor().min(last)) * m;
            // Not a number stays one.
            let place = if within >= m - 1.0 { m - 1.0 } else { within.floor() };
            sums[lane] = sums[lane] * m + place;
        }
    }
    for lane in 0..BLOCK {
        numbers[lane] = if sums[lane] >= 0.0 { sums[lane] as i32 } else { -1 };
    }
}

/// Returns the reciprocal vectors of three vectors, and the distances of the opposite faces of their cell.
pub(super) fn reciprocal([a, b, c]: &[[f64; 3]; 3]) -> ([[f64; 3]; 3], [f64; 3]) {
    let cross = |u: &[f64; 3], v: &[f64; 3]| {
        [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]]
    };
    let dot = |u: &[f64; 3], v: &[f64; 3]| u[0] * v[0] + u[1] * v[1] + u[2] * v[2];
    let volume = dot(&cross(a, b), c);
    let vectors = [cross(b, c), cross(c, a), cross(a, b)].map(|v| v.map(|x| x / volume));
    (vectors, vectors.map(|v| 1.0 / dot(&v, &v).sqrt()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_neighbours_on_a_ring_come_once(n in 1..40usize, place in 0..40usize, reach in 0..40usize) {
            let place = place % n;
            let mut found: Vec<usize> = Vec::new();
            around(place, reach, n, |part| found.extend(part));
            found.sort_unstable();
            let expected: Vec<usize> =
                (0..n).filter(|&i| i.abs_diff(place).min(n - i.abs_diff(place)) <= reach).collect();
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn segments_are_the_places_on_a_line(
            m in 1..20usize, repeats in 1..4usize, place in 0..80usize, reach in 0..40usize,
        ) {
            let n = m * repeats;
            let place = place % n;
            let mut found: Vec<(usize, f64)> = Vec::new();
            segments(place, reach, m, n, |part, whole| {
                found.extend(part.map(|at| (at, whole)));
            });
            let line = place as i64 - reach as i64..=(place + reach) as i64;
            let expected: Vec<(usize, f64)> = line
                .map(|at| (at.rem_euclid(m as i64) as usize, (at as f64 / n as f64).floor()))
                .collect();
            prop_assert_eq!(found, expected);
        }
    }
}
