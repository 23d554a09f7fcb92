//! Distances of a few pairs of positions, and contacts in one structure; analyses compute theirs in the engine.

use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use trajet_formats::memory;
use trajet_kernels::contacts::ContactFinder;
use trajet_kernels::exclusion::Excluded;
use trajet_kernels::pairs::Groups;

use crate::aligned::Aligned2;
use crate::arrays::{self, PyBox};
use crate::error::from_io;

/// Returns the length of the shortest lattice vector of a box (Å); None without volume.
#[pyfunction]
pub(crate) fn shortest_lattice_vector(r#box: PyBox<'_>) -> Option<f64> {
    arrays::cell_of_box(&r#box).map(|cell| cell.shortest_vector())
}

/// Returns the distances of pairs of positions (`(n, 3)`, Å), of nearest images if a box is given. NaN positions have NaN distances, and a box without volume is ignored.
#[pyfunction]
pub(crate) fn pair_distances<'py>(
    py: Python<'py>,
    one: Aligned2<'_, f32>,
    other: Aligned2<'_, f32>,
    r#box: Option<PyBox<'_>>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (one, other) = (one.as_array(), other.as_array());
    if one.ncols() != 3 || one.dim() != other.dim() {
        return Err(PyValueError::new_err("positions must have the same shape (n, 3)"));
    }
    let cell = r#box.as_ref().and_then(arrays::cell_of_box);
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

/// Returns the pairs of positions (`(n, 3)`, Å) within a cut-off (Å), of nearest images if a box is given: an
/// array of shape `(n_pairs, 2)` with the index in `one` and the index in `other`. Without `other`, pairs within `one`,
/// once each.
///
/// # Errors
/// `ValueError` if a position is not a number, `MemoryError` if there are too many pairs.
#[pyfunction]
pub(crate) fn contact_pairs<'py>(
    py: Python<'py>,
    one: Aligned2<'_, f32>,
    other: Option<Aligned2<'_, f32>>,
    r#box: Option<PyBox<'_>>,
    cutoff: f64,
) -> PyResult<Bound<'py, PyArray2<i64>>> {
    let cell = r#box.as_ref().and_then(arrays::cell_of_box);
    let shapes_fit = one.as_array().ncols() == 3
        && other.as_ref().is_none_or(|other| other.as_array().ncols() == 3);
    if !shapes_fit {
        return Err(PyValueError::new_err("positions must have the shape (n, 3)"));
    }
    let groups = match &other {
        None => Groups::Same(one.as_slice()?),
        Some(other) => Groups::Two(one.as_slice()?, other.as_slice()?),
    };
    let pairs = py.detach(|| {
        let mut finder = ContactFinder::default();
        let misplaced = |_| ContactsError::Misplaced;
        let count =
            finder.count(cell.as_ref(), groups, Excluded::default(), cutoff).map_err(misplaced)?;
        let bytes = usize::try_from(count).unwrap_or(usize::MAX).saturating_mul(32);
        memory::ask(bytes, "the contacts of a structure").map_err(ContactsError::Memory)?;
        finder.pairs(cell.as_ref(), groups, Excluded::default(), cutoff).map_err(misplaced)
    });
    let pairs = pairs.map_err(|fault| match fault {
        ContactsError::Misplaced => {
            PyValueError::new_err("a position is missing, or millions of cells away")
        }
        ContactsError::Memory(refused) => from_io(py, &refused.into()),
    })?;
    let flat = pairs.iter().flatten().map(|&i| i64::from(i)).collect();
    PyArray1::from_vec(py, flat).reshape([pairs.len(), 2])
}

/// Why contacts were not found.
enum ContactsError {
    Misplaced,
    Memory(memory::Refused),
}
