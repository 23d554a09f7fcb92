//! Counts the jumps in runs of frames, so that several threads can do so before frames are read; see [`crate::nojump`].

use std::sync::Arc;

use trajet_files::transform::{ChainTransform, PreparedTransform};
use trajet_files::{Chain, Error, Frames, Scratch, Wanted};
use trajet_formats::{Atoms, Block};

use crate::nojump::{LargeStep, Walk, check_known};
use crate::prepared::{Prepared, cell_of};
use crate::spec::Transforms;

/// A run of frames whose jumps are counted. It begins and ends with a frame that has positions.
#[derive(Clone, Debug)]
pub struct JumpRequest {
    /// The frames, ascending, of this run and all later ones.
    pub frames: Frames,
    /// Position in `frames` of the first frame of the next run.
    pub len: usize,
    /// The atoms whose users need the removal.
    pub atoms: Vec<u32>,
}

/// The jumps of a run of frames.
#[derive(Clone, Debug, PartialEq)]
pub struct NetJumps {
    /// The sums of shifts, three numbers for each unit, as [`crate::Start::shifts`] has them.
    pub shifts: Vec<i64>,
    /// Position of the frame with which the run ends, the first one with positions from the end on; `None` if there is
    /// no such frame.
    pub end: Option<usize>,
    /// The first doubtful step.
    pub doubtful: Option<LargeStep>,
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

/// Returns the sums of shifts from the first to the last frame of a run. `atoms` are those of [`atoms_with_jumps`].
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
) -> Result<NetJumps, Error> {
    let JumpRequest { frames, len, atoms: listed } = request;
    let at = transforms.no_jump().expect("a step that removes jumps");
    let before = Transforms { steps: transforms.steps[..at].to_vec(), n_atoms: transforms.n_atoms };
    let chain = chain.transformed(Arc::new(ChainTransform::new(Arc::new(before))));
    let atoms: Vec<i64> = listed.iter().map(|&atom| i64::from(atom)).collect();
    let atoms = Atoms::listed(&atoms, transforms.n_atoms)?;
    // The same atoms, as a user of them alone would have them.
    let only =
        Transforms { steps: vec![transforms.steps[at].clone()], n_atoms: transforms.n_atoms };
    let prepared = Prepared::new(&only, &atoms)?;
    let units = &prepared.no_jump().expect("its only step").units;
    let (mut walk, mut block) = (Walk::default(), Block::default());
    let (mut has_begun, mut end, mut doubtful) = (false, None, None);
    // The reader reads ahead as far as the frames that it gets.
    let own = frames.slice(0..frames.len().min(len + 1));
    for k in 0..frames.len() {
        block.reset(1, atoms.len())?;
        let (near, at) = if k < own.len() { (own.clone(), k) } else { (frames.slice(k..k + 1), 0) };
        let request = Wanted::positions(&near, &atoms);
        chain.read_into(&request, at..at + 1, scratch, &mut block.positions, &mut block.meta)?;
        let positions = block.positions.as_chunks::<3>().0;
        if !positions.iter().flatten().any(|x| x.is_finite()) {
            continue;
        }
        let number = frames.get(k);
        let refused = |why: String| {
            let path = chain.path_of(number).to_owned();
            Error::Transform { path, frame: chain.place(number).frame, why }
        };
        let cell = cell_of(&block.meta.last()).map_err(refused)?;
        if has_begun {
            let unit = walk.step(&cell, units, positions).map_err(refused)?;
            let step = unit.map(|unit| (number, listed[units.column(unit) as usize]));
            doubtful = doubtful.or(step);
        } else {
            check_known(positions).map_err(refused)?;
            walk.begin(&cell, units, positions, &[]);
            has_begun = true;
        }
        if k >= *len {
            end = Some(k);
            break;
        }
    }
    Ok(NetJumps { shifts: walk.sums(units), end, doubtful })
}
