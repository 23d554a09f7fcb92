//! Atoms sorted by their grid cells, and the atoms near those of each grid cell.

use trajet_kernels::cell::Cell;

use super::grid::{BLOCK, Grid, NeighbourMemory};
use super::near::{Bounds, Near, Points};
use crate::Fault;
use crate::error::reserve;

/// Asserts that a search is possible.
pub(super) fn check(positions: &[[f32; 3]], distance: f64) {
    assert!(distance >= 0.0 && distance.is_finite(), "a distance of {distance}");
    assert!(i32::try_from(positions.len()).is_ok(), "{} atoms", positions.len());
}

/// Returns the lengths of the box around the atoms if there is no cell.
pub(super) fn lengths(positions: &[[f32; 3]], atoms: &[u32], cell: Option<&Cell>) -> [f64; 3] {
    if cell.is_some() {
        return [0.0; 3];
    }
    let points = atoms.iter().map(|&atom| positions[atom as usize]);
    Bounds::around(points.filter(|point| point.iter().all(|x| x.is_finite()))).lengths()
}

/// Atoms and the numbers of their grid cells.
pub(super) struct Placed {
    pub(super) atoms: Vec<(u32, u32)>,
}

impl Placed {
    /// Returns the grid cells of atoms with finite positions; of those only that are in marked grid cells.
    pub(super) fn new(
        grid: &Grid<'_>,
        positions: &[[f32; 3]],
        atoms: &[u32],
        marks: Option<&[bool]>,
    ) -> Result<Self, Fault> {
        let mut placed = Vec::new();
        if marks.is_none() {
            reserve(&mut placed, atoms.len(), "a grid")?;
        }
        for block in atoms.chunks(BLOCK) {
            let numbers = grid.numbers(positions, block);
            reserve(&mut placed, block.len(), "a grid")?;
            for (&atom, &number) in block.iter().zip(&numbers) {
                if number >= 0 && marks.is_none_or(|marks| marks[number as usize]) {
                    placed.push((atom, number as u32));
                }
            }
        }
        Ok(Placed { atoms: placed })
    }

    /// Returns for each grid cell whether it or a neighbour has any of the atoms.
    pub(super) fn mark_neighbours(&self, grid: &Grid<'_>) -> Result<Vec<bool>, Fault> {
        let (mut own, mut close) = (Vec::new(), Vec::new());
        for marks in [&mut own, &mut close] {
            reserve(marks, grid.len(), "a grid")?;
            marks.resize(grid.len(), false);
        }
        for &(_, number) in &self.atoms {
            if !std::mem::replace(&mut own[number as usize], true) {
                grid.mark_neighbours(number as usize, &mut close);
            }
        }
        Ok(close)
    }
}

/// Atoms sorted by their grid cells.
pub(super) struct Sorted {
    /// Where the atoms of each grid cell begin; one more than there are cells.
    pub(super) starts: Vec<u32>,
    pub(super) atoms: Vec<u32>,
    /// The images of these atoms within the box.
    pub(super) points: Points,
}

impl Sorted {
    pub(super) fn new(
        grid: &Grid<'_>,
        positions: &[[f32; 3]],
        placed: &Placed,
    ) -> Result<Self, Fault> {
        let placed = &placed.atoms;
        let mut starts = Vec::new();
        reserve(&mut starts, grid.len() + 2, "a grid")?;
        starts.resize(grid.len() + 2, 0_u32);
        for &(_, number) in placed {
            starts[number as usize + 2] += 1;
        }
        for number in 2..starts.len() {
            starts[number] += starts[number - 1];
        }
        let mut atoms = Vec::new();
        reserve(&mut atoms, placed.len(), "a grid")?;
        atoms.resize(placed.len(), 0_u32);
        let mut points = Points::infinite(placed.len())?;
        for &(atom, number) in placed {
            // Until all atoms have their places, this is where the next one of the cell goes.
            let slot = &mut starts[number as usize + 1];
            atoms[*slot as usize] = atom;
            *slot += 1;
        }
        grid.images(positions, &atoms, &mut points.axes);
        starts.pop();
        Ok(Sorted { starts, atoms, points })
    }
}

/// Calls a function with groups of `homes` in one place, given by their places in the list, and with the `others` near
/// them, until it returns `false`. If all of a group are certainly near, and that is enough, the third argument is true.
pub(super) fn each_group(
    grid: &Grid<'_>,
    positions: &[[f32; 3]],
    homes: &Sorted,
    others: &Sorted,
    is_any_enough: bool,
    mut each: impl FnMut(&[u32], &Near, bool) -> Result<bool, Fault>,
) -> Result<(), Fault> {
    let (mut near, mut memory) = (Near::default(), NeighbourMemory::default());
    let (mut rest, mut group) = (Vec::new(), Vec::new());
    for number in 0..grid.len() {
        let (first, end) = (homes.starts[number], homes.starts[number + 1]);
        if first == end {
            continue;
        }
        rest.clear();
        reserve(&mut rest, (end - first) as usize, "a grid")?;
        rest.extend(first..end);
        let place = grid.place_of(number);
        while let Some(&home) = rest.first() {
            let repetition_of =
                |home: u32| grid.repetition(positions[homes.atoms[home as usize] as usize]);
            let repetition = if grid.repeats_itself() { repetition_of(home) } else { [0.0; 3] };
            group.clear();
            if grid.repeats_itself() {
                reserve(&mut group, rest.len(), "a grid")?;
                rest.retain(|&home| {
                    let is_here = repetition_of(home) == repetition;
                    if is_here {
                        group.push(home);
                    }
                    !is_here
                });
            } else {
                std::mem::swap(&mut group, &mut rest);
            }
            let bounds = Bounds::around(group.iter().map(|&home| homes.points.get(home as usize)));
            let mut all = Ok(false);
            near.clear();
            grid.neighbours(place, repetition, is_any_enough, &mut memory, |cells, shift| {
                let range = others.starts[cells.start] as usize..others.starts[cells.end] as usize;
                if range.is_empty() {
                    return true;
                }
                if grid.has_all_images() {
                    all = near.append_all(&others.atoms[range]).map(|()| false);
                    return all.is_ok();
                }
                let listed = (&others.points, &others.atoms[..]);
                all = near.append_within(grid.set, listed, range, shift, &bounds, grid.limits);
                !matches!(all, Ok(true) if is_any_enough) && all.is_ok()
            });
            let all = all? && is_any_enough;
            near.finish()?;
            if !each(&group, &near, all)? {
                return Ok(());
            }
        }
    }
    Ok(())
}
