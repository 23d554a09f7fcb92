//! Arrays that analyses make of all frames, as NumPy arrays.

use numpy::{Element, PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use trajet_engine::cells::{CellSummary, FrameCount};
use trajet_engine::{Array, FoldedArrays, Values};

/// Number of values per row, arrays by name, and the summary of cells: number of frames without a cell and the first of them, number of frames with
/// a small cell and the first of them, half of the shortest lattice vector and its frame; -1 for no frame.
pub(crate) type PyFolded<'py> = (usize, Bound<'py, PyDict>, (u64, i64, u64, i64, f64, i64));

/// Converts what the analyses of a run made of all frames.
pub(crate) fn folded(py: Python<'_>, analyses: Vec<FoldedArrays>) -> PyResult<Vec<PyFolded<'_>>> {
    let of_analysis = |FoldedArrays { row_width, arrays, cells }| {
        let dict = PyDict::new(py);
        for (name, Array { values, shape }) in arrays {
            let array = match values {
                Values::F64(values) => shaped(py, values, shape)?,
                Values::I64(values) => shaped(py, values, shape)?,
            };
            dict.set_item(name, array)?;
        }
        Ok((row_width, dict, cell_numbers(&cells)))
    };
    analyses.into_iter().map(of_analysis).collect()
}

fn shaped<T: Element>(
    py: Python<'_>,
    values: Vec<T>,
    shape: Vec<usize>,
) -> PyResult<Bound<'_, PyAny>> {
    Ok(PyArray1::from_vec(py, values).reshape(shape)?.into_any())
}

fn cell_numbers(cells: &CellSummary) -> (u64, i64, u64, i64, f64, i64) {
    let first = |count: &FrameCount| count.first.map_or(-1, |frame| frame as i64);
    let CellSummary { missing, small, least } = cells;
    let (half, frame) = least.map_or((f64::INFINITY, -1), |(half, frame)| (half, frame as i64));
    (missing.n, first(missing), small.n, first(small), half, frame)
}
