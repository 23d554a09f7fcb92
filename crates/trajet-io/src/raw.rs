//! The second exit: a frame exactly as its format stores it, for writers and the store.
//!
//! `f32` Å cannot give back what was stored; this can.

/// Positions in the form in which the format holds them.
#[derive(Clone, Debug, PartialEq)]
pub enum RawPositions {
    /// XTC: integer multiples of `1/precision` nm, `[n_atoms]` triples.
    Integers {
        /// Steps per nm.
        precision: f32,
        /// One triple an atom.
        triples: Vec<[i32; 3]>,
    },
    /// XTC of up to nine atoms: plain floats, nm, `[n_atoms]` triples; the frame has no precision.
    Floats(Vec<[f32; 3]>),
}

/// One frame as its format stores it.
#[derive(Clone, Debug, PartialEq)]
pub struct Raw {
    /// The magic number (for XTC it says how wide the byte count is).
    pub magic: i32,
    /// Integration step.
    pub step: i32,
    /// Time, ps.
    pub time: f32,
    /// Box vectors row by row, nm.
    pub vectors: [f32; 9],
    /// The positions.
    pub positions: RawPositions,
}

impl Raw {
    /// The frame with only `atoms`, in that order.
    ///
    /// # Panics
    /// If an index is not below the number of atoms.
    #[must_use]
    pub fn take(&self, atoms: &[usize]) -> Raw {
        let positions = match &self.positions {
            RawPositions::Integers { precision, triples } => RawPositions::Integers {
                precision: *precision,
                triples: atoms.iter().map(|&a| triples[a]).collect(),
            },
            RawPositions::Floats(triples) => {
                RawPositions::Floats(atoms.iter().map(|&a| triples[a]).collect())
            }
        };
        Raw { positions, ..*self }
    }

    /// Atoms in the frame.
    pub fn n_atoms(&self) -> usize {
        match &self.positions {
            RawPositions::Integers { triples, .. } => triples.len(),
            RawPositions::Floats(triples) => triples.len(),
        }
    }
}
