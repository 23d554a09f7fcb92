//! Atoms near some others, gathered once for all of these.

use std::ops::Range;

use trajet_simd::{InstructionSet, multiversion};

use super::number::Number;
use super::sorted::{Bounds, LANES, Sorted};
use crate::memory::{NoMemory, reserve};

/// Atoms near some others, as images.
#[derive(Clone, Debug, Default)]
pub struct Near<C> {
    axes: [Vec<C>; 3],
    atoms: Vec<u32>,
    len: usize,
}

/// Coordinates in which the atoms near a box can be gathered.
pub trait Gather: Number {
    /// Appends atoms that are near a box; see [`Near::append`].
    #[doc(hidden)]
    fn gather(
        set: InstructionSet,
        near: &mut Near<Self>,
        axes: [&[Self]; 3],
        atoms: &[u32],
        shift: [Self; 3],
        bounds: &Bounds<Self>,
        most: Self,
    ) -> Self;
}

macro_rules! gather {
    ($type:ty, $gather:path) => {
        impl Gather for $type {
            #[inline]
            fn gather(
                set: InstructionSet,
                near: &mut Near<$type>,
                axes: [&[$type]; 3],
                atoms: &[u32],
                shift: [$type; 3],
                bounds: &Bounds<$type>,
                most: $type,
            ) -> $type {
                $gather(set, near, axes, atoms, shift, bounds, most)
            }
        }
    };
}

gather!(f32, gather_rough);
gather!(f64, gather_exact);

impl<C: Gather> Near<C> {
    /// Removes all atoms.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Returns the atoms.
    #[inline(always)]
    pub fn atoms(&self) -> &[u32] {
        &self.atoms[..self.len]
    }

    /// Returns the coordinates of the atoms. After [`Near::finish`], at least [`LANES`] infinite ones follow them.
    #[inline(always)]
    pub(crate) fn axes(&self) -> [&[C]; 3] {
        self.axes.each_ref().map(|axis| &axis[..])
    }

    /// Appends those of some sorted atoms whose image is at a squared distance of at most `most` from a box. Returns the
    /// least squared distance of an image to the farthest corner of the box; infinity in exact coordinates.
    ///
    /// # Errors
    /// [`NoMemory`].
    #[inline]
    pub fn append(
        &mut self,
        set: InstructionSet,
        sorted: &Sorted<C>,
        range: Range<usize>,
        shift: [C; 3],
        bounds: &Bounds<C>,
        most: C,
    ) -> Result<C, NoMemory> {
        self.make_room(range.len())?;
        let padded = range.start..range.end + LANES;
        let [xs, ys, zs] = sorted.axes();
        let axes = [&xs[padded.clone()], &ys[padded.clone()], &zs[padded]];
        Ok(C::gather(set, self, axes, &sorted.atoms[range], shift, bounds, most))
    }

    /// Makes coordinates after the last atom infinite, so that they can be read in whole lanes.
    ///
    /// # Errors
    /// [`NoMemory`].
    pub fn finish(&mut self) -> Result<(), NoMemory> {
        self.make_room(0)?;
        for axis in &mut self.axes {
            axis[self.len..self.len + LANES].fill(C::INFINITY);
        }
        Ok(())
    }

    /// Appends [`LANES`] points at infinity.
    pub(crate) fn pad(&mut self) -> Result<(), NoMemory> {
        self.finish()?;
        self.atoms[self.len..self.len + LANES].fill(0);
        self.len += LANES;
        Ok(())
    }

    /// Makes room for more atoms and a whole number of lanes.
    #[inline]
    fn make_room(&mut self, more: usize) -> Result<(), NoMemory> {
        let needed = self.len + more + 2 * LANES;
        if needed > self.atoms.len() { self.grow(needed) } else { Ok(()) }
    }

    #[cold]
    fn grow(&mut self, needed: usize) -> Result<(), NoMemory> {
        let grown = needed.max(2 * self.atoms.len());
        let more = grown - self.atoms.len();
        for axis in &mut self.axes {
            reserve(axis, more, "neighbours")?;
            axis.resize(grown, C::INFINITY);
        }
        reserve(&mut self.atoms, more, "neighbours")?;
        self.atoms.resize(grown, 0);
        Ok(())
    }
}

impl Near<f32> {
    /// Returns the squared distance of a point to the nearest of the atoms; infinite if there are none.
    pub fn nearest(&self, set: InstructionSet, point: [f32; 3]) -> f32 {
        nearest_square(set, self.lanes(), point)
    }

    /// Replaces `places` by those of the atoms whose squared distance to a point is at most `most`.
    ///
    /// # Errors
    /// [`NoMemory`].
    pub fn within(
        &self,
        set: InstructionSet,
        point: [f32; 3],
        most: f32,
        places: &mut Vec<u32>,
    ) -> Result<(), NoMemory> {
        places.clear();
        reserve(places, self.len, "neighbours")?;
        places_within(set, self.lanes(), self.len, point, most, places);
        Ok(())
    }

    #[inline]
    fn lanes(&self) -> [&[[f32; LANES]]; 3] {
        let n = self.len.div_ceil(LANES);
        self.axes.each_ref().map(|axis| &axis.as_chunks().0[..n])
    }
}

multiversion! {
    /// [`gather_body`] in `f32`.
    fn gather_rough<'a>(
        near: &'a mut Near<f32>, axes: [&'a [f32]; 3], atoms: &'a [u32], shift: [f32; 3], bounds: &'a Bounds<f32>, most: f32,
    ) -> f32 = gather_body
}

multiversion! {
    /// [`gather_body`] in `f64`.
    fn gather_exact<'a>(
        near: &'a mut Near<f64>, axes: [&'a [f64]; 3], atoms: &'a [u32], shift: [f64; 3], bounds: &'a Bounds<f64>, most: f64,
    ) -> f64 = gather_body
}

/// Appends those atoms whose squared distance to the bounds is at most `most`; returns the least squared distance of one
/// of all atoms to the farthest point of the bounds; infinity in exact coordinates.
#[inline(always)]
fn gather_body<C: Number>(
    near: &mut Near<C>,
    axes: [&[C]; 3],
    atoms: &[u32],
    shift: [C; 3],
    bounds: &Bounds<C>,
    most: C,
) -> C {
    let mut least = [C::INFINITY; LANES];
    let mut end = near.len;
    for (chunk, atoms) in atoms.chunks(LANES).enumerate() {
        let mut points = [[C::ZERO; LANES]; 3];
        let (mut squares, mut farthest) = ([C::ZERO; LANES], [C::ZERO; LANES]);
        for k in 0..3 {
            let lanes: &[C; LANES] =
                axes[k][chunk * LANES..].first_chunk().expect("padded by as many");
            let (low, high) = (bounds.low[k], bounds.high[k]);
            for lane in 0..LANES {
                let x = lanes[lane] + shift[k];
                let (below, above) = (low - x, x - high);
                let outside = if below > above { below } else { above };
                let outside = if outside > C::ZERO { outside } else { C::ZERO };
                squares[lane] = squares[lane] + outside * outside;
                if C::IS_SCREENED {
                    let far = if below < above { x - low } else { high - x };
                    farthest[lane] = farthest[lane] + far * far;
                }
                points[k][lane] = x;
            }
        }
        if C::IS_SCREENED {
            for lane in 0..LANES {
                let far = if lane < atoms.len() { farthest[lane] } else { C::INFINITY };
                least[lane] = if far < least[lane] { far } else { least[lane] };
            }
        }
        let mut bits = lanes_within(&squares, most) & ((1 << atoms.len()) - 1);
        if bits == 0 {
            continue;
        }
        let [xs, ys, zs] = near.axes.each_mut().map(|axis| lanes_from(axis, end));
        let indices = lanes_from(&mut near.atoms, end);
        let mut count = 0;
        while bits != 0 {
            // Neither exceeds the number of lanes, which the compiler does not see.
            let (lane, to) = (bits.trailing_zeros() as usize % LANES, count % LANES);
            bits &= bits - 1;
            (xs[to], ys[to], zs[to]) = (points[0][lane], points[1][lane], points[2][lane]);
            indices[to] = atoms[lane];
            count += 1;
        }
        end += count;
    }
    near.len = end;
    smallest(&least)
}

/// Returns a bit for each square, which is set if the square is at most `most`.
#[inline(always)]
fn lanes_within<C: Number>(squares: &[C; LANES], most: C) -> u32 {
    let mut bits = 0;
    for lane in 0..LANES {
        bits |= u32::from(squares[lane] <= most) << lane;
    }
    bits
}

#[inline(always)]
fn lanes_from<T>(array: &mut [T], start: usize) -> &mut [T; LANES] {
    array[start..].first_chunk_mut().expect("there is room")
}

#[inline(always)]
fn smallest<C: Number>(values: &[C; LANES]) -> C {
    let mut smallest = C::INFINITY;
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
        axes: [&'a [[f32; LANES]]; 3], len: usize, point: [f32; 3], most: f32, places: &'a mut Vec<u32>,
    ) = places_body
}

#[inline(always)]
fn places_body(
    [xs, ys, zs]: [&[[f32; LANES]]; 3],
    len: usize,
    point: [f32; 3],
    most: f32,
    places: &mut Vec<u32>,
) {
    for (chunk, ((x, y), z)) in xs.iter().zip(ys).zip(zs).enumerate() {
        let squares = squares([x, y, z], point);
        let mut bits = lanes_within(&squares, most);
        while bits != 0 {
            let place = (chunk * LANES) as u32 + bits.trailing_zeros();
            // The padding can be within an infinite distance.
            if (place as usize) < len {
                places.push(place);
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
