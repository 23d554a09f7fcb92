//! RMSD after optimal superposition, by the quaternion characteristic polynomial (QCP).
//!
//! Sources: D. L. Theobald, Acta Cryst. A 61, 478 (2005), doi:10.1107/S0108767305015266 (the
//! polynomial and Newton's iteration from above); B. K. P. Horn, J. Opt. Soc. Am. A 4, 629 (1987),
//! doi:10.1364/JOSAA.4.000629 (the quaternion matrix). Departures:
//!
//! 1. The rounding error of the iteration is estimated. If it could affect the ninth digit of the RMSD (nearly
//!    identical structures; atoms on a line; symmetric structures, whose largest roots coincide), the quaternion comes
//!    from Jacobi's method instead, and the distances are summed explicitly.
//! 2. Rotations always come from Jacobi's method.
//! 3. Coordinates are taken relative to the frame's first atom before they are summed, so that a molecule far from the
//!    origin loses no digits.

use std::ops::{Add, Mul, Sub};

use trajet_simd::{InstructionSet, multiversion};

use crate::eigen::jacobi;
use crate::lanes;

pub use crate::cell::Vector;

/// Maximal relative error of the RMSD by rounding in the iteration.
pub(crate) const TOLERANCE: f64 = 1e-9;
/// Maximal number of Newton steps. About six suffice unless roots coincide.
pub(crate) const MAX_STEPS: usize = 50;

/// Coordinates as one array per axis, in `f64`.
#[derive(Clone, Debug, Default)]
pub struct Coordinates {
    axes: [Vec<f64>; 3],
    origin: Vector,
    set: InstructionSet,
}

impl Coordinates {
    /// Sets positions (`[n_atoms, 3]`, Å), relative to the first of them. Buffers are reused.
    pub fn set(&mut self, positions: &[f32]) {
        let (triples, rest) = positions.as_chunks::<3>();
        assert!(rest.is_empty(), "positions come in threes");
        self.origin = triples.first().map_or([0.0; 3], |p| p.map(f64::from));
        self.axes.iter_mut().for_each(|axis| axis.resize(triples.len(), 0.0));
        split(self.set, triples, self.origin, &mut self.axes);
    }

    /// Returns coordinates of positions in double precision, relative to the first of them.
    fn of(positions: &[f64]) -> Self {
        let (triples, rest) = positions.as_chunks::<3>();
        assert!(rest.is_empty(), "positions come in threes");
        let origin = triples.first().copied().unwrap_or_default();
        let axes = [0, 1, 2].map(|k| triples.iter().map(|p| p[k] - origin[k]).collect());
        Coordinates { axes, origin, ..Default::default() }
    }

    fn len(&self) -> usize {
        self.axes[0].len()
    }
}

multiversion! {
    /// Splits positions into axes, relative to `origin`.
    fn split(triples: &[[f32; 3]], origin: Vector, axes: &mut [Vec<f64>; 3]) = split_of
}

#[inline(always)]
fn split_of(triples: &[[f32; 3]], origin: Vector, axes: &mut [Vec<f64>; 3]) {
    let n = triples.len();
    let [x, y, z] = axes;
    let (x, y, z) = (&mut x[..n], &mut y[..n], &mut z[..n]);
    for i in 0..n {
        x[i] = f64::from(triples[i][0]) - origin[0];
        y[i] = f64::from(triples[i][1]) - origin[1];
        z[i] = f64::from(triples[i][2]) - origin[2];
    }
}

/// A reference structure for superposition, prepared once.
#[derive(Clone, Debug)]
pub struct Reference {
    /// Positions relative to the centre.
    axes: [Vec<f64>; 3],
    /// Weighted positions relative to the centre.
    weighted: [Vec<f64>; 3],
    weights: Option<Vec<f64>>,
    total_weight: f64,
    /// `Σ w |y|²`.
    inner: f64,
    centre: Vector,
}

/// A rigid motion, which maps `x` to `rotation · (x - from) + to`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Motion {
    /// Rows of the rotation matrix.
    pub rotation: [Vector; 3],
    /// Centre of the mobile structure.
    pub from: Vector,
    /// Centre of the reference.
    pub to: Vector,
}

impl Motion {
    /// Returns the moved point.
    #[inline(always)]
    pub fn apply(&self, x: Vector) -> Vector {
        let d = [x[0] - self.from[0], x[1] - self.from[1], x[2] - self.from[2]];
        [0, 1, 2].map(|i| {
            let r = self.rotation[i];
            r[0] * d[0] + r[1] * d[1] + r[2] * d[2] + self.to[i]
        })
    }
}

/// Sums over one frame, from which all results are derived.
struct Moments {
    /// Centre, relative to the origin of the coordinates.
    centre: Vector,
    /// `Σ w |x - centre|²`.
    inner: f64,
    /// `Σ w x_i y_j`, with `y` around its centre.
    cross: [Vector; 3],
}

impl Reference {
    /// Prepares positions (`[n_atoms, 3]`, Å) with one weight per atom, or equal weights for `None`.
    ///
    /// # Panics
    /// If there is no atom, the number of weights differs from that of the atoms, or weights are negative or all zero.
    pub fn new(positions: &[f64], weights: Option<&[f64]>) -> Self {
        let given = Coordinates::of(positions);
        let n = given.len();
        assert!(n > 0, "a reference has at least one atom");
        if let Some(weights) = weights {
            assert_eq!(weights.len(), n, "one weight an atom");
            assert!(weights.iter().all(|&w| w >= 0.0 && w.is_finite()), "weights are not negative");
        }
        let weights = weights.map(<[f64]>::to_vec);
        let total_weight = weights.as_ref().map_or(n as f64, |w| lanes::plain(w));
        assert!(total_weight > 0.0, "some weight is not zero");
        let shift = centre(&given, weights.as_deref(), total_weight);
        let axes: [Vec<f64>; 3] =
            std::array::from_fn(|k| given.axes[k].iter().map(|x| x - shift[k]).collect());
        let weighted: [Vec<f64>; 3] = match &weights {
            None => axes.clone(),
            Some(w) => std::array::from_fn(|k| axes[k].iter().zip(w).map(|(y, w)| y * w).collect()),
        };
        let inner = (0..3).map(|k| lanes::dot(&axes[k], &weighted[k])).sum();
        let centre = [0, 1, 2].map(|k| given.origin[k] + shift[k]);
        Reference { axes, weighted, weights, total_weight, inner, centre }
    }

    /// Returns the number of atoms.
    pub fn n_atoms(&self) -> usize {
        self.axes[0].len()
    }

    /// Returns the RMSD (Å) of a frame to this reference after optimal superposition.
    ///
    /// # Panics
    /// If the frame has a different number of atoms.
    pub fn rmsd(&self, mobile: &Coordinates) -> f64 {
        let moments = self.moments(mobile);
        let half = (moments.inner + self.inner) / 2.0;
        match largest_root(half, &moments.cross) {
            Some(root) => (2.0 * (half - root) / self.total_weight).sqrt(),
            None => self.explicit(mobile, &self.motion_of(mobile, &moments)),
        }
    }

    /// Returns the RMSD (Å), and the motion that superposes the frame on this reference.
    ///
    /// # Panics
    /// If the frame has a different number of atoms.
    pub fn superpose(&self, mobile: &Coordinates) -> (f64, Motion) {
        let moments = self.moments(mobile);
        let motion = self.motion_of(mobile, &moments);
        let half = (moments.inner + self.inner) / 2.0;
        let rmsd = match largest_root(half, &moments.cross) {
            Some(root) => (2.0 * (half - root) / self.total_weight).sqrt(),
            None => self.explicit(mobile, &motion),
        };
        (rmsd, motion)
    }

    /// Returns the RMSD (Å) without rotation, and the translation. With `centred` both centres are subtracted first.
    ///
    /// # Panics
    /// If the frame has a different number of atoms.
    pub fn rmsd_unrotated(&self, mobile: &Coordinates, centred: bool) -> (f64, Motion) {
        let from = match centred {
            true => {
                let shift = centre(mobile, self.weights.as_deref(), self.total_weight);
                [0, 1, 2].map(|k| mobile.origin[k] + shift[k])
            }
            false => self.centre,
        };
        let rotation = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        let motion = Motion { rotation, from, to: self.centre };
        (self.explicit(mobile, &motion), motion)
    }

    /// Returns the RMSD (Å) of a frame to this reference after a motion that another selection has determined.
    ///
    /// # Panics
    /// If the frame has a different number of atoms.
    pub fn rmsd_moved(&self, mobile: &Coordinates, motion: &Motion) -> f64 {
        self.explicit(mobile, motion)
    }

    /// Returns `sqrt(Σ w |moved x - y|² / Σ w)`.
    fn explicit(&self, mobile: &Coordinates, motion: &Motion) -> f64 {
        self.check(mobile);
        (squared_distance(mobile.set, self, mobile, motion) / self.total_weight).sqrt()
    }

    fn check(&self, mobile: &Coordinates) -> usize {
        let n = self.n_atoms();
        assert_eq!(mobile.len(), n, "atoms of the frame and of the reference");
        n
    }

    fn moments(&self, mobile: &Coordinates) -> Moments {
        self.check(mobile);
        let [wx, wy, wz] = &self.weighted;
        let weights = self.weights.as_deref();
        let sums =
            [0, 1, 2].map(|k| lanes::axis_sums(mobile.set, &mobile.axes[k], weights, [wx, wy, wz]));
        let centre = sums.map(|[sum, ..]| sum / self.total_weight);
        let spread: f64 = sums.iter().map(|[_, square, ..]| square).sum();
        let centre_square: f64 = centre.iter().map(|c| c * c).sum();
        // The reference is centred, so that the frame's centre drops out of `cross`.
        let cross = sums.map(|[_, _, x, y, z]| [x, y, z]);
        let inner = (spread - self.total_weight * centre_square).max(0.0);
        Moments { centre, inner, cross }
    }

    fn motion_of(&self, mobile: &Coordinates, moments: &Moments) -> Motion {
        let from = [0, 1, 2].map(|k| mobile.origin[k] + moments.centre[k]);
        Motion { rotation: best_rotation(&moments.cross), from, to: self.centre }
    }
}

multiversion! {
    /// Returns `Σ w |moved x - y|²`.
    fn squared_distance(reference: &Reference, mobile: &Coordinates, motion: &Motion) -> f64
        = squared_distance_of
}

#[inline(always)]
fn squared_distance_of(reference: &Reference, mobile: &Coordinates, motion: &Motion) -> f64 {
    let n = reference.n_atoms();
    let offset = [0, 1, 2].map(|k| motion.to[k] - reference.centre[k]);
    let start = [0, 1, 2].map(|k| mobile.origin[k] - motion.from[k]);
    let (x, y) = (&mobile.axes, &reference.axes);
    let (x, y) = ([&x[0][..n], &x[1][..n], &x[2][..n]], [&y[0][..n], &y[1][..n], &y[2][..n]]);
    let square = |i: usize| {
        let d = [x[0][i] + start[0], x[1][i] + start[1], x[2][i] + start[2]];
        let mut square = 0.0;
        for k in 0..3 {
            let r = motion.rotation[k];
            let moved = r[0] * d[0] + r[1] * d[1] + r[2] * d[2] + offset[k];
            let difference = moved - y[k][i];
            square += difference * difference;
        }
        square
    };
    match reference.weights.as_deref() {
        None => lanes::sum(n, square),
        Some(weights) => {
            let w = &weights[..n];
            lanes::sum(n, |i| w[i] * square(i))
        }
    }
}

/// Returns the weighted centre, relative to the origin of the coordinates.
fn centre(coordinates: &Coordinates, weights: Option<&[f64]>, total: f64) -> Vector {
    [0, 1, 2].map(|k| {
        let axis = &coordinates.axes[k];
        weights.map_or_else(|| lanes::plain(axis), |w| lanes::dot(axis, w)) / total
    })
}

/// Returns the rotation that superposes `x` on `y`, given their correlation matrix `Σ w x_i y_j`, by Jacobi's method.
pub(crate) fn best_rotation(cross: &[Vector; 3]) -> [Vector; 3] {
    let (values, vectors) = jacobi(key_matrix(cross));
    let largest = (1..4).fold(0, |best, k| if values[k] > values[best] { k } else { best });
    rotation(std::array::from_fn(|i| vectors[i][largest]))
}

/// A number, or several that are computed side by side.
pub(crate) trait Number:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self>
{
}

impl Number for f64 {}

/// Returns Horn's symmetric matrix of a correlation matrix. The eigenvector of its largest eigenvalue is the rotation.
#[inline(always)]
pub(crate) fn key_matrix<T: Number>(s: &[[T; 3]; 3]) -> [[T; 4]; 4] {
    let [[xx, xy, xz], [yx, yy, yz], [zx, zy, zz]] = *s;
    [
        [xx + yy + zz, yz - zy, zx - xz, xy - yx],
        [yz - zy, xx - yy - zz, xy + yx, zx + xz],
        [zx - xz, xy + yx, yy - xx - zz, yz + zy],
        [xy - yx, zx + xz, yz + zy, zz - xx - yy],
    ]
}

/// Returns the largest eigenvalue of the key matrix by Newton's iteration from its upper bound `half`; `None` if its
/// error could exceed [`TOLERANCE`] relative to the residual.
pub(crate) fn largest_root(half: f64, cross: &[Vector; 3]) -> Option<f64> {
    let squares: f64 = cross.iter().flatten().map(|v| v * v).sum();
    let c2 = -2.0 * squares;
    let c1 = -8.0 * determinant3(cross);
    let c0 = determinant4(&key_matrix(cross));
    let mut root = half;
    for _ in 0..MAX_STEPS {
        let square = root * root;
        let value = (square + c2) * square + c1 * root + c0;
        let slope = (4.0 * square + 2.0 * c2) * root + c1;
        let step = value / slope;
        if !step.is_finite() {
            return None;
        }
        root -= step;
        if step.abs() <= 1e-15 * root.abs() {
            // Each term of the polynomial is rounded; the largest is of the order of `half` to the fourth.
            let rounding = 16.0 * f64::EPSILON * (half * half) * (half * half);
            let error = (rounding / slope).abs() + 4.0 * f64::EPSILON * half;
            return (error <= TOLERANCE * (half - root)).then_some(root);
        }
    }
    None
}

#[inline(always)]
pub(crate) fn determinant3<T: Number>(m: &[[T; 3]; 3]) -> T {
    m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1])
        - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0])
        + m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0])
}

/// Returns the determinant, from the 2×2 minors of the upper and of the lower two rows.
#[inline(always)]
pub(crate) fn determinant4<T: Number>(m: &[[T; 4]; 4]) -> T {
    let upper = |i: usize, j: usize| m[0][i] * m[1][j] - m[0][j] * m[1][i];
    let lower = |i: usize, j: usize| m[2][i] * m[3][j] - m[2][j] * m[3][i];
    upper(0, 1) * lower(2, 3) - upper(0, 2) * lower(1, 3)
        + upper(0, 3) * lower(1, 2)
        + upper(1, 2) * lower(0, 3)
        - upper(1, 3) * lower(0, 2)
        + upper(2, 3) * lower(0, 1)
}

/// Returns the rotation matrix of a unit quaternion.
fn rotation([w, x, y, z]: [f64; 4]) -> [Vector; 3] {
    [
        [w * w + x * x - y * y - z * z, 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
        [2.0 * (x * y + w * z), w * w - x * x + y * y - z * z, 2.0 * (y * z - w * x)],
        [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), w * w - x * x - y * y + z * z],
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference;
    use proptest::prelude::*;

    fn coordinates(positions: &[f32]) -> Coordinates {
        let mut c = Coordinates::default();
        c.set(positions);
        c
    }

    fn reference_of(positions: &[f32], weights: Option<&[f64]>) -> Reference {
        let positions: Vec<f64> = positions.iter().copied().map(f64::from).collect();
        Reference::new(&positions, weights)
    }

    fn rmsd(mobile: &[f32], target: &[f32], weights: Option<&[f64]>) -> f64 {
        reference_of(target, weights).rmsd(&coordinates(mobile))
    }

    fn structure(
        n: std::ops::Range<usize>,
    ) -> impl Strategy<Value = (Vec<f32>, Vec<f32>, Vec<f64>)> {
        let point = || [-30f32..30.0, -30f32..30.0, -30f32..30.0];
        prop::collection::vec((point(), point(), 0.1f64..40.0), n).prop_map(|atoms| {
            let mobile = atoms.iter().flat_map(|a| a.0).collect();
            let target = atoms.iter().flat_map(|a| a.1).collect();
            (mobile, target, atoms.iter().map(|a| a.2).collect())
        })
    }

    fn turned(positions: &[f32], angle: f64, shift: f32) -> Vec<f32> {
        let (s, c) = angle.sin_cos();
        positions
            .chunks(3)
            .flat_map(|p| {
                let [x, y, z] = [0, 1, 2].map(|k| f64::from(p[k]));
                [c * x - s * y, s * x + c * y, z].map(|v| v as f32 + shift)
            })
            .collect()
    }

    proptest! {
        #[test]
        fn rmsd_equals_the_reference((a, b, w) in structure(1..40)) {
            for weights in [None, Some(&w[..])] {
                let (naive, _) = reference::superpose(&a, &b, weights);
                prop_assert!((rmsd(&a, &b, weights) - naive).abs() < 1e-9);
                let (with_motion, _) = reference_of(&b, weights).superpose(&coordinates(&a));
                prop_assert_eq!(with_motion.to_bits(), rmsd(&a, &b, weights).to_bits());
            }
        }

        #[test]
        fn the_motion_yields_the_rmsd((a, b, w) in structure(1..40)) {
            let target = reference_of(&b, Some(&w));
            let (value, motion) = target.superpose(&coordinates(&a));
            prop_assert!((target.rmsd_moved(&coordinates(&a), &motion) - value).abs() < 1e-8);
            let determinant = determinant3(&motion.rotation);
            prop_assert!((determinant - 1.0).abs() < 1e-12, "a rotation, not a reflection");
        }

        #[test]
        fn a_turned_copy_has_zero_rmsd((a, _, w) in structure(1..40), angle in -4.0..4.0f64, shift in -900f32..900.0) {
            let b = turned(&a, angle, shift);
            // The rounding of the rotated copy to f32.
            let rounding = f64::from(f32::EPSILON) * 1000.0;
            prop_assert!(rmsd(&a, &b, Some(&w)) < rounding);
            let same = rmsd(&a, &a, None);
            prop_assert!(same < 1e-12, "{same:e}");
        }

        #[test]
        fn degenerate_structures_equal_the_reference(
            (a, b, _) in structure(1..12),
            kind in 0..3usize,
        ) {
            // On a line, in a plane, or two points.
            let squash = |p: &[f32]| -> Vec<f32> {
                let mut p = p.to_vec();
                match kind {
                    0 => p.chunks_mut(3).for_each(|t| (t[1], t[2]) = (2.0 * t[0], -t[0])),
                    1 => p.chunks_mut(3).for_each(|t| t[2] = t[0] - t[1]),
                    _ => p.truncate(6),
                }
                p
            };
            for (a, b) in [(squash(&a), squash(&b)), (squash(&a), b[..squash(&a).len()].to_vec())] {
                let (naive, _) = reference::superpose(&a, &b, None);
                prop_assert!((rmsd(&a, &b, None) - naive).abs() < 1e-7, "{} {}", rmsd(&a, &b, None), naive);
            }
        }

        #[test]
        fn a_mirror_image_is_not_superposed((a, _, _) in structure(4..40)) {
            let mirrored: Vec<f32> = a.chunks(3).flat_map(|p| [-p[0], p[1], p[2]]).collect();
            let (naive, _) = reference::superpose(&a, &mirrored, None);
            prop_assert!((rmsd(&a, &mirrored, None) - naive).abs() < 1e-9);
        }

        #[test]
        fn rmsd_without_rotation_is_the_plain_sum((a, b, w) in structure(1..30)) {
            let target = reference_of(&b, Some(&w));
            let plain = reference::rmsd_plain(&a, &b, Some(&w), false);
            prop_assert!((target.rmsd_unrotated(&coordinates(&a), false).0 - plain).abs() < 1e-10);
            let centred = reference::rmsd_plain(&a, &b, Some(&w), true);
            prop_assert!((target.rmsd_unrotated(&coordinates(&a), true).0 - centred).abs() < 1e-10);
        }
    }

    #[test]
    fn nan_positions_give_a_nan_rmsd() {
        let target = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 2.0, 0.0];
        let mut mobile = target;
        mobile[4] = f32::NAN;
        assert!(rmsd(&mobile, &target, None).is_nan());
    }
}
