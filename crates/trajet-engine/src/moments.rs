//! Mean positions and their fluctuations, from which RMSF is computed.

use serde::Deserialize;
use trajet_files::Error;
use trajet_formats::{Atoms, Block};
use trajet_kernels::moments;
use trajet_kernels::superpose::Reference;
use trajet_simd::InstructionSet;

use crate::analysis::{Analysis, Pass, State, check_finite, list};
use crate::atom_map::{AtomMap, merge_atom_lists};
use crate::average::Average;
use crate::error::{FrameError, InvalidArgument};
use crate::rmsd::Group;
use crate::superpose::Superpose;

/// Parameters of the analysis.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The atoms whose fluctuations are computed, by index in the trajectory.
    #[serde(deserialize_with = "list")]
    pub atoms: Vec<i64>,
    /// Atoms and reference for the superposition of each frame; `None` to use positions as they are.
    pub align: Option<Group>,
    /// Whether frames are superposed on their average structure instead. A first pass computes it after superposition
    /// on the reference.
    pub average: bool,
}

impl Request {
    pub(crate) fn check(&self) -> Result<(), InvalidArgument> {
        self.align.as_ref().map_or(Ok(()), Group::check)
    }
}

/// Returns the first pass of the analysis on a trajectory of `n_atoms` atoms. The final state is that of
/// [`trajet_kernels::moments`]: number of frames, mean positions, sums of squared deviations.
///
/// # Errors
/// [`Error::AtomOutOfRange`].
///
/// # Panics
/// If the length of the reference or of the weights differs from the number of atoms to superpose.
pub fn plan(request: Request, n_atoms: usize) -> Result<Pass, Error> {
    let Request { atoms: selected, align, average } = request;
    let mut lists = vec![&selected[..]];
    lists.extend(align.as_ref().map(|align| &align.atoms[..]));
    let (union, maps) = merge_atom_lists(&lists);
    let atoms = Atoms::listed(&union, n_atoms)?;
    let analysis = Moments { n_atoms: selected.len(), map: maps[0].clone() };
    let last =
        move |superpose, atoms| Pass { atoms, superpose, analysis: Box::new(analysis), then: None };
    let Some(align) = align else { return Ok(last(None, atoms)) };
    let deciding = maps[1].clone();
    let onto = Reference::new(&align.reference, align.weights.as_deref());
    let superposed_on = |atoms, reference| Some(Superpose { atoms, reference });
    if !average {
        return Ok(last(superposed_on(deciding, onto), atoms));
    }
    let average = Average { n_atoms: atoms.len(), fitted: deciding.clone(), reference: onto };
    let read = atoms.clone();
    Ok(Pass {
        atoms,
        superpose: None,
        analysis: Box::new(average),
        then: Some(Box::new(move |state: State| {
            let mean = Average::positions(&state);
            let mut memory = Vec::new();
            let mean = deciding.gather(&mean, &mut memory);
            let onto = Reference::new(mean, align.weights.as_deref());
            last(superposed_on(deciding.clone(), onto), read)
        })),
    })
}

/// Yields no rows, only a state.
struct Moments {
    n_atoms: usize,
    map: AtomMap,
}

impl Analysis for Moments {
    fn row_width(&self) -> usize {
        0
    }

    fn state_len(&self) -> usize {
        1 + 6 * self.n_atoms
    }

    fn absorb(&self, block: &Block, _: &mut [f64], state: &mut State) -> Result<(), FrameError> {
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
        let mut of_block = if is_first { std::mem::take(state) } else { vec![0.0; state.len()] };
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

    fn merge(&self, mut left: State, right: State) -> State {
        moments::merge(InstructionSet::chosen(), &mut left, &right);
        left
    }
}
