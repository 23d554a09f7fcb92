//! Puts groups into one image.

use super::groups::Groups;
use super::shift::{is_countable, move_columns};
use crate::cell::{Cell, Vector, minus};

/// Puts groups, such as whole molecules, into one image. The first group stays where it is. Then, again and again, of
/// all groups that are not yet placed, the one whose centre is nearest to that of a placed one (minimum image) is moved
/// next to it: Prim's minimum spanning tree over the distances of centres, in O(groups²) time. `weights` are one per
/// member of all groups; without them all count the same. A group whose centre is not a number, or is more than 2³¹
/// cells away, stays where it is and is nobody's neighbour.
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
) {
    groups.check_weights(weights);
    let mut waiting: Vec<Waiting> = (0..groups.len())
        .map(|group| (group, groups.centre(group, weights, positions)))
        .filter(|&(_, centre)| is_countable(cell.fractional(centre)))
        .map(|(group, centre)| Waiting { group, centre, distance: f64::INFINITY, neighbour: 0 })
        .collect();
    if waiting.is_empty() {
        return;
    }
    let mut placed = vec![Placed { centre: waiting.remove(0).centre, shift: [0.0; 3] }];
    while !waiting.is_empty() {
        let newest = placed.len() - 1;
        let from = placed[newest].centre;
        for group in &mut waiting {
            let distance = cell.distance_squared(group.centre, from);
            if distance < group.distance {
                (group.distance, group.neighbour) = (distance, newest);
            }
        }
        let nearest = (0..waiting.len())
            .reduce(|a, b| if waiting[b].distance < waiting[a].distance { b } else { a })
            .expect("a group waits");
        // Keeps the order, so that the first of several at the same distance is taken.
        let Waiting { group, centre, neighbour, .. } = waiting.remove(nearest);
        let Placed { centre: beside, shift } = placed[neighbour];
        let by = cell.shift_to_shortest(minus(centre, beside));
        let shift = [0, 1, 2].map(|k| shift[k] + by[k]);
        if shift != [0.0; 3] {
            move_columns(groups.columns(group), cell.lattice_vector(shift), positions);
        }
        placed.push(Placed { centre, shift });
    }
}

/// A group to be placed.
struct Waiting {
    group: usize,
    centre: Vector,
    /// Squared distance (Å²) to the nearest placed group.
    distance: f64,
    /// That group's index among the placed ones.
    neighbour: usize,
}

/// A placed group: its centre before, and its shift along the box vectors.
struct Placed {
    centre: Vector,
    shift: Vector,
}
