//! Products of the deviations of all frames from their mean.

use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use trajet_engine::deviations::Rows;
use trajet_formats::memory;

use crate::aligned::Aligned2;
use crate::arrays;
use crate::control::FromPython;
use crate::error::{from_io, from_run};

/// Deviations of the positions of all frames from their mean.
#[pyclass(frozen, module = "trajet._trajet")]
pub(crate) struct Deviations {
    inner: trajet_engine::deviations::Deviations,
}

#[pymethods]
impl Deviations {
    /// Subtracts the mean from positions (`(n_frames, width)`, Å). Rows of the table are frames, or coordinates.
    #[new]
    #[pyo3(signature = (positions, *, of_frames, threads))]
    fn new(
        py: Python<'_>,
        positions: Aligned2<'_, f64>,
        of_frames: bool,
        threads: usize,
    ) -> PyResult<Self> {
        let (n_frames, width) = positions.as_array().dim();
        if n_frames == 0 || width == 0 {
            return Err(PyValueError::new_err("there are no positions"));
        }
        let positions = positions.as_slice()?;
        let rows = if of_frames { Rows::Frames } else { Rows::Coordinates };
        let mut control = FromPython::new(None);
        let make = || {
            let control = &mut control;
            trajet_engine::deviations::Deviations::new(positions, width, rows, threads, control)
        };
        let made = py.detach(make);
        control.check()?;
        Ok(Deviations { inner: made.map_err(|error| from_run(py, &error))? })
    }

    /// Mean positions (`(width,)`, Å).
    #[getter]
    fn mean<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        arrays::array(py, self.inner.mean())
    }

    /// Returns the products of all pairs of rows, a symmetric matrix (Å²).
    #[pyo3(signature = (*, threads, progress))]
    fn products<'py>(
        &self,
        py: Python<'py>,
        threads: usize,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let n = self.inner.len();
        let made = memory::filled(n.saturating_mul(n), 0.0, "the products of all pairs of rows");
        let mut made = made.map_err(|refused| from_io(py, &refused.into()))?;
        let mut control = FromPython::new(progress);
        let result = py.detach(|| self.inner.products(&mut made, threads, &mut control));
        control.check()?;
        result.map_err(|error| from_run(py, &error))?;
        PyArray1::from_vec(py, made).reshape([n, n])
    }
}
