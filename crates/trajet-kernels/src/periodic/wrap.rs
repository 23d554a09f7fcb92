//! Wraps groups into the cell, along the directions in which it is periodic.
//!
//! **At the faces.** A position that is moved is rounded to `f32`, which may take it over a face. A centre outside of
//! the cell by less than that rounding (2⁻²² of the largest coordinates in the cell) therefore stays where it is, and one
//! that is moved is moved so far inside that it stays there: wrapping twice is wrapping once.

use trajet_simd::{InstructionSet, multiversion};

use super::groups::Groups;
use super::shift::{Unplaced, forget_incomplete, is_countable, move_columns, unplaced};
use crate::cell::{Cell, Vector, minus, square};

/// Rounding of a position relative to the cell's size: four times that of one `f32`.
const ROUNDING: f64 = 1.0 / (1 << 22) as f64;
/// Rounding of fractional coordinates in `f64`: a coordinate nearer to 1 than this is at the upper face.
const FACE: f64 = 1.0 - 1.0 / (1u64 << 40) as f64;

/// The shape of the cell into which wrapping puts centres; GROMACS' `-ur tric`, `compact` and `rect`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// The parallelepiped of the box vectors: fractional coordinates from 0 to 1.
    Triclinic,
    /// The Wigner-Seitz cell around half of the sum of the box vectors: the image nearest to that point.
    Compact,
    /// The rectangular brick of the diagonal of the box matrix: `0 ≤ z < c_z`, `0 ≤ y < b_y`, `0 ≤ x < a_x`.
    Rectangular,
}

/// Error for a cell that has no [`Shape::Rectangular`]: its first vector is not along x, its second not in the x-y
/// plane, or the diagonal of its matrix is not positive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnedCell;

/// Moves each group as one by the lattice vector that brings its centre into the cell, up to the rounding of `f32`.
/// `weights` are one per member of all groups; without them all count the same. A centre on a face between two images
/// stays where it is. A group that cannot be placed stays as well; one of its atoms is returned.
///
/// # Errors
/// [`TurnedCell`]; nothing is moved then. Other shapes have no error.
///
/// # Panics
/// If the number of weights is not that of the members, or a column does not exist.
pub fn wrap_groups(
    cell: &Cell,
    shape: Shape,
    groups: &Groups,
    weights: Option<&[f64]>,
    positions: &mut [[f32; 3]],
) -> Result<Unplaced, TurnedCell> {
    wrap_groups_on(InstructionSet::default(), cell, shape, groups, weights, positions)
}

multiversion! {
    pub(super) fn wrap_groups_on(
        cell: &Cell,
        shape: Shape,
        groups: &Groups,
        weights: Option<&[f64]>,
        positions: &mut [[f32; 3]],
    ) -> Result<Unplaced, TurnedCell> = wrap_groups_of
}

#[inline(always)]
fn wrap_groups_of(
    cell: &Cell,
    shape: Shape,
    groups: &Groups,
    weights: Option<&[f64]>,
    positions: &mut [[f32; 3]],
) -> Result<Unplaced, TurnedCell> {
    groups.check_weights(weights);
    match shape {
        Shape::Triclinic => Ok(wrap(&Triclinic::new(cell), cell, groups, weights, positions)),
        Shape::Compact => Ok(wrap(&Compact::new(cell), cell, groups, weights, positions)),
        Shape::Rectangular => {
            let region = Rectangular::new(cell).ok_or(TurnedCell)?;
            Ok(wrap(&region, cell, groups, weights, positions))
        }
    }
}

/// A region that has one image of every point.
trait Region {
    /// Returns integers along the box vectors that bring a point, relative to the origin of the cell, into the region; for
    /// a point that is not finite, numbers that are not countable.
    fn shift(&self, point: Vector) -> Vector;
}

#[inline(always)]
fn wrap(
    region: &impl Region,
    cell: &Cell,
    groups: &Groups,
    weights: Option<&[f64]>,
    positions: &mut [[f32; 3]],
) -> Unplaced {
    let mut found = None;
    for group in 0..groups.len() {
        let centre = groups.centre(group, weights, positions);
        let shift = region.shift(minus(centre, cell.origin()));
        if shift == [0.0; 3] {
            continue;
        }
        let columns = groups.columns(group);
        let is_placed =
            is_countable(shift) && move_columns(columns, cell.lattice_vector(shift), positions);
        if !is_placed {
            found = found.or_else(|| unplaced(columns, positions));
            forget_incomplete(columns, positions);
        }
    }
    found
}

/// Returns a bound for the coordinates of the corners of the cell along each axis.
fn reach(cell: &Cell) -> Vector {
    let origin = cell.origin();
    let extent = |axis: usize| cell.vectors().iter().map(|v| v[axis].abs()).sum::<f64>();
    [0, 1, 2].map(|axis| origin[axis].abs() + extent(axis))
}

/// Returns whether a coordinate in units of the cell is from 0 to 1 up to `rounding`.
#[inline(always)]
fn is_inside(coordinate: f64, rounding: f64) -> bool {
    coordinate >= -rounding && coordinate < FACE
}

/// Returns the integer that brings a coordinate so far inside that rounding does not take it out again.
#[inline(always)]
fn shift_inside(coordinate: f64, rounding: f64) -> f64 {
    0.0 - (coordinate + rounding / 2.0).floor()
}

struct Triclinic<'a> {
    cell: &'a Cell,
    rounding: Vector,
}

impl<'a> Triclinic<'a> {
    fn new(cell: &'a Cell) -> Self {
        let reach = reach(cell);
        let rounding = cell.reciprocal().map(|r| {
            let size: f64 = (0..3).map(|axis| r[axis].abs() * reach[axis]).sum();
            (ROUNDING * size).min(0.25)
        });
        Triclinic { cell, rounding }
    }
}

impl Region for Triclinic<'_> {
    #[inline(always)]
    fn shift(&self, point: Vector) -> Vector {
        let f = self.cell.wrapping_coordinates(point);
        if (0..3).all(|k| is_inside(f[k], self.rounding[k])) {
            return [0.0; 3];
        }
        [0, 1, 2].map(|k| shift_inside(f[k], self.rounding[k]))
    }
}

struct Compact<'a> {
    cell: &'a Cell,
    middle: Vector,
    /// Rounding of a position (Å).
    rounding: f64,
}

impl<'a> Compact<'a> {
    fn new(cell: &'a Cell) -> Self {
        let middle = cell.lattice_vector([0.5; 3]);
        Compact { cell, middle, rounding: ROUNDING * square(reach(cell)).sqrt() }
    }
}

impl Region for Compact<'_> {
    #[inline(always)]
    fn shift(&self, point: Vector) -> Vector {
        let from_middle = minus(point, self.middle);
        let before = square(from_middle);
        if self.cell.is_surely_shortest(before) {
            return [0.0; 3];
        }
        if !before.is_finite() {
            return [f64::NAN; 3];
        }
        let shift = self.cell.shift_to_shortest(from_middle);
        let by = self.cell.lattice_vector(shift);
        let after = square([0, 1, 2].map(|k| from_middle[k] + by[k]));
        // How far the point is beyond the plane between the two images.
        let is_beyond = before - after > 2.0 * self.rounding * square(by).sqrt();
        if is_beyond { shift } else { [0.0; 3] }
    }
}

struct Rectangular {
    vectors: [Vector; 3],
    /// Edges of the brick; infinite in directions that are not periodic.
    edges: Vector,
    rounding: Vector,
}

impl Rectangular {
    fn new(cell: &Cell) -> Option<Self> {
        let vectors = *cell.vectors();
        let [[ax, ay, az], [_, by, bz], [_, _, cz]] = vectors;
        let is_standard =
            [ay, az, bz] == [0.0; 3] && [ax, by, cz].iter().all(|&length| length > 0.0);
        let reach = reach(cell);
        let rounding = [0, 1, 2].map(|k| (ROUNDING * reach[k] / vectors[k][k]).min(0.25));
        let periodic = cell.periodic();
        let edges = [0, 1, 2].map(|k| if periodic[k] { vectors[k][k] } else { f64::INFINITY });
        is_standard.then_some(Rectangular { vectors, edges, rounding })
    }
}

impl Region for Rectangular {
    #[inline(always)]
    fn shift(&self, mut point: Vector) -> Vector {
        let coordinate = |point: Vector, k: usize| point[k] / self.edges[k];
        if (0..3).all(|k| is_inside(coordinate(point, k), self.rounding[k])) {
            return [0.0; 3];
        }
        let mut shift = [0.0; 3];
        for k in [2, 1, 0] {
            shift[k] = shift_inside(coordinate(point, k), self.rounding[k]);
            point = [0, 1, 2].map(|axis| point[axis] + shift[k] * self.vectors[k][axis]);
        }
        shift
    }
}
