//! Pairs of atoms that are closer than the sum of their reaches.
//!
//! Each pair is found once, by the atom that comes first on the grid: its neighbours are runs of atoms in a row of grid
//! cells, which are compared where they are.

use std::ops::Range;

use trajet_kernels::cell::Cell;
use trajet_kernels::memory::{self, NoMemory};
use trajet_kernels::neighbours::{
    Atoms, Fineness, Group, Groups, Limits, Missing, NeighbourSearch, PlaceError, Screened, Sorted,
    Stop, Visitor, square_between,
};
use trajet_simd::lanes::{LANES, Lanes};
use trajet_simd::{InstructionSet, on_lanes};

use crate::TopologyError;
use crate::error::reserve;

/// Width (Å) of cubes that have the volume of a grid cell: rows of three hold few more atoms than are compared together,
/// and all neighbours of an atom in a liquid fewer than [`PairRange::most_neighbours`] usually is.
const USUAL_WIDTH: f64 = 2.6;
/// Wider cells have too many atoms in common.
const WIDEST: f64 = 4.0;
/// Relative slack of sums of reaches in f32.
const REACH_SLACK: f64 = 4e-6;
/// Least reach (Å); squares of smaller ones are not accurate in f32.
const MIN_REACH: f64 = 1e-15;
/// Pairs that are compared before those in range are sorted out, unless one atom has more.
const BATCH: usize = 4096;

/// Number of first atoms whose pairs are sorted together: their counts fit into the fastest memory.
const BLOCK_OF_FIRSTS: usize = 4096;

/// Limits of the pairs that [`pairs_within`] finds.
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
/// [`TopologyError::Memory`].
///
/// # Panics
/// If there are 2³¹ atoms or not as many reaches, or the longest distance is negative, infinite or NaN.
pub fn pairs_within(
    positions: &[[f32; 3]],
    cell: Option<&Cell>,
    range: &PairRange<'_>,
) -> Result<Pairs, TopologyError> {
    pairs_within_on(InstructionSet::default(), positions, cell, range)
}

pub(super) fn pairs_within_on(
    instructions: InstructionSet,
    positions: &[[f32; 3]],
    cell: Option<&Cell>,
    range: &PairRange<'_>,
) -> Result<Pairs, TopologyError> {
    check(positions, range.longest);
    assert_eq!(positions.len(), range.reaches.len(), "one reach for each atom");
    let n = positions.len();
    let mut search = NeighbourSearch::new(instructions);
    let fineness = Fineness::of_cubes(cell, USUAL_WIDTH, n, WIDEST);
    let group = Groups::One(Atoms::all(positions));
    search.place(cell, group, range.longest, fineness, Missing::Skip).map_err(fault_of)?;
    let mut comparison = Comparison::new(&search, positions, cell, range)?;
    search.visit(&mut comparison)?;
    if let Some(atom) = comparison.crowded {
        return Ok(Pairs::Crowded(atom));
    }
    let Comparison { pairs, has_images, .. } = comparison;
    let mut pairs = in_order(n, &pairs)?;
    if has_images {
        pairs.dedup();
    }
    Ok(Pairs::Found(pairs))
}

/// Returns pairs sorted: by blocks of first atoms, and within these one by one.
fn in_order(n_atoms: usize, pairs: &[[u32; 2]]) -> Result<Vec<[u32; 2]>, TopologyError> {
    let zeros = |n: usize| {
        let mut zeros = Vec::new();
        reserve(&mut zeros, n, "pairs")?;
        zeros.resize(n, 0_u32);
        Ok::<_, TopologyError>(zeros)
    };
    let buffer = || {
        let mut buffer = Vec::new();
        reserve(&mut buffer, pairs.len(), "pairs")?;
        buffer.resize(pairs.len(), [0; 2]);
        Ok::<_, TopologyError>(buffer)
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

/// Sorted atoms from a first one up to the end, and the vector to add to their images.
#[derive(Clone, Copy, Debug)]
struct Row {
    start: u32,
    end: u32,
    shift: [f32; 3],
    /// Whether this is the first shift of the atoms.
    is_first: bool,
}

/// Two sorted atoms that may be in range, and their squared distance in f32.
#[derive(Clone, Copy, Debug, Default)]
struct Candidate {
    first: u32,
    second: u32,
    square: f32,
}

/// Compares sorted atoms with those in the rows of their neighbours.
struct Comparison<'a> {
    positions: &'a [[f32; 3]],
    cell: Option<&'a Cell>,
    range: &'a PairRange<'a>,
    /// The reaches of the sorted atoms.
    reaches: Vec<f64>,
    /// The same in Å, rounded up: two images whose squared distance in f32 exceeds the squared sum are certainly not in
    /// range. As many as are compared together follow these.
    rough_reaches: Vec<f32>,
    /// Bounds for the longest distance.
    longest: Limits,
    /// Squares beyond this are of pairs that are certainly far enough apart.
    apart: f32,
    rows: Vec<Row>,
    shifts: Vec<[f32; 3]>,
    candidates: Vec<Candidate>,
    pairs: Vec<[u32; 2]>,
    /// Whether pairs may have been found through several images.
    has_images: bool,
    /// An atom with too many neighbours.
    crowded: Option<u32>,
}

impl Visitor<Screened> for Comparison<'_> {
    fn visit(&mut self, group: &Group<'_, Screened>) -> Result<(), Stop> {
        let (search, homes) = (group.search(), group.homes());
        let (sorted, homes) = (search.homes(), homes.start as u32..homes.end as u32);
        let rows = &mut self.rows;
        rows.clear();
        let (mut n_near, mut has_images) = (0, false);
        group.each_row(&mut self.shifts, |row, shifts| {
            n_near += row.len();
            has_images |= shifts.len() > 1;
            for (k, &shift) in shifts.iter().enumerate() {
                let (start, end) = (row.start as u32, row.end as u32);
                rows.push(Row { start, end, shift, is_first: k == 0 });
            }
            Ok(())
        })?;
        if n_near > self.range.most_neighbours {
            self.crowded = self.crowded_of(sorted, homes.clone());
            if self.crowded.is_some() {
                return Err(Stop::Enough);
            }
        }
        // Pairs with atoms that come before were found by these.
        self.rows.retain(|row| row.end > homes.start);
        let n_rows: usize = self.rows.iter().map(|row| (row.end - row.start) as usize).sum();
        // Of several images, one that is far enough apart decides nothing.
        let apart = if has_images { f32::INFINITY } else { self.apart };
        self.has_images |= has_images;
        let batch = (BATCH / n_rows.max(1)).max(1);
        for start in homes.clone().step_by(batch) {
            let homes = start..homes.end.min(start.saturating_add(batch as u32));
            self.compare(search, homes, n_rows, apart)?;
        }
        Ok(())
    }
}

impl<'a> Comparison<'a> {
    fn new(
        search: &NeighbourSearch<Screened>,
        positions: &'a [[f32; 3]],
        cell: Option<&'a Cell>,
        range: &'a PairRange<'a>,
    ) -> Result<Self, TopologyError> {
        let atoms = search.homes().atoms();
        let slack = search.slack() / 2.0;
        let (mut reaches, mut rough_reaches) = (Vec::new(), Vec::new());
        reserve(&mut reaches, atoms.len(), "neighbours")?;
        reserve(&mut rough_reaches, atoms.len() + LANES, "neighbours")?;
        reaches.extend(atoms.iter().map(|&atom| range.reaches[atom as usize]));
        rough_reaches.extend(reaches.iter().map(|&reach: &f64| {
            let reach = (range.factor * reach).abs() + slack;
            (reach * (1.0 + REACH_SLACK) + MIN_REACH) as f32
        }));
        rough_reaches.resize(atoms.len() + LANES, 0.0);
        let above = range.above;
        Ok(Comparison {
            positions,
            cell,
            range,
            reaches,
            rough_reaches,
            longest: search.limits(range.longest),
            apart: if above < 0.0 { -1.0 } else { search.limits(above).possible },
            rows: Vec::new(),
            shifts: Vec::new(),
            candidates: Vec::new(),
            pairs: Vec::new(),
            has_images: false,
            crowded: None,
        })
    }

    fn square_of(&self, a: u32, b: u32) -> f64 {
        square_between(self.cell, self.positions[a as usize], self.positions[b as usize])
    }

    /// Appends pairs of some atoms, each one's with those that come after it.
    fn compare(
        &mut self,
        search: &NeighbourSearch<Screened>,
        homes: Range<u32>,
        n_rows: usize,
        apart: f32,
    ) -> Result<(), NoMemory> {
        let needed = homes.len() * n_rows + 1;
        if needed > self.candidates.len() {
            let more = needed - self.candidates.len();
            memory::reserve(&mut self.candidates, more, "neighbours")?;
            self.candidates.resize(needed, Candidate::default());
        }
        let (sorted, rough) = (search.homes(), &self.rough_reaches);
        let set = search.instructions();
        let count = compare(set, sorted, rough, homes, &self.rows, &mut self.candidates);
        memory::reserve(&mut self.pairs, count, "pairs")?;
        for candidate in &self.candidates[..count] {
            let places = [candidate.first, candidate.second].map(|place| place as usize);
            let [a, b] = places.map(|place| self.reaches[place]);
            let below = self.range.below(a, b);
            let limits = search.limits(below);
            let square = candidate.square;
            if square > limits.possible {
                continue;
            }
            let [a, b] = places.map(|place| sorted.atoms()[place]);
            let (a, b) = (a.min(b), a.max(b));
            // Rounding matters to few pairs.
            if !(square <= limits.sure && square > apart) {
                let distance = self.square_of(a, b).sqrt();
                if !(distance > self.range.above && distance < below) {
                    continue;
                }
            }
            self.pairs.push([a, b]);
        }
        Ok(())
    }

    /// Returns one of some sorted atoms that has too many neighbours in the rows.
    fn crowded_of(&self, sorted: &Sorted<Screened>, homes: Range<u32>) -> Option<u32> {
        let (most, possible) = (self.range.most_neighbours, self.longest.possible);
        let square_of_longest = self.range.longest * self.range.longest;
        let is_crowded = |&home: &u32| {
            let point = sorted.point(home as usize);
            let count = |row: &Row| {
                let range = row.start as usize..row.end as usize;
                let [xs, ys, zs] = sorted.axes().map(|axis| &axis[range.clone()]);
                let near = xs.iter().zip(ys).zip(zs).filter(|((x, y), z)| {
                    let dx = **x + row.shift[0] - point[0];
                    let dy = **y + row.shift[1] - point[1];
                    let dz = **z + row.shift[2] - point[2];
                    let is_far = dx * dx + dy * dy + dz * dz > possible;
                    !is_far
                });
                near.count()
            };
            if self.rows.iter().map(count).sum::<usize>() <= most {
                return false;
            }
            let rows = self.rows.iter().filter(|row| row.is_first);
            let atom = sorted.atoms()[home as usize];
            let near = rows.flat_map(|row| row.start..row.end).filter(|&place| {
                self.square_of(atom, sorted.atoms()[place as usize]) <= square_of_longest
            });
            near.take(most + 1).count() > most
        };
        homes.into_iter().find(is_crowded).map(|home| sorted.atoms()[home as usize])
    }
}

on_lanes! {
    /// Fills candidates with the pairs of some sorted atoms and later ones in the rows that are closer than the sum of
    /// their reaches, and returns their number. Lists of points and reaches are padded.
    fn compare(
        sorted: &Sorted<Screened>,
        reaches: &[f32],
        homes: Range<u32>,
        rows: &[Row],
        candidates: &mut [Candidate],
    ) -> usize = compare_in_vectors, compare_one_by_one
}

#[inline(always)]
fn compare_in_vectors<V: Lanes>(
    v: V,
    sorted: &Sorted<Screened>,
    reaches: &[f32],
    homes: Range<u32>,
    rows: &[Row],
    candidates: &mut [Candidate],
) -> usize {
    let [xs, ys, zs] = sorted.axes();
    let mut count = 0;
    for home in homes {
        let point = sorted.point(home as usize).map(|x| v.splat_f(-x));
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
    sorted: &Sorted<Screened>,
    reaches: &[f32],
    homes: Range<u32>,
    rows: &[Row],
    candidates: &mut [Candidate],
) -> usize {
    let mut count = 0;
    for home in homes {
        let (point, reach) = (sorted.point(home as usize), reaches[home as usize]);
        for row in rows {
            for second in row.start.max(home + 1)..row.end {
                let at = sorted.point(second as usize);
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

/// Asserts that a search is possible.
pub(super) fn check(positions: &[[f32; 3]], distance: f64) {
    assert!(distance >= 0.0 && distance.is_finite(), "a distance of {distance}");
    assert!(i32::try_from(positions.len()).is_ok(), "{} atoms", positions.len());
}

/// Returns the fault of a search that skips atoms without a position.
pub(super) fn fault_of(error: PlaceError) -> TopologyError {
    match error {
        PlaceError::Memory(refused) => refused.into(),
        PlaceError::Misplaced(atom) => unreachable!("it was skipped: {atom:?}"),
    }
}
