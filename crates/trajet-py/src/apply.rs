//! Python functions as analyses, which run on any pool.

use std::sync::{Arc, Mutex, PoisonError};

use trajet_engine::{Analysis, FrameError, Pass, State};
use trajet_files::Error;
use trajet_formats::{Atoms, Block};

use crate::arrays::array;
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// Parameters of the analysis.
pub(crate) struct Apply {
    pub(crate) atoms: Vec<i64>,
    pub(crate) function: Py<PyAny>,
    /// Merges return values of the function; `None` if these are rows.
    pub(crate) reducer: Option<Py<PyAny>>,
    /// Whether the function takes single frames instead of blocks.
    pub(crate) by_frame: bool,
    /// Whether the function also takes the unit cells.
    pub(crate) cells: bool,
    /// Shape of the return value for a frame; with a reducer, of any return value.
    pub(crate) shape: Vec<usize>,
    pub(crate) raised: Raised,
}

/// The parameters, as a dict of Python has them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Arguments<'py> {
    atoms: PyReadonlyArray1<'py, i64>,
    function: Py<PyAny>,
    reducer: Option<Py<PyAny>>,
    by_frame: bool,
    cells: bool,
    shape: Vec<usize>,
}

impl From<Arguments<'_>> for Apply {
    fn from(arguments: Arguments<'_>) -> Self {
        let Arguments { atoms, function, reducer, by_frame, cells, shape } = arguments;
        let atoms = atoms.as_array().to_vec();
        Apply { atoms, function, reducer, by_frame, cells, shape, raised: Raised::default() }
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
        Ok(Pass { atoms, transforms: Vec::new(), analysis: Box::new(self.clone()), then: None })
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
        let returned = self.function.bind(py).call1(PyTuple::new(py, given)?)?;
        let whole = [&[frames.len()], &self.shape[..]].concat();
        let a_frame = self.by_frame || self.reducer.is_some();
        flat(py, &returned, if a_frame { &self.shape } else { &whole })
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
            function: self.function.clone_ref(py),
            reducer: self.reducer.as_ref().map(|reducer| reducer.clone_ref(py)),
            by_frame: self.by_frame,
            cells: self.cells,
            shape: self.shape.clone(),
            raised: self.raised.clone(),
        })
    }
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
    let numbers: PyReadonlyArray1<'_, f64> = array.call_method1("ravel", ())?.extract()?;
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
            let first = frames.start;
            let called = Python::attach(|py| self.call(py, block, frames));
            let numbers = called.map_err(|error| {
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
}
