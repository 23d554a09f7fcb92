//! Radius of gyration of a selection, about its centre and about axes, and principal moments.

use serde::{Deserialize, Serialize};
use trajet_files::Error;
use trajet_formats::{AtomList, Atoms, Block, Numbers};
use trajet_kernels::gyration::{radius, tensor};
use trajet_simd::InstructionSet;

use crate::analysis::{self, Pass, PerFrame, check_weights};
use crate::error::{InvalidArgument, Result};
use crate::frame_arrays::{ArraySpec, FrameArrays};

/// The numbers of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Atoms by index in the trajectory, in any order.
    pub atoms: AtomList,
    /// One weight per atom; `None` for equal weights.
    pub weights: Option<Numbers<f64>>,
    /// The quantity to compute.
    pub quantity: Quantity,
}

impl analysis::Request for Request {
    fn check(&self) -> Result<(), InvalidArgument> {
        check_weights(self.weights.as_deref(), self.atoms.len())
    }

    fn atoms(&mut self) -> Vec<&mut AtomList> {
        vec![&mut self.atoms]
    }

    fn plan(self, n_atoms: usize) -> Result<Pass, Error> {
        let atoms = Atoms::listed(&self.atoms, n_atoms)?;
        Ok(Pass::per_frame(atoms, Gyration { weights: self.weights, quantity: self.quantity }))
    }
}

/// Yields an array per frame, no state.
struct Gyration {
    weights: Option<Numbers<f64>>,
    quantity: Quantity,
}

impl PerFrame for Gyration {
    fn per_frame(&self) -> Vec<ArraySpec> {
        vec![match self.quantity {
            Quantity::Radius => ArraySpec::of::<f64>("radius", &[]),
            Quantity::Axes => ArraySpec::of::<f64>("radii", &[4]),
            Quantity::Moments => ArraySpec::of::<f64>("moments", &[3]),
        }]
    }

    fn compute(&self, block: &Block, out: &mut FrameArrays<'_>) -> Result<()> {
        let set = InstructionSet::chosen();
        for (i, row) in out.rows::<f64>().enumerate() {
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
}
