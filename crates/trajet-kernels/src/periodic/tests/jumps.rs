use super::*;
use crate::reference::periodic as naive;

/// Fractional coordinates of some units in some frames.
fn frames() -> impl Strategy<Value = Vec<Vec<Vector>>> {
    (1..40usize, 1..12usize).prop_flat_map(|(n_units, n_frames)| {
        let unit = prop::array::uniform3(prop_oneof![-3.0..3.0f64, 0.0..1.0f64]);
        prop::collection::vec(prop::collection::vec(unit, n_units), n_frames)
    })
}

/// Adds up all steps from the first frame on; `state` is that of the first frame.
fn shifts_over(frames: &[Vec<Vector>]) -> (Vec<[i32; 3]>, Vec<(f64, usize)>) {
    let mut before = frames[0].clone();
    let (mut shifts, mut found) = (vec![[0; 3]; before.len()], vec![[7; 3]; before.len()]);
    let mut doubts = Vec::new();
    for f in &frames[1..] {
        doubts.push(find_jumps(&mut before, f, &mut found));
        shifts.as_flattened_mut().iter_mut().zip(found.as_flattened()).for_each(|(n, x)| *n += x);
    }
    assert_eq!(&before, frames.last().unwrap());
    (shifts, doubts)
}

fn sums_over(cells: &[Cell], frames: &[Vec<Vector>]) -> Vec<[i64; 3]> {
    let mut before = frames[0].clone();
    let mut sums = vec![[0; 3]; before.len()];
    for (cell, f) in cells[1..].iter().zip(&frames[1..]) {
        toroidal_jumps(cell, &mut before, f, &mut sums);
    }
    sums
}

proptest! {
    #[test]
    fn shifts_and_doubts_equal_those_of_the_reference(frames in frames()) {
        let (shifts, doubts) = shifts_over(&frames);
        for (unit, shift) in shifts.iter().enumerate() {
            for k in 0..3 {
                let f: Vec<f64> = frames.iter().map(|f| f[unit][k]).collect();
                prop_assert_eq!(shift[k], naive::jumps(&f));
            }
        }
        for (pair, (doubt, unit)) in frames.windows(2).zip(doubts) {
            let doubt_of = |unit: usize| {
                let change = minus(pair[1][unit], pair[0][unit]);
                change.map(|x| (x - x.round()).abs()).into_iter().fold(0.0, f64::max)
            };
            let all: Vec<f64> = (0..pair[0].len()).map(doubt_of).collect();
            prop_assert_eq!(doubt, all.iter().copied().fold(0.0, f64::max));
            prop_assert_eq!(unit, all.iter().position(|&x| x == doubt).unwrap());
        }
    }

    #[test]
    fn found_jumps_are_those_that_are_counted(
        cell in all_cells(),
        frames in frames(),
        strange in prop::option::of((any::<Index>(), prop_oneof![Just(f64::NAN), Just(1e10)])),
    ) {
        let mut frames = frames;
        if let Some((at, x)) = strange {
            let last = frames.last_mut().unwrap();
            let unit = at.index(last.len());
            last[unit][1] = x;
        }
        let n = frames[0].len();
        let [mut finding, mut toroidal] = [(); 2].map(|()| frames[0].clone());
        let (mut sums, mut vectors) = (vec![[0; 3]; n], vec![[0; 3]; n]);
        for f in &frames[1..] {
            let mut found = vec![[7; 3]; n];
            let doubt = toroidal_jumps(&cell, &mut toroidal, f, &mut sums);
            prop_assert_eq!(doubt, find_jumps(&mut finding, f, &mut found));
            add_toroidal_jumps(&cell, &found, &mut vectors);
        }
        prop_assert_eq!(sums, vectors);
    }

    #[test]
    fn any_division_of_the_frames_has_the_same_sums(
        frames in frames(),
        lengths in prop::collection::vec(prop::array::uniform3(20.0..80.0f64), 12),
        angle in 60.0..120.0f64,
        cuts in prop::collection::vec(any::<Index>(), 0..4),
    ) {
        let cells: Vec<Cell> = lengths[..frames.len()]
            .iter()
            .map(|&[a, b, c]| Cell::new([a, b, c, 90.0, 90.0, angle]).unwrap())
            .collect();
        let (shifts, sums) = (shifts_over(&frames).0, sums_over(&cells, &frames));
        let mut ends: Vec<usize> = cuts.iter().map(|cut| cut.index(frames.len())).collect();
        ends.sort_unstable();
        ends.push(frames.len() - 1);
        let (mut begin, n) = (0, shifts.len());
        let (mut all_shifts, mut all_sums) = (vec![[0; 3]; n], vec![[0; 3]; n]);
        for end in ends {
            // A piece begins with the last frame of the one before.
            let piece = shifts_over(&frames[begin..=end]).0;
            let sums = sums_over(&cells[begin..=end], &frames[begin..=end]);
            for unit in 0..n {
                for k in 0..3 {
                    all_shifts[unit][k] += piece[unit][k];
                    all_sums[unit][k] += sums[unit][k];
                }
            }
            begin = end;
        }
        prop_assert_eq!(all_shifts, shifts);
        prop_assert_eq!(all_sums, sums);
    }

    #[test]
    fn the_vectors_of_jumps_add_up_to_the_shift_in_a_constant_cell(cell in all_cells(), frames in frames()) {
        let cells = vec![cell.clone(); frames.len()];
        let sums = sums_over(&cells, &frames);
        for (sum, shift) in sums.iter().zip(shifts_over(&frames).0) {
            let vector = cell.lattice_vector(shift.map(f64::from));
            let sum = sum.map(|x| x as f64 / 4294967296.0);
            prop_assert!(distance(sum, vector) < 3e-9, "{:?} {:?}", sum, vector);
        }
    }

    #[test]
    fn removing_jumps_of_a_smooth_path_gives_the_path(
        cell in all_cells(),
        starts in prop::collection::vec(prop::array::uniform3(0.0..1.0f64), 1..20),
        steps in prop::collection::vec(prop::array::uniform3(-0.4..0.4f64), 1..15),
        seed in any::<u64>(),
    ) {
        let n = starts.len();
        let mut path = starts.clone();
        let (mut before, mut shifts) = (FrameBefore::default(), AtomShifts::default());
        shifts.set(n, |_| [0; 3]);
        let groups = groups_of(&(0..n).collect::<Vec<_>>());
        let reach: f64 = cell.vectors().iter().map(|v| square(*v).sqrt()).sum();
        let wrapped = |path: &[Vector]| {
            let place = |p: &Vector| cell.lattice_vector(*p).map(|x| x as f32);
            let mut positions: Vec<[f32; 3]> = path.iter().map(place).collect();
            wrap_groups(&cell, Shape::Triclinic, &groups, None, &mut positions).unwrap();
            positions
        };
        // f32 must resolve a fortieth of the cell.
        prop_assume!(cell.heights().iter().all(|h| 8.0 * ROUNDING * 8.0 * reach < 0.025 * h));
        let first = wrapped(&path);
        before.set(&cell, &first);
        let offset: Vec<Vector> = (0..n)
            .map(|k| minus(exact(first[k]), cell.lattice_vector(path[k])))
            .collect();
        for (i, step) in steps.iter().enumerate() {
            for (k, p) in path.iter_mut().enumerate() {
                let sign = if seed.rotate_left((i * 7 + k) as u32) & 1 == 0 { 1.0 } else { -1.0 };
                *p = [0, 1, 2].map(|x| p[x] + sign * step[x]);
            }
            let mut positions = wrapped(&path);
            let (doubt, _) = follow_atoms(&cell, &mut before, &mut positions, &mut shifts);
            prop_assert!(doubt < 0.45);
            for k in 0..n {
                let goal = cell.lattice_vector(path[k]);
                let goal = [0, 1, 2].map(|x| goal[x] + offset[k][x]);
                prop_assert!(distance(exact(positions[k]), goal) < 64.0 * ROUNDING * reach);
            }
        }
    }

    #[test]
    fn every_instruction_set_counts_the_same_jumps(cell in all_cells(), frames in frames()) {
        let [first, last] = [frames.first(), frames.last()].map(Option::unwrap);
        let results = trajet_simd::InstructionSet::available().into_iter().map(|set| {
            let (mut before, mut sums) = (first.clone(), vec![[0; 3]; first.len()]);
            super::super::jumps::toroidal_jumps_on(set, &cell, &mut before, last, &mut sums);
            let (mut before, mut found) = (first.clone(), vec![[7; 3]; first.len()]);
            let doubt = super::super::jumps::find_jumps_on(set, &mut before, last, &mut found);
            (doubt.0.to_bits(), doubt.1, sums, found)
        });
        let results: Vec<_> = results.collect();
        prop_assert!(results.iter().all(|result| *result == results[0]));
    }

    #[test]
    fn coordinates_of_centres_are_those_of_the_mean(
        cell in all_cells(),
        positions in prop::collection::vec(prop::array::uniform3(-90.0..90.0f32), 1..60),
        labels in prop::collection::vec(0..4usize, 60),
        weights in prop::collection::vec(0.5..50.0f64, 60),
    ) {
        let groups = groups_of(&labels[..positions.len()]);
        let weights = &weights[..positions.len()];
        for given in [None, Some(weights)] {
            let mut f = Vec::new();
            fractional_centres(&cell, &groups, given, &positions, &mut f);
            prop_assert_eq!(f.len(), groups.len());
            for group in 0..groups.len() {
                let range = groups.starts[group] as usize..groups.starts[group + 1] as usize;
                let (mut sum, mut total) = ([0.0; 3], 0.0);
                for i in range.clone() {
                    let p = exact(positions[groups.members[i] as usize]);
                    let w = given.map_or(1.0, |weights| weights[i]);
                    sum = [0, 1, 2].map(|k| sum[k] + w * p[k]);
                    total += w;
                }
                if range.is_empty() {
                    prop_assert!(f[group].iter().all(|x| x.is_nan()));
                    continue;
                }
                let mean = sum.map(|x| x / total);
                let rest = minus(mean, cell.lattice_vector(f[group]));
                let rest = cell.lattice_vector(cell.wrapping_coordinates(rest));
                prop_assert!(square(rest).sqrt() < 1e-6, "{:?}", mean);
                let columns = groups.columns(group);
                let alone = centre(columns, given.map(|w| &w[range]), &positions);
                prop_assert!(distance(alone, mean) < 1e-11);
            }
        }
    }
}

#[test]
fn ties_are_rounded_to_even() {
    let mut before = vec![[0.0, 0.5, 1.0]];
    let mut found = vec![[7; 3]];
    let doubt = find_jumps(&mut before, &[[0.5, 0.0, 2.5]], &mut found);
    assert_eq!((doubt, found), ((0.5, 0), vec![[0, 0, -2]]));
}

#[test]
fn coordinates_that_are_not_numbers_are_no_jumps_and_doubtful() {
    let mut before = vec![[0.1; 3]; 40];
    let mut now = vec![[0.9; 3]; 40];
    now[20][1] = f64::NAN;
    now[30][0] = f64::INFINITY;
    let mut found = vec![[7; 3]; 40];
    assert_eq!(find_jumps(&mut before, &now, &mut found), (f64::INFINITY, 20));
    assert_eq!((found[20], found[21]), ([-1, 0, -1], [-1, -1, -1]));
    // More jumps than can be counted.
    let (mut before, mut found) = (vec![[0.0; 3]], vec![[7; 3]]);
    let doubt = find_jumps(&mut before, &[[1e10, -1e10, 0.2]], &mut found);
    assert_eq!((doubt, found[0]), ((f64::INFINITY, 0), [i32::MIN, i32::MAX, 0]));
    assert_eq!(find_jumps(&mut [], &[], &mut []), (0.0, 0));
}
