//! Unit cells of every shape, and the shortest of all images of a vector.
//!
//! The lattice's basis is reduced once (Minkowski: no vector gets shorter by adding the others, each
//! at most once; in three dimensions these conditions are enough). A vector is moved into the
//! parallelepiped around the origin by rounding its fractional coordinates; the shortest image then
//! differs from it by at most one of each basis vector. Source: P. Q. Nguyen and D. Stehlé, ACM Trans.
//! Algorithms 5, 46 (2009), doi:10.1145/1597036.1597050.

use crate::superpose::Vector;

/// Each step shortens a vector; the steps of the most skewed cell that still has a volume are fewer.
const MOST_STEPS: usize = 1000;

/// A unit cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Reduced basis vectors.
    basis: [Vector; 3],
    /// Rows that turn a vector into its coordinates in the basis.
    inverse: [Vector; 3],
    /// The sums of basis vectors, each taken -1, 0 or 1 times, but none of them.
    neighbours: [Vector; 26],
    /// A vector up to this square is its own shortest image.
    surely_shortest: f64,
    rectangular: bool,
    volume: f64,
}

impl Cell {
    /// The cell of lengths a, b, c (Å) and angles α, β, γ (degrees); none where these describe no
    /// volume, or are no numbers.
    pub fn new([a, b, c, alpha, beta, gamma]: [f64; 6]) -> Option<Cell> {
        let rectangular = [alpha, beta, gamma] == [90.0; 3];
        let cosine = |angle: f64| if angle == 90.0 { 0.0 } else { libm::cos(angle.to_radians()) };
        let [ca, cb, cg] = [alpha, beta, gamma].map(cosine);
        let sg = if gamma == 90.0 { 1.0 } else { libm::sin(gamma.to_radians()) };
        let cy = (ca - cb * cg) / sg;
        let cz = (1.0 - cb * cb - cy * cy).sqrt();
        let given = [[a, 0.0, 0.0], [b * cg, b * sg, 0.0], [c * cb, c * cy, c * cz]];
        let lengths = [a, b, c].iter().all(|&length| length > 0.0 && length.is_finite());
        let angles = [alpha, beta, gamma].iter().all(|&angle| angle > 0.0 && angle < 180.0);
        if !(lengths && angles && cz > 0.0) {
            return None;
        }
        let basis = if rectangular { given } else { reduced(given) };
        let [u, v, w] = basis;
        let signed = dot(u, cross(v, w));
        let volume = signed.abs();
        if !(volume > 0.0 && volume.is_finite()) {
            return None;
        }
        let inverse = [cross(v, w), cross(w, u), cross(u, v)].map(|row| row.map(|x| x / signed));
        // The distance between opposite faces is the inverse length of a row.
        let height = inverse.iter().map(|&row| 1.0 / dot(row, row).sqrt()).fold(f64::MAX, f64::min);
        let mut neighbours = [[0.0; 3]; 26];
        let all = (0..27).filter(|&k| k != 13);
        for (neighbour, k) in neighbours.iter_mut().zip(all) {
            let times = [k / 9 - 1, k / 3 % 3 - 1, k % 3 - 1].map(f64::from);
            *neighbour = combined(&basis, times);
        }
        let surely_shortest = (height / 2.0) * (height / 2.0);
        Some(Cell { basis, inverse, neighbours, surely_shortest, rectangular, volume })
    }

    /// Å³.
    pub fn volume(&self) -> f64 {
        self.volume
    }

    /// The shortest of all images of a vector.
    pub fn shortest(&self, vector: Vector) -> Vector {
        let mut best = self.centred(vector);
        let mut square = dot(best, best);
        if self.rectangular || square <= self.surely_shortest {
            return best;
        }
        let centred = best;
        for neighbour in &self.neighbours {
            let image = [0, 1, 2].map(|k| centred[k] + neighbour[k]);
            let other = dot(image, image);
            if other < square {
                (best, square) = (image, other);
            }
        }
        best
    }

    /// Whether a vector is surely its own shortest image.
    #[inline(always)]
    pub(crate) fn is_surely_shortest(&self, square: f64) -> bool {
        square <= self.surely_shortest
    }

    /// The image of a vector in the parallelepiped around the origin.
    #[inline(always)]
    pub(crate) fn centred(&self, vector: Vector) -> Vector {
        if self.rectangular {
            return [0, 1, 2].map(|k| {
                let times = (vector[k] * self.inverse[k][k]).round_ties_even();
                vector[k] - times * self.basis[k][k]
            });
        }
        let times = self.inverse.map(|row| dot(row, vector).round_ties_even());
        let shift = combined(&self.basis, times);
        [0, 1, 2].map(|k| vector[k] - shift[k])
    }

    /// Squares of the shortest images of eight vectors, given by axis.
    #[inline(always)]
    pub(crate) fn squares(&self, vectors: [[f64; 8]; 3]) -> [f64; 8] {
        let mut centred = [[0.0; 8]; 3];
        let mut squares = [0.0; 8];
        for lane in 0..8 {
            let v = self.centred([vectors[0][lane], vectors[1][lane], vectors[2][lane]]);
            (centred[0][lane], centred[1][lane], centred[2][lane]) = (v[0], v[1], v[2]);
            squares[lane] = dot(v, v);
        }
        if self.rectangular || squares.iter().all(|&square| self.is_surely_shortest(square)) {
            return squares;
        }
        for n in &self.neighbours {
            for lane in 0..8 {
                let image =
                    [centred[0][lane] + n[0], centred[1][lane] + n[1], centred[2][lane] + n[2]];
                let square = dot(image, image);
                squares[lane] = if square < squares[lane] { square } else { squares[lane] };
            }
        }
        squares
    }
}

/// A basis of the same lattice whose vectors are as short as they can be.
fn reduced(mut basis: [Vector; 3]) -> [Vector; 3] {
    for _ in 0..MOST_STEPS {
        let mut changed = false;
        for i in 0..3 {
            let (j, k) = ((i + 1) % 3, (i + 2) % 3);
            // Whole multiples first: a skewed cell is far from its reduced form.
            for other in [j, k] {
                let times = (dot(basis[i], basis[other]) / dot(basis[other], basis[other])).round();
                let shorter = [0, 1, 2].map(|x| basis[i][x] - times * basis[other][x]);
                changed |= replace_if_shorter(&mut basis[i], shorter);
            }
            for (s, t) in [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)] {
                let shorter = [0, 1, 2].map(|x| basis[i][x] + s * basis[j][x] + t * basis[k][x]);
                changed |= replace_if_shorter(&mut basis[i], shorter);
            }
        }
        if !changed {
            break;
        }
    }
    basis
}

/// Takes the other vector where it is shorter by more than rounding.
fn replace_if_shorter(vector: &mut Vector, other: Vector) -> bool {
    let shorter = dot(other, other) < dot(*vector, *vector) * (1.0 - 1e-12);
    if shorter {
        *vector = other;
    }
    shorter
}

#[inline(always)]
fn combined(basis: &[Vector; 3], times: Vector) -> Vector {
    [0, 1, 2].map(|x| times[0] * basis[0][x] + times[1] * basis[1][x] + times[2] * basis[2][x])
}

#[inline(always)]
fn dot(u: Vector, v: Vector) -> f64 {
    u[0] * v[0] + u[1] * v[1] + u[2] * v[2]
}

#[inline(always)]
fn cross(u: Vector, v: Vector) -> Vector {
    [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]]
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::reference;
    use proptest::prelude::*;

    /// Cells of every shape, also very skewed ones.
    pub(crate) fn cells() -> impl Strategy<Value = [f64; 6]> {
        let length = || 10.0..60.0f64;
        let angle = || prop_oneof![3 => 30.0..150.0f64, 1 => Just(90.0), 1 => 20.0..160.0f64];
        prop_oneof![
            (length(), length(), length(), angle(), angle(), angle())
                .prop_map(|(a, b, c, x, y, z)| [a, b, c, x, y, z]),
            (length(), length(), length()).prop_map(|(a, b, c)| [a, b, c, 90.0, 90.0, 90.0]),
            length().prop_map(|a| [a, a, a, 60.0, 60.0, 90.0]),
            length().prop_map(|a| [a, a, a, 70.528_779, 109.471_221, 70.528_779]),
        ]
        // The naive twin looks through as many cells as the flattest of these needs.
        .prop_filter("has a volume", |&[a, b, c, x, y, z]| {
            Cell::new([a, b, c, x, y, z]).is_some_and(|cell| cell.volume() > 0.1 * a * b * c)
        })
    }

    proptest! {
        #[test]
        fn the_shortest_image_is_the_shortest_of_many(
            lengths in cells(),
            vector in prop::array::uniform3(-300.0..300.0f64),
        ) {
            let cell = Cell::new(lengths).unwrap();
            let got = cell.shortest(vector);
            let nearest = reference::shortest(lengths, vector);
            let want = dot(nearest, nearest).sqrt();
            prop_assert!((dot(got, got).sqrt() - want).abs() < 1e-7, "{:?} {:?}", got, nearest);
            let eight = vector.map(|x| [x; 8]);
            let squares = cell.squares(eight);
            prop_assert!((squares[5].sqrt() - want).abs() < 1e-7);
        }
    }

    #[test]
    fn a_cube() {
        let cell = Cell::new([10.0, 10.0, 10.0, 90.0, 90.0, 90.0]).unwrap();
        assert_eq!(cell.volume(), 1000.0);
        assert_eq!(cell.shortest([9.0, -16.0, 3.0]), [-1.0, 4.0, 3.0]);
        assert!(cell.shortest([1e30, 0.0, 0.0])[0].is_finite());
    }

    #[test]
    fn what_describes_no_volume_is_no_cell() {
        for wrong in [
            [0.0, 1.0, 1.0, 90.0, 90.0, 90.0],
            [f64::NAN; 6],
            [1.0, 1.0, 1.0, 0.0, 90.0, 90.0],
            [1.0, 1.0, 1.0, 170.0, 90.0, 60.0],
            [1.0, 1.0, f64::INFINITY, 90.0, 90.0, 90.0],
        ] {
            assert_eq!(Cell::new(wrong), None, "{wrong:?}");
        }
    }
}
