//! A frame as XTC stores it.

use serde::{Deserialize, Serialize};
use trajet_simd::InstructionSet;

use super::head::ANGSTROM_PER_NM;
use super::steps::Unit;
use crate::cell_from_vectors;

/// Positions as a frame stores them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Positions {
    /// Integer multiples of `1/precision` nm, `[n_atoms]` triples.
    Integers {
        /// Steps per nm.
        precision: f32,
        /// One triple per atom.
        triples: Vec<[i32; 3]>,
    },
    /// Plain floats for up to nine atoms, nm, `[n_atoms]` triples. Such frames have no precision.
    Floats(Vec<[f32; 3]>),
}

/// A frame as the file stores it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Frame {
    /// The magic number, which determines the width of the byte count.
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
    /// Returns the frame with only `atoms`, in that order.
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

    /// Returns the frame with positions as plain floats, like frames of few atoms.
    #[must_use]
    pub fn in_nanometres(&self) -> Frame {
        let mut floats = Vec::new();
        self.nanometres(&mut floats);
        Frame { positions: Positions::Floats(floats), ..*self }
    }

    /// Returns the frame with `precision` steps per nm, as a writer with this precision stores it; `None` if a
    /// coordinate does not fit.
    #[must_use]
    pub fn in_steps(&self, precision: f32) -> Option<Frame> {
        let mut floats = Vec::new();
        self.nanometres(&mut floats);
        let mut triples = vec![[0; 3]; floats.len()];
        let (from, to) = (floats.as_flattened(), triples.as_flattened_mut());
        Unit::Nanometre.steps(InstructionSet::chosen(), from, precision, to).ok()?;
        Some(Frame { positions: Positions::Integers { precision, triples }, ..*self })
    }

    /// Returns the number of atoms in the frame.
    pub fn n_atoms(&self) -> usize {
        match &self.positions {
            Positions::Integers { triples, .. } => triples.len(),
            Positions::Floats(triples) => triples.len(),
        }
    }
}

/// Conversions that readers and writers share.
impl Frame {
    /// Returns the precision (steps per nm); `None` if positions are plain floats.
    pub fn precision(&self) -> Option<f32> {
        match self.positions {
            Positions::Integers { precision, .. } => Some(precision),
            Positions::Floats(_) => None,
        }
    }

    /// Returns lengths (Å) and angles (degrees) of the cell.
    pub fn cell(&self) -> [f64; 6] {
        cell_from_vectors(&self.vectors.map(f64::from), f64::from(ANGSTROM_PER_NM))
    }

    /// Appends the positions in nm, computed like in GROMACS.
    pub(crate) fn nanometres(&self, out: &mut Vec<[f32; 3]>) {
        self.positions_into(out, |nm| nm);
    }

    /// Appends the positions in Å.
    pub(crate) fn angstroms(&self, out: &mut Vec<[f32; 3]>) {
        self.positions_into(out, |nm| nm * ANGSTROM_PER_NM);
    }

    #[inline(always)]
    fn positions_into(&self, out: &mut Vec<[f32; 3]>, convert: impl Fn(f32) -> f32) {
        let first = out.len();
        out.resize(first + self.n_atoms(), [0.0; 3]);
        // A flat loop, so that the compiler uses vector instructions.
        let to = out[first..].as_flattened_mut().iter_mut();
        match &self.positions {
            Positions::Integers { precision, triples } => {
                let inverse = 1.0 / precision;
                let stored = to.zip(triples.as_flattened());
                stored.for_each(|(x, &n)| *x = convert(n as f32 * inverse));
            }
            Positions::Floats(triples) => {
                to.zip(triples.as_flattened()).for_each(|(x, &nm)| *x = convert(nm));
            }
        }
    }
}
