//! Distances of all pairs between two selections, within one, or between one and reference positions.

use serde::{Deserialize, Serialize};
use trajet_files::Error;
use trajet_formats::{AtomList, Atoms, Block, Numbers};
use trajet_kernels::distance::{Points, between, within};
use trajet_simd::InstructionSet;

use crate::analysis::{self, Pass, PerFrame, cell_of};
use crate::atom_map::{AtomMap, merge_atom_lists};
use crate::cells::CellUse;
use crate::error::{InvalidArgument, Result};
use crate::frame_arrays::{ArraySpec, FrameArrays};

/// The second member of each pair.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Partner {
    /// Atoms of the same selection, each pair once.
    Themselves,
    /// Atoms by index in the trajectory.
    Atoms(AtomList),
    /// Fixed positions (`[n, 3]`, Å).
    Positions(Numbers<f32>),
}

/// Parameters of the analysis.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Atoms by index in the trajectory.
    pub atoms: AtomList,
    /// The atoms or positions to which distances are measured.
    pub partner: Partner,
    /// Whether distances are of minimum images in frames that have a cell.
    pub periodic: bool,
}

impl analysis::Request for Request {
    fn check(&self) -> Result<(), InvalidArgument> {
        Ok(())
    }

    fn atoms(&mut self) -> Vec<&mut AtomList> {
        match &mut self.partner {
            Partner::Atoms(others) => vec![&mut self.atoms, others],
            Partner::Themselves | Partner::Positions(_) => vec![&mut self.atoms],
        }
    }

    fn plan(self, n_atoms: usize) -> Result<Pass, Error> {
        let Request { atoms: selected, partner, periodic } = self;
        let mut lists = vec![&selected[..]];
        if let Partner::Atoms(others) = &partner {
            lists.push(others);
        }
        let (union, maps) = merge_atom_lists(&lists);
        let atoms = Atoms::listed(&union, n_atoms)?;
        let mut maps = maps.into_iter();
        let own = maps.next().expect("the atoms' own");
        let with = match partner {
            Partner::Themselves => With::Themselves,
            Partner::Atoms(others) => {
                With::Atoms { map: maps.next().expect("the others'"), n: others.len() }
            }
            Partner::Positions(positions) => {
                let mut points = Points::default();
                points.set(&positions);
                With::Positions(points)
            }
        };
        Ok(Pass::per_frame(atoms, Distances { n: selected.len(), own, with, periodic }))
    }
}

/// Yields the array `distances`, no state.
struct Distances {
    n: usize,
    own: AtomMap,
    with: With,
    periodic: bool,
}

enum With {
    Themselves,
    Atoms { map: AtomMap, n: usize },
    Positions(Points),
}

impl PerFrame for Distances {
    fn per_frame(&self) -> Vec<ArraySpec> {
        let width = match &self.with {
            With::Themselves => self.n * self.n.saturating_sub(1) / 2,
            With::Atoms { n, .. } => self.n * n,
            With::Positions(points) => self.n * points.len(),
        };
        vec![ArraySpec::of::<f64>("distances", &[width])]
    }

    fn compute(&self, block: &Block, out: &mut FrameArrays<'_>) -> Result<()> {
        let set = InstructionSet::chosen();
        let mut gathered = Vec::new();
        let (mut a, mut b) = (Points::default(), Points::default());
        for (i, row) in out.rows::<f64>().enumerate() {
            let cell = if self.periodic { cell_of(block, i)? } else { None };
            let cell = cell.as_ref();
            a.set(self.own.gather(block.frame(i), &mut gathered));
            match &self.with {
                With::Themselves => within(set, cell, &a, row),
                With::Positions(points) => between(set, cell, &a, points, row),
                With::Atoms { map, .. } => {
                    b.set(map.gather(block.frame(i), &mut gathered));
                    between(set, cell, &a, &b, row);
                }
            }
        }
        Ok(())
    }

    fn cell_use(&self) -> CellUse {
        CellUse::nearest_images(self.periodic)
    }
}
