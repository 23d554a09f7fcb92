//! Density along a vector of the cell.

use serde::Deserialize;
use trajet_files::Error;
use trajet_formats::{Atoms, Block};
use trajet_kernels::cell::Cell;
use trajet_kernels::density::add_to_slices;

use crate::analysis::{Analysis, Pass, State, cell_of, list, optional_list};
use crate::error::{FrameError, InvalidArgument};

/// Numbers before the densities in a state.
const HEADER: usize = 4;

/// Parameters of the analysis.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The atoms of one group after the other, by index in the trajectory. An atom may be in several groups.
    #[serde(deserialize_with = "list")]
    pub atoms: Vec<i64>,
    /// Number of atoms of each group.
    #[serde(deserialize_with = "list")]
    pub sizes: Vec<usize>,
    /// The amount that each atom contributes, such as its mass or charge; `None` for one.
    #[serde(deserialize_with = "optional_list")]
    pub amounts: Option<Vec<f64>>,
    /// The vector of the cell along which slices lie.
    pub axis: usize,
    /// Number of slices.
    pub bins: usize,
}

impl Request {
    pub(crate) fn check(&self) -> Result<(), InvalidArgument> {
        check_amounts(self.amounts.as_deref(), self.atoms.len())?;
        let sum = self.sizes.iter().try_fold(0usize, |sum, &size| sum.checked_add(size));
        if sum != Some(self.atoms.len()) {
            return Err(InvalidArgument("the sizes of the groups do not add up to the atoms"));
        }
        if self.axis > 2 {
            return Err(InvalidArgument("the axes of a cell are 0, 1 and 2"));
        }
        let numbers = self.bins.checked_mul(self.sizes.len()).and_then(|n| n.checked_add(HEADER));
        if self.bins == 0 || numbers.is_none_or(|n| n > isize::MAX as usize / size_of::<f64>()) {
            return Err(InvalidArgument(
                "the number of bins must be at least 1, and fit in memory",
            ));
        }
        Ok(())
    }
}

/// Checks that there is a finite amount for each atom.
///
/// # Errors
/// [`InvalidArgument`].
pub(crate) fn check_amounts(
    amounts: Option<&[f64]>,
    n_atoms: usize,
) -> Result<(), InvalidArgument> {
    let Some(amounts) = amounts else { return Ok(()) };
    if amounts.len() != n_atoms {
        return Err(InvalidArgument("there must be an amount for each atom"));
    }
    if !amounts.iter().all(|amount| amount.is_finite()) {
        return Err(InvalidArgument("the amounts of atoms must be finite numbers"));
    }
    Ok(())
}

/// Returns the pass of the analysis on a trajectory of `n_atoms` atoms.
///
/// The state holds the number of frames, the sum of their volumes (Å³), the sum of the distances of the two faces of the
/// cell (Å), the number of frames whose slices are not at right angles to the axis, then for each group and slice the sum of its densities in each frame (amount per Å³).
///
/// # Errors
/// [`Error::AtomOutOfRange`].
pub fn plan(request: Request, n_atoms: usize) -> Result<Pass, Error> {
    let Request { atoms, sizes, amounts, axis, bins } = request;
    let atoms = Atoms::listed(&atoms, n_atoms)?;
    let analysis = Box::new(LinearDensity { sizes, amounts, axis, bins });
    Ok(Pass { atoms, superpose: None, analysis, then: None })
}

/// Returns whether slices along a box vector are not at right angles to the axis of its number. Cells are stored in
/// single precision.
fn is_tilted(cell: &Cell, axis: usize) -> bool {
    let vectors = cell.vectors();
    let [u, v] = [vectors[(axis + 1) % 3], vectors[(axis + 2) % 3]];
    let normal: [f64; 3] = std::array::from_fn(|k| {
        let (a, b) = ((k + 1) % 3, (k + 2) % 3);
        u[a] * v[b] - u[b] * v[a]
    });
    (0..3).any(|k| k != axis && normal[k].abs() > 1e-5 * normal[axis].abs())
}

/// Yields no rows, only a state.
struct LinearDensity {
    sizes: Vec<usize>,
    amounts: Option<Vec<f64>>,
    axis: usize,
    bins: usize,
}

impl Analysis for LinearDensity {
    fn row_width(&self) -> usize {
        0
    }

    fn state_len(&self) -> usize {
        HEADER + self.sizes.len() * self.bins
    }

    fn absorb(&self, block: &Block, _: &mut [f64], state: &mut State) -> Result<(), FrameError> {
        let mut slices = vec![0.0; self.bins];
        for i in 0..block.n_frames() {
            let refused = |why: String| FrameError { frame: block.meta.frames[i], why };
            let cell = cell_of(block, i)?.ok_or_else(|| {
                refused(
                    "it has no unit cell, whose slices a linear density needs: leave such frames \
                     out, or take a trajectory that has cells"
                        .to_owned(),
                )
            })?;
            state[0] += 1.0;
            state[1] += cell.volume();
            state[2] += cell.heights()[self.axis];
            state[3] += f64::from(u8::from(is_tilted(&cell, self.axis)));
            let slice_volume = cell.volume() / self.bins as f64;
            let (frame, mut begin) = (block.frame(i), 0);
            let groups = state[HEADER..].chunks_exact_mut(self.bins);
            for (&size, densities) in self.sizes.iter().zip(groups) {
                let end = begin + size;
                let amounts = self.amounts.as_ref().map(|amounts| &amounts[begin..end]);
                slices.fill(0.0);
                let positions = &frame[3 * begin..3 * end];
                add_to_slices(&cell, self.axis, positions, amounts, &mut slices).map_err(|atom| {
                    refused(format!(
                        "atom {atom} of a selection has no position there, or one that is millions \
                         of cells away: leave this frame out"
                    ))
                })?;
                densities.iter_mut().zip(&slices).for_each(|(d, sum)| *d += sum / slice_volume);
                begin = end;
            }
        }
        Ok(())
    }

    fn merge(&self, mut left: State, right: State) -> State {
        left.iter_mut().zip(right).for_each(|(l, r)| *l += r);
        left
    }
}
