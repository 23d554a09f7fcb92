//! Conversion between NumPy arrays or Python numbers and Rust values.

use numpy::{Element, PyArray1, PyArray2, PyArrayMethods, PyReadwriteArray3};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use trajet_files::{Error, Frames, Meter};
use trajet_formats::{Atoms, FrameMeta, NO_ORIGIN, Periodic, memory};
use trajet_kernels::cell::Cell;

use crate::aligned::{Aligned1, Aligned2};
use crate::error::from_io;
use crate::report::counts;

/// Frames from Python: `(first, step, count)` or an array of indices.
#[derive(FromPyObject)]
pub(crate) enum PyFrames<'py> {
    Strided((u64, i64, usize)),
    Listed(Aligned1<'py, i64>),
}

impl PyFrames<'_> {
    pub(crate) fn len(&self) -> usize {
        match self {
            PyFrames::Strided((_, _, count)) => *count,
            PyFrames::Listed(list) => list.as_array().len(),
        }
    }

    /// Returns the frames at some positions. The others are not copied.
    ///
    /// # Panics
    /// If `positions` extends past [`PyFrames::len`].
    pub(crate) fn slice(&self, positions: std::ops::Range<usize>) -> Frames {
        match self {
            PyFrames::Strided(_) => self.to_frames().slice(positions),
            PyFrames::Listed(list) => {
                let list = list.as_array();
                positions.map(|k| list[k] as u64).collect::<Vec<_>>().into()
            }
        }
    }

    pub(crate) fn to_frames(&self) -> Frames {
        match self {
            PyFrames::Strided((first, step, count)) => {
                Frames::Strided { first: *first, step: *step, count: *count }
            }
            // Negative indices were resolved before. Any that is left becomes too large and is refused as out of range.
            PyFrames::Listed(list) => {
                list.as_array().iter().map(|&f| f as u64).collect::<Vec<_>>().into()
            }
        }
    }
}

/// Converts atoms from Python; `None` stands for all.
pub(crate) fn atoms(list: Option<Aligned1<'_, i64>>, n_atoms: usize) -> Result<Atoms, Error> {
    match list {
        None => Ok(Atoms::all(n_atoms)),
        Some(list) => match list.as_slice() {
            Ok(list) => Ok(Atoms::listed(list, n_atoms)?),
            Err(_) => Ok(Atoms::listed(&list.as_array().to_vec(), n_atoms)?),
        },
    }
}

/// Copies numbers to an array.
///
/// # Errors
/// `MemoryError`, where NumPy's own allocation would panic.
pub(crate) fn array<'py, T: Element + Copy>(
    py: Python<'py>,
    numbers: &[T],
) -> PyResult<Bound<'py, PyArray1<T>>> {
    let copied = memory::copied(numbers, "an array of numbers");
    Ok(PyArray1::from_vec(py, copied.map_err(|refused| from_io(py, &refused.into()))?))
}

/// Returns unit cells as an array of shape `(n_frames, 6)`.
pub(crate) fn cells<'py>(
    py: Python<'py>,
    cells: &[[f64; 6]],
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    array(py, cells.as_flattened())?.reshape([cells.len(), 6])
}

/// Returns box vectors as an array of shape `(n_frames, 9)`, NaN for frames without; `None` if no frame has any.
pub(crate) fn boxes<'py>(
    py: Python<'py>,
    vectors: &[Option<[f64; 9]>],
) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
    if vectors.iter().all(Option::is_none) {
        return Ok(None);
    }
    let mut rows = Vec::new();
    let len = 9 * vectors.len();
    let reserved = memory::reserve(&mut rows, len, "box vectors");
    reserved.map_err(|refused| from_io(py, &refused.into()))?;
    rows.extend(vectors.iter().flat_map(|v| v.unwrap_or([f64::NAN; 9])));
    PyArray1::from_vec(py, rows).reshape([vectors.len(), 9]).map(Some)
}

/// Returns the boundaries of frames as an array of shape `(n_frames, 3)`, of which frames without a cell have none that is
/// periodic.
pub(crate) fn boundaries<'py>(
    py: Python<'py>,
    meta: &FrameMeta,
) -> PyResult<Bound<'py, PyArray2<bool>>> {
    let frames = meta.periodic.iter().zip(&meta.cells);
    let flags: Vec<bool> = frames.flat_map(|(flags, cell)| boundaries_of(*flags, cell)).collect();
    array(py, &flags)?.reshape([meta.periodic.len(), 3])
}

/// Returns the boundaries of a cell: none is periodic without one.
pub(crate) fn boundaries_of(periodic: Periodic, cell: &[f64; 6]) -> Periodic {
    if cell.iter().all(|number| number.is_nan()) { [false; 3] } else { periodic }
}

/// Returns the corners of cells as an array of shape `(n_frames, 3)`, Å; `None` if all are zero.
pub(crate) fn origins<'py>(
    py: Python<'py>,
    origins: &[[f64; 3]],
) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
    if origins.iter().all(|origin| *origin == NO_ORIGIN) {
        return Ok(None);
    }
    array(py, origins.as_flattened())?.reshape([origins.len(), 3]).map(Some)
}

/// Box vectors, `(3, 3)`, Å, row by row, and whether the box is periodic along each.
pub(crate) type PyBox<'py> = (Aligned2<'py, f64>, Periodic);

/// Returns the cell of a box; `None` without a volume, and for arrays of another shape.
pub(crate) fn cell_of_box((vectors, periodic): &PyBox<'_>) -> Option<Cell> {
    let rows = vectors.as_array();
    let vectors =
        (rows.dim() == (3, 3)).then(|| [0, 1, 2].map(|row| [0, 1, 2].map(|at| rows[[row, at]])));
    Cell::of_box(vectors?, *periodic)
}

/// Returns the numbers of an array, which must have `len` of them.
pub(crate) fn slice_of<'a>(
    out: &'a mut PyReadwriteArray3<'_, f32>,
    len: usize,
) -> PyResult<&'a mut [f32]> {
    let slice = out.as_slice_mut().map_err(|_| PyValueError::new_err("out is not C-contiguous"))?;
    if slice.len() != len {
        return Err(PyValueError::new_err("out has another size than frames x atoms x 3"));
    }
    Ok(slice)
}

/// Returns times, steps, cells and counts of frames that were read.
pub(crate) fn frames_dict<'py>(
    py: Python<'py>,
    meta: FrameMeta,
    meter: &Meter,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let periodic = boundaries(py, &meta)?;
    dict.set_item("times", PyArray1::from_vec(py, meta.times))?;
    dict.set_item("steps", PyArray1::from_vec(py, meta.steps))?;
    dict.set_item("cells", cells(py, &meta.cells)?)?;
    // Cells do not determine the orientation of box vectors, nor their last bits.
    dict.set_item("vectors", boxes(py, &meta.turned)?)?;
    dict.set_item("periodic", periodic)?;
    dict.set_item("origins", origins(py, &meta.origins)?)?;
    dict.set_item("counts", counts(py, meter)?)?;
    Ok(dict)
}
