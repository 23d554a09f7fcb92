//! Runs plans on threads of this process.

use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use trajet_engine::Budget;
use trajet_files::Error;

use crate::arrays::PyFrames;
use crate::control::FromPython;
use crate::error::{from_io, from_run};
use crate::folded::{PyFolded, folded};
use crate::plan::Plan;
use crate::reader::Reader;
use crate::report::report_dict;

/// Rows, arrays of each analysis, report.
type RunResult<'py> = (Bound<'py, PyArray2<f64>>, Vec<PyFolded<'py>>, Bound<'py, PyDict>);

/// Runs a plan on threads and returns rows, the arrays that each analysis made of all frames, and the report.
#[pyfunction]
#[pyo3(signature = (reader, plan, frames, *, threads, task_frames, progress))]
pub(crate) fn run<'py>(
    py: Python<'py>,
    reader: &Reader,
    plan: &Plan,
    frames: PyFrames<'py>,
    threads: usize,
    task_frames: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<RunResult<'py>> {
    let frames = frames.to_frames();
    let inner = &reader.inner;
    let raised = |error: Error| from_io(py, &error);
    inner.check(&frames).map_err(raised)?;
    let pass = plan.first_pass(inner.n_atoms()).map_err(raised)?;
    let mut control = FromPython::new(progress);
    let budget = Budget { threads, task_frames };
    let result = py.detach(|| trajet_engine::run(inner, &frames, pass, budget, &mut control));
    control.check()?;
    let (output, report) = result.map_err(|error| from_run(py, &error))?;
    let width = output.row_width;
    let rows = PyArray1::from_vec(py, output.rows).reshape([frames.len(), width])?;
    Ok((rows, folded(py, output.folded)?, report_dict(py, &report)?))
}
