//! Runs plans on threads of this process.

use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PySlice};
use trajet_engine::frame_arrays::sections;
use trajet_engine::{ArraySpec, Budget, Output};
use trajet_files::Error;

use crate::arrays::PyFrames;
use crate::control::FromPython;
use crate::error::{from_io, from_run};
use crate::folded::{PyFolded, folded};
use crate::plan::Plan;
use crate::reader::Reader;
use crate::report::report_dict;

/// Arrays of each analysis, report.
type RunResult<'py> = (Vec<PyFolded<'py>>, Bound<'py, PyDict>);

/// Runs a plan on threads and returns the arrays of each analysis, and the report.
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
    Ok((arrays(py, output, frames.len())?, report_dict(py, &report)?))
}

/// Returns the arrays of each analysis of a run; those with an entry for each frame are views of its buffer.
fn arrays(py: Python<'_>, output: Output, n_frames: usize) -> PyResult<Vec<PyFolded<'_>>> {
    let Output { buffer, folded: analyses } = output;
    let specs = analyses.iter().flat_map(|analysis| &analysis.per_frame);
    let entry_bytes: Vec<usize> = specs.map(ArraySpec::entry_bytes).collect();
    let (begins, _) = sections(&entry_bytes, n_frames);
    let (words, first) = buffer.into_words();
    let bytes = PyArray1::from_vec(py, words).call_method1("view", ("uint8",))?;
    let section = |(&begin, &size): (&usize, &usize)| {
        let begin = (first * size_of::<u64>() + begin) as isize;
        let slice = PySlice::new(py, begin, begin + (size * n_frames) as isize, 1);
        bytes.get_item(slice)?.call_method1("reshape", (n_frames, size))
    };
    let sections = begins.iter().zip(&entry_bytes).map(section).collect::<PyResult<_>>()?;
    folded(py, analyses, sections)
}
