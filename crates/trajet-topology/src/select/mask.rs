//! Sets of atoms, one bit for each.

use serde::{Deserialize, Serialize};

/// A set of the atoms of one topology.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Mask {
    words: Vec<u64>,
    n_atoms: usize,
}

impl Mask {
    /// Returns the empty set.
    pub(super) fn none(n_atoms: usize) -> Self {
        Mask { words: vec![0; n_atoms.div_ceil(64)], n_atoms }
    }

    /// Returns the set of all atoms.
    pub(super) fn all(n_atoms: usize) -> Self {
        let mut mask = Mask { words: vec![u64::MAX; n_atoms.div_ceil(64)], n_atoms };
        mask.clear_padding();
        mask
    }

    /// Returns the atoms for which a function of their value is true; there is one value for each atom.
    pub(super) fn of<T: Copy>(values: &[T], is_selected: impl Fn(T) -> bool) -> Self {
        let word = |values: &[T]| {
            let bits = values.iter().enumerate();
            bits.fold(0, |word, (bit, &value)| word | (u64::from(is_selected(value)) << bit))
        };
        Mask { words: values.chunks(64).map(word).collect(), n_atoms: values.len() }
    }

    /// Returns the atoms for which a function of their index is true.
    pub(super) fn where_index(n_atoms: usize, is_selected: impl Fn(u32) -> bool) -> Self {
        let word = |first: usize| {
            let bits = 0..(n_atoms - first).min(64);
            bits.fold(0, |word, bit| word | (u64::from(is_selected((first + bit) as u32)) << bit))
        };
        Mask { words: (0..n_atoms).step_by(64).map(word).collect(), n_atoms }
    }

    /// Returns the number of atoms that could be in the set.
    pub(super) fn n_atoms(&self) -> usize {
        self.n_atoms
    }

    pub(super) fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }

    pub(super) fn insert(&mut self, atom: u32) {
        self.words[atom as usize / 64] |= 1 << (atom % 64);
    }

    pub(super) fn contains(&self, atom: u32) -> bool {
        self.words[atom as usize / 64] >> (atom % 64) & 1 == 1
    }

    /// Keeps the atoms that are in the other set as well.
    pub(super) fn intersect(&mut self, other: &Mask) {
        self.combine(other, |a, b| a & b);
    }

    /// Adds the atoms of the other set.
    pub(super) fn unite(&mut self, other: &Mask) {
        self.combine(other, |a, b| a | b);
    }

    /// Removes the atoms of the other set.
    pub(super) fn subtract(&mut self, other: &Mask) {
        self.combine(other, |a, b| a & !b);
    }

    /// Replaces the set by the atoms that are not in it.
    pub(super) fn complement(&mut self) {
        self.words.iter_mut().for_each(|word| *word = !*word);
        self.clear_padding();
    }

    /// Iterates over the atoms in ascending order.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> + Clone {
        self.words.iter().enumerate().flat_map(|(place, &word)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                let bit = (rest != 0).then(|| rest.trailing_zeros())?;
                rest &= rest - 1;
                Some(64 * place as u32 + bit)
            })
        })
    }

    /// Returns the atoms in ascending order.
    pub(super) fn to_indices(&self) -> Vec<u32> {
        let count: u32 = self.words.iter().map(|word| word.count_ones()).sum();
        let mut indices = Vec::with_capacity(count as usize);
        indices.extend(self.iter());
        indices
    }

    fn combine(&mut self, other: &Mask, bits: impl Fn(u64, u64) -> u64) {
        assert_eq!(self.n_atoms, other.n_atoms, "sets of atoms of different topologies");
        for (a, &b) in self.words.iter_mut().zip(&other.words) {
            *a = bits(*a, b);
        }
    }

    fn clear_padding(&mut self) {
        if let (Some(last), n @ 1..) = (self.words.last_mut(), self.n_atoms % 64) {
            *last &= (1 << n) - 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn masks_behave_as_sets_of_numbers(
            bits in proptest::collection::vec(any::<(bool, bool)>(), 0..200)
        ) {
            let set = |mask: &Mask| mask.iter().collect::<BTreeSet<u32>>();
            let (a, b) = (Mask::of(&bits, |bits| bits.0), Mask::of(&bits, |bits| bits.1));
            let all: BTreeSet<u32> = (0..bits.len() as u32).collect();
            prop_assert_eq!(set(&Mask::all(bits.len())), all.clone());
            prop_assert!(Mask::none(bits.len()).is_empty());
            prop_assert_eq!(a.to_indices(), set(&a).into_iter().collect::<Vec<_>>());
            prop_assert!(all.iter().all(|&i| a.contains(i) == bits[i as usize].0));
            let changed = |change: fn(&mut Mask, &Mask)| {
                let mut changed = a.clone();
                change(&mut changed, &b);
                set(&changed)
            };
            prop_assert_eq!(changed(Mask::intersect), &set(&a) & &set(&b));
            prop_assert_eq!(changed(Mask::unite), &set(&a) | &set(&b));
            prop_assert_eq!(changed(Mask::subtract), &set(&a) - &set(&b));
            prop_assert_eq!(changed(|a, _| a.complement()), &all - &set(&a));
            let mut more = a.clone();
            b.iter().for_each(|atom| more.insert(atom));
            prop_assert_eq!(set(&more), &set(&a) | &set(&b));
            prop_assert_eq!(Mask::where_index(bits.len(), |i| bits[i as usize].1), b);
        }
    }
}
