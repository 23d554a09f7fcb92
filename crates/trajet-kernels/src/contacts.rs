//! Contacts: pairs of atoms within a cut-off, and the nearest pair of two groups.

use trajet_simd::{InstructionSet, multiversion};

use crate::cell::{Cell, Vector, minus, square};
use crate::distance;
use crate::exclusion::Excluded;
use crate::pairs::bins::root_reaches;
use crate::pairs::search::{CHUNK, Candidates, Homes, Neighbourhood, PairVisitor, scan_of};
use crate::pairs::{Groups, Misplaced, PairSearch};

/// Relative and absolute (Å) increase of a distance, beyond any error of rounding.
const SLACK: f64 = 1e-6;
/// Resolution of the coordinates of a search, in units of the cell's size.
const RESOLUTION: f64 = 1.0 / (1u64 << 44) as f64;
/// Maximal number of steps in the search for a pair that is nearly the nearest.
const STEPS: usize = 8;

/// The nearest pair of two groups.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nearest {
    /// Distance (Å).
    pub distance: f64,
    /// Indices of the two atoms in their groups.
    pub atoms: [u32; 2],
}

/// Finds contacts. Buffers are reused between calls.
#[derive(Clone, Debug, Default)]
pub struct ContactFinder {
    search: PairSearch,
    points: distance::Points,
    row: Vec<f64>,
}

impl ContactFinder {
    /// Returns a finder that uses these instructions; [`Default`] uses the best.
    pub fn new(set: InstructionSet) -> Self {
        ContactFinder { search: PairSearch::new(set), ..Default::default() }
    }

    /// Returns the number of pairs whose distance is at most the cut-off (Å): of the minimum images if there is a cell.
    /// Pairs of one group are counted once, and no atom is paired with itself.
    ///
    /// # Errors
    /// [`Misplaced`].
    ///
    /// # Panics
    /// If the number of labels is not that of the atoms, or the number of coordinates is not a multiple of three.
    pub fn count(
        &mut self,
        cell: Option<&Cell>,
        groups: Groups<'_>,
        excluded: Excluded<'_>,
        cutoff: f64,
    ) -> Result<u64, Misplaced> {
        let mut visitor = Count { limit: Limit::new(cutoff), counts: [0; CHUNK] };
        self.search.visit(cell, groups, excluded, &mut visitor)?;
        Ok(visitor.counts.iter().sum())
    }

    /// Calls `each` with the tags of the two atoms of every pair whose distance is at most the cut-off (Å). Tags are
    /// given per atom, for the first and for the second group. The tag of the first group comes first; the two tags of
    /// a pair of one group are in ascending order.
    ///
    /// # Errors
    /// [`Misplaced`]; `each` is not called then.
    ///
    /// # Panics
    /// As [`ContactFinder::count`].
    pub fn each_tags(
        &mut self,
        cell: Option<&Cell>,
        groups: Groups<'_>,
        excluded: Excluded<'_>,
        tags: [&[u32]; 2],
        cutoff: f64,
        each: &mut dyn FnMut([u32; 2]),
    ) -> Result<(), Misplaced> {
        self.each(cell, groups, excluded, Some(tags), cutoff, each)
    }

    /// Returns all pairs whose distance is at most the cut-off (Å), by index in their groups, in ascending order. Pairs
    /// `[i, j]` of one group have `i < j`.
    ///
    /// # Errors
    /// [`Misplaced`].
    ///
    /// # Panics
    /// As [`ContactFinder::count`].
    pub fn pairs(
        &mut self,
        cell: Option<&Cell>,
        groups: Groups<'_>,
        excluded: Excluded<'_>,
        cutoff: f64,
    ) -> Result<Vec<[u32; 2]>, Misplaced> {
        let mut found = Vec::new();
        let mut add = |pair| found.push(pair);
        self.each(cell, groups, excluded, None, cutoff, &mut add)?;
        found.sort_unstable();
        Ok(found)
    }

    /// Returns the nearest pair, the first one of several at the same distance; `None` if there is no pair.
    ///
    /// # Errors
    /// [`Misplaced`].
    ///
    /// # Panics
    /// As [`ContactFinder::count`].
    pub fn nearest(
        &mut self,
        cell: Option<&Cell>,
        groups: Groups<'_>,
        excluded: Excluded<'_>,
    ) -> Result<Option<Nearest>, Misplaced> {
        let Some(near) = self.nearly_nearest(cell, groups, excluded) else { return Ok(None) };
        let order = Order::of(groups);
        let reach = near * (1.0 + SLACK) + SLACK;
        let mut visitor = Minimum { order, reach, square: f64::INFINITY, atoms: [u32::MAX; 2] };
        self.search.visit(cell, groups, excluded, &mut visitor)?;
        let [i, j] = visitor.atoms;
        let (a, b) = groups.positions();
        let difference = minus(point(b, j as usize), point(a, i as usize));
        let shortest = cell.map_or(difference, |cell| cell.shortest(difference));
        Ok(Some(Nearest { distance: square(shortest).sqrt(), atoms: [i, j] }))
    }

    /// Calls a function with the indices of the two atoms of each pair, or with their tags if there are any.
    pub(crate) fn each(
        &mut self,
        cell: Option<&Cell>,
        groups: Groups<'_>,
        excluded: Excluded<'_>,
        tags: Option<[&[u32]; 2]>,
        cutoff: f64,
        each: &mut dyn FnMut([u32; 2]),
    ) -> Result<(), Misplaced> {
        let (order, limit) = (Order::of(groups), Limit::new(cutoff));
        let tags = tags.map(|[a, b]| if groups.swapped() { [b, a] } else { [a, b] });
        self.search.visit(cell, groups, excluded, &mut Each { order, limit, tags, each })
    }

    /// Returns the distance of a pair that is nearly the nearest: starting from an atom, each step goes to the nearest
    /// atom of the other group. `None` if there is no pair, infinity if no distance is a number.
    fn nearly_nearest(
        &mut self,
        cell: Option<&Cell>,
        groups: Groups<'_>,
        excluded: Excluded<'_>,
    ) -> Option<f64> {
        let (a, b) = groups.positions();
        let same = matches!(groups, Groups::Same(_));
        let positions = [a, b];
        // Excluded pairs are few: each atom shares its label, or its residue, with few others.
        (0..a.len() / 3).find_map(|first| {
            let (mut from, mut own, mut best) = (first, 0, None);
            for _ in 0..STEPS {
                let other = 1 - own;
                let (found, to) = (positions[own], positions[other]);
                self.points.set(to);
                self.row.resize(self.points.len(), 0.0);
                let row = &mut self.row[..self.points.len()];
                distance::to_all(
                    self.search.instructions(),
                    cell,
                    point(found, from),
                    &self.points,
                    row,
                );
                let allowed = |j: usize| {
                    let [i, j] = if own == 0 { [from, j] } else { [j, from] };
                    !(excluded.has(i, j) || same && i == j)
                };
                let (nearest, distance) = (0..row.len())
                    .filter(|&j| allowed(j))
                    .map(|j| (j, row[j]))
                    .min_by(|x, y| x.1.total_cmp(&y.1))?;
                if best.is_some_and(|best| distance >= best) {
                    break;
                }
                best = Some(distance);
                (from, own) = (nearest, other);
            }
            best.map(|best: f64| if best.is_nan() { f64::INFINITY } else { best })
        })
    }
}

/// Returns a cut-off (Å) that finds all pairs within another one, which `f64` differences then decide.
pub(crate) fn reach_of_candidates(cell: Option<&Cell>, cutoff: f64) -> f64 {
    let size: f64 =
        cell.map_or(0.0, |cell| cell.reduced().as_flattened().iter().map(|x| x.abs()).sum());
    (cutoff + size * RESOLUTION) * (1.0 + SLACK)
}

fn point(positions: &[f32], i: usize) -> Vector {
    [0, 1, 2].map(|k| f64::from(positions[3 * i + k]))
}

/// Order of the two atoms of a pair.
#[derive(Clone, Copy, Debug)]
enum Order {
    /// The atom of the first group first, as the search gives it.
    Found,
    /// The atom of the first group first, although the search gives it last.
    Swapped,
    /// The atom with the lower index first.
    Ascending,
}

impl Order {
    fn of(groups: Groups<'_>) -> Order {
        match groups {
            Groups::Same(_) => Order::Ascending,
            Groups::Two(..) if groups.swapped() => Order::Swapped,
            Groups::Two(..) => Order::Found,
        }
    }

    #[inline(always)]
    fn apply(self, home: u32, other: u32) -> [u32; 2] {
        let swap = match self {
            Order::Found => false,
            Order::Swapped => true,
            Order::Ascending => other < home,
        };
        if swap { [other, home] } else { [home, other] }
    }
}

/// A cut-off.
#[derive(Clone, Copy, Debug)]
struct Limit {
    cutoff: f64,
    /// The smallest square whose rounded root exceeds the cut-off.
    square: f64,
}

impl Limit {
    fn new(cutoff: f64) -> Limit {
        Limit { cutoff, square: root_reaches(cutoff.next_up()) }
    }
}

/// Counts pairs.
struct Count {
    limit: Limit,
    counts: [u64; CHUNK],
}

multiversion! {
    fn scan_count<'a>(
        homes: &Homes<'a>, near: &mut Neighbourhood, visitor: &mut Count,
    ) = scan_of
}

impl PairVisitor for Count {
    fn reach(&self) -> f64 {
        self.limit.cutoff
    }

    #[inline(always)]
    fn visit(&mut self, candidates: &Candidates<'_>) {
        let limit = self.limit.square;
        let mut counts = self.counts;
        candidates.each(|_, squares| {
            for k in 0..CHUNK {
                counts[k] += u64::from(squares[k] < limit);
            }
        });
        self.counts = counts;
    }

    fn scan(&mut self, set: InstructionSet, homes: &Homes<'_>, near: &mut Neighbourhood) {
        scan_count(set, homes, near, self);
    }
}

/// Calls a function with each pair.
struct Each<'a> {
    order: Order,
    limit: Limit,
    /// Tags of the atoms that the search gives first and last; without them, the function gets indices.
    tags: Option<[&'a [u32]; 2]>,
    each: &'a mut dyn FnMut([u32; 2]),
}

multiversion! {
    fn scan_each<'a, 'b>(
        homes: &Homes<'a>, near: &mut Neighbourhood, visitor: &mut Each<'b>,
    ) = scan_of
}

impl PairVisitor for Each<'_> {
    fn reach(&self) -> f64 {
        self.limit.cutoff
    }

    #[inline(always)]
    fn visit(&mut self, candidates: &Candidates<'_>) {
        candidates.each(|chunk, squares| {
            let mut within = below(squares, self.limit.square);
            while within != 0 {
                let k = within.trailing_zeros() as usize;
                within &= within - 1;
                let (home, other) = (candidates.atom, candidates.atom_of(chunk, k));
                let [home, other] = match self.tags {
                    Some([homes, others]) => [homes[home as usize], others[other as usize]],
                    None => [home, other],
                };
                (self.each)(self.order.apply(home, other));
            }
        });
    }

    fn scan(&mut self, set: InstructionSet, homes: &Homes<'_>, near: &mut Neighbourhood) {
        scan_each(set, homes, near, self);
    }
}

/// Finds the nearest pair.
struct Minimum {
    order: Order,
    reach: f64,
    square: f64,
    atoms: [u32; 2],
}

multiversion! {
    fn scan_minimum<'a>(
        homes: &Homes<'a>, near: &mut Neighbourhood, visitor: &mut Minimum,
    ) = scan_of
}

impl PairVisitor for Minimum {
    fn reach(&self) -> f64 {
        self.reach
    }

    #[inline(always)]
    fn visit(&mut self, candidates: &Candidates<'_>) {
        candidates.each(|chunk, squares| {
            let mut close = below(squares, self.square.next_up());
            while close != 0 {
                let k = close.trailing_zeros() as usize;
                close &= close - 1;
                let atoms = self.order.apply(candidates.atom, candidates.atom_of(chunk, k));
                let square = squares[k];
                if square < self.square || (square == self.square && atoms < self.atoms) {
                    (self.square, self.atoms) = (square, atoms);
                    self.reach = self.reach.min(square.sqrt() * (1.0 + SLACK) + SLACK);
                }
            }
        });
    }

    fn scan(&mut self, set: InstructionSet, homes: &Homes<'_>, near: &mut Neighbourhood) {
        scan_minimum(set, homes, near, self);
    }
}

/// Returns a bit for each square, which is set if the square is below the limit.
#[inline(always)]
fn below(squares: &[f64; CHUNK], limit: f64) -> u32 {
    let mut bits = 0;
    for k in 0..CHUNK {
        bits |= u32::from(squares[k] < limit) << k;
    }
    bits
}

#[cfg(test)]
mod tests;
