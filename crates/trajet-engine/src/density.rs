//! Density on a grid of voxels.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use trajet_files::Error;
use trajet_formats::{Atoms, Block, memory};
use trajet_kernels::density::Grid;
use trajet_kernels::pairs::Bins;
use trajet_topology::select::UpdatingSelection;

use crate::analysis::{Analysis, Pass, State, check_finite, list, optional_list};
use crate::atom_map::AtomMap;
use crate::error::{FrameError, InvalidArgument};
use crate::linear_density::check_amounts;
use crate::updating::{Group, GroupMemory, check_selection};

/// Numbers of the state before those of the voxels.
const SUMS: usize = 3;

/// Parameters of the analysis.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Atoms by index in the trajectory.
    #[serde(deserialize_with = "list")]
    pub atoms: Vec<i64>,
    /// The selection of those of the atoms that count in a frame; `None` for all. It is evaluated from their positions.
    pub selection: Option<UpdatingSelection>,
    /// The amount that each atom contributes, such as its mass; `None` for one.
    #[serde(deserialize_with = "optional_list")]
    pub amounts: Option<Vec<f64>>,
    /// Number of voxels, and the lower and upper end of the grid (Å), along x, y and z.
    #[serde(deserialize_with = "axes")]
    pub grid: [Bins; 3],
}

/// Deserialises the bins of three axes.
fn axes<'de, D: Deserializer<'de>>(from: D) -> Result<[Bins; 3], D::Error> {
    let asked = <[(usize, (f64, f64)); 3]>::deserialize(from)?;
    let edges = asked.iter().fold(0usize, |sum, &(n, _)| sum.saturating_add(n));
    memory::ask(edges.saturating_mul(3 * size_of::<f64>()), "the edges of a grid")
        .map_err(|refused| D::Error::custom(Error::from(refused)))?;
    match asked.map(|(n, range)| Bins::new(n, range)) {
        [Some(x), Some(y), Some(z)] => Ok([x, y, z]),
        _ => Err(D::Error::custom("the voxels of the grid have no width")),
    }
}

impl Request {
    pub(crate) fn check(&self) -> Result<(), InvalidArgument> {
        check_amounts(self.amounts.as_deref(), self.atoms.len())?;
        check_selection(self.selection.as_ref(), self.atoms.len())?;
        let voxels = self.grid.iter().try_fold(1usize, |all, bins| all.checked_mul(bins.count()));
        match voxels.and_then(|voxels| voxels.checked_add(SUMS)?.checked_mul(size_of::<f64>())) {
            Some(bytes) if isize::try_from(bytes).is_ok() => Ok(()),
            _ => Err(InvalidArgument("the grid has too many voxels: choose a larger spacing")),
        }
    }
}

/// Returns the pass of the analysis on a trajectory of `n_atoms` atoms.
///
/// The state holds the number of frames, the number of atoms and that of atoms in the grid, both summed over the frames,
/// then the sum of the amounts in each voxel (`[nx, ny, nz]`, C order).
///
/// # Errors
/// [`Error::AtomOutOfRange`].
pub fn plan(request: Request, n_atoms: usize) -> Result<Pass, Error> {
    let atoms = Atoms::listed(&request.atoms, n_atoms)?;
    let group = Group::new(AtomMap::All, request.selection);
    let (amounts, grid) = (request.amounts, Grid::new(&request.grid));
    let analysis = Box::new(Density { group, amounts, grid });
    Ok(Pass { atoms, superpose: None, analysis, then: None })
}

/// Yields no rows, only a state.
struct Density {
    group: Group,
    /// Of all atoms that are read.
    amounts: Option<Vec<f64>>,
    grid: Grid,
}

impl Analysis for Density {
    fn row_width(&self) -> usize {
        0
    }

    fn state_len(&self) -> usize {
        SUMS + self.grid.shape().iter().product::<usize>()
    }

    fn absorb(&self, block: &Block, _: &mut [f64], state: &mut State) -> Result<(), FrameError> {
        check_finite(block)?;
        let (mut memory, mut gathered) = (GroupMemory::default(), Vec::new());
        for i in 0..block.n_frames() {
            let members = self.group.members(block, i, &mut memory)?;
            let amounts =
                self.amounts.as_deref().map(|amounts| members.values(amounts, &mut gathered));
            let inside = self.grid.add(members.positions, amounts, &mut state[SUMS..]);
            state[0] += 1.0;
            state[1] += members.len() as f64;
            state[2] += inside as f64;
        }
        Ok(())
    }

    fn merge(&self, mut left: State, right: State) -> State {
        left.iter_mut().zip(right).for_each(|(l, r)| *l += r);
        left
    }
}
