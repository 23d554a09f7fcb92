//! Transforms of frames after decoding: what a chain needs to know of them. The transforms themselves (periodic
//! boundaries, superposition) are in `trajet-transforms`.

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};

use trajet_formats::{Atoms, FrameInfo};

use crate::{Error, Frames};

/// Number of selections for which a chain keeps a prepared transform.
const KEPT: usize = 16;

/// Data that a prepared transform keeps in a [`crate::Scratch`] from frame to frame.
pub type TransformMemory = Option<Box<dyn Any + Send>>;

/// A change of positions that a chain makes to each frame after decoding.
pub trait Transform: Send + Sync {
    /// Prepares the transform for users of these atoms: it may need further atoms.
    ///
    /// # Errors
    /// [`Error::Memory`], [`Error::AtomOutOfRange`].
    fn prepare(&self, atoms: &Atoms) -> Result<Arc<dyn PreparedTransform>, Error>;

    /// Returns the frames that are read for users of `frames`, ascending, if these are not all.
    fn frames_read(&self, frames: &Frames) -> Option<Frames>;

    /// Returns whether frames are rotated, so that velocities and forces would have to be rotated, too.
    fn rotates(&self) -> bool;
}

/// A transform of the positions of certain atoms.
pub trait PreparedTransform: Send + Sync {
    /// Returns the atoms to decode, ascending, each once.
    fn decoded(&self) -> &Atoms;

    /// Returns the columns of the requested atoms among the decoded ones; `None` if both are the same.
    fn columns(&self) -> Option<&[u32]>;

    /// Returns the frames that must be transformed with this memory before frame `number`.
    ///
    /// # Errors
    /// A text that says why the frame cannot be transformed.
    fn frames_before(&self, number: u64, memory: &TransformMemory) -> Result<Frames, String>;

    /// Transforms the decoded positions (Å) of frame `number`, and its cell.
    ///
    /// # Errors
    /// A text that says why the frame cannot be transformed.
    fn apply(
        &self,
        number: u64,
        positions: &mut [[f32; 3]],
        info: &mut FrameInfo,
        memory: &mut TransformMemory,
    ) -> Result<TransformWarnings, String>;

    /// Returns the transform as one that tasks hand over, if it depends on the frames before.
    fn as_relay(&self) -> Option<&dyn RelayTransform>;
}

/// State that a task of frames hands to the next one, for a transform that depends on all frames before.
pub type TransformState = Box<dyn Any + Send>;

/// A transform that depends on the frames before, in two steps. The first step needs the frames of a task only, so that
/// several threads can do it; the second one needs what the task before hands over. A task receives that once, before or
/// after the first step of any of its frames; frames after these get the whole transform. See [`crate::Relay`].
pub trait RelayTransform: Send + Sync {
    /// Returns the most frames of a task if tasks of these frames can hand over: frames are ascending, each once, and the
    /// transform needs no other frame between them.
    fn task_frames(&self, frames: &Frames) -> Option<usize>;

    /// Forgets the task before and the frames before.
    fn begin(&self, memory: &mut TransformMemory);

    /// Does the first step for the next frame of a task that has not received.
    ///
    /// # Errors
    /// As [`PreparedTransform::apply`].
    fn first_step(
        &self,
        number: u64,
        positions: &mut [[f32; 3]],
        info: &mut FrameInfo,
        memory: &mut TransformMemory,
    ) -> Result<TransformWarnings, String>;

    /// Takes what the task before handed over, `None` for the first task.
    ///
    /// # Errors
    /// As [`PreparedTransform::apply`].
    fn receive(
        &self,
        before: Option<TransformState>,
        memory: &mut TransformMemory,
    ) -> Result<TransformWarnings, String>;

    /// Returns what the next task gets, once all frames had the first step or the whole transform.
    fn hand_over(&self, memory: &mut TransformMemory) -> Option<TransformState>;

    /// Does the second step for the next frame of a task that has received; nothing for frames that had the whole
    /// transform.
    ///
    /// # Errors
    /// As [`PreparedTransform::apply`].
    fn second_step(
        &self,
        positions: &mut [[f32; 3]],
        info: &mut FrameInfo,
        memory: &mut TransformMemory,
    ) -> Result<TransformWarnings, String>;
}

/// Counts of transformed positions that may be wrong. Reports turn them into messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransformWarnings {
    /// Molecules that are bonded to their own periodic image, summed over frames. They were not made whole.
    pub infinite_molecules: u64,
    /// Frames with a step of almost half a cell from the frame before, whose direction is uncertain. A frame counts as
    /// often as it is read, also on the way to others.
    pub large_steps: u64,
    /// Number of the first frame with such a step, and the atom.
    pub first_large_step: Option<(u64, u64)>,
}

impl TransformWarnings {
    /// Adds the counts of further frames.
    pub fn add(&mut self, other: &TransformWarnings) {
        self.infinite_molecules += other.infinite_molecules;
        self.large_steps += other.large_steps;
        let both = [self.first_large_step, other.first_large_step];
        self.first_large_step = both.into_iter().flatten().min();
    }
}

/// The transform of a chain, with what was prepared for the selections that were read. Chains share it.
pub struct ChainTransform {
    transform: Arc<dyn Transform>,
    prepared: Mutex<Vec<(Atoms, Arc<dyn PreparedTransform>)>>,
}

impl ChainTransform {
    /// Returns the transform, for which nothing is prepared yet.
    pub fn new(transform: Arc<dyn Transform>) -> Self {
        ChainTransform { transform, prepared: Mutex::default() }
    }

    /// Returns the frames that are read for users of `frames`, if these are not all.
    pub(crate) fn frames_read(&self, frames: &Frames) -> Option<Frames> {
        self.transform.frames_read(frames)
    }

    /// Returns whether frames are rotated.
    pub(crate) fn rotates(&self) -> bool {
        self.transform.rotates()
    }

    /// Returns the transform for these atoms. Comparing selections costs far less than reading a frame of them.
    pub(crate) fn prepared(&self, atoms: &Atoms) -> Result<Arc<dyn PreparedTransform>, Error> {
        let lock = || self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = lock().iter().find(|(known, _)| known.is_same(atoms)) {
            return Ok(Arc::clone(known));
        }
        let prepared = self.transform.prepare(atoms)?;
        let mut known = lock();
        if known.len() == KEPT {
            known.remove(0);
        }
        known.push((atoms.clone(), Arc::clone(&prepared)));
        Ok(prepared)
    }
}
