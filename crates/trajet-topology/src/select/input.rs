//! Inputs of the evaluation of a selection, besides the topology.

use std::collections::BTreeMap;

use trajet_kernels::cell::Cell;

/// Atoms by the name that `group` refers to.
pub type Groups = BTreeMap<String, Vec<u32>>;

/// Positions of all atoms of a topology in one frame.
#[derive(Clone, Copy, Debug)]
pub struct Coordinates<'a> {
    /// The positions (Å), one row for each atom. Those of atoms that are not needed may be NaN.
    pub positions: &'a [[f32; 3]],
    /// The unit cell; `None` without periodic boundaries.
    pub cell: Option<&'a Cell>,
}

/// The data that a selection needs, besides the columns that every topology has. Missing columns can often be guessed
/// beforehand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Needs {
    /// Positions.
    pub positions: bool,
    /// Elements.
    pub elements: bool,
    /// Masses.
    pub masses: bool,
    /// Radii.
    pub radii: bool,
    /// Bonds.
    pub bonds: bool,
    /// Numbers of residues.
    pub residue_numbers: bool,
    /// Names of the residues of proteins.
    pub protein: bool,
}
