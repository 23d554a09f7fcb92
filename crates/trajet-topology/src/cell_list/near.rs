//! Atoms near a group of atoms, gathered once for all atoms of the group.

use trajet_simd::{InstructionSet, multiversion};

use super::grid::Limits;
use crate::Fault;
use crate::error::reserve;

/// Number of atoms that are compared together.
pub(super) const LANES: usize = 16;

/// Coordinates of atoms, one array for each axis; [`LANES`] infinite coordinates follow.
#[derive(Clone, Debug, Default)]
pub(super) struct Points {
    pub(super) axes: [Vec<f32>; 3],
}

impl Points {
    /// Returns the padded coordinates of `n` atoms, all infinite.
    pub(super) fn infinite(n: usize) -> Result<Self, Fault> {
        let mut points = Points::default();
        for axis in &mut points.axes {
            reserve(axis, n + LANES, "a grid")?;
            axis.resize(n + LANES, f32::INFINITY);
        }
        Ok(points)
    }

    #[inline]
    pub(super) fn get(&self, at: usize) -> [f32; 3] {
        [self.axes[0][at], self.axes[1][at], self.axes[2][at]]
    }
}

/// A box around points.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    low: [f32; 3],
    high: [f32; 3],
}

impl Bounds {
    /// Returns the box around points.
    pub(super) fn around(points: impl Iterator<Item = [f32; 3]>) -> Self {
        let (mut low, mut high) = ([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]);
        for point in points {
            for k in 0..3 {
                low[k] = low[k].min(point[k]);
                high[k] = high[k].max(point[k]);
            }
        }
        Bounds { low, high }
    }

    /// Returns the lengths of the box; zero if there are no points.
    pub(super) fn lengths(&self) -> [f64; 3] {
        [0, 1, 2].map(|k| (f64::from(self.high[k]) - f64::from(self.low[k])).max(0.0))
    }
}

/// Atoms near a group.
#[derive(Clone, Debug, Default)]
pub(super) struct Near {
    points: Points,
    atoms: Vec<u32>,
    len: usize,
}

impl Near {
    pub(super) fn clear(&mut self) {
        self.len = 0;
    }

    pub(super) fn atoms(&self) -> &[u32] {
        &self.atoms[..self.len]
    }

    /// Appends atoms whatever their distance; their coordinates are not used.
    pub(super) fn append_all(&mut self, atoms: &[u32]) -> Result<(), Fault> {
        self.make_room(atoms.len())?;
        self.atoms[self.len..self.len + atoms.len()].copy_from_slice(atoms);
        self.len += atoms.len();
        Ok(())
    }

    /// Appends those of some atoms that can be within the distance of a point in the bounds. Returns whether one of them
    /// is certainly within the distance of every such point.
    pub(super) fn append_within(
        &mut self,
        set: InstructionSet,
        (points, atoms): (&Points, &[u32]),
        range: std::ops::Range<usize>,
        shift: [f32; 3],
        bounds: &Bounds,
        limits: Limits,
    ) -> Result<bool, Fault> {
        self.make_room(range.len())?;
        let padded = range.start..range.end + LANES;
        let [xs, ys, zs] = &points.axes;
        let axes = [&xs[padded.clone()], &ys[padded.clone()], &zs[padded]];
        let farthest = gather(set, self, axes, &atoms[range], shift, bounds, limits.possible);
        Ok(farthest <= limits.sure)
    }

    /// Makes coordinates after the last atom infinite, so that they can be read in whole lanes.
    pub(super) fn finish(&mut self) -> Result<(), Fault> {
        self.make_room(0)?;
        for axis in &mut self.points.axes {
            axis[self.len..self.len + LANES].fill(f32::INFINITY);
        }
        Ok(())
    }

    /// Returns the squared distance of a point to the nearest of the atoms; infinite if there are none.
    pub(super) fn nearest(&self, set: InstructionSet, point: [f32; 3]) -> f32 {
        nearest_square(set, self.padded(), point)
    }

    /// Appends the places of the atoms whose squared distance to a point is at most `most`.
    pub(super) fn within(
        &self,
        set: InstructionSet,
        point: [f32; 3],
        most: f32,
        found: &mut Vec<u32>,
    ) -> Result<(), Fault> {
        found.clear();
        reserve(found, self.len, "neighbours")?;
        places_within(set, self.padded(), self.len, point, most, found);
        Ok(())
    }

    #[inline]
    fn padded(&self) -> [&[[f32; LANES]]; 3] {
        let n = self.len.div_ceil(LANES);
        let [xs, ys, zs] = &self.points.axes;
        [&xs.as_chunks().0[..n], &ys.as_chunks().0[..n], &zs.as_chunks().0[..n]]
    }

    /// Makes room for more atoms and a whole number of lanes.
    fn make_room(&mut self, more: usize) -> Result<(), Fault> {
        let needed = self.len + more + 2 * LANES;
        if needed > self.atoms.len() {
            let grown = needed.max(2 * self.atoms.len());
            for axis in &mut self.points.axes {
                reserve(axis, grown - axis.len(), "neighbours")?;
                axis.resize(grown, f32::INFINITY);
            }
            let more = grown - self.atoms.len();
            reserve(&mut self.atoms, more, "neighbours")?;
            self.atoms.resize(grown, 0);
        }
        Ok(())
    }
}

multiversion! {
    /// Appends those atoms whose squared distance to the bounds is at most `most`; returns the least squared distance of
    /// one of all atoms to the farthest point of the bounds.
    fn gather<'a>(
        near: &'a mut Near, axes: [&'a [f32]; 3], atoms: &'a [u32], shift: [f32; 3], bounds: &'a Bounds, most: f32,
    ) -> f32 = gather_body
}

#[inline(always)]
fn gather_body(
    near: &mut Near,
    axes: [&[f32]; 3],
    atoms: &[u32],
    shift: [f32; 3],
    bounds: &Bounds,
    most: f32,
) -> f32 {
    let mut least = [f32::INFINITY; LANES];
    let mut end = near.len;
    for first in (0..atoms.len()).step_by(LANES) {
        let mut points = [[0.0_f32; LANES]; 3];
        let (mut squares, mut farthest) = ([0.0_f32; LANES], [0.0_f32; LANES]);
        for k in 0..3 {
            let lanes: &[f32; LANES] =
                axes[k][first..first + LANES].try_into().expect("padded by as many");
            let (low, high) = (bounds.low[k], bounds.high[k]);
            for lane in 0..LANES {
                let x = lanes[lane] + shift[k];
                let (below, above) = (low - x, x - high);
                let outside = if below > above { below } else { above };
                let outside = if outside > 0.0 { outside } else { 0.0 };
                let far = if low - x < x - high { x - low } else { high - x };
                squares[lane] += outside * outside;
                farthest[lane] += far * far;
                points[k][lane] = x;
            }
        }
        let count = (atoms.len() - first).min(LANES);
        for lane in 0..LANES {
            let far = if lane < count { farthest[lane] } else { f32::INFINITY };
            least[lane] = if far < least[lane] { far } else { least[lane] };
        }
        let mut keep = [false; LANES];
        for lane in 0..LANES {
            keep[lane] = squares[lane] <= most;
        }
        if keep == [false; LANES] {
            continue;
        }
        for lane in 0..count {
            for k in 0..3 {
                near.points.axes[k][end] = points[k][lane];
            }
            near.atoms[end] = atoms[first + lane];
            end += usize::from(keep[lane]);
        }
    }
    near.len = end;
    smallest(&least)
}

#[inline(always)]
fn smallest(values: &[f32; LANES]) -> f32 {
    let mut smallest = f32::INFINITY;
    for &value in values {
        smallest = if value < smallest { value } else { smallest };
    }
    smallest
}

multiversion! {
    fn nearest_square<'a>(axes: [&'a [[f32; LANES]]; 3], point: [f32; 3]) -> f32 = nearest_body
}

#[inline(always)]
fn nearest_body([xs, ys, zs]: [&[[f32; LANES]]; 3], point: [f32; 3]) -> f32 {
    let mut least = [f32::INFINITY; LANES];
    for ((x, y), z) in xs.iter().zip(ys).zip(zs) {
        let squares = squares([x, y, z], point);
        for lane in 0..LANES {
            least[lane] = if squares[lane] < least[lane] { squares[lane] } else { least[lane] };
        }
    }
    smallest(&least)
}

multiversion! {
    fn places_within<'a>(
        axes: [&'a [[f32; LANES]]; 3], len: usize, point: [f32; 3], most: f32, found: &'a mut Vec<u32>,
    ) = places_body
}

#[inline(always)]
fn places_body(
    [xs, ys, zs]: [&[[f32; LANES]]; 3],
    len: usize,
    point: [f32; 3],
    most: f32,
    found: &mut Vec<u32>,
) {
    for (chunk, ((x, y), z)) in xs.iter().zip(ys).zip(zs).enumerate() {
        let squares = squares([x, y, z], point);
        let mut bits = 0_u32;
        for lane in 0..LANES {
            bits |= u32::from(squares[lane] <= most) << lane;
        }
        while bits != 0 {
            let place = (chunk * LANES) as u32 + bits.trailing_zeros();
            // The padding can be within an infinite distance.
            if (place as usize) < len {
                found.push(place);
            }
            bits &= bits - 1;
        }
    }
}

#[inline(always)]
fn squares([x, y, z]: [&[f32; LANES]; 3], point: [f32; 3]) -> [f32; LANES] {
    let mut squares = [0.0; LANES];
    for lane in 0..LANES {
        let d = [x[lane] - point[0], y[lane] - point[1], z[lane] - point[2]];
        squares[lane] = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
    }
    squares
}
