//! Labels of atoms: atoms that have a property in common have the same label.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::error::SelectError;
use super::expression::Property;
use super::field::IntegerField;
use super::mask::Mask;
use super::ranks::NONE;
use crate::{Bonds, NotGuessed, Topology};

/// A label for each atom.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Labels {
    of_atoms: Vec<u32>,
    /// All labels but [`NONE`] are below.
    end: u32,
}

impl Labels {
    /// Returns labels by a property, which is no coordinate.
    pub(super) fn new(topology: &Topology, property: Property) -> Result<Self, SelectError> {
        let of_atoms = match property {
            Property::Integer(IntegerField::ResidueIndex) => topology.atoms.residues.clone(),
            Property::Text(field) => field.labels(topology)?,
            Property::Integer(field) => field.labels(topology)?,
            Property::Float(field) => field.labels(topology)?,
            Property::Fragment => fragments(topology)?,
            Property::Axis(_) => unreachable!("coordinates are compared elsewhere"),
        };
        let labels = of_atoms.iter().filter(|&&label| label != NONE);
        let end = labels.max().map_or(0, |&label| label + 1);
        Ok(Labels { of_atoms, end })
    }

    /// Returns labels by the residue.
    pub(super) fn of_residues(topology: &Topology) -> Self {
        let (of_atoms, end) = (topology.atoms.residues.clone(), topology.n_residues() as u32);
        Labels { of_atoms, end }
    }

    /// Returns the atoms that have a label in common with any of the given atoms.
    pub(super) fn same(&self, atoms: &Mask) -> Mask {
        let mut chosen = vec![false; self.end as usize];
        for atom in atoms.iter() {
            if let Some(chosen) = chosen.get_mut(self.of_atoms[atom as usize] as usize) {
                *chosen = true;
            }
        }
        Mask::of(&self.of_atoms, |label| label != NONE && chosen[label as usize])
    }
}

/// Returns the bonds of a topology.
///
/// # Errors
/// [`SelectError::MissingBonds`], [`SelectError::SomeBonds`], [`SelectError::Memory`].
pub(super) fn all_bonds(topology: &Topology) -> Result<&Bonds, SelectError> {
    fragments(topology)?;
    topology.bonds.as_ref().ok_or(SelectError::MissingBonds)
}

/// Returns the sets of bonded atoms; see [`Topology::fragments`].
///
/// # Errors
/// As [`all_bonds`].
fn fragments(topology: &Topology) -> Result<Vec<u32>, SelectError> {
    let fragments = topology.fragments().ok_or(SelectError::MissingBonds)?;
    let found = topology.unconnected(&fragments).map_err(|fault| match fault {
        NotGuessed::Memory { needed, what } => SelectError::Memory { needed, what },
        _ => unreachable!("nothing is guessed"),
    })?;
    match found.are_too_many() {
        true => Err(SelectError::SomeBonds { residues: found.residues, of: found.of }),
        false => Ok(fragments),
    }
}

/// Data of the topology that a term needs, or why they are missing. The error is returned when they are used, so a term
/// that no atom reaches needs none of them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Lookup<T>(Result<T, Missing>);

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Missing {
    Column(Cow<'static, str>),
    Bonds,
    SomeBonds { residues: usize, of: usize },
}

impl<T> Lookup<T> {
    /// Returns what was found.
    ///
    /// # Errors
    /// An error that is not about columns or bonds.
    pub(super) fn new(found: Result<T, SelectError>) -> Result<Self, SelectError> {
        Ok(Lookup(match found {
            Ok(found) => Ok(found),
            Err(SelectError::MissingColumn { column }) => Err(Missing::Column(column)),
            Err(SelectError::MissingBonds) => Err(Missing::Bonds),
            Err(SelectError::SomeBonds { residues, of }) => {
                Err(Missing::SomeBonds { residues, of })
            }
            Err(other) => return Err(other),
        }))
    }

    pub(super) fn get(&self) -> Result<&T, SelectError> {
        self.0.as_ref().map_err(|missing| match missing {
            Missing::Column(column) => SelectError::MissingColumn { column: column.clone() },
            Missing::Bonds => SelectError::MissingBonds,
            &Missing::SomeBonds { residues, of } => SelectError::SomeBonds { residues, of },
        })
    }
}
