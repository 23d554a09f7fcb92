//! Density on a grid of voxels.

use std::cmp::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use trajet_files::Error;
use trajet_formats::{Atoms, Block, memory};
use trajet_kernels::density::Grid;
use trajet_kernels::pairs::Bins;
use trajet_topology::select::UpdatingSelection;

use crate::analysis::{Analysis, Pass, State, check_finite, list, optional_list};
use crate::atom_map::AtomMap;
use crate::cells::CellUse;
use crate::error::{FrameError, InvalidArgument};
use crate::linear_density::check_amounts;
use crate::updating::{Group, GroupMemory, check_selection};

/// Numbers before the sums in a state.
const HEADER: usize = 3;

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
        match voxels.and_then(|voxels| voxels.checked_add(HEADER)?.checked_mul(size_of::<f64>())) {
            Some(bytes) if isize::try_from(bytes).is_ok() => Ok(()),
            _ => Err(InvalidArgument("the grid has too many voxels: choose a larger spacing")),
        }
    }
}

/// Returns the pass of the analysis on a trajectory of `n_atoms` atoms.
///
/// The state holds the number of frames, the number of atoms and that of atoms in the grid, both summed over the frames,
/// then the sums of the amounts: either of each voxel (`[nx, ny, nz]`, C order), or, where this takes less, the numbers
/// and sums of the voxels that have some, ascending. A grid has many more voxels than a few frames have atoms.
///
/// # Errors
/// [`Error::AtomOutOfRange`].
pub fn plan(request: Request, n_atoms: usize) -> Result<Pass, Error> {
    let atoms = Atoms::listed(&request.atoms, n_atoms)?;
    let group = Group::new(AtomMap::All, request.selection);
    let (amounts, grid) = (request.amounts, Grid::new(&request.grid));
    let n_voxels = grid.shape().iter().product();
    let analysis = Box::new(Density { group, amounts, grid, n_voxels, spare: Mutex::default() });
    Ok(Pass { atoms, superpose: None, analysis, then: None })
}

/// Yields no rows, only a state.
struct Density {
    group: Group,
    /// Of all atoms that are read.
    amounts: Option<Vec<f64>>,
    grid: Grid,
    n_voxels: usize,
    /// Grids of zeros, whose memory is reused.
    spare: Mutex<Vec<Voxels>>,
}

/// Sums of a leaf.
struct Voxels {
    sums: Vec<f64>,
    /// A bit for each voxel to whose sum something was added.
    touched: Vec<u64>,
}

impl Voxels {
    /// Adds an amount to a voxel.
    #[inline]
    fn add(&mut self, voxel: usize, amount: f64) {
        self.sums[voxel] += amount;
        self.touched[voxel / 64] |= 1 << (voxel % 64);
    }

    /// Appends the sums to a state, and sets them to zero.
    fn move_to(&mut self, state: &mut State) {
        let n = self.touched.iter().map(|bits| bits.count_ones() as usize).sum::<usize>();
        if 2 * n >= self.sums.len() {
            state.extend_from_slice(&self.sums);
            self.sums.fill(0.0);
            self.touched.fill(0);
            return;
        }
        state.reserve_exact(2 * n);
        for (word, bits) in self.touched.iter_mut().enumerate() {
            while *bits != 0 {
                let voxel = 64 * word + bits.trailing_zeros() as usize;
                state.extend([voxel as f64, std::mem::take(&mut self.sums[voxel])]);
                *bits &= *bits - 1;
            }
        }
    }
}

impl Density {
    fn spare(&self) -> MutexGuard<'_, Vec<Voxels>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether a state has the sums of all voxels.
    fn is_whole(&self, state: &State) -> bool {
        state.len() == HEADER + self.n_voxels
    }
}

impl Analysis for Density {
    fn row_width(&self) -> usize {
        0
    }

    fn state_len(&self) -> usize {
        HEADER + self.n_voxels
    }

    fn empty(&self) -> Result<State, Error> {
        if self.spare().is_empty() {
            let sums = memory::filled(self.n_voxels, 0.0, "the voxels of a grid")?;
            let touched = memory::filled(self.n_voxels.div_ceil(64), 0, "the voxels of a grid")?;
            self.spare().push(Voxels { sums, touched });
        }
        Ok(vec![0.0; HEADER])
    }

    fn absorb(&self, block: &Block, _: &mut [f64], state: &mut State) -> Result<(), FrameError> {
        check_finite(block)?;
        let spare = self.spare().pop();
        let mut voxels = spare.unwrap_or_else(|| Voxels {
            sums: vec![0.0; self.n_voxels],
            touched: vec![0; self.n_voxels.div_ceil(64)],
        });
        let mut found = vec![0.0; HEADER];
        let (mut memory, mut gathered) = (GroupMemory::default(), Vec::new());
        for i in 0..block.n_frames() {
            let members = self.group.members(block, i, &mut memory)?;
            let amounts =
                self.amounts.as_deref().map(|amounts| members.values(amounts, &mut gathered));
            let add = |voxel, amount| voxels.add(voxel, amount);
            let inside = self.grid.each(members.positions, amounts, add);
            found[0] += 1.0;
            found[1] += members.len() as f64;
            found[2] += inside as f64;
        }
        voxels.move_to(&mut found);
        self.spare().push(voxels);
        *state = self.merge(std::mem::take(state), found);
        Ok(())
    }

    fn merge(&self, mut left: State, mut right: State) -> State {
        let (few, mut whole) = match (self.is_whole(&left), self.is_whole(&right)) {
            (true, true) => {
                left.iter_mut().zip(right).for_each(|(l, r)| *l += r);
                return left;
            }
            (false, false) => return self.merge_few(&left, &right),
            (true, false) => (right, left),
            (false, true) => (left, std::mem::take(&mut right)),
        };
        (0..HEADER).for_each(|k| whole[k] += few[k]);
        for &[voxel, sum] in few[HEADER..].as_chunks::<2>().0 {
            whole[HEADER + voxel as usize] += sum;
        }
        whole
    }

    fn cell_use(&self) -> CellUse {
        CellUse::nearest_images(self.group.is_updating())
    }
}

impl Density {
    /// Merges two states that have only the voxels with sums.
    fn merge_few(&self, left: &State, right: &State) -> State {
        let [few, others] = [left, right].map(|state| state[HEADER..].as_chunks::<2>().0);
        let header = (0..HEADER).map(|k| left[k] + right[k]);
        if 2 * (few.len() + others.len()) >= self.n_voxels {
            let mut whole = vec![0.0; HEADER + self.n_voxels];
            for &[voxel, sum] in few.iter().chain(others) {
                whole[HEADER + voxel as usize] += sum;
            }
            whole.iter_mut().zip(header).for_each(|(to, number)| *to = number);
            return whole;
        }
        let mut merged = Vec::with_capacity(HEADER + 2 * (few.len() + others.len()));
        merged.extend(header);
        let (mut i, mut j) = (0, 0);
        while let (Some(&[voxel, sum]), Some(&[other, more])) = (few.get(i), others.get(j)) {
            merged.extend(match voxel.total_cmp(&other) {
                Ordering::Less => [voxel, sum],
                Ordering::Equal => [voxel, sum + more],
                Ordering::Greater => [other, more],
            });
            i += usize::from(voxel <= other);
            j += usize::from(other <= voxel);
        }
        merged.extend_from_slice(few[i..].as_flattened());
        merged.extend_from_slice(others[j..].as_flattened());
        merged
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn states_merge_to_the_sums_of_all_voxels_in_any_tree(
            leaves in prop::collection::vec(
                prop::collection::vec((prop::array::uniform3(-1.0..9.0f32), -2.0..9.0f32), 0..12),
                1..9,
            ),
            shape in prop::array::uniform3(1..5usize),
        ) {
            let grid = shape.map(|n| Bins::new(n, (0.0, 8.0)).unwrap());
            let n_voxels = shape.iter().product::<usize>();
            // A leaf has one frame. The dense twin merges the sums of all voxels.
            let (mut states, mut twins) = (Vec::new(), Vec::new());
            for atoms in &leaves {
                let amounts = atoms.iter().map(|&(_, amount)| f64::from(amount)).collect();
                let analysis = Density {
                    group: Group::new(AtomMap::All, None),
                    amounts: Some(amounts),
                    grid: Grid::new(&grid),
                    n_voxels,
                    spare: Mutex::default(),
                };
                let mut block = Block::default();
                block.reset(1, atoms.len()).unwrap();
                block.positions = atoms.iter().flat_map(|&(p, _)| p).collect();
                let info = trajet_formats::FrameInfo {
                    time: 0.0,
                    step: 0,
                    cell: [f64::NAN; 6],
                    turned: None,
                };
                block.meta.push(0, info);
                let mut state = analysis.empty().unwrap();
                analysis.absorb(&block, &mut [], &mut state).unwrap();
                prop_assert!(analysis.is_whole(&state) || state.len() < HEADER + n_voxels);
                let mut twin = vec![0.0; HEADER + n_voxels];
                let inside = analysis.grid.each(&block.positions, analysis.amounts.as_deref(), |voxel, amount| {
                    twin[HEADER + voxel] += amount;
                });
                (twin[0], twin[1], twin[2]) = (1.0, atoms.len() as f64, inside as f64);
                states.push(state);
                twins.push(twin);
            }
            let analysis = Density {
                group: Group::new(AtomMap::All, None),
                amounts: None,
                grid: Grid::new(&grid),
                n_voxels,
                spare: Mutex::default(),
            };
            let dense = |state: &State| {
                let mut whole = vec![0.0; HEADER + n_voxels];
                if analysis.is_whole(state) {
                    whole.clone_from(state);
                } else {
                    whole[..HEADER].copy_from_slice(&state[..HEADER]);
                    for &[voxel, sum] in state[HEADER..].as_chunks::<2>().0 {
                        whole[HEADER + voxel as usize] = sum;
                    }
                }
                whole
            };
            let add = |left: State, right: State| -> State {
                left.iter().zip(right).map(|(l, r)| l + r).collect()
            };
            let found = states.iter().cloned().reduce(|l, r| analysis.merge(l, r)).unwrap();
            prop_assert_eq!(dense(&found), twins.iter().cloned().reduce(add).unwrap());
            let found = states.into_iter().rev().reduce(|r, l| analysis.merge(l, r)).unwrap();
            prop_assert_eq!(dense(&found), twins.into_iter().rev().reduce(|r, l| add(l, r)).unwrap());
        }
    }
}
