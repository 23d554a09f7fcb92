//! Makes molecules whole.

use trajet_simd::{InstructionSet, multiversion};

use super::shift::{is_countable, move_atom};
use super::trees::BondTrees;
use crate::cell::{Cell, Vector, minus, square};

/// Number of bonds that are looked at together.
const CHUNK: usize = 16;
/// Relative excess of a squared bond over the square of its nearest image that is rounding.
const ROUNDING: f64 = 1e-9;

/// Buffers of [`make_whole`], reused between frames.
#[derive(Clone, Debug, Default)]
pub struct WholeMemory {
    /// Shifts of the atoms of one molecule, by column.
    shifts: Vec<Vector>,
}

/// Makes molecules whole: moves each atom to the image nearest to the atom that it is bonded to, in cells of every
/// shape. The lowest column of each molecule stays where it is. A molecule with a closing bond that then is not its
/// nearest image is bonded to its own image, and keeps its positions. Returns the number of such endless molecules.
///
/// # Panics
/// If the number of positions is not that of the columns of `trees`.
pub fn make_whole(
    cell: &Cell,
    trees: &BondTrees,
    positions: &mut [[f32; 3]],
    memory: &mut WholeMemory,
) -> usize {
    make_whole_on(InstructionSet::default(), cell, trees, positions, memory)
}

multiversion! {
    pub(super) fn make_whole_on(
        cell: &Cell,
        trees: &BondTrees,
        positions: &mut [[f32; 3]],
        memory: &mut WholeMemory,
    ) -> usize = make_whole_of
}

#[inline(always)]
fn make_whole_of(
    cell: &Cell,
    trees: &BondTrees,
    positions: &mut [[f32; 3]],
    memory: &mut WholeMemory,
) -> usize {
    assert_eq!(positions.len(), trees.n_columns(), "one position per column");
    memory.shifts.resize(positions.len(), [0.0; 3]);
    let short = cell.surely_shortest_f32();
    let starts = trees.starts();
    let (mut molecule, mut n_endless) = (0, 0);
    for (chunk, bonds) in trees.bonds().chunks(CHUNK).enumerate() {
        if bonds.iter().all(|&bond| is_short(positions, bond, short)) {
            continue;
        }
        // The molecules that the chunk has bonds of, and that were not looked at yet.
        let begin = chunk * CHUNK;
        molecule = molecule.max(starts.partition_point(|&start| start <= begin) - 1);
        while molecule < trees.n_molecules() && starts[molecule] < begin + bonds.len() {
            n_endless +=
                usize::from(!is_made_whole(cell, short, trees, molecule, positions, memory));
            molecule += 1;
        }
    }
    n_endless
}

/// Makes one molecule whole, or returns `false` if it is endless.
#[inline(always)]
fn is_made_whole(
    cell: &Cell,
    short: f32,
    trees: &BondTrees,
    molecule: usize,
    positions: &mut [[f32; 3]],
    memory: &mut WholeMemory,
) -> bool {
    let (tree, closures) = trees.molecule(molecule);
    let shifts = &mut memory.shifts;
    shifts[tree[0][0] as usize] = [0.0; 3];
    let mut is_moved = false;
    for &[parent, child] in tree {
        let mut shift = shifts[parent as usize];
        if !is_short(positions, [parent, child], short) {
            let by = cell.shift_to_shortest(difference(positions, [parent, child]));
            if is_countable(by) {
                shift = [0, 1, 2].map(|k| shift[k] + by[k]);
            }
        }
        is_moved |= shift != [0.0; 3];
        shifts[child as usize] = shift;
    }
    for &[a, b] in closures {
        let apart = minus(shifts[b as usize], shifts[a as usize]);
        if apart == [0.0; 3] && is_short(positions, [a, b], short) {
            continue;
        }
        // Two images at the same distance are both nearest.
        let d = difference(positions, [a, b]);
        let length = |by: Vector| {
            let by = cell.lattice_vector(by);
            square([0, 1, 2].map(|k| d[k] + by[k]))
        };
        let nearest = cell.shift_to_shortest(d);
        if nearest != apart && length(apart) > length(nearest) * (1.0 + ROUNDING) {
            return false;
        }
    }
    if is_moved {
        for &[_, child] in tree {
            let shift = shifts[child as usize];
            if shift != [0.0; 3] {
                move_atom(&mut positions[child as usize], cell.lattice_vector(shift));
            }
        }
    }
    true
}

/// Returns the position of the second column of a bond relative to that of the first.
#[inline(always)]
fn difference(positions: &[[f32; 3]], [from, to]: [u32; 2]) -> Vector {
    minus(positions[to as usize].map(f64::from), positions[from as usize].map(f64::from))
}

/// Returns whether a bond is certainly at its nearest image; `short` is [`Cell::surely_shortest_f32`].
#[inline(always)]
fn is_short(positions: &[[f32; 3]], [from, to]: [u32; 2], short: f32) -> bool {
    let (a, b) = (positions[from as usize], positions[to as usize]);
    let [x, y, z] = [b[0] - a[0], b[1] - a[1], b[2] - a[2]];
    x * x + y * y + z * z < short
}
