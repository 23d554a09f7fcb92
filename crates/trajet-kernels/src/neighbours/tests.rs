//! Compares the rows of neighbours with a double loop over all pairs.

use proptest::prelude::*;

use super::*;
use crate::cell::Periodic;
use crate::cell::tests::{cells, cells_with_boundaries};
use crate::reference;

/// Cells of all shapes, also of those that are not periodic in some directions, and no cell.
fn any_cell() -> impl Strategy<Value = Option<Cell>> {
    prop_oneof![
        1 => Just(None),
        4 => cells().prop_map(Cell::new),
        4 => cells_with_boundaries().prop_map(Some),
    ]
}

/// Positions around the origin and far away, some of them identical, a few not finite.
fn positions() -> impl Strategy<Value = Vec<[f32; 3]>> {
    let x = || {
        prop_oneof![
            40 => -60.0..60.0f32, 2 => -1e4..1e4f32, 2 => Just(0.0f32), 1 => Just(f32::NAN)
        ]
    };
    prop::collection::vec([x(), x(), x()], 0..80)
}

fn fineness() -> impl Strategy<Value = Fineness> {
    let widest = prop_oneof![0.0..8.0f64, Just(f64::INFINITY)];
    (1..=5u8, 0.0..6.0f64, 1..2000usize, widest).prop_map(|(n, least_width, most_cells, widest)| {
        Fineness { parts: f64::from(n), least_width, most_cells, widest }
    })
}

/// Lists the pairs of home atoms and others that are proposed, with their least squared distance.
#[derive(Default)]
struct Listed(Vec<([u32; 2], f64)>);

impl<C: Coordinate + Into<f64>> Visitor<C> for Listed {
    fn visit(&mut self, group: &Group<'_, C>) -> Result<(), Stop> {
        let (homes, others) = (group.search().homes(), group.search().others());
        for home in group.homes() {
            group.each_row(&mut Vec::new(), |row, shifts| {
                assert!(!shifts.is_empty());
                for other in row {
                    let (a, b) = (homes.point(home), others.point(other));
                    let square = |by: &[C; 3]| {
                        let d = [0, 1, 2].map(|k| (b[k] + by[k] - a[k]).into());
                        d[0] * d[0] + d[1] * d[1] + d[2] * d[2]
                    };
                    let least = shifts.iter().map(square).fold(f64::INFINITY, f64::min);
                    self.0.push(([homes.atoms()[home], others.atoms()[other]], least));
                }
                Ok(())
            })?;
        }
        Ok(())
    }
}

/// Fails unless each pair comes once, and all pairs within reach do, at their distance.
fn check<C: Coordinate + Into<f64>>(
    cell: Option<&Cell>,
    groups: Groups<'_>,
    reach: f64,
    fineness: Fineness,
    error: f64,
) -> Result<(), TestCaseError> {
    let mut search = NeighbourSearch::<C>::default();
    search.place(cell, groups, reach, fineness, Missing::Skip).unwrap();
    let mut listed = Listed::default();
    search.visit(&mut listed).unwrap();
    let Listed(mut listed) = listed;
    listed.sort_by_key(|(pair, _)| *pair);
    prop_assert!(listed.is_sorted_by(|(a, _), (b, _)| a < b), "each pair once");
    let (homes, others) = match groups {
        Groups::One(atoms) => (atoms, atoms),
        Groups::Two { groups, homes } => (groups[homes], groups[1 - homes]),
    };
    for home in homes.indices() {
        for other in others.indices() {
            let (a, b) = (homes.positions[home as usize], others.positions[other as usize]);
            let (a, b) = (a.map(f64::from), b.map(f64::from));
            let square = match cell {
                Some(cell) => reference::distance_squared_in(cell, a, b),
                None => (0..3).map(|k| (a[k] - b[k]).powi(2)).sum(),
            };
            if square.is_nan() || square.sqrt() > reach * (1.0 - 1e-9) - 1e-7 {
                continue;
            }
            let found = listed.binary_search_by_key(&[home, other], |(pair, _)| *pair);
            prop_assert!(found.is_ok(), "{:?} {:?} {}", a, b, square);
            let found = listed[found.unwrap()].1.sqrt();
            prop_assert!((found - square.sqrt()).abs() <= error, "{} {}", found, square.sqrt());
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn rows_hold_each_pair_within_reach_once(
        cell in any_cell(),
        positions in positions(),
        reach in prop_oneof![0.0..3.0f64, 3.0..40.0f64, 40.0..400.0f64],
        fineness in fineness(),
        members in prop::collection::vec(any::<[bool; 2]>(), 80),
        homes in 0..2usize,
        is_one in any::<bool>(),
    ) {
        let cell = cell.as_ref();
        let lists = [0, 1].map(|group| {
            (0..positions.len() as u32).filter(|&i| members[i as usize][group]).collect::<Vec<_>>()
        });
        let groups = lists.each_ref().map(|list| Atoms { positions: &positions, listed: Some(list) });
        let groups = match is_one {
            true => Groups::One(groups[0]),
            false => Groups::Two { groups, homes },
        };
        check::<Exact>(cell, groups, reach, fineness, 1e-6)?;
        // Far away, images in f32 are coarse.
        check::<Screened>(cell, groups, reach, fineness, 0.01)?;
    }

    #[test]
    fn rows_of_dense_atoms_hold_each_pair_within_reach_once(
        (length, angle, periodic) in (
            5.0..25.0f64,
            prop_oneof![Just(90.0), Just(60.0), 55.0..125.0f64],
            any::<Option<Periodic>>(),
        ),
        fractions in prop::collection::vec([-0.5..1.5f64, -0.5..1.5, -0.5..1.5], 1..80),
        reach in 0.5..20.0f64,
        fineness in fineness(),
    ) {
        let numbers = [length, length * 1.1, length * 1.3, 90.0, angle, angle];
        let made = Cell::of_frame(numbers, None, periodic.unwrap_or(PERIODIC)).unwrap().unwrap();
        let positions: Vec<[f32; 3]> =
            fractions.iter().map(|&at| made.lattice_vector(at).map(|x| x as f32)).collect();
        let groups = Groups::One(Atoms::all(&positions));
        let cell = periodic.map(|_| &made);
        check::<Exact>(cell, groups, reach, fineness, 1e-6)?;
        check::<Screened>(cell, groups, reach, fineness, 1e-3)?;
    }

    #[test]
    fn any_position_is_placed_skipped_or_refused(
        cell in any_cell(), positions in prop::collection::vec(any::<[f32; 3]>(), 1..20)
    ) {
        let mut search = NeighbourSearch::<Screened>::default();
        let atoms = Atoms::all(&positions);
        let (groups, fineness) = (Groups::One(atoms), Fineness::of_occupancy(positions.len()));
        let is_finite = |position: &&[f32; 3]| position.iter().all(|x| x.is_finite());
        search.place(cell.as_ref(), groups, 3.0, fineness, Missing::Skip).unwrap();
        let n_finite = positions.iter().filter(is_finite).count();
        prop_assert_eq!(search.homes().atoms().len(), n_finite);
        match search.place(cell.as_ref(), groups, 3.0, fineness, Missing::Refuse) {
            Ok(()) => prop_assert_eq!(n_finite, positions.len()),
            Err(PlaceError::Misplaced(Misplaced { group, atom })) => {
                prop_assert_eq!(group, 0);
                let limit = 1e6 * cell.map_or(f64::INFINITY, |cell| cell.shortest_vector());
                let is_far = |&x: &f32| x.is_nan() || f64::from(x.abs()) >= limit.min(f64::MAX);
                let is_misplaced = positions[atom].iter().any(is_far) || !is_finite(&&positions[atom]);
                prop_assert!(is_misplaced, "{:?}", positions[atom]);
            }
            Err(PlaceError::Memory(_)) => prop_assert!(false, "there is enough"),
        }
    }

    #[test]
    fn grids_for_comparisons_have_at_most_as_many_cells_as_atoms(
        numbers in cells(), n in 0..100_000usize, reach in 0.0..1e3f64
    ) {
        let cell = Cell::new(numbers).unwrap();
        let space = Space { cell: Some(&cell), lengths: [0.0; 3], low: [0.0; 3], holds_all: true };
        let grid = Grid::new(space, n, reach, Fineness::of_occupancy(n));
        prop_assert!(grid.len() <= n.max(1));
    }
}

/// Returns the most atoms in one grid cell.
fn most_in_a_grid_cell(positions: &[[f32; 3]], cell: Option<&Cell>, reach: f64) -> u32 {
    let mut search = NeighbourSearch::<Screened>::default();
    let (groups, fineness) = (
        Groups::One(Atoms::all(positions)),
        Fineness { parts: 1.0, least_width: 2.5, most_cells: 0, widest: 2.5 },
    );
    search.place(cell, groups, reach, fineness, Missing::Skip).unwrap();
    search.homes().starts.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap()
}

#[test]
fn empty_space_does_not_gather_atoms_in_one_grid_cell() {
    let lattice: Vec<[f32; 3]> =
        (0..8000).map(|i| [i % 20, i / 20 % 20, i / 400].map(|x| 3.0 * x as f32)).collect();
    let mut positions = lattice.clone();
    positions[7] = [1e30, -1e30, 3e38];
    let large = Cell::new([1e5, 1e5, 3e5, 90.0, 80.0, 70.0]).unwrap();
    for reach in [0.0, 3.1] {
        assert!(most_in_a_grid_cell(&positions, None, reach) <= 64);
        assert!(most_in_a_grid_cell(&lattice, Some(&large), reach) <= 64);
    }
}
