//! RMSD of a selection, and of further selections after superposition on the first.

use std::sync::Arc;

use serde::Deserialize;
use trajet_files::Error;
use trajet_formats::{Atoms, Block};
use trajet_kernels::superpose::{Coordinates, Reference};

use crate::analysis::{Analysis, Pass, State, check_weights, flattened, list, optional_list};
use crate::atom_map::{AtomMap, merge_atom_lists};
use crate::average::Average;
use crate::error::{FrameError, InvalidArgument};

/// How a frame is fitted to the reference before the RMSD is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fit {
    /// Optimal rotation and translation.
    Superposition,
    /// Translation of the centre onto the reference's centre.
    Centre,
    /// No fit.
    None,
}

/// A selection with its reference positions and weights.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// Atoms by index in the trajectory, in any order.
    #[serde(deserialize_with = "list")]
    pub atoms: Vec<i64>,
    /// Their reference positions: `[n_atoms, 3]`, Å.
    #[serde(deserialize_with = "flattened")]
    pub reference: Vec<f64>,
    /// One weight per atom; `None` for equal weights.
    #[serde(deserialize_with = "optional_list")]
    pub weights: Option<Vec<f64>>,
}

impl Group {
    /// Checks that there are atoms, and a position and a weight for each.
    ///
    /// # Errors
    /// [`InvalidArgument`].
    pub fn check(&self) -> Result<(), InvalidArgument> {
        if self.atoms.is_empty() || self.reference.len() != 3 * self.atoms.len() {
            return Err(InvalidArgument("a group needs atoms, and a position for each"));
        }
        check_weights(self.weights.as_deref(), self.atoms.len())
    }
}

/// Parameters of the analysis.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The selection that is fitted, and gives the first value of a row.
    pub main: Group,
    /// Selections that are moved along, and give the further values.
    pub groups: Vec<Group>,
    /// The kind of fit.
    pub fit: Fit,
    /// Whether the average structure after superposition on the reference becomes the reference. This takes two passes.
    pub average: bool,
}

impl Request {
    pub(crate) fn check(&self) -> Result<(), InvalidArgument> {
        self.main.check()?;
        self.groups.iter().try_for_each(Group::check)
    }
}

/// Returns the first pass of the analysis on a trajectory of `n_atoms` atoms.
///
/// # Errors
/// [`Error::AtomOutOfRange`].
///
/// # Panics
/// If a group is empty, or the length of its reference or weights differs from its number of atoms.
pub fn plan(request: Request, n_atoms: usize) -> Result<Pass, Error> {
    let all_groups = std::iter::once(&request.main).chain(&request.groups);
    let lists: Vec<&[i64]> = all_groups.map(|group| &group.atoms[..]).collect();
    let (union, maps) = merge_atom_lists(&lists);
    let atoms = Atoms::listed(&union, n_atoms)?;
    let maps: Arc<[AtomMap]> = maps.into();
    let Request { main, groups, fit, average } = request;
    if !average {
        return Ok(Pass {
            atoms,
            superpose: None,
            analysis: Box::new(Rmsd::new(&main, &groups, fit, maps)),
            then: None,
        });
    }
    let average = Average {
        n_atoms: atoms.len(),
        fitted: maps[0].clone(),
        reference: Reference::new(&main.reference, main.weights.as_deref()),
    };
    let read = atoms.clone();
    Ok(Pass {
        superpose: None,
        analysis: Box::new(average),
        atoms,
        then: Some(Box::new(move |state: State| {
            let mean = Average::positions(&state);
            let on_mean = |(k, mut group): (usize, Group)| {
                let mut memory = Vec::new();
                group.reference = maps[k].gather(&mean, &mut memory).to_vec();
                group
            };
            let mut all = std::iter::once(main).chain(groups).enumerate().map(on_mean);
            let main = all.next().expect("the main selection");
            let groups: Vec<Group> = all.collect();
            Pass {
                atoms: read,
                superpose: None,
                analysis: Box::new(Rmsd::new(&main, &groups, fit, maps)),
                then: None,
            }
        })),
    })
}

/// Yields one row per frame, no state.
struct Rmsd {
    references: Vec<Reference>,
    maps: Arc<[AtomMap]>,
    fit: Fit,
}

impl Rmsd {
    fn new(main: &Group, groups: &[Group], fit: Fit, maps: Arc<[AtomMap]>) -> Self {
        let reference = |g: &Group| Reference::new(&g.reference, g.weights.as_deref());
        let references = std::iter::once(main).chain(groups).map(reference).collect();
        Rmsd { references, maps, fit }
    }
}

impl Analysis for Rmsd {
    fn row_width(&self) -> usize {
        self.references.len()
    }

    fn absorb(&self, block: &Block, rows: &mut [f64], _: &mut State) -> Result<(), FrameError> {
        let mut gathered = Vec::new();
        let [main, groups @ ..] = &self.references[..] else { return Ok(()) };
        for (i, row) in rows.chunks_exact_mut(self.row_width()).enumerate() {
            let mobile = Coordinates::of(self.maps[0].gather(block.frame(i), &mut gathered));
            if self.fit == Fit::Superposition && groups.is_empty() {
                row[0] = main.rmsd(&mobile);
                continue;
            }
            let (value, motion) = match self.fit {
                Fit::Superposition => main.superpose(&mobile),
                Fit::Centre => main.rmsd_unrotated(&mobile, true),
                Fit::None => main.rmsd_unrotated(&mobile, false),
            };
            row[0] = value;
            for (k, group) in groups.iter().enumerate() {
                let mobile =
                    Coordinates::of(self.maps[k + 1].gather(block.frame(i), &mut gathered));
                row[k + 1] = group.rmsd_moved(&mobile, &motion);
            }
        }
        Ok(())
    }

    fn merge(&self, left: State, _: State) -> State {
        left
    }
}
