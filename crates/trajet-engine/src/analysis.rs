//! What an analysis is: rows, a mergeable state, or both, and perhaps another pass after it.

use trajet_io::{Atoms, Block};
use trajet_kernels::cell::Cell;

use crate::error::FrameError;
use crate::plan::Leaves;
use crate::transform::Transform;

/// What is folded over frames: flat, of a fixed size, carrying its own weight.
pub type State = Vec<f64>;

/// What remains of a pass.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Output {
    /// `[n_frames, row_width]`, in the order of the wanted frames.
    pub rows: Vec<f64>,
    /// Numbers in a row.
    pub row_width: usize,
    /// The folded state.
    pub state: State,
}

/// Refuses the first frame with a position that is no number, which would spoil every fold.
///
/// # Errors
/// [`FrameError`].
pub(crate) fn check_finite(block: &Block) -> Result<(), FrameError> {
    let spoiled = |&i: &usize| !block.frame(i).iter().all(|x| x.is_finite());
    let Some(i) = (0..block.n_frames()).find(spoiled) else { return Ok(()) };
    let why =
        "a selected atom has no position there (not a number): leave this frame out".to_owned();
    Err(FrameError { frame: block.meta.frames[i], why })
}

/// The unit cell of the `i`-th frame of a block; none where it has none.
///
/// # Errors
/// [`FrameError`] of a cell without a volume: to take positions as they are would hide that.
pub(crate) fn cell_of(block: &Block, i: usize) -> Result<Option<Cell>, FrameError> {
    let numbers = block.meta.cells[i];
    if numbers.iter().all(|number| number.is_nan()) {
        return Ok(None);
    }
    let why = || {
        format!(
            "its unit cell ({}) has no volume: leave this frame out, or take positions as they are \
             (pbc=False, --no-pbc)",
            numbers.map(|number| number.to_string()).join(", ")
        )
    };
    let cell = match block.meta.turned[i] {
        None => Cell::new(numbers),
        Some(vectors) => {
            let rows = vectors.as_chunks::<3>().0;
            Cell::of_vectors([rows[0], rows[1], rows[2]])
        }
    };
    match cell {
        Some(cell) => Ok(Some(cell)),
        None => Err(FrameError { frame: block.meta.frames[i], why: why() }),
    }
}

/// A function of frames.
pub trait Analysis: Send + Sync {
    /// Numbers that each frame yields; 0 where frames are only folded.
    fn row_width(&self) -> usize;

    /// Returns how many numbers a state has; 0 where frames are only written to rows.
    fn state_len(&self) -> usize {
        0
    }

    /// Returns the state before any frame: zeros.
    ///
    /// # Errors
    /// [`trajet_io::Error::Memory`] if the system refuses the memory.
    fn empty(&self) -> Result<State, trajet_io::Error> {
        Ok(trajet_io::memory::filled(self.state_len(), 0.0, "the state of an analysis")?)
    }

    /// Writes the block's rows (`[n_frames, row_width]`) and folds its frames into `state`.
    ///
    /// # Errors
    /// [`FrameError`] of the first frame that cannot be taken.
    fn absorb(&self, block: &Block, rows: &mut [f64], state: &mut State) -> Result<(), FrameError>;

    /// The state of two neighbouring stretches of frames, `left` before `right`.
    fn merge(&self, left: State, right: State) -> State;
}

/// One pass over the requested frames.
pub struct Pass {
    /// The atoms of the analysis, which are read.
    pub atoms: Atoms,
    /// What is done to the coordinates first, in this order.
    pub transforms: Vec<Box<dyn Transform>>,
    /// What is computed.
    pub analysis: Box<dyn Analysis>,
    /// The pass to run on this one's state; none where rows and state are the result.
    pub then: Option<Continuation>,
}

impl Pass {
    /// Returns the leaves of `n_frames` requested frames. They depend on nothing else but the analysis' own atoms.
    pub fn leaves(&self, n_frames: usize) -> Leaves {
        Leaves::new(n_frames, self.atoms.len())
    }
}

/// Makes the next pass of an analysis from the state of the last.
pub type Continuation = Box<dyn FnOnce(State) -> Pass + Send + Sync>;
