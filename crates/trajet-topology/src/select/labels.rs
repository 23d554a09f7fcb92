//! Labels of atoms: atoms that have a property in common have the same label.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::error::SelectError;
use super::expression::Property;
use super::field::IntegerField;
use super::mask::Mask;
use super::ranks::NONE;
use crate::Topology;

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
            Property::Fragment => topology.fragments().ok_or(SelectError::MissingBonds)?,
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

/// Data of the topology that a term needs, or why they are missing. The error is returned when they are used, so a term
/// that no atom reaches needs none of them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Lookup<T>(Result<T, Missing>);

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Missing {
    Column(Cow<'static, str>),
    Bonds,
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
            Err(other) => return Err(other),
        }))
    }

    pub(super) fn get(&self) -> Result<&T, SelectError> {
        self.0.as_ref().map_err(|missing| match missing {
            Missing::Column(column) => SelectError::MissingColumn { column: column.clone() },
            Missing::Bonds => SelectError::MissingBonds,
        })
    }
}
