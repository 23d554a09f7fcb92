//! Tests of unit cells, and cells of all shapes for other tests.

use super::*;
use crate::reference;
use proptest::prelude::*;

/// Cells of all shapes, from cubes to needles and sheets.
pub(crate) fn cells() -> impl Strategy<Value = [f64; 6]> {
    let length = prop_oneof![10.0..60.0f64, 1.0..200.0f64];
    let angle =
        prop_oneof![3 => Just(90.0), 2 => Just(60.0), 3 => 50.0..130.0f64, 3 => 2.0..178.0f64];
    ([length.clone(), length.clone(), length], [angle.clone(), angle.clone(), angle])
        .prop_map(|([a, b, c], [alpha, beta, gamma])| [a, b, c, alpha, beta, gamma])
        .prop_filter("three vectors in a plane", |&numbers| Cell::new(numbers).is_some())
}

#[test]
fn cells_that_stand_for_none_are_refused() {
    let cubic = |a: f64, b: f64| [a, b, b, 90.0, 90.0, 90.0];
    for (cell, refused) in [
        (cubic(1.0, 1.0), true),
        (cubic(0.1, 0.1), true),
        // A two-dimensional system, and a primitive cell of a crystal.
        (cubic(1.0, 30.0), false),
        (cubic(2.5, 2.5), false),
    ] {
        assert_eq!(Cell::of_frame(cell, None, PERIODIC).is_err(), refused, "{cell:?}");
        assert_eq!(Cell::of_structure(Some(cell), None).is_none(), refused, "{cell:?}");
    }
    assert!(NoCell(cubic(1.0, 1.0)).to_string().contains("stands for none"));
}

fn point(size: f64) -> impl Strategy<Value = Vector> {
    let x = move || -size..size;
    [x(), x(), x()]
}

fn lattice_coordinates(cell: &Cell, v: Vector) -> Vector {
    cell.fractional(v).map(|f| f - f.round())
}

proptest! {
    #[test]
    fn the_distance_equals_the_reference(
        numbers in cells(), a in point(300.0), b in point(300.0)
    ) {
        let cell = Cell::new(numbers).unwrap();
        let naive = reference::distance_squared(cell.vectors(), a, b);
        let square = cell.distance_squared(a, b);
        prop_assert!((square - naive).abs() < 1e-8 * (1.0 + naive), "{} {}", square, naive);
        let eight = minus(a, b).map(|x| [x; 8]);
        prop_assert_eq!(cell.squares(&eight), [square; 8]);
    }

    #[test]
    fn the_reference_equals_a_sufficient_plain_search(
        lengths in [20.0..40.0f64, 20.0..40.0f64, 20.0..40.0f64],
        angles in [50.0..100.0f64, 50.0..100.0f64, 50.0..100.0f64],
        a in point(20.0),
        b in point(20.0),
    ) {
        let ([x, y, z], [alpha, beta, gamma]) = (lengths, angles);
        let Some(cell) = Cell::new([x, y, z, alpha, beta, gamma]) else { return Ok(()) };
        let plain = reference::distance_squared_within(cell.vectors(), a, b, 6);
        let naive = reference::distance_squared(cell.vectors(), a, b);
        prop_assert!((plain - naive).abs() < 1e-9, "{} {}", plain, naive);
    }

    #[test]
    fn the_shortest_image_is_an_image(numbers in cells(), d in point(1000.0)) {
        let cell = Cell::new(numbers).unwrap();
        let change = lattice_coordinates(&cell, minus(d, cell.shortest(d)));
        prop_assert!(change.iter().all(|f| f.abs() < 1e-8), "{:?}", change);
    }

    #[test]
    fn the_shift_to_the_shortest_image_is_whole_and_leads_to_it(
        numbers in cells(), d in point(1000.0)
    ) {
        let cell = Cell::new(numbers).unwrap();
        let shift = cell.shift_to_shortest(d);
        prop_assert!(shift.iter().all(|n| n.fract() == 0.0), "{:?}", shift);
        let by = cell.lattice_vector(shift);
        let (image, shortest) = ([0, 1, 2].map(|k| d[k] + by[k]), cell.shortest(d));
        let error = square(minus(image, shortest)).sqrt();
        let size: f64 = (0..3).map(|k| shift[k].abs() * numbers[k]).sum();
        prop_assert!(error < 1e-12 * (1000.0 + size), "{:?} {:?}", image, shortest);
        prop_assert_eq!(cell.shift_to_shortest(cell.shortest(d).map(|x| x * 0.999)), [0.0; 3]);
    }

    #[test]
    fn the_bound_for_f32_is_below_the_exact_bound(
        numbers in cells(), direction in point(1.0), scale in 0.99..1.01f64, at in point(300.0)
    ) {
        let cell = Cell::new(numbers).unwrap();
        let length = square(direction).sqrt();
        let d = direction.map(|x| x / length * scale * cell.surely_shortest.sqrt());
        let a = at.map(|x| x as f32);
        let b = [0, 1, 2].map(|k| (at[k] + d[k]) as f32);
        let [x, y, z] = [0, 1, 2].map(|k| b[k] - a[k]);
        if x * x + y * y + z * z < cell.surely_shortest_f32() {
            let exact = [0, 1, 2].map(|k| f64::from(b[k]) - f64::from(a[k]));
            prop_assert!(cell.is_surely_shortest(square(exact)), "{:?} {:?}", a, b);
        }
    }

    #[test]
    fn distances_are_those_of_wrapped_positions_and_symmetric(
        numbers in cells(), a in point(300.0), b in point(300.0)
    ) {
        let cell = Cell::new(numbers).unwrap();
        let square = cell.distance_squared(a, b);
        for other in [
            cell.distance_squared(b, a),
            cell.distance_squared(cell.wrap(a), cell.wrap(b)),
        ] {
            prop_assert!((square - other).abs() < 1e-8 * (1.0 + square));
        }
    }

    #[test]
    fn turned_vectors_have_the_same_distances(numbers in cells(), d in point(300.0)) {
        let cell = Cell::new(numbers).unwrap();
        // A rotation by thirds about the diagonal, and a reflection.
        let turn = |[x, y, z]: Vector| [z, x, -y];
        let turned = Cell::of_vectors(cell.vectors().map(turn)).unwrap();
        let (square, other) = (
            cell.distance_squared(d, [0.0; 3]),
            turned.distance_squared(turn(d), [0.0; 3]),
        );
        prop_assert!((square - other).abs() < 1e-7 * (1.0 + square), "{} {}", square, other);
        prop_assert!((turned.volume() / cell.volume() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn wrapped_positions_are_images_inside(numbers in cells(), a in point(1000.0)) {
        let cell = Cell::new(numbers).unwrap();
        let wrapped = cell.wrap(a);
        let f = cell.fractional(wrapped);
        prop_assert!(f.iter().all(|f| (-1e-9..1.0 + 1e-9).contains(f)), "{:?}", f);
        let change = lattice_coordinates(&cell, minus(a, wrapped));
        prop_assert!(change.iter().all(|f| f.abs() < 1e-8), "{:?}", change);
    }

    #[test]
    fn reduced_vectors_span_the_same_lattice(numbers in cells()) {
        let cell = Cell::new(numbers).unwrap();
        for &v in cell.reduced() {
            let f = lattice_coordinates(&cell, v);
            prop_assert!(f.iter().all(|f| f.abs() < 1e-7), "{:?}", f);
        }
        let [a, b, c] = *cell.reduced();
        let volume = dot(cross(a, b), c).abs();
        prop_assert!((volume / cell.volume() - 1.0).abs() < 1e-7);
        prop_assert!(square(a) <= square(b) && square(b) <= square(c));
    }

    #[test]
    fn at_most_the_26_neighbours_are_examined(numbers in cells()) {
        let cell = Cell::new(numbers).unwrap();
        prop_assert!(cell.images.len() <= 26);
        for &image in &cell.images {
            let whole = cell.reduced.coordinates(image);
            prop_assert!(whole.iter().all(|f| f.abs() < 1.5), "{:?}", whole);
        }
    }

    #[test]
    fn any_numbers_make_a_cell_or_none(numbers in any::<[f64; 6]>()) {
        if let Some(cell) = Cell::new(numbers) {
            prop_assert!(cell.volume() > 0.0);
        }
    }

    #[test]
    fn heights_times_areas_are_the_volume(numbers in cells()) {
        let cell = Cell::new(numbers).unwrap();
        let [a, b, c] = *cell.vectors();
        let areas = [cross(b, c), cross(c, a), cross(a, b)].map(|v| square(v).sqrt());
        for (height, area) in cell.heights().iter().zip(areas) {
            prop_assert!((height * area / cell.volume() - 1.0).abs() < 1e-9);
        }
    }
}

/// Returns a cell of any shape that is periodic in any directions.
pub(crate) fn cells_with_boundaries() -> impl Strategy<Value = Cell> {
    (cells(), any::<Periodic>(), any::<bool>()).prop_map(|(numbers, periodic, is_turned)| {
        let turn = |[x, y, z]: Vector| if is_turned { [z, x, -y] } else { [x, y, z] };
        let vectors = vectors_of(numbers).expect("a cell").map(turn);
        Cell::with_boundaries(vectors, periodic).expect("a cell")
    })
}

proptest! {
    #[test]
    fn distances_in_cells_with_any_boundaries_equal_the_reference(
        cell in cells_with_boundaries(), a in point(300.0), b in point(300.0)
    ) {
        let naive = reference::distance_squared_along(cell.vectors(), cell.periodic(), a, b);
        let square = cell.distance_squared(a, b);
        prop_assert!((square - naive).abs() < 1e-8 * (1.0 + naive), "{} {}", square, naive);
        prop_assert_eq!(cell.squares(&minus(a, b).map(|x| [x; 8])), [square; 8]);
        let d = minus(a, b);
        prop_assert!(dot(d, d) > cell.surely_shortest || square == dot(d, d));
        let (shift, shortest) = (cell.shift_to_shortest(d), cell.shortest(d));
        let by = cell.lattice_vector(shift);
        let error = minus([0, 1, 2].map(|k| d[k] + by[k]), shortest);
        let size: f64 = (0..3).map(|k| shift[k].abs() * dot(cell.vectors()[k], cell.vectors()[k]).sqrt()).sum();
        prop_assert!(dot(error, error).sqrt() < 1e-12 * (1000.0 + size));
        for k in 0..3 {
            prop_assert!(shift[k].fract() == 0.0 && (cell.periodic()[k] || shift[k] == 0.0));
        }
    }

    #[test]
    fn positions_are_wrapped_along_periodic_directions_alone(
        cell in cells_with_boundaries(), a in point(1000.0)
    ) {
        let (before, after) = (cell.fractional(a), cell.fractional(cell.wrap(a)));
        for k in 0..3 {
            let steps = before[k] - after[k];
            prop_assert!((steps - steps.round()).abs() < 1e-8, "{} {:?}", k, steps);
            match cell.periodic()[k] {
                true => prop_assert!((-1e-9..1.0 + 1e-9).contains(&after[k])),
                false => prop_assert!(steps.abs() < 1e-8),
            }
        }
    }

    #[test]
    fn cells_that_are_periodic_everywhere_have_the_same_bits(numbers in cells(), d in point(300.0)) {
        let (one, other) = (Cell::new(numbers).unwrap(), Cell::of_frame(numbers, None, PERIODIC));
        let other = other.unwrap().unwrap();
        prop_assert_eq!(one.shortest(d), other.shortest(d));
        prop_assert_eq!(one.wrapping_coordinates(d), one.fractional(d));
        prop_assert_eq!(one.reduced_periodic(), PERIODIC);
    }
}

#[test]
fn a_direction_that_is_not_periodic_needs_no_length() {
    let slab = [30.0, 40.0, 0.0, 90.0, 90.0, 60.0];
    assert!(Cell::of_frame(slab, None, PERIODIC).is_err());
    let cell = Cell::of_frame(slab, None, [true, true, false]).unwrap().unwrap();
    let near = cell.shortest([29.0, 0.0, 1e4]);
    assert!((near[0] + 1.0).abs() < 1e-12 && near[1] == 0.0 && near[2] == 1e4, "{near:?}");
    // Turned: the vectors lie in the plane of y and z.
    let rows = [0.0, 30.0, 0.0, 0.0, 0.0, 40.0, 0.0, 0.0, 0.0];
    let cell = Cell::of_frame([30.0, 40.0, 0.0, 90.0, 90.0, 90.0], Some(rows), [true, true, false]);
    let cell = cell.unwrap().unwrap();
    assert_eq!(cell.shortest([500.0, 29.0, 38.0]), [500.0, -1.0, -2.0]);
    assert_eq!((cell.shortest_vector(), cell.wrap([-5.0, -1.0, 41.0])), (30.0, [-5.0, 29.0, 1.0]));
    // A wire along z, and nothing that is periodic.
    let wire = [0.0, 0.0, 25.0, 90.0, 90.0, 90.0];
    let cell = Cell::of_frame(wire, None, [false, false, true]).unwrap().unwrap();
    assert_eq!(cell.shortest([400.0, -300.0, 24.0]), [400.0, -300.0, -1.0]);
    let cell = Cell::of_frame([5.0; 6].map(|x| x * 18.0), None, [false; 3]).unwrap().unwrap();
    assert_eq!((cell.shortest([1e5; 3]), cell.shortest_vector()), ([1e5; 3], f64::INFINITY));
    // Only the directions that are not periodic may lack a length.
    assert!(Cell::of_frame([0.0, 40.0, 0.0, 90.0, 90.0, 90.0], None, [true, true, false]).is_err());
}

#[test]
fn right_angles_give_exact_zeros() {
    let cell = Cell::new([10.1, 20.2, 30.3, 90.0, 90.0, 90.0]).unwrap();
    assert_eq!(*cell.vectors(), [[10.1, 0.0, 0.0], [0.0, 20.2, 0.0], [0.0, 0.0, 30.3]]);
    assert!(cell.images.is_empty(), "rounding alone finds the shortest image");
    assert_eq!(cell.volume(), 10.1 * 20.2 * 30.3);
    let prism = Cell::new([10.0, 10.0, 30.0, 90.0, 90.0, 120.0]).unwrap();
    assert_eq!(prism.vectors()[2], [0.0, 0.0, 30.0]);
}

#[test]
fn the_rhombic_dodecahedron_is_known() {
    let cell = Cell::new([80.0, 80.0, 80.0, 60.0, 60.0, 90.0]).unwrap();
    let half_root = 80.0 * 0.5f64.sqrt();
    let expected = [[80.0, 0.0, 0.0], [0.0, 80.0, 0.0], [40.0, 40.0, half_root]];
    for (v, e) in cell.vectors().iter().zip(expected) {
        assert!(minus(*v, e).iter().all(|x| x.abs() < 1e-12), "{v:?}");
    }
    assert!((cell.volume() - 80f64.powi(3) * 0.5f64.sqrt()).abs() < 1e-6);
    // Neighbours of the same kind in twelve directions, all at 80 Å.
    for neighbour in [[80.0, 0.0, 0.0], [40.0, 40.0, half_root], [40.0, -40.0, half_root]] {
        let beyond = neighbour.map(|x| x * 0.6);
        let square = cell.distance_squared([0.0; 3], beyond);
        assert!((square.sqrt() - 32.0).abs() < 1e-9, "{neighbour:?}");
    }
}

#[test]
fn a_needle_has_its_shortest_images() {
    // Half of the second vector: the 27 neighbours along the given vectors find 10.3 Å.
    let cell = Cell::new([10.0, 40.0, 90.0, 90.0, 90.0, 10.0]).unwrap();
    let half = cell.vectors()[1].map(|x| x / 2.0);
    let plain = reference::distance_squared_within(cell.vectors(), [0.0; 3], half, 1);
    assert!((plain.sqrt() - 10.299364).abs() < 1e-6);
    assert!((cell.distance_squared([0.0; 3], half).sqrt() - 3.486230).abs() < 1e-6);
}

#[test]
fn impossible_cells_are_refused() {
    let good = [50.0, 50.0, 50.0, 90.0, 90.0, 90.0];
    assert!(Cell::new(good).is_some());
    for (place, value) in [
        (0, 0.0),
        (1, -1.0),
        (2, f64::NAN),
        (0, f64::INFINITY),
        (3, 0.0),
        (4, 180.0),
        (5, f64::NAN),
        (5, -90.0),
        (4, f64::INFINITY),
        (0, 1e-12),
        (2, 1e300),
    ] {
        let mut bad = good;
        bad[place] = value;
        assert!(Cell::new(bad).is_none(), "{bad:?}");
    }
    // Two angles whose sum is below the third, and three whose sum is a full circle.
    assert!(Cell::new([50.0, 50.0, 50.0, 40.0, 40.0, 90.0]).is_none());
    assert!(Cell::new([50.0, 50.0, 50.0, 120.0, 120.0, 120.0]).is_none());
    assert!(Cell::new([0.0; 6]).is_none());
}
