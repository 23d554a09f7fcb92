//! Number of selected atoms.

use serde::Deserialize;
use trajet_files::Error;
use trajet_formats::{Atoms, Block};
use trajet_topology::select::UpdatingSelection;

use crate::analysis::{Analysis, Pass, State, list};
use crate::cells::CellUse;
use crate::error::{FrameError, InvalidArgument};
use crate::updating::{Updating, check_selection};

/// Parameters of the analysis.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Atoms by index in the trajectory: those on whose positions the selection depends, in its order; or the atoms that
    /// are counted.
    #[serde(deserialize_with = "list")]
    pub atoms: Vec<i64>,
    /// The selection; `None` if the same atoms are selected in every frame.
    pub selection: Option<UpdatingSelection>,
}

impl Request {
    pub(crate) fn check(&self) -> Result<(), InvalidArgument> {
        check_selection(self.selection.as_ref(), self.atoms.len())
    }
}

/// Returns the pass of the analysis on a trajectory of `n_atoms` atoms.
///
/// # Errors
/// [`Error::AtomOutOfRange`].
pub fn plan(request: Request, n_atoms: usize) -> Result<Pass, Error> {
    let atoms = Atoms::listed(&request.atoms, n_atoms)?;
    let analysis = Box::new(Count { selection: request.selection.map(Updating::new) });
    Ok(Pass { atoms, superpose: None, analysis, then: None })
}

/// Yields one number per frame, no state.
struct Count {
    selection: Option<Updating>,
}

impl Analysis for Count {
    fn row_width(&self) -> usize {
        1
    }

    fn absorb(&self, block: &Block, rows: &mut [f64], _: &mut State) -> Result<(), FrameError> {
        for (i, row) in rows.iter_mut().enumerate() {
            let count = match &self.selection {
                Some(selection) => selection.select(block, i)?.len(),
                None => block.n_atoms(),
            };
            *row = count as f64;
        }
        Ok(())
    }

    fn merge(&self, left: State, _: State) -> State {
        left
    }

    fn cell_use(&self) -> CellUse {
        CellUse::nearest_images(self.selection.is_some())
    }
}
