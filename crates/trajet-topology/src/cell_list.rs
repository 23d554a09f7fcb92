//! Searches for atoms within a distance of others, with or without periodic boundaries.
//!
//! Source: M. P. Allen and D. J. Tildesley, Computer Simulation of Liquids, 2nd edition (2017), 5.3.2 (cell lists).
//! Departures:
//!
//! 1. The grid covers the reduced cell. Two points within a distance `r` have images whose coordinates along a vector
//!    differ by at most `r` over the height of the cell, so that the neighbours to examine follow for cells of every
//!    shape, and each grid cell is examined once even if `r` is longer than the cell.
//! 2. Without periodic boundaries the grid repeats itself: cells of distant places may share their atoms. A single atom
//!    far away from all others therefore costs nothing.
//! 3. A grid cell only proposes atoms, and f32 coordinates of the image in that cell sort out those that are clearly too
//!    far away. Whether the others are within reach is decided by the minimum image in f64.
//!
//! Positions that are not finite are within reach of nothing.

use std::ops::Range;

use trajet_kernels::cell::Cell;

use crate::Fault;
use crate::error::reserve;

/// Grid cells beyond one for each atom; small systems are searched on as many.
const SPARE_CELLS: usize = 4096;
/// Share of a box vector by which rounding can displace an atom.
const SLACK: f64 = 1e-6;
/// Width of grid cells in units of the distance; a little more, so that neighbours are as far as one cell.
const WIDTH: f64 = 1.01;

/// Atoms sorted into the cells of a grid.
#[derive(Clone, Debug)]
pub struct CellList<'a> {
    positions: &'a [[f32; 3]],
    grid: Grid<'a>,
    /// Where the atoms of each grid cell begin in `atoms`; one more than there are cells.
    starts: Vec<u32>,
    atoms: Vec<u32>,
    /// The images of these atoms within the cell; empty if the grid cannot tell which image is meant.
    images: Vec<[f32; 3]>,
}

impl<'a> CellList<'a> {
    /// Returns a list of some of the atoms for searches up to a distance (Å). The `positions` (Å) are of all atoms;
    /// `cell` is `None` without periodic boundaries.
    ///
    /// # Errors
    /// [`Fault::Memory`].
    ///
    /// # Panics
    /// If there is no position for one of the atoms, there are 2³² of them, or the distance is negative, infinite or
    /// NaN.
    pub fn new(
        positions: &'a [[f32; 3]],
        atoms: impl ExactSizeIterator<Item = u32> + Clone,
        cell: Option<&'a Cell>,
        distance: f64,
    ) -> Result<Self, Fault> {
        assert!(distance >= 0.0 && distance.is_finite(), "a distance of {distance}");
        assert!(u32::try_from(positions.len()).is_ok(), "{} atoms", positions.len());
        let grid = Grid::new(positions, atoms.clone(), cell, distance);
        let mut starts = Vec::new();
        reserve(&mut starts, grid.len() + 1, "a grid")?;
        starts.resize(grid.len() + 1, 0_u32);
        let mut places = Vec::new();
        reserve(&mut places, atoms.len(), "a grid")?;
        for atom in atoms {
            if let Some(place) = grid.place(positions[atom as usize]) {
                let number = grid.number(place);
                places.push((atom, number as u32));
                starts[number + 1] += 1;
            }
        }
        for number in 1..starts.len() {
            starts[number] += starts[number - 1];
        }
        let mut sorted = Vec::new();
        reserve(&mut sorted, places.len(), "a grid")?;
        sorted.resize(places.len(), 0_u32);
        let mut next = Vec::new();
        reserve(&mut next, grid.len(), "a grid")?;
        next.extend_from_slice(&starts[..grid.len()]);
        for (atom, number) in places {
            let slot = &mut next[number as usize];
            sorted[*slot as usize] = atom;
            *slot += 1;
        }
        let mut images = Vec::new();
        if grid.tells_images() {
            reserve(&mut images, sorted.len(), "a grid")?;
            images.extend(sorted.iter().map(|&atom| grid.image(positions[atom as usize])));
        }
        Ok(CellList { positions, grid, starts, atoms: sorted, images })
    }

    /// Calls a function with each listed atom within the distance of a point, and with the squared distance (Å²), until
    /// the function returns `false`. Atoms come in no particular order, each once.
    pub fn visit(&self, point: [f32; 3], mut found: impl FnMut(u32, f64) -> bool) {
        let Some(place) = self.grid.place(point) else { return };
        let at = point.map(f64::from);
        let mut check = |atom: u32| {
            let square = self.grid.square(at, self.positions[atom as usize].map(f64::from));
            square > self.grid.square_of_distance || found(atom, square)
        };
        let image = match self.images.is_empty() {
            true => [0.0; 3],
            false => self.grid.image(point),
        };
        self.grid.neighbours(place, |cells, whole| {
            let range = self.starts[cells.start] as usize..self.starts[cells.end] as usize;
            if self.images.is_empty() || range.is_empty() {
                return self.atoms[range].iter().all(|&atom| check(atom));
            }
            let shift = self.grid.shift(whole);
            let from = [0, 1, 2].map(|k| image[k] - shift[k]);
            let images = &self.images[range.clone()];
            self.atoms[range].iter().zip(images).all(|(&atom, other)| {
                let [x, y, z] = [0, 1, 2].map(|k| from[k] - other[k]);
                x * x + y * y + z * z > self.grid.clearly_too_far || check(atom)
            })
        });
    }

    /// Returns whether a listed atom is within the distance of a point.
    pub fn is_near(&self, point: [f32; 3]) -> bool {
        let mut near = false;
        self.visit(point, |_, _| {
            near = true;
            false
        });
        near
    }
}

/// Returns the atoms among `candidates` that are within a distance (Å) of any atom of the `set`, in the order of the
/// candidates. Atoms of the set are within any distance of themselves.
///
/// # Errors
/// [`Fault::Memory`].
///
/// # Panics
/// As [`CellList::new`].
pub fn atoms_within(
    positions: &[[f32; 3]],
    candidates: impl Iterator<Item = u32>,
    set: &[u32],
    cell: Option<&Cell>,
    distance: f64,
) -> Result<Vec<u32>, Fault> {
    let list = CellList::new(positions, set.iter().copied(), cell, distance)?;
    // Grid cells from which an atom of the set can be in reach: most atoms are in none of them.
    let mut close = Vec::new();
    reserve(&mut close, list.grid.len(), "a grid")?;
    close.resize(list.grid.len(), false);
    for number in 0..list.grid.len() {
        if list.starts[number] < list.starts[number + 1] {
            list.grid.neighbours(list.grid.place_of(number), |cells, _| {
                close[cells].fill(true);
                true
            });
        }
    }
    let mut found = Vec::new();
    for atom in candidates {
        let point = positions[atom as usize];
        let Some(place) = list.grid.place(point) else { continue };
        if close[list.grid.number(place)] && list.is_near(point) {
            reserve(&mut found, 1, "atoms")?;
            found.push(atom);
        }
    }
    Ok(found)
}

/// Returns all pairs of different atoms within a distance (Å), each once with the smaller index first, sorted.
///
/// # Errors
/// [`Fault::Memory`].
///
/// # Panics
/// As [`CellList::new`].
pub fn pairs_within(
    positions: &[[f32; 3]],
    cell: Option<&Cell>,
    distance: f64,
) -> Result<Vec<[u32; 2]>, Fault> {
    let all = 0..positions.len() as u32;
    let list = CellList::new(positions, all.clone(), cell, distance)?;
    let (mut pairs, mut partners) = (Vec::new(), Vec::new());
    for atom in all {
        partners.clear();
        list.visit(positions[atom as usize], |other, _| {
            if other > atom {
                partners.push(other);
            }
            true
        });
        partners.sort_unstable();
        reserve(&mut pairs, partners.len(), "pairs")?;
        pairs.extend(partners.iter().map(|&other| [atom, other]));
    }
    Ok(pairs)
}

/// A grid that repeats itself in all directions.
#[derive(Clone, Debug)]
struct Grid<'a> {
    cell: Option<&'a Cell>,
    /// Vectors whose products with a position are its coordinates, in units of the length after which the grid repeats
    /// itself.
    reciprocal: [[f64; 3]; 3],
    divisions: [usize; 3],
    /// How many grid cells farther along each vector an atom within the distance can be.
    reach: [usize; 3],
    square_of_distance: f64,
    /// The square of the distance, with room for rounding to f32.
    clearly_too_far: f32,
}

impl<'a> Grid<'a> {
    fn new(
        positions: &[[f32; 3]],
        atoms: impl ExactSizeIterator<Item = u32>,
        cell: Option<&'a Cell>,
        distance: f64,
    ) -> Self {
        let most = positions.len() + SPARE_CELLS;
        let (reciprocal, heights) = match cell {
            Some(cell) => reciprocal(cell.reduced()),
            None => {
                let heights = extent(positions, atoms).map(|x| x.max(distance).max(1e-3));
                let mut axes = [[0.0; 3]; 3];
                (0..3).for_each(|k| axes[k][k] = 1.0);
                (axes, heights)
            }
        };
        // Narrower cells propose fewer atoms, but there are more of them to look at. Without a cell, a single atom far
        // away must not make them wide.
        let share = (heights.iter().product::<f64>() / most as f64).cbrt();
        let widest = if cell.is_some() { f64::INFINITY } else { 1.0 };
        let width = (distance * WIDTH).max(share.min(widest)).max(1e-3);
        let mut divisions = heights.map(|h| (h / width).clamp(1.0, most as f64) as usize);
        while divisions.iter().fold(1_usize, |n, &m| n.saturating_mul(m)) > most {
            let largest = divisions.iter_mut().max().expect("three numbers");
            *largest = largest.div_ceil(2);
        }
        let size: f64 = cell.map_or(0.0, |cell| {
            cell.reduced().iter().map(|v| v.iter().map(|x| x.abs()).sum::<f64>()).sum()
        });
        let mut grid = Grid {
            cell,
            reciprocal,
            divisions,
            reach: [0; 3],
            square_of_distance: distance * distance,
            clearly_too_far: ((distance + SLACK * size).powi(2) * (1.0 + SLACK)) as f32,
        };
        for k in 0..3 {
            // Without a cell, the grid has cells of the same width along all axes.
            let period = match cell {
                Some(_) => heights[k],
                None => {
                    grid.reciprocal[k][k] = 1.0 / (width * divisions[k] as f64);
                    width * divisions[k] as f64
                }
            };
            let farthest = (distance / period + SLACK) * divisions[k] as f64;
            grid.reach[k] = farthest.min(divisions[k] as f64) as usize + 1;
        }
        grid
    }

    fn len(&self) -> usize {
        self.divisions.iter().product()
    }

    /// Returns the grid cell of a point; `None` if the point is not finite.
    #[inline]
    fn place(&self, point: [f32; 3]) -> Option<[usize; 3]> {
        let point = point.map(f64::from);
        let mut place = [0; 3];
        for k in 0..3 {
            let r = self.reciprocal[k];
            let along = r[0] * point[0] + r[1] * point[1] + r[2] * point[2];
            let inside = along - along.floor();
            if inside.is_nan() {
                return None;
            }
            place[k] = ((inside * self.divisions[k] as f64) as usize).min(self.divisions[k] - 1);
        }
        Some(place)
    }

    /// Returns whether each grid cell is a neighbour of another through one image at most, under periodic boundaries.
    fn tells_images(&self) -> bool {
        self.cell.is_some() && (0..3).all(|k| 2 * self.reach[k] + 1 < self.divisions[k])
    }

    /// Returns the image of a finite point whose grid cell is [`Grid::place`].
    #[inline]
    fn image(&self, point: [f32; 3]) -> [f32; 3] {
        let Some(cell) = self.cell else { return point };
        let point = point.map(f64::from);
        let mut image = point;
        for (r, v) in self.reciprocal.iter().zip(cell.reduced()) {
            let whole = (r[0] * point[0] + r[1] * point[1] + r[2] * point[2]).floor();
            (0..3).for_each(|k| image[k] -= whole * v[k]);
        }
        image.map(|x| x as f32)
    }

    /// Returns a lattice vector.
    #[inline]
    fn shift(&self, whole: [f64; 3]) -> [f32; 3] {
        let Some(cell) = self.cell.filter(|_| whole != [0.0; 3]) else { return [0.0; 3] };
        let [a, b, c] = cell.reduced();
        [0, 1, 2].map(|k| (whole[0] * a[k] + whole[1] * b[k] + whole[2] * c[k]) as f32)
    }

    /// Returns the number of a grid cell; the first coordinate varies fastest.
    #[inline]
    fn number(&self, [i, j, k]: [usize; 3]) -> usize {
        (k * self.divisions[1] + j) * self.divisions[0] + i
    }

    fn place_of(&self, number: usize) -> [usize; 3] {
        let [n, m, _] = self.divisions;
        [number % n, number / n % m, number / (n * m)]
    }

    /// Calls a function with ranges of grid cells, which together are the neighbours of a cell and itself, each once,
    /// and with the box vectors to add to their images, until it returns `false`.
    #[inline]
    fn neighbours(&self, place: [usize; 3], mut each: impl FnMut(Range<usize>, [f64; 3]) -> bool) {
        let [xs, ys, zs] = [0, 1, 2].map(|k| around(place[k], self.reach[k], self.divisions[k]));
        for (z, whole_z) in zs {
            for k in z {
                for (y, whole_y) in &ys {
                    for j in y.clone() {
                        let row = self.number([0, j, k]);
                        for (x, whole_x) in &xs {
                            let whole = [*whole_x, *whole_y, whole_z];
                            if !x.is_empty() && !each(row + x.start..row + x.end, whole) {
                                return;
                            }
                        }
                    }
                }
            }
        }
    }

    #[inline]
    fn square(&self, a: [f64; 3], b: [f64; 3]) -> f64 {
        match self.cell {
            Some(cell) => cell.distance_squared(a, b),
            None => {
                let d = [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
                d[0] * d[0] + d[1] * d[1] + d[2] * d[2]
            }
        }
    }
}

/// Returns the numbers within `reach` of a place on a ring of `n`, as two ranges without repetitions, and the number of
/// turns that lead to each.
#[inline]
fn around(place: usize, reach: usize, n: usize) -> [(Range<usize>, f64); 2] {
    if 2 * reach + 1 >= n {
        return [(0..n, 0.0), (0..0, 0.0)];
    }
    match (place.checked_sub(reach), place + reach + 1) {
        (Some(first), end) if end > n => [(first..n, 0.0), (0..end - n, 1.0)],
        (Some(first), end) => [(first..end, 0.0), (0..0, 0.0)],
        (None, end) => [(0..end, 0.0), (n + place - reach..n, -1.0)],
    }
}

/// Returns the reciprocal vectors of three vectors, and the distances of the opposite faces of their cell.
fn reciprocal([a, b, c]: &[[f64; 3]; 3]) -> ([[f64; 3]; 3], [f64; 3]) {
    let cross = |u: &[f64; 3], v: &[f64; 3]| {
        [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]]
    };
    let dot = |u: &[f64; 3], v: &[f64; 3]| u[0] * v[0] + u[1] * v[1] + u[2] * v[2];
    let volume = dot(&cross(a, b), c);
    let vectors = [cross(b, c), cross(c, a), cross(a, b)].map(|v| v.map(|x| x / volume));
    (vectors, vectors.map(|v| 1.0 / dot(&v, &v).sqrt()))
}

/// Returns the lengths of the box around the atoms; zero if there are none.
fn extent(positions: &[[f32; 3]], atoms: impl Iterator<Item = u32>) -> [f64; 3] {
    let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
    for atom in atoms {
        let point = positions[atom as usize].map(f64::from);
        if point.iter().all(|x| x.is_finite()) {
            for k in 0..3 {
                low[k] = low[k].min(point[k]);
                high[k] = high[k].max(point[k]);
            }
        }
    }
    [0, 1, 2].map(|k| (high[k] - low[k]).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use trajet_kernels::reference;

    /// Cells of all shapes, and no cell.
    fn cells() -> impl Strategy<Value = Option<Cell>> {
        let length = prop_oneof![10.0..60.0f64, 1.0..200.0f64];
        let angle =
            prop_oneof![3 => Just(90.0), 2 => Just(60.0), 3 => 50.0..130.0f64, 2 => 2.0..178.0f64];
        let cell =
            ([length.clone(), length.clone(), length], [angle.clone(), angle.clone(), angle])
                .prop_map(|([a, b, c], [x, y, z])| Cell::new([a, b, c, x, y, z]))
                .prop_filter("three vectors in a plane", Option::is_some);
        prop_oneof![1 => Just(None), 4 => cell]
    }

    fn positions() -> impl Strategy<Value = Vec<[f32; 3]>> {
        let x = || prop_oneof![20 => -60.0..60.0f32, 1 => -1e4..1e4f32, 1 => Just(0.0f32)];
        proptest::collection::vec([x(), x(), x()], 0..120)
    }

    fn square(cell: Option<&Cell>, a: [f32; 3], b: [f32; 3]) -> f64 {
        let (a, b) = (a.map(f64::from), b.map(f64::from));
        match cell {
            Some(cell) => reference::distance_squared(cell.vectors(), a, b),
            None => (0..3).map(|k| (a[k] - b[k]).powi(2)).sum(),
        }
    }

    /// Whether rounding decides on which side of the distance a pair is.
    fn is_doubtful(square: f64, distance: f64) -> bool {
        (square - distance * distance).abs() < 1e-8 * (1.0 + square)
    }

    proptest! {
        #[test]
        fn pairs_are_those_of_the_naive_search(
            cell in cells(), positions in positions(),
            distance in prop_oneof![0.0..3.0f64, 3.0..40.0f64, 40.0..400.0f64],
        ) {
            let cell = cell.as_ref();
            let pairs = pairs_within(&positions, cell, distance).unwrap();
            prop_assert!(pairs.is_sorted_by(|a, b| a < b), "pairs in order, each once");
            for j in 0..positions.len() {
                for i in 0..j {
                    let square = square(cell, positions[i], positions[j]);
                    if !is_doubtful(square, distance) {
                        let found = pairs.binary_search(&[i as u32, j as u32]).is_ok();
                        prop_assert_eq!(found, square <= distance * distance, "{} {} {}", i, j, square);
                    }
                }
            }
        }

        #[test]
        fn atoms_near_a_set_are_those_of_the_naive_search(
            cell in cells(), positions in positions(),
            distance in prop_oneof![0.0..3.0f64, 3.0..40.0f64, 40.0..400.0f64],
            members in proptest::collection::vec(any::<bool>(), 120),
        ) {
            let cell = cell.as_ref();
            let n = positions.len() as u32;
            let set: Vec<u32> = (0..n).filter(|&i| members[i as usize]).collect();
            let found = atoms_within(&positions, (0..n).rev(), &set, cell, distance).unwrap();
            prop_assert!(found.is_sorted_by(|a, b| a > b), "in the order of the candidates");
            for i in 0..n {
                let squares = set.iter().map(|&j| square(cell, positions[i as usize], positions[j as usize]));
                let nearest = squares.fold(f64::INFINITY, f64::min);
                if !is_doubtful(nearest, distance) || members[i as usize] {
                    prop_assert_eq!(found.contains(&i), nearest <= distance * distance, "{}", i);
                }
            }
        }

        #[test]
        fn the_neighbours_on_a_ring_come_once(n in 1..40usize, place in 0..40usize, reach in 0..40usize) {
            let place = place % n;
            let parts = around(place, reach, n);
            let mut found: Vec<usize> = parts.into_iter().flat_map(|(part, _)| part).collect();
            found.sort_unstable();
            let expected: Vec<usize> =
                (0..n).filter(|&i| i.abs_diff(place).min(n - i.abs_diff(place)) <= reach).collect();
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn positions_that_are_not_finite_are_near_nothing() {
        let bad = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY].map(|x| [x, 0.0, 0.0]);
        let positions = [bad[0], [1.0, 0.0, 0.0], bad[1], bad[2], [1.0, 0.0, 0.5], bad[1]];
        let cell = Cell::new([10.0, 10.0, 10.0, 90.0, 90.0, 60.0]).unwrap();
        for cell in [None, Some(&cell)] {
            assert_eq!(pairs_within(&positions, cell, 3.0).unwrap(), [[1, 4]]);
            let near = atoms_within(&positions, 0..6, &[0, 1, 2], cell, 3.0).unwrap();
            assert_eq!(near, [1, 4]);
        }
    }

    #[test]
    fn a_single_atom_far_away_does_not_gather_the_others_in_one_grid_cell() {
        let mut positions: Vec<[f32; 3]> =
            (0..8000).map(|i| [i % 20, i / 20 % 20, i / 400].map(|x| 3.0 * x as f32)).collect();
        positions[7] = [1e30, -1e30, 3e38];
        for distance in [0.0, 3.1] {
            let list = CellList::new(&positions, 0..8000, None, distance).unwrap();
            let most = list.starts.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
            assert!(most <= 64, "{most} atoms in one grid cell");
        }
        // Three times 20 * 20 * 19 neighbours, without four of the atom far away.
        assert_eq!(pairs_within(&positions, None, 3.1).unwrap().len(), 22_796);
    }
}
