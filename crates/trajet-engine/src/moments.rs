//! Mean positions and their fluctuations, from which RMSF is computed.

use serde::{Deserialize, Serialize};
use trajet_files::Error;
use trajet_formats::{AtomList, Atoms, Block, Numbers};
use trajet_kernels::moments;
use trajet_simd::InstructionSet;

use crate::analysis::{self, Analysis, Array, Finished, Pass, check_finite};
use crate::atom_map::{AtomMap, merge_atom_lists};
use crate::error::{InvalidArgument, Result};
use crate::frame_arrays::FrameArrays;
use crate::rmsd::Group;
use crate::superpose::Superpose;

/// Parameters of the analysis.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The atoms whose fluctuations are computed, by index in the trajectory.
    pub atoms: AtomList,
    /// Atoms and reference for the superposition of each frame; `None` to use positions as they are.
    pub align: Option<Group>,
    /// Whether frames are superposed on their average structure instead. A first pass computes it after superposition
    /// on the reference.
    pub average: bool,
}

impl analysis::Request for Request {
    fn check(&self) -> Result<(), InvalidArgument> {
        self.align.as_ref().map_or(Ok(()), Group::check)
    }

    fn atoms(&mut self) -> Vec<&mut AtomList> {
        std::iter::once(&mut self.atoms)
            .chain(self.align.iter_mut().map(|group| &mut group.atoms))
            .collect()
    }

    /// The arrays are `n_frames`, and of each atom `squares`, the sums of its squared deviations from its mean position
    /// (`[n_atoms, 3]`, Å²).
    fn plan(self, n_atoms: usize) -> Result<Pass, Error> {
        let Request { atoms: selected, align, average } = self;
        let mut lists = vec![&selected[..]];
        lists.extend(align.as_ref().map(|align| &align.atoms[..]));
        let (union, maps) = merge_atom_lists(&lists);
        let atoms = Atoms::listed(&union, n_atoms)?;
        let analysis = Moments { n_atoms: selected.len(), map: maps[0].clone() };
        let last = move |superpose, atoms| Pass { superpose, ..Pass::new(atoms, analysis.clone()) };
        let Some(align) = align else { return Ok(last(None, atoms)) };
        let deciding = maps[1].clone();
        let on = move |atoms, reference| {
            last(Some(Superpose { atoms: deciding.clone(), reference }), atoms)
        };
        if !average {
            return Ok(on(atoms, align.reference()));
        }
        let fitted = maps[1].clone();
        Ok(align.averaged(atoms, fitted, move |atoms, reference, _| on(atoms, reference)))
    }
}

/// Yields no rows, only a state: that of [`trajet_kernels::moments`].
#[derive(Clone)]
struct Moments {
    n_atoms: usize,
    map: AtomMap,
}

impl Analysis for Moments {
    type State = Numbers<f64>;

    fn state_bytes(&self) -> usize {
        self.n_atoms.saturating_mul(6 * size_of::<f64>())
    }

    fn empty(&self) -> Result<Numbers<f64>> {
        Ok(Numbers::filled(1 + 6 * self.n_atoms, 0.0, "the fluctuations of atoms")?)
    }

    fn absorb(
        &self,
        block: &Block,
        _: &mut FrameArrays<'_>,
        state: &mut Numbers<f64>,
    ) -> Result<()> {
        let mut gathered = Vec::new();
        let positions = match self.map {
            AtomMap::All => &block.positions[..block.n_frames() * block.n_atoms() * 3],
            AtomMap::Listed(_) => {
                let mut frame = Vec::new();
                for i in 0..block.n_frames() {
                    gathered.extend_from_slice(self.map.gather(block.frame(i), &mut frame));
                }
                &gathered
            }
        };
        let is_first = state[0] == 0.0;
        let mut of_block =
            if is_first { std::mem::take(state) } else { Numbers(vec![0.0; state.len()]) };
        if !moments::of_frames(InstructionSet::chosen(), positions, &mut of_block) {
            check_finite(block)?;
        }
        if is_first {
            *state = of_block;
        } else {
            moments::merge(InstructionSet::chosen(), state, &of_block);
        }
        Ok(())
    }

    fn merge(&self, mut left: Numbers<f64>, right: Numbers<f64>) -> Result<Numbers<f64>> {
        moments::merge(InstructionSet::chosen(), &mut left, &right);
        Ok(left)
    }

    fn finish(&self, state: Numbers<f64>) -> Result<Finished> {
        let squares = Numbers(state[1 + 3 * self.n_atoms..].to_vec());
        Ok(Finished::Arrays(vec![
            ("n_frames", Array::count(state[0] as u64)),
            ("squares", Array::floats(squares).rows(3)),
        ]))
    }
}
