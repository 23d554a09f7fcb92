//! The interface of analyses: arrays with entries for frames, a mergeable state, or both, and possibly a further pass.
//! Passes hold analyses of any state (`ErasedAnalysis`), which has the only codec of states.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use postcard::ser_flavors::Size;
use serde::Serialize;
use serde::de::DeserializeOwned;
use trajet_formats::{AtomList, Atoms, Block, Field, Numbers, memory};
use trajet_kernels::cell::{Cell, Periodic};
use trajet_kernels::pairs::Misplaced;

use crate::broken_molecules::Neighbours;
use crate::cells::{CellUse, of_frame};
use crate::error::{FrameError, InvalidArgument, Result};
use crate::frame_arrays::{ArraySpec, FrameArrays};
use crate::plan::Leaves;
use crate::superpose::Superpose;

/// Checks that all positions are finite, as a single NaN would spoil the accumulated state.
///
/// # Errors
/// [`FrameError`] of the first frame with a position that is not finite.
pub(crate) fn check_finite(block: &Block) -> Result<(), FrameError> {
    let spoiled = |&i: &usize| !block.frame(i).iter().all(|x| x.is_finite());
    let Some(i) = (0..block.n_frames()).find(spoiled) else { return Ok(()) };
    let why =
        "a selected atom has no position there (not a number): leave this frame out".to_owned();
    Err(FrameError { frame: block.meta.frames[i], why })
}

/// Checks that there is a weight for each atom, and that an average with these weights exists.
///
/// # Errors
/// [`InvalidArgument`].
pub fn check_weights(weights: Option<&[f64]>, n_atoms: usize) -> Result<(), InvalidArgument> {
    if n_atoms == 0 {
        return Err(InvalidArgument("there are no atoms"));
    }
    let Some(weights) = weights else { return Ok(()) };
    if weights.len() != n_atoms {
        return Err(InvalidArgument("there must be a weight for each atom"));
    }
    let heavy =
        weights.iter().all(|&w| w >= 0.0 && w.is_finite()) && weights.iter().any(|&w| w > 0.0);
    if !heavy {
        return Err(InvalidArgument("weights must be finite, not negative, and not all zero"));
    }
    Ok(())
}

/// Returns the unit cell of the `i`-th frame of a block, for an analysis that needs one.
///
/// # Errors
/// [`FrameError`] if there is none, or it has no volume; `of` is the analysis that needs one.
pub(crate) fn required_cell(block: &Block, i: usize, of: &str) -> Result<Cell, FrameError> {
    let refused = |what: String| FrameError {
        frame: block.meta.frames[i],
        why: format!("{what}, and {of} needs one: choose frames that have one"),
    };
    of_frame(block, i)
        .map_err(|no_cell| refused(no_cell.to_string()))?
        .ok_or_else(|| refused("it has no unit cell".to_owned()))
}

/// Returns the unit cell of the `i`-th frame of a block; `None` if it has none.
///
/// # Errors
/// [`FrameError`] if the cell has no volume. Treating such a frame as non-periodic would hide the defect.
pub(crate) fn cell_of(block: &Block, i: usize) -> Result<Option<Cell>, FrameError> {
    of_frame(block, i).map_err(|no_cell| {
        let why =
            format!("{no_cell}: leave this frame out, or take positions as they are (pbc=False)");
        FrameError { frame: block.meta.frames[i], why }
    })
}

/// Checks that a cell is periodic in directions in which an analysis divides by its size: in others, files have lengths
/// that say nothing of the system. `why` says what is divided and what to do instead.
///
/// # Errors
/// [`FrameError`] that names the first other direction.
pub(crate) fn check_periodic(
    cell: &Cell,
    directions: Periodic,
    frame: u64,
    why: &str,
) -> Result<(), FrameError> {
    let is_open = |&k: &usize| directions[k] && !cell.periodic()[k];
    match (0..3).find(is_open) {
        None => Ok(()),
        Some(k) => {
            let vector = ["a", "b", "c"][k];
            Err(FrameError {
                frame,
                why: format!("its cell is not periodic along {vector}, and {why}"),
            })
        }
    }
}

/// Returns the error of a frame in which an atom of a group cannot be placed in the cell.
pub(crate) fn no_position(frame: u64, Misplaced { group, atom }: Misplaced) -> FrameError {
    let which = ["first", "second"][group];
    let why = format!(
        "atom {atom} of the {which} selection has no position there, or one that is millions of \
         cells away: leave this frame out"
    );
    FrameError { frame, why }
}

/// Parameters of an analysis. Bindings deserialise them by the names of the fields.
pub trait Request: Serialize + DeserializeOwned + Clone + Send + Sync {
    /// Checks the parameters, as far as that needs no trajectory.
    ///
    /// # Errors
    /// [`InvalidArgument`].
    fn check(&self) -> Result<(), InvalidArgument>;

    /// Returns all lists of atoms among the parameters, so that the caller can number atoms anew.
    fn atoms(&mut self) -> Vec<&mut AtomList>;

    /// Returns the first pass of the analysis on a trajectory of `n_atoms` atoms.
    ///
    /// # Errors
    /// [`trajet_files::Error::AtomOutOfRange`], [`trajet_files::Error::Memory`].
    ///
    /// # Panics
    /// If [`Request::check`] finds a fault.
    fn plan(self, n_atoms: usize) -> Result<Pass, trajet_files::Error>;
}

/// An analysis of frames.
pub trait Analysis: Send + Sync + 'static {
    /// State accumulated over frames, with its own weight. Lists of numbers in it are [`Numbers`].
    type State: Clone + Serialize + DeserializeOwned + Send + 'static;

    /// Returns the arrays with an entry for each frame; none if frames only contribute to the state.
    fn per_frame(&self) -> Vec<ArraySpec> {
        Vec::new()
    }

    /// Returns the bytes that a state takes, as far as they are known beforehand.
    fn state_bytes(&self) -> usize {
        0
    }

    /// Returns the state of no frames.
    ///
    /// # Errors
    /// [`crate::AnalysisError::Memory`].
    fn empty(&self) -> Result<Self::State>;

    /// Writes the entries of the block's frames to `out`, and accumulates the frames into `state`.
    ///
    /// # Errors
    /// [`crate::AnalysisError::Frame`] of the first frame that the analysis cannot take, and others.
    fn absorb(
        &self,
        block: &Block,
        out: &mut FrameArrays<'_>,
        state: &mut Self::State,
    ) -> Result<()>;

    /// Merges the states of two adjacent ranges of frames, `left` before `right`.
    ///
    /// # Errors
    /// [`crate::AnalysisError`] of any kind but [`crate::AnalysisError::Frame`].
    fn merge(&self, left: Self::State, right: Self::State) -> Result<Self::State>;

    /// Returns whether a further pass follows.
    fn has_next(&self) -> bool {
        false
    }

    /// Returns the arrays of the state of all frames, or the next pass.
    ///
    /// # Errors
    /// As [`Analysis::merge`].
    fn finish(&self, state: Self::State) -> Result<Finished>;

    /// Returns the use that the analysis makes of unit cells, which the summary of the run counts.
    fn cell_use(&self) -> CellUse {
        CellUse::Ignored
    }
}

/// An analysis that computes entries of arrays for each frame, and accumulates nothing.
pub trait PerFrame: Send + Sync + 'static {
    /// As [`Analysis::per_frame`].
    fn per_frame(&self) -> Vec<ArraySpec>;

    /// Writes the entries of the block's frames.
    ///
    /// # Errors
    /// As [`Analysis::absorb`].
    fn compute(&self, block: &Block, out: &mut FrameArrays<'_>) -> Result<()>;

    /// As [`Analysis::cell_use`].
    fn cell_use(&self) -> CellUse {
        CellUse::Ignored
    }
}

/// A [`PerFrame`] as an analysis.
struct Stateless<A>(A);

impl<A: PerFrame> Analysis for Stateless<A> {
    type State = ();

    fn per_frame(&self) -> Vec<ArraySpec> {
        self.0.per_frame()
    }

    fn empty(&self) -> Result<()> {
        Ok(())
    }

    fn absorb(&self, block: &Block, out: &mut FrameArrays<'_>, (): &mut ()) -> Result<()> {
        self.0.compute(block, out)
    }

    fn merge(&self, (): (), (): ()) -> Result<()> {
        Ok(())
    }

    fn finish(&self, (): ()) -> Result<Finished> {
        Ok(Finished::Arrays(Vec::new()))
    }

    fn cell_use(&self) -> CellUse {
        self.0.cell_use()
    }
}

/// Result of the last merge of a pass.
pub enum Finished {
    /// Arrays by their names.
    Arrays(Vec<(&'static str, Array)>),
    /// The next pass.
    Next(Box<Pass>),
}

/// An array of a result.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// The elements, in C order.
    pub values: Values,
    /// The shape; empty for a single number.
    pub shape: Vec<usize>,
}

/// The elements of an array. Integers are signed: NumPy turns mixtures of signed and unsigned ones into floats.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Floats.
    F64(Vec<f64>),
    /// Integers.
    I64(Vec<i64>),
}

impl Array {
    /// Returns a single float.
    pub fn number(value: f64) -> Self {
        Array { values: Values::F64(vec![value]), shape: Vec::new() }
    }

    /// Returns a single integer.
    pub fn count(value: u64) -> Self {
        Array { values: Values::I64(vec![value as i64]), shape: Vec::new() }
    }

    /// Returns floats.
    pub fn floats(values: Numbers<f64>) -> Self {
        Array { shape: vec![values.len()], values: Values::F64(values.0) }
    }

    /// Returns integers.
    pub fn integers<T: TryInto<i64, Error: fmt::Debug>>(values: Numbers<T>) -> Self {
        let signed = |value: T| value.try_into().expect("below 2^63");
        let values: Vec<i64> = values.0.into_iter().map(signed).collect();
        Array { shape: vec![values.len()], values: Values::I64(values) }
    }

    /// Returns the array with rows of this length.
    #[must_use]
    pub fn rows(mut self, width: usize) -> Self {
        self.shape = vec![self.shape[0] / width.max(1), width];
        self
    }
}

/// One pass over the requested frames.
pub struct Pass {
    /// The analysis' own atoms, which are read. Leaves depend on their number: atoms that are decoded for other
    /// purposes must not be added.
    pub atoms: Atoms,
    /// The vectors of these atoms that blocks have in place of positions. A pass of another field is run alone.
    pub field: Field,
    /// The superposition of frames before the analysis.
    pub superpose: Option<Superpose>,
    /// Atoms by which molecules that are broken over the box are found. Those of the first pass are taken over by the
    /// next ones; the last one looks for broken molecules.
    pub neighbours: Option<Arc<Neighbours>>,
    /// The number of requested frames, if the last pass is to keep states of blocks of them. Taken over as well.
    pub blocks_of: Option<usize>,
    /// The analysis.
    pub analysis: Box<dyn ErasedAnalysis>,
}

impl Pass {
    /// Returns a pass of an analysis on these atoms.
    pub fn new(atoms: Atoms, analysis: impl Analysis) -> Self {
        Pass {
            atoms,
            field: Field::Positions,
            superpose: None,
            neighbours: None,
            blocks_of: None,
            analysis: Box::new(analysis),
        }
    }

    /// Returns a pass of an analysis that accumulates nothing.
    pub fn per_frame(atoms: Atoms, analysis: impl PerFrame) -> Self {
        Pass::new(atoms, Stateless(analysis))
    }

    /// Returns the leaves of `n_frames` requested frames. They depend only on that number and on the number of the
    /// analysis' own atoms.
    pub fn leaves(&self, n_frames: usize) -> Leaves {
        Leaves::new(n_frames, self.atoms.len())
    }
}

/// A state of any analysis.
pub type AnyState = Box<dyn Any + Send>;

/// An [`Analysis`] without the type of its states. Its methods panic if they are given the state of another analysis.
pub trait ErasedAnalysis: Send + Sync {
    /// As [`Analysis::per_frame`].
    fn per_frame(&self) -> Vec<ArraySpec>;

    /// As [`Analysis::state_bytes`].
    fn state_bytes(&self) -> usize;

    /// As [`Analysis::has_next`].
    fn has_next(&self) -> bool;

    /// As [`Analysis::cell_use`].
    fn cell_use(&self) -> CellUse;

    /// Returns the state of a block, and writes the entries of its frames.
    ///
    /// # Errors
    /// As [`Analysis::absorb`].
    fn fold(&self, block: &Block, out: &mut FrameArrays<'_>) -> Result<AnyState>;

    /// Returns the state of no frames.
    ///
    /// # Errors
    /// As [`Analysis::empty`].
    fn empty(&self) -> Result<AnyState>;

    /// Returns the state of the frames of both states.
    ///
    /// # Errors
    /// As [`Analysis::merge`].
    fn merge(&self, left: AnyState, right: AnyState) -> Result<AnyState>;

    /// Returns the arrays, or the next pass.
    ///
    /// # Errors
    /// As [`Analysis::finish`].
    fn finish(&self, state: AnyState) -> Result<Finished>;

    /// Returns a copy of a state.
    ///
    /// # Errors
    /// [`crate::AnalysisError::Memory`].
    fn copy(&self, state: &AnyState) -> Result<AnyState>;

    /// Appends the bytes of a state.
    ///
    /// # Errors
    /// [`crate::AnalysisError::Memory`].
    fn write(&self, state: &AnyState, bytes: &mut Vec<u8>) -> Result<()>;

    /// Returns the state at the beginning of some bytes, and the bytes after it; `None` if there is none. The caller asks
    /// for the memory: as much as the bytes take.
    fn read<'b>(&self, bytes: &'b [u8]) -> Option<(AnyState, &'b [u8])>;
}

impl<A: Analysis> ErasedAnalysis for A {
    fn per_frame(&self) -> Vec<ArraySpec> {
        Analysis::per_frame(self)
    }

    fn state_bytes(&self) -> usize {
        Analysis::state_bytes(self)
    }

    fn has_next(&self) -> bool {
        Analysis::has_next(self)
    }

    fn cell_use(&self) -> CellUse {
        Analysis::cell_use(self)
    }

    fn fold(&self, block: &Block, out: &mut FrameArrays<'_>) -> Result<AnyState> {
        let mut state = Analysis::empty(self)?;
        self.absorb(block, out, &mut state)?;
        Ok(Box::new(state))
    }

    fn empty(&self) -> Result<AnyState> {
        Ok(Box::new(Analysis::empty(self)?))
    }

    fn merge(&self, left: AnyState, right: AnyState) -> Result<AnyState> {
        let merged = Analysis::merge(self, own::<A>(left), own::<A>(right))?;
        Ok(Box::new(merged))
    }

    fn finish(&self, state: AnyState) -> Result<Finished> {
        Analysis::finish(self, own::<A>(state))
    }

    fn copy(&self, state: &AnyState) -> Result<AnyState> {
        let state = state.downcast_ref::<A::State>().expect("a state of this analysis");
        memory::ask(size_of_bytes(state), "the state of an analysis")?;
        Ok(Box::new(state.clone()))
    }

    fn write(&self, state: &AnyState, bytes: &mut Vec<u8>) -> Result<()> {
        write(state.downcast_ref::<A::State>().expect("a state of this analysis"), bytes)
    }

    fn read<'b>(&self, bytes: &'b [u8]) -> Option<(AnyState, &'b [u8])> {
        let (state, rest) = postcard::take_from_bytes::<A::State>(bytes).ok()?;
        Some((Box::new(state), rest))
    }
}

fn own<A: Analysis>(state: AnyState) -> A::State {
    *state.downcast::<A::State>().expect("a state of this analysis")
}

/// Appends the bytes of a value.
///
/// # Errors
/// [`crate::AnalysisError::Memory`] if the system refuses memory for them.
pub(crate) fn write(value: &impl Serialize, bytes: &mut Vec<u8>) -> Result<()> {
    memory::reserve(bytes, size_of_bytes(value), "the state of an analysis")?;
    *bytes = postcard::to_extend(value, std::mem::take(bytes)).expect("states are plain data");
    Ok(())
}

/// Returns how many bytes [`write`] appends.
fn size_of_bytes(value: &impl Serialize) -> usize {
    postcard::serialize_with_flavor(value, Size::default()).expect("states are plain data")
}
