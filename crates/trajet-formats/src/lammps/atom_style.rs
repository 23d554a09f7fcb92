//! Atom styles: the columns of atoms in data files of LAMMPS.

use serde::{Deserialize, Serialize};

/// An atom style that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AtomStyle {
    /// `id type x y z`.
    Atomic,
    /// `id type q x y z`.
    Charge,
    /// `id mol type x y z`.
    Bond,
    /// As [`AtomStyle::Bond`].
    Angle,
    /// As [`AtomStyle::Bond`].
    Molecular,
    /// `id mol type q x y z`.
    Full,
}

impl AtomStyle {
    /// All styles.
    pub const ALL: [AtomStyle; 6] = [
        AtomStyle::Atomic,
        AtomStyle::Charge,
        AtomStyle::Bond,
        AtomStyle::Angle,
        AtomStyle::Molecular,
        AtomStyle::Full,
    ];

    /// Returns the name in LAMMPS.
    pub fn name(self) -> &'static str {
        match self {
            AtomStyle::Atomic => "atomic",
            AtomStyle::Charge => "charge",
            AtomStyle::Bond => "bond",
            AtomStyle::Angle => "angle",
            AtomStyle::Molecular => "molecular",
            AtomStyle::Full => "full",
        }
    }

    /// Returns whether atoms have a column of charges.
    pub fn has_charges(self) -> bool {
        matches!(self, AtomStyle::Charge | AtomStyle::Full)
    }

    /// Returns whether atoms have a column of molecules.
    pub fn has_molecules(self) -> bool {
        !matches!(self, AtomStyle::Atomic | AtomStyle::Charge)
    }

    /// Returns the number of columns without images.
    pub fn n_columns(self) -> usize {
        5 + usize::from(self.has_molecules()) + usize::from(self.has_charges())
    }
}
