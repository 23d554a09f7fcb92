//! Arrays of analyses as NumPy arrays: those with an entry for each frame, and those of all frames.

use numpy::{Element, PyArray1, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use trajet_engine::cells::{CellSummary, FrameCount};
use trajet_engine::{Array, FoldedArrays, Values};

/// Arrays by name, and the summary of cells: number of frames without a cell and the first of them, number of frames with
/// a small cell and the first of them, half of the shortest lattice vector and its frame; -1 for no frame.
pub(crate) type PyFolded<'py> = (Bound<'py, PyDict>, (u64, i64, u64, i64, f64, i64));

/// Returns the arrays of the analyses of a run; `sections` are the bytes of those with an entry for each frame,
/// `(n_frames, entry_bytes)`, of which the arrays are views.
pub(crate) fn folded<'py>(
    py: Python<'py>,
    analyses: Vec<FoldedArrays>,
    sections: Vec<Bound<'py, PyAny>>,
) -> PyResult<Vec<PyFolded<'py>>> {
    let mut sections = sections.into_iter();
    let of_analysis = |FoldedArrays { per_frame, arrays, cells }| {
        let dict = PyDict::new(py);
        for spec in per_frame {
            let section = sections.next();
            let section = section.ok_or_else(|| PyValueError::new_err("an array is missing"))?;
            let shape = [&[section.len()?], &spec.shape[..]].concat();
            let numbers = section.call_method1("view", (spec.dtype,))?;
            dict.set_item(spec.name, numbers.call_method1("reshape", (shape,))?)?;
        }
        for (name, Array { values, shape }) in arrays {
            let array = match values {
                Values::F64(values) => shaped(py, values, shape)?,
                Values::I64(values) => shaped(py, values, shape)?,
            };
            dict.set_item(name, array)?;
        }
        Ok((dict, cell_numbers(&cells)))
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
