use super::*;
use crate::reference;

/// Makes a system whole, twice with the same memory, and returns the positions and the number of infinite molecules.
fn made_whole(cell: &Cell, trees: &BondTrees, broken: &[[f32; 3]]) -> (Vec<[f32; 3]>, usize) {
    let mut memory = WholeMemory::default();
    let [first, second] = [(); 2].map(|()| {
        let mut positions = broken.to_vec();
        let made = make_whole(cell, trees, &mut positions, &mut memory);
        assert_eq!(made.unplaced, None);
        (positions, made.infinite)
    });
    assert_eq!(first, second);
    first
}

proptest! {
    #[test]
    fn molecules_become_the_whole_ones_up_to_one_lattice_vector(system in systems(all_cells())) {
        let (positions, n_infinite) = made_whole(&system.cell, &system.trees(), &system.broken);
        prop_assert_eq!(n_infinite, 0);
        prop_assert!(are_images(&system.cell, &system.broken, &positions));
        let groups = system.groups();
        for molecule in 0..groups.len() {
            let columns = groups.columns(molecule);
            let root = columns[0] as usize;
            prop_assert_eq!(positions[root], system.broken[root]);
            for &column in columns {
                let column = column as usize;
                let is = minus(exact(positions[column]), exact(positions[root]));
                let should = minus(system.whole[column], system.whole[root]);
                prop_assert!(distance(is, should) < 4.0 * system.rounding, "{:?} {:?}", is, should);
            }
        }
    }

    #[test]
    fn whole_molecules_equal_those_of_the_reference(
        system in systems(cells().prop_map(|numbers| Cell::new(numbers).unwrap())),
    ) {
        let (positions, _) = made_whole(&system.cell, &system.trees(), &system.broken);
        let broken: Vec<Vector> = system.broken.iter().map(|&p| exact(p)).collect();
        let naive = reference::periodic::whole(system.cell.vectors(), &system.bonds, &broken);
        for (&position, naive) in positions.iter().zip(naive) {
            let error = distance(exact(position), naive);
            prop_assert!(error < 2.0 * system.rounding, "{:?} {:?}", position, naive);
        }
    }

    #[test]
    fn minimum_image_distances_stay_and_whole_molecules_stay_whole(system in systems(all_cells())) {
        let (once, _) = made_whole(&system.cell, &system.trees(), &system.broken);
        let change = change_of_distances(&system.cell, &system.broken, &once);
        prop_assert!(change < 4.0 * system.rounding, "{}", change);
        let (twice, _) = made_whole(&system.cell, &system.trees(), &once);
        prop_assert_eq!(once, twice);
    }

    #[test]
    fn bonds_of_every_length_are_at_their_nearest_images(
        numbers in cells(),
        positions in prop::collection::vec(prop::array::uniform3(-300.0..300.0f32), 2..40),
        parents in prop::collection::vec(any::<Index>(), 40),
    ) {
        let cell = Cell::new(numbers).unwrap();
        // A tree: no bond can be infinite.
        let bonds: Vec<[u32; 2]> = (1..positions.len())
            .map(|k| [k as u32, parents[k].index(k) as u32])
            .collect();
        let trees = BondTrees::new(positions.len(), &bonds);
        let (moved, n_infinite) = made_whole(&cell, &trees, &positions);
        prop_assert_eq!(n_infinite, 0);
        prop_assert!(are_images(&cell, &positions, &moved));
        let size = moved.iter().map(|&p| square(exact(p)).sqrt()).fold(600.0, f64::max);
        for [a, b] in bonds {
            let [p, q] = [a, b].map(|column| exact(moved[column as usize]));
            let nearest = reference::distance_squared(cell.vectors(), p, q).sqrt();
            prop_assert!(distance(p, q) - nearest < 4.0 * ROUNDING * size, "{} {}", a, b);
        }
    }

    #[test]
    fn an_infinite_molecule_keeps_its_positions(
        system in systems(all_cells()), n in 3..20usize, axis in 0..3usize, side in 0.5..0.99f64,
    ) {
        // A chain along a reduced vector that is bonded to its own image, before the molecules of a system.
        let cell = &system.cell;
        prop_assume!(cell.reduced_periodic()[axis]);
        let vector = cell.reduced()[axis];
        let bond = square(vector).sqrt() / n as f64;
        prop_assume!(bond < 0.9 * smallest_height(cell) / 2.0);
        let chain = (0..n).map(|k| vector.map(|x| (x * (k as f64 / n as f64 + side)) as f32));
        let positions: Vec<[f32; 3]> = chain.chain(system.broken.iter().copied()).collect();
        let later = system.bonds.iter().map(|bond| bond.map(|column| column + n as u32));
        let ring = (0..n as u32).map(|k| [k, (k + 1) % n as u32]);
        let bonds: Vec<[u32; 2]> = later.chain(ring).collect();
        let (moved, n_infinite) = made_whole(cell, &BondTrees::new(positions.len(), &bonds), &positions);
        prop_assert_eq!(n_infinite, 1);
        prop_assert_eq!(&moved[..n], &positions[..n]);
        let (alone, _) = made_whole(cell, &system.trees(), &system.broken);
        prop_assert_eq!(&moved[n..], &alone);
        // Cut open, it is an ordinary molecule.
        let open: Vec<[u32; 2]> = bonds.into_iter().filter(|bond| *bond != [n as u32 - 1, 0]).collect();
        let trees = BondTrees::new(positions.len(), &open);
        prop_assert_eq!(made_whole(cell, &trees, &positions).1, 0);
    }

    #[test]
    fn trees_have_every_bond_once(
        n in 1..40usize, pairs in prop::collection::vec((any::<Index>(), any::<Index>()), 0..60),
    ) {
        let bonds: Vec<[u32; 2]> =
            pairs.iter().map(|(a, b)| [a.index(n) as u32, b.index(n) as u32]).collect();
        let trees = BondTrees::new(n, &bonds);
        let sorted = |[a, b]: [u32; 2]| [a.min(b), a.max(b)];
        let mut expected: Vec<_> = bonds.iter().copied().map(sorted).filter(|[a, b]| a != b).collect();
        expected.sort_unstable();
        expected.dedup();
        let mut found: Vec<_> = trees.bonds().iter().copied().map(sorted).collect();
        found.sort_unstable();
        prop_assert_eq!(&found, &expected);
        // Labels by repeated search: the lowest column of each molecule.
        let mut lowest: Vec<u32> = (0..n as u32).collect();
        for _ in 0..n {
            for &[a, b] in &bonds {
                let least = lowest[a as usize].min(lowest[b as usize]);
                (lowest[a as usize], lowest[b as usize]) = (least, least);
            }
        }
        let mut last_root = None;
        let mut n_bonded = 0;
        for molecule in 0..trees.n_molecules() {
            let (tree, closures) = trees.molecule(molecule);
            let root = tree[0][0];
            prop_assert!(last_root < Some(root), "molecules in the order of their lowest columns");
            last_root = Some(root);
            let mut reached = vec![root];
            for &[parent, child] in tree {
                prop_assert!(reached.contains(&parent) && !reached.contains(&child));
                reached.push(child);
            }
            prop_assert!(closures.as_flattened().iter().all(|column| reached.contains(column)));
            let members = (0..n as u32).filter(|&k| lowest[k as usize] == root);
            let mut sorted = reached.clone();
            sorted.sort_unstable();
            prop_assert_eq!(sorted, members.collect::<Vec<_>>());
            n_bonded += reached.len();
        }
        let alone = (0..n as u32).filter(|k| !expected.as_flattened().contains(k)).count();
        prop_assert_eq!(n_bonded + alone, n);
    }
}

#[test]
fn the_search_is_breadth_first() {
    // A chain 0-1-2-3-4 and a bond that makes a ring of it.
    let trees = BondTrees::new(6, &[[3, 4], [2, 3], [1, 2], [0, 1], [4, 0], [0, 1], [5, 5]]);
    assert_eq!(trees.n_molecules(), 1);
    let (tree, closures) = trees.molecule(0);
    assert_eq!(tree, [[0, 1], [0, 4], [1, 2], [4, 3]]);
    assert_eq!(closures, [[2, 3]]);
}

#[test]
fn no_bonds_are_no_molecules() {
    let trees = BondTrees::new(2, &[]);
    let cell = Cell::new([10.0, 10.0, 10.0, 90.0, 90.0, 90.0]).unwrap();
    let positions = [[1.0, 2.0, 3.0], [99.0, 2.0, 3.0]];
    assert_eq!(made_whole(&cell, &trees, &positions), (positions.to_vec(), 0));
    assert_eq!(made_whole(&cell, &BondTrees::new(0, &[]), &[]), (vec![], 0));
}

#[test]
#[should_panic(expected = "a bond of column 7")]
fn a_bond_of_an_unknown_column_is_refused() {
    BondTrees::new(7, &[[0, 7]]);
}

#[test]
fn an_infinite_sheet_of_short_bonds_is_found() {
    // All bonds of the tree are short before anything is moved: only the closing bond crosses the face.
    let cell = Cell::new([10.0, 10.0, 10.0, 90.0, 90.0, 90.0]).unwrap();
    let positions: Vec<[f32; 3]> = (0..5).map(|k| [2.0 * k as f32 + 1.0, 0.0, 0.0]).collect();
    let open = [[0, 1], [1, 2], [2, 3], [3, 4]];
    let closed = [[0, 1], [1, 2], [2, 3], [3, 4], [4, 0]];
    assert_eq!(made_whole(&cell, &BondTrees::new(5, &open), &positions), (positions.clone(), 0));
    assert_eq!(made_whole(&cell, &BondTrees::new(5, &closed), &positions), (positions.clone(), 1));
}
