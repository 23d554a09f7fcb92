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
mod neighbours;
mod sphere;

use std::f64::consts::PI;

use trajet_simd::lanes::Lanes;
use trajet_simd::on_lanes;

use crate::lanes::sum;
use compare::{Cap, Compare, LANES, SIZES, Scalars, Vectors};
pub use neighbours::Atoms;
use neighbours::Neighbours;
pub use sphere::Sphere;

/// Computes surface areas; keeps its memory from frame to frame.
#[derive(Debug, Default)]
pub struct Surface {
    neighbours: Neighbours,
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
        set: trajet_simd::InstructionSet,
        sphere: &Sphere,
        atoms: Atoms<'_>,
        areas: &mut [f64],
    ) {
        let n = atoms.radii.len();
        assert_eq!(atoms.positions.len(), 3 * n, "one radius for each atom");
        assert_eq!([atoms.wanted.len(), areas.len()], [n; 2], "sizes of the output");
        self.neighbours.place(atoms);
        areas_on(set, self, sphere, atoms, areas);
    }

    #[inline(always)]
    fn areas_by<C: Compare>(
        &mut self,
        compare: C,
        sphere: &Sphere,
        atoms: Atoms<'_>,
        areas: &mut [f64],
    ) {
        for slot in 0..self.neighbours.len() {
            let atom = self.neighbours.atom(slot);
            if !atoms.wanted[atom] {
                continue;
            }
            self.caps.iter_mut().for_each(Vec::clear);
            self.neighbours.caps_of(compare, slot, &mut self.caps);
            let n_free = self.free(compare, sphere);
            let radius = atoms.radii[atom];
            areas[atom] =
                4.0 * PI * (radius * radius) * (f64::from(n_free) / sphere.n_points as f64);
        }
        for (atom, area) in areas.iter_mut().enumerate() {
            if atoms.radii[atom] == 0.0 && atoms.wanted[atom] {
                *area = 0.0;
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

on_lanes! {
    fn areas_on(surface: &mut Surface, sphere: &Sphere, atoms: Atoms<'_>, areas: &mut [f64])
        = areas_in_vectors, areas_one_by_one
}

#[inline(always)]
fn areas_in_vectors<V: Lanes>(
    v: V,
    surface: &mut Surface,
    sphere: &Sphere,
    atoms: Atoms<'_>,
    areas: &mut [f64],
) {
    surface.areas_by(Vectors(v), sphere, atoms, areas);
}

fn areas_one_by_one(surface: &mut Surface, sphere: &Sphere, atoms: Atoms<'_>, areas: &mut [f64]) {
    surface.areas_by(Scalars, sphere, atoms, areas);
}

/// Returns the sum of the areas of some atoms.
pub fn total(areas: &[f64], atoms: &[u32]) -> f64 {
    sum(atoms.len(), |k| areas[atoms[k] as usize])
}

#[cfg(test)]
mod tests;
