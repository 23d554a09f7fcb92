//! Sums of weights over the slices of a cell, and over the voxels of a grid.
//!
//! Weights are added in the order of the atoms, so that no instruction set changes a bit.

use crate::cell::{Cell, minus};
use crate::pairs::Bins;

/// Largest distance from the origin, in cells, of an atom that can be wrapped: further away, `f32` has no digits left
/// for its place in the cell.
const FURTHEST: f64 = 1e6;

/// Part of a cell by which rounding can take an atom out of one that is not periodic: files have positions of six digits.
const OUTSIDE: f64 = 1e-5;

/// Adds the weight of each atom, or one, to the slice of the cell in which it lies. The slices divide the cell along one
/// of its vectors (`axis`) from its origin on, and are parallel to the others. Atoms are wrapped into the cell, if it is
/// periodic along that vector.
///
/// # Errors
/// The first atom whose position is not a number, or more than a million cells away, or outside of the cell if it is not
/// periodic along the vector.
///
/// # Panics
/// If there are no slices, or the number of weights is not that of the atoms.
pub fn add_to_slices(
    cell: &Cell,
    axis: usize,
    positions: &[f32],
    weights: Option<&[f64]>,
    slices: &mut [f64],
) -> Result<(), usize> {
    let points = positions.as_chunks::<3>().0;
    assert!(weights.is_none_or(|weights| weights.len() == points.len()), "one weight per atom");
    let n = slices.len();
    let (lowest, highest) =
        if cell.periodic()[axis] { (-FURTHEST, FURTHEST) } else { (-OUTSIDE, 1.0 + OUTSIDE) };
    for (i, point) in points.iter().enumerate() {
        let along = cell.fractional(minus(point.map(f64::from), cell.origin()))[axis];
        if along.is_nan() || along < lowest || along > highest {
            return Err(i);
        }
        // Rounding may give 1 for an atom just below a face, which belongs to the last slice.
        let within = if cell.periodic()[axis] { along - along.floor() } else { along };
        // A cast of a negative number is zero.
        let slice = (within * n as f64) as usize;
        slices[slice.min(n - 1)] += weights.map_or(1.0, |weights| weights[i]);
    }
    Ok(())
}

/// A grid of voxels with faces parallel to the axes.
///
/// **Invariant:** the voxel of an atom is that of `numpy.histogramdd`, but that the upper faces of the grid lie outside.
#[derive(Clone, Debug)]
pub struct Grid {
    edges: [Vec<f64>; 3],
    /// Voxels per Å.
    scales: [f64; 3],
}

impl Grid {
    /// Returns the grid of these bins along x, y and z (Å).
    pub fn new(axes: &[Bins; 3]) -> Self {
        let edges = axes.each_ref().map(|bins| bins.edges().to_vec());
        let scales = axes.each_ref().map(|bins| {
            let edges = bins.edges();
            bins.count() as f64 / (edges[bins.count()] - edges[0])
        });
        Grid { edges, scales }
    }

    /// Returns the number of voxels along x, y and z.
    pub fn shape(&self) -> [usize; 3] {
        self.edges.each_ref().map(|edges| edges.len() - 1)
    }

    /// Returns the voxel along an axis; `None` outside of the grid.
    #[inline]
    fn place(&self, axis: usize, x: f64) -> Option<usize> {
        let edges = &self.edges[axis];
        let last = edges.len() - 1;
        if !(x >= edges[0] && x < edges[last]) {
            return None;
        }
        let guess = (((x - edges[0]) * self.scales[axis]) as usize).min(last - 1);
        // The product is rounded: an atom on a face belongs to the voxel above it.
        Some(if x < edges[guess] {
            guess - 1
        } else if x >= edges[guess + 1] {
            guess + 1
        } else {
            guess
        })
    }

    /// Calls `add` with the voxel (of `[nx, ny, nz]`, C order) and the weight, or one, of each atom in the grid, in their
    /// order. Returns the number of these atoms; positions that are not numbers are outside.
    ///
    /// # Panics
    /// If the number of weights is not that of the atoms.
    #[inline]
    pub fn each(
        &self,
        positions: &[f32],
        weights: Option<&[f64]>,
        mut add: impl FnMut(usize, f64),
    ) -> usize {
        let points = positions.as_chunks::<3>().0;
        let [_, ny, nz] = self.shape();
        assert!(weights.is_none_or(|weights| weights.len() == points.len()), "one weight per atom");
        let mut inside = 0;
        for (i, point) in points.iter().enumerate() {
            let [x, y, z] = point.map(f64::from);
            let (Some(x), Some(y), Some(z)) =
                (self.place(0, x), self.place(1, y), self.place(2, z))
            else {
                continue;
            };
            add((x * ny + y) * nz + z, weights.map_or(1.0, |weights| weights[i]));
            inside += 1;
        }
        inside
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::tests::cells;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn slices_equal_those_of_images_between_two_faces(
            lengths in cells(),
            atoms in prop::collection::vec((prop::array::uniform3(-90.0..90.0f32), -2.0..9.0f64), 0..40),
            axis in 0..3usize,
            n in 1..30usize,
        ) {
            let cell = Cell::new(lengths).unwrap();
            let positions: Vec<f32> = atoms.iter().flat_map(|&(p, _)| p).collect();
            let weights: Vec<f64> = atoms.iter().map(|&(_, w)| w).collect();
            let mut found = vec![0.0; n];
            add_to_slices(&cell, axis, &positions, Some(&weights), &mut found).unwrap();
            // The distance from the face through the origin, along its normal, and shifts by whole cells.
            let vectors = cell.vectors();
            let [u, v] = [vectors[(axis + 1) % 3], vectors[(axis + 2) % 3]];
            let normal: [f64; 3] = std::array::from_fn(|k| {
                let (a, b) = ((k + 1) % 3, (k + 2) % 3);
                u[a] * v[b] - u[b] * v[a]
            });
            let along = |p: [f64; 3]| p[0] * normal[0] + p[1] * normal[1] + p[2] * normal[2];
            let height = along(vectors[axis]);
            let mut naive = vec![0.0; n];
            let mut near_a_face = false;
            for &(p, w) in &atoms {
                let mut place = along(p.map(f64::from)) / height * n as f64;
                while place < 0.0 { place += n as f64; }
                while place >= n as f64 { place -= n as f64; }
                near_a_face |= (place - place.round()).abs() < 1e-9;
                naive[place as usize] += w;
            }
            prop_assume!(!near_a_face);
            for (found, naive) in found.iter().zip(&naive) {
                prop_assert!((found - naive).abs() < 1e-9, "{found} {naive}");
            }
        }

        #[test]
        fn voxels_equal_a_search_through_all_voxels(
            atoms in prop::collection::vec((prop::array::uniform3(-6.0..6.0f32), 0.5..9.0f64), 0..40),
            shape in prop::array::uniform3(1..7usize),
            low in prop::array::uniform3(-5.0..0.0f64),
            size in prop::array::uniform3(0.5..9.0f64),
            // Positions on faces, too.
            faces in prop::collection::vec(prop::array::uniform3(0..8usize), 0..20),
        ) {
            let axes: [Bins; 3] = std::array::from_fn(|k| {
                Bins::new(shape[k], (low[k], low[k] + size[k])).unwrap()
            });
            let on_faces = faces.iter().map(|face| {
                let at = |k: usize| axes[k].edges()[face[k].min(shape[k])] as f32;
                ([at(0), at(1), at(2)], 1.0)
            });
            let atoms: Vec<([f32; 3], f64)> = atoms.iter().copied().chain(on_faces).collect();
            let positions: Vec<f32> = atoms.iter().flat_map(|&(p, _)| p).collect();
            let weights: Vec<f64> = atoms.iter().map(|&(_, w)| w).collect();
            let grid = Grid::new(&axes);
            let mut found = vec![0.0; shape.iter().product()];
            let inside = grid.each(&positions, Some(&weights), |voxel, weight| found[voxel] += weight);
            let mut naive = Vec::new();
            let mut counted = 0;
            let within = |axis: usize, k: usize, x: f32| {
                let (edges, x) = (axes[axis].edges(), f64::from(x));
                edges[k] <= x && x < edges[k + 1]
            };
            for i in 0..shape[0] {
                for j in 0..shape[1] {
                    for k in 0..shape[2] {
                        let here = atoms.iter().filter(|(p, _)| {
                            within(0, i, p[0]) && within(1, j, p[1]) && within(2, k, p[2])
                        });
                        counted += here.clone().count();
                        naive.push(here.map(|&(_, w)| w).sum::<f64>());
                    }
                }
            }
            prop_assert_eq!(inside, counted);
            for (found, naive) in found.iter().zip(&naive) {
                prop_assert!((found - naive).abs() < 1e-9, "{found} {naive}");
            }
        }
    }

    #[test]
    fn lost_atoms_are_named_or_left_out() {
        let cell = Cell::new([4.0, 5.0, 6.0, 90.0, 90.0, 90.0]).unwrap();
        let mut slices = [0.0; 3];
        for lost in [f32::NAN, f32::INFINITY, 1e30] {
            let positions = [1.0, 1.0, 1.0, 1.0, lost, 1.0];
            assert_eq!(add_to_slices(&cell, 1, &positions, None, &mut slices), Err(1));
            let axes = std::array::from_fn(|_| Bins::new(2, (0.0, 2.0)).unwrap());
            let mut voxels = [0.0; 8];
            let inside = Grid::new(&axes).each(&positions, None, |voxel, one| voxels[voxel] += one);
            assert_eq!(inside, 1);
            assert_eq!(voxels, [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
        }
    }

    #[test]
    fn atoms_on_faces_belong_to_the_slice_above() {
        let cell = Cell::new([8.0, 8.0, 8.0, 90.0, 90.0, 90.0]).unwrap();
        let positions = [0.0, 0.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 8.0, 0.0, 0.0, -1e-30];
        let mut slices = [0.0; 4];
        add_to_slices(&cell, 2, &positions, None, &mut slices).unwrap();
        assert_eq!(slices, [2.0, 1.0, 0.0, 1.0]);
    }

    #[test]
    fn slices_begin_at_the_origin_of_the_cell() {
        let cell = Cell::new([8.0, 8.0, 8.0, 90.0, 90.0, 90.0]).unwrap();
        let vectors = *cell.vectors();
        let positions = [0.0, 0.0, -3.0, 0.0, 0.0, 2.0, 0.0, 0.0, 11.0, 0.0, 0.0, 4.5];
        let mut slices = [0.0; 4];
        let cell = cell.with_origin([5.0, 5.0, -4.0]);
        add_to_slices(&cell, 2, &positions, None, &mut slices).unwrap();
        assert_eq!(slices, [2.0, 0.0, 0.0, 2.0]);
        // Of one that is not periodic, atoms are inside from -4 to 4.
        let slab = Cell::with_boundaries(vectors, [true, true, false]).unwrap();
        let slab = slab.with_origin([5.0, 5.0, -4.0]);
        assert_eq!(add_to_slices(&slab, 2, &positions, None, &mut slices), Err(2));
        let mut slices = [0.0; 4];
        assert_eq!(add_to_slices(&slab, 2, &positions[..6], None, &mut slices), Ok(()));
        assert_eq!(slices, [1.0, 0.0, 0.0, 1.0]);
    }
}
