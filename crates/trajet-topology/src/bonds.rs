//! Bonds between atoms.

use serde::{Deserialize, Serialize};

/// The bonds of a topology: pairs of atoms, each once, with the smaller index first, sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bonds {
    pairs: Vec<[u32; 2]>,
}

impl Bonds {
    /// Returns these pairs, sorted and without repetitions and bonds of an atom to itself.
    pub fn new(mut pairs: Vec<[u32; 2]>) -> Self {
        for pair in &mut pairs {
            pair.sort_unstable();
        }
        pairs.retain(|[a, b]| a != b);
        // Most files list them in order.
        if !pairs.is_sorted() {
            pairs.sort_unstable();
        }
        pairs.dedup();
        Bonds { pairs }
    }

    /// Returns the pairs of atoms, sorted.
    pub fn pairs(&self) -> &[[u32; 2]] {
        &self.pairs
    }
    /// Returns the number of bonds.
    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Returns whether there are no bonds.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }
}
