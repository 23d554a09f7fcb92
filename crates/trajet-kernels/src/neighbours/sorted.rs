//! Atoms sorted by their grid cells.

use trajet_simd::InstructionSet;

use super::blocks::{Axes, BLOCK, Images, have_places, numbers_of_block};
use super::grid::Grid;
use super::number::Number;
use crate::cell::Vector;
use crate::memory::{NoMemory, reserve};

/// Atoms to search.
#[derive(Clone, Copy, Debug)]
pub struct Atoms<'a> {
    /// Positions (Å).
    pub positions: &'a [[f32; 3]],
    /// The indices of the atoms; `None` for all positions.
    pub listed: Option<&'a [u32]>,
}

impl<'a> Atoms<'a> {
    /// Returns all atoms with a position.
    pub fn all(positions: &'a [[f32; 3]]) -> Self {
        Atoms { positions, listed: None }
    }

    /// Returns the number of atoms.
    pub(super) fn len(&self) -> usize {
        self.listed.map_or(self.positions.len(), <[u32]>::len)
    }

    /// Returns the indices of the atoms.
    pub(super) fn indices(self) -> impl Iterator<Item = u32> {
        let listed = self.listed.unwrap_or_default().iter().copied();
        listed.chain(0..if self.listed.is_some() { 0 } else { self.positions.len() as u32 })
    }
}

/// Number of atoms that are compared together.
pub const LANES: usize = 16;

/// A box around points.
#[derive(Clone, Copy, Debug)]
pub struct Bounds<C> {
    pub(super) low: [C; 3],
    pub(super) high: [C; 3],
}

impl<C: Number> Bounds<C> {
    /// Returns the box around points; one without any is empty.
    #[inline]
    pub(super) fn around(points: impl Iterator<Item = [C; 3]>) -> Self {
        let (mut low, mut high) = ([C::INFINITY; 3], [C::ZERO - C::INFINITY; 3]);
        points.for_each(|point| {
            for k in 0..3 {
                low[k] = if point[k] < low[k] { point[k] } else { low[k] };
                high[k] = if point[k] > high[k] { point[k] } else { high[k] };
            }
        });
        Bounds { low, high }
    }
}

impl Bounds<f64> {
    /// Returns the lengths of the box; zero if it is empty.
    pub(super) fn lengths(&self) -> Vector {
        [0, 1, 2].map(|k| (self.high[k] - self.low[k]).max(0.0))
    }

    /// Returns the lowest corner; zero if the box is empty.
    pub(super) fn corner(&self) -> Vector {
        self.low.map(|x| if x.is_finite() { x } else { 0.0 })
    }
}

impl From<Bounds<f32>> for Bounds<f64> {
    fn from(Bounds { low, high }: Bounds<f32>) -> Self {
        Bounds { low: low.map(f64::from), high: high.map(f64::from) }
    }
}

/// Atoms and the numbers of their grid cells.
#[derive(Clone, Debug, Default)]
pub(super) struct GriddedAtoms {
    pub(super) atoms: Vec<(u32, u32)>,
}

impl GriddedAtoms {
    /// Places atoms with finite positions; if there are marks, of these only the ones in marked grid cells. Returns false
    /// if `is_strict` and an atom has no place.
    pub(super) fn place(
        &mut self,
        set: InstructionSet,
        grid: &Grid,
        atoms: Atoms<'_>,
        marks: Option<&[bool]>,
        is_strict: bool,
    ) -> Result<bool, NoMemory> {
        self.atoms.clear();
        if marks.is_none() {
            reserve(&mut self.atoms, atoms.len(), "a grid")?;
        }
        let (mut axes, mut numbers) = ([[0.0; BLOCK]; 3], [0; BLOCK]);
        for first in (0..atoms.len()).step_by(BLOCK) {
            let length = (atoms.len() - first).min(BLOCK);
            reserve(&mut self.atoms, length, "a grid")?;
            let mut add = |atom: u32, number: i32| {
                if number >= 0 && marks.is_none_or(|marks| marks[number as usize]) {
                    self.atoms.push((atom, number as u32));
                }
            };
            let is_placed = |axes: &Axes<f32>| !is_strict || have_places(set, grid, axes);
            match atoms.listed {
                Some(listed) => {
                    let listed = &listed[first..first + length];
                    gather(&mut axes, atoms.positions, listed.iter().copied());
                    if !is_placed(&axes) {
                        return Ok(false);
                    }
                    numbers_of_block(set, grid, &axes, &mut numbers);
                    listed.iter().zip(&numbers).for_each(|(&atom, &number)| add(atom, number));
                }
                None => {
                    let first = first as u32;
                    gather(&mut axes, atoms.positions, first..first + length as u32);
                    if !is_placed(&axes) {
                        return Ok(false);
                    }
                    numbers_of_block(set, grid, &axes, &mut numbers);
                    (first..).zip(&numbers[..length]).for_each(|(atom, &number)| add(atom, number));
                }
            }
        }
        Ok(true)
    }

    /// Marks the grid cells that have one of the atoms, or a neighbour that has.
    pub(super) fn mark_neighbours<C: Number>(
        &self,
        grid: &Grid,
        marks: &mut [Vec<bool>; 2],
    ) -> Result<(), NoMemory> {
        let [own, close] = marks;
        for marks in [&mut *own, &mut *close] {
            marks.clear();
            reserve(marks, grid.len(), "a grid")?;
            marks.resize(grid.len(), false);
        }
        let mut shifts = Vec::<[C; 3]>::new();
        for &(_, number) in &self.atoms {
            if std::mem::replace(&mut own[number as usize], true) {
                continue;
            }
            // Which repetition of the table it is does not matter.
            let place = grid.place_of(number as usize);
            let marked = grid.each_row(place, &mut shifts, |cells, _| {
                close[cells].fill(true);
                Ok(())
            });
            marked.expect("nothing stops it");
        }
        Ok(())
    }
}

/// Copies the coordinates of at most a block of atoms.
#[inline(always)]
fn gather(axes: &mut Axes<f32>, positions: &[[f32; 3]], atoms: impl Iterator<Item = u32>) {
    for (lane, atom) in atoms.enumerate() {
        let [x, y, z] = positions[atom as usize];
        (axes[0][lane], axes[1][lane], axes[2][lane]) = (x, y, z);
    }
}

/// Neighbouring atoms of the sorted ones that are in one place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) end: u32,
    pub(super) place: [i64; 3],
}

/// Atoms sorted by their grid cells, and within these by their place if the table repeats itself.
#[derive(Clone, Debug, Default)]
pub struct Sorted<C> {
    /// Index in `atoms` of the first atom of each grid cell, then the number of atoms.
    pub(super) starts: Vec<u32>,
    pub(super) atoms: Vec<u32>,
    /// The images of these atoms within the unit cell; [`LANES`] infinite ones follow.
    pub(super) axes: [Vec<C>; 3],
    /// The atoms of each place, if several places share grid cells.
    pub(super) spans: Vec<Span>,
}

impl<C: Images> Sorted<C> {
    /// Sorts atoms; `is_shared` states whether several places share grid cells.
    pub(super) fn sort(
        &mut self,
        set: InstructionSet,
        grid: &Grid,
        positions: &[[f32; 3]],
        placed: &GriddedAtoms,
        is_shared: bool,
    ) -> Result<(), NoMemory> {
        let Sorted { starts, atoms, axes, spans } = self;
        let placed = &placed.atoms;
        starts.clear();
        reserve(starts, grid.len() + 2, "a grid")?;
        starts.resize(grid.len() + 2, 0);
        for &(_, number) in placed {
            starts[number as usize + 2] += 1;
        }
        for number in 2..starts.len() {
            starts[number] += starts[number - 1];
        }
        let n = placed.len();
        reserve(atoms, n.saturating_sub(atoms.len()), "a grid")?;
        atoms.resize(n, 0);
        for &(atom, number) in placed {
            // Until all atoms have their places, this is where the next one of the cell goes.
            let slot = &mut starts[number as usize + 1];
            atoms[*slot as usize] = atom;
            *slot += 1;
        }
        starts.pop();
        spans.clear();
        if is_shared {
            reserve(spans, n, "a grid")?;
            for number in 0..grid.len() {
                let (start, end) = (starts[number] as usize, starts[number + 1] as usize);
                add_spans(grid, positions, number, start, &mut atoms[start..end], spans);
            }
        }
        for axis in &mut *axes {
            reserve(axis, (n + LANES).saturating_sub(axis.len()), "a grid")?;
            axis.resize(n + LANES, C::INFINITY);
            axis[n..].fill(C::INFINITY);
        }
        let (mut block, mut images) = ([[0.0; BLOCK]; 3], [[C::ZERO; BLOCK]; 3]);
        for (k, atoms) in atoms.chunks(BLOCK).enumerate() {
            gather(&mut block, positions, atoms.iter().copied());
            C::images(set, grid, &block, &mut images);
            for (axis, images) in axes.iter_mut().zip(&images) {
                axis[k * BLOCK..][..atoms.len()].copy_from_slice(&images[..atoms.len()]);
            }
        }
        Ok(())
    }
}

impl<C: Copy> Sorted<C> {
    /// Returns the atoms, in the order of their grid cells.
    pub fn atoms(&self) -> &[u32] {
        &self.atoms
    }

    /// Returns the images of the atoms within the unit cell, in the same order, one array for each axis; [`LANES`] infinite
    /// coordinates follow.
    pub fn axes(&self) -> [&[C]; 3] {
        self.axes.each_ref().map(|axis| &axis[..])
    }

    /// Returns one of these images.
    #[inline(always)]
    pub fn point(&self, at: usize) -> [C; 3] {
        [self.axes[0][at], self.axes[1][at], self.axes[2][at]]
    }
}

/// Appends the spans of the atoms in a grid cell, which are put in their order. The first one has this number.
fn add_spans(
    grid: &Grid,
    positions: &[[f32; 3]],
    number: usize,
    first: usize,
    atoms: &mut [u32],
    spans: &mut Vec<Span>,
) {
    let repetition = |atom: u32| grid.repetition(positions[atom as usize]);
    let [head, ..] = *atoms else { return };
    let place = grid.place_of(number);
    let of_head = repetition(head);
    if atoms[1..].iter().all(|&atom| repetition(atom) == of_head) {
        let end = (first + atoms.len()) as u32;
        spans.push(Span { end, place: grid.place_in(of_head, place) });
        return;
    }
    atoms.sort_by(|&a, &b| {
        let [a, b] = [a, b].map(repetition);
        let order = |k: usize| a[k].total_cmp(&b[k]);
        order(0).then_with(|| order(1)).then_with(|| order(2))
    });
    let mut end = first as u32;
    for atoms in atoms.chunk_by(|&a, &b| repetition(a) == repetition(b)) {
        end += atoms.len() as u32;
        spans.push(Span { end, place: grid.place_in(repetition(atoms[0]), place) });
    }
}
