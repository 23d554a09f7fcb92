//! Distances of all pairs.

use trajet_simd::{InstructionSet, multiversion};

use crate::cell::{Cell, Vector};

/// Positions as one array per axis, in `f64`.
#[derive(Clone, Debug, Default)]
pub struct Points {
    axes: [Vec<f64>; 3],
}

impl Points {
    /// Sets positions (`[n_atoms, 3]`, Å). Buffers are reused.
    pub fn set(&mut self, positions: &[f32]) {
        for (k, axis) in self.axes.iter_mut().enumerate() {
            axis.clear();
            axis.extend(positions.as_chunks::<3>().0.iter().map(|p| f64::from(p[k])));
        }
    }

    /// Sets positions (`[n, 3]`, Å) that are not rounded, such as centres. Buffers are reused.
    pub fn set_exact(&mut self, positions: &[f64]) {
        for (k, axis) in self.axes.iter_mut().enumerate() {
            axis.clear();
            axis.extend(positions.as_chunks::<3>().0.iter().map(|p| p[k]));
        }
    }

    /// Returns the number of points.
    pub fn len(&self) -> usize {
        self.axes[0].len()
    }

    /// Returns whether there are no points.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn get(&self, i: usize) -> Vector {
        [0, 1, 2].map(|k| self.axes[k][i])
    }
}

/// Computes the distances (Å) of every point of `a` to every point of `b`, row by row; with a cell those of the minimum
/// images.
///
/// # Panics
/// If the length of `out` does not match.
pub fn between(set: InstructionSet, cell: Option<&Cell>, a: &Points, b: &Points, out: &mut [f64]) {
    assert_eq!(out.len(), a.len() * b.len(), "size of the output");
    if b.is_empty() {
        return;
    }
    let axes = [&b.axes[0][..], &b.axes[1], &b.axes[2]];
    for (i, row) in out.chunks_exact_mut(b.len()).enumerate() {
        from_one(set, cell, a.get(i), axes, row);
    }
}

/// Computes the distances (Å) of every pair `i < j` of points, ordered by `i`.
///
/// # Panics
/// If the length of `out` is not `n (n - 1) / 2`.
pub fn within(set: InstructionSet, cell: Option<&Cell>, a: &Points, mut out: &mut [f64]) {
    let n = a.len();
    assert_eq!(out.len(), n * n.saturating_sub(1) / 2, "size of the output");
    for i in 0..n {
        let row = out.split_off_mut(..n - i - 1).expect("the size was checked");
        from_one(set, cell, a.get(i), [0, 1, 2].map(|k| &a.axes[k][i + 1..]), row);
    }
}

/// Computes the distances (Å) of one position to every point; with a cell those of the minimum images.
///
/// # Panics
/// If the length of `out` is not the number of points.
pub(crate) fn to_all(
    set: InstructionSet,
    cell: Option<&Cell>,
    from: Vector,
    to: &Points,
    out: &mut [f64],
) {
    assert_eq!(out.len(), to.len(), "size of the output");
    from_one(set, cell, from, [0, 1, 2].map(|k| &to.axes[k][..]), out);
}

multiversion! {
    /// Computes the distances of one point to all points of `axes`.
    fn from_one(cell: Option<&Cell>, from: Vector, axes: [&[f64]; 3], out: &mut [f64])
        = from_one_of
}

#[inline(always)]
fn from_one_of(cell: Option<&Cell>, from: Vector, axes: [&[f64]; 3], out: &mut [f64]) {
    let n = out.len();
    let [x, y, z] = axes.map(|axis| &axis[..n]);
    let Some(cell) = cell else {
        for i in 0..n {
            let d = [x[i] - from[0], y[i] - from[1], z[i] - from[2]];
            out[i] = (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt();
        }
        return;
    };
    for begin in (0..n).step_by(8) {
        let here = (n - begin).min(8);
        let mut vectors = [[0.0; 8]; 3];
        for lane in 0..here {
            vectors[0][lane] = x[begin + lane] - from[0];
            vectors[1][lane] = y[begin + lane] - from[1];
            vectors[2][lane] = z[begin + lane] - from[2];
        }
        let squares = cell.squares(&vectors);
        for lane in 0..here {
            out[begin + lane] = squares[lane].sqrt();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::tests::{cells, cells_with_boundaries};
    use crate::reference;
    use proptest::prelude::*;

    fn positions() -> impl Strategy<Value = Vec<f32>> {
        prop::collection::vec(prop::array::uniform3(-100.0..100.0f32), 0..30)
            .prop_map(|list| list.into_flattened())
    }

    proptest! {
        #[test]
        fn distances_equal_the_reference_on_every_instruction_set(
            cell in prop::option::of(prop_oneof![
                cells().prop_map(|lengths| Cell::new(lengths).unwrap()),
                cells_with_boundaries(),
            ]),
            (a, b) in (positions(), positions()),
        ) {
            let (mut p, mut q) = (Points::default(), Points::default());
            p.set(&a);
            q.set(&b);
            let want = reference::distances(cell.as_ref(), &a, &b);
            let all = reference::distances(cell.as_ref(), &a, &a);
            let pairs: Vec<f64> = (0..p.len())
                .flat_map(|i| (i + 1..p.len()).map(move |j| (i, j)))
                .map(|(i, j)| all[i * p.len() + j])
                .collect();
            let mut first: Option<Vec<u64>> = None;
            for set in InstructionSet::available() {
                let mut got = vec![0.0; want.len()];
                between(set, cell.as_ref(), &p, &q, &mut got);
                prop_assert!(got.iter().zip(&want).all(|(g, w)| (g - w).abs() < 1e-7));
                let mut own = vec![0.0; pairs.len()];
                within(set, cell.as_ref(), &p, &mut own);
                prop_assert!(own.iter().zip(&pairs).all(|(g, w)| (g - w).abs() < 1e-7));
                let bits: Vec<u64> = got.iter().chain(&own).map(|d| d.to_bits()).collect();
                prop_assert_eq!(first.get_or_insert(bits.clone()), &bits);
            }
        }
    }
}
