//! RMSD of a selection, and of further selections after superposition on the first.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trajet_files::Error;
use trajet_formats::{AtomList, Atoms, Block, Numbers};
use trajet_kernels::superpose::{Coordinates, Reference};

use crate::analysis::{self, Pass, PerFrame, check_weights};
use crate::atom_map::{AtomMap, merge_atom_lists};
use crate::average::Average;
use crate::error::{InvalidArgument, Result};
use crate::frame_arrays::{ArraySpec, FrameArrays};

/// The motion that fits a frame to the reference before the RMSD is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// Atoms by index in the trajectory, in any order.
    pub atoms: AtomList,
    /// Their reference positions: `[n_atoms, 3]`, Å.
    pub reference: Numbers<f64>,
    /// One weight per atom; `None` for equal weights.
    pub weights: Option<Numbers<f64>>,
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

    /// Returns the reference structure.
    pub(crate) fn reference(&self) -> Reference {
        Reference::new(&self.reference, self.weights.as_deref())
    }

    /// Returns the reference structure of these positions in each of the orders, or as they are.
    fn ordered(&self, positions: &[f64], orders: &[u32]) -> Vec<Reference> {
        let weights = self.weights.as_deref();
        if orders.is_empty() {
            return vec![Reference::new(positions, weights)];
        }
        let points = positions.as_chunks::<3>().0;
        let in_order = |order: &[u32]| {
            let ordered: Vec<[f64; 3]> = order.iter().map(|&k| points[k as usize]).collect();
            Reference::new(ordered.as_flattened(), weights)
        };
        orders.chunks_exact(points.len()).map(in_order).collect()
    }

    /// Returns the pass of the average structure, before one whose frames are superposed on it by these atoms, the columns
    /// `fitted`. `next` gets the reference, and the positions of which it is made.
    pub(crate) fn averaged(
        self,
        atoms: Atoms,
        fitted: AtomMap,
        next: impl Fn(Atoms, Reference, &[f64]) -> Pass + Send + Sync + 'static,
    ) -> Pass {
        let (n_atoms, reference, map) = (atoms.len(), self.reference(), fitted.clone());
        let read = atoms.clone();
        let next = move |mean: &[f64]| {
            let mut memory = Vec::new();
            let mean = map.gather(mean, &mut memory);
            next(read.clone(), Reference::new(mean, self.weights.as_deref()), mean)
        };
        Pass::new(atoms, Average { n_atoms, fitted, reference, next: Box::new(next) })
    }
}

/// Parameters of the analysis.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The selection that is fitted, and gives the first value of a frame.
    pub main: Group,
    /// Selections that are moved along, and give the further values.
    pub groups: Vec<Group>,
    /// For each group, orders of its reference positions (`[n_orders, n_atoms]`), of which the one with the least RMSD
    /// counts; empty for the order in which they are.
    pub orders: Vec<Numbers<u32>>,
    /// The kind of fit.
    pub fit: Fit,
    /// Whether the average structure after superposition on the reference becomes the reference. This takes two passes.
    pub average: bool,
}

impl analysis::Request for Request {
    fn check(&self) -> Result<(), InvalidArgument> {
        self.main.check()?;
        self.groups.iter().try_for_each(Group::check)?;
        let fits = |(group, orders): (&Group, &Numbers<u32>)| {
            let n = group.atoms.len();
            orders.len().is_multiple_of(n) && orders.iter().all(|&k| (k as usize) < n)
        };
        if self.orders.len() != self.groups.len() || !self.groups.iter().zip(&self.orders).all(fits)
        {
            return Err(InvalidArgument("orders of a group are of all of its atoms"));
        }
        Ok(())
    }

    fn atoms(&mut self) -> Vec<&mut AtomList> {
        std::iter::once(&mut self.main)
            .chain(&mut self.groups)
            .map(|group| &mut group.atoms)
            .collect()
    }

    fn plan(self, n_atoms: usize) -> Result<Pass, Error> {
        let all_groups = std::iter::once(&self.main).chain(&self.groups);
        let lists: Vec<&[i64]> = all_groups.map(|group| &group.atoms[..]).collect();
        let (union, maps) = merge_atom_lists(&lists);
        let atoms = Atoms::listed(&union, n_atoms)?;
        let maps: Arc<[AtomMap]> = maps.into();
        let Request { main, groups, orders, fit, average } = self;
        if !average {
            let reference = main.reference();
            let groups = groups.iter().zip(&orders);
            let groups = groups.map(|(group, orders)| group.ordered(&group.reference, orders));
            let groups = groups.collect();
            return Ok(Pass::per_frame(atoms, Rmsd { reference, groups, maps, fit }));
        }
        let average = Average {
            n_atoms: atoms.len(),
            fitted: maps[0].clone(),
            reference: main.reference(),
            next: {
                let atoms = atoms.clone();
                Box::new(move |mean| {
                    let mut memory = Vec::new();
                    let reference =
                        Reference::new(maps[0].gather(mean, &mut memory), main.weights.as_deref());
                    let groups = groups.iter().zip(&orders).zip(&maps[1..]);
                    let groups = groups.map(|((group, orders), map)| {
                        group.ordered(map.gather(mean, &mut memory), orders)
                    });
                    let groups = groups.collect();
                    let maps = Arc::clone(&maps);
                    Pass::per_frame(atoms.clone(), Rmsd { reference, groups, maps, fit })
                })
            },
        };
        Ok(Pass::new(atoms, average))
    }
}

/// Yields the array `rmsd`, no state.
struct Rmsd {
    reference: Reference,
    /// The references of each group, of which the nearest counts.
    groups: Vec<Vec<Reference>>,
    maps: Arc<[AtomMap]>,
    fit: Fit,
}

impl PerFrame for Rmsd {
    fn per_frame(&self) -> Vec<ArraySpec> {
        vec![ArraySpec::of::<f64>("rmsd", &[1 + self.groups.len()])]
    }

    fn compute(&self, block: &Block, out: &mut FrameArrays<'_>) -> Result<()> {
        let mut gathered = Vec::new();
        let Rmsd { reference: main, groups, .. } = self;
        for (i, row) in out.rows::<f64>().enumerate() {
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
                let rmsds = group.iter().map(|one| one.rmsd_moved(&mobile, &motion));
                row[k + 1] = rmsds.min_by(f64::total_cmp).expect("a reference");
            }
        }
        Ok(())
    }
}
