//! Number of selected atoms.

use serde::{Deserialize, Serialize};
use trajet_files::Error;
use trajet_formats::{AtomList, Atoms, Block};
use trajet_topology::select::UpdatingSelection;

use crate::analysis::{self, Analysis, Finished, Pass, PerFrame};
use crate::cells::CellUse;
use crate::collected::Keys;
use crate::error::{InvalidArgument, Result};
use crate::frame_arrays::{ArraySpec, FrameArrays};
use crate::memberships::Wanted;
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
    /// Which of the selected atoms are collected, beside their number: the key is the index in the topology. Only a
    /// selection has members.
    pub members: Option<Wanted>,
}

impl analysis::Request for Request {
    fn check(&self) -> Result<(), InvalidArgument> {
        if self.members.is_some() && self.selection.is_none() {
            return Err(InvalidArgument("only the atoms of a selection are collected"));
        }
        check_selection(self.selection.as_ref(), self.atoms.len())
    }

    fn atoms(&mut self) -> Vec<&mut AtomList> {
        vec![&mut self.atoms]
    }

    fn plan(self, n_atoms: usize) -> Result<Pass, Error> {
        let atoms = Atoms::listed(&self.atoms, n_atoms)?;
        let selection = self.selection.map(Updating::new);
        Ok(match (selection, self.members) {
            (Some(selection), Some(wanted)) => Pass::new(atoms, Members { selection, wanted }),
            (selection, _) => Pass::per_frame(atoms, Count { selection }),
        })
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

/// Yields the array `count`, and collects the selected atoms.
struct Members {
    selection: Updating,
    wanted: Wanted,
}

impl Analysis for Members {
    type State = Keys;

    fn per_frame(&self) -> Vec<ArraySpec> {
        vec![ArraySpec::of::<i64>("count", &[])]
    }

    fn empty(&self) -> Result<Keys> {
        Ok(Keys::default())
    }

    fn absorb(&self, block: &Block, out: &mut FrameArrays<'_>, state: &mut Keys) -> Result<()> {
        for (i, number) in out.values::<i64>().iter_mut().enumerate() {
            let selected = self.selection.select(block, i)?;
            let mut keys = selected.into_iter().map(u64::from).collect();
            *number = self.wanted.append_to(state, &mut keys)?;
        }
        Ok(())
    }

    fn merge(&self, left: Keys, right: Keys) -> Result<Keys> {
        self.wanted.merge(left, &right)
    }

    fn finish(&self, state: Keys) -> Result<Finished> {
        Ok(Finished::Arrays(state.arrays()))
    }

    fn cell_use(&self) -> CellUse {
        CellUse::nearest_images(true)
    }
}
