use trajet_simd::InstructionSet;

use super::super::atom_jumps::*;
use super::*;
use crate::reference::periodic as naive;

type Frame = (Cell, Vec<[f32; 3]>);

/// Frames of atoms in changing cells. Along some vectors atoms move by almost 0.39, 0.4 or half a cell; some are far away,
/// and some positions are not numbers.
fn frames() -> impl Strategy<Value = Vec<Frame>> {
    let n_atoms = prop_oneof![1..40usize, 60..70usize, 120..200usize];
    let step = prop_oneof![
        20 => -0.38..0.38f64,
        1 => -1.5..1.5f64,
        1 => (prop::sample::select(vec![0.39, 0.4, 0.5, 1.5, -0.4]), -1e-6..1e-6f64).prop_map(|(x, by)| x + by),
        1 => prop::sample::select(vec![0.5f64, -0.5, 130.0, -128.0, 5000.0]),
    ];
    let strange = prop_oneof![
        Just(f32::NAN),
        Just(f32::INFINITY),
        Just(-0.0f32),
        Just(1e30),
        Just(-1e9),
        Just(f32::MAX),
    ];
    (all_cells(), n_atoms, 2..6usize, 0.99..1.01f64).prop_flat_map(
        move |(cell, n_atoms, n, scale)| {
            let steps = prop::collection::vec(
                prop::collection::vec(prop::array::uniform3(step.clone()), n_atoms),
                n,
            );
            let strange = prop::collection::vec(
                (any::<Index>(), any::<Index>(), 0..3usize, strange.clone()),
                0..3,
            );
            (steps, strange).prop_map(move |(steps, strange)| {
                let (mut at, mut frames) = (vec![[0.5; 3]; steps[0].len()], Vec::new());
                for (k, steps) in steps.iter().enumerate() {
                    let by = scale.powi(k as i32);
                    let vectors = cell.vectors().map(|v| v.map(|x| x * by));
                    let cell = Cell::of_vectors(vectors).unwrap_or(cell.clone());
                    for (at, step) in at.iter_mut().zip(steps) {
                        *at = [0, 1, 2].map(|k| at[k] + step[k]);
                    }
                    let place = |f: &Vector| {
                        cell.lattice_vector(f.map(|x| x - x.floor())).map(|x| x as f32)
                    };
                    // Half of the atoms are wrapped.
                    let free = |f: &Vector| cell.lattice_vector(*f).map(|x| x as f32);
                    let positions = at
                        .iter()
                        .enumerate()
                        .map(|(atom, f)| if atom % 2 == 0 { place(f) } else { free(f) })
                        .collect();
                    frames.push((cell, positions));
                }
                for (frame, atom, axis, x) in strange {
                    let frame: &mut Frame = &mut frames[frame.index(steps.len())];
                    let atom = atom.index(frame.1.len());
                    frame.1[atom][axis] = x;
                }
                frames
            })
        },
    )
}

/// Jumps, shifts, moved positions and large steps, by the naive twin.
struct Naive {
    shifts: Vec<[i32; 3]>,
    moved: Vec<Vec<[f32; 3]>>,
    large: Vec<(f64, usize)>,
}

impl Naive {
    fn of(frames: &[Frame], first: [i32; 3]) -> Self {
        let n = frames[0].1.len();
        let (mut shifts, mut moved, mut large) = (vec![first; n], Vec::new(), Vec::new());
        for pair in frames.windows(2) {
            let [(before, from), (cell, to)] = pair else { unreachable!() };
            let mut largest = (0.0, 0);
            for atom in 0..n {
                let (jump, doubt) = naive::jump_of_atom((before, from[atom]), (cell, to[atom]));
                shifts[atom] = [0, 1, 2].map(|k| shifts[atom][k].saturating_add(jump[k]));
                if doubt > largest.0 && doubt > LARGE_STEP {
                    largest = (doubt, atom);
                }
            }
            large.push(largest);
            let moved_atom = |atom: usize| naive::shifted(cell, shifts[atom], to[atom]);
            moved.push((0..n).map(moved_atom).collect());
        }
        Naive { shifts, moved, large }
    }
}

fn bits(positions: &[[f32; 3]]) -> Vec<u32> {
    positions.iter().flatten().map(|x| x.to_bits()).collect()
}

fn all(shifts: &AtomShifts) -> Vec<[i32; 3]> {
    shifts.iter().collect()
}

proptest! {
    #[test]
    fn every_instruction_set_follows_atoms_as_the_reference(
        frames in frames(),
        first in prop_oneof![4 => Just([0; 3]), 1 => Just([i32::MAX, i32::MIN, 7])],
    ) {
        let n = frames[0].1.len();
        let expected = Naive::of(&frames, first);
        for set in InstructionSet::available() {
            let [mut counting, mut following, mut finding] = [(); 3].map(|()| {
                let mut before = FrameBefore::default();
                before.set(&frames[0].0, &frames[0].1);
                before
            });
            let [mut counted, mut followed, mut added, mut between] = [(); 4].map(|()| {
                let mut shifts = AtomShifts::default();
                shifts.set(n, |_| first);
                shifts
            });
            let mut found = AtomJumps::default();
            found.set_to_none(3);
            for (k, (cell, positions)) in frames.iter().enumerate().skip(1) {
                let (large, moved) = (expected.large[k - 1], bits(&expected.moved[k - 1]));
                let last = counting.clone();
                prop_assert_eq!(count_jumps_on(set, cell, &mut counting, positions, &mut counted), large);
                prop_assert_eq!(count_jumps_between_on(set, &last, &counting, &mut between), large);
                prop_assert_eq!(find_atom_jumps_on(set, cell, &mut finding, positions, &mut found), large);
                let mut shifted = positions.clone();
                let of_followed = follow_atoms_on(set, cell, &mut following, &mut shifted, &mut followed);
                prop_assert_eq!(of_followed, large);
                prop_assert_eq!(&bits(&shifted), &moved);
                let (mut shifted, mut copy) = (positions.clone(), added.clone());
                add_atom_jumps_on(set, &found, &mut copy);
                add_and_shift_atoms_on(set, &found, cell, &mut added, &mut shifted);
                prop_assert_eq!(&copy, &added);
                prop_assert_eq!(&bits(&shifted), &moved);
                let mut shifted = positions.clone();
                shift_atoms_on(set, cell, &counted, &mut shifted);
                prop_assert_eq!(&bits(&shifted), &moved);
                prop_assert_eq!(&counted, &added);
            }
            for shifts in [counted, followed, added, between] {
                prop_assert_eq!(all(&shifts), expected.shifts.clone());
            }
        }
    }
}

#[test]
fn no_jumps_change_nothing() {
    let (mut none, mut shifts) = (AtomJumps::default(), AtomShifts::default());
    none.set_to_none(70);
    shifts.set(70, |atom| [atom as i32, -1, 0]);
    let before = shifts.clone();
    add_atom_jumps(&none, &mut shifts);
    assert_eq!(shifts, before);
    assert_eq!(all(&shifts)[65], [65, -1, 0]);
}

#[test]
fn the_large_step_is_the_first_of_the_largest() {
    let cell = Cell::new([10.0, 10.0, 10.0, 90.0, 90.0, 90.0]).unwrap();
    let mut before = FrameBefore::default();
    let mut positions = vec![[1.0, 1.0, 1.0]; 200];
    before.set(&cell, &positions);
    positions[70][2] = 5.5;
    positions[150][0] = 5.5;
    positions[30][1] = 5.25;
    positions[31][1] = 4.9;
    let mut shifts = AtomShifts::default();
    shifts.set(200, |_| [0; 3]);
    let (doubt, atom) = count_jumps(&cell, &mut before, &positions, &mut shifts);
    assert!((doubt - 0.45).abs() < 1e-9 && atom == 70, "{doubt} {atom}");
    // Coordinates that are not numbers are no jumps.
    positions[199][0] = f32::NAN;
    let (doubt, atom) = count_jumps(&cell, &mut before, &positions, &mut shifts);
    assert_eq!((doubt, atom), (f64::INFINITY, 199));
    assert_eq!(all(&shifts), [[0; 3]; 200]);
    let (mut none, mut nothing) = (FrameBefore::default(), AtomShifts::default());
    assert_eq!(count_jumps(&cell, &mut none, &[], &mut nothing), (0.0, 0));
}

#[test]
#[should_panic(expected = "as many atoms as in the frame before")]
fn frames_of_other_numbers_of_atoms_are_refused() {
    let cell = Cell::new([10.0, 10.0, 10.0, 90.0, 90.0, 90.0]).unwrap();
    count_jumps(&cell, &mut FrameBefore::default(), &[[0.0; 3]], &mut AtomShifts::default());
}
