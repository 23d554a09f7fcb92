//! Compares areas with those of a naive twin, which looks at every point and every pair of atoms in `f64`.

use proptest::prelude::*;
use trajet_simd::InstructionSet;

use super::*;

/// Returns the number of free points of each atom, and of points that rounding to `f32` may decide.
fn naive(
    positions: &[[f32; 3]],
    radii: &[f64],
    locations: Option<&[AltLocation]>,
    n_points: usize,
) -> Vec<(usize, usize)> {
    let is_excluded = |i: usize, j: usize| locations.is_some_and(|all| all[i].excludes(all[j]));
    let angle = PI * (3.0 - 5f64.sqrt());
    let spiral = |k: usize| {
        let y = (2.0 * k as f64 + 1.0) / n_points as f64 - 1.0;
        let radius = (1.0 - y * y).sqrt();
        [(angle * k as f64).cos() * radius, y, (angle * k as f64).sin() * radius]
    };
    let of_atom = |i: usize| {
        let (mut free, mut doubtful) = (0, 0);
        if radii[i] == 0.0 {
            return (0, 0);
        }
        for point in (0..n_points).map(spiral) {
            let at = [0, 1, 2].map(|k| f64::from(positions[i][k]) + radii[i] * point[k]);
            let others = (0..positions.len()).filter(|&j| j != i && radii[j] > 0.0);
            let depth = others.filter(|&j| !is_excluded(i, j)).map(|j| {
                let square: f64 =
                    (0..3).map(|k| (at[k] - f64::from(positions[j][k])).powi(2)).sum();
                radii[j] - square.sqrt()
            });
            let depth = depth.fold(f64::NEG_INFINITY, f64::max);
            free += usize::from(depth <= 0.0);
            doubtful += usize::from(depth.abs() < 1e-4);
        }
        (free, doubtful)
    };
    (0..positions.len()).map(of_atom).collect()
}

fn areas_of(
    set: InstructionSet,
    n_points: usize,
    positions: &[[f32; 3]],
    radii: &[f64],
    locations: Option<&[AltLocation]>,
) -> Vec<f64> {
    let sphere = Sphere::golden_spiral(n_points);
    let wanted = vec![true; radii.len()];
    let mut areas = vec![f64::NAN; radii.len()];
    let atoms = Atoms { positions: positions.as_flattened(), radii, wanted: &wanted, locations };
    Surface::default().areas(set, &sphere, atoms, &mut areas);
    areas
}

fn radius() -> impl Strategy<Value = f64> {
    prop_oneof![12 => 2.5..3.5f64, 2 => 0.1..1.0f64, 2 => 4.0..9.0f64, 1 => Just(0.0)]
}

fn atoms() -> impl Strategy<Value = Vec<([f32; 3], f64)>> {
    let x = |most: f32| prop_oneof![30 => -most..most, 1 => Just(0.0f32), 1 => Just(1e5f32)];
    let of_size = |most: f32| prop::collection::vec(([x(most), x(most), x(most)], radius()), 0..60);
    prop_oneof![of_size(4.0), of_size(9.0), of_size(40.0)]
}

proptest! {
    #[test]
    fn areas_equal_the_naive_areas_on_every_instruction_set(
        atoms in atoms(), n_points in prop_oneof![Just(960), Just(240), 1usize..80, 1000usize..1100],
        shift in prop_oneof![Just(0.0f32), -900.0..900.0f32],
        locations in prop::option::of(prop::collection::vec((0..4u32, 0..3u32), 60)),
    ) {
        let of_atom = |&(residue, location): &(u32, u32)| AltLocation { residue, location };
        let of_atoms = locations.map(|all| all.iter().take(atoms.len()).map(of_atom).collect());
        let locations: Option<&[AltLocation]> = of_atoms.as_ref().map(|all: &Vec<_>| &all[..]);
        let positions: Vec<[f32; 3]> = atoms.iter().map(|(p, _)| p.map(|x| x + shift)).collect();
        let radii: Vec<f64> = atoms.iter().map(|&(_, radius)| radius).collect();
        let areas = areas_of(InstructionSet::SCALAR, n_points, &positions, &radii, locations);
        for (i, (free, doubtful)) in naive(&positions, &radii, locations, n_points).into_iter().enumerate() {
            let counted = areas[i] / (4.0 * PI * radii[i].powi(2).max(1e-9)) * n_points as f64;
            let apart = (counted - free as f64).abs();
            prop_assert!(apart <= doubtful as f64 + 1e-6, "{i}: {counted} {free} {doubtful}");
        }
        for set in InstructionSet::available() {
            let again = areas_of(set, n_points, &positions, &radii, locations);
            let bits = |areas: &[f64]| areas.iter().map(|a| a.to_bits()).collect::<Vec<_>>();
            prop_assert_eq!(bits(&again), bits(&areas), "{:?}", set);
        }
    }

    #[test]
    fn the_order_of_atoms_changes_no_bit(atoms in atoms(), turn in any::<prop::sample::Index>()) {
        prop_assume!(!atoms.is_empty());
        let set = InstructionSet::chosen();
        let areas = |atoms: &[([f32; 3], f64)]| {
            let (positions, radii): (Vec<_>, Vec<_>) = atoms.iter().copied().unzip();
            areas_of(set, 100, &positions, &radii, None)
        };
        let by = turn.index(atoms.len());
        let mut turned = atoms.clone();
        turned.rotate_left(by);
        let mut expected = areas(&atoms);
        expected.rotate_left(by);
        prop_assert_eq!(areas(&turned), expected);
    }
}

#[test]
fn points_are_on_the_sphere_and_each_is_in_one_group() {
    for n in [1, 2, 15, 16, 17, 256, 257, 960, 4001] {
        let sphere = Sphere::golden_spiral(n);
        let counts = sphere.points.iter().map(|points| points.count_ones());
        assert_eq!(counts.sum::<u32>() as usize, n);
        assert_eq!(sphere.groups.len(), n.div_ceil(LANES));
        let present = sphere.present.iter().map(|groups| groups.count_ones());
        assert_eq!(present.sum::<u32>() as usize, sphere.groups.len());
        let mut seen = Vec::new();
        for (group, points) in sphere.groups.iter().zip(&sphere.points) {
            for lane in (0..LANES).filter(|lane| points >> lane & 1 == 1) {
                let [x, y, z] = [0, 1, 2].map(|axis| group[axis][lane]);
                assert!((x * x + y * y + z * z - 1.0).abs() < 1e-6);
                seen.push([x, y, z].map(f32::to_bits));
            }
        }
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), n);
    }
}

#[test]
fn groups_are_small() {
    // Sixteen of 960 points cover a sixtieth of the sphere: a disc of radius 0.26.
    let sphere = Sphere::golden_spiral(960);
    let reach = sphere.bounds.iter().flat_map(|bounds| bounds[3]).fold(0.0, f32::max);
    assert!(reach < 0.45, "{reach}");
}

#[test]
fn a_lone_atom_is_free_and_an_atom_within_another_has_no_area() {
    let set = InstructionSet::chosen();
    let sphere = |radius: f64| 4.0 * PI * radius * radius;
    let far = [[0.0; 3], [50.0, 0.0, 0.0]];
    assert_eq!(areas_of(set, 960, &far, &[3.0, 2.0], None), [sphere(3.0), sphere(2.0)]);
    let within = [[0.0; 3], [0.5, 0.0, 0.0], [0.2, 0.2, 0.0]];
    assert_eq!(areas_of(set, 960, &within, &[3.0, 2.0, 0.0], None), [sphere(3.0), 0.0, 0.0]);
    // Two equal spheres in one place: no point of one is within the other.
    assert_eq!(areas_of(set, 960, &[[1.0; 3]; 2], &[3.0, 3.0], None), [sphere(3.0); 2]);
    assert!(areas_of(set, 960, &[], &[], None).is_empty());
}

#[test]
fn two_spheres_lose_their_caps() {
    // Spheres of radius R at a distance d lose caps of height R - d/2.
    let (radius, distance) = (3.0, 3.5f32);
    let areas = areas_of(
        InstructionSet::chosen(),
        100_000,
        &[[0.0; 3], [0.0, 0.0, distance]],
        &[radius; 2],
        None,
    );
    let expected =
        4.0 * PI * radius * radius - 2.0 * PI * radius * (radius - f64::from(distance) / 2.0);
    assert!(areas.iter().all(|area| (area - expected).abs() < 1e-3 * expected), "{areas:?}");
}

#[test]
fn only_wanted_atoms_have_areas_and_all_cover_others() {
    let positions = [[0.0f32; 3], [0.0, 0.0, 3.0], [2.0, 0.0, 0.0]];
    let radii = [3.0, 3.0, 2.0];
    let all = areas_of(InstructionSet::chosen(), 960, &positions, &radii, None);
    let mut some = [-1.0; 3];
    let wanted = [true, false, true];
    let atoms = Atoms {
        positions: positions.as_flattened(),
        radii: &radii,
        wanted: &wanted,
        locations: None,
    };
    let sphere = Sphere::golden_spiral(960);
    Surface::default().areas(InstructionSet::chosen(), &sphere, atoms, &mut some);
    assert_eq!(some, [all[0], -1.0, all[2]]);
    assert_eq!(total(&some, &[2, 0]), all[2] + all[0]);
}
