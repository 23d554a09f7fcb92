//! Python functions as analyses, which run on any pool.

use std::sync::{Arc, Mutex, PoisonError};

use trajet_engine::cells::CellUse;
use trajet_engine::updating::Updating;
use trajet_engine::{Analysis, FrameError, Pass, State};
use trajet_files::Error;
use trajet_formats::{Atoms, Block};

use crate::aligned::Aligned1;
use crate::arrays::array;
use crate::selection::updating;
use numpy::{PyArray1, PyArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// Parameters of the analysis.
pub(crate) struct Apply {
    pub(crate) atoms: Vec<i64>,
    /// Evaluated for each frame from the positions of `atoms`; `None` if all of these are selected.
    pub(crate) selection: Option<Updating>,
    pub(crate) function: Py<PyAny>,
    /// Merges return values of the function; `None` if these are rows.
    pub(crate) reducer: Option<Py<PyAny>>,
    /// Whether the function takes single frames instead of blocks.
    pub(crate) by_frame: bool,
    /// Whether the function also takes the unit cells.
    pub(crate) cells: bool,
    /// Whether the function also takes the indices of the atoms that `selection` selects, in the topology.
    pub(crate) indices: bool,
    /// Further arguments that the function takes by name: `frame`, `time`, `cell`.
    pub(crate) by_name: Vec<String>,
    /// Shape of the return value for a frame; with a reducer, of any return value.
    pub(crate) shape: Vec<usize>,
    pub(crate) raised: Raised,
}

/// The parameters, as a dict of Python has them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Arguments<'py> {
    atoms: Aligned1<'py, i64>,
    selection: Option<Vec<u8>>,
    function: Py<PyAny>,
    reducer: Option<Py<PyAny>>,
    by_frame: bool,
    cells: bool,
    indices: bool,
    by_name: Vec<String>,
    shape: Vec<usize>,
}

impl TryFrom<Arguments<'_>> for Apply {
    type Error = PyErr;

    fn try_from(arguments: Arguments<'_>) -> PyResult<Self> {
        let Arguments {
            atoms,
            selection,
            function,
            reducer,
            by_frame,
            cells,
            indices,
            by_name,
            shape,
        } = arguments;
        let selection = selection.map(|bytes| updating(&bytes)).transpose()?;
        Ok(Apply {
            atoms: atoms.as_array().to_vec(),
            selection: selection.map(Updating::new),
            function,
            reducer,
            by_frame,
            cells,
            indices,
            by_name,
            shape,
            raised: Raised::default(),
        })
    }
}

/// The first exception that a Python function raised.
#[derive(Clone, Default)]
pub(crate) struct Raised(Arc<Mutex<Option<PyErr>>>);

impl Raised {
    /// Takes the exception, if there is one.
    pub(crate) fn take(&self) -> Option<PyErr> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn keep(&self, error: PyErr) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }
}

impl Apply {
    /// Returns the pass on a trajectory of `n_atoms` atoms.
    ///
    /// # Errors
    /// [`Error::AtomOutOfRange`].
    pub(crate) fn first_pass(&self, n_atoms: usize) -> Result<Pass, Error> {
        let atoms = Atoms::listed(&self.atoms, n_atoms)?;
        Ok(Pass { atoms, superpose: None, analysis: Box::new(self.clone()), then: None })
    }

    /// Calls the function with frames of a block, and returns its values as flat numbers.
    fn call(
        &self,
        py: Python<'_>,
        block: &Block,
        frames: std::ops::Range<usize>,
    ) -> PyResult<State> {
        let n_atoms = block.n_atoms();
        let numbers = &block.positions[frames.start * n_atoms * 3..frames.end * n_atoms * 3];
        let positions = array(py, numbers)?;
        let cells = &block.meta.cells[frames.clone()];
        let cells = array(py, cells.as_flattened())?;
        let arguments = match self.by_frame {
            true => [positions.reshape([n_atoms, 3])?.into_any(), cells.into_any()],
            false => [
                positions.reshape([frames.len(), n_atoms, 3])?.into_any(),
                cells.reshape([frames.len(), 6])?.into_any(),
            ],
        };
        let given = if self.cells { &arguments[..] } else { &arguments[..1] };
        let named = self.named(py, block, frames.clone())?;
        let returned = self.function.bind(py).call(PyTuple::new(py, given)?, Some(&named))?;
        let whole = [&[frames.len()], &self.shape[..]].concat();
        let a_frame = self.by_frame || self.reducer.is_some();
        flat(py, &returned, if a_frame { &self.shape } else { &whole })
    }

    /// Calls the function with the selected atoms of the `i`-th frame of a block, and returns its values as flat numbers.
    fn call_with(
        &self,
        py: Python<'_>,
        block: &Block,
        i: usize,
        selection: &Updating,
        selected: &[u32],
    ) -> PyResult<State> {
        let (atoms, _) = block.frame(i).as_chunks::<3>();
        let columns = selection.columns(selected);
        let positions: Vec<f32> = columns.iter().flat_map(|&k| atoms[k as usize]).collect();
        let positions = PyArray1::from_vec(py, positions).reshape([selected.len(), 3])?;
        let mut given = vec![positions.into_any()];
        if self.cells {
            given.push(array(py, &block.meta.cells[i])?.into_any());
        }
        if self.indices {
            let indices = selected.iter().map(|&atom| i64::from(atom));
            given.push(PyArray1::from_iter(py, indices).into_any());
        }
        let named = self.named(py, block, i..i + 1)?;
        let returned = self.function.bind(py).call(PyTuple::new(py, given)?, Some(&named))?;
        flat(py, &returned, &self.shape)
    }

    /// Returns the arguments that the function takes by name: numbers for a frame, arrays for a block.
    fn named<'py>(
        &self,
        py: Python<'py>,
        block: &Block,
        frames: std::ops::Range<usize>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let named = PyDict::new(py);
        let (meta, first, n) = (&block.meta, frames.start, frames.len());
        for name in &self.by_name {
            match (&name[..], self.by_frame) {
                ("frame", true) => named.set_item(name, meta.frames[first])?,
                ("time", true) => named.set_item(name, meta.times[first])?,
                ("cell", true) => named.set_item(name, array(py, &meta.cells[first])?)?,
                ("frame", false) => {
                    let numbers = meta.frames[frames.clone()].iter().map(|&frame| frame as i64);
                    named.set_item(name, PyArray1::from_iter(py, numbers))?;
                }
                ("time", false) => named.set_item(name, array(py, &meta.times[frames.clone()])?)?,
                ("cell", false) => {
                    let cells = array(py, meta.cells[frames.clone()].as_flattened())?;
                    named.set_item(name, cells.reshape([n, 6])?)?;
                }
                _ => return Err(PyValueError::new_err(format!("no argument {name:?}"))),
            }
        }
        Ok(named)
    }

    /// Number of values that the function returns for a frame.
    fn width(&self) -> usize {
        self.shape.iter().product()
    }

    fn row_len(&self) -> usize {
        if self.reducer.is_some() { 0 } else { self.width() }
    }
}

impl Clone for Apply {
    fn clone(&self) -> Self {
        Python::attach(|py| Apply {
            atoms: self.atoms.clone(),
            selection: self.selection.clone(),
            function: self.function.clone_ref(py),
            reducer: self.reducer.as_ref().map(|reducer| reducer.clone_ref(py)),
            by_frame: self.by_frame,
            cells: self.cells,
            indices: self.indices,
            by_name: self.by_name.clone(),
            shape: self.shape.clone(),
            raised: self.raised.clone(),
        })
    }
}

/// Adds to an exception of a function the frames for which it was called.
fn note_frames(py: Python<'_>, error: &PyErr, first: u64, last: u64) {
    let note = match first == last {
        true => format!("the function was called for frame {first}"),
        false => format!("the function was called for the block of frames {first} to {last}"),
    };
    // An exception without notes is raised as it is.
    let _ = error.value(py).call_method1("add_note", (note,));
}

/// Flattens an array of this shape, or a number.
fn flat(py: Python<'_>, value: &Bound<'_, PyAny>, expected: &[usize]) -> PyResult<State> {
    let numpy = py.import("numpy")?;
    let array = numpy.call_method1("asarray", (value,))?;
    let dtype = array.getattr("dtype")?;
    let kind: String = dtype.getattr("kind")?.extract()?;
    if !"biuf".contains(&kind) {
        // NumPy would drop the imaginary part of complex numbers.
        let words = format!("the function returned {dtype}: numbers are wanted");
        return Err(PyTypeError::new_err(words));
    }
    let array = numpy.call_method1("asarray", (array, numpy.getattr("float64")?))?;
    let shape: Vec<usize> = array.getattr("shape")?.extract()?;
    if shape != expected {
        return Err(PyValueError::new_err(format!(
            "the function returned an array of shape {shape:?} where {expected:?} was expected: as of \
             the first frame, and of a block with the frames as its first axis"
        )));
    }
    let numbers: Aligned1<'_, f64> = array.call_method1("ravel", ())?.extract()?;
    Ok(numbers.as_array().to_vec())
}

impl Analysis for Apply {
    fn row_width(&self) -> usize {
        self.row_len()
    }

    fn absorb(&self, block: &Block, rows: &mut [f64], state: &mut State) -> Result<(), FrameError> {
        let n = block.n_frames();
        let stretches: Vec<_> = match self.by_frame {
            true => (0..n).map(|i| i..i + 1).collect(),
            false => std::iter::once(0..n).collect(),
        };
        for frames in stretches {
            let (first, count) = (frames.start, frames.len());
            let selection = self.selection.as_ref();
            // Other threads may call the function meanwhile.
            let selected = selection.map(|selection| selection.select(block, first)).transpose()?;
            let called = Python::attach(|py| match (selection, &selected) {
                (Some(selection), Some(selected)) => {
                    self.call_with(py, block, first, selection, selected)
                }
                _ => self.call(py, block, frames),
            });
            let numbers = called.map_err(|error| {
                let last = block.meta.frames[first + count - 1];
                Python::attach(|py| note_frames(py, &error, block.meta.frames[first], last));
                self.raised.keep(error);
                let why = "the function raised an error".to_owned();
                FrameError { frame: block.meta.frames[first], why }
            })?;
            match self.reducer {
                None => rows[first * self.width()..][..numbers.len()].copy_from_slice(&numbers),
                Some(_) => *state = self.merge(std::mem::take(state), numbers),
            }
        }
        Ok(())
    }

    fn merge(&self, left: State, right: State) -> State {
        let Some(reducer) = &self.reducer else { return left };
        if left.is_empty() || right.is_empty() {
            return if left.is_empty() { right } else { left };
        }
        Python::attach(|py| {
            let arrays = (array(py, &left)?, PyArray1::from_vec(py, right));
            let merged = reducer.bind(py).call1(arrays);
            merged.and_then(|merged| flat(py, &merged, &self.shape))
        })
        .unwrap_or_else(|error| {
            self.raised.keep(error);
            left
        })
    }

    fn cell_use(&self) -> CellUse {
        CellUse::nearest_images(self.selection.is_some())
    }
}
