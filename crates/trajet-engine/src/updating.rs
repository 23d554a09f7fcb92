//! Selections that are evaluated for each frame, in the workers.

use std::sync::{Mutex, PoisonError};

use trajet_formats::Block;
use trajet_kernels::cell::Cell;
use trajet_topology::select::{SelectMemory, UpdatingSelection};

use crate::error::FrameError;

/// A selection, with memory for each thread that evaluates it.
#[derive(Debug)]
pub struct Updating {
    selection: UpdatingSelection,
    memories: Mutex<Vec<SelectMemory>>,
}

impl Updating {
    /// Returns the selection, which no thread has evaluated yet.
    pub fn new(selection: UpdatingSelection) -> Self {
        Updating { selection, memories: Mutex::default() }
    }

    /// Returns the indices in the topology of the atoms that are selected in the `i`-th frame of a block, ascending. The
    /// block has the atoms of [`UpdatingSelection::atoms`].
    ///
    /// # Errors
    /// [`FrameError`] if the frame has no positions, or a cell without volume, or the selection cannot be evaluated.
    ///
    /// # Panics
    /// If the block has other atoms.
    pub fn select(&self, block: &Block, i: usize) -> Result<Vec<u32>, FrameError> {
        let refused = |why: String| FrameError { frame: block.meta.frames[i], why };
        let (positions, _) = block.frame(i).as_chunks();
        if !positions.as_flattened().iter().all(|x| x.is_finite()) {
            return Err(refused(
                "an atom on which the selection depends has no position there (not a number): \
                 leave this frame out"
                    .to_owned(),
            ));
        }
        let cell = Cell::of_frame(block.meta.cells[i], block.meta.turned[i])
            .map_err(|no_volume| refused(format!("{no_volume}: leave this frame out")))?;
        let lock = || self.memories.lock().unwrap_or_else(PoisonError::into_inner);
        let mut memory = lock().pop().unwrap_or_default();
        let selected = self.selection.select(positions, cell.as_ref(), &mut memory);
        lock().push(memory);
        selected.map_err(|error| refused(error.to_string()))
    }

    /// Returns the columns of selected atoms in a block.
    ///
    /// # Panics
    /// If an atom is not among those of the block.
    pub fn columns(&self, selected: &[u32]) -> Vec<u32> {
        self.selection.places(selected)
    }
}

impl Clone for Updating {
    fn clone(&self) -> Self {
        Updating::new(self.selection.clone())
    }
}
