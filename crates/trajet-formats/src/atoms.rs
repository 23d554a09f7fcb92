//! The selected atoms, in a form that decoders can query cheaply.

use crate::{AtomsError, memory};

/// Marks in [`Atoms::next_wanted`] that no selected atom follows.
pub(crate) const NONE: u32 = u32::MAX;

/// The selected atoms of a trajectory, in the order in which they were requested.
#[derive(Clone, Debug)]
pub struct Atoms {
    n_total: usize,
    /// Selected atoms, ascending, each once; `None` if every atom is selected.
    sorted: Option<Vec<u32>>,
    /// The first selected atom at or after each atom; [`NONE`] past the last selected one.
    next_wanted: Vec<u32>,
    /// If the requested order differs from ascending: its k-th atom is `sorted[order[k]]`.
    order: Option<Vec<u32>>,
}

impl Atoms {
    /// Selects all `n_total` atoms.
    pub fn all(n_total: usize) -> Self {
        Atoms { n_total, sorted: None, next_wanted: Vec::new(), order: None }
    }

    /// Selects the listed atoms, in that order; repeats are allowed.
    ///
    /// # Errors
    /// [`AtomsError::OutOfRange`] for an index that is not in `0..n_total`.
    pub fn listed(list: &[i64], n_total: usize) -> Result<Self, AtomsError> {
        const WHAT: &str = "a list of atoms";
        let mut selected = Vec::new();
        memory::reserve(&mut selected, list.len(), WHAT)?;
        for &atom in list {
            match u32::try_from(atom) {
                Ok(a) if (a as usize) < n_total && a != NONE => selected.push(a),
                _ => return Err(AtomsError::OutOfRange { atom, n_atoms: n_total }),
            }
        }
        let mut sorted = memory::copied(&selected, WHAT)?;
        sorted.sort_unstable();
        sorted.dedup();
        let mut order = None;
        if sorted != selected {
            let column = |a: &u32| sorted.binary_search(a).expect("taken from this list") as u32;
            let columns: &mut Vec<u32> = order.insert(Vec::new());
            memory::reserve(columns, selected.len(), WHAT)?;
            columns.extend(selected.iter().map(column));
        }
        if sorted.len() == n_total {
            return Ok(Atoms { n_total, sorted: None, next_wanted: Vec::new(), order });
        }
        // Only as long as the last selected atom needs: small for a protein in front of much water.
        let reach = sorted.last().map_or(0, |&last| last as usize + 1);
        let mut next_wanted = memory::filled(reach + 1, NONE, WHAT)?;
        for pair in (0..sorted.len()).rev() {
            let from = if pair == 0 { 0 } else { sorted[pair - 1] as usize + 1 };
            next_wanted[from..=sorted[pair] as usize].fill(sorted[pair]);
        }
        Ok(Atoms { n_total, sorted: Some(sorted), next_wanted, order })
    }

    /// Returns whether both select the same atoms in the same order.
    pub fn is_same(&self, other: &Atoms) -> bool {
        self.n_total == other.n_total && self.sorted == other.sorted && self.order == other.order
    }

    /// Returns the number of atoms in a frame of the file.
    #[inline]
    pub fn n_total(&self) -> usize {
        self.n_total
    }

    /// Returns the number of selected atoms, repeats counted.
    #[inline]
    pub fn len(&self) -> usize {
        self.order.as_ref().map_or(self.n_sorted(), Vec::len)
    }

    /// Returns whether no atom is selected.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the distinct selected atoms, ascending; `None` if every atom is selected.
    #[inline]
    pub fn sorted(&self) -> Option<&[u32]> {
        self.sorted.as_deref()
    }

    /// Returns the range of atoms from the first selected one to the last; empty if none is selected.
    pub fn span(&self) -> std::ops::Range<usize> {
        match self.sorted() {
            Some([first, .., last]) => *first as usize..*last as usize + 1,
            Some([only]) => *only as usize..*only as usize + 1,
            Some([]) => 0..0,
            None => 0..self.n_total,
        }
    }

    /// Returns the atoms in the requested order; `None` if that is all atoms, ascending.
    pub fn listed_indices(&self) -> Option<Vec<usize>> {
        let sorted = |column: usize| self.sorted().map_or(column, |list| list[column] as usize);
        match self.order() {
            Some(order) => Some(order.iter().map(|&column| sorted(column as usize)).collect()),
            None => self.sorted().map(|list| list.iter().map(|&atom| atom as usize).collect()),
        }
    }

    /// Returns the atoms in the requested order.
    pub fn indices(&self) -> Vec<i64> {
        match self.listed_indices() {
            Some(listed) => listed.into_iter().map(|atom| atom as i64).collect(),
            None => (0..self.n_total as i64).collect(),
        }
    }

    /// Returns the number of distinct selected atoms.
    #[inline]
    pub fn n_sorted(&self) -> usize {
        self.sorted.as_ref().map_or(self.n_total, Vec::len)
    }

    /// Returns for each atom the first selected one at or after it; shorter than the frame (see `listed`).
    pub(crate) fn next_wanted(&self) -> &[u32] {
        &self.next_wanted
    }

    /// Returns the requested order as positions in the sorted atoms, if it differs from ascending.
    #[inline]
    pub fn order(&self) -> Option<&[u32]> {
        self.order.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_repeats_are_kept_beside_the_sorted_list() {
        let atoms = Atoms::listed(&[5, 2, 2], 10).unwrap();
        assert_eq!(atoms.sorted(), Some(&[2, 5][..]));
        assert_eq!(atoms.order(), Some(&[1, 0, 0][..]));
        assert_eq!((atoms.len(), atoms.n_sorted(), atoms.span()), (3, 2, 2..6));
        assert_eq!(atoms.next_wanted(), [2, 2, 2, 5, 5, 5, NONE]);
    }

    #[test]
    fn a_list_of_all_atoms_selects_every_atom() {
        assert!(Atoms::listed(&[0, 1, 2], 3).unwrap().sorted().is_none());
        let reversed = Atoms::listed(&[2, 1, 0], 3).unwrap();
        assert_eq!((reversed.sorted(), reversed.order()), (None, Some(&[2, 1, 0][..])));
    }

    #[test]
    fn indices_out_of_range_are_errors() {
        for bad in [-1, 3, i64::from(u32::MAX), i64::MAX] {
            assert!(
                matches!(Atoms::listed(&[bad], 3), Err(AtomsError::OutOfRange { atom, .. }) if atom == bad)
            );
        }
        let none = Atoms::listed(&[], 3).unwrap();
        assert!(none.is_empty() && none.span().is_empty());
    }
}
