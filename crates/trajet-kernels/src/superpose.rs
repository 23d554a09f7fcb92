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

use crate::axes::{Aligned, Axes, blocks};
use crate::eigen::jacobi;
use crate::lanes::{self, Lanes, Sums, times};

pub use crate::cell::Vector;

/// Maximal relative error of the RMSD by rounding in the iteration.
pub(crate) const TOLERANCE: f64 = 1e-9;
/// Maximal number of Newton steps. About six suffice unless roots coincide.
pub(crate) const MAX_STEPS: usize = 50;

/// Positions of a frame, which are taken relative to the first of them.
#[derive(Clone, Copy, Debug)]
pub struct Coordinates<'a> {
    points: &'a [[f32; 3]],
    origin: Vector,
    set: InstructionSet,
}

impl<'a> Coordinates<'a> {
    /// Returns the coordinates of positions (`[n_atoms, 3]`, Å).
    ///
    /// # Panics
    /// If they do not come in threes.
    pub fn of(positions: &'a [f32]) -> Self {
        let (points, rest) = positions.as_chunks::<3>();
        assert!(rest.is_empty(), "positions come in threes");
        let origin = points.first().map_or([0.0; 3], |p| p.map(f64::from));
        Coordinates { points, origin, set: InstructionSet::chosen() }
    }
}

/// A reference structure for superposition, prepared once.
#[derive(Clone, Debug)]
pub struct Reference {
    /// Positions relative to the centre.
    axes: [Aligned; 3],
    /// Weighted positions relative to the centre.
    weighted: [Aligned; 3],
    weights: Option<Aligned>,
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
        let (points, rest) = positions.as_chunks::<3>();
        assert!(rest.is_empty(), "positions come in threes");
        let n = points.len();
        assert!(n > 0, "a reference has at least one atom");
        let origin = points[0];
        let given: [Vec<f64>; 3] =
            std::array::from_fn(|k| points.iter().map(|p| p[k] - origin[k]).collect());
        if let Some(weights) = weights {
            assert_eq!(weights.len(), n, "one weight an atom");
            assert!(weights.iter().all(|&w| w >= 0.0 && w.is_finite()), "weights are not negative");
        }
        let weights: Option<Aligned> = weights.map(|weights| weights.iter().copied().collect());
        let total_weight = weights.as_ref().map_or(n as f64, |w| lanes::plain(w));
        assert!(total_weight > 0.0, "some weight is not zero");
        let sum = |axis: &Vec<f64>| {
            weights.as_ref().map_or_else(|| lanes::plain(axis), |w| lanes::dot(axis, w))
        };
        let shift = given.each_ref().map(|axis| sum(axis) / total_weight);
        let axes: [Aligned; 3] =
            std::array::from_fn(|k| given[k].iter().map(|x| x - shift[k]).collect());
        let weighted: [Aligned; 3] = match &weights {
            None => axes.clone(),
            Some(w) => {
                std::array::from_fn(|k| axes[k].iter().zip(&w[..]).map(|(y, w)| y * w).collect())
            }
        };
        let inner = (0..3).map(|k| lanes::dot(&axes[k], &weighted[k])).sum();
        let centre = [0, 1, 2].map(|k| origin[k] + shift[k]);
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
    pub fn rmsd(&self, mobile: &Coordinates<'_>) -> f64 {
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
    pub fn superpose(&self, mobile: &Coordinates<'_>) -> (f64, Motion) {
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
    pub fn rmsd_unrotated(&self, mobile: &Coordinates<'_>, centred: bool) -> (f64, Motion) {
        let from = match centred {
            true => {
                let weights = self.weights.as_deref();
                let sums = position_sums(mobile.set, mobile.points, mobile.origin, weights);
                [0, 1, 2].map(|k| mobile.origin[k] + sums[k] / self.total_weight)
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
    pub fn rmsd_moved(&self, mobile: &Coordinates<'_>, motion: &Motion) -> f64 {
        self.explicit(mobile, motion)
    }

    /// Returns `sqrt(Σ w |moved x - y|² / Σ w)`.
    fn explicit(&self, mobile: &Coordinates<'_>, motion: &Motion) -> f64 {
        self.check(mobile);
        (squared_distance(mobile.set, self, mobile, motion) / self.total_weight).sqrt()
    }

    fn check(&self, mobile: &Coordinates<'_>) {
        assert_eq!(mobile.points.len(), self.n_atoms(), "atoms of the frame and of the reference");
    }

    fn moments(&self, mobile: &Coordinates<'_>) -> Moments {
        self.check(mobile);
        let weights = self.weights.as_deref();
        let sums = axis_sums(mobile.set, mobile.points, mobile.origin, weights, &self.weighted);
        let centre = sums.map(|[sum, ..]| sum / self.total_weight);
        let spread: f64 = sums.iter().map(|[_, square, ..]| square).sum();
        let centre_square: f64 = centre.iter().map(|c| c * c).sum();
        // The reference is centred, so that the frame's centre drops out of `cross`.
        let cross = sums.map(|[_, _, x, y, z]| [x, y, z]);
        let inner = (spread - self.total_weight * centre_square).max(0.0);
        Moments { centre, inner, cross }
    }

    fn motion_of(&self, mobile: &Coordinates<'_>, moments: &Moments) -> Motion {
        let from = [0, 1, 2].map(|k| mobile.origin[k] + moments.centre[k]);
        Motion { rotation: best_rotation(&moments.cross), from, to: self.centre }
    }
}

multiversion! {
    /// Returns for each axis `x` of positions relative to `origin` `Σ x`, `Σ x x` and `Σ x y` for three `y`, the first
    /// two weighted if weights are given. All five are computed in one pass, as each alone would be limited by the
    /// latency of its additions.
    fn axis_sums(points: &[[f32; 3]], origin: Vector, weights: Option<&[f64]>, y: &[Aligned; 3])
        -> [[f64; 5]; 3] = axis_sums_of
}

#[inline(always)]
fn axis_sums_of(
    points: &[[f32; 3]],
    origin: Vector,
    weights: Option<&[f64]>,
    y: &[Aligned; 3],
) -> [[f64; 5]; 3] {
    let mut sums = [Sums::<5>::default(); 3];
    let mut axes = Axes::new();
    for (atoms, block) in blocks(points) {
        let x = axes.of(block, origin);
        let [a, b, c] = [&y[0][atoms.clone()], &y[1][atoms.clone()], &y[2][atoms.clone()]];
        for (sums, x) in sums.iter_mut().zip(x) {
            match weights {
                None => sums.add([x, a, b, c], |[x, a, b, c]| {
                    [*x, times(x, x), times(x, a), times(x, b), times(x, c)]
                }),
                Some(weights) => {
                    sums.add([x, a, b, c, &weights[atoms.clone()]], |[x, a, b, c, w]| {
                        let square = times(&times(w, x), x);
                        [times(x, w), square, times(x, a), times(x, b), times(x, c)]
                    });
                }
            }
        }
    }
    sums.map(|sums| sums.totals())
}

multiversion! {
    /// Returns the sums of positions relative to `origin`, weighted if weights are given.
    fn position_sums(points: &[[f32; 3]], origin: Vector, weights: Option<&[f64]>) -> Vector
        = position_sums_of
}

#[inline(always)]
fn position_sums_of(points: &[[f32; 3]], origin: Vector, weights: Option<&[f64]>) -> Vector {
    let mut sums = Sums::<3>::default();
    let mut axes = Axes::new();
    for (atoms, block) in blocks(points) {
        let [x, y, z] = axes.of(block, origin);
        match weights {
            None => sums.add([x, y, z], |[x, y, z]| [*x, *y, *z]),
            Some(weights) => sums.add([x, y, z, &weights[atoms]], |[x, y, z, w]| {
                [times(x, w), times(y, w), times(z, w)]
            }),
        }
    }
    sums.totals()
}

multiversion! {
    /// Returns `Σ w |moved x - y|²`.
    fn squared_distance(reference: &Reference, mobile: &Coordinates<'_>, motion: &Motion) -> f64
        = squared_distance_of
}

#[inline(always)]
fn squared_distance_of(reference: &Reference, mobile: &Coordinates<'_>, motion: &Motion) -> f64 {
    let offset = [0, 1, 2].map(|k| motion.to[k] - reference.centre[k]);
    let start = [0, 1, 2].map(|k| mobile.origin[k] - motion.from[k]);
    let square = |x: [&Lanes; 3], y: [&Lanes; 3]| -> Lanes {
        std::array::from_fn(|lane| {
            let d = [x[0][lane] + start[0], x[1][lane] + start[1], x[2][lane] + start[2]];
            let mut square = 0.0;
            for k in 0..3 {
                let r = motion.rotation[k];
                let moved = r[0] * d[0] + r[1] * d[1] + r[2] * d[2] + offset[k];
                let difference = moved - y[k][lane];
                square += difference * difference;
            }
            square
        })
    };
    let mut sum = Sums::<1>::default();
    let mut axes = Axes::new();
    for (atoms, block) in blocks(mobile.points) {
        let [x, y, z] = axes.of(block, mobile.origin);
        let [a, b, c] = reference.axes.each_ref().map(|axis| &axis[atoms.clone()]);
        match reference.weights.as_deref() {
            None => {
                sum.add([x, y, z, a, b, c], |[x, y, z, a, b, c]| [square([x, y, z], [a, b, c])])
            }
            Some(weights) => {
                sum.add([x, y, z, a, b, c, &weights[atoms]], |[x, y, z, a, b, c, w]| {
                    [times(w, &square([x, y, z], [a, b, c]))]
                });
            }
        }
    }
    let [sum] = sum.totals();
    sum
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

    fn reference_of(positions: &[f32], weights: Option<&[f64]>) -> Reference {
        let positions: Vec<f64> = positions.iter().copied().map(f64::from).collect();
        Reference::new(&positions, weights)
    }

    fn rmsd(mobile: &[f32], target: &[f32], weights: Option<&[f64]>) -> f64 {
        reference_of(target, weights).rmsd(&Coordinates::of(mobile))
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
                let (with_motion, _) = reference_of(&b, weights).superpose(&Coordinates::of(&a));
                prop_assert_eq!(with_motion.to_bits(), rmsd(&a, &b, weights).to_bits());
            }
        }

        #[test]
        fn the_motion_yields_the_rmsd((a, b, w) in structure(1..40)) {
            let target = reference_of(&b, Some(&w));
            let (value, motion) = target.superpose(&Coordinates::of(&a));
            prop_assert!((target.rmsd_moved(&Coordinates::of(&a), &motion) - value).abs() < 1e-8);
            let determinant = determinant3(&motion.rotation);
            prop_assert!((determinant - 1.0).abs() < 1e-12, "a rotation, not a reflection");
        }

        #[test]
        fn sums_have_the_order_of_lanes_on_every_instruction_set(
            (a, b, w) in prop_oneof![structure(1..40), structure(500..540)],
        ) {
            for weights in [None, Some(&w[..])] {
                let target = reference_of(&b, weights);
                let here = Coordinates::of(&a);
                let axes: [Vec<f64>; 3] = std::array::from_fn(|k| {
                    here.points.iter().map(|p| f64::from(p[k]) - here.origin[k]).collect()
                });
                let ones = vec![1.0; w.len()];
                let w = weights.unwrap_or(&ones);
                let expected = axes.each_ref().map(|x| {
                    let weighted: Vec<f64> = x.iter().zip(w).map(|(x, w)| w * x).collect();
                    let [a, b, c] = &target.weighted;
                    let sum = lanes::dot(x, w);
                    [sum, lanes::dot(&weighted, x), lanes::dot(x, a), lanes::dot(x, b), lanes::dot(x, c)]
                });
                let (_, motion) = target.superpose(&here);
                let (centred, shift) = target.rmsd_unrotated(&here, true);
                for set in InstructionSet::available() {
                    let here = Coordinates { set, ..here };
                    let found = axis_sums(set, here.points, here.origin, weights, &target.weighted);
                    prop_assert_eq!(found, expected);
                    let found = position_sums(set, here.points, here.origin, weights);
                    prop_assert_eq!(found, expected.map(|sums| sums[0]));
                    prop_assert_eq!(target.superpose(&here).1, motion);
                    prop_assert_eq!(target.rmsd_unrotated(&here, true), (centred, shift));
                    let moved = target.rmsd_moved(&here, &motion);
                    prop_assert_eq!(moved, target.rmsd_moved(&Coordinates::of(&a), &motion));
                }
            }
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
            prop_assert!((target.rmsd_unrotated(&Coordinates::of(&a), false).0 - plain).abs() < 1e-10);
            let centred = reference::rmsd_plain(&a, &b, Some(&w), true);
            prop_assert!((target.rmsd_unrotated(&Coordinates::of(&a), true).0 - centred).abs() < 1e-10);
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
