//! Solvent-accessible surface areas of atoms, of groups of them, or of all.

use std::sync::Mutex;

use serde::{Deserialize, Serialize};
use trajet_files::Error;
use trajet_formats::{AtomList, Atoms, Block, Numbers, memory};
use trajet_kernels::exclusion::AltLocation;
use trajet_kernels::surface::{self, Sphere, Surface};
use trajet_simd::InstructionSet;

use crate::alternate_locations::AltLocations;
use crate::analysis::{self, Pass, PerFrame, check_finite};
use crate::atom_map::merge_atom_lists;
use crate::error::{InvalidArgument, Result};
use crate::frame_arrays::{ArraySpec, FrameArrays};

/// Most points on a sphere; more would take memory, and give no further digit.
const MAX_POINTS: usize = 1_000_000;
/// Largest radius, Å. Every atom would overlap with all others.
const LARGEST: f64 = 1e6;

/// Parameters of the analysis.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Atoms by index in the trajectory.
    pub atoms: AtomList,
    /// Further atoms that cover these, by index.
    pub context: AtomList,
    /// Radii of the atoms and then of the context, Å; 0 for atoms without a sphere.
    pub radii: Numbers<f64>,
    /// For each of the atoms the group in whose sum it counts; `None` for one area per atom.
    pub groups: Option<Numbers<u32>>,
    /// Radius of the probe, Å.
    pub probe: f64,
    /// Number of points on each sphere.
    pub points: usize,
    /// Alternate locations. Atoms of one residue at different locations do not cover each other.
    pub locations: Option<AltLocations>,
}

impl analysis::Request for Request {
    fn check(&self) -> Result<(), InvalidArgument> {
        self.locations.as_ref().map_or(Ok(()), AltLocations::check)?;
        let is_radius = |&radius: &f64| (0.0..=LARGEST).contains(&radius);
        let n_groups = self.groups.as_deref().map_or(self.atoms.len(), <[u32]>::len);
        let faults = [
            (self.atoms.is_empty(), "there are no atoms"),
            (
                self.radii.len() != self.atoms.len() + self.context.len(),
                "there must be a radius for each atom",
            ),
            (
                !self.radii.iter().all(is_radius),
                "radii must be finite numbers (Å) that are not negative",
            ),
            (
                !is_radius(&self.probe),
                "the radius of the probe must be a finite number (Å) that is not negative",
            ),
            (
                self.points == 0 || self.points > MAX_POINTS,
                "the number of points must be from 1 to 1,000,000",
            ),
            (n_groups != self.atoms.len(), "there must be a group for each atom"),
        ];
        match faults.into_iter().find(|(is_fault, _)| *is_fault) {
            Some((_, message)) => Err(InvalidArgument(message)),
            None => Ok(()),
        }
    }

    fn atoms(&mut self) -> Vec<&mut AtomList> {
        let located = self.locations.as_mut().map(|found| &mut found.atoms);
        [&mut self.atoms, &mut self.context].into_iter().chain(located).collect()
    }

    fn plan(self, n_atoms: usize) -> Result<Pass, Error> {
        let Request { atoms: selected, context, radii, groups, probe, points, locations } = self;
        let (union, maps) = merge_atom_lists(&[&selected, &context]);
        let atoms = Atoms::listed(&union, n_atoms)?;
        let [own, others] = [maps[0].columns(union.len()), maps[1].columns(union.len())];
        let mut spheres = memory::filled(union.len(), 0.0, "the radii of atoms")?;
        for (&column, &radius) in own.iter().chain(&others).zip(&*radii) {
            spheres[column as usize] = if radius > 0.0 { radius + probe } else { 0.0 };
        }
        let mut wanted = memory::filled(union.len(), false, "the radii of atoms")?;
        own.iter().for_each(|&column| wanted[column as usize] = true);
        let groups = groups.map(|groups| Groups::new(&own, &groups));
        let sphere = Sphere::golden_spiral(points);
        let locations = locations.map(|found| found.of(&union));
        let spare = Mutex::default();
        let areas = Areas { own, radii: spheres, wanted, locations, groups, sphere, spare };
        Ok(Pass::per_frame(atoms, areas))
    }
}

/// Columns sorted by their groups.
struct Groups {
    columns: Vec<u32>,
    /// Index in `columns` of the first atom of each group, then the number of columns.
    starts: Vec<usize>,
}

impl Groups {
    /// Returns the columns of each group, in their order.
    fn new(columns: &[u32], groups: &[u32]) -> Self {
        let mut order: Vec<usize> = (0..columns.len()).collect();
        order.sort_by_key(|&k| groups[k]);
        let n = groups.iter().max().map_or(0, |&last| last as usize + 1);
        let sorted: Vec<u32> = order.iter().map(|&k| groups[k]).collect();
        let start = |group: usize| sorted.partition_point(|&g| (g as usize) < group);
        Groups {
            columns: order.iter().map(|&k| columns[k]).collect(),
            starts: (0..=n).map(start).collect(),
        }
    }
}

/// Yields the array `areas`, for each atom or each group; no state.
struct Areas {
    /// Columns of the atoms.
    own: Vec<u32>,
    /// Radius with that of the probe, of each column.
    radii: Vec<f64>,
    /// Whether the area of a column is computed.
    wanted: Vec<bool>,
    /// Alternate locations of the columns, if there are some.
    locations: Option<Vec<AltLocation>>,
    groups: Option<Groups>,
    sphere: Sphere,
    /// Spare searches, whose memory is reused.
    spare: Mutex<Vec<(Surface, Vec<f64>)>>,
}

impl PerFrame for Areas {
    fn per_frame(&self) -> Vec<ArraySpec> {
        let groups = self.groups.as_ref().map(|groups| groups.starts.len() - 1);
        vec![ArraySpec::of::<f64>("areas", &[groups.unwrap_or(self.own.len())])]
    }

    fn compute(&self, block: &Block, out: &mut FrameArrays<'_>) -> Result<()> {
        check_finite(block)?;
        let spare = || self.spare.lock().expect("nothing panics with it");
        let (mut surface, mut areas) = spare().pop().unwrap_or_default();
        areas.resize(self.radii.len(), 0.0);
        for (i, row) in out.rows::<f64>().enumerate() {
            let (radii, wanted) = (&self.radii[..], &self.wanted[..]);
            let locations = self.locations.as_deref();
            let atoms = surface::Atoms { positions: block.frame(i), radii, wanted, locations };
            surface.areas(InstructionSet::chosen(), &self.sphere, atoms, &mut areas);
            match &self.groups {
                None => {
                    row.iter_mut()
                        .zip(&self.own)
                        .for_each(|(value, &column)| *value = areas[column as usize]);
                }
                Some(groups) => {
                    for (value, range) in row.iter_mut().zip(groups.starts.windows(2)) {
                        *value = surface::total(&areas, &groups.columns[range[0]..range[1]]);
                    }
                }
            }
        }
        spare().push((surface, areas));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_keep_the_order_of_atoms() {
        let groups = Groups::new(&[5, 3, 9, 1], &[2, 0, 2, 0]);
        assert_eq!(groups.columns, [3, 1, 5, 9]);
        assert_eq!(groups.starts, [0, 2, 2, 4]);
    }
}
