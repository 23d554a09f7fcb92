//! Positions of atoms, as stored or superposed: for analyses that need all frames at once.

use serde::Deserialize;
use trajet_files::Error;
use trajet_formats::{Atoms, Block};
use trajet_kernels::superpose::{Coordinates, Reference};

use crate::analysis::{Analysis, Pass, State, list};
use crate::atom_map::{AtomMap, merge_atom_lists};
use crate::average::Average;
use crate::error::{FrameError, InvalidArgument};
use crate::rmsd::Group;

/// Parameters of the analysis.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Atoms by index in the trajectory, in any order.
    #[serde(deserialize_with = "list")]
    pub atoms: Vec<i64>,
    /// Atoms and reference for the superposition of each frame; `None` for positions as stored.
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

/// Returns the first pass of the analysis on a trajectory of `n_atoms` atoms. Rows are positions (`[n_atoms, 3]`, Å).
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
    let own = maps[0].clone();
    let last = move |fit: Option<Fit>, atoms| Pass {
        atoms,
        transforms: Vec::new(),
        analysis: Box::new(Positions { n_atoms: selected.len(), own, fit }),
        then: None,
    };
    let Some(align) = align else { return Ok(last(None, atoms)) };
    let fitted = maps[1].clone();
    let reference = Reference::new(&align.reference, align.weights.as_deref());
    if !average {
        return Ok(last(Some(Fit { atoms: fitted, reference }), atoms));
    }
    let average = Average { n_atoms: atoms.len(), fitted: fitted.clone(), reference };
    let read = atoms.clone();
    Ok(Pass {
        atoms,
        transforms: Vec::new(),
        analysis: Box::new(average),
        then: Some(Box::new(move |state: State| {
            let mean = Average::positions(&state);
            let mut memory = Vec::new();
            let mean = fitted.gather(&mean, &mut memory);
            let reference = Reference::new(mean, align.weights.as_deref());
            last(Some(Fit { atoms: fitted.clone(), reference }), read)
        })),
    })
}

/// Superposition of a frame. Moved positions are not rounded to `f32`, as those of `transform::Superpose` are.
struct Fit {
    atoms: AtomMap,
    reference: Reference,
}

/// Yields one row per frame, no state.
struct Positions {
    n_atoms: usize,
    own: AtomMap,
    fit: Option<Fit>,
}

impl Analysis for Positions {
    fn row_width(&self) -> usize {
        3 * self.n_atoms
    }

    fn absorb(&self, block: &Block, rows: &mut [f64], _: &mut State) -> Result<(), FrameError> {
        let mut gathered = Vec::new();
        let mut mobile = Coordinates::default();
        for (i, row) in rows.chunks_exact_mut(self.row_width().max(1)).enumerate() {
            let motion = self.fit.as_ref().map(|fit| {
                mobile.set(fit.atoms.gather(block.frame(i), &mut gathered));
                fit.reference.superpose(&mobile).1
            });
            let frame = self.own.gather(block.frame(i), &mut gathered).as_chunks::<3>().0;
            for (to, from) in row.as_chunks_mut::<3>().0.iter_mut().zip(frame) {
                let position = from.map(f64::from);
                *to = motion.as_ref().map_or(position, |motion| motion.apply(position));
            }
        }
        Ok(())
    }

    fn merge(&self, left: State, _: State) -> State {
        left
    }
}
