//! Visits all grid cells: gathers the neighbourhood of each, and compares its atoms with those.

use std::ops::Range;

use trajet_simd::InstructionSet;

use super::grid::{CHUNK, Grid, Points, Row, Sorted};
use crate::cell::{Vector, minus};

/// Maximal relative increase of a distance by rounding.
const SLACK: f64 = 1e-9;

/// Two groups of atoms on a grid.
pub(crate) struct GriddedGroups<'a> {
    pub(crate) grid: &'a Grid,
    pub(crate) homes: &'a Sorted,
    pub(crate) others: &'a Sorted,
    /// Whether the groups are the same. Each unordered pair is then counted once.
    pub(crate) same: bool,
}

/// Atoms in the neighbourhood of a grid cell.
#[derive(Clone, Debug, Default)]
pub(crate) struct Near {
    /// Atoms with only one image that can be the nearest, as that image.
    single: Points,
    /// Atoms with several such images, unshifted, in segments with the same shifts to the images.
    several: Points,
    segments: Vec<Segment>,
    shifts: Vec<Vector>,
    /// Buffer for the shifts of one cell.
    found: Vec<Vector>,
    /// Buffer for the images of one atom.
    images: Vec<Vector>,
}

/// Ranges of `several` and `shifts`.
#[derive(Clone, Debug)]
struct Segment {
    points: Range<usize>,
    shifts: Range<usize>,
}

/// Position of the cell's own atoms among the gathered ones: in front, so that each is compared with those after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Own {
    /// The groups differ: own atoms are among the others.
    Nowhere,
    Single,
    Several,
}

/// Rows of neighbours that are the same row of the grid, through different shifts.
type Class = Vec<Row>;

/// One atom and those that it is compared with: a range of points, followed by a chunk of points at infinity.
pub(crate) struct Candidates<'a> {
    points: &'a Points,
    range: Range<usize>,
    /// Images of the atom. The shortest distance to one of them counts.
    images: &'a [Vector],
    /// Points with this label are excluded: they get an infinite distance.
    label: Option<f64>,
    /// The atom's tag, 0 if atoms have none.
    pub(crate) tag: u32,
}

impl Candidates<'_> {
    /// Returns the number of chunks. The last ones may consist of points at infinity.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.range.len().div_ceil(CHUNK)
    }

    /// Calls `visit` with the number of each chunk and the squared distances (Å²) of its points.
    #[inline(always)]
    pub(crate) fn each(&self, mut visit: impl FnMut(usize, &[f64; CHUNK])) {
        let Some((&image, others)) = self.images.split_first() else { return };
        let n = self.len();
        let [x, y, z] = self.points.axes.each_ref().map(|axis| chunks(axis, self.range.start, n));
        let labels =
            self.label.map(|label| (label, chunks(&self.points.labels, self.range.start, n)));
        for at in 0..n {
            let chunk = [&x[at], &y[at], &z[at]];
            let mut squares = squares_to(image, chunk);
            for &image in others {
                let more = squares_to(image, chunk);
                for k in 0..CHUNK {
                    squares[k] = if more[k] < squares[k] { more[k] } else { squares[k] };
                }
            }
            if let Some((label, labels)) = labels {
                for k in 0..CHUNK {
                    squares[k] = if labels[at][k] == label { f64::INFINITY } else { squares[k] };
                }
            }
            visit(at, &squares);
        }
    }

    /// Returns the tag of a point of a chunk, which must not be one at infinity.
    #[inline(always)]
    pub(crate) fn tag_of(&self, chunk: usize, k: usize) -> u32 {
        self.points.tags[self.range.start + chunk * CHUNK + k]
    }
}

/// Receives the distances of pairs.
pub(crate) trait Visitor {
    /// Returns the largest distance (Å) of interest. Pairs that are farther apart may be left out. It may decrease
    /// while pairs are visited.
    fn reach(&self) -> f64;

    /// Receives the distances of one atom to others, some of which may be beyond the reach.
    fn visit(&mut self, candidates: &Candidates<'_>);

    /// Calls [`scan_of`], compiled for an instruction set.
    fn scan(
        &mut self,
        set: InstructionSet,
        homes: &Points,
        atoms: Range<usize>,
        near: &mut Near,
        own: Own,
    );
}

/// Visits the pairs of two groups at their minimum images.
pub(crate) fn visit_pairs(
    set: InstructionSet,
    groups: &GriddedGroups<'_>,
    near: &mut Near,
    visitor: &mut impl Visitor,
) {
    let [a, b, c] = groups.grid.divisions;
    let class = |row: &Row| [row.along[1].rem_euclid(c), row.along[0].rem_euclid(b)];
    let mut rows = groups.grid.neighbours();
    rows.sort_by_key(class);
    // The first class is the cell's own row, whose remainders are zero.
    let classes: Vec<Class> =
        rows.chunk_by(|x, y| class(x) == class(y)).map(<[Row]>::to_vec).collect();
    for (k, j) in (0..c).flat_map(|k| (0..b).map(move |j| (k, j))) {
        for i in 0..a {
            let number = groups.grid.number([i, j, k]);
            let atoms = groups.homes.atoms(number..number + 1);
            if !atoms.is_empty() {
                let own = near.gather(groups, &classes, [i, j, k]);
                visitor.scan(set, &groups.homes.points, atoms, near, own);
            }
        }
    }
}

impl Near {
    /// Gathers the atoms of all neighbours of a cell. Within one group, the cell's own atoms come first, then those of
    /// cells with a higher index.
    fn gather(&mut self, groups: &GriddedGroups<'_>, classes: &[Class], place: [i32; 3]) -> Own {
        self.single.clear();
        self.several.clear();
        self.segments.clear();
        self.shifts.clear();
        let grid = groups.grid;
        let [a, b, c] = grid.divisions;
        let home = grid.number(place);
        let mut own = Own::Nowhere;
        if groups.same {
            self.add_cell(groups, &classes[0], place, place);
            own = if self.segments.is_empty() { Own::Single } else { Own::Several };
        }
        for class in classes {
            let [first, ..] = class[..] else { continue };
            let (j, _) = divide(place[1] + first.along[0], b);
            let (k, _) = divide(place[2] + first.along[1], c);
            let row = grid.number([0, j, k]);
            let begin = if groups.same { (home + 1).saturating_sub(row) } else { 0 };
            let begin = i32::try_from(begin).map_or(a, |begin| begin.min(a));
            match class[..] {
                [only] if only.last - only.first < a => {
                    self.add_row(groups, only, place, begin);
                }
                _ => (begin..a).for_each(|i| self.add_cell(groups, class, place, [i, j, k])),
            }
        }
        self.several.pad();
        own
    }

    /// Adds the cells from `begin` on of a row that is seen through one shift at a time.
    fn add_row(&mut self, groups: &GriddedGroups<'_>, row: Row, place: [i32; 3], begin: i32) {
        let grid = groups.grid;
        let [a, b, c] = grid.divisions;
        let (j, shift_b) = divide(place[1] + row.along[0], b);
        let (k, shift_c) = divide(place[2] + row.along[1], c);
        let mut at = place[0] + row.first;
        let end = place[0] + row.last + 1;
        while at < end {
            let (i, shift_a) = divide(at, a);
            let length = (end - at).min(a - i);
            let (first, last) = (i.max(begin), i + length);
            if first < last {
                let start = grid.number([first, j, k]);
                let atoms = groups.others.atoms(start..start + (last - first) as usize);
                let shift = grid.shift([shift_a, shift_b, shift_c]);
                self.single.extend(&groups.others.points, atoms, shift);
            }
            at += length;
        }
    }

    /// Adds the cell `other`, which may be seen through several shifts.
    fn add_cell(
        &mut self,
        groups: &GriddedGroups<'_>,
        class: &Class,
        place: [i32; 3],
        other: [i32; 3],
    ) {
        let grid = groups.grid;
        let [a, b, c] = grid.divisions;
        let number = grid.number(other);
        let atoms = groups.others.atoms(number..number + 1);
        if atoms.is_empty() {
            return;
        }
        self.found.clear();
        for row in class {
            let (_, shift_b) = divide(place[1] + row.along[0], b);
            let (_, shift_c) = divide(place[2] + row.along[1], c);
            // The first image of `other` at or after the row's first cell.
            let (_, before) = divide(place[0] + row.first - other[0] - 1, a);
            for shift_a in before + 1.. {
                if other[0] + shift_a * a > place[0] + row.last {
                    break;
                }
                self.found.push(grid.shift([shift_a, shift_b, shift_c]));
            }
        }
        match self.found[..] {
            [] => {}
            [shift] => self.single.extend(&groups.others.points, atoms, shift),
            _ => {
                let last = self.segments.last();
                if last.is_none_or(|last| self.shifts[last.shifts.clone()] != self.found[..]) {
                    if !self.segments.is_empty() {
                        self.several.pad();
                    }
                    let (points, shifts) = (self.several.len(), self.shifts.len());
                    self.shifts.extend_from_slice(&self.found);
                    let shifts = shifts..self.shifts.len();
                    self.segments.push(Segment { points: points..points, shifts });
                }
                self.several.extend(&groups.others.points, atoms, [0.0; 3]);
                let end = self.several.len();
                self.segments.last_mut().expect("there is one").points.end = end;
            }
        }
    }
}

/// Returns remainder and quotient, rounded down, of a number that is a few divisors from zero.
pub(super) fn divide(mut number: i32, divisor: i32) -> (i32, i32) {
    let mut quotient = 0;
    while number < 0 {
        number += divisor;
        quotient -= 1;
    }
    while number >= divisor {
        number -= divisor;
        quotient += 1;
    }
    (number, quotient)
}

/// Visits the pairs of some atoms with the gathered ones.
#[inline(always)]
pub(crate) fn scan_of(
    homes: &Points,
    atoms: Range<usize>,
    near: &mut Near,
    own: Own,
    visitor: &mut impl Visitor,
) {
    let first = atoms.start;
    let kept = if own == Own::Single { atoms.len() } else { 0 };
    near.drop_distant(kept, homes, atoms.clone(), visitor.reach());
    let Near { single, several, segments, shifts, images, .. } = near;
    for i in atoms {
        let home = [0, 1, 2].map(|k| homes.axes[k][i]);
        let label = homes.labels.get(i).copied();
        let tag = homes.tags.get(i).copied().unwrap_or(0);
        let behind = i - first + 1;
        let start = if own == Own::Single { behind } else { 0 };
        let range = start..single.len() - CHUNK;
        visitor.visit(&Candidates { points: single, range, images: &[home], label, tag });
        for (n, segment) in segments.iter().enumerate() {
            images.clear();
            images.extend(shifts[segment.shifts.clone()].iter().map(|&s| minus(home, s)));
            let skip = if n == 0 && own == Own::Several { behind } else { 0 };
            let range = segment.points.start + skip..segment.points.end;
            visitor.visit(&Candidates { points: several, range, images, label, tag });
        }
    }
}

impl Near {
    /// Drops points after the first `kept` that are farther than the reach from the bounding box of some atoms, and
    /// appends a chunk of points at infinity.
    #[inline(always)]
    fn drop_distant(&mut self, kept: usize, homes: &Points, atoms: Range<usize>, reach: f64) {
        let mut centre = [0.0; 3];
        let mut half = [0.0; 3];
        for k in 0..3 {
            let axis = &homes.axes[k][atoms.clone()];
            let low = axis.iter().copied().fold(f64::INFINITY, f64::min);
            let high = axis.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            (centre[k], half[k]) = ((low + high) / 2.0, (high - low) / 2.0);
        }
        let farthest = reach * reach * (1.0 + SLACK);
        let outside = |x: f64, k: usize| {
            let d = (x - centre[k]).abs() - half[k];
            if d > 0.0 { d } else { 0.0 }
        };
        let points = &mut self.single;
        points.pad();
        let n = points.len();
        let [x, y, z] = points.axes.each_mut().map(|axis| &mut axis[..n]);
        let (labelled, tagged) = (!points.labels.is_empty(), !points.tags.is_empty());
        let mut to = kept;
        for at in (kept..=n - CHUNK).step_by(CHUNK) {
            let chunk = |axis: &[f64]| *axis[at..].first_chunk::<CHUNK>().expect("a whole one");
            let (cx, cy, cz) = (chunk(x), chunk(y), chunk(z));
            let mut near = [0u8; CHUNK];
            for k in 0..CHUNK {
                let d = [outside(cx[k], 0), outside(cy[k], 1), outside(cz[k], 2)];
                near[k] = u8::from(d[0] * d[0] + d[1] * d[1] + d[2] * d[2] <= farthest);
            }
            if near == [0; CHUNK] {
                continue;
            }
            let begin = to;
            for k in 0..CHUNK {
                (x[to], y[to], z[to]) = (x[at + k], y[at + k], z[at + k]);
                to += usize::from(near[k]);
            }
            if labelled {
                let mut to = begin;
                for k in 0..CHUNK {
                    points.labels[to] = points.labels[at + k];
                    to += usize::from(near[k]);
                }
            }
            if tagged {
                let mut to = begin;
                for k in 0..CHUNK {
                    points.tags[to] = points.tags[at + k];
                    to += usize::from(near[k]);
                }
            }
        }
        points.truncate(to);
        points.pad();
    }
}

#[inline(always)]
fn chunks(axis: &[f64], start: usize, n: usize) -> &[[f64; CHUNK]] {
    &axis[start..].as_chunks::<CHUNK>().0[..n]
}

#[inline(always)]
fn squares_to(image: Vector, [x, y, z]: [&[f64; CHUNK]; 3]) -> [f64; CHUNK] {
    let mut squares = [0.0; CHUNK];
    for k in 0..CHUNK {
        let d = [x[k] - image[0], y[k] - image[1], z[k] - image[2]];
        squares[k] = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
    }
    squares
}
