//! Searches for atoms within a distance of others, with or without periodic boundaries.
//!
//! The grid of [`trajet_kernels::neighbours`] proposes atoms, and `f32` coordinates of images sort out those that are
//! clearly too far away or clearly within reach. About all others, the minimum image in `f64` decides. Positions that are
//! not finite are within reach of nothing.

mod pairs;

use trajet_kernels::cell::Cell;
use trajet_kernels::neighbours::{
    Atoms, Fineness, Group, Groups, Limits, Missing, Near, NeighbourSearch, Screened, Stop,
    Visitor, square_between,
};
use trajet_simd::InstructionSet;

pub use self::pairs::{PairRange, Pairs, pairs_within};
use self::pairs::{check, fault_of};
use crate::TopologyError;

/// Minimal width of grid cells (Å): few atoms of a liquid are in a narrower one.
const MIN_WIDTH: f64 = 2.5;
/// Grid cells are about as wide as this (Å) if the distance is longer, unless there would be too many neighbours.
const USUAL_WIDTH: f64 = 6.0;

/// Calls a function with each of the `candidates` that is within a distance (Å) of any atom of the `set`, once and in no
/// particular order. Atoms of the set are within any distance of themselves. The `positions` (Å) are of all atoms; `cell`
/// is `None` without periodic boundaries.
///
/// # Errors
/// [`TopologyError::Memory`].
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
) -> Result<(), TopologyError> {
    let instructions = InstructionSet::default();
    atoms_within_on(instructions, positions, [candidates, set], cell, distance, found)
}

fn atoms_within_on(
    instructions: InstructionSet,
    positions: &[[f32; 3]],
    groups: [&[u32]; 2],
    cell: Option<&Cell>,
    distance: f64,
    found: impl FnMut(u32),
) -> Result<(), TopologyError> {
    check(positions, distance);
    let groups = groups.map(|listed| Atoms { positions, listed: Some(listed) });
    let parts = (distance / USUAL_WIDTH).ceil();
    let width = MIN_WIDTH;
    let fineness = Fineness { parts, least_width: width, most_cells: usize::MAX, widest: width };
    let mut search = NeighbourSearch::new(instructions);
    let groups = Groups::Two { groups, homes: 0 };
    search.place(cell, groups, distance, fineness, Missing::Skip).map_err(fault_of)?;
    let mut visitor = Within {
        positions,
        cell,
        square_of_distance: distance * distance,
        limits: search.limits(distance),
        near: Near::default(),
        shifts: Vec::new(),
        doubtful: Vec::new(),
        found,
    };
    Ok(search.visit(&mut visitor)?)
}

/// Finds the home atoms that are within a distance of any other.
struct Within<'a, F> {
    positions: &'a [[f32; 3]],
    cell: Option<&'a Cell>,
    square_of_distance: f64,
    limits: Limits,
    near: Near<Screened>,
    shifts: Vec<[Screened; 3]>,
    doubtful: Vec<u32>,
    found: F,
}

impl<F: FnMut(u32)> Visitor<Screened> for Within<'_, F> {
    fn visit(&mut self, group: &Group<'_, Screened>) -> Result<(), Stop> {
        let Within { positions, cell, limits, ref mut near, ref mut found, .. } = *self;
        let search = group.search();
        let (set, homes, others) = (search.instructions(), search.homes(), search.others());
        let (bounds, mut are_all_near) = (group.bounds(), false);
        near.clear();
        let gathered = group.each_row(&mut self.shifts, |row, shifts| {
            for &shift in shifts {
                let farthest =
                    near.append(set, others, row.clone(), shift, &bounds, limits.possible)?;
                are_all_near = farthest <= limits.sure;
                if are_all_near {
                    return Err(Stop::Enough);
                }
            }
            Ok(())
        });
        if are_all_near {
            group.homes().for_each(|home| found(homes.atoms()[home]));
            return Ok(());
        }
        gathered?;
        near.finish()?;
        for home in group.homes() {
            let (atom, point) = (homes.atoms()[home], homes.point(home));
            let square = near.nearest(set, point);
            if square <= limits.sure {
                found(atom);
            } else if square <= limits.possible {
                near.within(set, point, limits.possible, &mut self.doubtful)?;
                let is_near = |&at: &u32| {
                    let [a, b] =
                        [atom, near.atoms()[at as usize]].map(|atom| positions[atom as usize]);
                    square_between(cell, a, b) <= self.square_of_distance
                };
                if self.doubtful.iter().any(is_near) {
                    found(atom);
                }
            }
        }
        Ok(())
    }
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
        (prop_oneof![1 => Just(None), 8 => cell], any::<Option<[bool; 3]>>()).prop_map(
            |(cell, periodic)| match periodic {
                None => cell,
                Some(periodic) => Cell::with_boundaries(*cell?.vectors(), periodic),
            },
        )
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
            Some(cell) => reference::distance_squared_in(cell, a, b),
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

    #[test]
    fn empty_space_and_distant_atoms_do_not_matter() {
        let lattice: Vec<[f32; 3]> =
            (0..8000).map(|i| [i % 20, i / 20 % 20, i / 400].map(|x| 3.0 * x as f32)).collect();
        let mut positions = lattice.clone();
        positions[7] = [1e30, -1e30, 3e38];
        let large = Cell::new([1e5, 1e5, 3e5, 90.0, 80.0, 70.0]).unwrap();
        let set = InstructionSet::default();
        // Three times 20 * 20 * 19 neighbours, without four of the atom far away.
        assert_eq!(close_pairs(set, &positions, None, 3.1).len(), 22_796);
        assert_eq!(close_pairs(set, &lattice, Some(&large), 3.1).len(), 22_800);
    }
}
