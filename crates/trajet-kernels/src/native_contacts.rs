//! Fraction of native contacts: of given pairs, those that are as near each other as in a reference.
//!
//! Source of the soft cut-off: R. B. Best, G. Hummer and W. A. Eaton, PNAS 110, 17874 (2013),
//! doi:10.1073/pnas.1311599110, equation 1.

use trajet_simd::{InstructionSet, multiversion};

use crate::cell::Cell;
use crate::lanes::plain;

/// Pairs of atoms, each with a distance up to which it is in contact.
#[derive(Clone, Debug, Default)]
pub struct NativePairs {
    /// Indices of the first and of the second atom of each pair.
    pub atoms: [Vec<u32>; 2],
    /// Distances (Å).
    pub limits: Vec<f64>,
}

impl NativePairs {
    /// Returns the mean over all pairs of their contact; NaN if there is no pair, or an atom has no position.
    ///
    /// Without a steepness `beta` (1/Å), a pair is in contact if its distance (Å) is at most its limit. With one, the
    /// contact of the distance `r` is `1 / (1 + exp(beta (r - limit)))`. Distances are those of the minimum images if
    /// there is a cell. `memory` is a buffer.
    ///
    /// # Panics
    /// If the numbers of atoms and limits differ, or a pair has an atom that `positions` (`[n, 3]`, Å) lack.
    pub fn fraction(
        &self,
        set: InstructionSet,
        cell: Option<&Cell>,
        positions: &[f32],
        beta: Option<f64>,
        memory: &mut Vec<f64>,
    ) -> f64 {
        memory.resize(self.limits.len(), 0.0);
        contacts(set, cell, positions, self, beta, memory);
        plain(memory) / self.limits.len() as f64
    }
}

multiversion! {
    /// Computes the contact of each pair.
    fn contacts(
        cell: Option<&Cell>,
        positions: &[f32],
        pairs: &NativePairs,
        beta: Option<f64>,
        out: &mut [f64],
    ) = contacts_of
}

#[inline(always)]
fn contacts_of(
    cell: Option<&Cell>,
    positions: &[f32],
    pairs: &NativePairs,
    beta: Option<f64>,
    out: &mut [f64],
) {
    let n = out.len();
    let points = positions.as_chunks::<3>().0;
    let [first, second] = pairs.atoms.each_ref().map(|atoms| &atoms[..n]);
    let limits = &pairs.limits[..n];
    for begin in (0..n).step_by(8) {
        let here = (n - begin).min(8);
        let mut vectors = [[0.0; 8]; 3];
        for lane in 0..here {
            let a = points[first[begin + lane] as usize];
            let b = points[second[begin + lane] as usize];
            for axis in 0..3 {
                vectors[axis][lane] = f64::from(b[axis]) - f64::from(a[axis]);
            }
        }
        let [x, y, z] = &vectors;
        let squares = match cell {
            Some(cell) => cell.squares(&vectors),
            None => std::array::from_fn(|k| x[k] * x[k] + y[k] * y[k] + z[k] * z[k]),
        };
        for lane in 0..here {
            let (r, limit) = (squares[lane].sqrt(), limits[begin + lane]);
            out[begin + lane] = match beta {
                Some(beta) => 1.0 / (1.0 + libm::exp(beta * (r - limit))),
                // Not a number if the distance is not.
                None if r.is_nan() => r,
                None => f64::from(u8::from(r <= limit)),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::cell::tests::cells;
    use crate::reference;

    proptest! {
        #[test]
        fn fractions_equal_the_plain_mean_on_every_instruction_set(
            numbers in prop::option::of(cells()),
            positions in prop::collection::vec(prop::array::uniform3(-100.0..100.0f32), 1..40),
            pairs in prop::collection::vec((any::<[prop::sample::Index; 2]>(), 0.1..80.0f64), 1..100),
            beta in prop::option::of(0.1..10.0f64),
        ) {
            let cell = numbers.map(|numbers| Cell::new(numbers).unwrap());
            let index = |at: &prop::sample::Index| at.index(positions.len());
            let pairs: Vec<_> = pairs.iter().map(|([i, j], d)| (index(i), index(j), *d)).collect();
            let all = reference::distances(
                cell.as_ref(), positions.as_flattened(), positions.as_flattened()
            );
            let distance = |i: usize, j: usize| all[i * positions.len() + j];
            // A distance next to its limit may fall on either side.
            let unsure = pairs.iter().filter(|&&(i, j, d)| (distance(i, j) - d).abs() < 1e-6).count();
            let contact = |&(i, j, d): &(usize, usize, f64)| match beta {
                Some(beta) => 1.0 / (1.0 + (beta * (distance(i, j) - d)).exp()),
                None => if distance(i, j) <= d { 1.0 } else { 0.0 },
            };
            let n = pairs.len() as f64;
            let mean = pairs.iter().map(contact).sum::<f64>() / n;
            let native = NativePairs {
                atoms: [
                    pairs.iter().map(|pair| pair.0 as u32).collect(),
                    pairs.iter().map(|pair| pair.1 as u32).collect(),
                ],
                limits: pairs.iter().map(|pair| pair.2).collect(),
            };
            let mut first = None;
            for set in InstructionSet::available() {
                let found = native.fraction(
                    set, cell.as_ref(), positions.as_flattened(), beta, &mut Vec::new()
                );
                let allowed = if beta.is_some() { 1e-6 } else { 1e-12 + unsure as f64 / n };
                prop_assert!((found - mean).abs() <= allowed, "{found} {mean}");
                prop_assert_eq!(*first.get_or_insert(found.to_bits()), found.to_bits());
            }
        }
    }

    #[test]
    fn contacts_of_known_distances_are_known() {
        // Distances 1, 2 and 3 Å with limits of 2, 2 and 2 Å.
        let positions: Vec<f32> =
            [0.0, 1.0, 2.0, 3.0].iter().flat_map(|&x| [x, 0.0, 0.0]).collect();
        let pairs = NativePairs { atoms: [vec![0; 3], vec![1, 2, 3]], limits: vec![2.0; 3] };
        let fraction = |beta, positions: &[f32]| {
            pairs.fraction(InstructionSet::default(), None, positions, beta, &mut vec![7.0; 9])
        };
        assert_eq!(fraction(None, &positions), 2.0 / 3.0);
        // 1 / (1 + exp(-5)) + 1/2 + 1 / (1 + exp(5)) = 3/2.
        assert!((fraction(Some(5.0), &positions) - 0.5).abs() < 1e-15);
        let mut broken = positions.clone();
        broken[4] = f32::NAN;
        assert!(fraction(None, &broken).is_nan());
        assert!(fraction(Some(5.0), &broken).is_nan());
        let none = NativePairs::default();
        assert!(
            none.fraction(InstructionSet::default(), None, &[], None, &mut Vec::new()).is_nan()
        );
    }
}
