use proptest::prelude::*;

use super::*;
use crate::cell::tests::cells;
use crate::reference::interactions::{Found, System};

const LIMITS: Limits = [
    [4.5, 0.0, 0.0, 0.0],
    [3.5, 100.0, 0.0, 0.0],
    [5.5, 35.0, 33.0, 0.0],
    [6.5, 50.0, 30.0, 1.5],
    [4.5, 0.0, 0.0, 0.0],
    [4.5, 30.0, 0.0, 0.0],
    [3.5, 130.0, 80.0, 140.0],
    [2.8, 0.0, 0.0, 0.0],
];
const ALL: u32 = (1 << 14) - 1;
/// Distances (Å) and angles (degrees) this close to a limit may fall on either side.
const ROUNDING: f64 = 1e-4;

/// Residues of a ring and some atoms, with the atoms around these that their roles need, and waters.
#[derive(Clone, Debug)]
struct Sample {
    atoms: Vec<[f32; 3]>,
    chemistry: Chemistry,
    /// Which residues belong to the first group.
    is_first: Vec<bool>,
    waters: Waters,
}

impl Sample {
    fn group(&self, which: bool) -> Vec<u32> {
        let residue = |atom: &u32| self.chemistry.residues[*atom as usize] as usize;
        let is_in = |atom: &u32| self.is_first.get(residue(atom)) == Some(&which);
        (0..self.atoms.len() as u32).filter(is_in).collect()
    }

    fn finder(&self, groups: [Option<&[u32]>; 2], rings: Rings) -> InteractionFinder {
        let waters = Some(self.waters.clone());
        InteractionFinder::new(self.chemistry.clone(), groups, ALL, LIMITS, rings, waters)
    }
}

fn vector(size: f32) -> impl Strategy<Value = [f32; 3]> {
    let x = move || -size..size;
    [x(), x(), x()]
}

/// Samples in a box of some Å.
fn samples() -> impl Strategy<Value = Sample> {
    let atom = (vector(2.0), prop::collection::vec(vector(1.0), 0..3), 0..9u8, 0..9u8);
    let ring = (vector(1.0), vector(1.0), 5..7usize, prop::collection::vec(vector(0.1), 6));
    let residue = (
        vector(5.0),
        prop::collection::vec(atom, 1..5),
        prop::option::weighted(0.8, ring),
        any::<bool>(),
    );
    let water = (vector(6.0), vector(0.8), vector(0.8));
    let residues = prop::collection::vec(residue, 2..8);
    let excluded = prop::collection::vec([0..100u32, 0..100u32], 0..6);
    let waters = prop::collection::vec(water, 0..12);
    (residues, waters, excluded, 1..4u8).prop_map(|(residues, waters, excluded, most)| {
        let mut atoms = Vec::new();
        let (mut of, mut roles, mut radii) = (Vec::new(), Vec::new(), Vec::new());
        let (mut hydrogens, mut neighbours) = (Vec::new(), Vec::new());
        let (mut starts, mut in_rings) = (vec![0], Vec::new());
        let mut push = |at: [f32; 3], by: [f32; 3], residue: usize, role: u16, radius: f32| {
            atoms.push([0, 1, 2].map(|k| at[k] + by[k]));
            of.push(residue as u32);
            roles.push(role);
            radii.push(radius);
            atoms.len() as u32 - 1
        };
        let mut is_first = Vec::new();
        for (residue, (centre, members, ring, first)) in residues.into_iter().enumerate() {
            is_first.push(first);
            for (by, others, one, other) in members {
                let role = 1 << one | 1 << other;
                let own = push(centre, by, residue, role, 1.7);
                let at = [0, 1, 2].map(|k| centre[k] + by[k]);
                for by in others {
                    let other = push(at, by, residue, 0, 1.1);
                    hydrogens.push([own, other]);
                    neighbours.push([own, other]);
                }
            }
            if let Some((x, y, n, noise)) = ring {
                for k in 0..n {
                    let (sin, cos) = (k as f32 / n as f32 * std::f32::consts::TAU).sin_cos();
                    let by = [0, 1, 2].map(|i| 1.5 * (cos * x[i] + sin * y[i]) + noise[k][i]);
                    in_rings.push(push(centre, by, residue, 1, 1.7));
                }
                starts.push(in_rings.len() as u32);
            }
        }
        let mut of_waters = Vec::new();
        for (k, (at, one, other)) in waters.into_iter().enumerate() {
            let residue = is_first.len() + k;
            let oxygen = push(at, [0.0; 3], residue, role::DONOR | role::ACCEPTOR, 1.5);
            of_waters.push(oxygen);
            for by in [one, other] {
                let hydrogen = push(at, by, residue, 0, 1.1);
                of_waters.push(hydrogen);
                hydrogens.push([oxygen, hydrogen]);
            }
        }
        let n = atoms.len();
        let pairs = excluded.into_iter().map(|pair| pair.map(|atom| atom % n as u32));
        let excluded = pairs.flat_map(|[a, b]| [[a, b], [b, a]]).collect();
        let chemistry = Chemistry {
            residues: of,
            roles,
            radii,
            hydrogens: Rows::of_pairs(n, hydrogens),
            neighbours: Rows::of_pairs(n, neighbours),
            excluded: Rows::of_pairs(n, excluded),
            apart: Rows::of_pairs(n, vec![[0, 1], [1, 0]]),
            rings: Rows::new(starts, in_rings),
        };
        Sample { atoms, chemistry, is_first, waters: Waters { atoms: of_waters, most } }
    })
}

/// Returns the interactions of a frame, which every call finds again.
fn find(finder: &InteractionFinder, cell: Option<&Cell>, frame: &[f32]) -> Vec<Found> {
    let (mut buffers, mut found) = (Buffers::default(), Vec::new());
    let keys = |found: &[Interaction]| -> Vec<Found> {
        found.iter().map(|one| (one.kind, one.ends, one.third)).collect()
    };
    finder.find(cell, frame, &mut buffers, &mut found).unwrap();
    let first = keys(&found);
    finder.find(cell, frame, &mut buffers, &mut found).unwrap();
    assert_eq!(first, keys(&found));
    assert!(found.iter().all(|one| one.distance.is_nan() || one.distance <= finder.reach()));
    first
}

/// Returns the kind with the groups in the other order.
fn swapped(&(kind, [a, b], third): &Found) -> Found {
    let kind = match kind {
        1 | 5 | 7 | 9 | 11 => kind + 1,
        2 | 6 | 8 | 10 | 12 => kind - 1,
        _ => kind,
    };
    (kind, [b, a], third)
}

fn moved(atoms: &[[f32; 3]], cell: &Cell, shifts: &[[i32; 3]]) -> Vec<f32> {
    let by = |shift: &[i32; 3]| cell.lattice_vector(shift.map(f64::from));
    let pairs = atoms.iter().zip(shifts.iter().cycle());
    pairs
        .flat_map(|(at, shift)| [0, 1, 2].map(|k| (f64::from(at[k]) + by(shift)[k]) as f32))
        .collect()
}

proptest! {
    #[test]
    fn interactions_equal_the_loop_over_all_pairs(
        sample in samples(),
        numbers in cells(),
        has_cell in any::<bool>(),
        shifts in prop::collection::vec([-2..=2i32, -2..=2i32, -2..=2i32], 7),
        is_peer in any::<bool>(),
        is_one in any::<bool>(),
    ) {
        let cell = Cell::new(numbers).unwrap();
        let rings = if is_peer { Rings::Peer } else { Rings::Own };
        let [first, second] = [true, false].map(|which| sample.group(which));
        let all: Vec<u32> = (0..sample.atoms.len() as u32).collect();
        let groups = match is_one {
            true => [Some(&all[..]), None],
            false => [Some(&first[..]), Some(&second[..])],
        };
        let frame = match has_cell {
            true => moved(&sample.atoms, &cell, &shifts),
            false => sample.atoms.as_flattened().to_vec(),
        };
        let cell = Some(&cell).filter(|_| has_cell);
        let system = System {
            vectors: cell.map(Cell::vectors),
            frame: &frame,
            chemistry: &sample.chemistry,
            groups,
            limits: LIMITS,
            rings,
            waters: Some(&sample.waters),
        };
        let naive = system.interactions(ROUNDING);
        if naive == system.interactions(-ROUNDING) {
            prop_assert_eq!(find(&sample.finder(groups, rings), cell, &frame), naive);
        }
    }

    #[test]
    fn groups_in_the_other_order_and_one_group_find_the_same(
        sample in samples(),
        lengths in [16.0..30.0f64, 16.0..30.0f64, 16.0..30.0f64],
        shifts in prop::collection::vec([-2..=2i32, -2..=2i32, -2..=2i32], 7),
    ) {
        let [a, b, c] = lengths;
        let cell = Cell::new([a, b, c, 90.0, 90.0, 90.0]).unwrap();
        let [first, second] = [true, false].map(|which| sample.group(which));
        let frame = sample.atoms.as_flattened();
        let two = [Some(&first[..]), Some(&second[..])];
        let finder = sample.finder(two, Rings::Own);
        let found = find(&finder, Some(&cell), frame);
        let turned = sample.finder([two[1], two[0]], Rings::Own);
        let mut again: Vec<Found> = find(&turned, Some(&cell), frame).iter().map(swapped).collect();
        again.sort_unstable();
        prop_assert_eq!(&again, &found);
        // Pairs of both groups among those of all of their atoms; waters stay outside.
        let mut both = [&first[..], &second].concat();
        both.sort_unstable();
        let n = sample.atoms.len() as u32;
        let chemistry = &sample.chemistry;
        let group = |end: u32| {
            let atom = if end < n { end } else { chemistry.rings.row((end - n) as usize)[0] };
            sample.is_first[chemistry.residues[atom as usize] as usize]
        };
        let one = find(&sample.finder([Some(&both), None], Rings::Own), Some(&cell), frame);
        let mut across: Vec<Found> = one
            .iter()
            .filter(|(_, [a, b], _)| group(*a) != group(*b))
            .map(|found| if group(found.1[0]) { *found } else { swapped(found) })
            .collect();
        across.sort_unstable();
        prop_assert_eq!(&across, &found);
        // Atoms in other images of the cell.
        let system = System {
            vectors: Some(cell.vectors()),
            frame,
            chemistry,
            groups: two,
            limits: LIMITS,
            rings: Rings::Own,
            waters: Some(&sample.waters),
        };
        if system.interactions(ROUNDING) == system.interactions(-ROUNDING) {
            let elsewhere = moved(&sample.atoms, &cell, &shifts);
            prop_assert_eq!(find(&finder, Some(&cell), &elsewhere), found);
        }
    }
}

#[test]
fn many_rings_are_found_by_the_grid() {
    // A sheet of hexagons above another one; their centres are 3.8 Å apart.
    let n = 11;
    let (mut atoms, mut residues, mut starts) = (Vec::new(), Vec::new(), vec![0]);
    for ring in 0..2 * n * n {
        let (layer, x, y) = (ring / (n * n), ring / n % n, ring % n);
        for k in 0..6 {
            let (sin, cos) = (k as f32 / 6.0 * std::f32::consts::TAU).sin_cos();
            let at = [7.0 * x as f32 + 1.4 * cos, 7.0 * y as f32 + 1.4 * sin, 3.8 * layer as f32];
            atoms.push(at);
            residues.push(ring as u32);
        }
        starts.push(atoms.len() as u32);
    }
    let m = atoms.len();
    let chemistry = Chemistry {
        residues,
        roles: vec![0; m],
        radii: Vec::new(),
        hydrogens: Rows::of_pairs(m, Vec::new()),
        neighbours: Rows::of_pairs(m, Vec::new()),
        excluded: Rows::of_pairs(m, Vec::new()),
        apart: Rows::of_pairs(m, Vec::new()),
        rings: Rows::new(starts, (0..m as u32).collect()),
    };
    let all: Vec<u32> = (0..m as u32).collect();
    let groups = [Some(&all[..]), None];
    let kinds = 1 << kind::PI_FACE | 1 << kind::PI_EDGE;
    let finder = InteractionFinder::new(chemistry, groups, kinds, LIMITS, Rings::Own, None);
    let expected: Vec<Found> = (0..(n * n) as u32)
        .map(|ring| (kind::PI_FACE, [m as u32 + ring, (m + n * n) as u32 + ring], NO_ATOM))
        .collect();
    assert_eq!(find(&finder, None, atoms.as_flattened()), expected);
}

#[test]
fn atoms_without_a_place_are_named() {
    let chemistry = Chemistry {
        residues: vec![0, 1],
        roles: vec![role::HYDROPHOBIC; 2],
        radii: vec![1.7; 2],
        hydrogens: Rows::of_pairs(2, Vec::new()),
        neighbours: Rows::of_pairs(2, Vec::new()),
        excluded: Rows::of_pairs(2, Vec::new()),
        apart: Rows::of_pairs(2, Vec::new()),
        rings: Rows::new(vec![0], Vec::new()),
    };
    let finder = |kinds| {
        let groups = [Some(&[0][..]), Some(&[1][..])];
        InteractionFinder::new(chemistry.clone(), groups, kinds, LIMITS, Rings::Own, None)
    };
    let cell = Cell::new([30.0, 30.0, 30.0, 90.0, 90.0, 90.0]).unwrap();
    for kinds in [1 << kind::HYDROPHOBIC, 1 << kind::VDW] {
        for lost in 0..2 {
            let mut frame = [0.0, 0.0, 0.0, 3.0, 0.0, 0.0];
            frame[3 * lost] = f32::NAN;
            let (mut buffers, mut found) = (Buffers::default(), Vec::new());
            for cell in [None, Some(&cell)] {
                let refused = finder(kinds).find(cell, &frame, &mut buffers, &mut found);
                assert_eq!(refused.unwrap_err(), Misplaced { group: lost, atom: lost });
            }
        }
    }
}
