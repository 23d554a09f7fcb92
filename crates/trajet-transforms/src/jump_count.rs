//! Counts jumps in a run of frames, before frames after it are read.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trajet_files::transform::{ChainTransform, PreparedTransform};
use trajet_files::{Chain, Error, Frames, Scratch, Wanted};
use trajet_formats::{Atoms, Block};

use crate::frame_cell::cell_of;
use crate::nojump::Walk;
use crate::prepared::Prepared;
use crate::spec::Transforms;

/// A run of frames whose jumps are counted.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct JumpRequest {
    /// The frames, ascending, from the first one to the first of the next run.
    pub frames: Frames,
    /// The atoms whose users need the removal.
    pub atoms: Vec<u32>,
}

/// Returns the atoms whose jumps must be removed for users of `atoms`, ascending.
///
/// # Errors
/// As [`trajet_files::transform::Transform::prepare`].
///
/// # Panics
/// If jumps are not removed.
pub fn atoms_with_jumps(transforms: &Transforms, atoms: &Atoms) -> Result<Vec<u32>, Error> {
    let prepared = Prepared::new(transforms, atoms)?;
    let decoded = prepared.decoded();
    let no_jump = prepared.no_jump().expect("a step that removes jumps");
    let sorted = decoded.sorted();
    let atom = |&column: &u32| sorted.map_or(column, |list| list[column as usize]);
    Ok(no_jump.columns.iter().map(atom).collect())
}

/// Returns the sums of shifts from the first to the last of some frames, three numbers for each unit, as
/// [`crate::Start::shifts`] has them. `atoms` are those of [`atoms_with_jumps`].
///
/// # Errors
/// As [`Chain::read_into`].
///
/// # Panics
/// If jumps are not removed.
pub fn net_jumps(
    chain: &Chain,
    transforms: &Transforms,
    request: &JumpRequest,
    scratch: &mut Scratch,
) -> Result<Vec<i64>, Error> {
    let JumpRequest { frames, atoms } = request;
    let at = transforms.no_jump().expect("a step that removes jumps");
    let before = Transforms { steps: transforms.steps[..at].to_vec(), n_atoms: transforms.n_atoms };
    let chain = chain.transformed(Arc::new(ChainTransform::new(Arc::new(before))));
    let listed: Vec<i64> = atoms.iter().map(|&atom| i64::from(atom)).collect();
    let atoms = Atoms::listed(&listed, transforms.n_atoms)?;
    // The same atoms, as a user of them alone would have them.
    let only =
        Transforms { steps: vec![transforms.steps[at].clone()], n_atoms: transforms.n_atoms };
    let prepared = Prepared::new(&only, &atoms)?;
    let units = &prepared.no_jump().expect("its only step").units;
    let (mut walk, mut block) = (Walk::default(), Block::default());
    let mut has_begun = false;
    for k in 0..frames.len() {
        block.reset(1, atoms.len())?;
        let request = Wanted::positions(frames, &atoms);
        chain.read_into(&request, k..k + 1, scratch, &mut block.positions, &mut block.meta)?;
        let number = frames.get(k);
        let refused = |why: String| {
            let path = chain.path_of(number).to_owned();
            Error::Transform { path, frame: chain.place(number).frame, why }
        };
        let positions = block.positions.as_chunks::<3>().0;
        if !positions.iter().flatten().all(|x| x.is_finite()) {
            continue;
        }
        let cell = cell_of(&block.meta.last()).map_err(refused)?;
        if has_begun {
            walk.step(&cell, units, positions);
        } else {
            walk.begin(&cell, units, positions, &[]);
            has_begun = true;
        }
    }
    Ok(walk.shifts(units))
}
