//! The first exit: coordinates of the wanted atoms of several frames, in Å.

use crate::Error;
use crate::memory::{self, Refused, reserve};
use crate::reader::Said;

/// What a frame says of itself beside its positions.
#[derive(Clone, Debug, Default)]
pub struct FrameMeta {
    /// Frame numbers.
    pub frames: Vec<u64>,
    /// Times, ps.
    pub times: Vec<f64>,
    /// Integration steps.
    pub steps: Vec<i64>,
    /// Unit cells: a, b, c in Å and α, β, γ in degrees; NaN where the frame has none.
    pub cells: Vec<[f64; 6]>,
    /// Box vectors (Å, row by row) of frames in which these are turned: the cell says how long they are
    /// and how they stand to each other, but not that the first lies along x and the second in the
    /// plane of x and y. None where they do, and where there is no cell.
    pub turned: Vec<Option<[f64; 9]>>,
}

impl FrameMeta {
    /// Forgets all frames and keeps the memory.
    pub fn clear(&mut self) {
        self.frames.clear();
        self.times.clear();
        self.steps.clear();
        self.cells.clear();
        self.turned.clear();
    }

    /// Makes room for `more` frames.
    ///
    /// # Errors
    /// [`Refused`] if the system has not got the memory.
    pub fn reserve(&mut self, more: usize) -> Result<(), Refused> {
        const WHAT: &str = "the times, steps and cells of frames";
        reserve(&mut self.frames, more, WHAT)?;
        reserve(&mut self.times, more, WHAT)?;
        reserve(&mut self.steps, more, WHAT)?;
        reserve(&mut self.cells, more, WHAT)?;
        reserve(&mut self.turned, more, WHAT)
    }

    /// Adds one frame.
    pub fn push(&mut self, frame: u64, said: Said) {
        self.frames.push(frame);
        self.times.push(said.time);
        self.steps.push(said.step);
        self.cells.push(said.cell);
        self.turned.push(said.turned);
    }

    /// Adds the frames of another.
    pub fn append(&mut self, other: &mut FrameMeta) {
        self.frames.append(&mut other.frames);
        self.times.append(&mut other.times);
        self.steps.append(&mut other.steps);
        self.cells.append(&mut other.cells);
        self.turned.append(&mut other.turned);
    }
}

/// Positions of the same atoms in several frames. A block is filled again and again: the memory of
/// a new one costs more than the decoding.
#[derive(Clone, Debug, Default)]
pub struct Block {
    n_atoms: usize,
    /// Positions: `[n_frames, n_atoms, 3]`, C order, Å.
    pub positions: Vec<f32>,
    /// One entry a frame.
    pub meta: FrameMeta,
}

impl Block {
    /// Makes room for `n_frames` frames of `n_atoms` atoms and forgets what was there.
    ///
    /// # Errors
    /// [`Error::Memory`] if the system refuses the memory.
    pub fn reset(&mut self, n_frames: usize, n_atoms: usize) -> Result<(), Error> {
        let len = n_frames.saturating_mul(n_atoms).saturating_mul(3);
        memory::resize(&mut self.positions, len, 0.0, "the positions of a block of frames")?;
        self.n_atoms = n_atoms;
        self.meta.clear();
        Ok(())
    }

    /// Atoms a frame.
    pub fn n_atoms(&self) -> usize {
        self.n_atoms
    }

    /// Frames that were read.
    pub fn n_frames(&self) -> usize {
        self.meta.frames.len()
    }

    /// Positions of the `i`-th frame of the block: `[n_atoms, 3]`, Å.
    pub fn frame(&self, i: usize) -> &[f32] {
        &self.positions[i * self.n_atoms * 3..(i + 1) * self.n_atoms * 3]
    }

    /// The same, for transforms.
    pub fn frame_mut(&mut self, i: usize) -> &mut [f32] {
        &mut self.positions[i * self.n_atoms * 3..(i + 1) * self.n_atoms * 3]
    }
}

/// A box as readers give it: lengths and angles, and the vectors of one that is turned ([`FrameMeta::turned`]).
pub type GivenBox = ([f64; 6], Option<[f64; 9]>);

/// The cell lengths (in the vectors' unit times `scale`) and angles (degrees) of three box vectors,
/// row by row. All NaN where no vector has a length; all infinite where a number is not finite, as which readers
/// refuse it.
pub fn cell_from_vectors(vectors: &[f64; 9], scale: f64) -> [f64; 6] {
    let row = |i: usize| [0, 1, 2].map(|k| vectors[3 * i + k]);
    let dot = |u: [f64; 3], v: [f64; 3]| u[0] * v[0] + u[1] * v[1] + u[2] * v[2];
    let (a, b, c) = (row(0), row(1), row(2));
    let (la, lb, lc) = (dot(a, a).sqrt(), dot(b, b).sqrt(), dot(c, c).sqrt());
    if !(la + lb + lc).is_finite() {
        return [f64::INFINITY; 6];
    }
    if la + lb + lc == 0.0 {
        return [f64::NAN; 6];
    }
    // Of a vector without a length too: then there are lengths, but no volume.
    let right = |d: f64| d == 0.0 || d.is_nan();
    let angle = |d: f64| if right(d) { 90.0 } else { libm::acos(d.clamp(-1.0, 1.0)).to_degrees() };
    [
        la * scale,
        lb * scale,
        lc * scale,
        angle(dot(b, c) / (lb * lc)),
        angle(dot(a, c) / (la * lc)),
        angle(dot(a, b) / (la * lb)),
    ]
}

/// The vectors times `scale`, where lengths and angles alone do not say how they stand: see
/// [`FrameMeta::turned`].
pub fn turned_vectors(vectors: &[f64; 9], scale: f64) -> Option<[f64; 9]> {
    let [ax, ay, az, _, by, bz, _, _, cz] = *vectors;
    let usual = [ay, az, bz] == [0.0; 3] && ax >= 0.0 && by >= 0.0 && cz >= 0.0;
    let finite = vectors.iter().all(|x| x.is_finite());
    (finite && !usual).then(|| vectors.map(|x| x * scale))
}

/// Box vectors row by row, in the unit of the lengths, of a cell (a, b, c, α, β, γ in degrees): the first
/// along x, the second in the plane of x and y. None where no box has such angles and lengths.
pub fn vectors_from_cell(cell: &[f64; 6]) -> Option<[f64; 9]> {
    let [a, b, c, alpha, beta, gamma] = *cell;
    let sound = [a, b, c].iter().all(|&v| v > 0.0 && v.is_finite())
        && [alpha, beta, gamma].iter().all(|&v| v > 0.0 && v < 180.0);
    if !sound {
        return None;
    }
    let cosine = |v: f64| if v == 90.0 { 0.0 } else { libm::cos(v.to_radians()) };
    let (cos_a, cos_b, cos_c) = (cosine(alpha), cosine(beta), cosine(gamma));
    let sin_c = if gamma == 90.0 { 1.0 } else { libm::sin(gamma.to_radians()) };
    let cy = c * (cos_a - cos_b * cos_c) / sin_c;
    let (bx, cx) = (b * cos_c, c * cos_b);
    let rest = c * c - cx * cx - cy * cy;
    (rest > 0.0).then(|| [a, 0.0, 0.0, bx, b * sin_c, 0.0, cx, cy, rest.sqrt()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rhombic_dodecahedron_has_its_angles() {
        let d = 8.0f64;
        let h = (0.5f64).sqrt() * d;
        let cell = cell_from_vectors(&[d, 0.0, 0.0, 0.0, d, 0.0, d / 2.0, d / 2.0, h], 10.0);
        for (got, want) in cell.iter().zip([80.0, 80.0, 80.0, 60.0, 60.0, 90.0]) {
            assert!((got - want).abs() < 1e-5, "{cell:?}");
        }
    }

    #[test]
    fn no_box_is_nan_not_zero() {
        assert!(cell_from_vectors(&[0.0; 9], 10.0).iter().all(|v| v.is_nan()));
        for bad in [f64::INFINITY, f64::NAN] {
            let vectors = [3.0, 0.0, 0.0, 0.0, 4.0, 0.0, 0.0, bad, 5.0];
            assert_eq!(cell_from_vectors(&vectors, 10.0), [f64::INFINITY; 6]);
        }
        // A vector is missing: lengths, but no volume.
        let flat = cell_from_vectors(&[3.0, 0.0, 0.0, 0.0, 4.0, 0.0, 0.0, 0.0, 0.0], 10.0);
        assert_eq!(flat, [30.0, 40.0, 0.0, 90.0, 90.0, 90.0]);
    }

    #[test]
    fn vectors_that_are_turned_are_kept() {
        assert_eq!(turned_vectors(&[3.0, 0.0, 0.0, 1.0, 3.0, 0.0, 1.0, 1.0, 3.0], 10.0), None);
        let turned = [0.0, 0.0, 3.0, 3.0, 0.0, 1.0, 0.0, 3.0, 1.0];
        assert_eq!(turned_vectors(&turned, 10.0), Some(turned.map(|x| x * 10.0)));
    }
}
