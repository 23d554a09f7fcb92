//! Groups of atoms and their centres.

use crate::cell::Vector;
use crate::lanes::sums;

/// Groups of columns: group `g` has `members[starts[g]..starts[g + 1]]`. Without groups, `starts` is empty or `[0]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Groups {
    /// Index in `members` of the first member of each group, ascending, then the number of all members.
    pub starts: Vec<u32>,
    /// Columns, each at most once.
    pub members: Vec<u32>,
}

impl Groups {
    /// Returns the number of groups.
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Returns whether there are no groups.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the columns of a group.
    ///
    /// # Panics
    /// If there is no such group.
    #[inline(always)]
    pub fn columns(&self, group: usize) -> &[u32] {
        &self.members[self.starts[group] as usize..self.starts[group + 1] as usize]
    }

    /// Returns the centre of a group, as [`centre`]; `weights` are those of all members of all groups.
    #[inline(always)]
    pub(super) fn centre(
        &self,
        group: usize,
        weights: Option<&[f64]>,
        positions: &[[f32; 3]],
    ) -> Vector {
        let range = self.starts[group] as usize..self.starts[group + 1] as usize;
        centre(&self.members[range.clone()], weights.map(|w| &w[range]), positions)
    }

    /// # Panics
    /// If the number of weights is not that of the members.
    pub(super) fn check_weights(&self, weights: Option<&[f64]>) {
        assert!(weights.is_none_or(|w| w.len() == self.members.len()), "one weight per member");
    }
}

/// Returns the centre (Å) of the atoms in `columns`, with one weight per column or equal weights. Weights that add up to
/// zero count as equal: virtual sites without mass have a centre as well. It is not a number if there are no atoms, or a
/// position or a weight is not a number.
///
/// # Panics
/// If the number of weights is not that of the columns, or a column does not exist.
#[inline(always)]
pub fn centre(columns: &[u32], weights: Option<&[f64]>, positions: &[[f32; 3]]) -> Vector {
    let at = |i: usize| positions[columns[i] as usize].map(f64::from);
    let n = columns.len();
    if let Some(weights) = weights {
        assert_eq!(weights.len(), n, "one weight per column");
        let [total, x, y, z] = sums(n, |i| {
            let (w, [x, y, z]) = (weights[i], at(i));
            [w, w * x, w * y, w * z]
        });
        if total != 0.0 {
            return [x / total, y / total, z / total];
        }
    }
    sums(n, at).map(|sum| sum / n as f64)
}
