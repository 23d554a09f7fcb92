//! Gathers the neighbourhood of each grid cell, and compares its atoms with those.

use std::ops::Range;

use trajet_simd::InstructionSet;

use crate::cell::{Vector, minus};
use crate::exclusion::Excluded;
use crate::neighbours::{self, Exact, Group, LANES, Near, Sorted, Stop};

/// Number of points whose distances are computed at once.
pub(crate) const CHUNK: usize = LANES;
/// Maximal relative increase of a squared distance by rounding.
const SLACK: f64 = 1e-9;

/// Atoms in the neighbourhood of a grid cell.
#[derive(Clone, Debug, Default)]
pub(crate) struct Neighbourhood {
    /// Atoms with only one image that can be the nearest, as that image.
    single: Near<Exact>,
    /// Atoms with several such images, unshifted, in segments with the same shifts to the images.
    several: Near<Exact>,
    /// Labels, residues and locations of the atoms of both, if there are any.
    marks: [Marks; 2],
    segments: Vec<Segment>,
    shifts: Vec<Vector>,
    /// Buffer for the shifts of one row.
    row_shifts: Vec<Vector>,
    /// Buffer for the images of one atom.
    images: Vec<Vector>,
}

/// Labels, and residues and locations, of gathered atoms, as numbers that are compared in chunks.
#[derive(Clone, Debug, Default)]
struct Marks {
    labels: Vec<f64>,
    located: [Vec<f64>; 2],
}

impl Marks {
    fn fill(&mut self, atoms: &[u32], excluded: Excluded<'_>) {
        let pad = atoms.len() + CHUNK;
        if let Some([_, labels]) = excluded.labels {
            self.labels.clear();
            self.labels.extend(atoms.iter().map(|&atom| f64::from(labels[atom as usize])));
            self.labels.resize(pad, f64::INFINITY);
        }
        if let Some([_, locations]) = excluded.locations {
            for (k, values) in self.located.iter_mut().enumerate() {
                values.clear();
                let of_atom = |&atom: &u32| locations[atom as usize].as_floats()[k];
                values.extend(atoms.iter().map(of_atom));
                values.resize(pad, f64::NAN);
            }
        }
    }
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

/// One atom and those that it is compared with: a range of points, followed by a chunk of points at infinity.
pub(crate) struct Candidates<'a> {
    points: &'a Near<Exact>,
    marks: &'a Marks,
    range: Range<usize>,
    /// Images of the atom. The shortest distance to one of them counts.
    images: &'a [Vector],
    /// Points with this label are excluded: they get an infinite distance.
    label: Option<f64>,
    /// Points of this residue that have another location are excluded, too.
    located: Option<[f64; 2]>,
    /// The atom's index in its group.
    pub(crate) atom: u32,
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
        let [x, y, z] = self.points.axes().map(|axis| chunks(axis, self.range.start, n));
        let first = self.range.start;
        let labels = self.label.map(|label| (label, chunks(&self.marks.labels, first, n)));
        let located = self
            .located
            .map(|own| (own, self.marks.located.each_ref().map(|values| chunks(values, first, n))));
        // A loop of its own, which is faster.
        if labels.is_none() && located.is_none() {
            for at in 0..n {
                visit(at, &nearest_squares(image, others, [&x[at], &y[at], &z[at]]));
            }
            return;
        }
        for at in 0..n {
            let mut squares = nearest_squares(image, others, [&x[at], &y[at], &z[at]]);
            if let Some((label, labels)) = labels {
                for k in 0..CHUNK {
                    squares[k] = if labels[at][k] == label { f64::INFINITY } else { squares[k] };
                }
            }
            if let Some(([residue, location], [residues, locations])) = located {
                for k in 0..CHUNK {
                    let is_excluded = (residues[at][k] == residue) & (locations[at][k] != location);
                    squares[k] = if is_excluded { f64::INFINITY } else { squares[k] };
                }
            }
            visit(at, &squares);
        }
    }

    /// Returns the index in its group of a point of a chunk, which must not be one at infinity.
    #[inline(always)]
    pub(crate) fn atom_of(&self, chunk: usize, k: usize) -> u32 {
        self.points.atoms()[self.range.start + chunk * CHUNK + k]
    }
}

/// Receives the distances of pairs.
pub(crate) trait PairVisitor {
    /// Returns the largest distance (Å) of interest. Pairs that are farther apart may be left out. It may decrease
    /// while pairs are visited.
    fn reach(&self) -> f64;

    /// Receives the distances of one atom to others, some of which may be beyond the reach.
    fn visit(&mut self, candidates: &Candidates<'_>);

    /// Calls [`scan_of`], compiled for an instruction set.
    fn scan(&mut self, set: InstructionSet, homes: &Homes<'_>, near: &mut Neighbourhood);
}

/// Some atoms of a grid cell, and the position of these among the gathered ones.
pub(crate) struct Homes<'a> {
    sorted: &'a Sorted<Exact>,
    atoms: Range<usize>,
    excluded: Excluded<'a>,
    own: Own,
}

/// Passes the minimum images of all pairs to a visitor.
pub(crate) struct PairScan<'a, V> {
    pub(crate) near: &'a mut Neighbourhood,
    pub(crate) visitor: &'a mut V,
    /// The values of the home atoms come first.
    pub(crate) excluded: Excluded<'a>,
    /// Whether the groups are the same. Each unordered pair is then counted once.
    pub(crate) is_one: bool,
}

impl<V: PairVisitor> neighbours::Visitor<Exact> for PairScan<'_, V> {
    fn visit(&mut self, group: &Group<'_, Exact>) -> Result<(), Stop> {
        let excluded = self.excluded;
        let own = self.near.gather(group, self.visitor.reach(), excluded, self.is_one)?;
        let search = group.search();
        let homes = Homes { sorted: search.homes(), atoms: group.homes(), excluded, own };
        self.visitor.scan(search.instructions(), &homes, self.near);
        Ok(())
    }
}

impl Neighbourhood {
    /// Gathers the atoms near a group. Within one group, its own atoms come first, then those that are sorted behind them.
    fn gather(
        &mut self,
        group: &Group<'_, Exact>,
        reach: f64,
        excluded: Excluded<'_>,
        is_one: bool,
    ) -> Result<Own, Stop> {
        self.single.clear();
        self.several.clear();
        self.segments.clear();
        self.shifts.clear();
        let (search, bounds, homes) = (group.search(), group.bounds(), group.homes());
        let (set, others) = (search.instructions(), search.others());
        let most = reach * reach * (1.0 + SLACK);
        let (mut own, mut begin) = (Own::Nowhere, 0);
        if is_one {
            begin = homes.end;
            own = match *group.own_shifts() {
                [_] => {
                    let zero = [0.0; 3];
                    self.single.append(set, others, homes, zero, &bounds, f64::INFINITY)?;
                    Own::Single
                }
                ref shifts => {
                    self.add_segment(group, homes, shifts)?;
                    Own::Several
                }
            };
        }
        let mut row_shifts = std::mem::take(&mut self.row_shifts);
        group.each_row(&mut row_shifts, |row, shifts| {
            let row = row.start.max(begin)..row.end;
            match *shifts {
                _ if row.is_empty() => {}
                [shift] => {
                    self.single.append(set, others, row, shift, &bounds, most)?;
                }
                _ => self.add_segment(group, row, shifts)?,
            }
            Ok(())
        })?;
        self.row_shifts = row_shifts;
        self.single.finish()?;
        self.several.finish()?;
        for (marks, near) in self.marks.iter_mut().zip([&self.single, &self.several]) {
            marks.fill(near.atoms(), excluded);
        }
        Ok(own)
    }

    /// Adds a row of atoms that are seen through several shifts.
    fn add_segment(
        &mut self,
        group: &Group<'_, Exact>,
        row: Range<usize>,
        shifts: &[Vector],
    ) -> Result<(), Stop> {
        let last = self.segments.last();
        if last.is_none_or(|last| self.shifts[last.shifts.clone()] != *shifts) {
            if !self.segments.is_empty() {
                self.several.pad()?;
            }
            let (points, first) = (self.several.atoms().len(), self.shifts.len());
            self.shifts.extend_from_slice(shifts);
            let shifts = first..self.shifts.len();
            self.segments.push(Segment { points: points..points, shifts });
        }
        let (search, bounds) = (group.search(), group.bounds());
        let (set, others) = (search.instructions(), search.others());
        self.several.append(set, others, row, [0.0; 3], &bounds, f64::INFINITY)?;
        let end = self.several.atoms().len();
        self.segments.last_mut().expect("there is one").points.end = end;
        Ok(())
    }
}

/// Visits the pairs of some atoms with the gathered ones.
#[inline(always)]
pub(crate) fn scan_of(homes: &Homes<'_>, near: &mut Neighbourhood, visitor: &mut impl PairVisitor) {
    let Homes { sorted, ref atoms, excluded, own } = *homes;
    let Neighbourhood { single, several, segments, shifts, images, marks, .. } = near;
    let [of_single, of_several] = &*marks;
    for i in atoms.clone() {
        let home = sorted.point(i);
        let atom = sorted.atoms()[i];
        let label = excluded.labels.map(|[homes, _]| f64::from(homes[atom as usize]));
        let located = excluded.locations.map(|[homes, _]| homes[atom as usize].as_floats());
        let behind = i - atoms.start + 1;
        let start = if own == Own::Single { behind } else { 0 };
        let range = start..single.atoms().len();
        let image = &[home];
        visitor.visit(&Candidates {
            points: single,
            marks: of_single,
            range,
            images: image,
            label,
            located,
            atom,
        });
        for (n, segment) in segments.iter().enumerate() {
            images.clear();
            images.extend(shifts[segment.shifts.clone()].iter().map(|&s| minus(home, s)));
            let skip = if n == 0 && own == Own::Several { behind } else { 0 };
            let range = segment.points.start + skip..segment.points.end;
            visitor.visit(&Candidates {
                points: several,
                marks: of_several,
                range,
                images,
                label,
                located,
                atom,
            });
        }
    }
}

#[inline(always)]
fn chunks(axis: &[f64], start: usize, n: usize) -> &[[f64; CHUNK]] {
    &axis[start..].as_chunks::<CHUNK>().0[..n]
}

/// Returns the squared distances (Å²) of points to the nearest of several images.
#[inline(always)]
fn nearest_squares(image: Vector, others: &[Vector], chunk: [&[f64; CHUNK]; 3]) -> [f64; CHUNK] {
    let mut squares = squares_to(image, chunk);
    for &image in others {
        let more = squares_to(image, chunk);
        for k in 0..CHUNK {
            squares[k] = if more[k] < squares[k] { more[k] } else { squares[k] };
        }
    }
    squares
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
