//! Pairs of atoms that are closer than the sum of their reaches.
//!
//! Atoms are sorted by their grid cells, and each pair is found once, by the atom that comes first: in most grid cells
//! its neighbours are runs of atoms in a row of cells, which are compared where they are. Grids that repeat themselves,
//! and cells with several images of an atom, take the way of [`each_group`].

use std::ops::Range;

use trajet_kernels::cell::Cell;
use trajet_simd::lanes::{LANES, Lanes};
use trajet_simd::{InstructionSet, on_lanes};

use super::grid::{Grid, NeighbourMemory, SPARE_CELLS, reciprocal};
use super::near::Points;
use super::sorted::{Placed, Sorted, check, each_group, lengths};
use crate::Fault;
use crate::error::reserve;

/// Width (Å) of cubes that have the volume of a grid cell: rows of three hold few more atoms than are compared together,
/// and all neighbours of an atom in a liquid fewer than [`PairRange::most_neighbours`] usually is.
const USUAL_WIDTH: f64 = 2.6;
/// Wider cells have too many atoms in common; a grid that repeats itself has cells of this width.
const WIDTH_OF_GROUPS: f64 = 4.0;
/// Relative slack of sums of reaches in f32.
const REACH_SLACK: f64 = 4e-6;
/// Least reach (Å); squares of smaller ones are not accurate in f32.
const LEAST_REACH: f64 = 1e-15;
/// Pairs that are compared before those in range are sorted out, unless one atom has more.
const BATCH: usize = 4096;

/// Number of first atoms whose pairs are sorted together: their counts fit into the fastest memory.
const BLOCK_OF_FIRSTS: usize = 4096;

/// Which pairs [`pairs_within`] finds.
#[derive(Clone, Copy, Debug)]
pub struct PairRange<'a> {
    /// No pair is farther apart than this (Å).
    pub longest: f64,
    /// Pairs are farther apart than this (Å); negative for pairs of atoms at one place.
    pub above: f64,
    /// The reach of each atom.
    pub reaches: &'a [f64],
    /// Pairs are closer than this times the sum of their reaches (Å), which is at most `longest`.
    pub factor: f64,
    /// Most atoms, itself among them, that may be within the longest distance of an atom.
    pub most_neighbours: usize,
}

impl PairRange<'_> {
    /// Returns the distance (Å) that two atoms with these reaches are closer than.
    #[inline]
    fn below(&self, a: f64, b: f64) -> f64 {
        self.factor * (a + b)
    }
}

/// Result of a search for pairs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pairs {
    /// The pairs, each once, the smaller index first, sorted.
    Found(Vec<[u32; 2]>),
    /// An atom that has too many neighbours.
    Crowded(u32),
}

/// Returns all pairs of atoms in a range. The `positions` are in Å; `cell` is `None` without periodic boundaries.
///
/// # Errors
/// [`Fault::Memory`].
///
/// # Panics
/// If there are 2³¹ atoms or not as many reaches, or the longest distance is negative, infinite or NaN.
pub fn pairs_within(
    positions: &[[f32; 3]],
    cell: Option<&Cell>,
    range: &PairRange<'_>,
) -> Result<Pairs, Fault> {
    pairs_within_on(InstructionSet::default(), positions, cell, range)
}

pub(super) fn pairs_within_on(
    instructions: InstructionSet,
    positions: &[[f32; 3]],
    cell: Option<&Cell>,
    range: &PairRange<'_>,
) -> Result<Pairs, Fault> {
    check(positions, range.longest);
    assert_eq!(positions.len(), range.reaches.len(), "one reach for each atom");
    let n = positions.len();
    let mut atoms = Vec::new();
    reserve(&mut atoms, n, "a grid")?;
    atoms.extend(0..n as u32);
    let bounds = lengths(positions, &atoms, cell);
    let volume = cell.map_or(bounds.iter().product(), Cell::volume);
    // Grid cells of a box that is not rectangular are larger than cubes of their width.
    let share = cell.map_or(1.0, |cell| {
        let (_, heights) = reciprocal(cell.reduced());
        heights.iter().product::<f64>() / volume
    });
    // One grid cell for each atom, at most.
    let width = (1.02 * (volume / (n + SPARE_CELLS) as f64).cbrt()).max(USUAL_WIDTH);
    let width = width * share.cbrt();
    let of_width = |width| Grid::new(cell, n, bounds, range.longest, width, instructions);
    let mut grid = of_width(width.min(WIDTH_OF_GROUPS));
    let is_simple = grid.has_rows();
    if !is_simple {
        grid = of_width(WIDTH_OF_GROUPS);
    }
    let sorted = Sorted::new(&grid, positions, &Placed::new(&grid, positions, &atoms, None)?)?;
    drop(atoms);
    let search = Search { grid: &grid, positions, sorted: &sorted, range };
    let mut pairs = Vec::new();
    let crowded = match is_simple {
        true => search.by_rows(&mut pairs)?,
        false => search.by_groups(&mut pairs)?,
    };
    match crowded {
        Some(atom) => Ok(Pairs::Crowded(atom)),
        None => Ok(Pairs::Found(in_order(n, &pairs)?)),
    }
}

/// Returns pairs sorted: by blocks of first atoms, and within these one by one.
fn in_order(n_atoms: usize, pairs: &[[u32; 2]]) -> Result<Vec<[u32; 2]>, Fault> {
    let zeros = |n: usize| {
        let mut zeros = Vec::new();
        reserve(&mut zeros, n, "pairs")?;
        zeros.resize(n, 0_u32);
        Ok::<_, Fault>(zeros)
    };
    let buffer = || {
        let mut buffer = Vec::new();
        reserve(&mut buffer, pairs.len(), "pairs")?;
        buffer.resize(pairs.len(), [0; 2]);
        Ok::<_, Fault>(buffer)
    };
    let mut starts = zeros(n_atoms / BLOCK_OF_FIRSTS + 2)?;
    let (mut blocks, mut sorted) = (buffer()?, buffer()?);
    place_by(pairs, &mut blocks, &mut starts, |first| first / BLOCK_OF_FIRSTS);
    let mut starts_within = zeros(BLOCK_OF_FIRSTS + 1)?;
    let mut start = 0;
    for &end in &starts[..starts.len() - 1] {
        let range = start as usize..end as usize;
        start = end;
        starts_within.fill(0);
        let (block, sorted) = (&blocks[range.clone()], &mut sorted[range]);
        place_by(block, sorted, &mut starts_within, |first| first % BLOCK_OF_FIRSTS);
    }
    // Few pairs have the same first atom.
    for pairs in sorted.chunk_by_mut(|[a, _], [b, _]| a == b).filter(|pairs| pairs.len() > 1) {
        pairs.sort_unstable();
    }
    Ok(sorted)
}

/// Sorts pairs into places by a number of their first atom. The `starts` are zeros, one more than there are numbers; they
/// become where the pairs of each number end.
fn place_by(
    pairs: &[[u32; 2]],
    sorted: &mut [[u32; 2]],
    starts: &mut [u32],
    number: impl Fn(usize) -> usize,
) {
    for &[first, _] in pairs {
        starts[number(first as usize) + 1] += 1;
    }
    for k in 1..starts.len() {
        starts[k] += starts[k - 1];
    }
    for &pair in pairs {
        let slot = &mut starts[number(pair[0] as usize)];
        sorted[*slot as usize] = pair;
        *slot += 1;
    }
}

/// A search for pairs among sorted atoms.
struct Search<'a> {
    grid: &'a Grid<'a>,
    positions: &'a [[f32; 3]],
    sorted: &'a Sorted,
    range: &'a PairRange<'a>,
}

/// Sorted atoms from a first one up to the end, and the vector to add to their images.
#[derive(Clone, Copy, Debug)]
struct Row {
    start: u32,
    end: u32,
    shift: [f32; 3],
}

/// Two sorted atoms that may be in range, and their squared distance in f32.
#[derive(Clone, Copy, Debug, Default)]
struct Candidate {
    first: u32,
    second: u32,
    square: f32,
}

impl Search<'_> {
    fn square_of(&self, a: u32, b: u32) -> f64 {
        self.grid.square(self.positions[a as usize], self.positions[b as usize])
    }

    /// Appends pairs, each atom's with those that come after it. Returns an atom that has too many neighbours.
    fn by_rows(&self, pairs: &mut Vec<[u32; 2]>) -> Result<Option<u32>, Fault> {
        let (grid, sorted) = (self.grid, self.sorted);
        let (exact, reaches) = self.reaches()?;
        // Squares beyond this are of pairs that are certainly far enough apart.
        let above = self.range.above;
        let apart = if above < 0.0 { -1.0 } else { grid.limits_of(above).possible };
        let (mut memory, mut rows) = (NeighbourMemory::default(), Vec::new());
        let mut candidates: Vec<Candidate> = Vec::new();
        let offsets = grid.offsets_of_rows();
        let mut place = [0; 3];
        for number in 0..grid.len() {
            let at = place;
            grid.advance(&mut place);
            let (first, end) = (sorted.starts[number], sorted.starts[number + 1]);
            if first == end {
                continue;
            }
            let n_near = self.rows_of(number, at, &offsets, &mut memory, &mut rows)?;
            if n_near > self.range.most_neighbours
                && let Some(atom) = self.crowded(first..end, &rows)
            {
                return Ok(Some(atom));
            }
            // Pairs with atoms that come before were found by these.
            rows.retain(|row| row.end > first);
            let batch = (BATCH / n_near.max(1)).max(1) as u32;
            for start in (first..end).step_by(batch as usize) {
                let homes = start..end.min(start.saturating_add(batch));
                let needed = homes.len() * n_near + 1;
                if candidates.len() < needed {
                    let more = needed - candidates.len();
                    reserve(&mut candidates, more, "neighbours")?;
                    candidates.resize(needed, Candidate::default());
                }
                let count =
                    compare(grid.set, &sorted.points, &reaches, homes, &rows, &mut candidates);
                reserve(pairs, count, "pairs")?;
                for candidate in &candidates[..count] {
                    let places = [candidate.first, candidate.second].map(|place| place as usize);
                    let [a, b] = places.map(|place| exact[place]);
                    let below = self.range.below(a, b);
                    let limits = grid.limits_of(below);
                    let square = candidate.square;
                    if square > limits.possible {
                        continue;
                    }
                    let [a, b] = places.map(|place| sorted.atoms[place]);
                    let (a, b) = (a.min(b), a.max(b));
                    // Rounding matters to few pairs.
                    if !(square <= limits.sure && square > apart) {
                        let distance = self.square_of(a, b).sqrt();
                        if !(distance > above && distance < below) {
                            continue;
                        }
                    }
                    pairs.push([a, b]);
                }
            }
        }
        Ok(None)
    }

    /// Returns the reaches of the sorted atoms, and the same in Å, rounded up: two images whose squared distance in f32
    /// exceeds the squared sum are certainly not in range. As many as are compared together follow these.
    fn reaches(&self) -> Result<(Vec<f64>, Vec<f32>), Fault> {
        let (atoms, range) = (&self.sorted.atoms, self.range);
        let slack = self.grid.slack / 2.0;
        let (mut exact, mut rough) = (Vec::new(), Vec::new());
        reserve(&mut exact, atoms.len(), "neighbours")?;
        reserve(&mut rough, atoms.len() + LANES, "neighbours")?;
        exact.extend(atoms.iter().map(|&atom| range.reaches[atom as usize]));
        rough.extend(exact.iter().map(|&reach: &f64| {
            let reach = (range.factor * reach).abs() + slack;
            (reach * (1.0 + REACH_SLACK) + LEAST_REACH) as f32
        }));
        rough.resize(atoms.len() + LANES, 0.0);
        Ok((exact, rough))
    }

    /// Lists the rows of atoms near a grid cell, and returns the number of these atoms. The `offsets` are those of the
    /// grid.
    fn rows_of(
        &self,
        number: usize,
        place: [usize; 3],
        offsets: &[isize],
        memory: &mut NeighbourMemory,
        rows: &mut Vec<Row>,
    ) -> Result<usize, Fault> {
        let starts = &self.sorted.starts;
        rows.clear();
        let mut n_near = 0;
        let mut add = |first: usize, end: usize, shift| {
            let row = Row { start: starts[first], end: starts[end], shift };
            n_near += (row.end - row.start) as usize;
            if row.start < row.end {
                rows.push(row);
            }
        };
        if self.grid.is_within(place) {
            let reach = self.grid.reach_along_rows();
            for offset in offsets {
                let middle = number.wrapping_add_signed(*offset);
                add(middle - reach, middle + reach + 1, [0.0; 3]);
            }
        } else {
            self.grid.neighbours(place, [0.0; 3], false, memory, |cells, shift| {
                add(cells.start, cells.end, shift);
                true
            });
        }
        Ok(n_near)
    }

    /// Returns one of some sorted atoms that has too many neighbours in the rows.
    fn crowded(&self, homes: Range<u32>, rows: &[Row]) -> Option<u32> {
        let (atoms, points) = (&self.sorted.atoms, &self.sorted.points);
        let (most, possible) = (self.range.most_neighbours, self.grid.limits.possible);
        let is_crowded = |&home: &u32| {
            let point = points.get(home as usize);
            let count = |row: &Row| {
                let range = row.start as usize..row.end as usize;
                let [xs, ys, zs] = points.axes.each_ref().map(|axis| &axis[range.clone()]);
                let near = xs.iter().zip(ys).zip(zs).filter(|((x, y), z)| {
                    let dx = **x + row.shift[0] - point[0];
                    let dy = **y + row.shift[1] - point[1];
                    let dz = **z + row.shift[2] - point[2];
                    let is_far = dx * dx + dy * dy + dz * dz > possible;
                    !is_far
                });
                near.count()
            };
            if rows.iter().map(count).sum::<usize>() <= most {
                return false;
            }
            let places = rows.iter().flat_map(|row| row.start..row.end);
            let near = places.filter(|&place| {
                self.square_of(atoms[home as usize], atoms[place as usize])
                    <= self.grid.square_of_distance
            });
            near.take(most + 1).count() > most
        };
        homes.into_iter().find(is_crowded).map(|home| atoms[home as usize])
    }

    /// Does the same as [`Search::by_rows`] for every grid and cell.
    fn by_groups(&self, pairs: &mut Vec<[u32; 2]>) -> Result<Option<u32>, Fault> {
        let (grid, range) = (self.grid, self.range);
        let (mut places, mut others, mut crowded) = (Vec::new(), Vec::new(), None);
        let (positions, sorted) = (self.positions, self.sorted);
        each_group(grid, positions, sorted, sorted, false, |group, near, _| {
            for &home in group {
                let atom = sorted.atoms[home as usize];
                let point = sorted.points.get(home as usize);
                places.clear();
                if grid.has_all_images() {
                    reserve(&mut places, near.atoms().len(), "neighbours")?;
                    places.extend(0..near.atoms().len() as u32);
                } else {
                    near.within(grid.set, point, grid.limits.possible, &mut places)?;
                }
                others.clear();
                reserve(&mut others, places.len(), "neighbours")?;
                others.extend(places.iter().map(|&place| near.atoms()[place as usize]));
                others.sort_unstable();
                others.dedup();
                others.retain(|&other| self.square_of(atom, other) <= grid.square_of_distance);
                if others.len() > range.most_neighbours {
                    crowded = Some(atom);
                    return Ok(false);
                }
                for &other in others.iter().filter(|&&other| other > atom) {
                    let distance = self.square_of(atom, other).sqrt();
                    let [a, b] = [atom, other].map(|atom| range.reaches[atom as usize]);
                    if distance > range.above && distance < range.below(a, b) {
                        reserve(pairs, 1, "pairs")?;
                        pairs.push([atom, other]);
                    }
                }
            }
            Ok(true)
        })?;
        Ok(crowded)
    }
}

on_lanes! {
    /// Fills candidates with the pairs of some sorted atoms and later ones in the rows that are closer than the sum of
    /// their reaches, and returns their number. Lists of points and reaches are padded.
    fn compare(
        points: &Points,
        reaches: &[f32],
        homes: Range<u32>,
        rows: &[Row],
        candidates: &mut [Candidate],
    ) -> usize = compare_in_vectors, compare_one_by_one
}

#[inline(always)]
fn compare_in_vectors<V: Lanes>(
    v: V,
    points: &Points,
    reaches: &[f32],
    homes: Range<u32>,
    rows: &[Row],
    candidates: &mut [Candidate],
) -> usize {
    let [xs, ys, zs] = &points.axes;
    let mut count = 0;
    for home in homes {
        let point = points.get(home as usize).map(|x| v.splat_f(-x));
        let reach = v.splat_f(reaches[home as usize]);
        for row in rows {
            let shift = row.shift.map(|x| v.splat_f(x));
            let mut start = row.start.max(home + 1);
            while start < row.end {
                let lanes = start as usize..start as usize + LANES;
                let load = |axis: &[f32]| {
                    v.load_f(axis[lanes.clone()].try_into().expect("padded by as many"))
                };
                let square = |axis: &[f32], k: usize| {
                    let difference = v.add_f(v.add_f(load(axis), shift[k]), point[k]);
                    v.mul_f(difference, difference)
                };
                let sum = v.add_f(v.add_f(square(xs, 0), square(ys, 1)), square(zs, 2));
                let most = v.add_f(load(reaches), reach);
                let mut bits = !v.greater_f(sum, v.mul_f(most, most));
                // Later lanes are of other rows.
                let n = row.end - start;
                if n < LANES as u32 {
                    bits &= (1 << n) - 1;
                }
                if bits != 0 {
                    let mut squares = [0.0; LANES];
                    v.store_f(sum, &mut squares);
                    while bits != 0 {
                        let lane = bits.trailing_zeros();
                        let (second, square) = (start + lane, squares[lane as usize]);
                        candidates[count] = Candidate { first: home, second, square };
                        count += 1;
                        bits &= bits - 1;
                    }
                }
                start += LANES as u32;
            }
        }
    }
    count
}

fn compare_one_by_one(
    points: &Points,
    reaches: &[f32],
    homes: Range<u32>,
    rows: &[Row],
    candidates: &mut [Candidate],
) -> usize {
    let mut count = 0;
    for home in homes {
        let (point, reach) = (points.get(home as usize), reaches[home as usize]);
        for row in rows {
            for second in row.start.max(home + 1)..row.end {
                let at = points.get(second as usize);
                let square = |k: usize| (at[k] + row.shift[k] - point[k]).powi(2);
                let square = square(0) + square(1) + square(2);
                let most = reaches[second as usize] + reach;
                // As in vectors, also where it is not a number.
                if square > most * most {
                    continue;
                }
                candidates[count] = Candidate { first: home, second, square };
                count += 1;
            }
        }
    }
    count
}
