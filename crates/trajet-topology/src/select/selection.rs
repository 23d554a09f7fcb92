//! A parsed selection, and its evaluation.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::error::{ParseError, SelectError};
use super::expression::Expression;
use super::input::{Coordinates, Groups, Needs};
use super::mask::Mask;
use super::moving::{self, Reduced};
use super::parser;
use crate::Topology;

/// A parsed selection.
///
/// A selection is serialised as its text and groups, and parsed again when it is deserialised.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Serialized", into = "Serialized")]
pub struct Selection {
    text: String,
    groups: Groups,
    expression: Expression,
    needs: Needs,
}

#[derive(Serialize, Deserialize)]
struct Serialized {
    text: String,
    groups: Groups,
}

impl From<Selection> for Serialized {
    fn from(Selection { text, groups, .. }: Selection) -> Self {
        Serialized { text, groups }
    }
}

impl TryFrom<Serialized> for Selection {
    type Error = ParseError;

    fn try_from(Serialized { text, groups }: Serialized) -> Result<Self, ParseError> {
        Ok(Selection::parse(&text)?.with_groups(groups))
    }
}

impl FromStr for Selection {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Selection::parse(text)
    }
}

impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Selection {
    /// Parses a selection.
    ///
    /// # Errors
    /// [`ParseError`], which points at the word that is wrong.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        let (expression, needs) = parser::parse(text)?;
        Ok(Selection { text: text.to_owned(), groups: Groups::new(), expression, needs })
    }

    /// Returns the selection with atoms for the names that `group` refers to.
    #[must_use]
    pub fn with_groups(mut self, groups: Groups) -> Self {
        self.groups = groups;
        self
    }

    /// Returns the text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns what the selection needs of a topology.
    pub fn needs(&self) -> Needs {
        self.needs
    }

    /// Returns whether the selection may differ from frame to frame.
    pub fn needs_positions(&self) -> bool {
        self.needs.positions
    }

    /// Returns the indices of the selected atoms in ascending order.
    ///
    /// # Errors
    /// [`SelectError`] if the topology or the positions lack something.
    ///
    /// # Panics
    /// If columns of the topology have different lengths, or residues or segments that atoms refer to do not exist.
    pub fn evaluate(
        &self,
        topology: &Topology,
        coordinates: Option<&Coordinates<'_>>,
    ) -> Result<Vec<u32>, SelectError> {
        self.prepare(topology)?.evaluate(coordinates)
    }

    /// Returns atoms among which all are whose positions have to be known, in ascending order.
    ///
    /// # Errors
    /// As [`Selection::evaluate`].
    ///
    /// # Panics
    /// As [`Selection::evaluate`].
    pub fn atoms_needed(&self, topology: &Topology) -> Result<Vec<u32>, SelectError> {
        Ok(self.prepare(topology)?.atoms_needed())
    }

    /// Evaluates what depends on the topology alone, for the evaluation of many frames.
    ///
    /// # Errors
    /// As [`Selection::evaluate`].
    ///
    /// # Panics
    /// As [`Selection::evaluate`].
    pub fn prepare(&self, topology: &Topology) -> Result<PreparedSelection, SelectError> {
        let among = Mask::all(topology.n_atoms());
        let reduced = moving::reduce(&self.expression, topology, &self.groups)?;
        Ok(PreparedSelection { reduced, among })
    }

    /// Evaluates what depends on the topology alone, to select among the atoms that have positions. The result has those
    /// of them that [`Selection::prepare`] selects if all atoms have positions: `byres name CA` gives the atoms of a
    /// residue whether its CA is among them or not.
    ///
    /// # Errors
    /// As [`Selection::evaluate`], and [`SelectError::AbsentAtom`] if positions of other atoms have to be known.
    ///
    /// # Panics
    /// As [`Selection::evaluate`], and if an index is not below the number of atoms.
    pub fn prepare_among(
        &self,
        topology: &Topology,
        among: &[u32],
    ) -> Result<PreparedSelection, SelectError> {
        let prepared = self.reduce_among(topology, among)?;
        match prepared.atoms_absent().iter().next() {
            Some(atom) => Err(SelectError::AbsentAtom { atom }),
            None => Ok(prepared),
        }
    }

    /// Returns the atoms that have no position, although it has to be known to select among those that have one, in
    /// ascending order. [`Selection::prepare_among`] fails if there are any.
    ///
    /// # Errors
    /// As [`Selection::evaluate`].
    ///
    /// # Panics
    /// As [`Selection::prepare_among`].
    pub fn atoms_absent(
        &self,
        topology: &Topology,
        among: &[u32],
    ) -> Result<Vec<u32>, SelectError> {
        Ok(self.reduce_among(topology, among)?.atoms_absent().to_indices())
    }

    fn reduce_among(
        &self,
        topology: &Topology,
        among: &[u32],
    ) -> Result<PreparedSelection, SelectError> {
        let mut atoms = Mask::none(topology.n_atoms());
        for &atom in among {
            assert!((atom as usize) < topology.n_atoms(), "no atom has the index {atom}");
            atoms.insert(atom);
        }
        let reduced = moving::reduce(&self.expression, topology, &self.groups)?;
        Ok(PreparedSelection { reduced, among: atoms })
    }
}

/// A selection of the atoms of one topology, to be evaluated for many frames. It does not refer to the topology: workers
/// in other processes get it as bytes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PreparedSelection {
    reduced: Reduced,
    /// The atoms to select among.
    among: Mask,
}

impl PreparedSelection {
    /// Returns the number of atoms of the topology.
    pub fn n_atoms(&self) -> usize {
        self.among.n_atoms()
    }

    /// Returns the indices of the atoms that are selected in a frame, in ascending order.
    ///
    /// # Errors
    /// [`SelectError`] if the positions are missing, or the topology lacks something.
    pub fn evaluate(&self, coordinates: Option<&Coordinates<'_>>) -> Result<Vec<u32>, SelectError> {
        if let Reduced::Fixed(_) = &self.reduced {
            return Ok(self.atoms_possible());
        }
        let coordinates = coordinates.ok_or(SelectError::NoPositions)?;
        let (expected, found) = (self.n_atoms(), coordinates.positions.len());
        if found != expected {
            return Err(SelectError::WrongPositions { expected, found });
        }
        Ok(self.reduced.evaluate(coordinates, &self.among)?.to_indices())
    }

    /// Returns atoms among which all are whose positions have to be known, in ascending order.
    pub fn atoms_needed(&self) -> Vec<u32> {
        let needed: Mask = self.reduced.atoms_needed(&self.among);
        needed.to_indices()
    }

    /// Returns the atoms whose positions have to be known, without those to select among.
    fn atoms_absent(&self) -> Mask {
        let mut absent = self.reduced.atoms_needed(&self.among);
        absent.subtract(&self.among);
        absent
    }

    /// Returns atoms among which all are that any frame selects, in ascending order.
    pub fn atoms_possible(&self) -> Vec<u32> {
        let mut possible = self.among.clone();
        if let Some(most) = self.reduced.at_most() {
            possible.intersect(&most);
        }
        possible.to_indices()
    }
}
