//! Naive twins of [`crate::periodic`], for box vectors that have the first along x and the second in the x-y plane.

use super::{Vector, distance_squared, dot, nearest};
use crate::cell::Cell;

/// Returns positions of which each is the image nearest to that of an atom that it is bonded to: a recursion over the
/// bonds, from the lowest atom of each molecule on.
pub fn whole(vectors: &[Vector; 3], bonds: &[[u32; 2]], positions: &[Vector]) -> Vec<Vector> {
    let mut placed = vec![None; positions.len()];
    for root in 0..positions.len() {
        if placed[root].is_none() {
            visit(vectors, bonds, positions, root, positions[root], &mut placed);
        }
    }
    placed.into_iter().map(|place| place.expect("all were visited")).collect()
}

fn visit(
    vectors: &[Vector; 3],
    bonds: &[[u32; 2]],
    positions: &[Vector],
    atom: usize,
    place: Vector,
    placed: &mut [Option<Vector>],
) {
    placed[atom] = Some(place);
    for &[a, b] in bonds {
        for (from, to) in [(a as usize, b as usize), (b as usize, a as usize)] {
            if from == atom && placed[to].is_none() {
                let bond = nearest(vectors, [0, 1, 2].map(|k| positions[to][k] - place[k]));
                let next = [0, 1, 2].map(|k| place[k] + bond[k]);
                visit(vectors, bonds, positions, to, next, placed);
            }
        }
    }
}

/// Returns all images of a point, up to `n` box vectors away in each direction.
fn images(vectors: &[Vector; 3], point: Vector, n: i32) -> impl Iterator<Item = Vector> {
    let shifts = move || (-n..=n).map(f64::from);
    shifts().flat_map(move |i| {
        shifts().flat_map(move |j| {
            shifts().map(move |k| {
                let by = |x: usize| i * vectors[0][x] + j * vectors[1][x] + k * vectors[2][x];
                [0, 1, 2].map(|x| point[x] + by(x))
            })
        })
    })
}

/// Returns the images of a point, at most `n` box vectors away in each direction, whose coordinates along the box
/// vectors are from 0 to 1, by Cramer's rule.
pub fn images_in_cell(vectors: &[Vector; 3], point: Vector, n: i32) -> Vec<Vector> {
    let determinant = |[a, b, c]: [Vector; 3]| {
        a[0] * (b[1] * c[2] - b[2] * c[1]) - a[1] * (b[0] * c[2] - b[2] * c[0])
            + a[2] * (b[0] * c[1] - b[1] * c[0])
    };
    let is_inside = |image: &Vector| {
        (0..3).all(|k| {
            let mut replaced = *vectors;
            replaced[k] = *image;
            (0.0..1.0).contains(&(determinant(replaced) / determinant(*vectors)))
        })
    };
    images(vectors, point, n).filter(is_inside).collect()
}

/// Returns the images of a point in the brick of the diagonal of the box matrix: tries all shifts along the third
/// vector, then all along the second, then all along the first.
pub fn images_in_brick(vectors: &[Vector; 3], point: Vector) -> Vec<Vector> {
    let mut images = vec![point];
    for k in [2, 1, 0] {
        let width = vectors[k][k];
        let shifted = |image: Vector| {
            let most = (image[k].abs() / width).ceil() as i64 + 2;
            (-most..=most).map(move |n| [0, 1, 2].map(|x| image[x] + n as f64 * vectors[k][x]))
        };
        let is_inside = |image: &Vector| (0.0..width).contains(&image[k]);
        images = images.into_iter().flat_map(shifted).filter(is_inside).collect();
    }
    images
}

/// Returns the image of a point that is nearest to half of the sum of the box vectors.
pub fn nearest_to_middle(vectors: &[Vector; 3], point: Vector) -> Vector {
    let middle = [0, 1, 2].map(|k| (vectors[0][k] + vectors[1][k] + vectors[2][k]) / 2.0);
    let from_middle = nearest(vectors, [0, 1, 2].map(|k| point[k] - middle[k]));
    [0, 1, 2].map(|k| middle[k] + from_middle[k])
}

/// Returns centres in one image: the first stays, and the pair of a placed and another one that are nearest among all
/// such pairs places the next.
pub fn clustered(vectors: &[Vector; 3], centres: &[Vector]) -> Vec<Vector> {
    let mut placed: Vec<Option<Vector>> = vec![None; centres.len()];
    if let Some(first) = centres.first() {
        placed[0] = Some(*first);
    }
    for _ in 1..centres.len() {
        let (mut best, mut pair) = (f64::INFINITY, (0, 0));
        for (i, place) in placed.iter().enumerate() {
            for (j, &centre) in centres.iter().enumerate() {
                if place.is_some() && placed[j].is_none() {
                    let square = distance_squared(vectors, centres[i], centre);
                    if square < best {
                        (best, pair) = (square, (i, j));
                    }
                }
            }
        }
        let beside = placed[pair.0].expect("a placed one");
        let d = nearest(vectors, [0, 1, 2].map(|k| centres[pair.1][k] - beside[k]));
        assert!((dot(d, d) - best).abs() <= 1e-6 * (1.0 + best), "an image of the same distance");
        placed[pair.1] = Some([0, 1, 2].map(|k| beside[k] + d[k]));
    }
    placed.into_iter().map(|place| place.expect("all were placed")).collect()
}

/// Returns how many cells one coordinate is shifted in the last of some frames, so that it never moves by more than
/// half a cell: counted in single steps.
pub fn jumps(f: &[f64]) -> i32 {
    let mut shift = 0;
    for pair in f.windows(2) {
        let before = pair[0] + f64::from(shift);
        while pair[1] + f64::from(shift) - before > 0.5 {
            shift -= 1;
        }
        while pair[1] + f64::from(shift) - before < -0.5 {
            shift += 1;
        }
    }
    shift
}

/// Returns the jump of an atom from one frame to another, along each box vector, and the largest part of a cell by which
/// it is uncertain; infinity if that is not known.
pub fn jump_of_atom(from: (&Cell, [f32; 3]), to: (&Cell, [f32; 3])) -> ([i32; 3], f64) {
    let fraction = |(cell, position): (&Cell, [f32; 3])| {
        let along = cell.fractional(position.map(f64::from));
        [0, 1, 2].map(|k| if cell.periodic()[k] { along[k] } else { 0.0 * along[k] })
    };
    let (from, to) = (fraction(from), fraction(to));
    let (mut jump, mut largest) = ([0; 3], 0.0);
    for axis in 0..3 {
        let change = to[axis] - from[axis];
        let whole = change.round_ties_even();
        let is_known = change.is_finite() && whole.abs() <= f64::from(i32::MAX);
        let doubt = if is_known { (change - whole).abs() } else { f64::INFINITY };
        largest = f64::max(largest, doubt);
        // A cast saturates.
        jump[axis] = if change.is_nan() { 0 } else { (0.0 - whole) as i32 };
    }
    (jump, largest)
}

/// Returns the position of an atom that is shifted by numbers of box vectors; the same if `f32` cannot hold it.
pub fn shifted(cell: &Cell, shift: [i32; 3], position: [f32; 3]) -> [f32; 3] {
    if shift == [0; 3] {
        return position;
    }
    let by = cell.lattice_vector(shift.map(f64::from));
    let moved = [0, 1, 2].map(|k| (f64::from(position[k]) + by[k]) as f32);
    if moved.iter().all(|x| x.is_finite()) { moved } else { position }
}
