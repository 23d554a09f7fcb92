//! Finds the neighbours of atoms within a reach, with or without periodic boundaries.
//!
//! The grid proposes, a [`Visitor`] decides: it gets the atoms of one grid cell after the other, with rows of atoms that
//! can be within reach of them. Which pairs of atoms it finds thus never depends on the grid.
//!
//! Source: M. P. Allen and D. J. Tildesley, Computer Simulation of Liquids, 2nd edition (2017), 5.3.2 (cell lists).
//! Departures:
//!
//! 1. The grid covers the reduced cell. Its neighbours follow from bounds on the minimum images (see [`crate::cell`]), so
//!    that there is no minimal number of grid cells, and no reach is too long for any cell shape. Grid cells that see each
//!    other through several shifts come once, with all of these. Along directions that are not periodic it covers all
//!    space, as it does without a cell, and there are no shifts.
//! 2. The table of grid cells repeats itself: grid cells of distant places may share their atoms. Neither a single atom
//!    far away from all others nor a cell that is mostly empty makes grid cells wide.
//! 3. [`Exact`] coordinates are rounded to multiples of 2⁻⁴⁸ of the cell's size (1e-12 Å for 200 Å; `f32` positions are
//!    known to 1e-5 Å), as are lattice vectors. From there on, differences and shifts are exact in any order: only squares
//!    and their sum are rounded. Without a cell they are the positions themselves. The distance of a pair depends neither
//!    on the grid, nor on other atoms, nor on the order of its atoms.
//! 4. [`Screened`] coordinates, in `f32`, sort out pairs that are clearly too far apart or clearly within reach
//!    ([`Limits`]). About all others, the minimum image in `f64` decides.

mod blocks;
mod grid;
mod near;
mod number;
mod sorted;

use std::ops::Range;

use trajet_simd::InstructionSet;

use self::blocks::{Images, has_place};
pub use self::grid::{Fineness, Stop};
use self::grid::{Grid, ROUGH_SLACK, Space, directions};
use self::near::Gather;
pub use self::near::Near;
use self::sorted::GriddedAtoms;
pub use self::sorted::{Atoms, Bounds, LANES, Sorted};
use crate::cell::{Cell, PERIODIC, Vector, dot};
use crate::memory::NoMemory;

/// Coordinates in `f64`, multiples of 2⁻⁴⁸ of the cell's size.
pub type Exact = f64;
/// Coordinates that are rounded to `f32`.
pub type Screened = f32;

/// Coordinates of images: [`Exact`] or [`Screened`].
pub trait Coordinate: Images + Gather {}

impl Coordinate for Exact {}
impl Coordinate for Screened {}

/// Groups of atoms whose pairs are searched.
#[derive(Clone, Copy, Debug)]
pub enum Groups<'a> {
    /// Pairs of one group.
    One(Atoms<'a>),
    /// Pairs of an atom of one group with one of another.
    Two {
        /// The groups.
        groups: [Atoms<'a>; 2],
        /// The group whose neighbours are visited: 0 or 1. Their neighbourhood is gathered once for each grid cell; the
        /// fewer grid cells, the better.
        homes: usize,
    },
}

/// Treatment of atoms without a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// An error. So are atoms so far away (4 million cells) that `f32` cannot resolve their place in the cell.
    Refuse,
    /// Atoms whose coordinates are not finite have no neighbours.
    Skip,
}

/// Error for a position that cannot be placed in the cell: NaN, infinite, or so far away (4 million cells) that `f32`
/// cannot resolve its place in the cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Misplaced {
    /// 0 or 1 for the first or the second group.
    pub group: usize,
    /// Index of the atom.
    pub atom: usize,
}

/// Error of [`NeighbourSearch::place`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaceError {
    /// An atom cannot be placed.
    Misplaced(Misplaced),
    /// The system refused memory.
    Memory(NoMemory),
}

impl PlaceError {
    /// Returns the misplaced atom; ends the process if memory was refused.
    pub fn misplaced(self) -> Misplaced {
        match self {
            PlaceError::Misplaced(misplaced) => misplaced,
            PlaceError::Memory(refused) => refused.abort(),
        }
    }
}

impl From<NoMemory> for PlaceError {
    fn from(refused: NoMemory) -> Self {
        PlaceError::Memory(refused)
    }
}

/// Receives atoms together with their possible neighbours.
pub trait Visitor<C> {
    /// Receives the atoms of one grid cell.
    ///
    /// # Errors
    /// [`Stop`] ends the search.
    fn visit(&mut self, group: &Group<'_, C>) -> Result<(), Stop>;
}

/// Finds neighbours. Buffers are reused between calls.
#[derive(Clone, Debug, Default)]
pub struct NeighbourSearch<C> {
    set: InstructionSet,
    grid: Option<Grid>,
    placed: GriddedAtoms,
    marks: [Vec<bool>; 2],
    /// Home atoms; and the others, unless these are the same.
    sorted: [Sorted<C>; 2],
    is_one: bool,
    own_shifts: Vec<[C; 3]>,
}

/// Atoms of one grid cell, and access to their possible neighbours.
#[derive(Clone, Copy, Debug)]
pub struct Group<'a, C> {
    search: &'a NeighbourSearch<C>,
    grid: &'a Grid,
    place: [i64; 3],
    first: u32,
    end: u32,
}

impl<C: Coordinate> NeighbourSearch<C> {
    /// Returns a search that uses these instructions; [`Default`] uses the best.
    pub fn new(set: InstructionSet) -> Self {
        NeighbourSearch { set, ..Default::default() }
    }

    /// Returns the instructions.
    pub fn instructions(&self) -> InstructionSet {
        self.set
    }

    /// Places atoms on a grid for neighbours within `reach` (Å). Without a cell, there are no periodic images.
    ///
    /// # Errors
    /// [`PlaceError`]; of several misplaced atoms, the first one of the first group.
    ///
    /// # Panics
    /// If a listed index is not below the number of positions.
    pub fn place(
        &mut self,
        cell: Option<&Cell>,
        groups: Groups<'_>,
        reach: f64,
        fineness: Fineness,
        missing: Missing,
    ) -> Result<(), PlaceError> {
        let is_strict = missing == Missing::Refuse;
        let (atoms, homes) = match groups {
            Groups::One(atoms) => ([atoms, Atoms { listed: Some(&[]), ..atoms }], 0),
            Groups::Two { groups, homes } => (groups, homes),
        };
        self.is_one = matches!(groups, Groups::One(_));
        let few = usize::from(!self.is_one && atoms[1].len() < atoms[0].len());
        let holds_all = is_strict || self.is_one;
        let mut space = Space { cell, lengths: [0.0; 3], low: [0.0; 3], holds_all };
        let is_open = space.periodic() != PERIODIC;
        if is_open {
            let groups = if holds_all { &atoms[..] } else { &atoms[few..=few] };
            let (around, is_finite) = bounds_along(cell, groups);
            if is_strict && !is_finite {
                return Err(misplaced(None, atoms));
            }
            (space.lengths, space.low) = (around.lengths(), around.corner());
        }
        let n_atoms = atoms[0].len() + atoms[1].len();
        let grid = Grid::new(space, n_atoms, reach, fineness);
        let holds_homes =
            !is_open || (holds_all || homes == few) && !grid.is_exceeded_by(space.lengths);
        let is_shared = grid.repeats() || !holds_homes;
        let order = if self.is_one { &[0][..] } else { &[few, 1 - few] };
        for (at, &group) in order.iter().enumerate() {
            let marks = (at > 0).then_some(&self.marks[1][..]);
            let atoms_of = atoms[group];
            if !self.placed.place(self.set, &grid, atoms_of, marks, is_strict)? {
                return Err(misplaced(Some(&grid), atoms));
            }
            if order.len() > 1 && at == 0 {
                self.placed.mark_neighbours::<C>(&grid, &mut self.marks)?;
            }
            let is_home = self.is_one || group == homes;
            let sorted = &mut self.sorted[usize::from(!is_home)];
            sorted.sort(self.set, &grid, atoms_of.positions, &self.placed, is_home && is_shared)?;
        }
        self.own_shifts = grid.own_shifts();
        self.grid = Some(grid);
        Ok(())
    }

    /// Visits the placed atoms that have possible neighbours, and some that have none.
    ///
    /// # Errors
    /// [`NoMemory`] if the visitor stops for it.
    pub fn visit(&self, visitor: &mut impl Visitor<C>) -> Result<(), NoMemory> {
        match self.each_group(|group| visitor.visit(&group)) {
            Ok(()) | Err(Stop::Enough) => Ok(()),
            Err(Stop::Memory(refused)) => Err(refused),
        }
    }

    fn each_group(
        &self,
        mut each: impl FnMut(Group<'_, C>) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let Some(grid) = &self.grid else { return Ok(()) };
        let homes = &self.sorted[0];
        if !homes.spans.is_empty() {
            let mut first = 0;
            for span in &homes.spans {
                each(Group { search: self, grid, place: span.place, first, end: span.end })?;
                first = span.end;
            }
            return Ok(());
        }
        let mut place = [0; 3];
        for pair in homes.starts.windows(2) {
            let at = place;
            grid.advance(&mut place);
            if pair[0] < pair[1] {
                each(Group { search: self, grid, place: at, first: pair[0], end: pair[1] })?;
            }
        }
        Ok(())
    }

    /// Returns the atoms whose neighbours are visited.
    pub fn homes(&self) -> &Sorted<C> {
        &self.sorted[0]
    }

    /// Returns the atoms that are visited as neighbours.
    pub fn others(&self) -> &Sorted<C> {
        &self.sorted[usize::from(!self.is_one)]
    }
}

impl NeighbourSearch<Screened> {
    /// Returns bounds on squared distances of images for a distance (Å).
    #[inline]
    pub fn limits(&self, distance: f64) -> Limits {
        let slack = self.slack();
        let possible = (distance + slack).powi(2) * (1.0 + ROUGH_SLACK);
        let sure = (distance - slack).max(0.0).powi(2) * (1.0 - ROUGH_SLACK);
        // Squares beyond these are not accurate in f32.
        let is_accurate = distance > slack && (1e-30..1e37).contains(&sure);
        Limits {
            sure: if is_accurate { sure as f32 } else { -1.0 },
            possible: if possible < 1e-30 { 1e-30 } else { possible as f32 },
        }
    }

    /// Returns how far (Å) rounding to `f32` can move an image.
    pub fn slack(&self) -> f64 {
        self.grid.as_ref().map_or(0.0, Grid::slack)
    }
}

impl<'a, C: Coordinate> Group<'a, C> {
    /// Returns the atoms, as positions in [`NeighbourSearch::homes`].
    #[inline(always)]
    pub fn homes(&self) -> Range<usize> {
        self.first as usize..self.end as usize
    }

    /// Returns the search.
    #[inline(always)]
    pub fn search(&self) -> &'a NeighbourSearch<C> {
        self.search
    }

    /// Returns a box around the images of the atoms.
    #[inline]
    pub fn bounds(&self) -> Bounds<C> {
        Bounds::around(self.homes().map(|home| self.search.sorted[0].point(home)))
    }

    /// Returns the shifts by which the group sees itself: one, unless the cell is thin.
    pub(crate) fn own_shifts(&self) -> &'a [[C; 3]] {
        &self.search.own_shifts
    }

    /// Calls a function with rows of atoms, as ranges of [`NeighbourSearch::others`], which together are all that can be
    /// within reach, and with the shifts of their images that can. No atom comes twice; the nearest rows come first,
    /// roughly. `shifts` is a buffer.
    ///
    /// # Errors
    /// The error of the function.
    #[inline(always)]
    pub fn each_row(
        &self,
        shifts: &mut Vec<[C; 3]>,
        mut each: impl FnMut(Range<usize>, &[[C; 3]]) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let starts = &self.search.others().starts[..];
        self.grid.each_row(self.place, shifts, |cells, shifts| {
            let row = starts[cells.start] as usize..starts[cells.end] as usize;
            if row.is_empty() { Ok(()) } else { each(row, shifts) }
        })
    }
}

/// Bounds of squared distances of [`Screened`] images.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// A pair is certainly within the distance up to this; −1 if no pair certainly is.
    pub sure: f32,
    /// A pair is certainly not within the distance beyond this.
    pub possible: f32,
}

/// Returns a box around the finite positions of atoms along the directions of a grid, and whether all are finite.
fn bounds_along(cell: Option<&Cell>, groups: &[Atoms<'_>]) -> (Bounds<f64>, bool) {
    let points =
        groups.iter().flat_map(|group| group.indices().map(|atom| group.positions[atom as usize]));
    let mut is_finite = true;
    let finite = points.filter(|point| {
        let is_known = point.iter().all(|x| x.is_finite());
        is_finite &= is_known;
        is_known
    });
    let bounds = match cell {
        None => Bounds::around(finite).into(),
        Some(_) => {
            let directions = directions(cell);
            let along = |point: [f32; 3]| directions.map(|v| dot(v, point.map(f64::from)));
            Bounds::around(finite.map(along))
        }
    };
    (bounds, is_finite)
}

/// Returns the first atom of the first group that has no place.
#[cold]
fn misplaced(grid: Option<&Grid>, groups: [Atoms<'_>; 2]) -> PlaceError {
    for (group, atoms) in groups.into_iter().enumerate() {
        let is_placed = |atom: u32| {
            let position: [f32; 3] = atoms.positions[atom as usize];
            grid.map_or(position.iter().all(|x| x.is_finite()), |grid| has_place(grid, position))
        };
        if let Some(atom) = atoms.indices().find(|&atom| !is_placed(atom)) {
            return PlaceError::Misplaced(Misplaced { group, atom: atom as usize });
        }
    }
    unreachable!("one was found")
}

/// Returns the squared distance (Å²) of two positions, that of the nearest images if there is a cell.
#[inline]
pub fn square_between(cell: Option<&Cell>, a: [f32; 3], b: [f32; 3]) -> f64 {
    let (a, b): (Vector, Vector) = (a.map(f64::from), b.map(f64::from));
    match cell {
        Some(cell) => cell.distance_squared(a, b),
        None => {
            let d = [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
            d[0] * d[0] + d[1] * d[1] + d[2] * d[2]
        }
    }
}

#[cfg(test)]
mod tests;
