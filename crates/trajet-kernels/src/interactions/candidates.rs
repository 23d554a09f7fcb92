//! A frame, and the pairs of atoms or points in it that may be near.

use crate::cell::{Cell, Vector, cosine_of, image, minus, square};
use crate::contacts::{ContactFinder, reach_of_candidates};
use crate::exclusion::Excluded;
use crate::pairs::{Groups, Misplaced};

/// Pairs of centres of rings, or of cations and these, that are compared without a grid.
const WITHOUT_GRID: usize = 10_000;
/// Increase of the distance (Å) at which the grid finds centres, whose coordinates are rounded to `f32`.
const SLACK_OF_CENTRES: f64 = 1e-2;
/// Relative increase of a distance by which candidates are found.
const SLACK: f64 = 1e-6;
/// A frame.
#[derive(Clone, Copy)]
pub(super) struct Frame<'a> {
    pub(super) cell: Option<&'a Cell>,
    pub(super) atoms: &'a [[f32; 3]],
}

impl Frame<'_> {
    #[inline(always)]
    pub(super) fn at(&self, atom: u32) -> Vector {
        self.atoms[atom as usize].map(f64::from)
    }

    /// Returns the difference of two atoms.
    #[inline(always)]
    pub(super) fn between(&self, from: u32, to: u32) -> Vector {
        image(self.cell, minus(self.at(to), self.at(from)))
    }

    /// Returns the cosine of an angle of three atoms, at the second.
    #[inline(always)]
    pub(super) fn cosine(&self, [first, corner, last]: [u32; 3]) -> f64 {
        cosine_of(self.between(corner, first), self.between(corner, last))
    }
}

/// Finds pairs that may be near. Memory is reused from frame to frame.
#[derive(Clone, Debug, Default)]
pub(super) struct Candidates {
    finder: ContactFinder,
    positions: [Vec<[f32; 3]>; 2],
    listed: [Vec<u32>; 2],
    /// Pairs of atoms, or of places in two lists of points.
    pub(super) pairs: Vec<[u32; 2]>,
}

impl Candidates {
    /// Replaces the pairs by those of atoms of two lists whose distance may be at most `reach` (Å). Both are of different
    /// residues, of which that with the lower number is the first if the lists are the same one.
    pub(super) fn find(
        &mut self,
        frame: Frame<'_>,
        residues: &[u32],
        lists: [&[u32]; 2],
        is_one: bool,
        reach: f64,
    ) -> Result<(), Misplaced> {
        self.pairs.clear();
        if lists.iter().any(|list| list.is_empty()) {
            return Ok(());
        }
        let reach = reach_of_candidates(frame.cell, reach);
        let culls = frame.cell.is_none() && !is_one;
        let sphere = culls.then(|| sphere_around(frame, lists[0], reach));
        // A position that is not a number is kept, and refused by the search.
        let is_far = |atom: u32| {
            sphere.is_some_and(|(centre, most)| square(minus(frame.at(atom), centre)) > most)
        };
        for k in 0..2 - usize::from(is_one) {
            self.listed[k].clear();
            self.listed[k].extend(lists[k].iter().filter(|&&atom| k == 0 || !is_far(atom)));
            let at = self.listed[k].iter().map(|&atom| frame.atoms[atom as usize]);
            self.positions[k].clear();
            self.positions[k].extend(at);
        }
        let [first, second] = self.positions.each_ref().map(|positions| positions.as_flattened());
        let (groups, of_second) = match is_one {
            true => (Groups::Same(first), 0),
            false if second.is_empty() => return Ok(()),
            false => (Groups::Two(first, second), 1),
        };
        let tags = [&self.listed[0][..], &self.listed[of_second]];
        let pairs = &mut self.pairs;
        let mut add = |[a, b]: [u32; 2]| {
            let [one, other] = [a, b].map(|atom| residues[atom as usize]);
            if one != other {
                pairs.push(if is_one && other < one { [b, a] } else { [a, b] });
            }
        };
        let none = Excluded::default();
        let found = self.finder.each_tags(frame.cell, groups, none, tags, reach, &mut add);
        found.map_err(|Misplaced { group, atom }| Misplaced {
            group,
            atom: self.listed[group][atom] as usize,
        })
    }

    /// Replaces the pairs by those of two lists of points whose distance may be at most `reach` (Å).
    pub(super) fn find_near(&mut self, cell: Option<&Cell>, points: [&[Vector]; 2], reach: f64) {
        self.pairs.clear();
        let pairs = &mut self.pairs;
        if points[0].len() * points[1].len() > WITHOUT_GRID {
            let rounded = points
                .map(|points| -> Vec<f32> { points.iter().flatten().map(|&x| x as f32).collect() });
            let groups = Groups::Two(&rounded[0], &rounded[1]);
            let (none, reach) = (Excluded::default(), reach + SLACK_OF_CENTRES);
            let mut add = |pair| pairs.push(pair);
            if self.finder.each(cell, groups, none, None, reach, &mut add).is_ok() {
                return;
            }
        }
        let most = reach * reach * (1.0 + SLACK);
        for (i, &one) in points[0].iter().enumerate() {
            for (j, &other) in points[1].iter().enumerate() {
                if square(image(cell, minus(other, one))) <= most {
                    pairs.push([i as u32, j as u32]);
                }
            }
        }
    }
}

/// Returns the centre of a sphere around atoms, and the square of its radius and a distance (Å).
fn sphere_around(frame: Frame<'_>, atoms: &[u32], reach: f64) -> (Vector, f64) {
    let sum = atoms.iter().fold([0.0; 3], |sum: Vector, &atom| {
        let at = frame.at(atom);
        [0, 1, 2].map(|k| sum[k] + at[k])
    });
    let centre = sum.map(|x| x / atoms.len() as f64);
    let squares = atoms.iter().map(|&atom| square(minus(frame.at(atom), centre)));
    let radius = squares.fold(0.0, f64::max).sqrt() + reach;
    (centre, radius * radius * (1.0 + SLACK))
}
