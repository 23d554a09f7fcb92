use super::*;
use crate::reference::periodic as naive;

const SHAPES: [Shape; 3] = [Shape::Triclinic, Shape::Compact, Shape::Rectangular];

/// Wraps positions; the positions where the cell has no such shape.
fn wrapped(
    cell: &Cell,
    shape: Shape,
    groups: &Groups,
    weights: Option<&[f64]>,
    positions: &[[f32; 3]],
) -> Vec<[f32; 3]> {
    let mut moved = positions.to_vec();
    if wrap_groups(cell, shape, groups, weights, &mut moved).is_err() {
        assert_eq!(shape, Shape::Rectangular);
        assert_eq!(moved, positions);
    }
    moved
}

fn weights_of(n: usize, seed: u32) -> Vec<f64> {
    (0..n as u32).map(|k| 1.0 + f64::from(k.wrapping_mul(seed) % 16)).collect()
}

/// Cells whose matrix has zeros above the diagonal, as the references need.
fn standard_cells() -> impl Strategy<Value = Cell> {
    cells().prop_map(|numbers| Cell::new(numbers).unwrap())
}

/// Returns a distance (Å) below which rounding decides on which side of a face a point is.
fn resolution(cell: &Cell, size: f64) -> f64 {
    let reach: f64 = cell.vectors().iter().map(|v| square(*v).sqrt()).sum();
    16.0 * ROUNDING * size.max(reach)
}

/// Returns whether a point of which the distances to three faces are given is on a face, up to `near`: then rounding
/// decides between its images.
fn is_on_face(distances: Vector, widths: [f64; 3], near: f64) -> bool {
    let is_inside = (0..3).all(|k| distances[k] > -near && distances[k] < widths[k] + near);
    let is_at = |k: usize| distances[k].abs().min((distances[k] - widths[k]).abs()) < near;
    is_inside && (0..3).any(is_at)
}

proptest! {
    #[test]
    fn groups_move_as_one_by_lattice_vectors_and_stay_when_wrapped_again(
        system in systems(all_cells()), seed in any::<u32>(), is_weighted in any::<bool>(),
    ) {
        let groups = system.groups();
        let weights = weights_of(system.broken.len(), seed);
        let weights = is_weighted.then_some(&weights[..]);
        for shape in SHAPES {
            let once = wrapped(&system.cell, shape, &groups, weights, &system.broken);
            prop_assert!(are_images(&system.cell, &system.broken, &once));
            let change = change_of_distances(&system.cell, &system.broken, &once);
            prop_assert!(change < 4.0 * system.rounding, "{:?} {}", shape, change);
            for group in 0..groups.len() {
                let columns = groups.columns(group);
                let moved = |c: &u32| {
                    minus(exact(once[*c as usize]), exact(system.broken[*c as usize]))
                };
                let first = moved(&columns[0]);
                for column in columns {
                    prop_assert!(distance(moved(column), first) < 4.0 * system.rounding);
                }
            }
            let twice = wrapped(&system.cell, shape, &groups, weights, &once);
            prop_assert_eq!(&once, &twice, "{:?}", shape);
        }
    }

    #[test]
    fn wrapped_whole_molecules_are_whole_up_to_one_lattice_vector(system in systems(all_cells())) {
        let (trees, groups) = (system.trees(), system.groups());
        let make = |positions: &[[f32; 3]]| {
            let mut positions = positions.to_vec();
            make_whole(&system.cell, &trees, &mut positions, &mut WholeMemory::default());
            positions
        };
        for shape in SHAPES {
            let whole = make(&system.broken);
            let first_wrapped = wrapped(&system.cell, shape, &groups, None, &system.broken);
            for other in [
                make(&first_wrapped),
                wrapped(&system.cell, shape, &groups, None, &whole),
            ] {
                prop_assert!(are_images(&system.cell, &system.broken, &first_wrapped));
                for group in 0..groups.len() {
                    let root = groups.columns(group)[0] as usize;
                    for &column in groups.columns(group) {
                        let column = column as usize;
                        let [a, b] = [&whole, &other].map(|positions| {
                            minus(exact(positions[column]), exact(positions[root]))
                        });
                        prop_assert!(distance(a, b) < 8.0 * system.rounding, "{:?}", shape);
                    }
                }
            }
        }
    }

    #[test]
    fn centres_are_where_the_references_put_them(
        cell in standard_cells(),
        fractions in prop::collection::vec(prop::array::uniform3(-2.0..3.0f64), 1..8),
        arm in prop::array::uniform3(-20.0..20.0f64),
    ) {
        // Groups of two atoms around points.
        let points = fractions.iter().map(|&f| cell.lattice_vector(f));
        let ends = points.flat_map(|p| [1.0, -1.0].map(|s| [0, 1, 2].map(|k| p[k] + s * arm[k])));
        let positions: Vec<[f32; 3]> = ends.map(|p| p.map(|x| x as f32)).collect();
        let labels: Vec<usize> = (0..positions.len()).map(|k| k / 2).collect();
        let groups = groups_of(&labels);
        let size = positions.iter().map(|&p| square(exact(p)).sqrt()).fold(0.0, f64::max);
        let near = resolution(&cell, size);
        let vectors = cell.vectors();
        for shape in SHAPES {
            let moved = wrapped(&cell, shape, &groups, None, &positions);
            for group in 0..groups.len() {
                let before = centre(groups.columns(group), None, &positions);
                let after = centre(groups.columns(group), None, &moved);
                let images = match shape {
                    Shape::Compact => vec![naive::nearest_to_middle(vectors, before)],
                    Shape::Triclinic => naive::images_in_cell(vectors, before, 4),
                    Shape::Rectangular => naive::images_in_brick(vectors, before),
                };
                let is_found = images.iter().any(|&image| distance(image, after) < near);
                let is_on_face = match shape {
                    Shape::Compact => {
                        let middle = cell.lattice_vector([0.5; 3]);
                        let [a, b] = [after, images[0]].map(|point| distance(point, middle));
                        (a - b).abs() < near
                    }
                    Shape::Triclinic => {
                        let (f, heights) = (cell.fractional(after), cell.heights());
                        is_on_face([0, 1, 2].map(|k| f[k] * heights[k]), heights, near)
                    }
                    Shape::Rectangular => {
                        is_on_face(after, [0, 1, 2].map(|k| vectors[k][k]), near)
                    }
                };
                prop_assert!(is_found || is_on_face, "{:?} {:?} {:?}", shape, after, images);
            }
        }
    }

    #[test]
    fn an_atom_at_a_face_stays_when_wrapped_again(
        cell in all_cells(),
        points in prop::collection::vec(prop::array::uniform3(prop_oneof![
            3 => (prop::sample::select(vec![-1.0, 0.0, 0.5, 1.0, 2.0]), -3e-7..3e-7f64)
                .prop_map(|(face, beside)| face + beside),
            1 => -2.0..3.0f64,
        ]), 1..40),
    ) {
        let thinnest = cell.heights().into_iter().fold(f64::INFINITY, f64::min);
        prop_assume!(thinnest > resolution(&cell, 0.0));
        let positions: Vec<[f32; 3]> =
            points.iter().map(|&f| cell.lattice_vector(f).map(|x| x as f32)).collect();
        let groups = groups_of(&(0..positions.len()).collect::<Vec<_>>());
        for shape in SHAPES {
            let once = wrapped(&cell, shape, &groups, None, &positions);
            let twice = wrapped(&cell, shape, &groups, None, &once);
            prop_assert_eq!(once, twice, "{:?}", shape);
        }
    }

    #[test]
    fn no_lattice_neighbour_of_a_compact_centre_is_nearer_to_the_middle(
        cell in all_cells(), f in prop::array::uniform3(-2.0..3.0f64),
    ) {
        let positions = [cell.lattice_vector(f).map(|x| x as f32)];
        let moved = exact(wrapped(&cell, Shape::Compact, &groups_of(&[0]), None, &positions)[0]);
        let from_middle = minus(moved, cell.lattice_vector([0.5; 3]));
        let near = resolution(&cell, square(exact(positions[0])).sqrt());
        let neighbours = (-2..=2).flat_map(|i| {
            (-2..=2).flat_map(move |j| (-2..=2).map(move |k| [i, j, k].map(f64::from)))
        });
        for whole in neighbours {
            let (reduced, periodic) = (*cell.reduced(), cell.reduced_periodic());
            let whole = [0, 1, 2].map(|k| if periodic[k] { whole[k] } else { 0.0 });
            let image = [0, 1, 2].map(|x| {
                from_middle[x] + (0..3).map(|k| whole[k] * reduced[k][x]).sum::<f64>()
            });
            prop_assert!(square(from_middle).sqrt() < square(image).sqrt() + near, "{:?}", whole);
        }
    }

    #[test]
    fn coordinates_of_single_atoms_are_from_0_to_1(
        lengths in prop::array::uniform3(20.0..100.0f64),
        positions in prop::collection::vec(prop::array::uniform3(-400.0..400.0f32), 1..20),
    ) {
        let [a, b, c] = lengths;
        let cell = Cell::new([a, b, c, 90.0, 90.0, 90.0]).unwrap();
        let groups = groups_of(&(0..positions.len()).collect::<Vec<_>>());
        for shape in SHAPES {
            for p in wrapped(&cell, shape, &groups, None, &positions) {
                for k in 0..3 {
                    let f = f64::from(p[k]) / lengths[k];
                    prop_assert!((-3e-7..1.0).contains(&f) || shape == Shape::Compact && f < 1.0 + 1e-6);
                }
            }
        }
    }
}

#[test]
fn faces_belong_to_one_side() {
    let cell = Cell::new([50.0, 60.0, 70.0, 90.0, 90.0, 90.0]).unwrap();
    let groups = groups_of(&[0, 1, 2, 3]);
    let positions = [[0.0, 0.0, 0.0], [50.0, 60.0, 70.0], [-1e-9, 30.0, 30.0], [-30.0, 1.0, 139.0]];
    let expected = [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [-1e-9, 30.0, 30.0], [20.0, 1.0, 69.0]];
    for shape in [Shape::Triclinic, Shape::Rectangular] {
        assert_eq!(wrapped(&cell, shape, &groups, None, &positions), expected, "{shape:?}");
    }
    // On a face of the Wigner-Seitz cell an atom stays, on either side.
    let compact = [[0.0, 0.0, 0.0], [50.0, 60.0, 70.0], [-1e-9, 30.0, 30.0], [20.0, 1.0, 69.0]];
    assert_eq!(wrapped(&cell, Shape::Compact, &groups, None, &positions), compact);
}

#[test]
fn weights_decide_where_the_centre_is() {
    let cell = Cell::new([10.0, 10.0, 10.0, 90.0, 90.0, 90.0]).unwrap();
    let groups = groups_of(&[0, 0]);
    let positions = [[9.0, 5.0, 5.0], [12.0, 5.0, 5.0]];
    let moved = [[-1.0, 5.0, 5.0], [2.0, 5.0, 5.0]];
    for (weights, expected) in [
        (None, moved),
        (Some(&[1.0, 1.0][..]), moved),
        (Some(&[3.0, 1.0]), positions),
        // Atoms without weight count the same.
        (Some(&[0.0, 0.0]), moved),
        (Some(&[f64::NAN, 1.0]), positions),
    ] {
        assert_eq!(wrapped(&cell, Shape::Triclinic, &groups, weights, &positions), expected);
    }
}

#[test]
fn turned_cells_have_no_rectangular_shape() {
    let vectors = [[0.0, 10.0, 0.0], [10.0, 0.0, 0.0], [0.0, 0.0, 10.0]];
    let cell = Cell::of_vectors(vectors).unwrap();
    let mut positions = [[15.0, 5.0, 5.0]];
    let groups = groups_of(&[0]);
    let result = wrap_groups(&cell, Shape::Rectangular, &groups, None, &mut positions);
    assert_eq!(result, Err(TurnedCell));
    assert_eq!(positions, [[15.0, 5.0, 5.0]]);
    assert_eq!(wrap_groups(&cell, Shape::Compact, &groups, None, &mut positions), Ok(None));
    assert_eq!(positions, [[5.0, 5.0, 5.0]]);
}

#[test]
fn cells_are_wrapped_from_their_origin() {
    // All numbers are exact, and no point is on a face.
    let cells = [[80.0, 80.0, 80.0, 90.0, 90.0, 90.0], [80.0, 80.0, 80.0, 60.0, 60.0, 90.0]];
    let points: Vec<[f32; 3]> =
        (-4..4_i8).map(|k| [1.0, 2.0, 4.0].map(|by| f32::from(k) * 37.25 / by + 0.5)).collect();
    let groups = groups_of(&[0, 1, 2, 3, 4, 5, 6, 7]);
    let alone = Groups { starts: (0..=8).collect(), members: groups.members.clone() };
    for cell in cells.map(|cell| Cell::new(cell).unwrap()) {
        for (shape, groups) in SHAPES.iter().flat_map(|&shape| [(shape, &groups), (shape, &alone)])
        {
            let expected = wrapped(&cell, shape, groups, None, &points);
            let origin = [-64.0, 256.0, 16.0_f32];
            let shift = |points: &[[f32; 3]]| -> Vec<[f32; 3]> {
                points.iter().map(|p| [0, 1, 2].map(|k| p[k] + origin[k])).collect()
            };
            let moved = cell.clone().with_origin(origin.map(f64::from));
            let found = wrapped(&moved, shape, groups, None, &shift(&points));
            let far = |(a, b): (&[f32; 3], &[f32; 3])| (0..3).any(|k| (a[k] - b[k]).abs() > 1e-4);
            assert!(!found.iter().zip(&shift(&expected)).any(far), "{shape:?} {found:?}");
        }
    }
}

#[test]
fn a_rhombic_dodecahedron_is_wrapped_into_three_shapes() {
    let cell = Cell::new([80.0, 80.0, 80.0, 60.0, 60.0, 90.0]).unwrap();
    let groups = groups_of(&[0]);
    let point = [[5.0, 5.0, 50.0]];
    let place = |shape| wrapped(&cell, shape, &groups, None, &point)[0].map(|x| x.round());
    assert_eq!(place(Shape::Triclinic), [85.0, 85.0, 50.0]);
    assert_eq!(place(Shape::Rectangular), [5.0, 5.0, 50.0]);
    assert_eq!(place(Shape::Compact), [45.0, 45.0, -7.0]);
    let origin = [[0.0, 0.0, 1.0]];
    let compact = wrapped(&cell, Shape::Compact, &groups, None, &origin)[0];
    assert_eq!(compact.map(|x| x.round()), [80.0, 80.0, 1.0]);
}
