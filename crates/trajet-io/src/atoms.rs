//! Which atoms are wanted, prepared once so that decoders can ask cheaply.

use crate::{Error, memory};

/// Marks in [`Atoms::next_wanted`] that no wanted atom follows.
pub(crate) const NONE: u32 = u32::MAX;

/// The wanted atoms of a trajectory, in the order in which they are wanted.
#[derive(Clone, Debug)]
pub struct Atoms {
    n_total: usize,
    /// Wanted atoms, ascending, each once; `None` where every atom is wanted.
    sorted: Option<Vec<u32>>,
    /// For each atom the first wanted one at or after it, and [`NONE`] past the last one.
    next_wanted: Vec<u32>,
    /// Where the caller's order differs: its k-th atom is `sorted[order[k]]`.
    order: Option<Vec<u32>>,
}

impl Atoms {
    /// Every atom of `n_total`.
    pub fn all(n_total: usize) -> Self {
        Atoms { n_total, sorted: None, next_wanted: Vec::new(), order: None }
    }

    /// The listed atoms, in that order; repeats are allowed.
    ///
    /// # Errors
    /// [`Error::AtomOutOfRange`] for an index that is not in `0..n_total`.
    pub fn listed(list: &[i64], n_total: usize) -> Result<Self, Error> {
        const WHAT: &str = "a list of atoms";
        let mut wanted = Vec::new();
        memory::reserve(&mut wanted, list.len(), WHAT)?;
        for &atom in list {
            match u32::try_from(atom) {
                Ok(a) if (a as usize) < n_total && a != NONE => wanted.push(a),
                _ => return Err(Error::AtomOutOfRange { atom, n_atoms: n_total }),
            }
        }
        let mut sorted = memory::copied(&wanted, WHAT)?;
        sorted.sort_unstable();
        sorted.dedup();
        let mut order = None;
        if sorted != wanted {
            let place = |a: &u32| sorted.binary_search(a).expect("taken from this list") as u32;
            let places: &mut Vec<u32> = order.insert(Vec::new());
            memory::reserve(places, wanted.len(), WHAT)?;
            places.extend(wanted.iter().map(place));
        }
        if sorted.len() == n_total {
            return Ok(Atoms { n_total, sorted: None, next_wanted: Vec::new(), order });
        }
        // Only as long as the last wanted atom needs: a protein in front of much water stays small.
        let reach = sorted.last().map_or(0, |&last| last as usize + 1);
        let mut next_wanted = memory::filled(reach + 1, NONE, WHAT)?;
        for pair in (0..sorted.len()).rev() {
            let from = if pair == 0 { 0 } else { sorted[pair - 1] as usize + 1 };
            next_wanted[from..=sorted[pair] as usize].fill(sorted[pair]);
        }
        Ok(Atoms { n_total, sorted: Some(sorted), next_wanted, order })
    }

    /// Atoms in a frame of the file.
    pub fn n_total(&self) -> usize {
        self.n_total
    }

    /// Atoms that each frame yields, repeats counted.
    pub fn len(&self) -> usize {
        self.order.as_ref().map_or(self.n_sorted(), Vec::len)
    }

    /// Whether no atom is wanted.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The distinct wanted atoms, ascending; `None` where every atom is wanted.
    pub fn sorted(&self) -> Option<&[u32]> {
        self.sorted.as_deref()
    }

    /// The stretch of the frame from the first wanted atom to the last; empty where none is wanted.
    pub fn span(&self) -> std::ops::Range<usize> {
        match self.sorted() {
            Some([first, .., last]) => *first as usize..*last as usize + 1,
            Some([only]) => *only as usize..*only as usize + 1,
            Some([]) => 0..0,
            None => 0..self.n_total,
        }
    }

    /// The atoms in the caller's order; none where they are all, ascending.
    pub fn listed_indices(&self) -> Option<Vec<usize>> {
        let sorted = |place: usize| self.sorted().map_or(place, |list| list[place] as usize);
        match self.order() {
            Some(order) => Some(order.iter().map(|&place| sorted(place as usize)).collect()),
            None => self.sorted().map(|list| list.iter().map(|&atom| atom as usize).collect()),
        }
    }

    /// How many distinct atoms are wanted.
    pub fn n_sorted(&self) -> usize {
        self.sorted.as_ref().map_or(self.n_total, Vec::len)
    }

    /// For each atom the first wanted one at or after it; shorter than the frame (see `listed`).
    pub(crate) fn next_wanted(&self) -> &[u32] {
        &self.next_wanted
    }

    /// The caller's order over the sorted atoms, where it differs from ascending.
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
    fn a_full_list_is_every_atom() {
        assert!(Atoms::listed(&[0, 1, 2], 3).unwrap().sorted().is_none());
        let reversed = Atoms::listed(&[2, 1, 0], 3).unwrap();
        assert_eq!((reversed.sorted(), reversed.order()), (None, Some(&[2, 1, 0][..])));
    }

    #[test]
    fn indices_outside_are_refused() {
        for bad in [-1, 3, i64::from(u32::MAX), i64::MAX] {
            assert!(
                matches!(Atoms::listed(&[bad], 3), Err(Error::AtomOutOfRange { atom, .. }) if atom == bad)
            );
        }
        let none = Atoms::listed(&[], 3).unwrap();
        assert!(none.is_empty() && none.span().is_empty());
    }
}
