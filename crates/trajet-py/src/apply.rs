//! Python functions as analyses, which run on any pool.

use std::sync::Arc;

use trajet_engine::cells::CellUse;
use trajet_engine::updating::Updating;
use trajet_engine::{
    Analysis, AnalysisError, Array, ArraySpec, Finished, FrameArrays, FrameError, Pass,
};
use trajet_files::Error;
use trajet_formats::{AtomList, Atoms, Block, FrameMeta, Numbers, PERIODIC};
use trajet_topology::select::UpdatingSelection;

use crate::aligned::Aligned1;
use crate::arrays::array;
use numpy::{PyArray1, PyArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use serde::{Deserialize, Serialize};

/// Parameters of the analysis.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Apply {
    pub(crate) atoms: AtomList,
    /// Evaluated for each frame from the positions of `atoms`; `None` if all of these are selected.
    selection: Option<UpdatingSelection>,
    /// Whether the function takes single frames instead of blocks.
    by_frame: bool,
    /// Whether the function also takes the unit cells.
    cells: bool,
    /// Whether the function also takes the indices of the atoms that `selection` selects, in the topology.
    indices: bool,
    /// Further arguments that the function takes by name: `frame`, `time`, `cell`.
    by_name: Vec<String>,
    /// Shape of the return value for a frame; with a reducer, of any return value.
    shape: Vec<usize>,
}

/// Function and reducer, as pickle keeps them.
pub(crate) type PickledFunctions = (Py<PyAny>, Option<Py<PyAny>>);

/// Functions of Python.
pub(crate) struct Functions {
    function: Py<PyAny>,
    /// Merges return values of the function; `None` if these are kept for each frame.
    reducer: Option<Py<PyAny>>,
}

impl Functions {
    /// Takes the functions out of the parameters.
    pub(crate) fn taken_from(request: &Bound<'_, PyDict>) -> PyResult<Self> {
        let take = |name: &str| {
            let value =
                request.get_item(name)?.ok_or_else(|| PyTypeError::new_err(name.to_owned()));
            request.del_item(name)?;
            value
        };
        Ok(Functions { function: take("function")?.unbind(), reducer: take("reducer")?.extract()? })
    }

    pub(crate) fn for_pickle(&self, py: Python<'_>) -> PickledFunctions {
        let reducer = self.reducer.as_ref().map(|reducer| reducer.clone_ref(py));
        (self.function.clone_ref(py), reducer)
    }
}

impl From<PickledFunctions> for Functions {
    fn from((function, reducer): PickledFunctions) -> Self {
        Functions { function, reducer }
    }
}

impl Apply {
    /// Returns the pass on a trajectory of `n_atoms` atoms.
    ///
    /// # Errors
    /// [`Error::AtomOutOfRange`].
    pub(crate) fn first_pass(
        &self,
        functions: &Arc<Functions>,
        n_atoms: usize,
    ) -> Result<Pass, Error> {
        let atoms = Atoms::listed(&self.atoms, n_atoms)?;
        let selection = self.selection.clone().map(Updating::new);
        let (apply, functions) = (self.clone(), Arc::clone(functions));
        Ok(Pass::new(atoms, Applied { apply, functions, selection }))
    }
}

/// Calls a function with frames.
struct Applied {
    apply: Apply,
    functions: Arc<Functions>,
    selection: Option<Updating>,
}

impl Applied {
    /// Calls the function with frames of a block, and returns its values as flat numbers.
    fn call(
        &self,
        py: Python<'_>,
        block: &Block,
        frames: std::ops::Range<usize>,
    ) -> PyResult<Vec<f64>> {
        let n_atoms = block.n_atoms();
        let numbers = &block.positions[frames.start * n_atoms * 3..frames.end * n_atoms * 3];
        let positions = array(py, numbers)?;
        let cells = &block.meta.cells[frames.clone()];
        let cells = array(py, cells.as_flattened())?;
        let arguments = match self.apply.by_frame {
            true => [positions.reshape([n_atoms, 3])?.into_any(), cells.into_any()],
            false => [
                positions.reshape([frames.len(), n_atoms, 3])?.into_any(),
                cells.reshape([frames.len(), 6])?.into_any(),
            ],
        };
        let given = if self.apply.cells { &arguments[..] } else { &arguments[..1] };
        let named = self.named(py, block, frames.clone())?;
        let returned =
            self.functions.function.bind(py).call(PyTuple::new(py, given)?, Some(&named))?;
        let whole = [&[frames.len()], &self.apply.shape[..]].concat();
        let a_frame = self.apply.by_frame || self.functions.reducer.is_some();
        flat(py, &returned, if a_frame { &self.apply.shape } else { &whole })
    }

    /// Calls the function with the selected atoms of the `i`-th frame of a block, and returns its values as flat numbers.
    fn call_with(
        &self,
        py: Python<'_>,
        block: &Block,
        i: usize,
        selection: &Updating,
        selected: &[u32],
    ) -> PyResult<Vec<f64>> {
        let (atoms, _) = block.frame(i).as_chunks::<3>();
        let columns = selection.columns(selected);
        let positions: Vec<f32> = columns.iter().flat_map(|&k| atoms[k as usize]).collect();
        let positions = PyArray1::from_vec(py, positions).reshape([selected.len(), 3])?;
        let mut given = vec![positions.into_any()];
        if self.apply.cells {
            given.push(array(py, &block.meta.cells[i])?.into_any());
        }
        if self.apply.indices {
            let indices = selected.iter().map(|&atom| i64::from(atom));
            given.push(PyArray1::from_iter(py, indices).into_any());
        }
        let named = self.named(py, block, i..i + 1)?;
        let returned =
            self.functions.function.bind(py).call(PyTuple::new(py, given)?, Some(&named))?;
        flat(py, &returned, &self.apply.shape)
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
        for name in &self.apply.by_name {
            match (&name[..], self.apply.by_frame) {
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

    /// Checks that lengths and angles are all that a function that gets cells needs for nearest images.
    fn check_cells(&self, block: &Block) -> Result<(), FrameError> {
        let FrameMeta { frames, cells, periodic, .. } = &block.meta;
        let is_open = |&i: &usize| periodic[i] != PERIODIC && !cells[i][0].is_nan();
        let has_cells = self.apply.cells || self.apply.by_name.iter().any(|name| name == "cell");
        let open = (0..block.n_frames()).find(is_open).filter(|_| has_cells);
        let why = "its cell is not periodic in all directions, which lengths and angles cannot express: leave \
                   out cells=True and the parameter cell of the function";
        open.map_or(Ok(()), |i| Err(FrameError { frame: frames[i], why: why.to_owned() }))
    }

    /// Number of values that the function returns for a frame.
    fn width(&self) -> usize {
        self.apply.shape.iter().product()
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
fn flat(py: Python<'_>, value: &Bound<'_, PyAny>, expected: &[usize]) -> PyResult<Vec<f64>> {
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

impl Analysis for Applied {
    /// Merged return values; empty before the first.
    type State = Numbers<f64>;

    fn per_frame(&self) -> Vec<ArraySpec> {
        let values = || ArraySpec::of::<f64>("values", &self.apply.shape);
        self.functions.reducer.is_none().then(values).into_iter().collect()
    }

    fn empty(&self) -> Result<Numbers<f64>, AnalysisError> {
        Ok(Numbers::default())
    }

    fn absorb(
        &self,
        block: &Block,
        out: &mut FrameArrays<'_>,
        state: &mut Numbers<f64>,
    ) -> Result<(), AnalysisError> {
        self.check_cells(block)?;
        let n = block.n_frames();
        let stretches: Vec<_> = match self.apply.by_frame {
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
                of_caller(error)
            })?;
            match self.functions.reducer {
                None => {
                    out.values()[first * self.width()..][..numbers.len()].copy_from_slice(&numbers);
                }
                Some(_) => *state = self.merge(std::mem::take(state), Numbers(numbers))?,
            }
        }
        Ok(())
    }

    fn merge(
        &self,
        left: Numbers<f64>,
        right: Numbers<f64>,
    ) -> Result<Numbers<f64>, AnalysisError> {
        let Some(reducer) = &self.functions.reducer else { return Ok(left) };
        if left.is_empty() || right.is_empty() {
            return Ok(if left.is_empty() { right } else { left });
        }
        let merged = Python::attach(|py| {
            let arrays = (array(py, &left)?, PyArray1::from_vec(py, right.0));
            flat(py, &reducer.bind(py).call1(arrays)?, &self.apply.shape)
        });
        merged.map(Numbers).map_err(of_caller)
    }

    fn finish(&self, state: Numbers<f64>) -> Result<Finished, AnalysisError> {
        let reduced = self.functions.reducer.as_ref().map(|_| ("reduced", Array::floats(state)));
        Ok(Finished::Arrays(reduced.into_iter().collect()))
    }

    fn cell_use(&self) -> CellUse {
        CellUse::nearest_images(self.selection.is_some())
    }
}

/// Returns an exception as the error of an analysis.
fn of_caller(error: PyErr) -> AnalysisError {
    AnalysisError::Caller(Box::new(error))
}
