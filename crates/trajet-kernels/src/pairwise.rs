//! RMSD of all pairs of frames after optimal superposition.
//!
//! The correlation matrices of all pairs are products of two tables ([`crate::products`]); the quaternion
//! characteristic polynomial of [`crate::superpose`] is solved for eight pairs at a time. Departures:
//!
//! 1. Centred coordinates are rounded to `f32`, which moves an atom 30 Å from the centre by at most 2e-6 Å. The RMSD
//!    changes by no more than this. Sums are of `f64`.
//! 2. Weights are square roots, multiplied into the coordinates of both frames.

use std::ops::{Add, Mul, Range, Sub};

use trajet_simd::{InstructionSet, multiversion};

use crate::lanes::sums;
use crate::products::{LANES, Panels, Sums, Tile, WIDTH};
use crate::superpose::{
    MAX_STEPS, Number, TOLERANCE, best_rotation, determinant3, determinant4, key_matrix,
};

/// Frames of a panel.
pub const FRAMES: usize = LANES;

/// Weights of the atoms, scaled to a mean of one.
#[derive(Clone, Debug)]
pub struct Weights {
    scaled: Vec<f64>,
    roots: Vec<f64>,
}

impl Weights {
    /// Scales weights.
    ///
    /// # Panics
    /// If a weight is negative, or all are zero.
    pub fn new(weights: &[f64]) -> Self {
        let mean = crate::lanes::plain(weights) / weights.len() as f64;
        assert!(mean > 0.0 && weights.iter().all(|&w| w >= 0.0), "weights are not negative");
        let scaled: Vec<f64> = weights.iter().map(|w| w / mean).collect();
        let roots = scaled.iter().map(|w| w.sqrt()).collect();
        Weights { scaled, roots }
    }
}

/// Frames around their centres, for all their RMSDs.
#[derive(Clone, Debug)]
pub struct CentredFrames {
    panels: Panels,
    /// `Σ w |x|²` of each frame.
    inner: Vec<f64>,
    n_frames: usize,
    n_atoms: usize,
}

impl CentredFrames {
    /// Makes a table of frames without positions.
    ///
    /// # Panics
    /// If the sizes do not match: a panel for every [`FRAMES`] frames, an element for each atom.
    pub fn new(elements: Vec<[f32; WIDTH]>, inner: Vec<f64>, n_frames: usize) -> Self {
        let n_panels = n_frames.div_ceil(FRAMES);
        assert_eq!(inner.len(), n_panels * FRAMES, "a sum for each frame");
        let n_atoms = elements.len().checked_div(n_panels).unwrap_or(0);
        CentredFrames { panels: Panels::new(elements, n_atoms), inner, n_frames, n_atoms }
    }

    /// Returns the number of frames.
    pub fn len(&self) -> usize {
        self.n_frames
    }

    /// Returns whether there are no frames.
    pub fn is_empty(&self) -> bool {
        self.n_frames == 0
    }

    /// Returns the number of atoms.
    pub fn n_atoms(&self) -> usize {
        self.n_atoms
    }

    /// Returns each panel with the sums of its frames, to be set by [`set_panel`].
    pub fn panels_mut(
        &mut self,
    ) -> impl Iterator<Item = (&mut [[f32; WIDTH]], &mut [f64; FRAMES])> {
        self.panels.panels_mut().zip(self.inner.as_chunks_mut::<FRAMES>().0)
    }

    /// Returns the coordinates of atom `k` of frame `f`.
    fn point(&self, f: usize, k: usize) -> [f64; 3] {
        let atom = &self.panels.panel(f / FRAMES)[k];
        [0, 1, 2].map(|axis| f64::from(atom[LANES * axis + f % FRAMES]))
    }

    /// Returns `Σ |R x - y|²` of frame `f` of these and frame `g` of others.
    fn squared_distance(
        &self,
        f: usize,
        (others, g): (&CentredFrames, usize),
        rotation: &[[f64; 3]; 3],
    ) -> f64 {
        crate::lanes::sum(self.n_atoms, |k| {
            let (x, y) = (self.point(f, k), others.point(g, k));
            let d = [0, 1, 2].map(|i| {
                let r = rotation[i];
                r[0] * x[0] + r[1] * x[1] + r[2] * x[2] - y[i]
            });
            d[0] * d[0] + d[1] * d[1] + d[2] * d[2]
        })
    }
}

/// Sets the frames of a panel from positions (`[n_frames, n_atoms, 3]`, Å), at most [`FRAMES`] of them.
///
/// # Panics
/// If there are more, or the number of atoms does not match.
pub fn set_panel(
    positions: &[f64],
    weights: Option<&Weights>,
    panel: &mut [[f32; WIDTH]],
    inner: &mut [f64; FRAMES],
) {
    let n = panel.len();
    for (f, frame) in positions.chunks_exact(3 * n.max(1)).enumerate() {
        let points = frame.as_chunks::<3>().0;
        let origin = points[0];
        let at = |k: usize| [0, 1, 2].map(|axis| points[k][axis] - origin[axis]);
        let weight = |k: usize| weights.map_or(1.0, |weights| weights.scaled[k]);
        let centre = sums(n, |k| at(k).map(|x| x * weight(k))).map(|sum| sum / n as f64);
        for (k, atom) in panel.iter_mut().enumerate() {
            let root = weights.map_or(1.0, |weights| weights.roots[k]);
            for (axis, x) in at(k).into_iter().enumerate() {
                atom[LANES * axis + f] = (root * (x - centre[axis])) as f32;
            }
        }
        let square = |k: usize| {
            let x = [0, 1, 2].map(|axis| f64::from(panel[k][LANES * axis + f]));
            x[0] * x[0] + x[1] * x[1] + x[2] * x[2]
        };
        inner[f] = crate::lanes::sum(n, square);
    }
}

/// Computes the RMSD (Å) after superposition of each frame in panels `rows` of `a` to each in panels `columns` of `b`,
/// and calls `out` with the numbers of both frames and their RMSD.
///
/// # Panics
/// If the numbers of atoms differ, or a panel is out of range.
pub fn rmsds(
    set: InstructionSet,
    (a, rows): (&CentredFrames, Range<usize>),
    (b, columns): (&CentredFrames, Range<usize>),
    tile: &mut Tile,
    mut out: impl FnMut(usize, usize, f64),
) {
    tile.compute(set, (&a.panels, rows.clone()), (&b.panels, columns.clone()));
    for (row, p) in rows.enumerate() {
        for (column, q) in columns.clone().enumerate() {
            let inner = &b.inner.as_chunks::<FRAMES>().0[q];
            let n = (b.n_frames - q * FRAMES).min(FRAMES);
            for lane in 0..(a.n_frames - p * FRAMES).min(FRAMES) {
                let (f, cross) = (p * FRAMES + lane, tile.sums(row, lane, column));
                let mut half = [0.0; FRAMES];
                half.iter_mut().zip(inner).for_each(|(half, y)| *half = (a.inner[f] + y) / 2.0);
                let (mut roots, mut known) = ([0.0; FRAMES], [false; FRAMES]);
                largest_roots(set, &half, cross, n, &mut roots, &mut known);
                for k in 0..n {
                    let g = q * FRAMES + k;
                    let square = if known[k] {
                        2.0 * (half[k] - roots[k])
                    } else {
                        let rotation = best_rotation(&cross.map(|row| row.map(|sum| sum[k])));
                        a.squared_distance(f, (b, g), &rotation)
                    };
                    out(f, g, (square / a.n_atoms as f64).sqrt());
                }
            }
        }
    }
}

/// Numbers of eight pairs.
#[derive(Clone, Copy)]
struct Eight([f64; LANES]);

impl Eight {
    #[inline(always)]
    fn with(self, other: Eight, of: impl Fn(f64, f64) -> f64) -> Eight {
        let mut made = [0.0; LANES];
        for k in 0..LANES {
            made[k] = of(self.0[k], other.0[k]);
        }
        Eight(made)
    }
}

impl Add for Eight {
    type Output = Eight;

    #[inline(always)]
    fn add(self, other: Eight) -> Eight {
        self.with(other, |a, b| a + b)
    }
}

impl Sub for Eight {
    type Output = Eight;

    #[inline(always)]
    fn sub(self, other: Eight) -> Eight {
        self.with(other, |a, b| a - b)
    }
}

impl Mul for Eight {
    type Output = Eight;

    #[inline(always)]
    fn mul(self, other: Eight) -> Eight {
        self.with(other, |a, b| a * b)
    }
}

impl Number for Eight {}

multiversion! {
    /// Computes [`crate::superpose::largest_root`] of the first `n` of eight pairs: `known` is whether there is one.
    fn largest_roots(half: &[f64; LANES], cross: &Sums, n: usize, roots: &mut [f64; LANES], known: &mut [bool; LANES])
        = largest_roots_of
}

#[inline(always)]
fn largest_roots_of(
    half: &[f64; LANES],
    cross: &Sums,
    n: usize,
    roots: &mut [f64; LANES],
    known: &mut [bool; LANES],
) {
    let cross = cross.map(|row| row.map(Eight));
    let times = |factor: f64, x: Eight| Eight([factor; LANES]) * x;
    // From zero, as a sum of an iterator.
    let squares = cross.as_flattened().iter().fold(Eight([0.0; LANES]), |sum, &x| sum + x * x);
    let c2 = times(-2.0, squares);
    let c1 = times(-8.0, determinant3(&cross));
    let c0 = determinant4(&key_matrix(&cross));
    let half = Eight(*half);
    let mut root = half;
    // 1 in lanes that still iterate, else 0.
    let mut open = [0_u64; LANES];
    open[..n].fill(1);
    let mut converged = [0_u64; LANES];
    let mut last_slope = [0.0; LANES];
    for _ in 0..MAX_STEPS {
        let square = root * root;
        let value = (square + c2) * square + c1 * root + c0;
        let slope = (times(4.0, square) + times(2.0, c2)) * root + c1;
        let step = value.with(slope, |value, slope| value / slope);
        let next = root - step;
        let mut left = 0;
        for k in 0..LANES {
            let moves = open[k] != 0 && step.0[k].is_finite();
            let ends = moves && step.0[k].abs() <= 1e-15 * next.0[k].abs();
            root.0[k] = if moves { next.0[k] } else { root.0[k] };
            last_slope[k] = if moves { slope.0[k] } else { last_slope[k] };
            converged[k] |= u64::from(ends);
            open[k] = u64::from(moves && !ends);
            left += open[k];
        }
        if left == 0 {
            break;
        }
    }
    for k in 0..LANES {
        let half = half.0[k];
        let rounding = 16.0 * f64::EPSILON * (half * half) * (half * half);
        let error = (rounding / last_slope[k]).abs() + 4.0 * f64::EPSILON * half;
        known[k] = converged[k] != 0 && error <= TOLERANCE * (half - root.0[k]);
        roots[k] = root.0[k];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference;
    use crate::superpose::largest_root;
    use proptest::prelude::*;

    fn centred(frames: &[Vec<f32>], weights: Option<&[f64]>) -> CentredFrames {
        let n_atoms = frames[0].len() / 3;
        let n_panels = frames.len().div_ceil(FRAMES);
        let elements = vec![[0.0; WIDTH]; n_panels * n_atoms];
        let mut made = CentredFrames::new(elements, vec![0.0; n_panels * FRAMES], frames.len());
        let weights = weights.map(Weights::new);
        for ((panel, inner), frames) in made.panels_mut().zip(frames.chunks(FRAMES)) {
            let positions: Vec<f64> = frames.concat().into_iter().map(f64::from).collect();
            set_panel(&positions, weights.as_ref(), panel, inner);
        }
        made
    }

    fn all(set: InstructionSet, a: &CentredFrames, b: &CentredFrames) -> Vec<f64> {
        let mut made = vec![f64::NEG_INFINITY; a.len() * b.len()];
        let panels = |frames: &CentredFrames| 0..frames.len().div_ceil(FRAMES);
        rmsds(set, (a, panels(a)), (b, panels(b)), &mut Tile::default(), |i, j, value| {
            made[i * b.len() + j] = value;
        });
        made
    }

    /// Frames of one structure, each moved, turned and deformed.
    fn frames() -> impl Strategy<Value = (Vec<Vec<f32>>, Vec<f64>)> {
        (1..30usize, 1..20usize).prop_flat_map(|(n_atoms, n_frames)| {
            let frame = prop::collection::vec(-30f32..30.0, 3 * n_atoms);
            (prop::collection::vec(frame, n_frames), prop::collection::vec(0.1f64..40.0, n_atoms))
        })
    }

    proptest! {
        #[test]
        fn rmsds_equal_the_reference_on_every_instruction_set((frames, weights) in frames()) {
            for weights in [None, Some(&weights[..])] {
                let a = centred(&frames, weights);
                let found = all(InstructionSet::SCALAR, &a, &a);
                for (i, x) in frames.iter().enumerate() {
                    for (j, y) in frames.iter().enumerate() {
                        let (naive, _) = reference::superpose(x, y, weights);
                        let value = found[i * frames.len() + j];
                        // Rounding of coordinates to f32, and of a square root near zero.
                        prop_assert!((value - naive).abs() < 1e-5, "{} {}", value, naive);
                    }
                }
                let bits = |values: &[f64]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
                for set in InstructionSet::available() {
                    prop_assert_eq!(bits(&all(set, &a, &a)), bits(&found));
                }
            }
        }

        #[test]
        fn roots_of_eight_pairs_have_the_bits_of_single_ones(
            numbers in prop::collection::vec(prop::array::uniform9(-1e4f64..1e4), LANES),
            more in prop::array::uniform8(1e-6f64..1e3),
            n in 1..=LANES,
        ) {
            let mut cross = Sums::default();
            for (k, numbers) in numbers.iter().enumerate() {
                for (i, x) in numbers.iter().enumerate() {
                    cross[i / 3][i % 3][k] = *x;
                }
            }
            // Above the largest eigenvalue.
            let half: [f64; LANES] = std::array::from_fn(|k| {
                more[k] + numbers[k].iter().map(|x| x * x).sum::<f64>().sqrt() * 3f64.sqrt()
            });
            for set in InstructionSet::available() {
                let (mut roots, mut known) = ([0.0; LANES], [false; LANES]);
                largest_roots(set, &half, &cross, n, &mut roots, &mut known);
                for k in 0..n {
                    let own = cross.map(|row| row.map(|sum| sum[k]));
                    let single = largest_root(half[k], &own);
                    prop_assert_eq!(known[k].then_some(roots[k].to_bits()), single.map(f64::to_bits));
                }
            }
        }
    }

    #[test]
    fn a_frame_without_positions_spoils_no_other() {
        let good = vec![0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 2.0, 0.0];
        let mut bad = good.clone();
        bad[4] = f32::NAN;
        let a = centred(&[good.clone(), bad, good], None);
        for set in InstructionSet::available() {
            let found = all(set, &a, &a);
            for (k, value) in found.iter().enumerate() {
                assert_eq!(value.is_nan(), k / 3 == 1 || k % 3 == 1, "{found:?}");
            }
        }
    }
}
