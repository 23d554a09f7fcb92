//! Radius of gyration of a selection.

use serde::Deserialize;
use trajet_files::Error;
use trajet_formats::{Atoms, Block};
use trajet_kernels::gyration::radius;
use trajet_simd::InstructionSet;

use crate::analysis::{Analysis, Pass, State, check_weights, list, optional_list};
use crate::error::{FrameError, InvalidArgument};

/// Parameters of the analysis.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Atoms by index in the trajectory, in any order.
    #[serde(deserialize_with = "list")]
    pub atoms: Vec<i64>,
    /// One weight per atom; `None` for equal weights.
    #[serde(deserialize_with = "optional_list")]
    pub weights: Option<Vec<f64>>,
}

impl Request {
    pub(crate) fn check(&self) -> Result<(), InvalidArgument> {
        check_weights(self.weights.as_deref(), self.atoms.len())
    }
}

/// Returns the pass of the analysis on a trajectory of `n_atoms` atoms.
///
/// # Errors
/// [`Error::AtomOutOfRange`].
pub fn plan(request: Request, n_atoms: usize) -> Result<Pass, Error> {
    let atoms = Atoms::listed(&request.atoms, n_atoms)?;
    let analysis = Box::new(Gyration { weights: request.weights });
    Ok(Pass { atoms, transforms: Vec::new(), analysis, then: None })
}

/// Yields one number per frame, no state.
struct Gyration {
    weights: Option<Vec<f64>>,
}

impl Analysis for Gyration {
    fn row_width(&self) -> usize {
        1
    }

    fn absorb(&self, block: &Block, rows: &mut [f64], _: &mut State) -> Result<(), FrameError> {
        let set = InstructionSet::chosen();
        for (i, row) in rows.iter_mut().enumerate() {
            *row = radius(set, block.frame(i), self.weights.as_deref());
        }
        Ok(())
    }

    fn merge(&self, left: State, _: State) -> State {
        left
    }
}
