//! Number of selected atoms.

use serde::{Deserialize, Serialize};
use trajet_files::Error;
use trajet_formats::{AtomList, Atoms, Block};
use trajet_topology::select::UpdatingSelection;

use crate::analysis::{self, Pass, PerFrame};
use crate::cells::CellUse;
use crate::error::{InvalidArgument, Result};
use crate::frame_arrays::{ArraySpec, FrameArrays};
use crate::updating::{Updating, check_selection};

/// Parameters of the analysis.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Atoms by index in the trajectory: those on whose positions the selection depends, in its order; or the atoms that
    /// are counted.
    pub atoms: AtomList,
    /// The selection; `None` if the same atoms are selected in every frame.
    pub selection: Option<UpdatingSelection>,
}

impl analysis::Request for Request {
    fn check(&self) -> Result<(), InvalidArgument> {
        check_selection(self.selection.as_ref(), self.atoms.len())
    }

    fn atoms(&mut self) -> Vec<&mut AtomList> {
        vec![&mut self.atoms]
    }

    fn plan(self, n_atoms: usize) -> Result<Pass, Error> {
        let atoms = Atoms::listed(&self.atoms, n_atoms)?;
        Ok(Pass::per_frame(atoms, Count { selection: self.selection.map(Updating::new) }))
    }
}

/// Yields the array `count`, no state.
struct Count {
    selection: Option<Updating>,
}

impl PerFrame for Count {
    fn per_frame(&self) -> Vec<ArraySpec> {
        vec![ArraySpec::of::<i64>("count", &[])]
    }

    fn compute(&self, block: &Block, out: &mut FrameArrays<'_>) -> Result<()> {
        for (i, number) in out.values::<i64>().iter_mut().enumerate() {
            let count = match &self.selection {
                Some(selection) => selection.select(block, i)?.len(),
                None => block.n_atoms(),
            };
            *number = count as i64;
        }
        Ok(())
    }

    fn cell_use(&self) -> CellUse {
        CellUse::nearest_images(self.selection.is_some())
    }
}
