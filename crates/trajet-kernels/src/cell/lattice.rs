//! Lattices: short vectors, and the images of a difference among which the shortest is.
//!
//! Sources: I. Semaev, Lecture Notes in Computer Science 2146, 181 (2001), doi:10.1007/3-540-44670-2_13,
//! and P. Q. Nguyen and D. Stehlé, ACM Trans. Algorithms 5, 46 (2009), doi:10.1145/1597036.1597050 (the
//! reduction of three vectors). Departures:
//!
//! 1. A reduction in floating point stops once a vector would get shorter by rounding alone. Theorems on reduced bases
//!    are therefore not used: which images can be the shortest follows from the actual vectors. The reduction only
//!    keeps the list of images short.
//!
//! **Images to examine.** Let `v1, v2, v3` be the vectors after the reduction. A difference is first reduced to `d`,
//! whose coordinates `f` along them are within ±1/2. Let `e = d - L` be the minimum image.
//!
//! - As `e ± v_k` are not shorter, `|e · v_k| ≤ v_k²/2`. With the Gram matrix `G`, `e` has the coordinates
//!   `G⁻¹ (e · v)`, so that `|f_m(e)| ≤ b_m = Σ_k |G⁻¹_mk| v_k²/2`, and hence `|L_m| ≤ 1/2 + b_m`.
//! - `L` is dropped if some other `M` is as good for all `d`: `|d - L|² - |d - M|²` is `L² - M² - 2 d·(L - M)`, which
//!   is nowhere negative if `L² - M² ≥ Σ_k |v_k · (L - M)|`.
//!
//! In an orthorhombic cell only `L = 0` is left, in any other at most the 26 neighbours.
//!
//! **Directions that are not periodic.** The lattice is that of the periodic vectors alone. In a basis of it the others
//! are unit vectors at right angles to it, and their reciprocal vectors are zero: coordinates along them are zero, so
//! that neither rounding nor wrapping ever takes a step along them. All of the above holds, and no loop over atoms has a
//! branch for it.

use super::vectors::{PERIODIC, Periodic, Vector, combine, cross, dot, minus, square};

/// Maximal number of reduction steps. Each but the last shortens a vector, so that far fewer suffice.
const MAX_STEPS: usize = 256;
/// Minimal relative decrease that counts as shorter.
const SHORTER: f64 = 1e-10;
/// In a reduced basis, the coordinates of a minimum image are smaller than this.
const MAX_COORDINATE: f64 = 4.0;

/// Three vectors and their reciprocal vectors, whose products with the others are zero and with their own one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Basis {
    pub(crate) vectors: [Vector; 3],
    pub(crate) reciprocal: [Vector; 3],
}

impl Basis {
    pub(crate) fn new(vectors: [Vector; 3]) -> Self {
        let [a, b, c] = vectors;
        let volume = dot(cross(a, b), c);
        let reciprocal = [cross(b, c), cross(c, a), cross(a, b)].map(|v| v.map(|x| x / volume));
        Basis { vectors, reciprocal }
    }

    /// Returns the basis of the lattice of the periodic vectors. The others are replaced by unit vectors at right angles to
    /// it, whose reciprocal vectors are zero.
    pub(crate) fn of_lattice(vectors: [Vector; 3], periodic: Periodic) -> Self {
        if periodic == PERIODIC {
            return Basis::new(vectors);
        }
        Basis::new(with_normals(vectors, periodic, 1.0)).without(periodic)
    }

    /// Returns the basis with reciprocal vectors of zero in the directions that are not periodic.
    pub(crate) fn without(mut self, periodic: Periodic) -> Self {
        for (reciprocal, is_periodic) in self.reciprocal.iter_mut().zip(periodic) {
            *reciprocal = if is_periodic { *reciprocal } else { [0.0; 3] };
        }
        self
    }

    #[inline(always)]
    pub(crate) fn coordinates(&self, v: Vector) -> Vector {
        self.reciprocal.map(|r| dot(r, v))
    }

    pub(crate) fn volume(&self) -> f64 {
        let [a, b, c] = self.vectors;
        dot(cross(a, b), c).abs()
    }

    pub(crate) fn heights(&self) -> [f64; 3] {
        self.reciprocal.map(|r| 1.0 / dot(r, r).sqrt())
    }

    /// Returns bounds on the coordinates of all minimum images.
    pub(crate) fn bounds_of_shortest(&self) -> [f64; 3] {
        self.reciprocal.map(|r| {
            let term = |k: usize| dot(r, self.reciprocal[k]).abs() * square(self.vectors[k]) / 2.0;
            term(0) + term(1) + term(2)
        })
    }
}

/// Returns the vectors with those that are not periodic replaced by vectors of a length at right angles to all others;
/// along the axes if none is periodic.
pub(super) fn with_normals(vectors: [Vector; 3], periodic: Periodic, length: f64) -> [Vector; 3] {
    let mut filled = vectors;
    let scaled = |v: Vector| {
        let by = length / square(v).sqrt();
        v.map(|x| x * by)
    };
    match periodic.map(usize::from).iter().sum() {
        0 => filled = [0, 1, 2].map(|k| [0, 1, 2].map(|axis| if axis == k { length } else { 0.0 })),
        1 => {
            let k = periodic.iter().position(|&is_periodic| is_periodic).expect("one is");
            let along = vectors[k];
            // The axis to which the vector is most at right angles.
            let least = |&a: &usize, &b: &usize| along[a].abs().total_cmp(&along[b].abs());
            let axis = (0..3).min_by(least).expect("three axes");
            let normal = cross(along, [0, 1, 2].map(|j| f64::from(u8::from(j == axis))));
            filled[(k + 1) % 3] = scaled(normal);
            filled[(k + 2) % 3] = scaled(cross(along, normal));
        }
        2 => {
            let k = periodic.iter().position(|&is_periodic| !is_periodic).expect("one is not");
            filled[k] = scaled(cross(vectors[(k + 1) % 3], vectors[(k + 2) % 3]));
        }
        _ => {}
    }
    filled
}

/// Returns short vectors of the lattice of `vectors`, the shortest first, and their integer coordinates along
/// `vectors`; `None` if the reduction does not converge.
pub(super) fn reduce(vectors: [Vector; 3]) -> Option<([Vector; 3], [Vector; 3])> {
    let identity = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    let mut rows = [0, 1, 2].map(|k| (vectors[k], identity[k]));
    for _ in 0..MAX_STEPS {
        rows.sort_by(|(a, _), (b, _)| square(*a).total_cmp(&square(*b)));
        let [(a, whole_a), (b, whole_b), (c, whole_c)] = rows;
        let along = (dot(a, b) / square(a)).round_ties_even();
        let shorter = minus(b, a.map(|x| x * along));
        if is_shorter(shorter, b) {
            rows[1] = (shorter, minus(whole_b, whole_a.map(|n| n * along)));
            continue;
        }
        // The lattice point of `a` and `b` nearest to the foot of `c`: a corner of the parallelogram around it, as
        // these two are reduced.
        let (ab, ac, bc) = (dot(a, b), dot(a, c), dot(b, c));
        let determinant = square(a) * square(b) - ab * ab;
        let i = ((ac * square(b) - bc * ab) / determinant).floor();
        let j = ((bc * square(a) - ac * ab) / determinant).floor();
        let corners = [[i, j], [i + 1.0, j], [i, j + 1.0], [i + 1.0, j + 1.0]];
        let corner = |[i, j]: [f64; 2], a: Vector, b: Vector, c: Vector| {
            [0, 1, 2].map(|k| c[k] - i * a[k] - j * b[k])
        };
        let rest = corners.map(|at| (corner(at, a, b, c), corner(at, whole_a, whole_b, whole_c)));
        let shortest = rest
            .into_iter()
            .fold(rows[2], |best, row| if is_shorter(row.0, best.0) { row } else { best });
        if shortest.0 == c {
            return Some((rows.map(|row| row.0), rows.map(|row| row.1)));
        }
        rows[2] = shortest;
    }
    None
}

fn is_shorter(a: Vector, b: Vector) -> bool {
    square(a) < square(b) * (1.0 - SHORTER)
}

/// Returns the nonzero lattice vectors that can lead to a minimum image, and their integer coordinates along the basis;
/// see the module documentation.
pub(super) fn images(basis: &Basis) -> Option<Vec<(Vector, Vector)>> {
    let bounds = basis.bounds_of_shortest();
    // NaN is refused as well.
    if !bounds.iter().all(|&b| b < MAX_COORDINATE) {
        return None;
    }
    let [a, b, c] = bounds.map(|bound| (0.5 + bound).floor() as i32);
    // Lattice vectors with their integers and squares.
    let mut candidates = Vec::with_capacity(27);
    for i in -a..=a {
        for j in -b..=b {
            for k in -c..=c {
                let whole = [i, j, k].map(f64::from);
                let image = combine(&basis.vectors, whole);
                candidates.push((image, whole, square(image)));
            }
        }
    }
    let as_good = |image: Vector, other: Vector, longer: f64| {
        let difference = minus(image, other);
        let most: f64 = basis.vectors.iter().map(|&v| dot(v, difference).abs()).sum();
        difference != [0.0; 3] && longer >= most
    };
    let is_needed = |image: Vector, length: f64| {
        // A longer vector is never as good: `most` is not negative.
        let longer = candidates.iter().map(|&(other, _, square)| (other, length - square));
        length > 0.0 && !longer.filter(|&(_, by)| by >= 0.0).any(|(m, by)| as_good(image, m, by))
    };
    let needed = candidates.iter().filter(|&&(image, _, square)| is_needed(image, square));
    Some(needed.map(|&(image, whole, _)| (image, whole)).collect())
}
