//! Positions or velocities of atoms, or of centres of groups of atoms: series over time that are analysed as a whole.

use serde::{Deserialize, Serialize};
use trajet_files::Error;
use trajet_formats::{AtomList, Atoms, Block, Field, Numbers};
use trajet_kernels::extents::centre_and_extent;
use trajet_simd::InstructionSet;

use crate::analysis::{self, Pass, PerFrame, check_weights};
use crate::error::{InvalidArgument, Result};
use crate::frame_arrays::{ArraySpec, FrameArrays};

/// The vectors that are read.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Positions, Å.
    Positions,
    /// Velocities, Å/ps, as stored: transforms do not change them.
    Velocities,
}

/// Parameters of the analysis.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Atoms by index in the trajectory; those of one group after the other, if there are groups.
    pub atoms: AtomList,
    /// Number of atoms of each group; `None` for the atoms themselves.
    pub sizes: Option<Numbers<usize>>,
    /// One weight per atom, with which the centres of groups are computed; `None` for equal weights.
    pub weights: Option<Numbers<f64>>,
    /// The axes of the vectors in their order: `"xyz"`, `"z"`, ….
    pub axes: String,
    /// The vectors to read.
    pub quantity: Quantity,
}

/// Returns the numbers of axes from their letters; `None` if they are not one to three axes.
fn axes_of(letters: &str) -> Option<Vec<usize>> {
    let axes: Option<Vec<_>> = letters.chars().map(|letter| "xyz".find(letter)).collect();
    axes.filter(|axes| (1..=3).contains(&axes.len()))
}

impl analysis::Request for Request {
    fn check(&self) -> Result<(), InvalidArgument> {
        check_weights(self.weights.as_deref(), self.atoms.len())?;
        axes_of(&self.axes).ok_or(InvalidArgument("axes are one to three of x, y and z"))?;
        let Some(sizes) = &self.sizes else { return Ok(()) };
        let sum = sizes.iter().try_fold(0usize, |sum, &size| sum.checked_add(size));
        if sum != Some(self.atoms.len()) || sizes.contains(&0) {
            return Err(InvalidArgument("the sizes of the groups do not add up to the atoms"));
        }
        let Some(weights) = &self.weights else { return Ok(()) };
        let mut rest = &weights[..];
        for &size in &**sizes {
            let (group, others) = rest.split_at(size);
            check_weights(Some(group), size)?;
            rest = others;
        }
        Ok(())
    }

    fn atoms(&mut self) -> Vec<&mut AtomList> {
        vec![&mut self.atoms]
    }

    /// The arrays: `cell`, the extents of the cell along x, y and z, is the diagonal of its box vectors, of which the
    /// first is along x and the second in the x-y plane; not a number without a cell, in directions that are not periodic, or
    /// if the box is rotated. `broken`
    /// is the number of groups that extend over more than half of that along one of the chosen axes; 0 of velocities.
    /// `vectors` are in Å or Å/ps; not a number in frames without velocities.
    fn plan(self, n_atoms: usize) -> Result<Pass, Error> {
        let Request { atoms, sizes, weights, axes, quantity } = self;
        let axes = axes_of(&axes).expect("the request was checked");
        let atoms = Atoms::listed(&atoms, n_atoms)?;
        let n_vectors = sizes.as_deref().map_or(atoms.len(), <[usize]>::len);
        let pass = Pass::per_frame(atoms, Particles { sizes, weights, axes, quantity, n_vectors });
        Ok(match quantity {
            Quantity::Positions => pass,
            Quantity::Velocities => Pass { field: Field::Velocities, ..pass },
        })
    }
}

/// Yields arrays per frame, no state.
struct Particles {
    sizes: Option<Numbers<usize>>,
    weights: Option<Numbers<f64>>,
    axes: Vec<usize>,
    quantity: Quantity,
    n_vectors: usize,
}

impl PerFrame for Particles {
    fn per_frame(&self) -> Vec<ArraySpec> {
        let vectors = [self.n_vectors, self.axes.len()];
        vec![
            ArraySpec::of::<f64>("cell", &[3]),
            ArraySpec::of::<i64>("broken", &[]),
            ArraySpec::of::<f64>("vectors", &vectors),
        ]
    }

    fn compute(&self, block: &Block, out: &mut FrameArrays<'_>) -> Result<()> {
        let set = InstructionSet::chosen();
        let [cells, broken, vectors] = out.all();
        let mut rows = vectors.rows::<f64>();
        for (i, (extents, broken)) in cells.rows::<f64>().zip(broken.values::<i64>()).enumerate() {
            let row = rows.next().unwrap_or_default();
            let cell = match block.meta.turned[i] {
                None => {
                    let (extents, periodic) =
                        (extents_of(block.meta.cells[i]), block.meta.periodic[i]);
                    [0, 1, 2].map(|k| if periodic[k] { extents[k] } else { f64::NAN })
                }
                Some(_) => [f64::NAN; 3],
            };
            extents.copy_from_slice(&cell);
            *broken = match &self.sizes {
                None => {
                    self.copy(block.frame(i), row);
                    0
                }
                Some(sizes) => {
                    let broken = self.centres(set, sizes, block.frame(i), cell, row);
                    if self.quantity == Quantity::Positions { broken as i64 } else { 0 }
                }
            };
        }
        Ok(())
    }
}

impl Particles {
    /// Copies the positions of atoms along the chosen axes.
    fn copy(&self, positions: &[f32], row: &mut [f64]) {
        let width = self.axes.len();
        for (point, out) in positions.as_chunks::<3>().0.iter().zip(row.chunks_exact_mut(width)) {
            for (x, &axis) in out.iter_mut().zip(&self.axes) {
                *x = f64::from(point[axis]);
            }
        }
    }

    /// Computes the centres of groups along the chosen axes; returns the number of broken groups.
    fn centres(
        &self,
        set: InstructionSet,
        sizes: &[usize],
        positions: &[f32],
        cell: [f64; 3],
        row: &mut [f64],
    ) -> usize {
        let (mut begin, mut broken) = (0, 0);
        for (&size, out) in sizes.iter().zip(row.chunks_exact_mut(self.axes.len())) {
            let end = begin + size;
            let weights = self.weights.as_ref().map(|weights| &weights[begin..end]);
            let found = centre_and_extent(set, &positions[3 * begin..3 * end], weights);
            let (centre, extent) = found.split_at(3);
            for (x, &axis) in out.iter_mut().zip(&self.axes) {
                *x = centre[axis];
            }
            // False without a cell.
            broken += usize::from(self.axes.iter().any(|&axis| extent[axis] > cell[axis] / 2.0));
            begin = end;
        }
        broken
    }
}

/// Returns the diagonal of the box vectors (Å) of a cell; not a number if the cell has no volume.
fn extents_of([a, b, c, alpha, beta, gamma]: [f64; 6]) -> [f64; 3] {
    let [cos_a, cos_b, cos_c] = [alpha, beta, gamma].map(|angle| angle.to_radians().cos());
    let sin_c = gamma.to_radians().sin();
    let y = (cos_a - cos_b * cos_c) / sin_c;
    let extents = [a, b * sin_c, c * (1.0 - cos_b * cos_b - y * y).sqrt()];
    // Written so that NaN is refused as well.
    if extents.iter().all(|&length| length > 0.0) { extents } else { [f64::NAN; 3] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trajet_kernels::cell::Cell;

    #[test]
    fn extents_are_the_diagonal_of_the_box_vectors() {
        for cell in [[30.0, 40.0, 50.0, 90.0, 90.0, 90.0], [30.0, 40.0, 50.0, 71.0, 80.0, 65.0]] {
            let vectors = *Cell::new(cell).unwrap().vectors();
            for (k, extent) in extents_of(cell).into_iter().enumerate() {
                assert!((extent - vectors[k][k]).abs() < 1e-12);
            }
        }
        for none in [[f64::NAN; 6], [0.0; 6], [30.0, 40.0, 0.0, 90.0, 90.0, 90.0]] {
            assert!(extents_of(none).iter().all(|extent| extent.is_nan()));
        }
    }
}
