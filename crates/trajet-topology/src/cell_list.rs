//! Searches for atoms within a distance of others, with or without periodic boundaries.
//!
//! Source: M. P. Allen and D. J. Tildesley, Computer Simulation of Liquids, 2nd edition (2017), 5.3.2 (cell lists).
//! Departures:
//!
//! 1. The grid covers the reduced cell. Two points within a distance `r` have images whose coordinates along a vector
//!    differ by at most `r` over the height of the cell, so that the neighbours to examine follow for cells of every
//!    shape, and for distances longer than the cell.
//! 2. The table of grid cells repeats itself: grid cells of distant places may share their atoms. Neither a single atom
//!    far away from all others nor a box that is mostly empty makes grid cells wide.
//! 3. The neighbours of a grid cell are gathered once for all of its atoms: those that can be within the distance of the
//!    box around them.
//! 4. Grid cells only propose atoms, and f32 coordinates of images sort out those that are clearly too far away or
//!    clearly within reach. About all others, the minimum image in f64 decides.
//!
//! Positions that are not finite are within reach of nothing.

mod grid;
mod near;
mod pairs;
mod sorted;

pub use self::pairs::{PairRange, Pairs, pairs_within};
use trajet_kernels::cell::Cell;
use trajet_simd::InstructionSet;

use self::grid::Grid;
use self::near::Near;
use self::sorted::{Placed, Sorted, check, each_group, lengths};
use crate::Fault;

/// Minimal width of grid cells (Å): few atoms of a liquid are in a narrower one.
const LEAST_WIDTH: f64 = 2.5;

/// Calls a function with each of the `candidates` that is within a distance (Å) of any atom of the `set`, once and in no
/// particular order. Atoms of the set are within any distance of themselves. The `positions` (Å) are of all atoms; `cell`
/// is `None` without periodic boundaries.
///
/// # Errors
/// [`Fault::Memory`].
///
/// # Panics
/// If there is no position for one of the atoms, there are 2³¹ of them, or the distance is negative, infinite or NaN.
pub fn atoms_within(
    positions: &[[f32; 3]],
    candidates: &[u32],
    set: &[u32],
    cell: Option<&Cell>,
    distance: f64,
    found: impl FnMut(u32),
) -> Result<(), Fault> {
    let instructions = InstructionSet::default();
    atoms_within_on(instructions, positions, [candidates, set], cell, distance, found)
}

fn atoms_within_on(
    instructions: InstructionSet,
    positions: &[[f32; 3]],
    [candidates, set]: [&[u32]; 2],
    cell: Option<&Cell>,
    distance: f64,
    mut found: impl FnMut(u32),
) -> Result<(), Fault> {
    check(positions, distance);
    let is_fewer = candidates.len() < set.len();
    let (few, many) = if is_fewer { (candidates, set) } else { (set, candidates) };
    let bounds = lengths(positions, few, cell);
    let n = candidates.len() + set.len();
    let grid = Grid::new(cell, n, bounds, distance, LEAST_WIDTH, instructions);
    // Most atoms of the larger set are in no grid cell that is a neighbour of one with atoms of the smaller one.
    let few = Placed::new(&grid, positions, few, None)?;
    let close = few.mark_neighbours(&grid)?;
    let many = Placed::new(&grid, positions, many, Some(&close))?;
    drop(close);
    let (candidates, set) = if is_fewer { (few, many) } else { (many, few) };
    let homes = Sorted::new(&grid, positions, &candidates)?;
    let others = Sorted::new(&grid, positions, &set)?;
    let is_near = |atom: u32, near: &Near, at: usize| {
        let [a, b] = [atom, near.atoms()[at]].map(|atom| positions[atom as usize]);
        grid.square(a, b) <= grid.square_of_distance
    };
    let mut doubtful = Vec::new();
    each_group(&grid, positions, &homes, &others, true, |group, near, all| {
        for &home in group {
            let atom = homes.atoms[home as usize];
            if all {
                found(atom);
                continue;
            }
            if grid.has_all_images() {
                if (0..near.atoms().len()).any(|at| is_near(atom, near, at)) {
                    found(atom);
                }
                continue;
            }
            let point = homes.points.get(home as usize);
            let square = near.nearest(instructions, point);
            if square <= grid.limits.sure {
                found(atom);
            } else if square <= grid.limits.possible {
                near.within(instructions, point, grid.limits.possible, &mut doubtful)?;
                if doubtful.iter().any(|&at| is_near(atom, near, at as usize)) {
                    found(atom);
                }
            }
        }
        Ok(true)
    })
}

#[cfg(test)]
mod tests {
    use super::pairs::pairs_within_on;
    use super::*;
    use proptest::prelude::*;
    use trajet_kernels::reference;

    /// Cells of all shapes, and no cell.
    fn cells() -> impl Strategy<Value = Option<Cell>> {
        let length = prop_oneof![10.0..60.0f64, 1.0..200.0f64];
        let angle =
            prop_oneof![3 => Just(90.0), 2 => Just(60.0), 3 => 50.0..130.0f64, 2 => 2.0..178.0f64];
        let cell =
            ([length.clone(), length.clone(), length], [angle.clone(), angle.clone(), angle])
                .prop_map(|([a, b, c], [x, y, z])| Cell::new([a, b, c, x, y, z]))
                .prop_filter("three vectors in a plane", Option::is_some);
        prop_oneof![1 => Just(None), 4 => cell]
    }

    fn fraction() -> std::ops::Range<f64> {
        -0.5..1.5
    }

    fn positions() -> impl Strategy<Value = Vec<[f32; 3]>> {
        let x = || prop_oneof![20 => -60.0..60.0f32, 1 => -1e4..1e4f32, 1 => Just(0.0f32)];
        proptest::collection::vec([x(), x(), x()], 0..120)
    }

    fn square(cell: Option<&Cell>, a: [f32; 3], b: [f32; 3]) -> f64 {
        let (a, b) = (a.map(f64::from), b.map(f64::from));
        match cell {
            Some(cell) => reference::distance_squared(cell.vectors(), a, b),
            None => (0..3).map(|k| (a[k] - b[k]).powi(2)).sum(),
        }
    }

    /// Whether rounding decides on which side of the distance a pair is.
    fn is_doubtful(square: f64, distance: f64) -> bool {
        (square - distance * distance).abs() < 1e-8 * (1.0 + square)
    }

    /// Returns all pairs of different atoms that are closer than a distance, sorted, by one instruction set.
    fn close_pairs(
        set: InstructionSet,
        positions: &[[f32; 3]],
        cell: Option<&Cell>,
        distance: f64,
    ) -> Vec<[u32; 2]> {
        let reaches = vec![distance / 2.0; positions.len()];
        pairs_in_range(set, positions, cell, distance, -1.0, &reaches)
    }

    /// Returns all pairs in a range, sorted, by one instruction set; `reaches` has at least one for each atom.
    fn pairs_in_range(
        set: InstructionSet,
        positions: &[[f32; 3]],
        cell: Option<&Cell>,
        longest: f64,
        above: f64,
        reaches: &[f64],
    ) -> Vec<[u32; 2]> {
        let n = positions.len();
        let (reaches, factor) = (&reaches[..n], 1.0);
        let range = PairRange { longest, above, reaches, factor, most_neighbours: n };
        let Pairs::Found(pairs) = pairs_within_on(set, positions, cell, &range).unwrap() else {
            panic!("no atom has more neighbours than there are atoms");
        };
        assert!(pairs.iter().all(|[a, b]| a < b));
        assert!(pairs.is_sorted_by(|a, b| a < b), "each pair once");
        pairs
    }

    fn sorted_atoms_within(
        set: InstructionSet,
        positions: &[[f32; 3]],
        groups: [&[u32]; 2],
        cell: Option<&Cell>,
        distance: f64,
    ) -> Vec<u32> {
        let mut found = Vec::new();
        atoms_within_on(set, positions, groups, cell, distance, |atom| found.push(atom)).unwrap();
        found.sort_unstable();
        found
    }

    proptest! {
        #[test]
        fn pairs_are_those_of_the_naive_search(
            cell in cells(), positions in positions(),
            distance in prop_oneof![0.0..3.0f64, 3.0..40.0f64, 40.0..400.0f64],
        ) {
            let cell = cell.as_ref();
            let pairs = close_pairs(InstructionSet::SCALAR, &positions, cell, distance);
            for j in 0..positions.len() {
                for i in 0..j {
                    let square = square(cell, positions[i], positions[j]);
                    if !is_doubtful(square, distance) {
                        let found = pairs.binary_search(&[i as u32, j as u32]).is_ok();
                        prop_assert_eq!(found, square < distance * distance, "{} {} {}", i, j, square);
                    }
                }
            }
            for set in InstructionSet::available() {
                prop_assert_eq!(&pairs, &close_pairs(set, &positions, cell, distance), "{:?}", set);
            }
        }

        #[test]
        fn pairs_in_ranges_of_their_own_are_those_of_the_naive_search(
            cell in cells(), positions in positions(),
            reaches in proptest::collection::vec(prop_oneof![0.0..4.0f64, 4.0..30.0f64], 120),
            above in prop_oneof![Just(-1.0), Just(0.0), Just(0.1), 0.0..20.0f64],
        ) {
            let cell = cell.as_ref();
            let below = |a: u32, b: u32| reaches[a as usize] + reaches[b as usize];
            let longest = 2.0 * reaches.iter().fold(0.0, |a: f64, &b| a.max(b));
            let scalar = InstructionSet::SCALAR;
            let pairs = pairs_in_range(scalar, &positions, cell, longest, above, &reaches);
            for j in 0..positions.len() as u32 {
                for i in 0..j {
                    let square = square(cell, positions[i as usize], positions[j as usize]);
                    let (least, most) = (above.max(0.0), below(i, j));
                    if !is_doubtful(square, least) && !is_doubtful(square, most) {
                        let expected = square > least * least && square < most * most;
                        prop_assert_eq!(pairs.binary_search(&[i, j]).is_ok(), expected);
                    }
                }
            }
            for set in InstructionSet::available() {
                let again = pairs_in_range(set, &positions, cell, longest, above, &reaches);
                prop_assert_eq!(&pairs, &again, "{:?}", set);
            }
        }

        #[test]
        fn pairs_of_dense_atoms_are_those_of_the_naive_search(
            cell in (8.0..25.0f64, prop_oneof![Just(90.0), Just(60.0), 55.0..125.0f64], 0..4u8),
            points in proptest::collection::vec(([fraction(), fraction(), fraction()], 0.3..1.5f64), 1..300),
            most_neighbours in 1..60usize,
        ) {
            let (length, angle, kind) = cell;
            let made = Cell::new([length, length * 1.1, length * 1.3, 90.0, angle, angle]).unwrap();
            let cell = (kind > 0).then_some(&made);
            let (mut positions, mut reaches) = (Vec::new(), Vec::new());
            for (at, reach) in points {
                positions.push(made.lattice_vector(at).map(|x| x as f32));
                reaches.push(reach);
            }
            let n = positions.len();
            let (longest, above) = (3.0, 0.4);
            let (mut expected, mut counts, mut is_clear) = (Vec::new(), vec![1; n], true);
            for i in 0..n {
                for j in i + 1..n {
                    let square = square(cell, positions[i], positions[j]);
                    let below = reaches[i] + reaches[j];
                    for bound in [longest, above, below] {
                        is_clear &= !is_doubtful(square, bound);
                    }
                    if square <= longest * longest {
                        counts[i] += 1;
                        counts[j] += 1;
                    }
                    if square > above * above && square < below * below {
                        expected.push([i as u32, j as u32]);
                    }
                }
            }
            prop_assume!(is_clear);
            for set in InstructionSet::available() {
                let found = pairs_in_range(set, &positions, cell, longest, above, &reaches);
                prop_assert_eq!(&found, &expected, "{:?}", set);
                let reaches = &reaches;
                let range = PairRange { longest, above, reaches, factor: 1.0, most_neighbours };
                match pairs_within_on(set, &positions, cell, &range).unwrap() {
                    Pairs::Found(found) => {
                        prop_assert!(counts.iter().all(|&count| count <= most_neighbours));
                        prop_assert_eq!(&found, &expected, "{:?}", set);
                    }
                    Pairs::Crowded(atom) => prop_assert!(counts[atom as usize] > most_neighbours),
                }
            }
        }

        #[test]
        fn atoms_near_a_set_are_those_of_the_naive_search(
            cell in cells(), positions in positions(),
            distance in prop_oneof![0.0..3.0f64, 3.0..40.0f64, 40.0..400.0f64],
            members in proptest::collection::vec(any::<(bool, bool)>(), 120),
            few in prop_oneof![Just(120), 1..10usize],
        ) {
            let cell = cell.as_ref();
            let n = positions.len() as u32;
            let set: Vec<u32> = (0..n).filter(|&i| members[i as usize].0).take(few).collect();
            let candidates: Vec<u32> = (0..n).rev().filter(|&i| members[i as usize].1).collect();
            let groups = [&candidates[..], &set[..]];
            let found = sorted_atoms_within(InstructionSet::SCALAR, &positions, groups, cell, distance);
            prop_assert!(found.is_sorted_by(|a, b| a < b), "each atom once");
            for i in 0..n {
                let squares = set.iter().map(|&j| square(cell, positions[i as usize], positions[j as usize]));
                let nearest = squares.fold(f64::INFINITY, f64::min);
                let expected = candidates.contains(&i) && nearest <= distance * distance;
                if !is_doubtful(nearest, distance) || set.contains(&i) {
                    prop_assert_eq!(found.contains(&i), expected, "{}", i);
                }
            }
            for set in InstructionSet::available() {
                let again = sorted_atoms_within(set, &positions, groups, cell, distance);
                prop_assert_eq!(&found, &again, "{:?}", set);
            }
        }

        #[test]
        fn the_decision_at_the_distance_itself_is_that_of_f64(
            cell in cells(),
            positions in proptest::collection::vec([-60.0..60.0f32, -60.0..60.0f32, -60.0..60.0f32], 2..40),
            one in any::<proptest::sample::Index>(), other in any::<proptest::sample::Index>(),
            steps in -2..=2i64,
        ) {
            // The distance is that of one pair, up to the last bits.
            let cell = cell.as_ref();
            let of_pair = |a: [f32; 3], b: [f32; 3]| {
                let (a, b) = (a.map(f64::from), b.map(f64::from));
                match cell {
                    Some(cell) => cell.distance_squared(a, b),
                    None => {
                        let d = [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
                        d[0] * d[0] + d[1] * d[1] + d[2] * d[2]
                    }
                }
            };
            let distance = of_pair(*one.get(&positions), *other.get(&positions)).sqrt();
            let distance = f64::from_bits((distance.to_bits() as i64 + steps).max(0) as u64);
            let n = positions.len() as u32;
            let (candidates, set): (Vec<u32>, Vec<u32>) = ((0..n).collect(), vec![0]);
            let found = sorted_atoms_within(
                InstructionSet::default(), &positions, [&candidates, &set], cell, distance,
            );
            let expected: Vec<u32> = (0..n)
                .filter(|&i| of_pair(positions[i as usize], positions[0]) <= distance * distance)
                .collect();
            prop_assert_eq!(found, expected);
            // One pair is on either side of the bound, or at it.
            let longest = 2.0 * distance + 1.0;
            for is_upper in [true, false] {
                let (above, below) = if is_upper { (-1.0, distance) } else { (distance, longest) };
                let set = InstructionSet::default();
                let reaches = vec![below / 2.0; n as usize];
                let pairs = pairs_in_range(set, &positions, cell, longest, above, &reaches);
                let mut expected = Vec::new();
                for i in 0..n {
                    for j in i + 1..n {
                        let of = of_pair(positions[i as usize], positions[j as usize]);
                        if of.sqrt() > above && of.sqrt() < below {
                            expected.push([i, j]);
                        }
                    }
                }
                prop_assert_eq!(pairs, expected);
            }
        }
    }

    #[test]
    fn positions_that_are_not_finite_are_near_nothing() {
        let bad = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY].map(|x| [x, 0.0, 0.0]);
        let positions = [bad[0], [1.0, 0.0, 0.0], bad[1], bad[2], [1.0, 0.0, 0.5], bad[1]];
        let cell = Cell::new([10.0, 10.0, 10.0, 90.0, 90.0, 60.0]).unwrap();
        let set = InstructionSet::default();
        for cell in [None, Some(&cell)] {
            for distance in [3.0, 1e300] {
                assert_eq!(close_pairs(set, &positions, cell, distance), [[1, 4]]);
                let groups: [&[u32]; 2] = [&[0, 1, 2, 3, 4, 5], &[0, 1, 2]];
                assert_eq!(sorted_atoms_within(set, &positions, groups, cell, distance), [1, 4]);
            }
        }
    }

    /// Returns the most atoms in one grid cell.
    fn most_in_a_grid_cell(positions: &[[f32; 3]], cell: Option<&Cell>, distance: f64) -> u32 {
        let set = InstructionSet::default();
        let all: Vec<u32> = (0..positions.len() as u32).collect();
        let bounds = lengths(positions, &all, cell);
        let grid = Grid::new(cell, all.len(), bounds, distance, LEAST_WIDTH, set);
        let placed = Placed::new(&grid, positions, &all, None).unwrap();
        let sorted = Sorted::new(&grid, positions, &placed).unwrap();
        sorted.starts.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap()
    }

    #[test]
    fn empty_space_does_not_gather_atoms_in_one_grid_cell() {
        let lattice: Vec<[f32; 3]> =
            (0..8000).map(|i| [i % 20, i / 20 % 20, i / 400].map(|x| 3.0 * x as f32)).collect();
        let mut positions = lattice.clone();
        positions[7] = [1e30, -1e30, 3e38];
        let large = Cell::new([1e5, 1e5, 3e5, 90.0, 80.0, 70.0]).unwrap();
        for distance in [0.0, 3.1] {
            assert!(most_in_a_grid_cell(&positions, None, distance) <= 64);
            assert!(most_in_a_grid_cell(&lattice, Some(&large), distance) <= 64);
        }
        let set = InstructionSet::default();
        // Three times 20 * 20 * 19 neighbours, without four of the atom far away.
        assert_eq!(close_pairs(set, &positions, None, 3.1).len(), 22_796);
        assert_eq!(close_pairs(set, &lattice, Some(&large), 3.1).len(), 22_800);
    }
}
