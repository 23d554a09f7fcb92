//! Puts groups into one image.

use trajet_simd::{InstructionSet, multiversion};

use super::groups::Groups;
use super::shift::{Unplaced, forget_incomplete, is_countable, move_columns, unplaced};
use crate::cell::{Cell, Vector, minus};
use crate::lanes::LANES;

/// Puts groups, such as whole molecules, into one image. The first group stays where it is. Then, again and again, of
/// all groups that are not yet placed, the one whose centre is nearest to that of a placed one (minimum image) is moved
/// next to it: Prim's minimum spanning tree over the distances of centres, in O(groups²) time. `weights` are one per
/// member of all groups; without them all count the same. A group whose centre is not a number, or is more than 2³¹
/// cells away, stays where it is and is nobody's neighbour; an atom of the first such group is returned.
///
/// Centres decide, not the closest atoms: two groups that touch on both sides, through the cell and across its face,
/// are put next to each other the way their centres are nearer.
///
/// # Panics
/// If the number of weights is not that of the members, or a column does not exist.
pub fn cluster_groups(
    cell: &Cell,
    groups: &Groups,
    weights: Option<&[f64]>,
    positions: &mut [[f32; 3]],
) -> Unplaced {
    cluster_groups_on(InstructionSet::default(), cell, groups, weights, positions)
}

multiversion! {
    pub(super) fn cluster_groups_on(
        cell: &Cell,
        groups: &Groups,
        weights: Option<&[f64]>,
        positions: &mut [[f32; 3]],
    ) -> Unplaced = cluster_groups_of
}

#[inline(always)]
fn cluster_groups_of(
    cell: &Cell,
    groups: &Groups,
    weights: Option<&[f64]>,
    positions: &mut [[f32; 3]],
) -> Unplaced {
    groups.check_weights(weights);
    let mut found = None;
    let (known, centres): (Vec<usize>, Vec<Vector>) = (0..groups.len())
        .map(|group| (group, groups.centre(group, weights, positions)))
        .filter(|&(group, centre)| {
            let is_known = is_countable(cell.wrapping_coordinates(centre));
            if !is_known {
                found = found.or_else(|| unplaced(groups.columns(group), positions));
            }
            is_known
        })
        .unzip();
    if known.len() < groups.len() {
        let is_unknown = |group: &usize| known.binary_search(group).is_err();
        (0..groups.len())
            .filter(is_unknown)
            .for_each(|group| forget_incomplete(groups.columns(group), positions));
    }
    let mut shifts = vec![[0.0; 3]; known.len()];
    let mut waiting = UnplacedGroups::new(&centres);
    let mut newest = 0;
    while let Some((next, neighbour)) = waiting.take_nearest(cell, newest, &centres) {
        let by = cell.shift_to_shortest(minus(centres[next], centres[neighbour]));
        let shift = [0, 1, 2].map(|k| shifts[neighbour][k] + by[k]);
        if shift != [0.0; 3] {
            let columns = groups.columns(known[next]);
            if !move_columns(columns, cell.lattice_vector(shift), positions) {
                found = found.or_else(|| unplaced(columns, positions));
            }
        }
        shifts[next] = shift;
        newest = next;
    }
    found
}

/// The groups that are not yet placed, in any order.
struct UnplacedGroups {
    groups: Vec<usize>,
    /// Their centres (Å), one list per axis.
    axes: [Vec<f64>; 3],
    /// Squared distances (Å²) to the nearest placed groups.
    distances: Vec<f64>,
    /// The nearest placed group of each group.
    neighbours: Vec<usize>,
}

impl UnplacedGroups {
    /// Takes all groups but the first.
    fn new(centres: &[Vector]) -> Self {
        let waiting = centres.get(1..).unwrap_or_default();
        UnplacedGroups {
            groups: (1..=waiting.len()).collect(),
            axes: [0, 1, 2].map(|k| waiting.iter().map(|centre| centre[k]).collect()),
            distances: vec![f64::INFINITY; waiting.len()],
            neighbours: vec![0; waiting.len()],
        }
    }

    /// Takes out the group that is nearest to a placed one, of several the first, and returns it and that one. `newest`
    /// was placed last.
    #[inline(always)]
    fn take_nearest(
        &mut self,
        cell: &Cell,
        newest: usize,
        centres: &[Vector],
    ) -> Option<(usize, usize)> {
        let n = self.groups.len();
        for start in (0..n).step_by(LANES) {
            let lanes = start..n.min(start + LANES);
            let mut differences = [[0.0; LANES]; 3];
            for k in 0..3 {
                for (difference, x) in differences[k].iter_mut().zip(&self.axes[k][lanes.clone()]) {
                    *difference = x - centres[newest][k];
                }
            }
            let squares = cell.squares(&differences);
            let known = self.distances[lanes.clone()].iter_mut().zip(&mut self.neighbours[lanes]);
            for ((distance, neighbour), square) in known.zip(squares) {
                *neighbour = if square < *distance { newest } else { *neighbour };
                *distance = if square < *distance { square } else { *distance };
            }
        }
        let (mut nearest, mut least) = (0, f64::INFINITY);
        for (k, &distance) in self.distances.iter().enumerate() {
            if distance < least || distance == least && self.groups[k] < self.groups[nearest] {
                (nearest, least) = (k, distance);
            }
        }
        if n == 0 {
            return None;
        }
        for axis in &mut self.axes {
            axis.swap_remove(nearest);
        }
        self.distances.swap_remove(nearest);
        Some((self.groups.swap_remove(nearest), self.neighbours.swap_remove(nearest)))
    }
}
