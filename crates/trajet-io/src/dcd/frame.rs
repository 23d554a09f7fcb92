//! A frame as DCD stores it.

use serde::{Deserialize, Serialize};

use super::cell::{self, Cell};
use crate::turned_vectors;

/// The words for what no other format has a place for.
pub(crate) const FOURTH: &str = "a fourth dimension";

/// A frame as the file stores it. Fixed atoms are in it like all others.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Frame {
    /// The version in the header of the file; zero where it is not known.
    #[serde(skip)]
    pub version: i32,
    /// The record of the unit cell; none where there is no such record.
    #[serde(with = "cell::stored")]
    pub cell: Option<Cell>,
    /// Positions (Å) and, where the file has a fourth dimension, its coordinates: `[n_atoms]` each.
    pub axes: Vec<Vec<f32>>,
}

impl PartialEq for Frame {
    /// Whether the records are equal: the version is that of the file.
    fn eq(&self, other: &Frame) -> bool {
        self.cell == other.cell && self.axes == other.axes
    }
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
        let form = |frame: &Frame| frame.cell.map(|cell| cell.form);
        form(self) == form(other) && self.axes.len() == other.axes.len()
    }

    /// Lengths and angles; infinite where the record has a number that is not finite, or cannot be a cell.
    pub(crate) fn cell(&self) -> [f64; 6] {
        let read = self.cell.map(|cell| cell.read().map_or([f64::INFINITY; 6], |(cell, _)| cell));
        read.unwrap_or([f64::NAN; 6])
    }

    /// Box vectors row by row, nm, where the frame has CHARMM's matrix.
    pub(crate) fn box_vectors(&self) -> Option<[f64; 9]> {
        let (_, vectors) = self.cell?.read().ok()?;
        Some(vectors?.map(|x| x / 10.0))
    }

    /// Box vectors row by row (Å), where the frame has CHARMM's matrix and this is turned.
    pub(crate) fn turned(&self) -> Option<[f64; 9]> {
        let (_, vectors) = self.cell?.read().ok()?;
        turned_vectors(&vectors?, 1.0)
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
