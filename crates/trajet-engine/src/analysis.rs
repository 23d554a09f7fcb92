//! The interface of analyses: per-frame rows, a mergeable state, or both, and possibly a further pass.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use trajet_formats::{Atoms, Block, memory};
use trajet_kernels::cell::Cell;
use trajet_kernels::pairs::Misplaced;

use crate::cells::CellUse;
use crate::error::{FrameError, InvalidArgument};
use crate::plan::Leaves;
use crate::superpose::Superpose;

/// State accumulated over frames: a flat array of fixed length that includes its own weight.
pub type State = Vec<f64>;

/// Result of a pass.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Output {
    /// Array of shape `[n_frames, row_width]`, in the order of the requested frames.
    pub rows: Vec<f64>,
    /// Number of values per row.
    pub row_width: usize,
    /// The accumulated state, packed with the summary of cells; see [`crate::JointPass::pack`].
    pub state: State,
}

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

/// A list that is deserialised into memory of its size. A `Vec` grows from 1 MiB on, which takes several times as long
/// for large systems.
struct List<T>(Vec<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_seq(ListVisitor(PhantomData))
    }
}

struct ListVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ListVisitor<T> {
    type Value = List<T>;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<List<T>, A::Error> {
        let mut list = Vec::new();
        memory::reserve(&mut list, from.size_hint().unwrap_or(0), "the atoms of an analysis")
            .map_err(|refused| A::Error::custom(trajet_files::Error::from(refused)))?;
        while let Some(element) = from.next_element()? {
            list.push(element);
        }
        Ok(List(list))
    }
}

/// Deserialises one number, or several, for each atom.
pub(crate) fn list<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    from: D,
) -> Result<Vec<T>, D::Error> {
    Ok(List::deserialize(from)?.0)
}

/// Deserialises a list that may be left out.
pub(crate) fn optional_list<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    from: D,
) -> Result<Option<Vec<T>>, D::Error> {
    Ok(Option::<List<T>>::deserialize(from)?.map(|List(list)| list))
}

/// Deserialises positions, an array of shape `[n, 3]`.
pub(crate) fn flattened<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    from: D,
) -> Result<Vec<T>, D::Error> {
    Ok(List::<[T; 3]>::deserialize(from)?.0.into_flattened())
}

/// Returns the unit cell of the `i`-th frame of a block; `None` if it has none.
///
/// # Errors
/// [`FrameError`] if the cell has no volume. Treating such a frame as non-periodic would hide the defect.
pub(crate) fn cell_of(block: &Block, i: usize) -> Result<Option<Cell>, FrameError> {
    Cell::of_frame(block.meta.cells[i], block.meta.turned[i]).map_err(|no_volume| {
        let why = format!(
            "{no_volume}: leave this frame out, or take positions as they are (pbc=False, --no-pbc)"
        );
        FrameError { frame: block.meta.frames[i], why }
    })
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

/// An analysis of frames.
pub trait Analysis: Send + Sync {
    /// Returns the number of values per frame; 0 if frames only contribute to the state.
    fn row_width(&self) -> usize;

    /// Returns the length of a state; 0 if frames only yield rows.
    fn state_len(&self) -> usize {
        0
    }

    /// Returns the state of no frames: zeros.
    ///
    /// # Errors
    /// [`trajet_files::Error::Memory`] if the system refuses the memory.
    fn empty(&self) -> Result<State, trajet_files::Error> {
        Ok(memory::filled(self.state_len(), 0.0, "the state of an analysis")?)
    }

    /// Writes the block's rows (`[n_frames, row_width]`) and accumulates its frames into `state`.
    ///
    /// # Errors
    /// [`FrameError`] of the first frame that the analysis cannot take.
    fn absorb(&self, block: &Block, rows: &mut [f64], state: &mut State) -> Result<(), FrameError>;

    /// Merges the states of two adjacent ranges of frames, `left` before `right`.
    fn merge(&self, left: State, right: State) -> State;

    /// Returns the use that the analysis makes of unit cells, which the summary of the run counts.
    fn cell_use(&self) -> CellUse {
        CellUse::Ignored
    }
}

/// One pass over the requested frames.
pub struct Pass {
    /// The analysis' own atoms, which are read. Leaves depend on their number: atoms that are decoded for other
    /// purposes must not be added.
    pub atoms: Atoms,
    /// The superposition of frames before the analysis.
    pub superpose: Option<Superpose>,
    /// The analysis.
    pub analysis: Box<dyn Analysis>,
    /// Makes the next pass from the final state; `None` if rows and state are the result.
    pub then: Option<Continuation>,
}

impl Pass {
    /// Returns the leaves of `n_frames` requested frames. They depend only on that number and on the number of the
    /// analysis' own atoms.
    pub fn leaves(&self, n_frames: usize) -> Leaves {
        Leaves::new(n_frames, self.atoms.len())
    }
}

/// Makes the next pass of an analysis from the state of the last.
pub type Continuation = Box<dyn FnOnce(State) -> Pass + Send + Sync>;
