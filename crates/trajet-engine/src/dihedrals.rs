//! Dihedral angles of quadruples of atoms, or their cosines and sines.

use serde::{Deserialize, Serialize};
use trajet_files::Error;
use trajet_formats::{AtomList, Atoms, Block};
use trajet_kernels::dihedral;
use trajet_simd::InstructionSet;

use crate::analysis::{self, Pass, PerFrame, cell_of};
use crate::atom_map::merge_atom_lists;
use crate::cells::CellUse;
use crate::error::{InvalidArgument, Result};
use crate::frame_arrays::{ArraySpec, FrameArrays};

/// Parameters of the analysis.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Atoms of each dihedral (`[n, 4]`).
    pub quadruples: AtomList,
    /// Whether frames have cosine and sine of each angle instead of the angle in degrees.
    pub features: bool,
    /// Whether bond vectors are minimum images in frames that have a cell.
    pub periodic: bool,
}

impl analysis::Request for Request {
    fn check(&self) -> Result<(), InvalidArgument> {
        if self.quadruples.is_empty() || !self.quadruples.len().is_multiple_of(4) {
            return Err(InvalidArgument("there are no quadruples of atoms"));
        }
        Ok(())
    }

    fn atoms(&mut self) -> Vec<&mut AtomList> {
        vec![&mut self.quadruples]
    }

    fn plan(self, n_atoms: usize) -> Result<Pass, Error> {
        let Request { quadruples, features, periodic } = self;
        // With a second list the atoms are merged, so that each is read once. A single list would be read as it is.
        let (union, _) = merge_atom_lists(&[&quadruples, &[]]);
        let atoms = Atoms::listed(&union, n_atoms)?;
        let place = |atom: i64| union.binary_search(&atom).expect("part of the union") as u32;
        let quadruples = quadruples.as_chunks::<4>().0.iter().map(|four| four.map(place)).collect();
        Ok(Pass::per_frame(atoms, Dihedrals { quadruples, features, periodic }))
    }
}

/// Yields the array `dihedrals`, no state.
struct Dihedrals {
    /// Columns of the block.
    quadruples: Vec<[u32; 4]>,
    features: bool,
    periodic: bool,
}

impl PerFrame for Dihedrals {
    fn per_frame(&self) -> Vec<ArraySpec> {
        let width = if self.features { 2 * self.quadruples.len() } else { self.quadruples.len() };
        vec![ArraySpec::of::<f64>("dihedrals", &[width])]
    }

    fn compute(&self, block: &Block, out: &mut FrameArrays<'_>) -> Result<()> {
        let set = InstructionSet::chosen();
        for (i, row) in out.rows::<f64>().enumerate() {
            let cell = if self.periodic { cell_of(block, i)? } else { None };
            let (cell, frame) = (cell.as_ref(), block.frame(i));
            match self.features {
                true => dihedral::cosines_and_sines(set, cell, frame, &self.quadruples, row),
                false => dihedral::degrees(set, cell, frame, &self.quadruples, row),
            }
        }
        Ok(())
    }

    fn cell_use(&self) -> CellUse {
        CellUse::nearest_images(self.periodic)
    }
}
