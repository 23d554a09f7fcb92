//! Radius of gyration.
//!
//! `√(Σ w |x - c|² / Σ w)` with the weighted centre `c`. Two passes: the centre first, since the difference of two
//! large sums would lose digits far from the origin.

use trajet_simd::multiversion;

use crate::lanes::{sum, sums};

multiversion! {
    /// Returns the radius of gyration (Å) of positions (`[n_atoms, 3]`, Å) with one weight per atom, or equal weights;
    /// not a number if a position is not.
    ///
    /// # Panics
    /// If the number of weights is not that of the atoms.
    pub fn radius(positions: &[f32], weights: Option<&[f64]>) -> f64 = radius_of
}

#[inline(always)]
fn radius_of(positions: &[f32], weights: Option<&[f64]>) -> f64 {
    match weights {
        None => radius_by(positions, |_| 1.0),
        Some(weights) => {
            assert_eq!(positions.len(), 3 * weights.len(), "one weight per atom");
            radius_by(positions, |i| weights[i])
        }
    }
}

#[inline(always)]
fn radius_by(positions: &[f32], weight: impl Fn(usize) -> f64) -> f64 {
    let points = positions.as_chunks::<3>().0;
    let at = |i: usize| points[i].map(f64::from);
    let [total, x, y, z] = sums(points.len(), |i| {
        let (w, [x, y, z]) = (weight(i), at(i));
        [w, w * x, w * y, w * z]
    });
    let centre = [x / total, y / total, z / total];
    let squares = sum(points.len(), |i| {
        let p = at(i);
        let d = [p[0] - centre[0], p[1] - centre[1], p[2] - centre[2]];
        weight(i) * (d[0] * d[0] + d[1] * d[1] + d[2] * d[2])
    });
    (squares / total).sqrt()
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

    proptest! {
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
    fn an_atom_without_weight_does_not_count() {
        let positions = [0.0, 0.0, 0.0, 0.0, 0.0, 2.0, 70.0, 80.0, 90.0];
        let weights = [16.0, 16.0, 0.0];
        assert_eq!(radius(InstructionSet::SCALAR, &positions, Some(&weights)), 1.0);
    }
}
