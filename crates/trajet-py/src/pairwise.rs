//! RMSD of all pairs of frames.

use numpy::{PyArray2, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use trajet_engine::analysis::check_weights;
use trajet_engine::pairwise::{BLOCK, centred, matrix};
use trajet_formats::memory;

use crate::aligned::{Aligned1, Aligned2};
use crate::control::FromPython;
use crate::error::{from_io, from_run};

/// Frames around their centres.
#[pyclass(frozen, module = "trajet._trajet")]
pub(crate) struct CentredFrames {
    inner: trajet_kernels::pairwise::CentredFrames,
}

#[pymethods]
impl CentredFrames {
    /// Frames of a block: rows of a matrix that are computed at a time begin with one.
    #[classattr]
    const BLOCK: usize = BLOCK;

    /// Centres positions (`(n_frames, 3 n_atoms)`, Å).
    #[new]
    #[pyo3(signature = (positions, weights, *, threads))]
    fn new(
        py: Python<'_>,
        positions: Aligned2<'_, f64>,
        weights: Option<Aligned1<'_, f64>>,
        threads: usize,
    ) -> PyResult<Self> {
        let (n_frames, width) = positions.as_array().dim();
        let weights = weights.as_ref().map(|weights| weights.as_slice()).transpose()?;
        if width == 0 || !width.is_multiple_of(3) {
            return Err(PyValueError::new_err("positions of frames are (n_frames, 3 n_atoms)"));
        }
        check_weights(weights, width / 3)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        let positions = positions.as_slice()?;
        let mut control = FromPython::new(None);
        let made = py.detach(|| centred(positions, n_frames, weights, threads, &mut control));
        control.check()?;
        Ok(CentredFrames { inner: made.map_err(|error| from_run(py, &error))? })
    }

    fn __len__(&self) -> usize {
        self.inner.len()
    }

    /// Computes rows `first` to `last` of the matrix of RMSDs to the frames of `other`, or of these.
    #[pyo3(signature = (other, first, last, *, threads, progress))]
    fn rmsds<'py>(
        &self,
        py: Python<'py>,
        other: Option<&CentredFrames>,
        first: usize,
        last: usize,
        threads: usize,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        let others = other.map(|other| &other.inner);
        let width = others.unwrap_or(&self.inner).len();
        if !first.is_multiple_of(BLOCK) || first > last || last > self.inner.len() {
            return Err(PyValueError::new_err("rows begin with a block and end with a frame"));
        }
        if others.is_some_and(|others| others.n_atoms() != self.inner.n_atoms()) {
            return Err(PyValueError::new_err("frames of the same atoms can be compared"));
        }
        let len = (last - first).saturating_mul(width);
        let made = memory::filled(len, 0.0, "the RMSDs of all pairs of frames");
        let mut made = made.map_err(|refused| from_io(py, &refused.into()))?;
        let mut control = FromPython::new(progress);
        let run = || matrix(&self.inner, others, first..last, &mut made, threads, &mut control);
        let result = py.detach(run);
        control.check()?;
        result.map_err(|error| from_run(py, &error))?;
        numpy::PyArray1::from_vec(py, made).reshape([last - first, width])
    }
}
