//! Atoms, residues and segments.

use crate::{Bonds, Column};

/// The atoms of a system and how they are grouped. Every atom belongs to one residue, every residue to one segment.
/// `None` in place of a column means that the file does not have it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Topology {
    /// The columns of the atoms.
    pub atoms: Atoms,
    /// The columns of the residues.
    pub residues: Residues,
    /// The columns of the segments.
    pub segments: Segments,
    /// The molecules, if the file lists them.
    pub molecules: Option<Molecules>,
    /// The bonds, if the file lists them.
    pub bonds: Option<Bonds>,
    /// The columns that were guessed instead of read.
    pub guessed: Guessed,
    /// Remarks for the user, for example on repeated serial numbers.
    pub remarks: Vec<String>,
}

/// The columns of the atoms; all have one row for each atom.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Atoms {
    /// Names, for example `CA`.
    pub names: Column,
    /// Types of the force field.
    pub types: Option<Column>,
    /// Chemical symbols, for example `C`, `Cl`; empty where unknown.
    pub elements: Option<Column>,
    /// Markers of alternate locations; empty where there are none.
    pub alt_locs: Option<Column>,
    /// Record types of PDB files, `ATOM` or `HETATM`.
    pub record_types: Option<Column>,
    /// Chain identifiers.
    pub chains: Option<Column>,
    /// Serial numbers as the file states them.
    pub serials: Option<Vec<i64>>,
    /// Masses in u.
    pub masses: Option<Vec<f64>>,
    /// Partial charges in elementary charges.
    pub charges: Option<Vec<f64>>,
    /// Formal charges in elementary charges.
    pub formal_charges: Option<Vec<i32>>,
    /// Occupancies.
    pub occupancies: Option<Vec<f64>>,
    /// Temperature factors in Å².
    pub b_factors: Option<Vec<f64>>,
    /// Radii in Å.
    pub radii: Option<Vec<f64>>,
    /// Index of the residue of each atom.
    pub residues: Vec<u32>,
}

/// The columns of the residues; all have one row for each residue.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Residues {
    /// Names, for example `ALA`.
    pub names: Column,
    /// Numbers as the file states them.
    pub numbers: Vec<i64>,
    /// Insertion codes; empty where there are none.
    pub insertion_codes: Option<Column>,
    /// Index of the segment of each residue.
    pub segments: Vec<u32>,
}

/// The columns of the segments.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Segments {
    /// Identifiers, for example `4AKE`; `SYSTEM` if the file names none.
    pub ids: Column,
}

/// The molecules of a topology; one row for each atom.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Molecules {
    /// The molecule of each atom, counted from 0.
    pub numbers: Vec<u32>,
    /// The name of the molecule's type.
    pub types: Column,
}

/// Which columns were guessed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Guessed {
    /// Elements, from names or types.
    pub elements: bool,
    /// Masses, from elements.
    pub masses: bool,
    /// Radii, from elements.
    pub radii: bool,
    /// Bonds, from distances.
    pub bonds: bool,
}

impl Topology {
    /// Returns the number of atoms.
    pub fn n_atoms(&self) -> usize {
        self.atoms.residues.len()
    }

    /// Returns the number of residues.
    pub fn n_residues(&self) -> usize {
        self.residues.numbers.len()
    }

    /// Returns the number of segments.
    pub fn n_segments(&self) -> usize {
        self.segments.ids.len()
    }
}
