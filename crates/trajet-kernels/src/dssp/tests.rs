//! Compares classes with those of a naive twin, which looks at all pairs of residues and at all pairs of slots.

use proptest::prelude::*;
use trajet_simd::InstructionSet;

use super::*;

/// A backbone as a test draws it: a residue with N, CA, C and O in each slot, or none; whether it is proline; the chain.
#[derive(Clone, Debug)]
struct Slot {
    atoms: Option<[[f32; 3]; 4]>,
    is_proline: bool,
    chain: u32,
}

fn distance(a: [f64; 3], b: [f64; 3]) -> f64 {
    (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f64>().sqrt()
}

/// Returns for each pair of slots whether the first donates a bond to the second.
fn naive_bonds(slots: &[Slot]) -> Vec<Vec<bool>> {
    let n = slots.len();
    let atoms = |k: usize| slots[k].atoms.map(|atoms| atoms.map(|p| p.map(f64::from)));
    let mut bonds = vec![vec![false; n]; n];
    for d in 1..n {
        let (Some([nitrogen, alpha, _, _]), Some([_, _, carbon, oxygen])) =
            (atoms(d), atoms(d - 1))
        else {
            continue;
        };
        if slots[d].is_proline || slots[d].chain != slots[d - 1].chain {
            continue;
        }
        let length = distance(carbon, oxygen);
        let hydrogen = [0, 1, 2].map(|k| nitrogen[k] + (carbon[k] - oxygen[k]) / length);
        let energy = |a: usize| {
            let Some([_, other, carbon, oxygen]) = atoms(a).filter(|_| a != d && a + 1 != d) else {
                return 0.0;
            };
            if distance(alpha, other) >= 9.0 {
                return 0.0;
            }
            0.42 * 0.2
                * 332.0
                * (1.0 / distance(nitrogen, oxygen) + 1.0 / distance(hydrogen, carbon)
                    - 1.0 / distance(hydrogen, oxygen)
                    - 1.0 / distance(nitrogen, carbon))
        };
        let mut acceptors: Vec<(f64, usize)> =
            (0..n).map(|a| (energy(a), a)).filter(|(energy, _)| *energy < -0.5).collect();
        acceptors.sort_by(|a, b| a.0.total_cmp(&b.0));
        acceptors.iter().take(2).for_each(|&(_, a)| bonds[d][a] = true);
    }
    bonds
}

/// Returns the classes as letters.
fn naive(slots: &[Slot]) -> Vec<char> {
    let n = slots.len();
    let bonds = naive_bonds(slots);
    let bond = |d: usize, a: usize| bonds[d][a];
    let together = |a: usize, b: usize| slots[a].chain == slots[b].chain;
    let mut letters = vec!['-'; n];
    // Kind, slots of one strand, slots of the other.
    let mut ladders: Vec<(char, Vec<usize>, Vec<usize>)> = Vec::new();
    for i in 1..n.saturating_sub(4) {
        for j in i + 3..n - 1 {
            if !together(i - 1, i + 1) || !together(j - 1, j + 1) {
                continue;
            }
            let parallel = (bond(i + 1, j) && bond(j, i - 1)) || (bond(j + 1, i) && bond(i, j - 1));
            let anti = (bond(i + 1, j - 1) && bond(j + 1, i - 1)) || (bond(j, i) && bond(i, j));
            let kind = if parallel { 'P' } else { 'A' };
            if !parallel && !anti {
                continue;
            }
            let continued = ladders.iter_mut().find(|(other, one, two)| {
                let follows = match kind {
                    'P' => two[two.len() - 1] + 1 == j,
                    _ => two[0] == j + 1,
                };
                *other == kind && one[one.len() - 1] + 1 == i && follows
            });
            match continued {
                Some((_, one, two)) => {
                    one.push(i);
                    if kind == 'P' { two.push(j) } else { two.insert(0, j) }
                }
                None => ladders.push((kind, vec![i], vec![j])),
            }
        }
    }
    ladders.sort_by_key(|(_, one, _)| one[0]);
    let mut k = 0;
    while k < ladders.len() {
        let mut next = k + 1;
        while next < ladders.len() {
            let ((kind, a, b), (other, c, d)) = (&ladders[k], &ladders[next]);
            let (last, at) = (a[a.len() - 1] as i64, c[0] as i64);
            let gap = if *kind == 'P' {
                d[0] as i64 - b[b.len() - 1] as i64
            } else {
                b[0] as i64 - d[d.len() - 1] as i64
            };
            let along = at - last;
            let all = |one: &[usize], two: &[usize]| {
                let ends = one.iter().chain(two);
                together(*ends.clone().min().unwrap(), *ends.max().unwrap())
            };
            let is_bulge = kind == other
                && (1..6).contains(&along)
                && ((0..3).contains(&gap) || ((0..6).contains(&gap) && along < 3))
                && all(a, c)
                && all(b, d);
            if is_bulge {
                let (_, c, mut d) = ladders.remove(next);
                let (kind, a, b) = &mut ladders[k];
                a.extend(c);
                if *kind == 'P' {
                    b.extend(d);
                } else {
                    d.append(b);
                    *b = d;
                }
            } else {
                next += 1;
            }
        }
        k += 1;
    }
    for (_, one, two) in &ladders {
        for strand in [one, two] {
            for slot in strand[0]..=strand[strand.len() - 1] {
                if letters[slot] != 'E' {
                    letters[slot] = if one.len() > 1 { 'E' } else { 'B' };
                }
            }
        }
    }
    let turn =
        |i: usize, length: usize| i + length < n && bond(i + length, i) && together(i, i + length);
    for (letter, length, free) in [('H', 4, "HGIEBTS-"), ('G', 3, "G-"), ('I', 5, "IH-")] {
        for i in 1..n.saturating_sub(length) {
            let here = i..i + length;
            if turn(i - 1, length)
                && turn(i, length)
                && letters[here.clone()].iter().all(|&l| free.contains(l))
            {
                letters[here].fill(letter);
            }
        }
    }
    for i in 1..n.saturating_sub(1) {
        if letters[i] != '-' {
            continue;
        }
        let in_turn =
            [3, 4, 5].iter().any(|&length| (1..length).any(|k| i >= k && turn(i - k, length)));
        if in_turn {
            letters[i] = 'T';
        } else if (2..n.saturating_sub(2)).contains(&i) && together(i - 2, i + 2) {
            let alpha = |k: usize| slots[k].atoms.map(|atoms| atoms[1].map(f64::from));
            if let (Some(a), Some(b), Some(c)) = (alpha(i - 2), alpha(i), alpha(i + 2)) {
                let (u, v) = ([0, 1, 2].map(|k| b[k] - a[k]), [0, 1, 2].map(|k| c[k] - b[k]));
                let dot: f64 = (0..3).map(|k| u[k] * v[k]).sum();
                let cosine = dot / (distance(a, b) * distance(b, c));
                if cosine.clamp(-1.0, 1.0).acos().to_degrees() > 70.0 {
                    letters[i] = 'S';
                }
            }
        }
    }
    letters
}

/// Returns the classes of the residues in slots as letters.
fn assigned(set: InstructionSet, slots: &[Slot]) -> Vec<char> {
    let mut frame = Vec::new();
    let (mut atoms, mut donors, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
    for (number, slot) in slots.iter().enumerate() {
        let Some(positions) = slot.atoms else { continue };
        let first = (frame.len() / 3) as u32;
        let before = number.checked_sub(1).map(|before| &slots[before]);
        let is_bonded = before.is_some_and(|b| b.atoms.is_some() && b.chain == slot.chain);
        donors.push((is_bonded && !slot.is_proline).then(|| [first - 2, first - 1]));
        atoms.push([first, first + 1, first + 2, first + 3]);
        numbers.push(number as u32);
        frame.extend(positions.iter().flatten());
    }
    let chains = slots.iter().map(|slot| slot.chain).collect();
    let backbone = Backbone::new(atoms, donors, numbers, chains).unwrap();
    let mut classes = vec![Class::Loop; backbone.len()];
    Assigner::default().assign(set, &backbone, &frame, &mut classes);
    classes.iter().map(|&class| "HGIEBTS-".as_bytes()[class as usize] as char).collect()
}

/// Random shifts of atoms, and numbers that decide on gaps, prolines and breaks.
type Drawn = ([[f32; 3]; 4], u8, u8, u8);

/// Backbones in a small space, where bonds of all kinds are frequent: most peptide groups are those of a lattice, so that
/// bonds come in rows.
fn backbones() -> impl Strategy<Value = Vec<Slot>> {
    let place = prop::array::uniform3(-1.0..1.0f32);
    let slot = (prop::array::uniform4(place), 0..20u8, 0..30u8, 0..30u8);
    let jitter = prop_oneof![Just(0.3f32), Just(1.0f32), Just(3.0f32)];
    let step = prop_oneof![Just(1.5f32), Just(3.4f32), Just(0.7f32)];
    (prop::collection::vec(slot, 0..60), jitter, step, 2..12usize).prop_map(
        |(drawn, jitter, step, turn)| {
            let mut chain = 0;
            let make = |(k, (atoms, missing, proline, next)): (usize, Drawn)| {
                chain += u32::from(next == 0);
                // Forth and back along x, so that strands lie side by side.
                let (row, along) = (k / turn, k % turn);
                let along = if row % 2 == 0 { along } else { turn - 1 - along };
                let side = if k % 2 == 0 { 1.2 } else { -1.2 };
                let origin = [along as f32 * step * 1.5, row as f32 * 4.8, 0.0];
                let ideal =
                    [[0.0, 0.0, 0.0], [0.5, 0.6, 0.4], [1.5, 0.2, 0.0], [1.5, 0.2 + side, 0.1]];
                let position = |atom: usize| {
                    [0, 1, 2]
                        .map(|axis| origin[axis] + ideal[atom][axis] + jitter * atoms[atom][axis])
                };
                Slot {
                    atoms: (missing > 0)
                        .then(|| [position(0), position(1), position(2), position(3)]),
                    is_proline: proline == 0,
                    chain,
                }
            };
            drawn.into_iter().enumerate().map(make).collect()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]
    #[test]
    fn classes_equal_the_naive_classes_on_every_instruction_set(slots in backbones()) {
        let letters = naive(&slots);
        let filled = slots.iter().zip(letters).filter(|(slot, _)| slot.atoms.is_some());
        let expected: Vec<char> = filled.map(|(_, letter)| letter).collect();
        for set in InstructionSet::available() {
            prop_assert_eq!(&assigned(set, &slots), &expected, "{:?}", set);
        }
    }
}

/// Returns an ideal backbone with the same dihedral angles (degrees) in each residue.
fn ideal(n: usize, phi: f64, psi: f64) -> Vec<Slot> {
    // Places an atom by distance, angle and dihedral from three others.
    let place = |a: [f64; 3], b: [f64; 3], c: [f64; 3], length: f64, angle: f64, torsion: f64| {
        let minus = |p: [f64; 3], q: [f64; 3]| [0, 1, 2].map(|k| p[k] - q[k]);
        let cross = |u: [f64; 3], v: [f64; 3]| {
            [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]]
        };
        let unit = |v: [f64; 3]| v.map(|x| x / (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]).sqrt());
        let along = unit(minus(c, b));
        let normal = unit(cross(minus(b, a), along));
        let side = cross(normal, along);
        let (angle, torsion) = (angle.to_radians(), torsion.to_radians());
        let (x, y, z) = (
            -length * angle.cos(),
            length * angle.sin() * torsion.cos(),
            length * angle.sin() * torsion.sin(),
        );
        [0, 1, 2].map(|k| c[k] + x * along[k] + y * side[k] + z * normal[k])
    };
    let mut backbone = vec![[0.0, 0.0, 0.0], [1.458, 0.0, 0.0], [2.009, 1.42, 0.0]];
    let mut slots = Vec::new();
    for _ in 0..n {
        let [nitrogen, alpha, carbon]: [[f64; 3]; 3] =
            backbone[backbone.len() - 3..].try_into().unwrap();
        let next = place(nitrogen, alpha, carbon, 1.329, 116.6, psi);
        let oxygen = place(nitrogen, alpha, carbon, 1.231, 120.1, psi + 180.0);
        let next_alpha = place(alpha, carbon, next, 1.458, 121.7, 180.0);
        let next_carbon = place(carbon, next, next_alpha, 1.525, 111.0, phi);
        let atoms = [nitrogen, alpha, carbon, oxygen].map(|p| p.map(|x| x as f32));
        slots.push(Slot { atoms: Some(atoms), is_proline: false, chain: 0 });
        backbone.extend([next, next_alpha, next_carbon]);
    }
    slots
}

#[test]
fn ideal_helices_have_their_classes() {
    for (phi, psi, letter) in [(-57.0, -47.0, 'H'), (-49.0, -26.0, 'G'), (-57.0, -70.0, 'I')] {
        let letters = assigned(InstructionSet::chosen(), &ideal(20, phi, psi));
        assert!(letters[6..14].iter().all(|&l| l == letter), "{phi} {psi}: {letters:?}");
        assert_eq!([letters[0], letters[19]], ['-'; 2]);
    }
    let extended = assigned(InstructionSet::chosen(), &ideal(20, -120.0, 120.0));
    assert!(extended.iter().all(|&letter| letter == '-'), "{extended:?}");
}

#[test]
fn a_break_of_the_chain_ends_a_helix() {
    let mut slots = ideal(20, -57.0, -47.0);
    slots[10..].iter_mut().for_each(|slot| slot.chain = 1);
    let letters = assigned(InstructionSet::chosen(), &slots);
    assert_eq!(letters, naive(&slots));
    assert!(letters[9] != 'H' && letters[10] != 'H', "{letters:?}");
}

#[test]
fn backbones_that_make_no_sense_are_refused() {
    let make = |slots: &[u32], n_chains| {
        let n = slots.len();
        Backbone::new(vec![[0, 1, 2, 3]; n], vec![None; n], slots.to_vec(), vec![0; n_chains])
    };
    assert!(make(&[0, 2], 3).is_some());
    assert!(make(&[0, 2], 2).is_none());
    assert!(make(&[2, 0], 3).is_none());
    assert!(make(&[1, 1], 3).is_none());
    assert!(make(&[], 0).is_some_and(|backbone| backbone.is_empty()));
    assert!(Backbone::new(vec![[0; 4]], Vec::new(), vec![0], vec![0]).is_none());
}
