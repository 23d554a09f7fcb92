//! Radius of gyration of a selection, about its centre and about axes, and principal moments.

use serde::Deserialize;
use trajet_files::Error;
use trajet_formats::{Atoms, Block};
use trajet_kernels::gyration::{radius, tensor};
use trajet_simd::InstructionSet;

use crate::analysis::{Analysis, Pass, State, check_weights, list, optional_list};
use crate::error::{FrameError, InvalidArgument};

/// The numbers of a row.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// The radius, Å.
    Radius,
    /// The radius, then the radii about the x, y and z axes, Å.
    Axes,
    /// The three principal moments of the gyration tensor, Å², ascending.
    Moments,
}

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
    /// What is computed.
    pub quantity: Quantity,
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
    let analysis = Box::new(Gyration { weights: request.weights, quantity: request.quantity });
    Ok(Pass { atoms, superpose: None, analysis, then: None })
}

/// Yields one row per frame, no state.
struct Gyration {
    weights: Option<Vec<f64>>,
    quantity: Quantity,
}

impl Analysis for Gyration {
    fn row_width(&self) -> usize {
        match self.quantity {
            Quantity::Radius => 1,
            Quantity::Axes => 4,
            Quantity::Moments => 3,
        }
    }

    fn absorb(&self, block: &Block, rows: &mut [f64], _: &mut State) -> Result<(), FrameError> {
        let set = InstructionSet::chosen();
        for (i, row) in rows.chunks_exact_mut(self.row_width()).enumerate() {
            let (frame, weights) = (block.frame(i), self.weights.as_deref());
            match self.quantity {
                Quantity::Radius => row[0] = radius(set, frame, weights),
                Quantity::Axes => {
                    let found = tensor(set, frame, weights);
                    row[0] = found.radius;
                    row[1..].copy_from_slice(&found.axis_radii());
                }
                Quantity::Moments => row.copy_from_slice(&tensor(set, frame, weights).moments()),
            }
        }
        Ok(())
    }

    fn merge(&self, left: State, _: State) -> State {
        left
    }
}
