//! Alternate locations of the atoms of a request, which exclude each other.

use serde::{Deserialize, Serialize};
use trajet_formats::{AtomList, Numbers};
use trajet_kernels::exclusion::AltLocation;

use crate::error::InvalidArgument;

/// The atoms at alternate locations among those of a request.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AltLocations {
    /// Their indices in the trajectory, ascending.
    pub atoms: AtomList,
    /// The residue of each, as a number.
    pub residues: Numbers<u32>,
    /// The location of each, as a number from 1.
    pub locations: Numbers<u32>,
}

impl AltLocations {
    /// Checks that there is a residue and a location for each atom.
    ///
    /// # Errors
    /// [`InvalidArgument`].
    pub(crate) fn check(&self) -> Result<(), InvalidArgument> {
        let n = self.atoms.len();
        let fits = self.residues.len() == n && self.locations.len() == n;
        match fits && self.atoms.is_sorted_by(|a, b| a < b) {
            true => Ok(()),
            false => Err(InvalidArgument("each atom at an alternate location has one residue")),
        }
    }

    /// Returns the location of each atom of a list.
    pub(crate) fn of(&self, list: &[i64]) -> Vec<AltLocation> {
        let of_atom = |atom: &i64| match self.atoms.binary_search(atom) {
            Ok(k) => AltLocation { residue: self.residues[k], location: self.locations[k] },
            Err(_) => AltLocation::default(),
        };
        list.iter().map(of_atom).collect()
    }
}
