//! A frame as DCD stores it.

use serde::{Deserialize, Serialize};

use super::head;
use crate::turned_vectors;

/// A frame as the file stores it. Fixed atoms are in it like all others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Frame {
    /// The six numbers of the unit cell's record, in their order; none where there is no such record.
    pub cell: Option<[f64; 6]>,
    /// Positions (Å) and, where the file has a fourth dimension, its coordinates: `[n_atoms]` each.
    pub axes: Vec<Vec<f32>>,
}

impl Frame {
    /// The frame with only `atoms`, in that order.
    ///
    /// # Panics
    /// If an index is not below the number of atoms.
    #[must_use]
    pub fn take(&self, atoms: &[usize]) -> Frame {
        let axes = self.axes.iter().map(|axis| atoms.iter().map(|&a| axis[a]).collect()).collect();
        Frame { axes, ..*self }
    }

    /// Atoms in the frame.
    pub fn n_atoms(&self) -> usize {
        self.axes.first().map_or(0, Vec::len)
    }
}

/// A frame as it is read.
impl Frame {
    pub(crate) fn is_like(&self, other: &Frame) -> bool {
        self.cell.is_some() == other.cell.is_some() && self.axes.len() == other.axes.len()
    }

    pub(crate) fn cell(&self) -> [f64; 6] {
        self.cell.map_or([f64::NAN; 6], head::cell)
    }

    /// Box vectors row by row, nm, where the frame has CHARMM's matrix.
    pub(crate) fn box_vectors(&self) -> Option<[f64; 9]> {
        Some(head::matrix(self.cell?)?.map(|x| x / 10.0))
    }

    /// Box vectors row by row (Å), where the frame has CHARMM's matrix and this is turned.
    pub(crate) fn turned(&self) -> Option<[f64; 9]> {
        turned_vectors(&head::matrix(self.cell?)?, 1.0)
    }

    /// Appends the positions, Å.
    pub(crate) fn positions(&self, out: &mut Vec<[f32; 3]>) {
        let [x, y, z, ..] = &self.axes[..] else { return };
        out.extend(x.iter().zip(y).zip(z).map(|((&x, &y), &z)| [x, y, z]));
    }

    /// Whether there are three axes or four, and all are of equal length.
    pub(crate) fn is_sound(&self) -> bool {
        let n_atoms = self.n_atoms();
        (3..=4).contains(&self.axes.len()) && self.axes.iter().all(|axis| axis.len() == n_atoms)
    }
}
