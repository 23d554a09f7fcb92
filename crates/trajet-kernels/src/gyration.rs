//! Radius of gyration and the gyration tensor.
//!
//! The radius is `√(Σ w |x - c|² / Σ w)` with the weighted centre `c`. Two passes: the centre first, since the difference
//! of two large sums would lose digits far from the origin.
//!
//! The tensor is `Σ w (x - c)(x - c)ᵀ / Σ w`: D. N. Theodorou and U. W. Suter, Macromolecules 18, 1206 (1985),
//! doi:10.1021/ma00148a028.

use trajet_simd::multiversion;

use crate::axes::{Axes, blocks};
use crate::cell::Vector;
use crate::eigen::jacobi;
use crate::lanes::{LANES, Lanes, Sums, times};

multiversion! {
    /// Returns the radius of gyration (Å) of positions (`[n_atoms, 3]`, Å) with one weight per atom, or equal weights;
    /// not a number if a position is not.
    ///
    /// # Panics
    /// If the number of weights is not that of the atoms.
    pub fn radius(positions: &[f32], weights: Option<&[f64]>) -> f64 = radius_of
}

multiversion! {
    /// Returns the radius of gyration and the gyration tensor of positions (`[n_atoms, 3]`, Å) with one weight per atom,
    /// or equal weights; not a number if a position is not.
    ///
    /// # Panics
    /// If the number of weights is not that of the atoms.
    pub fn tensor(positions: &[f32], weights: Option<&[f64]>) -> Tensor = tensor_of
}

/// The gyration tensor of a group of atoms.
#[derive(Clone, Copy, Debug)]
pub struct Tensor {
    /// Radius of gyration, Å, with the bits of [`radius`].
    pub radius: f64,
    /// The elements xx, yy, zz, xy, xz, yz, Å².
    pub elements: [f64; 6],
}

impl Tensor {
    /// Returns whether all atoms have positions; one that has not reaches some elements only.
    fn is_finite(&self) -> bool {
        self.elements.iter().all(|element| element.is_finite())
    }

    /// Returns the radii of gyration about the x, y and z axes through the centre, Å: the roots of the weighted mean
    /// squared distances from these axes; not numbers if an element is not.
    pub fn axis_radii(&self) -> [f64; 3] {
        if !self.is_finite() {
            return [f64::NAN; 3];
        }
        let [xx, yy, zz, ..] = self.elements;
        [yy + zz, xx + zz, xx + yy].map(f64::sqrt)
    }

    /// Returns the principal moments, Å², in ascending order: the eigenvalues of the tensor, none of them below zero; not numbers if an element is not.
    pub fn moments(&self) -> [f64; 3] {
        let [xx, yy, zz, xy, xz, yz] = self.elements;
        if !self.is_finite() {
            return [f64::NAN; 3];
        }
        let (mut values, _) = jacobi([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]);
        values.sort_by(f64::total_cmp);
        // Rounding leaves tiny negative values for atoms in a plane; `max` would turn NaN into zero.
        values.map(|value| if value < 0.0 { 0.0 } else { value })
    }
}

#[inline(always)]
fn tensor_of(positions: &[f32], weights: Option<&[f64]>) -> Tensor {
    let points = points_of(positions, weights);
    let (total, centre) = centre_of(points, weights);
    let terms = |[x, y, z]: [&Lanes; 3], [wx, wy, wz]: [&Lanes; 3], squares: Lanes| {
        [
            squares,
            times(wx, x),
            times(wy, y),
            times(wz, z),
            times(wx, y),
            times(wx, z),
            times(wy, z),
        ]
    };
    let (mut sums, mut axes) = (Sums::<7>::default(), Axes::new());
    for (atoms, block) in blocks(points) {
        let [x, y, z] = axes.of(block, centre);
        match weights {
            None => sums.add([x, y, z], |d| terms(d, d, squared(d))),
            Some(weights) => sums.add([x, y, z, &weights[atoms]], |[x, y, z, w]| {
                let [wx, wy, wz] = [times(w, x), times(w, y), times(w, z)];
                terms([x, y, z], [&wx, &wy, &wz], times(w, &squared([x, y, z])))
            }),
        }
    }
    let [squares, elements @ ..] = sums.totals();
    Tensor { radius: (squares / total).sqrt(), elements: elements.map(|sum| sum / total) }
}

#[inline(always)]
fn radius_of(positions: &[f32], weights: Option<&[f64]>) -> f64 {
    let points = points_of(positions, weights);
    let (total, centre) = centre_of(points, weights);
    let (mut squares, mut axes) = (Sums::<1>::default(), Axes::new());
    for (atoms, block) in blocks(points) {
        let [x, y, z] = axes.of(block, centre);
        match weights {
            None => squares.add([x, y, z], |d| [squared(d)]),
            Some(weights) => squares
                .add([x, y, z, &weights[atoms]], |[x, y, z, w]| [times(w, &squared([x, y, z]))]),
        }
    }
    let [squares] = squares.totals();
    (squares / total).sqrt()
}

/// Returns positions as points, after a check of the number of weights.
#[inline(always)]
fn points_of<'a>(positions: &'a [f32], weights: Option<&[f64]>) -> &'a [[f32; 3]] {
    if let Some(weights) = weights {
        assert_eq!(positions.len(), 3 * weights.len(), "one weight per atom");
    }
    positions.as_chunks::<3>().0
}

/// Returns the squared lengths of vectors.
#[inline(always)]
fn squared([x, y, z]: [&Lanes; 3]) -> Lanes {
    std::array::from_fn(|lane| x[lane] * x[lane] + y[lane] * y[lane] + z[lane] * z[lane])
}

/// Returns the sum of the weights and the weighted centre.
#[inline(always)]
fn centre_of(points: &[[f32; 3]], weights: Option<&[f64]>) -> (f64, Vector) {
    let (mut sums, mut axes) = (Sums::<4>::default(), Axes::new());
    for (atoms, block) in blocks(points) {
        let [x, y, z] = axes.of(block, [0.0; 3]);
        match weights {
            // The sum of the weights is the number of atoms.
            None => sums.add([x, y, z], |[x, y, z]| [[0.0; LANES], *x, *y, *z]),
            Some(weights) => sums.add([x, y, z, &weights[atoms]], |[x, y, z, w]| {
                [*w, times(w, x), times(w, y), times(w, z)]
            }),
        }
    }
    let [total, sums @ ..] = sums.totals();
    let total = if weights.is_none() { points.len() as f64 } else { total };
    (total, sums.map(|sum| sum / total))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use trajet_simd::InstructionSet;

    /// Returns the radius from the distances of all pairs of atoms, by Lagrange's identity:
    /// `Σ w |x - c|² = Σ_{i<j} w_i w_j |x_i - x_j|² / Σ w`.
    fn naive(positions: &[f32], weights: Option<&[f64]>) -> f64 {
        let points = positions.as_chunks::<3>().0;
        let weight = |i: usize| weights.map_or(1.0, |weights| weights[i]);
        let squared = |i: usize, j: usize| -> f64 {
            (0..3).map(|k| (f64::from(points[i][k]) - f64::from(points[j][k])).powi(2)).sum()
        };
        let pairs = (0..points.len()).flat_map(|i| (0..i).map(move |j| (i, j)));
        let squares: f64 = pairs.map(|(i, j)| weight(i) * weight(j) * squared(i, j)).sum();
        squares.sqrt() / (0..points.len()).map(weight).sum::<f64>()
    }

    /// Returns the gyration tensor from the distances of all pairs of atoms, by the same identity.
    fn naive_tensor(positions: &[f32], weights: Option<&[f64]>) -> [[f64; 3]; 3] {
        let points = positions.as_chunks::<3>().0;
        let weight = |i: usize| weights.map_or(1.0, |weights| weights[i]);
        let total = (0..points.len()).map(weight).sum::<f64>();
        let mut tensor = [[0.0; 3]; 3];
        for (i, j) in (0..points.len()).flat_map(|i| (0..i).map(move |j| (i, j))) {
            let d = [0, 1, 2].map(|k| f64::from(points[i][k]) - f64::from(points[j][k]));
            for (a, row) in tensor.iter_mut().enumerate() {
                for (b, element) in row.iter_mut().enumerate() {
                    *element += weight(i) * weight(j) * d[a] * d[b] / (total * total);
                }
            }
        }
        tensor
    }

    proptest! {
        #[test]
        fn tensor_equals_the_naive_tensor_on_every_instruction_set(
            atoms in prop::collection::vec((prop::array::uniform3(-50.0..50.0f32), 0.5..200.0f64), 1..60),
        ) {
            let positions: Vec<f32> = atoms.iter().flat_map(|&(p, _)| p).collect();
            let masses: Vec<f64> = atoms.iter().map(|&(_, w)| w).collect();
            for weights in [None, Some(&masses[..])] {
                let naive = naive_tensor(&positions, weights);
                let scalar = tensor(InstructionSet::SCALAR, &positions, weights);
                let [xx, yy, zz, xy, xz, yz] = scalar.elements;
                let found = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]];
                let size = 1.0 + naive[0][0] + naive[1][1] + naive[2][2];
                for (found, naive) in found.as_flattened().iter().zip(naive.as_flattened()) {
                    prop_assert!((found - naive).abs() < 1e-11 * size, "{found} {naive}");
                }
                // The invariants of the tensor are those of its eigenvalues.
                let [a, b, c] = scalar.moments();
                prop_assert!(0.0 <= a && a <= b && b <= c);
                prop_assert!((a + b + c - (xx + yy + zz)).abs() < 1e-11 * size);
                let minors = xx * yy - xy * xy + xx * zz - xz * xz + yy * zz - yz * yz;
                prop_assert!((a * b + b * c + c * a - minors).abs() < 1e-10 * size * size);
                let of_axes: f64 = scalar.axis_radii().iter().map(|r| r * r).sum();
                prop_assert!((of_axes - 2.0 * scalar.radius.powi(2)).abs() < 1e-11 * size);
                for set in InstructionSet::available() {
                    let other = tensor(set, &positions, weights);
                    prop_assert_eq!(other.elements.map(f64::to_bits), scalar.elements.map(f64::to_bits));
                    let alone = radius(set, &positions, weights);
                    prop_assert_eq!(other.radius.to_bits(), alone.to_bits());
                }
            }
        }

        #[test]
        fn radius_equals_the_naive_radius_on_every_instruction_set(
            atoms in prop::collection::vec((prop::array::uniform3(-50.0..50.0f32), 0.5..200.0f64), 1..60),
            shift in prop::array::uniform3(-500.0..500.0f32),
        ) {
            let moved = |p: [f32; 3]| [p[0] + shift[0], p[1] + shift[1], p[2] + shift[2]];
            let positions: Vec<f32> = atoms.iter().flat_map(|&(p, _)| moved(p)).collect();
            let masses: Vec<f64> = atoms.iter().map(|&(_, w)| w).collect();
            for weights in [None, Some(&masses[..])] {
                let naive = naive(&positions, weights);
                let scalar = radius(InstructionSet::SCALAR, &positions, weights);
                prop_assert!((scalar - naive).abs() < 1e-10 * (1.0 + naive), "{scalar} {naive}");
                for set in InstructionSet::available() {
                    let other = radius(set, &positions, weights);
                    prop_assert_eq!(other.to_bits(), scalar.to_bits());
                }
            }
        }
    }

    #[test]
    fn two_atoms_of_equal_weight_have_half_their_distance() {
        let positions = [1e4, 0.0, 0.0, 1e4, 3.0, 4.0];
        assert_eq!(radius(InstructionSet::SCALAR, &positions, None), 2.5);
    }

    #[test]
    fn moments_of_a_rod_and_of_no_position() {
        let rod = [-3.0, -4.0, 0.0, 3.0, 4.0, 0.0];
        let found = tensor(InstructionSet::SCALAR, &rod, None);
        assert_eq!(found.axis_radii(), [4.0, 3.0, 5.0]);
        let [none, also_none, long] = found.moments();
        assert_eq!([none, also_none], [0.0, 0.0]);
        assert!((long - 25.0).abs() < 1e-12);
        let lost = tensor(InstructionSet::SCALAR, &[1.0, f32::NAN, 0.0, 0.0, 0.0, 0.0], None);
        assert!(lost.radius.is_nan() && lost.moments().iter().any(|moment| moment.is_nan()));
    }

    #[test]
    fn an_atom_without_weight_does_not_count() {
        let positions = [0.0, 0.0, 0.0, 0.0, 0.0, 2.0, 70.0, 80.0, 90.0];
        let weights = [16.0, 16.0, 0.0];
        assert_eq!(radius(InstructionSet::SCALAR, &positions, Some(&weights)), 1.0);
    }
}
