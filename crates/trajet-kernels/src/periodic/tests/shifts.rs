use super::*;
use crate::reference::periodic as naive;

proptest! {
    #[test]
    fn clusters_equal_those_of_the_reference(
        numbers in cells(),
        fractions in prop::collection::vec(prop::array::uniform3(-1.0..2.0f64), 1..14),
        arm in prop::array::uniform3(-5.0..5.0f64),
    ) {
        let cell = Cell::new(numbers).unwrap();
        let points = fractions.iter().map(|&f| cell.lattice_vector(f));
        let ends = points.flat_map(|p| [1.0, -1.0].map(|s| [0, 1, 2].map(|k| p[k] + s * arm[k])));
        let before: Vec<[f32; 3]> = ends.map(|p| p.map(|x| x as f32)).collect();
        let groups = groups_of(&(0..before.len()).map(|k| k / 2).collect::<Vec<_>>());
        let centres = |positions: &[[f32; 3]]| -> Vec<Vector> {
            (0..groups.len()).map(|g| centre(groups.columns(g), None, positions)).collect()
        };
        let mut after = before.clone();
        cluster_groups(&cell, &groups, None, &mut after);
        prop_assert!(are_images(&cell, &before, &after));
        prop_assert_eq!(before[0], after[0]);
        let expected = naive::clustered(cell.vectors(), &centres(&before));
        let size = after.iter().map(|&p| square(exact(p)).sqrt()).fold(0.0, f64::max);
        for (is, should) in centres(&after).into_iter().zip(expected) {
            prop_assert!(distance(is, should) < 1e-6 + 4.0 * ROUNDING * size, "{:?} {:?}", is, should);
        }
    }

    #[test]
    fn a_clustered_group_stays_when_clustered_again_and_distances_stay(system in systems(all_cells())) {
        let groups = system.groups();
        let mut once = system.broken.clone();
        cluster_groups(&system.cell, &groups, None, &mut once);
        let change = change_of_distances(&system.cell, &system.broken, &once);
        let size = once.iter().map(|&p| square(exact(p)).sqrt()).fold(0.0, f64::max);
        prop_assert!(change < 4.0 * system.rounding.max(ROUNDING * size), "{}", change);
        let mut twice = once.clone();
        cluster_groups(&system.cell, &groups, None, &mut twice);
        prop_assert_eq!(once, twice);
    }

    #[test]
    fn every_instruction_set_moves_atoms_to_the_same_bits(system in systems(all_cells())) {
        let (cell, trees, groups) = (&system.cell, system.trees(), system.groups());
        let results = trajet_simd::InstructionSet::available().into_iter().map(|set| {
            let mut positions = [(); 5].map(|()| system.broken.clone());
            let [whole, clustered, wrapped @ ..] = &mut positions;
            super::super::whole::make_whole_on(set, cell, &trees, whole, &mut WholeMemory::default());
            super::super::cluster::cluster_groups_on(set, cell, &groups, None, clustered);
            let shapes = [Shape::Triclinic, Shape::Compact, Shape::Rectangular];
            for (shape, wrapped) in shapes.into_iter().zip(wrapped) {
                let _ = super::super::wrap::wrap_groups_on(set, cell, shape, &groups, None, wrapped);
            }
            positions.map(|frame| frame.iter().map(|p| p.map(f32::to_bits)).collect::<Vec<_>>())
        });
        let results: Vec<_> = results.collect();
        prop_assert!(results.iter().all(|result| *result == results[0]));
    }

    #[test]
    fn shifted_atoms_are_images(
        cell in all_cells(),
        atoms in prop::collection::vec((prop::array::uniform3(-99.0..99.0f32), prop::array::uniform3(-3..3i32)), 1..30),
    ) {
        let (before, shifts): (Vec<[f32; 3]>, Vec<[i32; 3]>) = atoms.into_iter().unzip();
        let periodic = cell.periodic().map(i32::from);
        let shifts: Vec<_> = shifts.iter().map(|n| [0, 1, 2].map(|k| n[k] * periodic[k])).collect();
        let (mut after, mut of_atoms) = (before.clone(), AtomShifts::default());
        of_atoms.set(shifts.len(), |atom| shifts[atom]);
        shift_atoms(&cell, &of_atoms, &mut after);
        for (k, shift) in shifts.iter().enumerate() {
            let expected = [0, 1, 2].map(|x| {
                let by: f64 = (0..3).map(|v| f64::from(shift[v]) * cell.vectors()[v][x]).sum();
                (f64::from(before[k][x]) + by) as f32
            });
            prop_assert_eq!(after[k], expected);
        }
        let size = after.iter().map(|&p| square(exact(p)).sqrt()).fold(180.0, f64::max);
        prop_assert!(change_of_distances(&cell, &before, &after) < 4.0 * ROUNDING * size);
    }

    #[test]
    fn an_atom_without_position_is_reported(
        system in systems(cells().prop_map(|numbers| Cell::new(numbers).unwrap())),
        index in any::<Index>(),
        axis in 0..3usize,
        value in prop::sample::select(vec![f32::NAN, f32::INFINITY, f32::NEG_INFINITY]),
    ) {
        let (cell, trees, groups) = (&system.cell, system.trees(), system.groups());
        let spoiled = index.index(system.broken.len());
        let mut positions = system.broken.clone();
        positions[spoiled][axis] = value;
        // A molecule of one atom has no position, and none of its parts is left behind.
        let columns = groups.columns(system.molecules[spoiled]);
        let expected = (columns.len() > 1).then_some(spoiled as u32);
        let made = make_whole(cell, &trees, &mut positions.clone(), &mut WholeMemory::default());
        prop_assert_eq!(made.unplaced, expected);
        for shape in [Shape::Triclinic, Shape::Compact, Shape::Rectangular] {
            let wrapped = wrap_groups(cell, shape, &groups, None, &mut positions.clone());
            prop_assert_eq!(wrapped, Ok(expected));
        }
        prop_assert_eq!(cluster_groups(cell, &groups, None, &mut positions.clone()), expected);
        prop_assert_eq!(translate([1.0; 3], &mut positions), None);
        prop_assert!(positions[spoiled].iter().all(|x| x.is_nan()));
        positions[spoiled] = [0.0, f32::MAX, 0.0];
        prop_assert_eq!(translate([0.0, 1e38, 0.0], &mut positions), Some(spoiled as u32));
    }

    #[test]
    fn any_numbers_leave_finite_positions_finite(
        numbers in cells(),
        rows in prop::collection::vec(prop::array::uniform3(prop_oneof![
            prop::num::f32::ANY,
            -100.0..100.0f32,
            prop::sample::select(vec![1e30f32, -1e30, 1e10, f32::MAX, f32::NAN, f32::INFINITY]),
        ]), 2..30),
        bonds in prop::collection::vec((any::<Index>(), any::<Index>()), 0..40),
        weights in prop::collection::vec(prop::num::f64::ANY, 30),
    ) {
        let cell = Cell::new(numbers).unwrap();
        let n = rows.len();
        let bonds: Vec<[u32; 2]> =
            bonds.iter().map(|(a, b)| [a.index(n) as u32, b.index(n) as u32]).collect();
        let trees = BondTrees::new(n, &bonds);
        let groups = groups_of(&(0..n).map(|k| k / 3).collect::<Vec<_>>());
        let check = |change: &mut dyn FnMut(&mut [[f32; 3]])| {
            let mut positions = rows.clone();
            change(&mut positions);
            for (before, after) in rows.iter().zip(&positions) {
                let is_finite = before.iter().all(|x| x.is_finite());
                let same = before.map(f32::to_bits) == after.map(f32::to_bits);
                let has_none = !is_finite && after.iter().all(|x| x.is_nan());
                let stays = is_finite && after.iter().all(|x| x.is_finite());
                assert!(same || has_none || stays, "{before:?} {after:?}");
            }
        };
        check(&mut |p| {
            make_whole(&cell, &trees, p, &mut WholeMemory::default());
        });
        for weights in [None, Some(&weights[..n])] {
            for shape in [Shape::Triclinic, Shape::Compact, Shape::Rectangular] {
                check(&mut |p| {
                    wrap_groups(&cell, shape, &groups, weights, p).unwrap();
                });
            }
            check(&mut |p| {
                cluster_groups(&cell, &groups, weights, p);
            });
            let (mut f, mut shifts, mut sums) = (Vec::new(), vec![[0; 3]; groups.len()], Vec::new());
            fractional_centres(&cell, &groups, weights, &rows, &mut f);
            find_jumps(&mut f.clone(), &f, &mut shifts);
            assert_eq!(shifts, vec![[0; 3]; groups.len()]);
            sums.resize(groups.len(), [i64::MAX - 1, i64::MIN + 1, 0]);
            let zero = vec![[0.0; 3]; groups.len()];
            toroidal_jumps(&cell, &mut zero.clone(), &f, &mut sums);
            check(&mut |p| move_groups(&groups, &sums, p));
        }
        let (mut before, mut shifts) = (FrameBefore::default(), AtomShifts::default());
        before.set(&cell, &vec![[0.0; 3]; n]);
        shifts.set(n, |_| [i32::MAX - 1, i32::MIN + 1, 0]);
        count_jumps(&cell, &mut before, &rows, &mut shifts);
        check(&mut |p| shift_atoms(&cell, &shifts, p));
        check(&mut |p| {
            translate([1e39, -3e38, weights[0]], p);
        });
    }
}

#[test]
fn groups_far_away_do_not_disturb_a_cluster() {
    let cell = Cell::new([10.0, 10.0, 10.0, 90.0, 90.0, 90.0]).unwrap();
    let groups = groups_of(&[0, 1, 2, 3]);
    let mut positions = [[f32::NAN, 0.0, 0.0], [1.0, 1.0, 1.0], [1e30, 0.0, 0.0], [9.5, 1.0, 21.0]];
    cluster_groups(&cell, &groups, None, &mut positions);
    assert_eq!(positions[1..], [[1.0, 1.0, 1.0], [1e30, 0.0, 0.0], [-0.5, 1.0, 1.0]]);
    assert!(positions[0][0].is_nan());
    cluster_groups(&cell, &Groups::default(), None, &mut positions);
    cluster_groups(&cell, &groups_of(&[]), None, &mut positions);
}

#[test]
fn sums_and_vectors_move_positions() {
    let groups = Groups { starts: vec![0, 2, 3], members: vec![2, 0, 1] };
    let mut positions = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [-0.0, 8.0, 9.0], [10.0, 11.0, 12.0]];
    let one = 1i64 << 32;
    move_groups(&groups, &[[0; 3], [3 * one, -one / 2, 0]], &mut positions);
    assert_eq!(positions[1], [7.0, 4.5, 6.0]);
    assert!(positions[2][0].is_sign_negative(), "an atom that is not moved keeps its bits");
    move_groups(&groups, &[[one, 0, 0], [0; 3]], &mut positions);
    assert_eq!(positions, [[2.0, 2.0, 3.0], [7.0, 4.5, 6.0], [1.0, 8.0, 9.0], [10.0, 11.0, 12.0]]);
    translate([-1.0, 0.0, 0.5], &mut positions);
    assert_eq!(positions, [[1.0, 2.0, 3.5], [6.0, 4.5, 6.5], [0.0, 8.0, 9.5], [9.0, 11.0, 12.5]]);
}

#[test]
#[should_panic(expected = "one weight per member")]
fn weights_of_another_number_are_refused() {
    let cell = Cell::new([10.0, 10.0, 10.0, 90.0, 90.0, 90.0]).unwrap();
    let mut positions = [[0.0; 3]; 2];
    let _ = wrap_groups(&cell, Shape::Compact, &groups_of(&[0, 0]), Some(&[1.0]), &mut positions);
}
