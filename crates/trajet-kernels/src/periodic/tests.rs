//! Laws of the kernels of periodic boundaries, in random cells.

mod atom_jumps;
mod jumps;
mod shifts;
mod whole;
mod wrap;

use proptest::prelude::*;
use proptest::sample::Index;

use super::*;
use crate::cell::tests::cells;
use crate::cell::{Basis, Cell, Vector, minus, square};
use crate::cell::{PERIODIC, Periodic};

/// Relative rounding of a vector of three `f32` coordinates.
const ROUNDING: f64 = 1.1e-7;

/// An atom of a random system: the atom it hangs on, the direction and the length of the bond as parts of the longest,
/// the lattice vector by which it is displaced, and whether it begins a molecule.
type Atom = (Index, Vector, f64, [i32; 3], bool);

/// Molecules of which all bonds are short, with their atoms displaced by lattice vectors.
#[derive(Clone, Debug)]
struct System {
    cell: Cell,
    bonds: Vec<[u32; 2]>,
    /// The molecule of each atom.
    molecules: Vec<usize>,
    /// Positions of whole molecules.
    whole: Vec<Vector>,
    /// The same positions displaced and rounded.
    broken: Vec<[f32; 3]>,
    /// Rounding of these positions (Å).
    rounding: f64,
}

impl System {
    fn trees(&self) -> BondTrees {
        BondTrees::new(self.broken.len(), &self.bonds)
    }

    /// The atoms of each molecule.
    fn groups(&self) -> Groups {
        groups_of(&self.molecules)
    }
}

/// Groups of columns with the same label, in the order of the labels.
fn groups_of(labels: &[usize]) -> Groups {
    let mut groups = Groups { starts: vec![0], members: Vec::new() };
    for label in 0..labels.iter().map(|label| label + 1).max().unwrap_or(0) {
        groups.members.extend((0..labels.len() as u32).filter(|&c| labels[c as usize] == label));
        groups.starts.push(groups.members.len() as u32);
    }
    groups
}

/// Cells of all shapes, half of them turned out of the usual orientation, and half of them not periodic in some
/// directions.
fn all_cells() -> impl Strategy<Value = Cell> {
    let periodic = prop_oneof![Just(PERIODIC), any::<Periodic>()];
    (cells(), any::<bool>(), periodic).prop_map(|(numbers, is_turned, periodic)| {
        let vectors = *Cell::new(numbers).unwrap().vectors();
        let turned = vectors.map(|[x, y, z]| [z, 0.6 * x - 0.8 * y, 0.8 * x + 0.6 * y]);
        let vectors = if is_turned { turned } else { vectors };
        Cell::with_boundaries(vectors, periodic).unwrap()
    })
}

/// Returns the least distance of planes of the lattice, or of faces if there is no lattice.
fn smallest_height(cell: &Cell) -> f64 {
    let lattice = Basis::of_lattice(*cell.reduced(), cell.reduced_periodic());
    let heights = if cell.periodic() == [false; 3] { cell.heights() } else { lattice.heights() };
    heights.into_iter().fold(f64::INFINITY, f64::min)
}

/// Returns a lattice vector: steps along vectors that are not periodic are left out.
fn lattice_vector(cell: &Cell, whole: [i32; 3]) -> Vector {
    let periodic = cell.periodic().map(i32::from);
    cell.lattice_vector([0, 1, 2].map(|k| f64::from(whole[k] * periodic[k])))
}

fn atoms() -> impl Strategy<Value = Vec<Atom>> {
    let direction = prop::array::uniform3(-1.0..1.0f64);
    let shift = prop::array::uniform3(-2..=2i32);
    let atom = (any::<Index>(), direction, 0.05..0.9f64, shift, prop::bool::weighted(0.1));
    prop::collection::vec(atom, 1..70)
}

/// Systems of molecules in random cells: chains longer than the cell, rings, atoms without bonds; the order of the
/// columns and of the bonds is random.
fn systems(cell: impl Strategy<Value = Cell>) -> impl Strategy<Value = System> {
    let inputs = (cell, atoms(), any::<u64>());
    inputs.prop_filter_map("f32 resolves the bonds", |(cell, atoms, seed)| {
        let longest = smallest_height(&cell) / 2.0;
        let n = atoms.len();
        // A permutation of the columns.
        let mut columns: Vec<u32> = (0..n as u32).collect();
        let key = |c: &u32| (u64::from(*c) + 1).wrapping_mul(seed | 1).rotate_left(23) ^ seed;
        columns.sort_by_key(key);
        let (mut whole, mut molecules) = (vec![[0.0; 3]; n], vec![0; n]);
        let mut bonds: Vec<[u32; 2]> = vec![[columns[0]; 2]];
        let mut first = 0;
        for (k, (parent, direction, part, _, is_first)) in atoms.iter().enumerate() {
            let column = columns[k] as usize;
            let length = square(*direction).sqrt().max(1e-3);
            let along = direction.map(|x| x / length);
            if k == 0 || *is_first {
                first = k;
                whole[column] = cell.lattice_vector(direction.map(f64::abs));
                molecules[column] = molecules.iter().max().unwrap() + usize::from(k > 0);
                continue;
            }
            let parent = columns[first + parent.index(k - first)];
            let at = whole[parent as usize];
            whole[column] = [0, 1, 2].map(|x| at[x] + along[x] * part * longest);
            molecules[column] = molecules[parent as usize];
            bonds.push([parent, column as u32]);
        }
        // Rings: all pairs that are as near as bonded ones may be.
        for a in 0..n {
            for b in 0..a {
                let distance = square(minus(whole[a], whole[b])).sqrt();
                if molecules[a] == molecules[b] && distance < 0.9 * longest && (a + b) % 3 == 0 {
                    bonds.push([a as u32, b as u32]);
                }
            }
        }
        bonds.sort_by_key(|[a, b]| key(a) ^ key(b));
        let displaced: Vec<Vector> = (0..n)
            .map(|k| {
                let by = lattice_vector(&cell, atoms[k].3);
                [0, 1, 2].map(|x| whole[k][x] + by[x])
            })
            .collect();
        let size = |points: &[Vector]| points.iter().map(|p| square(*p).sqrt()).fold(0.0, f64::max);
        let rounding = ROUNDING * size(&whole).max(size(&displaced));
        let broken = displaced.iter().map(|p| p.map(|x| x as f32)).collect();
        let system = System { cell, bonds, molecules, whole, broken, rounding };
        (rounding < 0.01 * longest).then_some(system)
    })
}

fn exact(position: [f32; 3]) -> Vector {
    position.map(f64::from)
}

fn distance(a: Vector, b: Vector) -> f64 {
    square(minus(a, b)).sqrt()
}

/// Returns whether atoms were moved by whole lattice vectors, and others kept their bits.
fn are_images(cell: &Cell, before: &[[f32; 3]], after: &[[f32; 3]]) -> bool {
    before.iter().zip(after).all(|(&before, &after)| {
        let moved = minus(exact(after), exact(before));
        let whole = cell.fractional(moved).map(f64::round);
        let by = cell.lattice_vector(whole);
        let new = [0, 1, 2].map(|k| (exact(before)[k] + by[k]) as f32);
        if whole == [0.0; 3] {
            before.map(f32::to_bits) == after.map(f32::to_bits)
        } else {
            new == after
        }
    })
}

/// Returns the largest change of a minimum-image distance between two atoms.
fn change_of_distances(cell: &Cell, before: &[[f32; 3]], after: &[[f32; 3]]) -> f64 {
    let mut largest = 0.0f64;
    for i in 0..before.len() {
        for j in 0..i {
            let [was, is] = [before, after].map(|positions| {
                cell.distance_squared(exact(positions[i]), exact(positions[j])).sqrt()
            });
            largest = largest.max((was - is).abs());
        }
    }
    largest
}
