//! Plans of analyses and their run on threads, seen from Python.

use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use trajet_engine::report::{RunReport, Stages};
use trajet_engine::rmsd::{Fit, Group, Request, plan};
use trajet_engine::{Budget, Pass};
use trajet_io::Error;

use crate::arrays::PyFrames;
use crate::control::FromPython;
use crate::error::{from_io, from_run};
use crate::reader::{Reader, counts};

/// What is to be computed, apart from the trajectory and its frames. See `_trajet.pyi`.
#[pyclass(frozen, module = "trajet._trajet")]
pub(crate) struct Plan {
    request: Request,
}

impl Plan {
    fn first_pass(&self, n_atoms: usize) -> Result<Pass, Error> {
        plan(self.request.clone(), n_atoms)
    }
}

type PyGroup<'py> =
    (PyReadonlyArray1<'py, i64>, PyReadonlyArray2<'py, f32>, Option<PyReadonlyArray1<'py, f64>>);

fn group((atoms, reference, weights): PyGroup<'_>) -> PyResult<Group> {
    let (atoms, reference) = (atoms.as_array(), reference.as_array());
    let weights = weights.map(|w| w.as_array().to_vec());
    let fits = reference.shape() == [atoms.len(), 3]
        && weights.as_ref().is_none_or(|w| w.len() == atoms.len())
        && !atoms.is_empty();
    if !fits {
        return Err(PyValueError::new_err(
            "a group needs atoms, and a position and a weight for each",
        ));
    }
    let heavy =
        |w: &Vec<f64>| w.iter().all(|&w| w >= 0.0 && w.is_finite()) && w.iter().any(|&w| w > 0.0);
    if !weights.as_ref().is_none_or(heavy) {
        return Err(PyValueError::new_err(
            "weights must be finite, not negative, and not all zero",
        ));
    }
    Ok(Group { atoms: atoms.to_vec(), reference: reference.iter().copied().collect(), weights })
}

/// A plan for the RMSD of `main` and of `groups` after `fit`: "superposition", "centre" or "none".
#[pyfunction]
#[pyo3(signature = (main, groups, *, fit, average))]
pub(crate) fn rmsd_plan(
    main: PyGroup<'_>,
    groups: Vec<PyGroup<'_>>,
    fit: &str,
    average: bool,
) -> PyResult<Plan> {
    let fit = match fit {
        "superposition" => Fit::Superposition,
        "centre" => Fit::Centre,
        "none" => Fit::None,
        other => return Err(PyValueError::new_err(format!("no such fit: {other}"))),
    };
    let groups = groups.into_iter().map(group).collect::<PyResult<_>>()?;
    Ok(Plan { request: Request { main: group(main)?, groups, fit, average } })
}

/// Threads that this process may use, by its affinity and its control group.
#[pyfunction]
pub(crate) fn available_threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Runs a plan on threads and returns rows and report.
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
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyDict>)> {
    let frames = frames.to_frames();
    let inner = &*reader.inner;
    let raised = |error: Error| from_io(py, &error);
    inner.index().check(&frames, inner.source().path()).map_err(raised)?;
    let pass = plan.first_pass(inner.index().n_atoms()).map_err(raised)?;
    let mut control = FromPython::new(progress);
    let budget = Budget { threads, task_frames };
    let result = py.detach(|| trajet_engine::run(inner, &frames, pass, budget, &mut control));
    control.check()?;
    let (output, report) = result.map_err(|error| from_run(py, &error))?;
    let width = output.row_width;
    let rows = PyArray1::from_vec(py, output.rows).reshape([frames.len(), width])?;
    Ok((rows.into_any(), report_dict(py, &report)?))
}

fn stages_dict<'py>(py: Python<'py>, stages: &Stages) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, seconds) in stages.named() {
        dict.set_item(name, seconds)?;
    }
    Ok(dict)
}

fn report_dict<'py>(py: Python<'py>, report: &RunReport) -> PyResult<Bound<'py, PyDict>> {
    let workers = PyList::empty(py);
    for (number, worker) in report.workers.iter().enumerate() {
        let dict = PyDict::new(py);
        dict.set_item("worker", number)?;
        dict.set_item("tasks", worker.tasks)?;
        dict.update(counts(py, &worker.meter)?.as_mapping())?;
        dict.update(stages_dict(py, &worker.stages)?.as_mapping())?;
        workers.append(dict)?;
    }
    let tasks = PyList::empty(py);
    for task in &report.tasks {
        let dict = PyDict::new(py);
        dict.set_item("pass", task.pass)?;
        dict.set_item("task", task.task)?;
        dict.set_item("worker", task.worker)?;
        dict.set_item("first", task.first)?;
        dict.set_item("frames", task.frames)?;
        dict.set_item("t_begin", task.begin)?;
        dict.set_item("t_end", task.end)?;
        tasks.append(dict)?;
    }
    let dict = PyDict::new(py);
    dict.set_item("workers", workers)?;
    dict.set_item("tasks", tasks)?;
    dict.set_item("passes", report.passes)?;
    dict.set_item("t_total", report.wall)?;
    Ok(dict)
}
