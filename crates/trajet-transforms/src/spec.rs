//! The steps of a transform, as plain data.

use serde::{Deserialize, Serialize};
use trajet_kernels::periodic::Shape;

use crate::fit::FitMotion;
use crate::nojump::NoJump;

/// The shape of the cell into which groups are moved. All have the same volume and the same lattice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CellShape {
    /// The parallelepiped of the box vectors.
    Triclinic,
    /// The points that are nearer to the centre of the box than to its images.
    Compact,
    /// The brick of the diagonal elements of the box vectors.
    Rectangular,
}

impl From<CellShape> for Shape {
    fn from(shape: CellShape) -> Self {
        match shape {
            CellShape::Triclinic => Shape::Triclinic,
            CellShape::Compact => Shape::Compact,
            CellShape::Rectangular => Shape::Rectangular,
        }
    }
}

/// A change of positions. Atoms are given by their columns in a frame of the trajectory; lists for each atom have an
/// element for each of these columns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Step {
    /// Makes molecules whole along bonds; the first atom of each stays where it is.
    Whole {
        /// The bonds.
        #[serde(with = "trajet_formats::numbers")]
        bonds: Vec<[u32; 2]>,
        /// The number of the molecule of each atom: atoms that bonds connect have the same.
        #[serde(with = "trajet_formats::numbers")]
        molecules: Vec<u32>,
    },
    /// Removes jumps over the box from frame to frame.
    NoJump(NoJump),
    /// Moves the molecules of some atoms next to each other.
    Cluster {
        /// The atoms whose molecules are moved.
        #[serde(with = "trajet_formats::numbers")]
        atoms: Vec<u32>,
        /// The number of the molecule of each atom.
        #[serde(with = "trajet_formats::numbers")]
        molecules: Vec<u32>,
    },
    /// Moves all atoms so that the centre of some atoms is the centre of the cell.
    Center {
        /// The atoms.
        #[serde(with = "trajet_formats::numbers")]
        atoms: Vec<u32>,
        /// A weight for each of them; equal weights if there are none.
        #[serde(default, with = "trajet_formats::numbers::optional")]
        weights: Option<Vec<f64>>,
    },
    /// Moves groups of atoms into the cell, each as one, by their centres.
    Wrap {
        /// The number of the group of each atom; each atom is its own group if there are none.
        #[serde(default, with = "trajet_formats::numbers::optional")]
        groups: Option<Vec<u32>>,
        /// A weight for each atom; equal weights if there are none.
        #[serde(default, with = "trajet_formats::numbers::optional")]
        weights: Option<Vec<f64>>,
        /// The shape of the cell.
        shape: CellShape,
    },
    /// Superposes some atoms on a reference.
    Fit {
        /// The atoms.
        #[serde(with = "trajet_formats::numbers")]
        atoms: Vec<u32>,
        /// Their positions in the reference (Å).
        #[serde(with = "trajet_formats::numbers")]
        reference: Vec<[f64; 3]>,
        /// The frame that has these positions, if they are those of a frame.
        reference_frame: Option<u64>,
        /// A weight for each of them; equal weights if there are none.
        #[serde(default, with = "trajet_formats::numbers::optional")]
        weights: Option<Vec<f64>>,
        /// The kind of motion.
        motion: FitMotion,
    },
    /// Moves all atoms so that the cell begins at zero.
    SubtractOrigin {},
    /// Moves all atoms by a vector (Å).
    Translate {
        /// The vector.
        by: [f64; 3],
    },
}

/// Steps, in the order in which they are applied.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Transforms {
    /// The steps.
    pub steps: Vec<Step>,
    /// Number of atoms in a frame of the trajectory.
    pub n_atoms: usize,
}

impl Transforms {
    /// Checks that lists have the right lengths, and that all atoms exist.
    ///
    /// # Errors
    /// A text that names the fault.
    pub fn check(&self) -> Result<(), String> {
        let n = self.n_atoms;
        let exist = |atoms: &[u32]| atoms.iter().all(|&atom| (atom as usize) < n);
        let weighted = |weights: &Option<Vec<f64>>, len: usize| {
            weights.as_ref().is_none_or(|weights| {
                weights.len() == len && weights.iter().all(|&w| w >= 0.0 && w.is_finite())
            })
        };
        // Some weight of these atoms is positive.
        let heavy = |weights: &Option<Vec<f64>>| {
            weights.as_ref().is_none_or(|w| w.iter().any(|&w| w > 0.0))
        };
        let grouped = |groups: &Option<Vec<u32>>| groups.as_ref().is_none_or(|g| g.len() == n);
        for step in &self.steps {
            let valid = match step {
                Step::Whole { bonds, molecules } => {
                    let within =
                        |&[a, b]: &[u32; 2]| molecules[a as usize] == molecules[b as usize];
                    exist(bonds.as_flattened()) && molecules.len() == n && bonds.iter().all(within)
                }
                Step::NoJump(NoJump { molecules, .. }) => grouped(molecules),
                Step::SubtractOrigin {} => true,
                Step::Cluster { atoms, molecules } => {
                    exist(atoms) && !atoms.is_empty() && molecules.len() == n
                }
                Step::Center { atoms, weights } => {
                    exist(atoms)
                        && !atoms.is_empty()
                        && weighted(weights, atoms.len())
                        && heavy(weights)
                }
                Step::Wrap { groups, weights, .. } => grouped(groups) && weighted(weights, n),
                Step::Fit { atoms, reference, weights, .. } => {
                    exist(atoms)
                        && !atoms.is_empty()
                        && reference.len() == atoms.len()
                        && weighted(weights, atoms.len())
                        && heavy(weights)
                }
                Step::Translate { by } => by.iter().all(|x| x.is_finite()),
            };
            if !valid {
                return Err(format!("the lists of a transform do not fit {n} atoms"));
            }
        }
        let jumps = self.steps.iter().filter(|step| matches!(step, Step::NoJump(_))).count();
        if jumps > 1 {
            return Err("jumps are removed once only: leave the second nojump out".to_owned());
        }
        Ok(())
    }

    /// Returns the position of the step that removes jumps among the steps.
    pub fn no_jump(&self) -> Option<usize> {
        self.steps.iter().position(|step| matches!(step, Step::NoJump(_)))
    }
}
