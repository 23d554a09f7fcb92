//! Superposition of frames on a reference.

use serde::{Deserialize, Serialize};
use trajet_kernels::superpose::{Coordinates, Motion, Reference, Vector};

/// The motions that a fit may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FitMotion {
    /// Rotation and translation.
    Superposition,
    /// Translation of the centre onto that of the reference.
    Translation,
    /// Rotation about z, and translation in the x-y plane.
    Plane,
}

/// Atoms of a frame with their reference, as columns of the decoded atoms.
pub(crate) struct Fit {
    columns: Vec<u32>,
    reference: Reference,
    /// Positions of the reference.
    given: Vec<[f64; 3]>,
    weights: Option<Vec<f64>>,
    motion: FitMotion,
}

impl Fit {
    pub(crate) fn new(
        columns: Vec<u32>,
        given: &[[f64; 3]],
        weights: Option<&[f64]>,
        motion: FitMotion,
    ) -> Self {
        let reference = Reference::new(given.as_flattened(), weights);
        let (given, weights) = (given.to_vec(), weights.map(<[f64]>::to_vec));
        Fit { columns, reference, given, weights, motion }
    }

    /// Returns the motion that superposes a frame on the reference; `None` if a position is not finite.
    pub(crate) fn motion(&self, positions: &[[f32; 3]]) -> Option<Motion> {
        let gathered: Vec<f32> =
            self.columns.iter().flat_map(|&column| positions[column as usize]).collect();
        if !gathered.iter().all(|x| x.is_finite()) {
            return None;
        }
        if self.motion == FitMotion::Plane {
            return Some(self.in_plane(gathered.as_chunks::<3>().0));
        }
        let mobile = Coordinates::of(&gathered);
        let motion = match self.motion {
            FitMotion::Superposition => self.reference.superpose(&mobile).1,
            _ => self.reference.rmsd_unrotated(&mobile, true).1,
        };
        Some(motion)
    }

    /// Returns the rotation about z and translation in x and y with the smallest RMSD. With `a` and `b` the centred
    /// positions of frame and reference, the angle is that of `(Σ w a·b, Σ w a×b)`, products in two dimensions.
    fn in_plane(&self, mobile: &[[f32; 3]]) -> Motion {
        let weight = |i: usize| self.weights.as_ref().map_or(1.0, |weights| weights[i]);
        let centre = |of: &dyn Fn(usize) -> [f64; 3]| {
            let mut sum = [0.0; 3];
            let mut total = 0.0;
            for i in 0..mobile.len() {
                let (w, x) = (weight(i), of(i));
                total += w;
                sum = [0, 1, 2].map(|k| sum[k] + w * x[k]);
            }
            sum.map(|x| x / total)
        };
        let moved = |i: usize| mobile[i].map(f64::from);
        let (from, to) = (centre(&moved), centre(&|i| self.given[i]));
        let (mut along, mut across) = (0.0, 0.0);
        for i in 0..mobile.len() {
            let (a, b, w) = (moved(i), self.given[i], weight(i));
            let a = [a[0] - from[0], a[1] - from[1]];
            let b = [b[0] - to[0], b[1] - to[1]];
            along += w * (a[0] * b[0] + a[1] * b[1]);
            across += w * (a[0] * b[1] - a[1] * b[0]);
        }
        let (sin, cos) = libm::sincos(libm::atan2(across, along));
        let from: Vector = [from[0], from[1], 0.0];
        let to: Vector = [to[0], to[1], 0.0];
        Motion { rotation: [[cos, -sin, 0.0], [sin, cos, 0.0], [0.0, 0.0, 1.0]], from, to }
    }
}
