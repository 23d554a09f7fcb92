//! Atoms, residues and segments.

use serde::{Deserialize, Serialize};
use trajet_kernels::cell::Cell;

use trajet_formats::Message;

use crate::{Bonds, Column};

/// The content of a structure file: a topology, and the positions and the unit cell of its first frame.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Structure {
    /// The topology.
    pub topology: Topology,
    /// The positions in Å, one row for each atom; `None` if the file has none or they were not asked for.
    pub positions: Option<Vec<[f32; 3]>>,
    /// The unit cell: lengths in Å and angles in degrees; `None` if the file has none.
    pub cell: Option<[f64; 6]>,
    /// The vectors of the unit cell in Å, as rows, if the file states vectors.
    pub cell_vectors: Option<[[f64; 3]; 3]>,
}

impl Structure {
    /// Returns the unit cell for distances under periodic boundary conditions; `None` if there is none, as for
    /// [`Cell::of_structure`].
    pub fn periodic_cell(&self) -> Option<Cell> {
        Cell::of_structure(self.cell, self.cell_vectors)
    }
}

/// The atoms of a system and how they are grouped. Every atom belongs to one residue, every residue to one segment.
/// `None` in place of a column means that the file does not have it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
    /// Pairs of atoms that belong to one molecule and are not in `bonds`, if the file lists them: virtual sites and the
    /// atoms that construct them, shells of polarizable atoms and what they belong to (TPR), covalent links between
    /// residues (mmCIF, which does not list the bonds within them).
    pub connections: Option<Bonds>,
    /// Whether `bonds` may be some of the bonds only, as CONECT records of PDB files and lists in H5MD files often are.
    /// Other formats list all bonds.
    pub may_lack_bonds: bool,
    /// The columns that were guessed instead of read.
    pub guessed: Guessed,
    /// Messages for the user, for example on missing serial numbers.
    pub messages: Vec<Message>,
}

/// The columns of the atoms; all have one row for each atom.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
    /// Kinds of particles, if the file states some that are no atoms.
    pub particles: Option<Vec<Particle>>,
    /// Index of the residue of each atom.
    pub residues: Vec<u32>,
}

/// Kind of a particle that a file states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Particle {
    /// An atom, or the file does not state it.
    #[default]
    Atom,
    /// A particle whose atomic number is that of no element.
    NoElement,
    /// A virtual site, shell or Drude particle.
    Site,
}

/// The columns of the residues; all have one row for each residue.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Residues {
    /// Names, for example `ALA`.
    pub names: Column,
    /// Numbers as the file states them; see `tpr` for those of molecules.
    pub numbers: Vec<i64>,
    /// Insertion codes; empty where there are none.
    pub insertion_codes: Option<Column>,
    /// Index of the segment of each residue.
    pub segments: Vec<u32>,
}

/// The columns of the segments.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Segments {
    /// Identifiers, for example `4AKE`; `SYSTEM` if the file names none.
    pub ids: Column,
}

/// The molecules of a topology; one row for each atom.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Molecules {
    /// The molecule of each atom, counted from 0.
    pub numbers: Vec<u32>,
    /// The name of the molecule's type.
    pub types: Column,
}

/// Flags of the columns that were guessed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guessed {
    /// Types, from names.
    pub types: bool,
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

    /// Returns, for each atom, the first atom of the set of bonded atoms that it belongs to; `None` if the topology lists
    /// no bonds.
    pub fn fragments(&self) -> Option<Vec<u32>> {
        Some(connected(self.n_atoms(), self.bonds.as_ref()?.pairs()))
    }
}

/// Returns for each of `n_atoms` atoms the first atom to which it is connected by pairs.
///
/// # Panics
/// If a pair has an atom that does not exist.
pub fn connected(n_atoms: usize, pairs: &[[u32; 2]]) -> Vec<u32> {
    // Trees of atoms, in which each atom points towards the root of its set.
    let mut parents: Vec<u32> = (0..n_atoms as u32).collect();
    for &[a, b] in pairs {
        let (a, b) = (root(&mut parents, a), root(&mut parents, b));
        parents[a.max(b) as usize] = a.min(b);
    }
    for atom in 0..n_atoms as u32 {
        parents[atom as usize] = root(&mut parents, atom);
    }
    parents
}

/// Returns the root of an atom's tree, and shortens the way to it.
fn root(parents: &mut [u32], mut atom: u32) -> u32 {
    while parents[atom as usize] != atom {
        let grandparent = parents[parents[atom as usize] as usize];
        parents[atom as usize] = grandparent;
        atom = grandparent;
    }
    atom
}
