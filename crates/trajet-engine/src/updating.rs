//! Selections that are evaluated for each frame, in the workers.

use std::sync::{Mutex, PoisonError};

use trajet_formats::Block;
use trajet_topology::select::{SelectMemory, UpdatingSelection};

use crate::atom_map::AtomMap;
use crate::cells::of_frame;
use crate::error::{FrameError, InvalidArgument};

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
        self.select_among(block.frame(i), block, i)
    }

    /// Returns the same from `positions` (`[n, 3]`) of the atoms of [`UpdatingSelection::atoms`] in that frame.
    fn select_among(
        &self,
        positions: &[f32],
        block: &Block,
        i: usize,
    ) -> Result<Vec<u32>, FrameError> {
        let refused = |why: String| FrameError { frame: block.meta.frames[i], why };
        let (positions, _) = positions.as_chunks();
        if !positions.as_flattened().iter().all(|x| x.is_finite()) {
            return Err(refused(
                "an atom on which the selection depends has no position there (not a number): \
                 leave this frame out"
                    .to_owned(),
            ));
        }
        let cell = of_frame(block, i)
            .map_err(|no_cell| refused(format!("{no_cell}: leave this frame out")))?;
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

/// Checks that a selection is evaluated from as many atoms as a list has.
///
/// # Errors
/// [`InvalidArgument`].
pub(crate) fn check_selection(
    selection: Option<&UpdatingSelection>,
    n_atoms: usize,
) -> Result<(), InvalidArgument> {
    match selection {
        Some(selection) if selection.atoms().len() != n_atoms => {
            Err(InvalidArgument("the selection depends on another number of atoms"))
        }
        _ => Ok(()),
    }
}

/// A list of atoms of an analysis, all of which are used in every frame, or those that a selection chooses in each.
#[derive(Debug)]
pub(crate) struct Group {
    /// The columns of the list.
    map: AtomMap,
    /// The selection; `None` for all atoms of the list. It is evaluated from the atoms of the list.
    selection: Option<Updating>,
}

/// Memory for the atoms of a group in a frame.
#[derive(Debug, Default)]
pub(crate) struct GroupMemory {
    listed: Vec<[f32; 3]>,
    chosen: Vec<[f32; 3]>,
    chosen_numbers: Vec<u32>,
}

/// The atoms of a group in a frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Members<'a> {
    /// Their positions (`[n, 3]`).
    pub(crate) positions: &'a [f32],
    /// Their numbers in the list of the group, ascending; `None` if they are the list.
    pub(crate) numbers: Option<&'a [u32]>,
}

impl Group {
    /// Returns the group of a list with these columns.
    pub(crate) fn new(map: AtomMap, selection: Option<UpdatingSelection>) -> Self {
        Group { map, selection: selection.map(Updating::new) }
    }

    /// Returns whether a selection chooses the atoms in each frame, for which it uses cells.
    pub(crate) fn is_updating(&self) -> bool {
        self.selection.is_some()
    }

    /// Returns the atoms of the group in the `i`-th frame of a block.
    ///
    /// # Errors
    /// As [`Updating::select`].
    pub(crate) fn members<'a>(
        &self,
        block: &'a Block,
        i: usize,
        memory: &'a mut GroupMemory,
    ) -> Result<Members<'a>, FrameError> {
        let GroupMemory { listed, chosen, chosen_numbers } = memory;
        let positions = self.map.gather(block.frame(i), listed);
        let Some(selection) = &self.selection else {
            return Ok(Members { positions, numbers: None });
        };
        *chosen_numbers = selection.columns(&selection.select_among(positions, block, i)?);
        let points = positions.as_chunks::<3>().0;
        chosen.clear();
        chosen.extend(chosen_numbers.iter().map(|&number| points[number as usize]));
        Ok(Members { positions: chosen.as_flattened(), numbers: Some(chosen_numbers) })
    }
}

impl Members<'_> {
    /// Returns the values of these atoms, of those of the list; gathered into `memory` if they are not all.
    pub(crate) fn values<'b, T: Copy>(&self, of_list: &'b [T], memory: &'b mut Vec<T>) -> &'b [T] {
        let Some(numbers) = self.numbers else { return of_list };
        memory.clear();
        memory.extend(numbers.iter().map(|&number| of_list[number as usize]));
        memory
    }

    /// Returns the number of atoms.
    pub(crate) fn len(&self) -> usize {
        self.positions.len() / 3
    }
}
