//! Numbers in the precision of their file.

use serde::{Deserialize, Serialize};

/// Numbers in the precision in which a file stores them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Values {
    /// Single precision.
    Float(Vec<f32>),
    /// Double precision.
    Double(Vec<f64>),
}

impl Values {
    /// Returns the number of values.
    pub fn len(&self) -> usize {
        match self {
            Values::Float(values) => values.len(),
            Values::Double(values) => values.len(),
        }
    }

    /// Returns whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the values of `atoms`, in that order, from an array of three values per atom.
    pub(crate) fn take(&self, atoms: &[usize]) -> Values {
        fn of<T: Copy>(values: &[T], atoms: &[usize]) -> Vec<T> {
            let triples = values.as_chunks::<3>().0;
            atoms.iter().flat_map(|&atom| triples[atom]).collect()
        }
        match self {
            Values::Float(values) => Values::Float(of(values, atoms)),
            Values::Double(values) => Values::Double(of(values, atoms)),
        }
    }
}
