//! A frame as XTC stores it.

/// Positions in the form in which a frame holds them.
#[derive(Clone, Debug, PartialEq)]
pub enum Positions {
    /// Integer multiples of `1/precision` nm, `[n_atoms]` triples.
    Integers {
        /// Steps per nm.
        precision: f32,
        /// One triple an atom.
        triples: Vec<[i32; 3]>,
    },
    /// Up to nine atoms: plain floats, nm, `[n_atoms]` triples; the frame has no precision.
    Floats(Vec<[f32; 3]>),
}

/// A frame as the file stores it.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// The magic number (it says how wide the byte count is).
    pub magic: i32,
    /// Integration step.
    pub step: i32,
    /// Time, ps.
    pub time: f32,
    /// Box vectors row by row, nm.
    pub vectors: [f32; 9],
    /// The positions.
    pub positions: Positions,
}

impl Frame {
    /// The frame with only `atoms`, in that order.
    ///
    /// # Panics
    /// If an index is not below the number of atoms.
    #[must_use]
    pub fn take(&self, atoms: &[usize]) -> Frame {
        let positions = match &self.positions {
            Positions::Integers { precision, triples } => Positions::Integers {
                precision: *precision,
                triples: atoms.iter().map(|&a| triples[a]).collect(),
            },
            Positions::Floats(triples) => {
                Positions::Floats(atoms.iter().map(|&a| triples[a]).collect())
            }
        };
        Frame { positions, ..*self }
    }

    /// Atoms in the frame.
    pub fn n_atoms(&self) -> usize {
        match &self.positions {
            Positions::Integers { triples, .. } => triples.len(),
            Positions::Floats(triples) => triples.len(),
        }
    }
}
