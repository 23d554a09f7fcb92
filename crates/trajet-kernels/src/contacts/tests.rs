use std::ops::Range;

use proptest::prelude::*;

use super::*;
use crate::cell::tests::{cells, cells_with_boundaries};
use crate::exclusion::AltLocation;
use crate::pairs::block_labels;
use crate::reference;

/// Distances this close to the cut-off (Å) may fall on either side.
const ROUNDING: f64 = 1e-6;

/// Positions in the cell, around it and far away, some of them identical.
fn positions(n: Range<usize>) -> impl Strategy<Value = Vec<f32>> {
    let x = || prop_oneof![6 => 0.0..60.0f32, 1 => -300.0..300.0f32, 1 => Just(5.0f32), 1 => -1e-9..1e-9f32];
    prop::collection::vec([x(), x(), x()], n).prop_map(|points| points.concat())
}

/// Cells of all shapes, also of those that are not periodic in some directions, and no cell.
fn any_cell() -> impl Strategy<Value = Option<Cell>> {
    let cell = prop_oneof![
        cells().prop_map(|numbers| Cell::new(numbers).unwrap()),
        cells_with_boundaries(),
    ];
    prop::option::of(cell)
}

/// Locations of few residues, so that many pairs are excluded.
fn location() -> impl Strategy<Value = AltLocation> {
    (0..4u32, 0..4u32).prop_map(|(residue, location)| AltLocation { residue, location })
}

/// Every pair with its distance, from a double loop.
fn naive(cell: Option<&Cell>, groups: Groups<'_>, excluded: Excluded<'_>) -> Vec<([u32; 2], f64)> {
    let (a, b) = groups.positions();
    let same = matches!(groups, Groups::Same(_));
    let distances = reference::distances(cell, a, b);
    let n = b.len() / 3;
    let pairs = (0..a.len() / 3).flat_map(|i| (0..n).map(move |j| (i, j)));
    pairs
        .filter(|&(i, j)| !same || i < j)
        .filter(|&(i, j)| !excluded.has(i, j))
        .map(|(i, j)| ([i as u32, j as u32], distances[i * n + j]))
        .collect()
}

fn check(
    cell: Option<&Cell>,
    groups: Groups<'_>,
    excluded: Excluded<'_>,
    cutoff: f64,
) -> Result<(), TestCaseError> {
    let all = naive(cell, groups, excluded);
    let within = |limit: f64| all.iter().filter(move |(_, d)| *d <= limit).map(|(pair, _)| *pair);
    let least: Vec<[u32; 2]> = within(cutoff - ROUNDING).collect();
    let most: Vec<[u32; 2]> = within(cutoff + ROUNDING).collect();
    let shortest = all.iter().map(|(_, d)| *d).min_by(f64::total_cmp);
    let mut first = None;
    for set in InstructionSet::available() {
        let mut finder = ContactFinder::new(set);
        let pairs = finder.pairs(cell, groups, excluded, cutoff).unwrap();
        prop_assert!(least.iter().all(|pair| pairs.contains(pair)), "{set:?}: {least:?} {pairs:?}");
        prop_assert!(pairs.iter().all(|pair| most.contains(pair)), "{set:?}: {pairs:?} {most:?}");
        prop_assert!(pairs.is_sorted_by(|x, y| x < y), "each pair once");
        let count = finder.count(cell, groups, excluded, cutoff).unwrap();
        prop_assert_eq!(count, pairs.len() as u64);
        let nearest = finder.nearest(cell, groups, excluded).unwrap();
        prop_assert_eq!(nearest.is_some(), shortest.is_some());
        if let (Some(nearest), Some(shortest)) = (nearest, shortest) {
            prop_assert!((nearest.distance - shortest).abs() < 1e-7, "{nearest:?} {shortest}");
            let own = all.iter().find(|(pair, _)| *pair == nearest.atoms);
            prop_assert!(own.is_some_and(|(_, d)| (d - nearest.distance).abs() < 1e-7));
        }
        let bits = nearest.map(|nearest| (nearest.distance.to_bits(), nearest.atoms));
        prop_assert_eq!(first.get_or_insert((bits, pairs.clone())), &(bits, pairs));
    }
    Ok(())
}

proptest! {
    #[test]
    fn contacts_equal_the_double_loop_on_every_instruction_set(
        cell in any_cell(),
        a in positions(0..60),
        b in positions(0..60),
        cutoff in prop_oneof![0.0..20.0f64, 0.0..150.0f64],
        sizes in prop::option::of([1..5usize, 1..5usize]),
        locations in prop::collection::vec(location(), 1..60),
        has_locations in any::<bool>(),
    ) {
        let label = |p: &[f32], k: usize| sizes.map(|s| block_labels(p.len() / 3, s[k]));
        let (la, lb) = (label(&a, 0), label(&b, 1));
        let labels = la.as_deref().zip(lb.as_deref()).map(|(x, y)| [x, y]);
        let located = |p: &[f32]| locations.iter().copied().cycle().take(p.len() / 3).collect::<Vec<_>>();
        let (of_a, of_b) = (located(&a), located(&b));
        let of_two = has_locations.then_some([&of_a[..], &of_b[..]]);
        let two = Excluded { labels, locations: of_two };
        check(cell.as_ref(), Groups::Two(&a, &b), two, cutoff)?;
        check(cell.as_ref(), Groups::Two(&b, &a), two.swapped(), cutoff)?;
        let labels = la.as_deref().map(|x| [x, x]);
        let own = Excluded { labels, locations: of_two.map(|[x, _]| [x, x]) };
        check(cell.as_ref(), Groups::Same(&a), own, cutoff)?;
    }

    #[test]
    fn distant_groups_have_a_nearest_pair(
        cell in any_cell(),
        a in positions(1..40),
        b in positions(1..40),
        away in prop::array::uniform3(-2e3..2e3f32),
    ) {
        let moved: Vec<f32> = b.as_chunks::<3>().0.iter().flat_map(|p| [0, 1, 2].map(|k| p[k] + away[k])).collect();
        check(cell.as_ref(), Groups::Two(&a, &moved), Excluded::default(), 3.0)?;
    }

    #[test]
    fn exact_distances_at_the_cut_off_are_contacts(
        points in prop::collection::vec([-40..40i32, -40..40i32, -40..40i32], 0..60),
        lengths in prop::option::of([4..40i32, 4..40i32, 4..40i32]),
        cutoff in 0..60i32,
    ) {
        // Lengths in quarters: differences and squares are exact, and many distances are at the cut-off.
        let cell = lengths.map(|lengths| {
            let [x, y, z] = lengths.map(f64::from);
            Cell::new([x, y, z, 90.0, 90.0, 90.0]).unwrap()
        });
        let a: Vec<f32> = points.iter().flatten().map(|&q| q as f32 / 4.0).collect();
        let cutoff = f64::from(cutoff) / 4.0;
        let all = naive(cell.as_ref(), Groups::Same(&a), Excluded::default());
        let want: Vec<[u32; 2]> = all.iter().filter(|(_, d)| *d <= cutoff).map(|(pair, _)| *pair).collect();
        let got = ContactFinder::default().pairs(cell.as_ref(), Groups::Same(&a), Excluded::default(), cutoff).unwrap();
        prop_assert_eq!(got, want);
        // Of several nearest pairs, the first.
        let nearest = ContactFinder::default().nearest(cell.as_ref(), Groups::Same(&a), Excluded::default()).unwrap();
        let first = all.iter().min_by(|x, y| x.1.total_cmp(&y.1).then(x.0.cmp(&y.0)));
        prop_assert_eq!(nearest, first.map(|&(atoms, distance)| Nearest { distance, atoms }));
    }

    #[test]
    fn any_position_is_searched_or_refused(
        numbers in prop::option::of(cells()), a in prop::collection::vec(any::<[f32; 3]>(), 0..20)
    ) {
        let cell = numbers.map(|numbers| Cell::new(numbers).unwrap());
        let mut finder = ContactFinder::default();
        let groups = Groups::Same(a.as_flattened());
        let counted = finder.count(cell.as_ref(), groups, Excluded::default(), 1e30);
        let nearest = finder.nearest(cell.as_ref(), groups, Excluded::default());
        let finite = a.iter().flatten().all(|x| x.is_finite());
        if finite && a.iter().flatten().all(|x| x.abs() < 1e6) {
            let n = a.len() as u64;
            prop_assert_eq!(counted, Ok(n * n.saturating_sub(1) / 2));
        }
        if !finite {
            prop_assert!(counted.is_err());
            prop_assert!(nearest.is_err() || a.len() < 2);
        }
    }
}

#[test]
fn tags_are_given_for_each_pair_in_order() {
    // Two rows of three atoms, 1 Å apart; the second row is 1 Å above the first.
    let row = |y: f32| (0..3).flat_map(move |i| [i as f32, y, 0.0]).collect::<Vec<f32>>();
    let (a, b) = (row(0.0), row(1.0));
    let mut finder = ContactFinder::default();
    let mut found = Vec::new();
    let tags = [&[7, 8, 9][..], &[4, 5, 6]];
    let groups = Groups::Two(&a, &b);
    finder
        .each_tags(None, groups, Excluded::default(), tags, 1.0, &mut |pair| found.push(pair))
        .unwrap();
    found.sort_unstable();
    assert_eq!(found, [[7, 4], [8, 5], [9, 6]]);
    found.clear();
    let both = [&b[..], &a[..3]].concat();
    let groups = Groups::Two(&both, &a);
    let tags = [&[1, 2, 3, 4][..], &[7, 8, 9]];
    finder
        .each_tags(None, groups, Excluded::default(), tags, 1.0, &mut |pair| found.push(pair))
        .unwrap();
    found.sort_unstable();
    assert_eq!(found, [[1, 7], [2, 8], [3, 9], [4, 7], [4, 8]]);
    found.clear();
    let tags = [&[5, 1, 3][..]; 2];
    finder
        .each_tags(None, Groups::Same(&a), Excluded::default(), tags, 1.0, &mut |pair| {
            found.push(pair)
        })
        .unwrap();
    found.sort_unstable();
    assert_eq!(found, [[1, 3], [1, 5]]);
}

#[test]
fn misplaced_atoms_are_named() {
    let cell = Cell::new([20.0, 20.0, 20.0, 90.0, 90.0, 90.0]).unwrap();
    let good: Vec<f32> = (0..60).map(|i| i as f32 / 3.0).collect();
    for (cell, bad) in [(None, f32::NAN), (Some(&cell), f32::NAN), (None, f32::INFINITY)] {
        let mut broken = good.clone();
        broken[3 * 11 + 1] = bad;
        for (groups, group) in [
            (Groups::Same(&broken[..]), 0),
            (Groups::Two(&broken, &good), 0),
            (Groups::Two(&good, &broken), 1),
        ] {
            let wrong = Misplaced { group, atom: 11 };
            let mut finder = ContactFinder::default();
            assert_eq!(finder.count(cell, groups, Excluded::default(), 5.0), Err(wrong));
            assert_eq!(finder.nearest(cell, groups, Excluded::default()), Err(wrong));
        }
    }
}

#[test]
fn an_atom_far_away_changes_no_contact_of_others() {
    let row: Vec<f32> = (0..40).flat_map(|i| [1.5 * i as f32, 0.0, 0.0]).collect();
    let with_far = [&row[..], &[1e30, -1e30, 3e38]].concat();
    let mut finder = ContactFinder::default();
    for (atoms, cutoff) in [(&row, 3.0), (&with_far, 3.0), (&with_far, 4.4)] {
        assert_eq!(
            finder.count(None, Groups::Same(atoms), Excluded::default(), cutoff),
            Ok(39 + 38),
            "{cutoff}"
        );
    }
    let nearest =
        finder.nearest(None, Groups::Same(&with_far), Excluded::default()).unwrap().unwrap();
    assert_eq!(nearest, Nearest { distance: 1.5, atoms: [0, 1] });
}
