//! The first exit: coordinates of the wanted atoms of several frames, in Å.

use crate::Error;
use crate::frame::FrameInfo;
use crate::memory::{self, Refused, reserve};

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
    pub fn push(&mut self, frame: u64, info: FrameInfo) {
        self.frames.push(frame);
        self.times.push(info.time);
        self.steps.push(info.step);
        self.cells.push(info.cell);
        self.turned.push(info.turned);
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
