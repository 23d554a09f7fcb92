//! Density along a vector of the cell.

use serde::{Deserialize, Serialize};
use trajet_files::Error;
use trajet_formats::{AtomList, Atoms, Block, Numbers};
use trajet_kernels::cell::Cell;
use trajet_kernels::density::add_to_slices;

use crate::analysis::{self, Analysis, Array, Finished, Pass, check_periodic, required_cell};
use crate::error::{FrameError, InvalidArgument, Result};
use crate::frame_arrays::FrameArrays;

/// Parameters of the analysis.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The atoms of one group after the other, by index in the trajectory. An atom may be in several groups.
    pub atoms: AtomList,
    /// Number of atoms of each group.
    pub sizes: Numbers<usize>,
    /// The amount that each atom contributes, such as its mass or charge; `None` for one.
    pub amounts: Option<Numbers<f64>>,
    /// The vector of the cell along which slices lie.
    pub axis: usize,
    /// Number of slices.
    pub bins: usize,
}

impl analysis::Request for Request {
    fn check(&self) -> Result<(), InvalidArgument> {
        check_amounts(self.amounts.as_deref(), self.atoms.len())?;
        let sum = self.sizes.iter().try_fold(0usize, |sum, &size| sum.checked_add(size));
        if sum != Some(self.atoms.len()) {
            return Err(InvalidArgument("the sizes of the groups do not add up to the atoms"));
        }
        if self.axis > 2 {
            return Err(InvalidArgument("the axes of a cell are 0, 1 and 2"));
        }
        let numbers = self.bins.checked_mul(self.sizes.len());
        if self.bins == 0 || numbers.is_none_or(|n| n > isize::MAX as usize / size_of::<f64>()) {
            return Err(InvalidArgument(
                "the number of bins must be at least 1, and fit in memory",
            ));
        }
        Ok(())
    }

    fn atoms(&mut self) -> Vec<&mut AtomList> {
        vec![&mut self.atoms]
    }

    /// The arrays are `n_frames`, `volume`, the sum of their volumes (Å³), `height`, the sum of the distances of the
    /// two faces of the cell (Å), `n_tilted`, the number of frames whose slices are not at right angles to the axis,
    /// and `densities`, for each group and slice the sum of its densities in each frame (`[n_groups, bins]`, amount per
    /// Å³).
    fn plan(self, n_atoms: usize) -> Result<Pass, Error> {
        let Request { atoms, sizes, amounts, axis, bins } = self;
        let atoms = Atoms::listed(&atoms, n_atoms)?;
        Ok(Pass::new(atoms, LinearDensity { sizes, amounts, axis, bins }))
    }
}

/// Reason why a cell must be periodic along the faces of slices.
const NEEDS_AREA: &str = "slices have no area: choose the axis that is not periodic";
/// Reason why a cell must have a length along the axis.
const NO_LENGTH: &str =
    "its cell is not periodic along the axis and has no length there: choose another axis";

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
    sizes: Numbers<usize>,
    amounts: Option<Numbers<f64>>,
    axis: usize,
    bins: usize,
}

/// Sums over frames.
#[derive(Clone, Serialize, Deserialize)]
struct Sums {
    n_frames: u64,
    volume: f64,
    height: f64,
    n_tilted: u64,
    /// Frames that are not periodic along the axis.
    n_open: u64,
    /// `[n_groups, bins]`
    densities: Numbers<f64>,
}

impl Analysis for LinearDensity {
    type State = Sums;

    fn state_bytes(&self) -> usize {
        (self.sizes.len() * self.bins).saturating_mul(size_of::<f64>())
    }

    fn empty(&self) -> Result<Sums> {
        let len = self.sizes.len() * self.bins;
        let densities = Numbers::filled(len, 0.0, "the slices of a linear density")?;
        Ok(Sums { n_frames: 0, volume: 0.0, height: 0.0, n_tilted: 0, n_open: 0, densities })
    }

    fn absorb(&self, block: &Block, _: &mut FrameArrays<'_>, state: &mut Sums) -> Result<()> {
        let mut slices = vec![0.0; self.bins];
        for i in 0..block.n_frames() {
            let refused = |why: String| FrameError { frame: block.meta.frames[i], why };
            let cell = required_cell(block, i, "a linear density")?;
            let frame = block.meta.frames[i];
            check_periodic(&cell, [0, 1, 2].map(|k| k != self.axis), frame, NEEDS_AREA)?;
            let is_open = !cell.periodic()[self.axis];
            if is_open && block.meta.cells[i][self.axis] == 0.0 {
                return Err(refused(NO_LENGTH.to_owned()).into());
            }
            state.n_open += u64::from(is_open);
            state.n_frames += 1;
            state.volume += cell.volume();
            state.height += cell.heights()[self.axis];
            state.n_tilted += u64::from(is_tilted(&cell, self.axis));
            let slice_volume = cell.volume() / self.bins as f64;
            let (frame, mut begin) = (block.frame(i), 0);
            let groups = state.densities.chunks_exact_mut(self.bins);
            for (&size, densities) in self.sizes.iter().zip(groups) {
                let end = begin + size;
                let amounts = self.amounts.as_ref().map(|amounts| &amounts[begin..end]);
                slices.fill(0.0);
                let positions = &frame[3 * begin..3 * end];
                add_to_slices(&cell, self.axis, positions, amounts, &mut slices).map_err(
                    |atom| {
                        let where_it_is = if is_open {
                            "outside of the cell, which is not periodic along the axis"
                        } else {
                            "millions of cells away"
                        };
                        refused(format!(
                            "atom {atom} of a selection has no position there, or one that is \
                         {where_it_is}: leave this frame out"
                        ))
                    },
                )?;
                densities.iter_mut().zip(&slices).for_each(|(d, sum)| *d += sum / slice_volume);
                begin = end;
            }
        }
        Ok(())
    }

    fn merge(&self, mut left: Sums, right: Sums) -> Result<Sums> {
        left.n_frames += right.n_frames;
        left.volume += right.volume;
        left.height += right.height;
        left.n_tilted += right.n_tilted;
        left.n_open += right.n_open;
        left.densities.add(&right.densities);
        Ok(left)
    }

    fn finish(&self, state: Sums) -> Result<Finished> {
        Ok(Finished::Arrays(vec![
            ("n_frames", Array::count(state.n_frames)),
            ("volume", Array::number(state.volume)),
            ("height", Array::number(state.height)),
            ("n_tilted", Array::count(state.n_tilted)),
            ("n_open", Array::count(state.n_open)),
            ("densities", Array::floats(state.densities).rows(self.bins)),
        ]))
    }
}
