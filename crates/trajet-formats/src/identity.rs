//! Digests of the names and numbers with which a frame of a text format identifies its atoms.
//!
//! All frames of a file have the same atoms in the same order. Names are compared by a digest, which is computed while
//! a frame is parsed; the texts are compared only to describe a difference. The numbers that count the atoms may go on
//! from frame to frame: they contradict frame 0 only if they are its numbers in another order.

use serde::{Deserialize, Serialize};

/// Odd multipliers without structure: digits of the golden ratio and of a square root.
pub(crate) const MULTIPLIERS: [u64; 2] = [0x9e37_79b9_7f4a_7c15, 0x6a09_e667_f3bc_c909];

/// The digest of a frame's names and numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Digest of the names, in their order.
    names: u64,
    /// Digest of the atom numbers that the file states, in their order.
    numbers: u64,
    /// Sum of the atom numbers, which is the same in any order.
    sum_of_numbers: u64,
}

impl Identity {
    /// Adds an atom. `names` are the columns of its names, its residue and its chain, `number` those of its number.
    #[inline]
    pub fn add(&mut self, names: [u64; 2], number: u64) {
        let [first, second] = names;
        self.names = folded(self.names ^ first ^ MULTIPLIERS[0], second ^ MULTIPLIERS[1]);
        self.numbers = (self.numbers.rotate_left(5) ^ number).wrapping_mul(MULTIPLIERS[0]);
        self.sum_of_numbers = self.sum_of_numbers.wrapping_add(number);
    }

    /// Returns whether a frame with this identity has the atoms of frame 0 in the same order. If not, `difference`
    /// decides.
    pub fn agrees_with(&self, first: &Identity) -> bool {
        let is_sorted_otherwise =
            self.numbers != first.numbers && self.sum_of_numbers == first.sum_of_numbers;
        self.names == first.names && !is_sorted_otherwise
    }
}

/// The texts with which a line identifies an atom, trimmed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Labels<'a> {
    pub(crate) name: &'a [u8],
    /// Name and number of the residue.
    pub(crate) residue: [&'a [u8]; 2],
    /// Alternate location, chain and segment.
    pub(crate) others: [&'a [u8]; 3],
    /// The number that counts the atoms.
    pub(crate) number: &'a [u8],
}

impl Labels<'_> {
    /// Returns whether both stand for the same atom, if the numbers that count atoms are ignored.
    fn is_same(&self, other: &Labels<'_>) -> bool {
        (self.name, self.residue, self.others) == (other.name, other.residue, other.others)
    }

    /// Returns the labels for messages.
    fn text(&self) -> String {
        let parts = [&[self.name][..], &self.residue, &self.others].concat();
        let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        String::from_utf8_lossy(&parts.join(&b' ')).into_owned()
    }
}

/// Describes the first atom that a frame names otherwise than frame 0; `None` if there is no such atom.
pub(crate) fn difference<'a>(
    first: impl Iterator<Item = Labels<'a>> + Clone,
    frame: impl Iterator<Item = Labels<'a>> + Clone,
) -> Option<String> {
    let mut pairs = first.clone().zip(frame.clone()).enumerate();
    if let Some((atom, (then, now))) = pairs.find(|(_, (then, now))| !then.is_same(now)) {
        return Some(format!("atom {atom} is {} here, and {} in frame 0", now.text(), then.text()));
    }
    let sorted = |labels: &mut dyn Iterator<Item = Labels<'a>>| {
        let mut numbers: Vec<_> = labels.map(|labels| labels.number).collect();
        numbers.sort_unstable();
        numbers
    };
    let mut pairs = first.clone().zip(frame.clone()).enumerate();
    let (atom, (then, now)) = pairs.find(|(_, (then, now))| then.number != now.number)?;
    if sorted(&mut first.clone()) != sorted(&mut frame.clone()) {
        return None;
    }
    let [now, then] = [now, then].map(|labels| String::from_utf8_lossy(labels.number));
    Some(format!("atom {atom} has the number {now} here, and {then} in frame 0"))
}

/// Returns the product of two numbers in 128 bits, folded to 64.
#[inline]
fn folded(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product >> 64) as u64 ^ product as u64
}

/// Returns the first columns of a line; those that it lacks are blank.
#[cold]
pub(crate) fn padded<const N: usize>(line: &[u8]) -> [u8; N] {
    let mut bytes = [b' '; N];
    bytes.iter_mut().zip(line).for_each(|(byte, &found)| *byte = found);
    bytes
}

/// Returns eight bytes as a number.
#[inline]
pub(crate) fn word<const N: usize>(bytes: &[u8; N], start: usize) -> u64 {
    u64::from_le_bytes(bytes[start..start + 8].try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn identity(atoms: &[(u64, u64)]) -> Identity {
        let mut identity = Identity::default();
        atoms.iter().for_each(|&(name, number)| identity.add([name, 7], number));
        identity
    }

    proptest! {
        #[test]
        fn exchanged_names_do_not_agree(names in prop::collection::vec(0..5_u64, 2..20), at in any::<prop::sample::Index>()) {
            let atoms: Vec<_> = names.iter().map(|&name| (name, 0)).collect();
            let at = at.index(atoms.len() - 1);
            let mut other = atoms.clone();
            other.swap(at, at + 1);
            prop_assert_eq!(identity(&other).agrees_with(&identity(&atoms)), names[at] == names[at + 1]);
        }

        #[test]
        fn numbers_may_go_on_but_not_change_places(n in 2..20_u64, shift in 1..100_u64, at in any::<prop::sample::Index>()) {
            let atoms: Vec<_> = (0..n).map(|k| (1, k)).collect();
            let shifted: Vec<_> = (0..n).map(|k| (1, k + shift)).collect();
            prop_assert!(identity(&shifted).agrees_with(&identity(&atoms)));
            let at = at.index(atoms.len() - 1);
            let mut other = atoms.clone();
            other.swap(at, at + 1);
            prop_assert!(!identity(&other).agrees_with(&identity(&atoms)));
        }
    }

    #[test]
    fn columns_that_a_line_lacks_are_blank() {
        assert_eq!(padded(b"abc"), *b"abc  ");
        assert_eq!(padded(b"abc"), *b"ab");
    }
}
