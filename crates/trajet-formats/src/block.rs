//! Blocks: positions (Å) of the selected atoms in several frames.

use crate::Periodic;
use crate::frame::FrameInfo;
use crate::memory::{self, Refused, reserve};

/// Numbers, times, steps and cells of several frames. All vectors have one entry per frame.
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
    /// Box vectors (Å, row by row) of frames whose box is turned: the first vector does not lie along x, or the
    /// second not in the xy plane, so that the cell alone does not determine them. `None` for frames whose box
    /// is not turned or that have no cell.
    pub turned: Vec<Option<[f64; 9]>>,
    /// Whether each cell is periodic along its vectors.
    pub periodic: Vec<Periodic>,
    /// The corner (Å) at which each cell begins.
    pub origins: Vec<[f64; 3]>,
}

impl FrameMeta {
    /// Removes all frames and keeps the allocated memory.
    pub fn clear(&mut self) {
        self.frames.clear();
        self.times.clear();
        self.steps.clear();
        self.cells.clear();
        self.turned.clear();
        self.periodic.clear();
        self.origins.clear();
    }

    /// Reserves memory for `more` frames.
    ///
    /// # Errors
    /// [`Refused`] if the memory cannot be allocated.
    pub fn reserve(&mut self, more: usize) -> Result<(), Refused> {
        const WHAT: &str = "the times, steps and cells of frames";
        reserve(&mut self.frames, more, WHAT)?;
        reserve(&mut self.times, more, WHAT)?;
        reserve(&mut self.steps, more, WHAT)?;
        reserve(&mut self.cells, more, WHAT)?;
        reserve(&mut self.turned, more, WHAT)?;
        reserve(&mut self.periodic, more, WHAT)?;
        reserve(&mut self.origins, more, WHAT)
    }

    /// Adds one frame.
    pub fn push(&mut self, frame: u64, info: FrameInfo) {
        self.frames.push(frame);
        self.times.push(info.time);
        self.steps.push(info.step);
        self.cells.push(info.cell);
        self.turned.push(info.turned);
        self.periodic.push(info.periodic);
        self.origins.push(info.origin);
    }

    /// Returns the time, step and cell of the `i`-th frame.
    ///
    /// # Panics
    /// If there are fewer frames.
    pub fn info(&self, i: usize) -> FrameInfo {
        FrameInfo {
            time: self.times[i],
            step: self.steps[i],
            cell: self.cells[i],
            turned: self.turned[i],
            periodic: self.periodic[i],
            origin: self.origins[i],
        }
    }

    /// Returns the time, step and cell of the last frame.
    ///
    /// # Panics
    /// If there is no frame.
    pub fn last(&self) -> FrameInfo {
        self.info(self.frames.len() - 1)
    }

    /// Replaces the time, step and cell of the last frame.
    ///
    /// # Panics
    /// If there is no frame.
    pub fn set_last(&mut self, info: FrameInfo) {
        self.set(self.frames.len() - 1, info);
    }

    /// Replaces the time, step and cell of the `i`-th frame.
    ///
    /// # Panics
    /// If there are fewer frames.
    pub fn set(&mut self, i: usize, info: FrameInfo) {
        self.times[i] = info.time;
        self.steps[i] = info.step;
        self.cells[i] = info.cell;
        self.turned[i] = info.turned;
        self.periodic[i] = info.periodic;
        self.origins[i] = info.origin;
    }

    /// Moves all frames of `other` to the end.
    pub fn append(&mut self, other: &mut FrameMeta) {
        self.frames.append(&mut other.frames);
        self.times.append(&mut other.times);
        self.steps.append(&mut other.steps);
        self.cells.append(&mut other.cells);
        self.turned.append(&mut other.turned);
        self.periodic.append(&mut other.periodic);
        self.origins.append(&mut other.origins);
    }
}

/// Positions of the same atoms in several frames. Reuse blocks: allocating a new one costs more than
/// decoding into it.
#[derive(Clone, Debug, Default)]
pub struct Block {
    n_atoms: usize,
    /// Positions: `[n_frames, n_atoms, 3]`, C order, Å.
    pub positions: Vec<f32>,
    /// Numbers, times, steps and cells, one entry per frame.
    pub meta: FrameMeta,
}

impl Block {
    /// Removes all frames and sizes the block for `n_frames` frames of `n_atoms` atoms.
    ///
    /// # Errors
    /// [`Refused`] if the memory cannot be allocated.
    pub fn reset(&mut self, n_frames: usize, n_atoms: usize) -> Result<(), Refused> {
        let len = n_frames.saturating_mul(n_atoms).saturating_mul(3);
        memory::resize(&mut self.positions, len, 0.0, "the positions of a block of frames")?;
        self.n_atoms = n_atoms;
        self.meta.clear();
        Ok(())
    }

    /// Returns the number of atoms per frame.
    #[inline]
    pub fn n_atoms(&self) -> usize {
        self.n_atoms
    }

    /// Returns the number of frames that were read.
    pub fn n_frames(&self) -> usize {
        self.meta.frames.len()
    }

    /// Returns the positions of frame `i` of the block: `[n_atoms, 3]`, Å.
    #[inline]
    pub fn frame(&self, i: usize) -> &[f32] {
        &self.positions[i * self.n_atoms * 3..(i + 1) * self.n_atoms * 3]
    }

    /// Returns the positions of frame `i` of the block for changes in place.
    #[inline]
    pub fn frame_mut(&mut self, i: usize) -> &mut [f32] {
        &mut self.positions[i * self.n_atoms * 3..(i + 1) * self.n_atoms * 3]
    }
}
