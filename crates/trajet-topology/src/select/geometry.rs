//! Distances and regions, in f64, over all periodic images.

use trajet_kernels::cell::{Cell, Vector};

use super::error::SelectError;
use super::expression::Region;
use super::input::Coordinates;
use super::mask::Mask;
use super::number_set::NumberSet;
use crate::TopologyError;
use crate::cell_list::atoms_within;

/// No two finite positions are as far apart as this (Å).
const FARTHEST: f64 = 4.0 * f32::MAX as f64;
/// Maximal number of images of an atom that are examined for a cylinder.
const MAX_IMAGES: f64 = 1000.0;

/// Returns the candidates for which a function is true.
pub(super) fn choose(candidates: &Mask, is_selected: impl Fn(u32) -> bool) -> Mask {
    let mut selected = Mask::none(candidates.n_atoms());
    candidates.iter().filter(|&atom| is_selected(atom)).for_each(|atom| selected.insert(atom));
    selected
}

/// Returns the candidates that are in a region around a set of atoms.
pub(super) fn near(
    coordinates: &Coordinates<'_>,
    candidates: &Mask,
    set: &Mask,
    region: &Region,
) -> Result<Mask, SelectError> {
    if set.is_empty() {
        return Ok(Mask::none(candidates.n_atoms()));
    }
    match *region {
        Region::Around { distance } => {
            let mut others = candidates.clone();
            others.subtract(set);
            within(coordinates, &others, set, distance)
        }
        Region::Layer { inner, outer } => {
            let mut others = candidates.clone();
            others.subtract(set);
            let mut layer = within(coordinates, &others, set, outer)?;
            let inside = within(coordinates, &layer, set, inner)?;
            layer.subtract(&inside);
            Ok(layer)
        }
        Region::Sphere { inner, outer } => {
            let center = center_of_geometry(coordinates, set);
            Ok(in_sphere(coordinates, candidates, center, inner, outer))
        }
        Region::Cylinder { inner, outer, top, bottom } => {
            let center = center_of_geometry(coordinates, set);
            let cylinder = Cylinder { inner, outer, top, bottom };
            cylinder.choose(coordinates, candidates, center)
        }
    }
}

/// Returns the candidates within a distance of any atom of a set.
fn within(
    coordinates: &Coordinates<'_>,
    candidates: &Mask,
    set: &Mask,
    distance: f64,
) -> Result<Mask, SelectError> {
    let positions = coordinates.positions;
    let is_known = |atom: u32| positions[atom as usize].iter().all(|x| x.is_finite());
    let mut selected = Mask::none(candidates.n_atoms());
    if distance < 0.0 {
        return Ok(selected);
    }
    if distance >= FARTHEST {
        return Ok(match set.iter().any(is_known) {
            true => choose(candidates, is_known),
            false => selected,
        });
    }
    let (candidates, set) = (candidates.to_indices(), set.to_indices());
    atoms_within(positions, &candidates, &set, coordinates.cell, distance, |atom| {
        selected.insert(atom);
    })
    .map_err(memory)?;
    Ok(selected)
}

fn memory(fault: TopologyError) -> SelectError {
    match fault {
        TopologyError::Memory(needed, what) => SelectError::Memory { needed, what },
        fault => unreachable!("a search for atoms parses nothing: {fault:?}"),
    }
}

/// Returns the mean position (Å) of the atoms.
fn center_of_geometry(coordinates: &Coordinates<'_>, atoms: &Mask) -> Vector {
    let mut sum = [0.0; 3];
    let mut count = 0.0;
    for atom in atoms.iter() {
        let position = coordinates.positions[atom as usize];
        (0..3).for_each(|k| sum[k] += f64::from(position[k]));
        count += 1.0;
    }
    sum.map(|sum| sum / count)
}

/// Returns the candidates within `outer` of a point and, if given, beyond `inner`.
pub(super) fn in_sphere(
    coordinates: &Coordinates<'_>,
    candidates: &Mask,
    center: Vector,
    inner: Option<f64>,
    outer: f64,
) -> Mask {
    choose(candidates, |atom| {
        let position = coordinates.positions[atom as usize].map(f64::from);
        let distance = match coordinates.cell {
            Some(cell) => cell.distance_squared(position, center).sqrt(),
            None => square(minus(position, center)).sqrt(),
        };
        distance <= outer && inner.is_none_or(|inner| distance > inner)
    })
}

/// Returns the candidates that have a coordinate close to that of any atom of a set.
pub(super) fn same_coordinate(
    coordinates: &Coordinates<'_>,
    candidates: &Mask,
    set: &Mask,
    axis: usize,
) -> Mask {
    let coordinate = |atom: u32| f64::from(coordinates.positions[atom as usize][axis]);
    let of_set = NumberSet::new(set.iter().map(coordinate));
    choose(candidates, |atom| of_set.contain_close(coordinate(atom)))
}

/// A cylinder along z around a point, open at its surfaces. An atom is inside if any of its images is.
struct Cylinder {
    inner: Option<f64>,
    outer: f64,
    top: f64,
    bottom: f64,
}

impl Cylinder {
    fn choose(
        &self,
        coordinates: &Coordinates<'_>,
        candidates: &Mask,
        center: Vector,
    ) -> Result<Mask, SelectError> {
        let from_center =
            |atom: u32| minus(coordinates.positions[atom as usize].map(f64::from), center);
        let Some(cell) = coordinates.cell else {
            return Ok(choose(candidates, |atom| self.contains(from_center(atom))));
        };
        self.check_size(cell)?;
        let images = self.images(cell)?;
        Ok(choose(candidates, |atom| {
            let first = cell.wrap(from_center(atom));
            images.iter().any(|&image| self.contains(plus(first, image)))
        }))
    }

    fn contains(&self, [x, y, z]: Vector) -> bool {
        let square = x * x + y * y;
        self.bottom < z
            && z < self.top
            && square < self.outer * self.outer
            && self.inner.is_none_or(|inner| square > inner * inner)
    }

    /// Checks that the cylinder is no larger than the cell. MDAnalysis has the same limits.
    fn check_size(&self, cell: &Cell) -> Result<(), SelectError> {
        let [a, b, c] = cell.vectors().map(|vector| square(vector).sqrt());
        let (width, height) = (2.0 * self.outer, self.top - self.bottom);
        let limits = [(width, "wide", 'a', a), (width, "wide", 'b', b), (height, "high", 'c', c)];
        for ((cylinder, direction, vector, length), is_periodic) in
            limits.into_iter().zip(cell.periodic())
        {
            if is_periodic && cylinder > length {
                return Err(SelectError::CylinderTooLarge { cylinder, direction, vector, length });
            }
        }
        Ok(())
    }

    /// Returns the lattice vectors that can move a position from the unit cell at the origin into the cylinder.
    fn images(&self, cell: &Cell) -> Result<Vec<Vector>, SelectError> {
        if self.bottom >= self.top {
            return Ok(Vec::new());
        }
        let mut first = [f64::INFINITY; 3];
        let mut last = [f64::NEG_INFINITY; 3];
        for corner in 0..8 {
            let outer = self.outer.abs();
            let x = if corner & 1 == 0 { -outer } else { outer };
            let y = if corner & 2 == 0 { -outer } else { outer };
            let z = if corner & 4 == 0 { self.bottom } else { self.top };
            let fractional = cell.fractional([x, y, z]);
            (0..3).for_each(|k| first[k] = first[k].min((fractional[k] - 1.0 - SLACK).ceil()));
            (0..3).for_each(|k| last[k] = last[k].max((fractional[k] + SLACK).floor()));
        }
        for k in (0..3).filter(|&k| !cell.periodic()[k]) {
            (first[k], last[k]) = (0.0, 0.0);
        }
        let count: f64 = (0..3).map(|k| last[k] - first[k] + 1.0).product();
        if !count.is_finite() || count > MAX_IMAGES {
            return Err(SelectError::CellTooFlat { images: count });
        }
        let [a, b, c] = [0, 1, 2].map(|k| first[k] as i32..=last[k] as i32);
        let v = cell.vectors();
        let mut images = Vec::new();
        for i in a {
            for j in b.clone() {
                for k in c.clone() {
                    let [i, j, k] = [i, j, k].map(f64::from);
                    images.push([0, 1, 2].map(|x| i * v[0][x] + j * v[1][x] + k * v[2][x]));
                }
            }
        }
        Ok(images)
    }
}

/// Share of a box vector by which rounding can displace a position.
const SLACK: f64 = 1e-6;

fn minus(a: Vector, b: Vector) -> Vector {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

fn plus(a: Vector, b: Vector) -> Vector {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

fn square(a: Vector) -> f64 {
    a[0] * a[0] + a[1] * a[1] + a[2] * a[2]
}
