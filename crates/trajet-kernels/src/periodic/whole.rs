//! Makes molecules whole.

use trajet_simd::{InstructionSet, multiversion};

use super::shift::{Unplaced, is_countable, move_atom, unplaced};
use super::trees::BondTrees;
use crate::cell::{Cell, Vector, minus, square};

/// Number of bonds that are looked at together.
const CHUNK: usize = 16;
/// Relative excess of a squared bond over the square of its nearest image that is rounding.
const ROUNDING: f64 = 1e-9;

/// Buffers of [`make_whole`], reused between frames.
#[derive(Clone, Debug, Default)]
pub struct WholeMemory {
    /// The shift of each atom of a molecule, by column, as its index in `shifts`. All are zero between molecules.
    shift_of: Vec<u32>,
    /// The shifts of a molecule; the first one is none.
    shifts: Vec<Vector>,
}

/// Outcome of making molecules whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MadeWhole {
    /// Number of infinite molecules, which keep their positions.
    pub infinite: usize,
    /// An atom that could not be placed next to the one that it is bonded to: that molecule may stay broken.
    pub unplaced: Unplaced,
}

/// Makes molecules whole: moves each atom to the image nearest to the atom that it is bonded to, in cells of every
/// shape. The lowest column of each molecule stays where it is. A molecule with a closing bond that then is not its
/// nearest image is bonded to its own image, and keeps its positions: it is infinite.
///
/// # Panics
/// If the number of positions is not that of the columns of `trees`.
pub fn make_whole(
    cell: &Cell,
    trees: &BondTrees,
    positions: &mut [[f32; 3]],
    memory: &mut WholeMemory,
) -> MadeWhole {
    make_whole_on(InstructionSet::default(), cell, trees, positions, memory)
}

multiversion! {
    pub(super) fn make_whole_on(
        cell: &Cell,
        trees: &BondTrees,
        positions: &mut [[f32; 3]],
        memory: &mut WholeMemory,
    ) -> MadeWhole = make_whole_of
}

#[inline(always)]
fn make_whole_of(
    cell: &Cell,
    trees: &BondTrees,
    positions: &mut [[f32; 3]],
    memory: &mut WholeMemory,
) -> MadeWhole {
    assert_eq!(positions.len(), trees.n_columns(), "one position per column");
    memory.shift_of.resize(positions.len(), 0);
    let short = cell.surely_shortest_f32();
    let (bonds, starts) = (trees.bonds(), trees.starts());
    let (mut begin, mut made) = (0, MadeWhole::default());
    while begin < bonds.len() {
        let end = bonds.len().min(begin + CHUNK);
        if bonds[begin..end].iter().all(|&bond| is_short(positions, bond, short)) {
            begin = end;
            continue;
        }
        // The molecules that the chunk has bonds of; those before `begin` are short.
        let mut molecule = starts.partition_point(|&start| start <= begin) - 1;
        while starts[molecule] < end {
            let from = begin.saturating_sub(starts[molecule]);
            let of_molecule =
                make_molecule(cell, short, trees, (molecule, from), positions, memory);
            made.infinite += of_molecule.infinite;
            made.unplaced = made.unplaced.or(of_molecule.unplaced);
            molecule += 1;
        }
        begin = starts[molecule];
    }
    made
}

/// Makes one molecule whole, unless it is infinite. Its bonds before `from` are short.
#[inline(always)]
fn make_molecule(
    cell: &Cell,
    short: f32,
    trees: &BondTrees,
    (molecule, from): (usize, usize),
    positions: &mut [[f32; 3]],
    memory: &mut WholeMemory,
) -> MadeWhole {
    let (tree, closures) = trees.molecule(molecule);
    let tree = &tree[from.min(tree.len())..];
    let WholeMemory { shift_of, shifts } = memory;
    shifts.clear();
    shifts.push([0.0; 3]);
    let mut is_placed = true;
    for &[parent, child] in tree {
        let mut place = shift_of[parent as usize];
        if !is_short(positions, [parent, child], short) {
            let by = cell.shift_to_shortest(difference(positions, [parent, child]));
            if !is_countable(by) {
                is_placed = false;
            } else if by != [0.0; 3] {
                let shift = [0, 1, 2].map(|k| shifts[place as usize][k] + by[k]);
                place = place_of(shift, shifts);
            }
        }
        shift_of[child as usize] = place;
    }
    for &[a, b] in closures {
        let [from, to] = [a, b].map(|column| shift_of[column as usize] as usize);
        let apart = minus(shifts[to], shifts[from]);
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
            tree.iter().for_each(|&[_, child]| shift_of[child as usize] = 0);
            // An atom without position makes any ring of bonds look infinite.
            let unplaced = if is_placed { None } else { unplaced_of(tree, positions) };
            return MadeWhole { infinite: usize::from(unplaced.is_none()), unplaced };
        }
    }
    if shifts.len() > 1 {
        shifts.iter_mut().for_each(|shift| *shift = cell.lattice_vector(*shift));
        for &[_, child] in tree {
            let place = std::mem::take(&mut shift_of[child as usize]);
            if place != 0 {
                is_placed &= move_atom(&mut positions[child as usize], shifts[place as usize]);
            }
        }
    }
    MadeWhole { infinite: 0, unplaced: if is_placed { None } else { unplaced_of(tree, positions) } }
}

/// Returns an atom of a molecule that could not be placed; see [`unplaced`].
#[cold]
fn unplaced_of(tree: &[[u32; 2]], positions: &[[f32; 3]]) -> Unplaced {
    let columns: Vec<u32> = tree.iter().flatten().copied().collect();
    unplaced(&columns, positions)
}

/// The last shifts among which an equal one is looked for.
const RECENT: usize = 4;

/// Returns the index of a shift, which is added unless it is none or one of the last ones.
fn place_of(shift: Vector, shifts: &mut Vec<Vector>) -> u32 {
    if shift == [0.0; 3] {
        return 0;
    }
    let recent = shifts.len().saturating_sub(RECENT);
    if let Some(place) = shifts[recent..].iter().position(|&one| one == shift) {
        return (recent + place) as u32;
    }
    shifts.push(shift);
    shifts.len() as u32 - 1
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
