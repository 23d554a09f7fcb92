//! Solvent-accessible surface areas of atoms.
//!
//! Source: A. Shrake and J. A. Rupley, J. Mol. Biol. 79, 351 (1973), doi:10.1016/0022-2836(73)90011-9. Each atom has a
//! sphere of its radius and that of the probe. Points are spread evenly over the sphere, and its area counts by the share
//! of points that are within no other sphere.
//!
//! Point `u` of a unit sphere is within the sphere of a neighbour at `d` if `u · d > (R² + d² - R'²) / 2R`: the neighbour
//! covers a cap. Points lie in groups of sixteen, each within a small distance of its centre, so that most groups are
//! seen to be wholly inside or outside of a cap by their centre alone. Neighbours with large caps come first: inside a
//! molecule, a few of them cover everything.
//!
//! All arithmetic on points is that of `f32` in one order, and whether a point is covered does not depend on the order of
//! neighbours: every instruction set counts the same points.

mod compare;
mod sphere;

use std::f64::consts::PI;
use std::ops::Range;

use trajet_simd::lanes::Lanes;
use trajet_simd::{InstructionSet, on_lanes};

use crate::exclusion::AltLocation;
use crate::lanes::sum;
use crate::neighbours::{
    self, Fineness, Group, Groups, Missing, NeighbourSearch, PlaceError, Screened, Sorted, Stop,
    Visitor,
};
use compare::{Cap, Column, Compare, LANES, SIZES, Scalars, Vectors};
pub use sphere::Sphere;

/// Relative error that is granted to distances in `f32`.
const SLACK: f64 = 1e-5;

/// Atoms with their spheres.
#[derive(Clone, Copy, Debug)]
pub struct Atoms<'a> {
    /// Positions (`[n_atoms, 3]`, Å), all finite.
    pub positions: &'a [f32],
    /// Radii with that of the probe, Å; 0 for atoms without a sphere.
    pub radii: &'a [f64],
    /// Whether the area of an atom is computed; all atoms cover others.
    pub wanted: &'a [bool],
    /// Alternate locations, if there are some; atoms that exclude each other do not cover each other.
    pub locations: Option<&'a [AltLocation]>,
}

/// Computes surface areas; keeps its memory from frame to frame.
#[derive(Debug, Default)]
pub struct Surface {
    search: NeighbourSearch<Screened>,
    /// Atoms that have a sphere.
    solid: Vec<u32>,
    memory: Memory,
}

#[derive(Debug, Default)]
struct Memory {
    /// Radii of the sorted atoms, and as many as are compared together.
    radii: Vec<f32>,
    /// Rows of atoms near those of a grid cell.
    rows: Vec<Range<usize>>,
    shifts: Vec<[Screened; 3]>,
    /// Caps of one atom, those of similar size together, the largest ones first.
    caps: [Vec<Cap>; SIZES],
    free_groups: Vec<u16>,
    free_points: Vec<u16>,
}

impl Surface {
    /// Computes the accessible surface area (Å²) of each atom that is wanted; others are left as they are in `areas`.
    ///
    /// # Panics
    /// If lengths differ.
    pub fn areas(
        &mut self,
        set: InstructionSet,
        sphere: &Sphere,
        atoms: Atoms<'_>,
        areas: &mut [f64],
    ) {
        let n = atoms.radii.len();
        assert_eq!(atoms.positions.len(), 3 * n, "one radius for each atom");
        assert_eq!([atoms.wanted.len(), areas.len()], [n; 2], "sizes of the output");
        assert!(atoms.locations.is_none_or(|all| all.len() == n), "one location for each atom");
        let Surface { search, solid, memory } = self;
        solid.clear();
        solid.extend((0..n as u32).filter(|&atom| atoms.radii[atom as usize] > 0.0));
        let largest = atoms.radii.iter().fold(0.0, |a: f64, &b| a.max(b));
        let positions = atoms.positions.as_chunks::<3>().0;
        let group = neighbours::Atoms { positions, listed: Some(solid) };
        let reach = 2.0 * largest * (1.0 + SLACK);
        let fineness = Fineness { parts: 1.0, least_width: 0.0, most_cells: 0, widest: 0.0 };
        let placed = search.place(None, Groups::One(group), reach, fineness, Missing::Skip);
        placed.map_err(PlaceError::misplaced).expect("no atom is refused");
        memory.radii.clear();
        let sorted = search.homes().atoms().iter();
        memory.radii.extend(sorted.map(|&atom| atoms.radii[atom as usize] as f32));
        memory.radii.resize(memory.radii.len() + LANES, 0.0);
        let mut scan = Scan { set, memory, sphere, atoms, areas };
        search.visit(&mut scan).unwrap_or_else(|refused| refused.abort());
        for (atom, area) in areas.iter_mut().enumerate() {
            if atoms.radii[atom] == 0.0 && atoms.wanted[atom] {
                *area = 0.0;
            }
        }
    }
}

/// Computes the areas of the atoms of one grid cell after the other.
struct Scan<'a> {
    set: InstructionSet,
    memory: &'a mut Memory,
    sphere: &'a Sphere,
    atoms: Atoms<'a>,
    areas: &'a mut [f64],
}

impl Visitor<Screened> for Scan<'_> {
    fn visit(&mut self, group: &Group<'_, Screened>) -> Result<(), Stop> {
        let Memory { rows, shifts, .. } = &mut *self.memory;
        rows.clear();
        group.each_row(shifts, |row, _| {
            rows.push(row);
            Ok(())
        })?;
        let (sorted, homes) = (group.search().homes(), group.homes());
        areas_on(self.set, self.memory, self.sphere, self.atoms, sorted, homes, self.areas);
        Ok(())
    }
}

impl Memory {
    #[inline(always)]
    fn areas_by<C: Compare>(
        &mut self,
        compare: C,
        sphere: &Sphere,
        atoms: Atoms<'_>,
        sorted: &Sorted<Screened>,
        homes: Range<usize>,
        areas: &mut [f64],
    ) {
        for home in homes {
            let atom = sorted.atoms()[home] as usize;
            if !atoms.wanted[atom] {
                continue;
            }
            self.add_caps(compare, sorted, home, atoms.locations);
            let n_free = self.free(compare, sphere);
            let radius = atoms.radii[atom];
            areas[atom] =
                4.0 * PI * (radius * radius) * (f64::from(n_free) / sphere.n_points as f64);
        }
    }

    /// Finds the caps of all atoms that overlap with one of the sorted atoms.
    #[inline(always)]
    fn add_caps<C: Compare>(
        &mut self,
        compare: C,
        sorted: &Sorted<Screened>,
        home: usize,
        locations: Option<&[AltLocation]>,
    ) {
        self.caps.iter_mut().for_each(Vec::clear);
        let [xs, ys, zs] = sorted.axes();
        let columns = [xs, ys, zs, &self.radii];
        let own = columns.map(|column| column[home]);
        let halved = 0.5 / own[3];
        let location = |place: usize| locations.map(|all| all[sorted.atoms()[place] as usize]);
        let own_location = location(home);
        for row in &self.rows {
            for first in row.clone().step_by(LANES) {
                let others = columns.map(|column| columns_at(column, first));
                let (found, bits) = compare.overlapping(others, own);
                let in_row = u16::MAX >> (LANES - (row.end - first).min(LANES));
                let mut bits = bits & in_row;
                if (first..first + LANES).contains(&home) {
                    bits &= !(1 << (home - first));
                }
                while bits != 0 {
                    let lane = bits.trailing_zeros() as usize;
                    bits &= bits - 1;
                    let other = own_location.zip(location(first + lane));
                    if other.is_some_and(|(own, other)| own.excludes(other)) {
                        continue;
                    }
                    let cap = Cap::of(
                        [0, 1, 2, 3].map(|k| found[k][lane]),
                        [own[3], others[3][lane]],
                        halved,
                    );
                    self.caps[cap.size()].push(cap);
                }
            }
        }
    }

    /// Returns the number of points that are in none of the caps.
    #[inline(always)]
    fn free<C: Compare>(&mut self, compare: C, sphere: &Sphere) -> u32 {
        self.free_groups.clone_from(&sphere.present);
        self.free_points.clone_from(&sphere.points);
        for cap in self.caps.iter().flatten() {
            let mut any = 0;
            for (k, bounds) in sphere.bounds.iter().enumerate() {
                let mut free = self.free_groups[k];
                if free == 0 {
                    continue;
                }
                let (covered, touched) = compare.bounded(bounds, cap);
                free &= !covered;
                let mut partial = free & touched;
                while partial != 0 {
                    let lane = partial.trailing_zeros();
                    partial &= partial - 1;
                    let group = LANES * k + lane as usize;
                    let points = &mut self.free_points[group];
                    *points &= !compare.covered(&sphere.groups[group], cap);
                    if *points == 0 {
                        free &= !(1 << lane);
                    }
                }
                self.free_groups[k] = free;
                any |= free;
            }
            if any == 0 {
                return 0;
            }
        }
        let group = |group: usize| {
            let is_free = self.free_groups[group / LANES] >> (group % LANES) & 1 == 1;
            if is_free { self.free_points[group].count_ones() } else { 0 }
        };
        (0..sphere.groups.len()).map(group).sum()
    }
}

#[inline(always)]
fn columns_at(column: &[f32], first: usize) -> &Column {
    column[first..first + LANES].try_into().expect("sixteen numbers")
}

on_lanes! {
    fn areas_on(
        memory: &mut Memory,
        sphere: &Sphere,
        atoms: Atoms<'_>,
        sorted: &Sorted<Screened>,
        homes: Range<usize>,
        areas: &mut [f64],
    ) = areas_in_vectors, areas_one_by_one
}

#[inline(always)]
fn areas_in_vectors<V: Lanes>(
    v: V,
    memory: &mut Memory,
    sphere: &Sphere,
    atoms: Atoms<'_>,
    sorted: &Sorted<Screened>,
    homes: Range<usize>,
    areas: &mut [f64],
) {
    memory.areas_by(Vectors(v), sphere, atoms, sorted, homes, areas);
}

fn areas_one_by_one(
    memory: &mut Memory,
    sphere: &Sphere,
    atoms: Atoms<'_>,
    sorted: &Sorted<Screened>,
    homes: Range<usize>,
    areas: &mut [f64],
) {
    memory.areas_by(Scalars, sphere, atoms, sorted, homes, areas);
}

/// Returns the sum of the areas of some atoms.
pub fn total(areas: &[f64], atoms: &[u32]) -> f64 {
    sum(atoms.len(), |k| areas[atoms[k] as usize])
}

#[cfg(test)]
mod tests;
