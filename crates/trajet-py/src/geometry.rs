//! Distances of a few pairs of positions; analyses compute theirs in the engine.

use numpy::{PyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use trajet_kernels::cell::Cell;

use crate::arrays;

/// Returns the distances of pairs of positions (`(n, 3)`, Å), of nearest images if box vectors (`(3, 3)`, Å, row by
/// row) are given. NaN positions have NaN distances, and a box without volume is ignored.
#[pyfunction]
pub(crate) fn pair_distances<'py>(
    py: Python<'py>,
    one: PyReadonlyArray2<'_, f32>,
    other: PyReadonlyArray2<'_, f32>,
    vectors: Option<PyReadonlyArray2<'_, f64>>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (one, other) = (one.as_array(), other.as_array());
    if one.ncols() != 3 || one.dim() != other.dim() {
        return Err(PyValueError::new_err("positions must have the same shape (n, 3)"));
    }
    let cell = vectors.and_then(|vectors| Cell::of_vectors(arrays::box_vectors(&vectors)?));
    let point =
        |row: numpy::ndarray::ArrayView1<'_, f32>| [0, 1, 2].map(|axis| f64::from(row[axis]));
    let distances: Vec<f64> = one
        .rows()
        .into_iter()
        .zip(other.rows())
        .map(|(a, b)| {
            let (a, b) = (point(a), point(b));
            let square = match &cell {
                Some(cell) => cell.distance_squared(a, b),
                None => (0..3).map(|axis| (a[axis] - b[axis]).powi(2)).sum(),
            };
            square.sqrt()
        })
        .collect();
    Ok(PyArray1::from_vec(py, distances))
}
