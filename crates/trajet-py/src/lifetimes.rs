//! Bindings for the autocorrelation and the dwell times of members that come and go.

use std::sync::{Mutex, MutexGuard, PoisonError};

use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use trajet_kernels::lifetimes::Correlation;

use crate::aligned::Aligned1;

/// Counts by lag, and sums of shares.
type Sums<'py> = ([Bound<'py, PyArray1<i64>>; 5], Bound<'py, PyArray1<f64>>);
/// Numbers of runs, frames at risk and exits, the last two by age, and products by frame and by member.
type Dwells<'py> = ([u64; 4], u64, u64, [Bound<'py, PyArray1<i64>>; 2], [[f64; 3]; 2]);

/// Counts by lag how often members are present again, and throughout. See `_trajet.pyi`.
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

    /// Adds members: `frames[starts[k]:starts[k + 1]]` are those in which the `k`-th is present, ascending.
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
            let mut correlation = self.locked();
            for ends in starts.windows(2) {
                let range = usize::try_from(ends[0]).ok()?..usize::try_from(ends[1]).ok()?;
                let of_member = frames.get(range)?;
                let is_ascending = of_member.is_sorted_by(|a, b| a < b);
                if !is_ascending || of_member.last().is_some_and(|&f| f as usize >= self.n_frames) {
                    return None;
                }
                correlation.add(of_member);
            }
            Some(())
        });
        added.ok_or_else(|| PyValueError::new_err("frames of a member must ascend"))
    }

    /// Returns the sums for each lag; see `_trajet.pyi`.
    fn sums<'py>(&self, py: Python<'py>) -> Sums<'py> {
        let sums = py.detach(|| self.locked().sums());
        let counts = [sums.present, sums.again, sums.bridged, sums.throughout, sums.starts];
        (counts.map(|counts| array(py, counts)), PyArray1::from_vec(py, sums.shares))
    }

    /// Returns the runs; see `_trajet.pyi`.
    fn dwells<'py>(&self, py: Python<'py>) -> Dwells<'py> {
        let found = py.detach(|| self.locked().dwells());
        let by_age = found.by_age.map(|counts| array(py, counts));
        let products = [found.by_frame.0, found.by_member.0];
        (found.runs, found.at_risk, found.exits, by_age, products)
    }
}

impl PyCorrelation {
    fn locked(&self) -> MutexGuard<'_, Correlation> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns counts as an array.
fn array(py: Python<'_>, counts: Vec<u64>) -> Bound<'_, PyArray1<i64>> {
    PyArray1::from_iter(py, counts.into_iter().map(|count| count as i64))
}
