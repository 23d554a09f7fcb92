//! Selections that follow the frame.

use std::fmt;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use trajet_formats::memory;
use trajet_kernels::cell::Cell;

use super::error::SelectError;
use super::input::Coordinates;
use super::selection::PreparedSelection;

/// A selection that is evaluated for each frame, from the positions of some atoms only.
///
/// It is serialised as bytes ([`UpdatingSelection::to_bytes`]), as workers in other processes get it.
#[derive(Clone, Debug)]
pub struct UpdatingSelection {
    prepared: PreparedSelection,
    atoms: Vec<u32>,
}

/// Memory for the evaluation of a frame: positions of all atoms of the topology.
pub type SelectMemory = Vec<[f32; 3]>;

impl UpdatingSelection {
    /// Returns the selection, which is given the positions of the atoms that it needs; and if `has_selected`, those of
    /// all that it may select.
    pub fn new(prepared: PreparedSelection, has_selected: bool) -> Self {
        let mut atoms = prepared.atoms_needed();
        if has_selected {
            atoms.extend(prepared.atoms_possible());
            atoms.sort_unstable();
            atoms.dedup();
        }
        UpdatingSelection { prepared, atoms }
    }

    /// Returns the selection as bytes, for workers in other processes of the same version.
    ///
    /// # Panics
    /// Never: all that it has can be serialised.
    pub fn to_bytes(&self) -> Vec<u8> {
        postcard::to_stdvec(&(&self.prepared, &self.atoms)).expect("lists and numbers only")
    }

    /// Returns the selection from [`UpdatingSelection::to_bytes`].
    ///
    /// # Errors
    /// [`postcard::Error`] if the bytes are not of a selection.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, postcard::Error> {
        let (prepared, atoms) = postcard::from_bytes(bytes)?;
        Ok(UpdatingSelection { prepared, atoms })
    }

    /// Returns the indices of the atoms whose positions are given, ascending.
    pub fn atoms(&self) -> &[u32] {
        &self.atoms
    }

    /// Returns the indices of the atoms that some frame may select, ascending.
    pub fn atoms_possible(&self) -> Vec<u32> {
        self.prepared.atoms_possible()
    }

    /// Returns the indices of the atoms that are selected in a frame, ascending.
    ///
    /// # Errors
    /// As [`PreparedSelection::evaluate`], and if the system refuses memory.
    ///
    /// # Panics
    /// If `positions` (Å) has not one row for each of [`UpdatingSelection::atoms`].
    pub fn select(
        &self,
        positions: &[[f32; 3]],
        cell: Option<&Cell>,
        all: &mut SelectMemory,
    ) -> Result<Vec<u32>, SelectError> {
        assert_eq!(positions.len(), self.atoms.len(), "positions of the needed atoms");
        let n_atoms = self.prepared.n_atoms();
        if positions.len() == n_atoms {
            return self.prepared.evaluate(Some(&Coordinates { positions, cell }));
        }
        // Positions of other atoms do not matter, so those of an earlier frame may stay.
        let resized = memory::resize(all, n_atoms, [f32::NAN; 3], "the positions of all atoms");
        resized.map_err(|memory::Refused { needed, what }| SelectError::Memory { needed, what })?;
        for (&atom, &position) in self.atoms.iter().zip(positions) {
            all[atom as usize] = position;
        }
        self.prepared.evaluate(Some(&Coordinates { positions: all, cell }))
    }

    /// Returns the places of selected atoms, ascending, among those whose positions are given.
    ///
    /// # Panics
    /// If an atom is not among them.
    pub fn places(&self, selected: &[u32]) -> Vec<u32> {
        let mut rest = self.atoms.iter().zip(0_u32..);
        let place = |atom: &u32| rest.find(|&(given, _)| given == atom).expect("it is given").1;
        selected.iter().map(place).collect()
    }
}

impl Serialize for UpdatingSelection {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_bytes(&self.to_bytes())
    }
}

impl<'de> Deserialize<'de> for UpdatingSelection {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_bytes(Bytes)
    }
}

struct Bytes;

impl Visitor<'_> for Bytes {
    type Value = UpdatingSelection;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a selection as bytes")
    }

    fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<UpdatingSelection, E> {
        UpdatingSelection::from_bytes(bytes).map_err(E::custom)
    }
}
