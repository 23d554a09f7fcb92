//! Bindings for the autocorrelation of pairs that form and break.

use std::sync::{Mutex, PoisonError};

use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use trajet_kernels::lifetimes::Correlation;

use crate::aligned::Aligned1;

/// Sums of four correlations by lag.
type Sums<'py> = [Bound<'py, PyArray1<i64>>; 4];

/// Counts by lag how often pairs are bonded again, and throughout. See `_trajet.pyi`.
#[pyclass(frozen, module = "trajet._trajet", name = "Correlation")]
pub(crate) struct PyCorrelation {
    inner: Mutex<Correlation>,
    n_frames: usize,
}

#[pymethods]
impl PyCorrelation {
    #[new]
    fn new(n_frames: usize, max_lag: usize, gap: usize) -> PyResult<Self> {
        if max_lag >= n_frames {
            return Err(PyValueError::new_err("a lag must be shorter than the frames"));
        }
        let inner = Mutex::new(Correlation::new(n_frames, max_lag, gap));
        Ok(PyCorrelation { inner, n_frames })
    }

    /// Adds pairs: `frames[starts[k]:starts[k + 1]]` are those in which the `k`-th is bonded, ascending.
    ///
    /// Raises ValueError if they are not.
    fn add(
        &self,
        py: Python<'_>,
        starts: Aligned1<'_, i64>,
        frames: Aligned1<'_, u32>,
    ) -> PyResult<()> {
        let (starts, frames) = (starts.as_array().to_vec(), frames.as_array().to_vec());
        let added = py.detach(|| {
            let mut correlation = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
            for ends in starts.windows(2) {
                let range = usize::try_from(ends[0]).ok()?..usize::try_from(ends[1]).ok()?;
                let of_pair = frames.get(range)?;
                let is_ascending = of_pair.is_sorted_by(|a, b| a < b);
                if !is_ascending || of_pair.last().is_some_and(|&f| f as usize >= self.n_frames) {
                    return None;
                }
                correlation.add(of_pair);
            }
            Some(())
        });
        added.ok_or_else(|| PyValueError::new_err("frames of a pair must ascend"))
    }

    /// Returns the sums for each lag: of bonded frames, of those that are bonded again, of bridged frames, and of those
    /// from which on all are.
    fn sums<'py>(&self, py: Python<'py>) -> Sums<'py> {
        let sums = self.inner.lock().unwrap_or_else(PoisonError::into_inner).sums();
        [sums.bonded, sums.again, sums.bridged, sums.throughout]
            .map(|counts| PyArray1::from_iter(py, counts.into_iter().map(|count| count as i64)))
    }
}
