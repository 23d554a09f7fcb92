//! Dihedral angles of quadruples of atoms, or their cosines and sines.

use serde::Deserialize;
use trajet_files::Error;
use trajet_formats::{Atoms, Block};
use trajet_kernels::dihedral;
use trajet_simd::InstructionSet;

use crate::analysis::{Analysis, Pass, State, cell_of, list};
use crate::atom_map::merge_atom_lists;
use crate::cells::CellUse;
use crate::error::{FrameError, InvalidArgument};

/// Parameters of the analysis.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Atoms of each dihedral, by index in the trajectory.
    #[serde(deserialize_with = "list")]
    pub quadruples: Vec<[i64; 4]>,
    /// Whether rows hold cosine and sine of each angle instead of the angle in degrees.
    pub features: bool,
    /// Whether bond vectors are minimum images in frames that have a cell.
    pub periodic: bool,
}

impl Request {
    pub(crate) fn check(&self) -> Result<(), InvalidArgument> {
        if self.quadruples.is_empty() {
            return Err(InvalidArgument("there are no quadruples of atoms"));
        }
        Ok(())
    }
}

/// Returns the pass of the analysis on a trajectory of `n_atoms` atoms.
///
/// # Errors
/// [`Error::AtomOutOfRange`].
pub fn plan(request: Request, n_atoms: usize) -> Result<Pass, Error> {
    let Request { quadruples, features, periodic } = request;
    // With a second list the atoms are merged, so that each is read once. A single list would be read as it is.
    let (union, _) = merge_atom_lists(&[quadruples.as_flattened(), &[]]);
    let atoms = Atoms::listed(&union, n_atoms)?;
    let place = |atom: i64| union.binary_search(&atom).expect("part of the union") as u32;
    let quadruples = quadruples.iter().map(|four| four.map(place)).collect();
    Ok(Pass {
        atoms,
        superpose: None,
        analysis: Box::new(Dihedrals { quadruples, features, periodic }),
        then: None,
    })
}

/// Yields one row per frame, no state.
struct Dihedrals {
    /// Columns of the block.
    quadruples: Vec<[u32; 4]>,
    features: bool,
    periodic: bool,
}

impl Analysis for Dihedrals {
    fn row_width(&self) -> usize {
        if self.features { 2 * self.quadruples.len() } else { self.quadruples.len() }
    }

    fn absorb(&self, block: &Block, rows: &mut [f64], _: &mut State) -> Result<(), FrameError> {
        let set = InstructionSet::chosen();
        for (i, row) in rows.chunks_exact_mut(self.row_width()).enumerate() {
            let cell = if self.periodic { cell_of(block, i)? } else { None };
            let (cell, frame) = (cell.as_ref(), block.frame(i));
            match self.features {
                true => dihedral::cosines_and_sines(set, cell, frame, &self.quadruples, row),
                false => dihedral::degrees(set, cell, frame, &self.quadruples, row),
            }
        }
        Ok(())
    }

    fn merge(&self, left: State, _: State) -> State {
        left
    }

    fn cell_use(&self) -> CellUse {
        CellUse::nearest_images(self.periodic)
    }
}
