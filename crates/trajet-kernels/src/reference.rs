//! Naive implementations of every kernel in `f64`, by other algorithms, as references for tests.

pub mod interactions;
pub mod periodic;

use crate::cell::{Cell, PERIODIC};
use crate::eigen::jacobi;
use crate::hydrogen_bonds::AngleLimit;

type Vector = [f64; 3];

/// Returns the RMSD (Å) after optimal superposition of `mobile` on `target` (`[n_atoms, 3]`, Å) and the rotation
/// (rows), from a singular value decomposition.
///
/// Source: W. Kabsch, Acta Cryst. A 34, 827 (1978), doi:10.1107/S0567739478001680.
///
/// # Panics
/// If the slices differ in length or are empty.
pub fn superpose(mobile: &[f32], target: &[f32], weights: Option<&[f64]>) -> (f64, [Vector; 3]) {
    let (x, y, w) = (points(mobile), points(target), weights_of(mobile, weights));
    assert!(x.len() == y.len() && !x.is_empty());
    let (x, y) = (centred(&x, &w), centred(&y, &w));
    // a[i][j] = Σ w y_i x_j, whose polar factor is the rotation.
    let mut a = [[0.0; 3]; 3];
    for k in 0..x.len() {
        for i in 0..3 {
            for j in 0..3 {
                a[i][j] += w[k] * y[k][i] * x[k][j];
            }
        }
    }
    let ata: [Vector; 3] =
        [0, 1, 2].map(|i| [0, 1, 2].map(|j| (0..3).map(|k| a[k][i] * a[k][j]).sum()));
    let (values, vectors) = jacobi(ata);
    let mut order = [0, 1, 2];
    order.sort_by(|&p, &q| values[q].total_cmp(&values[p]));
    let column = |k: usize| [0, 1, 2].map(|i| vectors[i][order[k]]);
    let (v0, v1) = (column(0), column(1));
    let v2 = cross(v0, v1);
    // The first two left vectors by the matrix, orthonormalised; the third so that it is a rotation.
    let u0 = unit(times(&a, v0), [1.0, 0.0, 0.0]);
    let image = times(&a, v1);
    let along = dot(image, u0);
    let fallback = cross(u0, if u0[0].abs() < 0.5 { [1.0, 0.0, 0.0] } else { [0.0, 1.0, 0.0] });
    let off_axis = [0, 1, 2].map(|i| image[i] - along * u0[i]);
    // If the second singular value is negligible beside the first, its direction is only rounding.
    let negligible = dot(off_axis, off_axis) <= 1e-24 * values[order[0]];
    let u1 = unit(if negligible { fallback } else { off_axis }, fallback);
    let u2 = cross(u0, u1);
    let rotation =
        [0, 1, 2].map(|i| [0, 1, 2].map(|j| u0[i] * v0[j] + u1[i] * v1[j] + u2[i] * v2[j]));
    let squares = (0..x.len()).map(|k| {
        let moved = times(&rotation, x[k]);
        w[k] * (0..3).map(|i| (moved[i] - y[k][i]).powi(2)).sum::<f64>()
    });
    ((squares.sum::<f64>() / w.iter().sum::<f64>()).sqrt(), rotation)
}

/// Returns the RMSD (Å) without rotation. With `centre` both centres are subtracted first.
///
/// # Panics
/// If the slices differ in length.
pub fn rmsd_plain(mobile: &[f32], target: &[f32], weights: Option<&[f64]>, centre: bool) -> f64 {
    let (mut x, mut y, w) = (points(mobile), points(target), weights_of(mobile, weights));
    assert_eq!(x.len(), y.len());
    if centre {
        (x, y) = (centred(&x, &w), centred(&y, &w));
    }
    let squares =
        (0..x.len()).map(|k| w[k] * (0..3).map(|i| (x[k][i] - y[k][i]).powi(2)).sum::<f64>());
    (squares.sum::<f64>() / w.iter().sum::<f64>()).sqrt()
}

/// Returns the squared distance (Å²) of the minimum image of two positions, for box vectors as in
/// [`crate::cell::Cell`]. Examines every image that could be nearer than the best one found.
pub fn distance_squared(vectors: &[Vector; 3], a: Vector, b: Vector) -> f64 {
    let shortest = nearest(vectors, [0, 1, 2].map(|k| a[k] - b[k]));
    dot(shortest, shortest)
}

/// Returns the minimum image of a difference.
fn nearest(vectors: &[Vector; 3], difference: Vector) -> Vector {
    let [[ax, _, _], [bx, by, _], [cx, cy, cz]] = *vectors;
    let shifted = |v: Vector, by: f64, along: Vector| [0, 1, 2].map(|k| v[k] - by * along[k]);
    let mut found = difference;
    for (k, along) in [(2, [cx, cy, cz]), (1, [bx, by, 0.0]), (0, [ax, 0.0, 0.0])] {
        found = shifted(found, (found[k] / along[k]).round(), along);
    }
    let radius = dot(found, found).sqrt();
    let mut shortest = found;
    // All integers for which a coordinate stays within the radius, and one more on each side.
    let wholes = |x: f64, step: f64| {
        let (first, last) = ((x - radius) / step, (x + radius) / step);
        (first.floor() as i64 - 1..=last.ceil() as i64 + 1).map(|n| n as f64)
    };
    for k in wholes(difference[2], cz) {
        let plane = shifted(difference, k, [cx, cy, cz]);
        for j in wholes(plane[1], by) {
            let line = shifted(plane, j, [bx, by, 0.0]);
            let point = shifted(line, (line[0] / ax).round(), [ax, 0.0, 0.0]);
            if dot(point, point) < dot(shortest, shortest) {
                shortest = point;
            }
        }
    }
    shortest
}

/// Returns the squared distance (Å²) of the minimum image of two positions in a cell that is periodic along some of its
/// vectors. Turns the lattice of these into the standard orientation, with vectors of the other directions at right
/// angles to it that are longer than any distance.
///
/// # Panics
/// If two periodic vectors are parallel.
pub fn distance_squared_along(
    vectors: &[Vector; 3],
    periodic: [bool; 3],
    a: Vector,
    b: Vector,
) -> f64 {
    let difference = [0, 1, 2].map(|k| a[k] - b[k]);
    let mut axes = Vec::<Vector>::new();
    let mut rows = [[0.0; 3]; 3];
    let rest_of = |axes: &[Vector], v: Vector| {
        // Twice, so that rounding leaves nothing along the axes.
        [0, 1].iter().flat_map(|_| axes).fold(v, |rest, &axis| {
            let along = dot(rest, axis);
            [0, 1, 2].map(|k| rest[k] - along * axis[k])
        })
    };
    for (vector, _) in vectors.iter().zip(periodic).filter(|&(_, is_periodic)| is_periodic) {
        let rest = rest_of(&axes, *vector);
        axes.push(unit_of_nonzero(rest));
        let row = axes.len() - 1;
        axes.iter().enumerate().for_each(|(k, &axis)| rows[row][k] = dot(*vector, axis));
    }
    while axes.len() < 3 {
        let rests = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]].map(|v| rest_of(&axes, v));
        let longest = rests.into_iter().max_by(|a, b| dot(*a, *a).total_cmp(&dot(*b, *b)));
        axes.push(unit_of_nonzero(longest.expect("three vectors")));
        rows[axes.len() - 1][axes.len() - 1] = 1.0 + 4.0 * dot(difference, difference).sqrt();
    }
    distance_squared(&rows, [0, 1, 2].map(|k| dot(difference, axes[k])), [0.0; 3])
}

/// Returns the squared distance (Å²) of the minimum image of two positions in any cell.
pub fn distance_squared_in(cell: &Cell, a: Vector, b: Vector) -> f64 {
    let (vectors, periodic) = (cell.vectors(), cell.periodic());
    let [[_, ay, az], [_, _, bz], _] = *vectors;
    match periodic == PERIODIC && [ay, az, bz] == [0.0; 3] {
        true => distance_squared(vectors, a, b),
        false => distance_squared_along(vectors, periodic, a, b),
    }
}

/// Returns the squared distance from a search over up to `n` shifts along each vector, whether or not that is enough.
pub fn distance_squared_within(vectors: &[Vector; 3], a: Vector, b: Vector, n: i32) -> f64 {
    let mut shortest = f64::INFINITY;
    for (i, j, k) in
        (-n..=n).flat_map(|i| (-n..=n).flat_map(move |j| (-n..=n).map(move |k| (i, j, k))))
    {
        let image = [0, 1, 2].map(|x| {
            let shift = f64::from(i) * vectors[0][x]
                + f64::from(j) * vectors[1][x]
                + f64::from(k) * vectors[2][x];
            a[x] - b[x] + shift
        });
        shortest = shortest.min(dot(image, image));
    }
    shortest
}

/// Returns the minimum-image distances (Å) of all pairs of an atom of `a` and one of `b` (`[n, 3]`, Å), except pairs
/// with the same label.
///
/// # Panics
/// If the number of labels is not that of the atoms.
pub fn pair_distances(
    vectors: &[Vector; 3],
    a: &[f32],
    b: &[f32],
    labels: Option<[&[u32]; 2]>,
) -> Vec<f64> {
    let (a, b) = (points(a), points(b));
    let excluded = |i: usize, j: usize| labels.is_some_and(|[la, lb]| la[i] == lb[j]);
    let pairs = (0..a.len()).flat_map(|i| (0..b.len()).map(move |j| (i, j)));
    pairs
        .filter(|&(i, j)| !excluded(i, j))
        .map(|(i, j)| distance_squared(vectors, a[i], b[j]).sqrt())
        .collect()
}

/// Returns the number of values in each of the bins between `edges`, the last one closed on the right.
pub fn histogram(values: &[f64], edges: &[f64]) -> Vec<u64> {
    let last = edges.len() - 2;
    let within =
        |k: usize, v: f64| v >= edges[k] && (v < edges[k + 1] || (k == last && v == edges[k + 1]));
    (0..=last).map(|k| values.iter().filter(|&&v| within(k, v)).count() as u64).collect()
}

/// Returns the distances (Å) of every position of `a` to every one of `b`.
pub fn distances(cell: Option<&Cell>, a: &[f32], b: &[f32]) -> Vec<f64> {
    let (a, b) = (points(a), points(b));
    let between = |p: Vector, q: Vector| {
        let d = [0, 1, 2].map(|k| q[k] - p[k]);
        cell.map_or(dot(d, d), |cell| distance_squared_in(cell, p, q)).sqrt()
    };
    a.iter().flat_map(|&p| b.iter().map(move |&q| between(p, q))).collect()
}

/// Returns mean and sum of squared deviations of each coordinate of frames (`[n_frames, width]`).
pub fn moments(frames: &[f32], width: usize) -> (Vec<f64>, Vec<f64>) {
    let column = |k: usize| frames.iter().skip(k).step_by(width).map(|&x| f64::from(x));
    let n = (frames.len() / width) as f64;
    let mean: Vec<f64> = (0..width).map(|k| column(k).sum::<f64>() / n).collect();
    let squares = (0..width).map(|k| column(k).map(|x| (x - mean[k]).powi(2)).sum()).collect();
    (mean, squares)
}

/// Returns the dihedral angle (radians) of four points, as the angle between the components of the outer bonds
/// perpendicular to the middle one; `None` if such a component is nearly zero.
pub fn dihedral(vectors: Option<&[Vector; 3]>, [p, q, r, s]: [Vector; 4]) -> Option<f64> {
    let bond = |from: Vector, to: Vector| {
        let d = [0, 1, 2].map(|k| to[k] - from[k]);
        vectors.map_or(d, |vectors| nearest(vectors, d))
    };
    let (a, b, c) = (bond(p, q), bond(q, r), bond(r, s));
    let along = unit(b, [1.0, 0.0, 0.0]);
    let across = |v: Vector| {
        let part = dot(v, along);
        [0, 1, 2].map(|k| v[k] - part * along[k])
    };
    let (u, v) = (across(a.map(|x| -x)), across(c));
    if dot(u, u).min(dot(v, v)) < 1e-6 || dot(b, b) < 1e-6 {
        return None;
    }
    let (u, v) = (unit(u, along), unit(v, along));
    let angle = dot(u, v).clamp(-1.0, 1.0).acos();
    Some(if dot(cross(u, v), along) < 0.0 { -angle } else { angle })
}

/// Returns all hydrogen bonds within `limits`, the largest distance (Å) of donor or else hydrogen and acceptor, and that
/// of an angle: indices of the pair of donor and hydrogen and of the acceptor, with distance and angle D-H-A (degrees).
/// The angle D-H-A is that of a triangle with these sides.
pub fn hydrogen_bonds(
    vectors: Option<&[Vector; 3]>,
    frame: &[f32],
    pairs: &[[u32; 2]],
    acceptors: &[u32],
    limits: (f64, AngleLimit),
    of_donor: bool,
) -> Vec<([u32; 2], f64, f64)> {
    let atoms = points(frame);
    let apart = |from: u32, to: u32| {
        let d = [0, 1, 2].map(|k| atoms[to as usize][k] - atoms[from as usize][k]);
        vectors.map_or(d, |vectors| nearest(vectors, d))
    };
    let mut found = Vec::new();
    for (pair, &[donor, hydrogen]) in pairs.iter().enumerate() {
        for (other, &acceptor) in acceptors.iter().enumerate() {
            let (back, on) = (apart(hydrogen, donor), apart(hydrogen, acceptor));
            let across = [0, 1, 2].map(|k| on[k] - back[k]);
            let sides = [back, on, across].map(|v| dot(v, v).sqrt());
            let cosine = (sides[0] * sides[0] + sides[1] * sides[1] - sides[2] * sides[2])
                / (2.0 * sides[0] * sides[1]);
            let angle = cosine.clamp(-1.0, 1.0).acos().to_degrees();
            let measured = if of_donor { apart(donor, acceptor) } else { on };
            let distance = dot(measured, measured).sqrt();
            let is_own = acceptor == donor || acceptor == hydrogen;
            let has_angle = match limits.1 {
                AngleLimit::AtHydrogen(least) => angle >= least,
                AngleLimit::AtDonor(largest) => {
                    let (to, on) = (apart(donor, hydrogen), apart(donor, acceptor));
                    let lengths = dot(to, to).sqrt() * dot(on, on).sqrt();
                    (dot(to, on) / lengths).clamp(-1.0, 1.0).acos().to_degrees() <= largest
                }
            };
            if !is_own && distance <= limits.0 && has_angle {
                found.push(([pair as u32, other as u32], distance, angle));
            }
        }
    }
    found
}

fn points(positions: &[f32]) -> Vec<Vector> {
    positions.chunks(3).map(|p| [0, 1, 2].map(|k| f64::from(p[k]))).collect()
}

fn weights_of(positions: &[f32], weights: Option<&[f64]>) -> Vec<f64> {
    weights.map_or_else(|| vec![1.0; positions.len() / 3], <[f64]>::to_vec)
}

fn centred(points: &[Vector], weights: &[f64]) -> Vec<Vector> {
    let total: f64 = weights.iter().sum();
    let centre =
        [0, 1, 2].map(|i| points.iter().zip(weights).map(|(p, w)| p[i] * w).sum::<f64>() / total);
    points.iter().map(|p| [0, 1, 2].map(|i| p[i] - centre[i])).collect()
}

fn dot(a: Vector, b: Vector) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: Vector, b: Vector) -> Vector {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn times(m: &[Vector; 3], v: Vector) -> Vector {
    [0, 1, 2].map(|i| dot(m[i], v))
}

fn unit(v: Vector, otherwise: Vector) -> Vector {
    let length = dot(v, v).sqrt();
    if length > 0.0 { v.map(|x| x / length) } else { unit_of_nonzero(otherwise) }
}

fn unit_of_nonzero(v: Vector) -> Vector {
    let length = dot(v, v).sqrt();
    v.map(|x| x / length)
}
