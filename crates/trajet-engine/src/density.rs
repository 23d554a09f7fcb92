//! Density on a grid of voxels.

use std::cmp::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use trajet_files::Error;
use trajet_formats::{AtomList, Atoms, Block, Numbers, memory};
use trajet_kernels::density::Grid;
use trajet_topology::select::UpdatingSelection;

use crate::analysis::{self, Analysis, Array, Finished, Pass, check_finite};
use crate::atom_map::AtomMap;
use crate::cells::CellUse;
use crate::error::{InvalidArgument, Result};
use crate::frame_arrays::FrameArrays;
use crate::linear_density::check_amounts;
use crate::rdf::BinRange;
use crate::updating::{Group, GroupMemory, check_selection};

/// The purpose of the memory, for messages.
const WHAT: &str = "the voxels of a grid";

/// Parameters of the analysis.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Atoms by index in the trajectory.
    pub atoms: AtomList,
    /// The selection of those of the atoms that count in a frame; `None` for all. It is evaluated from their positions.
    pub selection: Option<UpdatingSelection>,
    /// The amount that each atom contributes, such as its mass; `None` for one.
    pub amounts: Option<Numbers<f64>>,
    /// Number of voxels, and the lower and upper end of the grid (Å), along x, y and z.
    pub grid: [BinRange; 3],
}

impl analysis::Request for Request {
    fn check(&self) -> Result<(), InvalidArgument> {
        check_amounts(self.amounts.as_deref(), self.atoms.len())?;
        check_selection(self.selection.as_ref(), self.atoms.len())?;
        let voxels =
            self.grid.iter().try_fold(1usize, |all, axis| all.checked_mul(axis.bins.count()));
        match voxels.and_then(|voxels| voxels.checked_mul(size_of::<f64>())) {
            Some(bytes) if isize::try_from(bytes).is_ok() => Ok(()),
            _ => Err(InvalidArgument("the grid has too many voxels: choose a larger spacing")),
        }
    }

    fn atoms(&mut self) -> Vec<&mut AtomList> {
        vec![&mut self.atoms]
    }

    /// The arrays are `n_frames`, `n_atoms` and `n_inside`, the number of atoms and that of atoms in the grid, both
    /// summed over the frames, and `sums`, the sum of the amounts in each voxel (`[nx, ny, nz]`).
    fn plan(self, n_atoms: usize) -> Result<Pass, Error> {
        let atoms = Atoms::listed(&self.atoms, n_atoms)?;
        let group = Group::new(AtomMap::All, self.selection);
        let (amounts, grid) = (self.amounts, Grid::new(&self.grid.map(|axis| axis.bins)));
        let n_voxels = grid.shape().iter().product();
        Ok(Pass::new(atoms, Density { group, amounts, grid, n_voxels, spare: Mutex::default() }))
    }
}

/// Yields no rows, only a state.
struct Density {
    group: Group,
    /// The amount of each atom that is read; `None` if each amount is 1.
    amounts: Option<Numbers<f64>>,
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

    /// Returns the sums, and sets them to zero.
    fn take(&mut self) -> Sums {
        let n = self.touched.iter().map(|bits| bits.count_ones() as usize).sum::<usize>();
        if 2 * n >= self.sums.len() {
            let sums = self.sums.clone();
            self.sums.fill(0.0);
            self.touched.fill(0);
            return Sums::All(Numbers(sums));
        }
        let (mut voxels, mut sums) = (Vec::with_capacity(n), Vec::with_capacity(n));
        for (word, bits) in self.touched.iter_mut().enumerate() {
            while *bits != 0 {
                let voxel = 64 * word + bits.trailing_zeros() as usize;
                voxels.push(voxel as u64);
                sums.push(std::mem::take(&mut self.sums[voxel]));
                *bits &= *bits - 1;
            }
        }
        Sums::Few { voxels: Numbers(voxels), sums: Numbers(sums) }
    }
}

/// Sums over frames.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Totals {
    n_frames: u64,
    n_atoms: u64,
    n_inside: u64,
    amounts: Sums,
}

/// The sums of the amounts in voxels. A grid has many more voxels than a few frames have atoms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Sums {
    /// The sum of each voxel.
    All(Numbers<f64>),
    /// The sums of the voxels that an atom was in, if this takes less memory.
    Few {
        /// The voxels, ascending.
        voxels: Numbers<u64>,
        sums: Numbers<f64>,
    },
}

impl Sums {
    /// Returns the sums of all of `n` voxels.
    fn whole(self, n: usize) -> Result<Numbers<f64>> {
        match self {
            Sums::All(sums) => Ok(sums),
            Sums::Few { voxels, sums } => {
                let mut whole = Numbers::filled(n, 0.0, WHAT)?;
                add_few(&mut whole, &voxels, &sums);
                Ok(whole)
            }
        }
    }

    /// Merges sums of `n` voxels.
    fn merge(self, right: Sums, n: usize) -> Result<Sums> {
        let merged = match (self, right) {
            (Sums::All(mut left), Sums::All(right)) => {
                left.add(&right);
                left
            }
            (Sums::All(mut whole), Sums::Few { voxels, sums })
            | (Sums::Few { voxels, sums }, Sums::All(mut whole)) => {
                add_few(&mut whole, &voxels, &sums);
                whole
            }
            (left @ Sums::Few { .. }, Sums::Few { voxels, sums }) => {
                return left.merge_few(&voxels, &sums, n);
            }
        };
        Ok(Sums::All(merged))
    }

    /// Merges two lists of voxels that have sums.
    fn merge_few(self, others: &[u64], more: &[f64], n: usize) -> Result<Sums> {
        let Sums::Few { voxels, sums } = self else { unreachable!("the caller matched it") };
        if 2 * (voxels.len() + others.len()) >= n {
            let mut whole = Sums::Few { voxels, sums }.whole(n)?;
            add_few(&mut whole, others, more);
            return Ok(Sums::All(whole));
        }
        let (mut merged, mut totals) = (Vec::new(), Vec::new());
        memory::reserve(&mut merged, voxels.len() + others.len(), WHAT)?;
        memory::reserve(&mut totals, voxels.len() + others.len(), WHAT)?;
        let (mut i, mut j) = (0, 0);
        while let (Some(voxel), Some(other)) = (voxels.get(i), others.get(j)) {
            let (total, is_first, is_second) = match voxel.cmp(other) {
                Ordering::Less => (sums[i], 1, 0),
                Ordering::Equal => (sums[i] + more[j], 1, 1),
                Ordering::Greater => (more[j], 0, 1),
            };
            merged.push(*voxel.min(other));
            totals.push(total);
            (i, j) = (i + is_first, j + is_second);
        }
        merged.extend_from_slice(&voxels[i..]);
        merged.extend_from_slice(&others[j..]);
        totals.extend_from_slice(&sums[i..]);
        totals.extend_from_slice(&more[j..]);
        Ok(Sums::Few { voxels: Numbers(merged), sums: Numbers(totals) })
    }
}

/// Adds the sums of some voxels to those of all.
fn add_few(whole: &mut [f64], voxels: &[u64], sums: &[f64]) {
    for (&voxel, sum) in voxels.iter().zip(sums) {
        whole[voxel as usize] += sum;
    }
}

impl Density {
    fn spare(&self) -> MutexGuard<'_, Vec<Voxels>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Analysis for Density {
    type State = Totals;

    fn state_bytes(&self) -> usize {
        self.n_voxels.saturating_mul(size_of::<f64>())
    }

    fn empty(&self) -> Result<Totals> {
        let amounts = Sums::Few { voxels: Numbers::default(), sums: Numbers::default() };
        Ok(Totals { n_frames: 0, n_atoms: 0, n_inside: 0, amounts })
    }

    fn absorb(&self, block: &Block, _: &mut FrameArrays<'_>, state: &mut Totals) -> Result<()> {
        check_finite(block)?;
        let spare = self.spare().pop();
        let mut voxels = match spare {
            Some(voxels) => voxels,
            None => Voxels {
                sums: memory::filled(self.n_voxels, 0.0, WHAT)?,
                touched: memory::filled(self.n_voxels.div_ceil(64), 0, WHAT)?,
            },
        };
        let mut found = Analysis::empty(self)?;
        let (mut memory, mut gathered) = (GroupMemory::default(), Vec::new());
        for i in 0..block.n_frames() {
            let members = self.group.members(block, i, &mut memory)?;
            let amounts =
                self.amounts.as_deref().map(|amounts| members.values(amounts, &mut gathered));
            let add = |voxel, amount| voxels.add(voxel, amount);
            found.n_inside += self.grid.each(members.positions, amounts, add) as u64;
            found.n_frames += 1;
            found.n_atoms += members.len() as u64;
        }
        found.amounts = voxels.take();
        self.spare().push(voxels);
        *state = Analysis::merge(self, std::mem::replace(state, Analysis::empty(self)?), found)?;
        Ok(())
    }

    fn merge(&self, left: Totals, right: Totals) -> Result<Totals> {
        Ok(Totals {
            n_frames: left.n_frames + right.n_frames,
            n_atoms: left.n_atoms + right.n_atoms,
            n_inside: left.n_inside + right.n_inside,
            amounts: left.amounts.merge(right.amounts, self.n_voxels)?,
        })
    }

    fn finish(&self, state: Totals) -> Result<Finished> {
        let mut sums = Array::floats(state.amounts.whole(self.n_voxels)?);
        sums.shape = self.grid.shape().to_vec();
        Ok(Finished::Arrays(vec![
            ("n_frames", Array::count(state.n_frames)),
            ("n_atoms", Array::count(state.n_atoms)),
            ("n_inside", Array::count(state.n_inside)),
            ("sums", sums),
        ]))
    }

    fn cell_use(&self) -> CellUse {
        CellUse::nearest_images(self.group.is_updating())
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
            let grid = shape.map(|n| trajet_kernels::pairs::Bins::new(n, (0.0, 8.0)).unwrap());
            let n_voxels = shape.iter().product::<usize>();
            // A leaf has one frame. The dense twin merges the sums of all voxels.
            let (mut states, mut twins) = (Vec::new(), Vec::new());
            for atoms in &leaves {
                let amounts = Numbers(atoms.iter().map(|&(_, amount)| f64::from(amount)).collect());
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
                let info = trajet_formats::FrameInfo::of_periodic(0.0, 0, [f64::NAN; 6], None);
                block.meta.push(0, info);
                let mut state = Analysis::empty(&analysis).unwrap();
                analysis.absorb(&block, &mut FrameArrays::default(), &mut state).unwrap();
                if let Sums::Few { voxels, .. } = &state.amounts {
                    prop_assert!(2 * voxels.len() < n_voxels.max(1));
                }
                let mut sums = vec![0.0; n_voxels];
                let inside = analysis.grid.each(&block.positions, analysis.amounts.as_deref(), |voxel, amount| {
                    sums[voxel] += amount;
                });
                let (n_atoms, n_inside) = (atoms.len() as u64, inside as u64);
                states.push(state);
                twins.push((1, n_atoms, n_inside, sums));
            }
            let analysis = Density {
                group: Group::new(AtomMap::All, None),
                amounts: None,
                grid: Grid::new(&grid),
                n_voxels,
                spare: Mutex::default(),
            };
            type Dense = (u64, u64, u64, Vec<f64>);
            let dense = |state: Totals| -> Dense {
                let whole = state.amounts.whole(n_voxels).unwrap();
                (state.n_frames, state.n_atoms, state.n_inside, whole.0)
            };
            let add = |left: Dense, right: Dense| -> Dense {
                let sums = left.3.iter().zip(right.3).map(|(l, r)| l + r).collect();
                (left.0 + right.0, left.1 + right.1, left.2 + right.2, sums)
            };
            let merge = |left, right| Analysis::merge(&analysis, left, right).unwrap();
            let found = states.iter().cloned().reduce(merge).unwrap();
            prop_assert_eq!(dense(found), twins.iter().cloned().reduce(add).unwrap());
            let found = states.into_iter().rev().reduce(|r, l| merge(l, r)).unwrap();
            prop_assert_eq!(dense(found), twins.into_iter().rev().reduce(|r, l| add(l, r)).unwrap());
        }
    }
}
