//! Centres of groups of atoms, and how far the groups extend along x, y and z.
//!
//! A group that extends over more than half of a cell is broken over the box, or longer than half of it.

use trajet_simd::multiversion;

use crate::lanes::sums;

multiversion! {
    /// Returns the centre of atoms at `positions` (`[n_atoms, 3]`, Å), weighted if weights are given, and the difference
    /// of their largest and their smallest coordinate along each axis: `[x, y, z, dx, dy, dz]`, Å. The centre is not a
    /// number if a position is not; the extent is then that of the other atoms.
    ///
    /// # Panics
    /// If the number of weights is not that of the atoms.
    pub fn centre_and_extent(positions: &[f32], weights: Option<&[f64]>) -> [f64; 6] = centre_and_extent_of
}

#[inline(always)]
fn centre_and_extent_of(positions: &[f32], weights: Option<&[f64]>) -> [f64; 6] {
    let points = positions.as_chunks::<3>().0;
    let [total, x, y, z] = match weights {
        None => {
            let [x, y, z] = sums(points.len(), |i| points[i].map(f64::from));
            [points.len() as f64, x, y, z]
        }
        Some(weights) => {
            assert_eq!(points.len(), weights.len(), "one weight per atom");
            sums(points.len(), |i| {
                let (w, [x, y, z]) = (weights[i], points[i].map(f64::from));
                [w, w * x, w * y, w * z]
            })
        }
    };
    let (mut low, mut high) = ([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]);
    for point in points {
        for k in 0..3 {
            low[k] = low[k].min(point[k]);
            high[k] = high[k].max(point[k]);
        }
    }
    let [dx, dy, dz] = [0, 1, 2].map(|k| f64::from(high[k]) - f64::from(low[k]));
    [x / total, y / total, z / total, dx, dy, dz]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use trajet_simd::InstructionSet;

    /// Returns the centre as a running mean (D. H. D. West, Commun. ACM 22, 532 (1979)), and the largest difference of
    /// any two atoms along each axis.
    fn naive(atoms: &[([f32; 3], f64)]) -> [f64; 6] {
        let (mut found, mut total) = ([0.0; 6], 0.0);
        for &(position, weight) in atoms {
            total += weight;
            for k in 0..3 {
                found[k] += (f64::from(position[k]) - found[k]) * weight / total;
                for &(other, _) in atoms {
                    found[3 + k] = (f64::from(position[k]) - f64::from(other[k])).max(found[3 + k]);
                }
            }
        }
        found
    }

    proptest! {
        #[test]
        fn centre_and_extent_equal_the_naive_ones_on_every_instruction_set(
            atoms in prop::collection::vec((prop::array::uniform3(-500.0..500.0f32), 0.5..200.0f64), 1..40),
        ) {
            let positions: Vec<f32> = atoms.iter().flat_map(|&(p, _)| p).collect();
            let masses: Vec<f64> = atoms.iter().map(|&(_, w)| w).collect();
            let equal: Vec<_> = atoms.iter().map(|&(p, _)| (p, 1.0)).collect();
            for (weights, naive) in [(None, naive(&equal)), (Some(&masses[..]), naive(&atoms))] {
                let scalar = centre_and_extent(InstructionSet::SCALAR, &positions, weights);
                for k in 0..6 {
                    prop_assert!((scalar[k] - naive[k]).abs() < 1e-9, "{scalar:?} {naive:?}");
                }
                for set in InstructionSet::available() {
                    let other = centre_and_extent(set, &positions, weights);
                    prop_assert_eq!(other.map(f64::to_bits), scalar.map(f64::to_bits));
                }
            }
        }
    }

    #[test]
    fn a_missing_position_spoils_the_centre() {
        let positions = [1.0, 2.0, 3.0, f32::NAN, 4.0, 5.0];
        let [x, y, z, ..] = centre_and_extent(InstructionSet::SCALAR, &positions, None);
        assert!(x.is_nan());
        assert_eq!([y, z], [3.0, 4.0]);
    }
}
