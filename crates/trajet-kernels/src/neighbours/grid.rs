//! The grid: which grid cell a position is in, and which grid cells can hold atoms within reach of it.

use std::ops::Range;

use super::number::Number;
use crate::cell::{Basis, Cell, Periodic, Vector, combine, dot, square};
use crate::memory::NoMemory;

/// Reasons of a [`super::Visitor`] to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The visitor needs no further pairs.
    Enough,
    /// The system refused memory.
    Memory(NoMemory),
}

impl From<NoMemory> for Stop {
    fn from(refused: NoMemory) -> Self {
        Stop::Memory(refused)
    }
}

/// Grid cells beyond one for each atom. A table has at least as many cells along each vector as are neighbours of one.
pub(super) const SPARE_CELLS: usize = 32_768;
/// Most cells of a table; their numbers are computed as `i32`.
const MAX_CELLS: usize = i32::MAX as usize;
/// Most grid cells along a vector of the unit cell: [`SLACK`] is a small part of one.
const MAX_DIVISIONS: f64 = 131_072.0;
/// Width of grid cells in units of a part of the reach; a little more, so that neighbours are as far as one cell for each
/// part.
const WIDTH: f64 = 1.01;
/// Grid cells become wider by up to this factor if the reach then spans fewer of them.
const WIDENING: f64 = 1.1;
/// Fewest cells of a table along each axis without a unit cell, unless the grid surrounds all atoms: atoms around a small
/// group are in grid cells of their own, not in those of its repetitions.
const FEWEST_CELLS: f64 = 16.0;
/// Least width of grid cells (Å), so that it is not zero.
const MIN_WIDTH: f64 = 1e-6;
/// Longest reach (Å): more than any distance of positions in `f32`. Volumes of grid cells must be finite.
const LONGEST_REACH: f64 = 1e40;
/// Average number of atoms in a grid cell for comparisons of all with all.
const OCCUPANCY: f64 = 8.0;
/// Maximal distance of an atom outside of its grid cell due to rounding, in units of the vectors.
const SLACK: f64 = 1e-6;
/// Bits of an exact coordinate below the size of the cell; five more are reserved for sums of coordinates and shifts.
const BITS: u64 = 48;

/// The width of grid cells. It affects speed alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fineness {
    /// Number of grid cells that the reach spans, from 1 to 5.
    pub parts: f64,
    /// Least width (Å).
    pub least_width: f64,
    /// Grid cells are wider if there would be more of them,
    pub most_cells: usize,
    /// but not wider than this (Å).
    pub widest: f64,
}

impl Fineness {
    /// Returns grid cells with the volume of cubes of a width (Å), wider ones if there would be more than one for each of
    /// `n` atoms, up to `widest`.
    pub fn of_cubes(cell: Option<&Cell>, width: f64, n: usize, widest: f64) -> Self {
        // Grid cells of a box that is not rectangular are larger than cubes of their width.
        let share = cell.map_or(1.0, |cell| {
            let reduced = Basis::new(*cell.reduced());
            reduced.heights().iter().product::<f64>() / reduced.volume()
        });
        let [least_width, widest] = [width, widest].map(|width| width * share.cbrt());
        Fineness { parts: 1.0, least_width, most_cells: n + SPARE_CELLS, widest }
    }

    /// Returns grid cells of a third of the reach, or so wide that `n` atoms are eight in each on average.
    pub fn of_occupancy(n: usize) -> Self {
        let most_cells = (n as f64 / OCCUPANCY).max(1.0) as usize;
        Fineness { parts: 3.0, least_width: 0.0, most_cells, widest: f64::INFINITY }
    }

    /// Returns the width of grid cells in a box of these heights.
    fn width(self, heights: Vector, reach: f64) -> f64 {
        let mut width =
            (reach * WIDTH / self.parts.clamp(1.0, 5.0)).max(self.least_width).max(MIN_WIDTH);
        while width < self.widest {
            let count: f64 = heights.iter().map(|h| (h / width).floor().max(1.0)).product();
            let excess = count / self.most_cells as f64;
            if excess <= 1.0 {
                break;
            }
            width = (width * excess.cbrt().max(1.02)).min(self.widest);
        }
        // Grid cells that are a little too narrow have neighbours in one more layer.
        let wider = reach * WIDTH / (reach * WIDTH / width).floor();
        if wider < WIDENING * width { wider } else { width }
    }
}

/// The space that a grid covers: the unit cell in periodic directions, and everything in others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Space<'a> {
    /// The unit cell; without one no direction is periodic.
    pub(super) cell: Option<&'a Cell>,
    /// Lengths of a box around atoms along the [`directions`], and its lowest corner (Å). Only directions that are not
    /// periodic matter.
    pub(super) lengths: Vector,
    pub(super) low: Vector,
    /// Whether all atoms are in that box.
    pub(super) holds_all: bool,
}

impl Space<'_> {
    /// Returns which of the [`directions`] are periodic.
    pub(super) fn periodic(&self) -> Periodic {
        self.cell.map_or([false; 3], Cell::reduced_periodic)
    }
}

/// Returns the vectors along which a grid divides space: short vectors of the lattice, and unit vectors at right angles to
/// it where it is not periodic.
pub(super) fn directions(cell: Option<&Cell>) -> [Vector; 3] {
    cell.map_or([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], |cell| *cell.reduced())
}

/// A grid that repeats itself in all directions.
///
/// It covers the parallelepiped of the reduced vectors, and all space along directions that are not periodic. Each grid cell stands in a table
/// of fewer cells: distant ones share their place there. Neither an atom far away from all others nor a cell that is
/// mostly empty makes grid cells wide.
#[derive(Clone, Debug)]
pub struct Grid {
    /// Vectors of the lattice; in directions that are not periodic, those of the table.
    pub(super) basis: Basis,
    /// The same; vectors and reciprocal vectors that are not periodic are zero.
    pub(super) lattice: Basis,
    /// Which of the vectors are periodic.
    pub(super) periodic: Periodic,
    /// Number of cells of the table along each vector.
    pub(super) table: [i64; 3],
    /// Number of copies of the table along each vector of the lattice; 1 along others.
    pub(super) repeats: [i64; 3],
    /// Offset that is added to coordinates along vectors that are not periodic: it moves the box around the atoms to the
    /// middle of the table.
    pub(super) offset: Vector,
    /// Constant that, added and subtracted again, rounds to a multiple of the smallest step of exact coordinates.
    pub(super) rounding: f64,
    /// Neighbours, by their place in the grid. The first class is the cell's own row.
    classes: Vec<Class>,
    /// Rows of neighbours between the ends of the table, with the number of their first cell from that of the middle.
    inner: Vec<(isize, usize)>,
    /// Largest distance of a neighbour along each vector, in grid cells.
    farthest: [i64; 3],
    /// Largest shift of an image by rounding to `f32` (Å).
    slack: f64,
}

/// Neighbours in one row: cells `first..=last` along the first vector relative to a cell, `along` the others.
#[derive(Clone, Copy, Debug)]
struct Row {
    along: [i64; 2],
    first: i64,
    last: i64,
}

/// Rows of neighbours that are the same row of the grid, through different shifts.
#[derive(Clone, Debug)]
struct Class {
    rows: Vec<Row>,
    /// Whether no cell of the row is seen through several shifts.
    is_single: bool,
}

impl Grid {
    /// Returns a grid for distances up to `reach` (Å) among `n_atoms` atoms.
    pub(super) fn new(space: Space<'_>, n_atoms: usize, reach: f64, fineness: Fineness) -> Self {
        let reach = reach.min(LONGEST_REACH);
        let most = n_atoms.saturating_add(SPARE_CELLS).min(MAX_CELLS);
        let (periodic, lengths, low) = (space.periodic(), space.lengths, space.low);
        let is_open = |&k: &usize| !periodic[k];
        let (mut vectors, mut rounding, mut slack) = (directions(space.cell), 0.0, 0.0);
        if periodic != [false; 3] {
            let size = vectors.as_flattened().iter().map(|x| x.abs()).sum::<f64>();
            let beyond = |k: usize| low[k].abs() + lengths[k];
            slack = ROUGH_SLACK * (size + (0..3).filter(is_open).map(beyond).sum::<f64>());
            rounding = rounding_of(&vectors);
            (0..3).filter(|&k| periodic[k]).for_each(|k| {
                vectors[k] = vectors[k].map(|x| x + rounding - rounding);
            });
        }
        let mut heights = Basis::new(vectors).heights();
        (0..3).filter(is_open).for_each(|k| heights[k] = lengths[k]);
        let width = fineness.width(heights, reach);
        // How far neighbours are.
        let margin = (reach / width + 0.01).floor() + 1.0;
        let fewest = if space.holds_all { 1.0 } else { FEWEST_CELLS };
        let divisions = [0, 1, 2].map(|k| match periodic[k] {
            true => (heights[k] / width).clamp(1.0, MAX_DIVISIONS),
            false => ((lengths[k] / width + 2.0).max(fewest) + 2.0 * margin).min(MAX_DIVISIONS),
        });
        let divisions = divisions.map(|n| n as usize);
        let mut table = divisions;
        while table.iter().fold(1_usize, |n, &m| n.saturating_mul(m)) > most {
            let largest = table.iter_mut().max().expect("three numbers");
            *largest = largest.div_ceil(2);
        }
        let (mut repeats, mut offset) = ([1; 3], [0.0; 3]);
        for k in 0..3 {
            if periodic[k] {
                repeats[k] = (divisions[k] / table[k]) as i64;
                continue;
            }
            let period = width * table[k] as f64;
            vectors[k] = vectors[k].map(|x| x * period);
            let middle = (margin + 0.5) / table[k] as f64 - low[k] / period;
            // A far away corner must not take the digits of other positions.
            offset[k] = middle - middle.floor();
        }
        let basis = Basis::new(vectors);
        let mut lattice = basis.without(periodic);
        (0..3).filter(is_open).for_each(|k| lattice.vectors[k] = [0.0; 3]);
        let mut grid = Grid {
            basis,
            lattice,
            periodic,
            table: table.map(|n| n as i64),
            repeats,
            offset,
            rounding,
            classes: Vec::new(),
            inner: Vec::new(),
            farthest: [0; 3],
            slack,
        };
        grid.set_neighbours(reach);
        grid
    }

    /// Finds all neighbours of a cell, including itself, in which an atom can have an image within reach of an atom in the
    /// cell. In a unit cell, only minimum images count.
    fn set_neighbours(&mut self, reach: f64) {
        let divisions = self.divisions();
        let [n, m, _] = self.table;
        let rows = self.rows(reach);
        let class = |row: &Row| [1, 0].map(|k: usize| row.along[k].rem_euclid(divisions[k + 1]));
        for row in &rows {
            let [j, k] = row.along;
            let far = [row.first.abs().max(row.last.abs()), j.abs(), k.abs()];
            (0..3).for_each(|k| self.farthest[k] = self.farthest[k].max(far[k]));
            let (start, length) = ((k * m + j) * n + row.first, row.last - row.first + 1);
            self.inner.push((start as isize, length as usize));
        }
        for row in rows {
            match self.classes.iter_mut().find(|found| class(&found.rows[0]) == class(&row)) {
                Some(found) => found.rows.push(row),
                None => self.classes.push(Class { rows: vec![row], is_single: false }),
            }
        }
        for class in &mut self.classes {
            let [row, ..] = class.rows[..] else { continue };
            class.is_single = class.rows.len() == 1 && row.last - row.first < divisions[0];
        }
    }

    /// Returns the rows of neighbours, the nearest first.
    ///
    /// A neighbour is left out if some direction separates the two cells. The difference of any two of their points is
    /// the difference `centre` of the cells plus up to one cell along each vector; the neighbour is excluded if the
    /// product of all such differences with the direction is too large. For the reach, the directions are `centre`
    /// itself and the normals of the grid's planes. For minimum images, whose product with a lattice vector is at most
    /// half of that vector's square, they are the three vectors.
    fn rows(&self, reach: f64) -> Vec<Row> {
        let divisions = self.divisions().map(|n| n as f64);
        let heights = self.basis.heights();
        let mut shortest = self.basis.bounds_of_shortest();
        (0..3).filter(|&k| !self.periodic[k]).for_each(|k| shortest[k] = f64::INFINITY);
        let vectors = &self.basis.vectors;
        let lattice = || vectors.iter().zip(self.periodic).filter(|&(_, is_so)| is_so);
        let sides: [Vector; 3] = std::array::from_fn(|k| vectors[k].map(|x| x / divisions[k]));
        let widths: [Vector; 3] =
            std::array::from_fn(|k| vectors[k].map(|x| x * (1.0 / divisions[k] + SLACK)));
        let reach = reach * (1.0 + SLACK);
        let least = |centre: Vector, direction: Vector| {
            dot(centre, direction).abs()
                - widths.iter().map(|&w| dot(w, direction).abs()).sum::<f64>()
        };
        let within = |offset: [i64; 3]| {
            let centre = combine(&sides, offset.map(|n| n as f64));
            let planes = self.basis.reciprocal.iter().zip(heights);
            least(centre, centre) <= reach * square(centre).sqrt()
                && planes.into_iter().all(|(&r, height)| least(centre, r) * height <= reach)
                && lattice().all(|(&v, _)| least(centre, v) <= square(v) / 2.0 * (1.0 + SLACK))
        };
        let [a, b, c]: [i64; 3] = std::array::from_fn(|k| {
            let farthest = shortest[k].min(reach / heights[k]) + SLACK;
            (divisions[k] * farthest) as i64 + 1
        });
        let row = |along: [i64; 2]| {
            let inside = |i: &i64| within([*i, along[0], along[1]]);
            let first = (-a..=a).find(inside)?;
            let last = (-a..=a).rev().find(inside)?;
            Some(Row { along, first, last })
        };
        let mut rows: Vec<Row> =
            (-c..=c).flat_map(|k| (-b..=b).filter_map(move |j| row([j, k]))).collect();
        rows.sort_by_key(|row| row.along[0] * row.along[0] + row.along[1] * row.along[1]);
        rows
    }

    /// Returns the number of grid cells along each vector.
    #[inline]
    fn divisions(&self) -> [i64; 3] {
        [0, 1, 2].map(|k| self.table[k] * self.repeats[k])
    }

    /// Returns the number of cells of the table.
    pub(super) fn len(&self) -> usize {
        self.table.iter().product::<i64>() as usize
    }

    /// Returns how far (Å) rounding to `f32` can move an image.
    pub(super) fn slack(&self) -> f64 {
        self.slack
    }

    /// Returns whether atoms of a unit cell that are in different places can be in one cell of the table.
    pub(super) fn repeats(&self) -> bool {
        self.repeats != [1; 3]
    }

    /// Returns whether any direction is periodic.
    #[inline(always)]
    pub(super) fn has_images(&self) -> bool {
        self.periodic != [false; 3]
    }

    /// Returns whether atoms in a box of these lengths along the [`directions`] can be in one cell of the table although
    /// they are in different places, because of a direction that is not periodic.
    pub(super) fn is_exceeded_by(&self, lengths: Vector) -> bool {
        let beyond = |k: usize| {
            let period = square(self.basis.vectors[k]).sqrt();
            !self.periodic[k] && lengths[k] >= period - period / self.table[k] as f64
        };
        (0..3).any(beyond)
    }

    /// Advances the position of a grid cell in the table to that of the next.
    #[inline]
    pub(super) fn advance(&self, place: &mut [i64; 3]) {
        for k in 0..3 {
            place[k] += 1;
            if place[k] < self.table[k] {
                return;
            }
            place[k] = 0;
        }
    }

    /// Returns the position of a grid cell in the table.
    pub(super) fn place_of(&self, number: usize) -> [i64; 3] {
        let [n, m, _] = self.table;
        let number = number as i64;
        [number % n, number / n % m, number / (n * m)]
    }

    /// Returns which repetition of the table a finite position is in, along each vector.
    pub(super) fn repetition(&self, position: [f32; 3]) -> Vector {
        let along = self.basis.coordinates(position.map(f64::from));
        [0, 1, 2].map(|k| {
            let along = along.map(|f| f + self.offset[k]);
            if !self.periodic[k] {
                return along[k].floor();
            }
            let repeats = self.repeats[k] as f64;
            ((along[k] - along[k].floor()) * repeats).floor().min(repeats - 1.0)
        })
    }

    /// Returns the place in the grid of a place in a repetition of the table.
    pub(super) fn place_in(&self, repetition: Vector, place: [i64; 3]) -> [i64; 3] {
        [0, 1, 2].map(|k| match self.periodic[k] {
            true => repetition[k] as i64 * self.table[k] + place[k],
            false => place[k],
        })
    }

    /// Returns a lattice vector. Exact coordinates stay so.
    #[inline(always)]
    fn shift<C: Number>(&self, turns: [i64; 3]) -> [C; 3] {
        if turns == [0; 3] {
            return [C::ZERO; 3];
        }
        combine(&self.lattice.vectors, turns.map(|n| n as f64)).map(C::of)
    }

    /// Returns the lattice vectors by which a grid cell sees itself.
    pub(super) fn own_shifts<C: Number>(&self) -> Vec<[C; 3]> {
        let [a, b, c] = self.divisions();
        let of_row = |row: &Row| {
            let [j, k] = [row.along[0] / b, row.along[1] / c];
            let turns = (row.first..=row.last).filter(|at| at % a == 0).map(|at| at / a);
            turns.map(|i| self.shift([i, j, k])).collect::<Vec<_>>()
        };
        self.classes[0].rows.iter().flat_map(of_row).collect()
    }

    /// Calls a function with ranges of the table, which together are the neighbours of the grid cell at a place and itself,
    /// and with the shifts of the images that the cell sees of them. The nearest come first, roughly. No cell of the table
    /// comes twice.
    #[inline(always)]
    pub(super) fn each_row<C: Number>(
        &self,
        place: [i64; 3],
        shifts: &mut Vec<[C; 3]>,
        mut each: impl FnMut(Range<usize>, &[[C; 3]]) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let [n, m, _] = self.table;
        let at = [0, 1, 2].map(|k| remainder(place[k], self.table[k], self.repeats[k]));
        let is_inner =
            |k: usize| at[k] >= self.farthest[k] && at[k] + self.farthest[k] < self.table[k];
        if (0..3).all(is_inner) {
            let middle = ((at[2] * m + at[1]) * n + at[0]) as usize;
            for &(offset, length) in &self.inner {
                let start = middle.wrapping_add_signed(offset);
                each(start..start + length, &[[C::ZERO; 3]])?;
            }
            return Ok(());
        }
        let [a, b, c] = self.divisions();
        for class in &self.classes {
            let [row, ..] = class.rows[..] else { continue };
            if !class.is_single {
                self.each_cell(class, place, shifts, &mut each)?;
                continue;
            }
            let (j, turn_b) = divide(place[1] + row.along[0], b);
            let (k, turn_c) = divide(place[2] + row.along[1], c);
            let start = self.start_of_row(j, k);
            let (mut at, end) = (place[0] + row.first, place[0] + row.last + 1);
            while at < end {
                let (i, turn_a) = divide(at, a);
                let i = remainder(i, n, self.repeats[0]);
                let length = (end - at).min(n - i);
                let first = start + i as usize;
                let shift = self.shift([turn_a, turn_b, turn_c]);
                each(first..first + length as usize, &[shift])?;
                at += length;
            }
        }
        Ok(())
    }

    /// Calls a function with each cell of a row that may be seen through several shifts.
    fn each_cell<C: Number>(
        &self,
        class: &Class,
        place: [i64; 3],
        shifts: &mut Vec<[C; 3]>,
        each: &mut impl FnMut(Range<usize>, &[[C; 3]]) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let [a, b, c] = self.divisions();
        let along = |row: &Row| {
            let (j, turn_b) = divide(place[1] + row.along[0], b);
            let (k, turn_c) = divide(place[2] + row.along[1], c);
            ([j, k], [turn_b, turn_c])
        };
        let ([j, k], _) = along(&class.rows[0]);
        let start = self.start_of_row(j, k);
        let first = class.rows.iter().map(|row| row.first).min().unwrap_or(0);
        let last = class.rows.iter().map(|row| row.last).max().unwrap_or(0);
        for offset in first..=last.min(first + a - 1) {
            shifts.clear();
            for row in &class.rows {
                let (_, [turn_b, turn_c]) = along(row);
                let images = (offset..=row.last).step_by(a as usize).filter(|&at| at >= row.first);
                shifts.extend(images.map(|at| {
                    let (_, turn_a) = divide(place[0] + at, a);
                    self.shift::<C>([turn_a, turn_b, turn_c])
                }));
            }
            if !shifts.is_empty() {
                let (i, _) = divide(place[0] + offset, a);
                let cell = start + remainder(i, self.table[0], self.repeats[0]) as usize;
                each(cell..cell + 1, shifts)?;
            }
        }
        Ok(())
    }

    /// Returns the number of the first cell of the table in a row of the grid.
    #[inline(always)]
    fn start_of_row(&self, j: i64, k: i64) -> usize {
        let [n, m, l] = self.table;
        let (j, k) = (remainder(j, m, self.repeats[1]), remainder(k, l, self.repeats[2]));
        ((k * m + j) * n) as usize
    }
}

/// Bounds of the relative error of squares in `f32`, and of the error of an image in units of the vectors.
pub(super) const ROUGH_SLACK: f64 = 3e-6;

/// Returns a number that, added and subtracted again, rounds to multiples of 2⁻⁴⁸ of the size of three vectors.
fn rounding_of(vectors: &[Vector; 3]) -> f64 {
    let size: f64 = vectors.iter().map(|&v| square(v).sqrt()).sum();
    // The power of two above the size, by its exponent.
    let exponent = (size.to_bits() >> 52) + 1;
    let step = f64::from_bits((exponent - BITS) << 52);
    1.5 * (1u64 << 52) as f64 * step
}

/// Returns the cell in the table of a cell of the grid, which consists of `repeats` copies of the table.
#[inline(always)]
fn remainder(place: i64, table: i64, repeats: i64) -> i64 {
    if repeats == 1 { place } else { place % table }
}

/// Returns remainder and quotient, rounded down, of a number that is a few divisors from zero.
#[inline(always)]
fn divide(mut number: i64, divisor: i64) -> (i64, i64) {
    let mut quotient = 0;
    while number < 0 {
        number += divisor;
        quotient -= 1;
    }
    while number >= divisor {
        number -= divisor;
        quotient += 1;
    }
    (number, quotient)
}
