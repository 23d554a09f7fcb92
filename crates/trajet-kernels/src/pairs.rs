//! Histograms of pair distances, as used for radial distribution functions.
//!
//! Each pair counts once, at its minimum image, even if the range is longer than half of the cell: pairs of grid cells that
//! see each other through several shifts are compared through all of them. Distances are those of [`Exact`] coordinates,
//! see [`crate::neighbours`].

pub(crate) mod bins;
pub(crate) mod search;

use trajet_simd::{InstructionSet, multiversion};

pub use self::bins::Bins;
use self::bins::Histogram;
use self::search::{CHUNK, Candidates, Homes, Neighbourhood, PairScan, PairVisitor, scan_of};
use crate::cell::Cell;
use crate::exclusion::Excluded;
pub use crate::neighbours::Misplaced;
use crate::neighbours::{self, Atoms, Exact, Fineness, Missing, NeighbourSearch, PlaceError};

/// Positions (`[n, 3]`, Å) of the atoms to pair.
#[derive(Clone, Copy, Debug)]
pub enum Groups<'a> {
    /// Each atom with each of the same group, in both orders, and with itself at distance zero. Gives the same counts
    /// as two equal groups, in half of the time.
    Same(&'a [f32]),
    /// Each atom of the first group with each of the second.
    Two(&'a [f32], &'a [f32]),
}

/// Returns labels of `n` atoms in consecutive blocks of `size`: atoms of a block have the same label.
///
/// # Panics
/// If the size is zero, or there are more than 2³² blocks.
pub fn block_labels(n: usize, size: usize) -> Vec<u32> {
    (0..n).map(|i| u32::try_from(i / size).expect("fewer blocks")).collect()
}

/// Visits pairs at their minimum images. Buffers are reused between calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct PairSearch {
    search: NeighbourSearch<Exact>,
    near: Neighbourhood,
}

impl PairSearch {
    pub(crate) fn new(set: InstructionSet) -> Self {
        PairSearch { search: NeighbourSearch::new(set), ..Default::default() }
    }

    pub(crate) fn instructions(&self) -> InstructionSet {
        self.search.instructions()
    }

    /// Visits the pairs within the reach of the visitor, at their minimum images if there is a cell. Pairs of one group are
    /// visited once, and no atom with itself. Excluded pairs are left out; what excludes them is given per atom.
    ///
    /// For two groups, the atom of the smaller group comes first in each pair; see [`Groups::swapped`].
    ///
    /// # Errors
    /// [`Misplaced`]; nothing is visited then.
    ///
    /// # Panics
    /// If the number of labels is not that of the atoms, or the number of coordinates is not a multiple of three.
    pub(crate) fn visit(
        &mut self,
        cell: Option<&Cell>,
        groups: Groups<'_>,
        excluded: Excluded<'_>,
        visitor: &mut impl PairVisitor,
    ) -> Result<(), Misplaced> {
        let (first, second) = groups.positions();
        let [a, b] = [first, second].map(|positions| {
            let (triples, rest) = positions.as_chunks::<3>();
            assert!(rest.is_empty(), "positions come in threes");
            Atoms::all(triples)
        });
        let sizes = [first.len() / 3, second.len() / 3];
        assert!(excluded.fits(sizes), "one label an atom");
        let (is_one, homes) = (matches!(groups, Groups::Same(_)), usize::from(groups.swapped()));
        let groups = match is_one {
            true => neighbours::Groups::One(a),
            false => neighbours::Groups::Two { groups: [a, b], homes },
        };
        let fineness = Fineness::of_occupancy(sizes[0].max(sizes[1]));
        let placed = self.search.place(cell, groups, visitor.reach(), fineness, Missing::Refuse);
        placed.map_err(PlaceError::misplaced)?;
        let excluded = if homes == 1 { excluded.swapped() } else { excluded };
        let mut scan = PairScan { near: &mut self.near, visitor, excluded, is_one };
        self.search.visit(&mut scan).unwrap_or_else(|refused| refused.abort());
        Ok(())
    }
}

impl<'a> Groups<'a> {
    /// Returns whether visitors get the atom of the second group first. The neighbourhood of a grid cell is gathered
    /// once for all of its atoms: the fewer of these cells, the better.
    pub(crate) fn swapped(self) -> bool {
        matches!(self, Groups::Two(a, b) if a.len() > b.len())
    }

    /// Returns the positions of the first and of the second group.
    pub(crate) fn positions(self) -> (&'a [f32], &'a [f32]) {
        match self {
            Groups::Same(a) => (a, a),
            Groups::Two(a, b) => (a, b),
        }
    }
}

/// Counts distances by bin.
struct CountInBins<'a> {
    bins: &'a Bins,
    histogram: &'a mut Histogram,
    /// Buffer for the slots of distances.
    slots: &'a mut Vec<[u32; CHUNK]>,
}

multiversion! {
    fn scan_bins<'a, 'b>(
        homes: &Homes<'a>, near: &mut Neighbourhood, visitor: &mut CountInBins<'b>,
    ) = scan_of
}

impl PairVisitor for CountInBins<'_> {
    fn reach(&self) -> f64 {
        self.bins.reach()
    }

    #[inline(always)]
    fn visit(&mut self, candidates: &Candidates<'_>) {
        let n = candidates.len();
        self.slots.resize(self.slots.len().max(n), [0; CHUNK]);
        let slots = &mut self.slots[..n];
        let (bins, fast) = (self.bins, self.bins.fast());
        candidates.each(|at, squares| fast.slots(bins, squares, &mut slots[at]));
        self.histogram.add(slots);
    }

    fn scan(&mut self, set: InstructionSet, homes: &Homes<'_>, near: &mut Neighbourhood) {
        scan_bins(set, homes, near, self);
    }
}

/// Counts pairs by distance. Buffers are reused between calls.
#[derive(Clone, Debug, Default)]
pub struct PairCounter {
    search: PairSearch,
    histogram: Histogram,
    slots: Vec<[u32; CHUNK]>,
}

impl PairCounter {
    /// Returns a counter that uses these instructions; [`Default`] uses the best.
    pub fn new(set: InstructionSet) -> Self {
        PairCounter { search: PairSearch::new(set), ..Default::default() }
    }

    /// Adds to `counts` the number of pairs whose minimum-image distance lies in each of the bins. Pairs of atoms with
    /// the same label are excluded. Labels are given per atom, for the first and for the second group; for
    /// [`Groups::Same`] these may be two different labellings of one group.
    ///
    /// # Errors
    /// [`Misplaced`]; nothing is counted then.
    ///
    /// # Panics
    /// If the number of counts is not that of the bins, the number of labels is not that of the atoms, or the number of
    /// coordinates is not a multiple of three.
    pub fn count(
        &mut self,
        cell: &Cell,
        groups: Groups<'_>,
        labels: Option<[&[u32]; 2]>,
        bins: &Bins,
        counts: &mut [u64],
    ) -> Result<(), Misplaced> {
        assert_eq!(counts.len(), bins.count(), "one count a bin");
        // If a pair is excluded in one order only, the two halves differ.
        let groups = match groups {
            Groups::Same(a) if labels.is_some_and(|[first, second]| first != second) => {
                Groups::Two(a, a)
            }
            other => other,
        };
        self.histogram.reset(bins);
        let mut visitor =
            CountInBins { bins, histogram: &mut self.histogram, slots: &mut self.slots };
        let excluded = Excluded { labels, locations: None };
        self.search.visit(Some(cell), groups, excluded, &mut visitor)?;
        let Groups::Same(atoms) = groups else {
            self.histogram.add_to(counts, 1);
            return Ok(());
        };
        self.histogram.add_to(counts, 2);
        // Each atom with itself. With labels, such pairs are excluded.
        if labels.is_none() {
            self.histogram.reset(bins);
            self.histogram.add_zero(bins);
            self.histogram.add_to(counts, atoms.len() as u64 / 3);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::tests::{cells, cells_with_boundaries};
    use crate::reference;
    use proptest::prelude::*;

    /// Distances this close to an edge (Å) may fall on either side.
    const ROUNDING: f64 = 1e-6;

    fn counted(
        set: InstructionSet,
        cell: &Cell,
        groups: Groups<'_>,
        labels: Option<[&[u32]; 2]>,
        bins: &Bins,
    ) -> Vec<u64> {
        let mut counts = vec![0; bins.count()];
        PairCounter::new(set).count(cell, groups, labels, bins, &mut counts).unwrap();
        counts
    }

    /// Fails unless the counts are those of the distances, except for distances next to an edge.
    fn check(counts: &[u64], distances: &[f64], bins: &Bins) -> Result<(), TestCaseError> {
        let edges = bins.edges();
        let below = |limit: f64| distances.iter().filter(|&&d| d < limit).count() as u64;
        // Distances are never below zero, whatever the rounding.
        let first = match edges[0] > 0.0 {
            true => (below(edges[0] - ROUNDING), below(edges[0] + ROUNDING)),
            false => (0, 0),
        };
        for n in 1..=counts.len() {
            let sum: u64 = counts[..n].iter().sum();
            let least = below(edges[n] - ROUNDING).saturating_sub(first.1);
            let most = below(edges[n] + ROUNDING) - first.0;
            prop_assert!((least..=most).contains(&sum), "{} {} {} up to {}", least, sum, most, n);
        }
        Ok(())
    }

    /// Positions in the cell, around it and far away, some of them identical.
    fn positions(n: std::ops::Range<usize>) -> impl Strategy<Value = Vec<f32>> {
        let x = || prop_oneof![4 => 0.0..60.0f32, 2 => -300.0..300.0f32, 1 => Just(5.0f32), 1 => -1e-9..1e-9f32];
        prop::collection::vec([x(), x(), x()], n).prop_map(|points| points.concat())
    }

    fn bins() -> impl Strategy<Value = Bins> {
        let range = prop_oneof![
            (Just(0.0), 0.5..20.0f64),
            (Just(0.0), 0.5..150.0f64),
            (0.0..20.0f64, 0.5..20.0f64),
            (-3.0..0.0f64, 5.0..9.0f64),
        ];
        (1..120usize, range)
            .prop_map(|(n, (first, width))| Bins::new(n, (first, first + width)).unwrap())
    }

    fn block_sizes() -> impl Strategy<Value = Option<[usize; 2]>> {
        prop::option::of([1..5usize, 1..5usize])
    }

    // The reference compares all pairs.
    proptest! {
        #[test]
        fn counts_in_cells_with_any_boundaries_equal_the_double_loop(
            cell in cells_with_boundaries(),
            a in positions(0..40),
            b in positions(0..40),
            longest in 0.1..80.0f64,
        ) {
            let bins = Bins::new(20, (0.0, longest)).unwrap();
            let counts = counted(InstructionSet::default(), &cell, Groups::Two(&a, &b), None, &bins);
            let mut distances = Vec::new();
            for p in a.as_chunks::<3>().0 {
                for q in b.as_chunks::<3>().0 {
                    let (p, q) = (p.map(f64::from), q.map(f64::from));
                    distances.push(reference::distance_squared_in(&cell, p, q).sqrt());
                }
            }
            let is_near_an_edge =
                |d: &f64| bins.edges().iter().any(|edge| (d - edge).abs() < 1e-6 * (1.0 + d));
            prop_assume!(!distances.iter().any(is_near_an_edge));
            prop_assert_eq!(counts, reference::histogram(&distances, bins.edges()));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn many_atoms_on_a_fine_grid_equal_the_reference(
            numbers in cells(),
            fractions in prop::collection::vec([0.0..1.0f64, 0.0..1.0f64, 0.0..1.0f64], 100..300),
            shift in [-2..=2i32, -2..=2i32, -2..=2i32],
            part in 0.02..0.6f64,
        ) {
            let cell = Cell::new(numbers).unwrap();
            let place = |f: &[f64; 3]| {
                let f = [0, 1, 2].map(|k| f[k] + f64::from(shift[k]));
                let [a, b, c] = cell.vectors();
                [0, 1, 2].map(|k| (f[0] * a[k] + f[1] * b[k] + f[2] * c[k]) as f32)
            };
            let a: Vec<f32> = fractions.iter().flat_map(place).collect();
            let bins = Bins::new(40, (0.0, part * cell.volume().cbrt())).unwrap();
            let same = counted(InstructionSet::default(), &cell, Groups::Same(&a), None, &bins);
            let distances = reference::pair_distances(cell.vectors(), &a, &a, None);
            check(&same, &distances, &bins)?;
            // In another order, and some of the atoms paired with all.
            let mut turned = a.clone();
            turned.rotate_left(30);
            let other = counted(InstructionSet::default(), &cell, Groups::Same(&turned), None, &bins);
            prop_assert_eq!(&same, &other);
            let some = counted(InstructionSet::default(), &cell, Groups::Two(&a[..60], &a), None, &bins);
            let rest = counted(InstructionSet::default(), &cell, Groups::Two(&a[60..], &a), None, &bins);
            let sum: Vec<u64> = some.iter().zip(&rest).map(|(x, y)| x + y).collect();
            prop_assert_eq!(&same, &sum);
        }
    }

    proptest! {
        #[test]
        fn two_groups_equal_the_reference_on_every_instruction_set(
            numbers in cells(),
            a in positions(0..40),
            b in positions(0..40),
            bins in bins(),
            sizes in block_sizes(),
        ) {
            let cell = Cell::new(numbers).unwrap();
            let [la, lb] = sizes.map_or([vec![], vec![]], |[i, j]| {
                [block_labels(a.len() / 3, i), block_labels(b.len() / 3, j)]
            });
            let labels = sizes.map(|_| [&la[..], &lb[..]]);
            let counts = counted(InstructionSet::SCALAR, &cell, Groups::Two(&a, &b), labels, &bins);
            let distances = reference::pair_distances(cell.vectors(), &a, &b, labels);
            check(&counts, &distances, &bins)?;
            let swapped = labels.map(|[a, b]| [b, a]);
            for set in InstructionSet::available() {
                let again = counted(set, &cell, Groups::Two(&a, &b), labels, &bins);
                prop_assert_eq!(&counts, &again, "{:?}", set);
                let again = counted(set, &cell, Groups::Two(&b, &a), swapped, &bins);
                prop_assert_eq!(&counts, &again, "{:?}, in the other order", set);
            }
        }

        #[test]
        fn one_group_equals_two_equal_groups(
            numbers in cells(),
            a in positions(0..100),
            bins in bins(),
            sizes in block_sizes(),
        ) {
            let cell = Cell::new(numbers).unwrap();
            let n = a.len() / 3;
            let labels = sizes.map(|sizes| sizes.map(|size| block_labels(n, size)));
            let labels = labels.as_ref().map(|[i, j]| [&i[..], &j[..]]);
            for set in InstructionSet::available() {
                let two = counted(set, &cell, Groups::Two(&a, &a), labels, &bins);
                let same = counted(set, &cell, Groups::Same(&a), labels, &bins);
                prop_assert_eq!(two, same, "{:?}", set);
            }
        }

        #[test]
        fn the_distance_of_a_pair_does_not_depend_on_which_comes_first(
            numbers in cells(), a in positions(2..30), b in positions(2..30)
        ) {
            // Bins so narrow that the last bits of the distance matter.
            let cell = Cell::new(numbers).unwrap();
            let point = |p: &[f32]| [0, 1, 2].map(|k| f64::from(p[k]));
            let distance = cell.distance_squared(point(&a), point(&b)).sqrt();
            let Some(bins) = Bins::new(2000, (distance - 1e-11, distance + 1e-11)) else {
                return Ok(());
            };
            let set = InstructionSet::default();
            let counts = counted(set, &cell, Groups::Two(&a, &b), None, &bins);
            prop_assert_eq!(&counts, &counted(set, &cell, Groups::Two(&b, &a), None, &bins));
            if numbers[3..] == [90.0; 3] && a[..3].iter().chain(&b[..3]).all(|x| x.abs() < 60.0) {
                prop_assert!(counts.iter().sum::<u64>() > 0, "found there");
            }
            let all = [&a[..], &b[..]].concat();
            let counts = counted(set, &cell, Groups::Same(&all), None, &bins);
            prop_assert_eq!(&counts, &counted(set, &cell, Groups::Two(&all, &all), None, &bins));
            let turned = [&b[..], &a[..]].concat();
            prop_assert_eq!(&counts, &counted(set, &cell, Groups::Same(&turned), None, &bins));
        }

        #[test]
        fn exact_distances_are_binned_exactly(
            lengths in [4..40i32, 4..40i32, 4..40i32],
            points in prop::collection::vec([-200..200i32, -200..200i32, -200..200i32], 0..60),
            reach in 1..100i32,
        ) {
            // Lengths in quarters: differences and squares are exact, and many distances are on edges.
            let [x, y, z] = lengths.map(f64::from);
            let cell = Cell::new([x, y, z, 90.0, 90.0, 90.0]).unwrap();
            let a: Vec<f32> = points.iter().flatten().map(|&q| q as f32 / 4.0).collect();
            let bins = Bins::new(reach as usize, (0.0, f64::from(reach) / 4.0)).unwrap();
            let counts = counted(InstructionSet::default(), &cell, Groups::Same(&a), None, &bins);
            let distances = reference::pair_distances(cell.vectors(), &a, &a, None);
            prop_assert_eq!(counts, reference::histogram(&distances, bins.edges()));
        }

        #[test]
        fn a_range_beyond_the_cell_counts_each_pair_once(
            numbers in cells(), a in positions(0..60), b in positions(0..60)
        ) {
            let cell = Cell::new(numbers).unwrap();
            let bins = Bins::new(10, (0.0, 1e6)).unwrap();
            let (n, m) = (a.len() as u64 / 3, b.len() as u64 / 3);
            let two = counted(InstructionSet::default(), &cell, Groups::Two(&a, &b), None, &bins);
            prop_assert_eq!(two.iter().sum::<u64>(), n * m);
            let same = counted(InstructionSet::default(), &cell, Groups::Same(&a), None, &bins);
            prop_assert_eq!(same.iter().sum::<u64>(), n * n);
        }

        #[test]
        fn any_position_is_counted_or_refused(
            numbers in cells(), a in prop::collection::vec(any::<[f32; 3]>(), 0..20)
        ) {
            let cell = Cell::new(numbers).unwrap();
            let bins = Bins::new(10, (0.0, 1e6)).unwrap();
            let mut counts = vec![0; 10];
            let result = PairCounter::default().count(
                &cell, Groups::Same(a.as_flattened()), None, &bins, &mut counts
            );
            let n = a.len() as u64;
            match result {
                Ok(()) => prop_assert_eq!(counts.iter().sum::<u64>(), n * n),
                Err(Misplaced { group, atom }) => {
                    prop_assert_eq!(group, 0);
                    let limit = 1e6 * cell.heights().into_iter().fold(f64::INFINITY, f64::min);
                    let far = |p: &[f32; 3]| p.iter().any(|&x| x.is_nan() || f64::from(x.abs()) > limit);
                    prop_assert!(far(&a[atom]), "{:?}", a[atom]);
                    prop_assert_eq!(counts.iter().sum::<u64>(), 0);
                }
            }
        }
    }

    /// A crystal of `n` cells a side, one atom each.
    fn crystal(n: usize, spacing: f64, angle: f64) -> (Cell, Vec<f32>) {
        let unit = Cell::new([spacing, spacing, spacing, angle, angle, angle]).unwrap();
        let length = spacing * n as f64;
        let cell = Cell::new([length, length, length, angle, angle, angle]).unwrap();
        let [a, b, c] = *unit.vectors();
        let places = (0..n * n * n).map(|at| [at % n, at / n % n, at / n / n].map(|i| i as f64));
        let atom = |[i, j, k]: [f64; 3]| [0, 1, 2].map(|x| (i * a[x] + j * b[x] + k * c[x]) as f32);
        (cell, places.flat_map(atom).collect())
    }

    #[test]
    fn shells_of_crystals_are_known() {
        // Simple cubic: shells at the roots of 1, 2, 3, 4, 5, 6; face-centred cubic the same.
        for (angle, shells) in [(90.0, [6, 12, 8, 6, 24, 24]), (60.0, [12, 6, 24, 12, 24, 8])] {
            let (cell, atoms) = crystal(12, 3.0, angle);
            let n = atoms.len() as u64 / 3;
            for (shell, neighbours) in shells.into_iter().enumerate() {
                let distance = 3.0 * ((shell + 1) as f64).sqrt();
                let bins = Bins::new(3, (distance - 0.15, distance + 0.15)).unwrap();
                let counts =
                    counted(InstructionSet::default(), &cell, Groups::Same(&atoms), None, &bins);
                assert_eq!(counts, [0, n * neighbours, 0], "{angle} {distance}");
            }
        }
    }

    #[test]
    fn the_distance_of_an_atom_to_itself_is_zero() {
        let (cell, atoms) = crystal(4, 5.0, 90.0);
        let bins = Bins::new(2, (0.0, 2.0)).unwrap();
        let count =
            |groups, labels| counted(InstructionSet::default(), &cell, groups, labels, &bins);
        assert_eq!(count(Groups::Same(&atoms), None), [64, 0]);
        assert_eq!(count(Groups::Two(&atoms[..30], &atoms), None), [10, 0]);
        let own = block_labels(64, 1);
        assert_eq!(count(Groups::Same(&atoms), Some([&own, &own])), [0, 0]);
        let bins = Bins::new(2, (0.1, 2.0)).unwrap();
        assert_eq!(
            counted(InstructionSet::default(), &cell, Groups::Same(&atoms), None, &bins),
            [0, 0]
        );
    }

    #[test]
    fn excluded_blocks_are_not_counted() {
        // Molecules of three atoms, 1 Å apart, in a row of molecules 10 Å apart.
        let cell = Cell::new([40.0, 40.0, 40.0, 90.0, 90.0, 90.0]).unwrap();
        let atoms: Vec<f32> =
            (0..12).flat_map(|i| [10.0 * (i / 3) as f32 + (i % 3) as f32, 0.0, 0.0]).collect();
        let bins = Bins::new(10, (0.5, 10.5)).unwrap();
        let molecules = block_labels(12, 3);
        let count =
            |labels| counted(InstructionSet::default(), &cell, Groups::Same(&atoms), labels, &bins);
        assert_eq!(count(None), [16, 8, 0, 0, 0, 0, 0, 8, 16, 24]);
        assert_eq!(count(Some([&molecules, &molecules])), [0, 0, 0, 0, 0, 0, 0, 8, 16, 24]);
    }

    #[test]
    fn counts_are_added_and_buffers_reused() {
        let (cell, atoms) = crystal(6, 3.0, 90.0);
        let (small, few) = crystal(2, 7.0, 60.0);
        let bins = Bins::new(3, (2.0, 8.0)).unwrap();
        let mut counter = PairCounter::default();
        let mut counts = vec![7; 3];
        let labels = block_labels(8, 2);
        counter.count(&cell, Groups::Same(&atoms), None, &bins, &mut counts).unwrap();
        counter
            .count(&small, Groups::Two(&few, &few), Some([&labels, &labels]), &bins, &mut counts)
            .unwrap();
        counter.count(&cell, Groups::Two(&atoms[..9], &atoms), None, &bins, &mut counts).unwrap();
        let alone = [
            counted(InstructionSet::SCALAR, &cell, Groups::Same(&atoms), None, &bins),
            counted(
                InstructionSet::SCALAR,
                &small,
                Groups::Two(&few, &few),
                Some([&labels, &labels]),
                &bins,
            ),
            counted(InstructionSet::SCALAR, &cell, Groups::Two(&atoms[..9], &atoms), None, &bins),
        ];
        for k in 0..3 {
            assert_eq!(counts[k], 7 + alone.iter().map(|counts| counts[k]).sum::<u64>());
        }
    }

    #[test]
    fn misplaced_atoms_are_named_and_nothing_is_counted() {
        let (cell, atoms) = crystal(4, 5.0, 60.0);
        let bins = Bins::new(2, (0.0, 12.0)).unwrap();
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e30, f32::MIN] {
            let mut broken = atoms.clone();
            broken[17 * 3 + 1] = bad;
            broken[40 * 3] = bad;
            for (groups, group) in [
                (Groups::Same(&broken[..]), 0),
                (Groups::Two(&broken, &atoms), 0),
                (Groups::Two(&atoms, &broken), 1),
                (Groups::Two(&atoms[..3], &broken), 1),
            ] {
                for set in InstructionSet::available() {
                    let mut counts = vec![0; 2];
                    let result =
                        PairCounter::new(set).count(&cell, groups, None, &bins, &mut counts);
                    assert_eq!(result, Err(Misplaced { group, atom: 17 }), "{bad}");
                    assert_eq!(counts, [0, 0]);
                }
            }
        }
    }

    #[test]
    fn atoms_far_from_the_cell_are_wrapped() {
        let cell = Cell::new([16.0, 16.0, 32.0, 90.0, 90.0, 90.0]).unwrap();
        let atoms = [1.0, 1.0, 1.0, 1.0 + 16.0 * 65536.0, 1.0, 2.0 - 32.0 * 32768.0];
        let bins = Bins::new(2, (0.5, 1.5)).unwrap();
        assert_eq!(
            counted(InstructionSet::default(), &cell, Groups::Same(&atoms), None, &bins),
            [0, 2]
        );
    }

    #[test]
    fn boxes_of_realistic_size_equal_the_reference() {
        for angles in
            [[90.0, 90.0, 90.0], [60.0, 60.0, 90.0], [90.0, 90.0, 120.0], [70.5, 109.5, 70.5]]
        {
            let [alpha, beta, gamma] = angles;
            let cell = Cell::new([41.0, 42.0, 43.0, alpha, beta, gamma]).unwrap();
            // Multiples of irrational numbers fill a box evenly, without order. Three make a molecule.
            let part = |i: i32, root: f64| (f64::from(i / 3) * root.sqrt()).fract() * 50.0;
            let atom = |i: i32| [2.0, 3.0, 5.0].map(|root| part(i, root) as f32 + (i % 3) as f32);
            let atoms: Vec<f32> = (0..450).flat_map(atom).collect();
            let molecules = block_labels(450, 3);
            for labels in [None, Some([&molecules[..], &molecules])] {
                let distances = reference::pair_distances(cell.vectors(), &atoms, &atoms, labels);
                for reach in [4.0, 9.0, 14.0, 23.0] {
                    let bins = Bins::new(75, (0.0, reach)).unwrap();
                    for groups in [Groups::Same(&atoms[..]), Groups::Two(&atoms, &atoms)] {
                        let counts =
                            counted(InstructionSet::default(), &cell, groups, labels, &bins);
                        check(&counts, &distances, &bins).unwrap();
                    }
                }
            }
        }
    }

    #[test]
    fn thin_cells_are_searched_through_many_shifts() {
        // A sheet and a needle, both thinner than the range.
        for lengths in [[4.0, 5.0, 300.0], [4.0, 200.0, 300.0]] {
            let [x, y, z] = lengths;
            let cell = Cell::new([x, y, z, 80.0, 70.0, 65.0]).unwrap();
            let place = |i: i32| [i as f32 * 1.7, i as f32 * 3.9, i as f32 * 7.3];
            let atoms: Vec<f32> = (0..200).flat_map(place).collect();
            let bins = Bins::new(60, (0.0, 60.0)).unwrap();
            let counts =
                counted(InstructionSet::default(), &cell, Groups::Same(&atoms), None, &bins);
            let distances = reference::pair_distances(cell.vectors(), &atoms, &atoms, None);
            check(&counts, &distances, &bins).unwrap();
        }
    }
}
