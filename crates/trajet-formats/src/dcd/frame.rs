//! A frame as DCD stores it.

use serde::{Deserialize, Serialize};

use super::cell::{self, Cell};
use crate::turned_vectors;

/// Name of the data that no other format can hold.
pub const FOURTH: &str = "a fourth dimension";

/// A frame as the file stores it, but with fixed atoms in every frame.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Frame {
    /// Version in the header of the file; zero if unknown.
    #[serde(skip)]
    pub version: i32,
    /// The unit cell record, if the file has cells.
    #[serde(with = "cell::stored")]
    pub cell: Option<Cell>,
    /// Positions (Å) by axis and, if the file has a fourth dimension, its coordinates: `[n_atoms]` each.
    pub axes: Vec<Vec<f32>>,
}

impl PartialEq for Frame {
    /// Compares cells and coordinates. The version is ignored, since it belongs to the file.
    fn eq(&self, other: &Frame) -> bool {
        self.cell == other.cell && self.axes == other.axes
    }
}

impl Frame {
    /// Returns the frame with only `atoms`, in that order.
    ///
    /// # Panics
    /// If an index is not below the number of atoms.
    #[must_use]
    pub fn take(&self, atoms: &[usize]) -> Frame {
        let axes = self.axes.iter().map(|axis| atoms.iter().map(|&a| axis[a]).collect()).collect();
        Frame { axes, ..*self }
    }

    /// Returns the number of atoms in the frame.
    pub fn n_atoms(&self) -> usize {
        self.axes.first().map_or(0, Vec::len)
    }
}

/// Conversions that readers and writers share.
impl Frame {
    pub(crate) fn is_like(&self, other: &Frame) -> bool {
        let form = |frame: &Frame| frame.cell.map(|cell| cell.form);
        form(self) == form(other) && self.axes.len() == other.axes.len()
    }

    /// Returns lengths (Å) and angles (degrees); NaN without a cell, infinite if a number of the record is not
    /// finite or if the record is impossible.
    pub(crate) fn cell(&self) -> [f64; 6] {
        let read = self.cell.map(|cell| cell.read().map_or([f64::INFINITY; 6], |(cell, _)| cell));
        read.unwrap_or([f64::NAN; 6])
    }

    /// Returns box vectors row by row, nm, if the frame has CHARMM's matrix.
    pub(crate) fn box_vectors(&self) -> Option<[f64; 9]> {
        let (_, vectors) = self.cell?.read().ok()?;
        Some(vectors?.map(|x| x / 10.0))
    }

    /// Returns box vectors row by row, Å, if the frame has CHARMM's matrix and the box is turned.
    pub(crate) fn turned(&self) -> Option<[f64; 9]> {
        let (_, vectors) = self.cell?.read().ok()?;
        turned_vectors(&vectors?, 1.0)
    }

    /// Appends the positions, Å.
    pub(crate) fn positions(&self, out: &mut Vec<[f32; 3]>) {
        let [x, y, z, ..] = &self.axes[..] else { return };
        out.extend(x.iter().zip(y).zip(z).map(|((&x, &y), &z)| [x, y, z]));
    }

    /// Whether there are three or four axes of equal length.
    pub(crate) fn is_sound(&self) -> bool {
        let n_atoms = self.n_atoms();
        (3..=4).contains(&self.axes.len()) && self.axes.iter().all(|axis| axis.len() == n_atoms)
    }
}
