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

    /// The arrays are `n_frames`, and of each atom `means`, its mean position (`[n_atoms, 3]`, Å), and `squares`, the sums
    /// of its squared deviations from it (`[n_atoms, 3]`, Å²).
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

/// Moments of frames, as [`trajet_kernels::moments`] computes them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Sums {
    n_frames: u64,
    /// Mean positions (`[n_atoms, 3]`, Å).
    means: Numbers<f64>,
    /// Sums of squared deviations from them (`[n_atoms, 3]`, Å²).
    squares: Numbers<f64>,
}

impl Sums {
    /// Adds further frames.
    fn merge(&mut self, more: &Sums) {
        let n_frames = [self.n_frames, more.n_frames];
        let own = [&mut self.means[..], &mut self.squares[..]];
        moments::merge(InstructionSet::chosen(), n_frames, own, [&more.means, &more.squares]);
        self.n_frames += more.n_frames;
    }
}

/// Collects only a state.
#[derive(Clone)]
struct Moments {
    n_atoms: usize,
    map: AtomMap,
}

impl Analysis for Moments {
    type State = Sums;

    fn state_bytes(&self) -> usize {
        self.n_atoms.saturating_mul(6 * size_of::<f64>())
    }

    fn empty(&self) -> Result<Sums> {
        let zeros = || Numbers::filled(3 * self.n_atoms, 0.0, "the fluctuations of atoms");
        Ok(Sums { n_frames: 0, means: zeros()?, squares: zeros()? })
    }

    fn absorb(&self, block: &Block, _: &mut FrameArrays<'_>, state: &mut Sums) -> Result<()> {
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
        let is_first = state.n_frames == 0;
        let mut of_block = if is_first { std::mem::take(state) } else { self.empty()? };
        of_block.n_frames = block.n_frames() as u64;
        let Sums { means, squares, .. } = &mut of_block;
        if !moments::of_frames(InstructionSet::chosen(), positions, means, squares) {
            check_finite(block)?;
        }
        if is_first {
            *state = of_block;
        } else {
            state.merge(&of_block);
        }
        Ok(())
    }

    fn merge(&self, mut left: Sums, right: Sums) -> Result<Sums> {
        left.merge(&right);
        Ok(left)
    }

    fn finish(&self, state: Sums) -> Result<Finished> {
        Ok(Finished::Arrays(vec![
            ("n_frames", Array::count(state.n_frames)),
            ("means", Array::floats(state.means).rows(3)),
            ("squares", Array::floats(state.squares).rows(3)),
        ]))
    }
}
