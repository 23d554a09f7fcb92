//! Grid cells and images of blocks of positions, compiled for each instruction set.

use trajet_simd::{InstructionSet, multiversion};

use super::grid::Grid;
use super::number::Number;
use crate::cell::{combine, dot};

/// Number of positions in a block.
pub(super) const BLOCK: usize = 64;
/// Number of cells. An atom that is as many cells away, or more, has no place that `f32` can resolve.
const FARTHEST: f64 = (1 << 22) as f64;

/// One array per axis.
pub(super) type Axes<C> = [[C; BLOCK]; 3];

/// Coordinates in which the images of positions can be computed.
pub trait Images: Number {
    /// Computes the images of a block of positions.
    #[doc(hidden)]
    fn images(set: InstructionSet, grid: &Grid, axes: &Axes<f32>, images: &mut Axes<Self>);
}

macro_rules! images {
    ($type:ty, $images:path) => {
        impl Images for $type {
            #[inline]
            fn images(
                set: InstructionSet,
                grid: &Grid,
                axes: &Axes<f32>,
                images: &mut Axes<$type>,
            ) {
                $images(set, grid, axes, images);
            }
        }
    };
}

images!(f32, rough_images);
images!(f64, exact_images);

multiversion! {
    /// Computes the numbers of the grid cells of a block of positions; −1 for positions that are not finite.
    pub(super) fn numbers_of_block(grid: &Grid, axes: &Axes<f32>, numbers: &mut [i32; BLOCK]) = numbers_body
}

#[inline(always)]
fn numbers_body(grid: &Grid, axes: &Axes<f32>, numbers: &mut [i32; BLOCK]) {
    let mut sums = [0.0; BLOCK];
    let [xs, ys, zs] = axes;
    for back in 0..3 {
        let k = 2 - back;
        let ([x, y, z], m) = (grid.basis.reciprocal[k], grid.table[k] as f64);
        let offset = grid.offset[k];
        let repeats = grid.repeats[k] as f64;
        let (turns, last) = match grid.periodic[k] {
            true => (1.0, repeats - 1.0),
            false => (0.0, f64::INFINITY),
        };
        for lane in 0..BLOCK {
            let along = x * f64::from(xs[lane]) + y * f64::from(ys[lane]) + z * f64::from(zs[lane]);
            let along = along + offset;
            let scaled = (along - turns * along.floor()) * repeats;
            let within = (scaled - scaled.floor().min(last)) * m;
            // Not a number stays one.
            let place = if within >= m - 1.0 { m - 1.0 } else { within.floor() };
            sums[lane] = sums[lane] * m + place;
        }
    }
    for lane in 0..BLOCK {
        numbers[lane] = if sums[lane] >= 0.0 { sums[lane] as i32 } else { -1 };
    }
}

multiversion! {
    /// Returns whether all atoms of a block have a place: their coordinates are finite, and `f32` can resolve where in the
    /// unit cell they are.
    pub(super) fn have_places(grid: &Grid, axes: &Axes<f32>) -> bool = have_places_body
}

#[inline(always)]
fn have_places_body(grid: &Grid, axes: &Axes<f32>) -> bool {
    let limits = grid.periodic.map(|is_so| if is_so { FARTHEST } else { f64::INFINITY });
    let mut all = true;
    for lane in 0..BLOCK {
        let position = [axes[0][lane], axes[1][lane], axes[2][lane]].map(f64::from);
        for (along, limit) in grid.basis.coordinates(position).iter().zip(limits) {
            all &= along.abs() < limit;
        }
    }
    all
}

multiversion! {
    /// Computes the images within the unit cell of a block of positions, in exact coordinates; without one the positions
    /// themselves.
    fn exact_images(grid: &Grid, axes: &Axes<f32>, images: &mut Axes<f64>) = exact_body
}

#[inline(always)]
fn exact_body(grid: &Grid, axes: &Axes<f32>, images: &mut Axes<f64>) {
    let (r, v) = (&grid.lattice.reciprocal, &grid.lattice.vectors);
    for lane in 0..BLOCK {
        let p = [axes[0][lane], axes[1][lane], axes[2][lane]].map(f64::from);
        if !grid.has_images() {
            (0..3).for_each(|k| images[k][lane] = p[k]);
            continue;
        }
        let whole = [dot(r[0], p).floor(), dot(r[1], p).floor(), dot(r[2], p).floor()];
        let by = combine(v, whole);
        for k in 0..3 {
            images[k][lane] = (p[k] - by[k]) + grid.rounding - grid.rounding;
        }
    }
}

multiversion! {
    /// Computes the images within the unit cell of a block of positions, in `f32`; without one the positions themselves.
    fn rough_images(grid: &Grid, axes: &Axes<f32>, images: &mut Axes<f32>) = rough_body
}

#[inline(always)]
fn rough_body(grid: &Grid, axes: &Axes<f32>, images: &mut Axes<f32>) {
    *images = *axes;
    if !grid.has_images() {
        return;
    }
    let [xs, ys, zs] = images;
    for lane in 0..BLOCK {
        let [x, y, z] = [xs[lane], ys[lane], zs[lane]].map(f64::from);
        let (mut at_x, mut at_y, mut at_z) = (x, y, z);
        for k in 0..3 {
            let (r, v) = (&grid.lattice.reciprocal[k], &grid.lattice.vectors[k]);
            let whole = (r[0] * x + r[1] * y + r[2] * z).floor();
            at_x -= whole * v[0];
            at_y -= whole * v[1];
            at_z -= whole * v[2];
        }
        (xs[lane], ys[lane], zs[lane]) = (at_x as f32, at_y as f32, at_z as f32);
    }
}

/// Returns whether an atom has a place.
pub(super) fn has_place(grid: &Grid, position: [f32; 3]) -> bool {
    let mut axes = [[0.0; BLOCK]; 3];
    (0..3).for_each(|k| axes[k][0] = position[k]);
    have_places(InstructionSet::SCALAR, grid, &axes)
}
