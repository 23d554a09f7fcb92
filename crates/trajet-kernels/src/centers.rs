//! Weighted centres of groups of atoms.
//!
//! A centre is `Σ w x / Σ w`, in `f64`: the centre of mass if the weights are masses, the centre of geometry if they are
//! equal. Positions are used as they are: no image is chosen.

use trajet_simd::multiversion;

use crate::lanes::{plain, sums};

/// Groups of atoms that lie one after the other.
#[derive(Clone, Debug)]
pub struct AtomGroups {
    /// The end of each group, exclusive; each group begins where the one before ends.
    ends: Vec<usize>,
    /// One weight per atom; `None` for equal weights.
    weights: Option<Vec<f64>>,
    /// The sum of the weights of each group.
    totals: Vec<f64>,
}

impl AtomGroups {
    /// Returns groups of these sizes; `None` if a group has no atom, if there is not one weight per atom, or if the
    /// weights of a group have no positive finite sum.
    pub fn new(sizes: &[usize], weights: Option<Vec<f64>>) -> Option<Self> {
        let mut ends = Vec::with_capacity(sizes.len());
        let mut totals = Vec::with_capacity(sizes.len());
        let mut begin = 0;
        for &size in sizes {
            let end = begin + size;
            totals.push(match &weights {
                None => size as f64,
                Some(weights) => plain(weights.get(begin..end)?),
            });
            ends.push(end);
            begin = end;
        }
        let is_complete = weights.as_ref().is_none_or(|weights| weights.len() == begin);
        let have_centres = totals.iter().all(|&total| total > 0.0 && total.is_finite());
        (is_complete && have_centres).then_some(AtomGroups { ends, weights, totals })
    }

    /// Returns the number of groups.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether there are no groups.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the end of each group, exclusive; each group begins where the one before ends.
    pub fn ends(&self) -> &[usize] {
        &self.ends
    }

    /// Returns the number of atoms of all groups.
    pub fn n_atoms(&self) -> usize {
        self.ends.last().map_or(0, |&end| end)
    }
}

multiversion! {
    /// Computes the centres (`[n_groups, 3]`, Å) of groups of the atoms at `positions` (`[n_atoms, 3]`, Å). The centre
    /// of a group with a position that is not a number is not a number.
    ///
    /// # Panics
    /// If the length of `positions` or of `out` does not match.
    pub fn centers(groups: &AtomGroups, positions: &[f32], out: &mut [f64]) = centers_of
}

#[inline(always)]
fn centers_of(groups: &AtomGroups, positions: &[f32], out: &mut [f64]) {
    assert_eq!(positions.len(), 3 * groups.n_atoms(), "positions of all atoms");
    assert_eq!(out.len(), 3 * groups.len(), "size of the output");
    let points = positions.as_chunks::<3>().0;
    let rows = out.as_chunks_mut::<3>().0;
    let mut begin = 0;
    for ((row, &end), &total) in rows.iter_mut().zip(&groups.ends).zip(&groups.totals) {
        let points = &points[begin..end];
        let sum = match &groups.weights {
            None => sums(points.len(), |i| points[i].map(f64::from)),
            Some(weights) => {
                let weights = &weights[begin..end];
                sums(points.len(), |i| points[i].map(|x| weights[i] * f64::from(x)))
            }
        };
        *row = sum.map(|sum| sum / total);
        begin = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use trajet_simd::InstructionSet;

    /// Returns the centre as the point about which the weighted deviations cancel: the running mean of West, 1979.
    fn naive(atoms: &[([f32; 3], f64)]) -> [f64; 3] {
        let (mut centre, mut total) = ([0.0; 3], 0.0);
        for &(position, weight) in atoms {
            total += weight;
            for k in 0..3 {
                centre[k] += (f64::from(position[k]) - centre[k]) * weight / total;
            }
        }
        centre
    }

    proptest! {
        #[test]
        fn centers_equal_the_naive_centers_on_every_instruction_set(
            groups in prop::collection::vec(
                prop::collection::vec((prop::array::uniform3(-500.0..500.0f32), 0.5..200.0f64), 1..40),
                0..12,
            ),
        ) {
            let sizes: Vec<usize> = groups.iter().map(Vec::len).collect();
            let atoms = groups.concat();
            let positions: Vec<f32> = atoms.iter().flat_map(|&(p, _)| p).collect();
            let masses: Vec<f64> = atoms.iter().map(|&(_, w)| w).collect();
            for weights in [None, Some(masses)] {
                let weigh = |&(p, w): &([f32; 3], f64)| (p, if weights.is_none() { 1.0 } else { w });
                let naive: Vec<f64> = groups
                    .iter()
                    .flat_map(|group| naive(&group.iter().map(weigh).collect::<Vec<_>>()))
                    .collect();
                let made = AtomGroups::new(&sizes, weights.clone()).unwrap();
                let mut first: Option<Vec<u64>> = None;
                for set in InstructionSet::available() {
                    let mut found = vec![0.0; 3 * sizes.len()];
                    centers(set, &made, &positions, &mut found);
                    for (found, naive) in found.iter().zip(&naive) {
                        prop_assert!((found - naive).abs() < 1e-10, "{found} {naive}");
                    }
                    let bits: Vec<u64> = found.iter().map(|x| x.to_bits()).collect();
                    prop_assert_eq!(first.get_or_insert(bits.clone()), &bits);
                }
            }
        }
    }

    #[test]
    fn a_lost_position_spoils_its_own_group_only() {
        let groups = AtomGroups::new(&[2, 1], None).unwrap();
        let mut found = [0.0; 6];
        let positions = [1.0, 2.0, 3.0, 1.0, f32::NAN, 3.0, 4.0, 5.0, 6.0];
        centers(InstructionSet::SCALAR, &groups, &positions, &mut found);
        assert_eq!([found[0], found[2]], [1.0, 3.0]);
        assert!(found[1].is_nan());
        assert_eq!(found[3..], [4.0, 5.0, 6.0]);
    }

    #[test]
    fn groups_without_a_centre_are_refused() {
        assert!(AtomGroups::new(&[2, 0], None).is_none());
        assert!(AtomGroups::new(&[2], Some(vec![1.0])).is_none());
        assert!(AtomGroups::new(&[2], Some(vec![1.0; 3])).is_none());
        assert!(AtomGroups::new(&[1, 1], Some(vec![1.0, 0.0])).is_none());
        assert!(AtomGroups::new(&[1, 1], Some(vec![1.0, f64::NAN])).is_none());
        assert!(AtomGroups::new(&[2, 1], Some(vec![1.0, 0.0, 3.0])).is_some());
    }
}
