//! Plans of analyses and their run on threads, seen from Python.

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use trajet_engine::rdf::Bins;
use trajet_engine::report::{RunReport, Stages};
use trajet_engine::rmsd::{Fit, Group};
use trajet_engine::{Budget, Pass, dihedrals, distances, moments, rdf, rmsd};
use trajet_io::{Error, memory};

use crate::apply::{Apply, Raised};
use crate::arrays::{PyFrames, vector};
use crate::control::FromPython;
use crate::error::{from_io, from_run};
use crate::reader::{Reader, counts};

/// What is to be computed, apart from the trajectory and its frames. See `_trajet.pyi`.
#[pyclass(frozen, module = "trajet._trajet")]
pub(crate) struct Plan {
    pub(crate) request: Request,
}

/// What is asked for, of any analysis.
#[derive(Clone)]
pub(crate) enum Request {
    Rmsd(rmsd::Request),
    Moments(moments::Request),
    Dihedrals(dihedrals::Request),
    Distances(distances::Request),
    Rdf(rdf::Request),
    Apply(Apply),
}

impl Request {
    /// Bytes of its lists.
    fn bytes(&self) -> usize {
        let of_group = |group: &Group| 5 * group.atoms.len();
        size_of::<i64>()
            * match self {
                Request::Rmsd(one) => {
                    of_group(&one.main) + one.groups.iter().map(of_group).sum::<usize>()
                }
                Request::Moments(one) => one.atoms.len() + one.align.as_ref().map_or(0, of_group),
                Request::Dihedrals(one) => 4 * one.quadruples.len(),
                Request::Distances(one) => {
                    one.atoms.len()
                        + match &one.partner {
                            distances::Partner::Themselves => 0,
                            distances::Partner::Atoms(atoms) => atoms.len(),
                            distances::Partner::Positions(positions) => positions.len(),
                        }
                }
                Request::Rdf(one) => one.atoms.len() + one.others.as_ref().map_or(0, Vec::len),
                // Its function takes what it takes.
                Request::Apply(_) => 0,
            }
    }
}

impl Plan {
    pub(crate) fn first_pass(&self, n_atoms: usize) -> Result<Pass, Error> {
        // Copies of the request, where its atoms lie among those that are read, and references along axes.
        memory::ask(self.request.bytes().saturating_mul(8), "the atoms of an analysis")?;
        match self.request.clone() {
            Request::Rmsd(request) => rmsd::plan(request, n_atoms),
            Request::Moments(request) => moments::plan(request, n_atoms),
            Request::Dihedrals(request) => dihedrals::plan(request, n_atoms),
            Request::Distances(request) => distances::plan(request, n_atoms),
            Request::Rdf(request) => rdf::plan(request, n_atoms),
            Request::Apply(request) => request.first_pass(n_atoms),
        }
    }

    /// What functions of Python raised that the plan calls.
    pub(crate) fn raised(&self) -> Raised {
        match &self.request {
            Request::Apply(request) => request.raised().clone(),
            _ => Raised::default(),
        }
    }
}

type PyGroup<'py> =
    (PyReadonlyArray1<'py, i64>, PyReadonlyArray2<'py, f32>, Option<PyReadonlyArray1<'py, f64>>);

fn group(py: Python<'_>, (atoms, reference, weights): PyGroup<'_>) -> PyResult<Group> {
    let (atoms, reference) = (atoms.as_array(), reference.as_array());
    let weights = weights.map(|w| vector(py, w.as_array().iter().copied())).transpose()?;
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
    Ok(Group {
        atoms: vector(py, atoms.iter().copied())?,
        reference: vector(py, reference.iter().copied().map(f64::from))?,
        weights,
    })
}

/// A plan for the RMSD of `main` and of `groups` after `fit`: "superposition", "centre" or "none".
#[pyfunction]
#[pyo3(signature = (main, groups, *, fit, average))]
pub(crate) fn rmsd_plan(
    py: Python<'_>,
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
    let groups = groups.into_iter().map(|one| group(py, one)).collect::<PyResult<_>>()?;
    let request = rmsd::Request { main: group(py, main)?, groups, fit, average };
    Ok(Plan { request: Request::Rmsd(request) })
}

/// A plan for means and fluctuations of the positions of `atoms` after superposition on `align`.
#[pyfunction]
#[pyo3(signature = (atoms, *, align, average))]
pub(crate) fn moments_plan(
    py: Python<'_>,
    atoms: PyReadonlyArray1<'_, i64>,
    align: Option<PyGroup<'_>>,
    average: bool,
) -> PyResult<Plan> {
    let atoms = vector(py, atoms.as_array().iter().copied())?;
    let align = align.map(|align| group(py, align)).transpose()?;
    Ok(Plan { request: Request::Moments(moments::Request { atoms, align, average }) })
}

/// A plan for dihedral angles of `quadruples` of atoms, or their cosines and sines (`features`).
#[pyfunction]
#[pyo3(signature = (quadruples, *, features, periodic))]
pub(crate) fn dihedrals_plan(
    py: Python<'_>,
    quadruples: PyReadonlyArray2<'_, i64>,
    features: bool,
    periodic: bool,
) -> PyResult<Plan> {
    let array = quadruples.as_array();
    if array.ncols() != 4 || array.nrows() == 0 {
        return Err(PyValueError::new_err("quadruples are an array of shape (n, 4)"));
    }
    let quadruples = vector(py, array.rows().into_iter().map(|q| [q[0], q[1], q[2], q[3]]))?;
    let request = dihedrals::Request { quadruples, features, periodic };
    Ok(Plan { request: Request::Dihedrals(request) })
}

/// With what atoms are paired: atoms, positions, or none for themselves.
#[derive(FromPyObject)]
pub(crate) enum PyPartner<'py> {
    Atoms(PyReadonlyArray1<'py, i64>),
    Positions(PyReadonlyArray2<'py, f32>),
}

/// A plan for the distances of `atoms` to `partner`: other atoms, fixed positions, or each other.
#[pyfunction]
#[pyo3(signature = (atoms, partner, *, periodic))]
pub(crate) fn distances_plan(
    py: Python<'_>,
    atoms: PyReadonlyArray1<'_, i64>,
    partner: Option<PyPartner<'_>>,
    periodic: bool,
) -> PyResult<Plan> {
    let partner = match partner {
        None => distances::Partner::Themselves,
        Some(PyPartner::Atoms(atoms)) => {
            distances::Partner::Atoms(vector(py, atoms.as_array().iter().copied())?)
        }
        Some(PyPartner::Positions(array)) if array.as_array().ncols() == 3 => {
            distances::Partner::Positions(vector(py, array.as_array().iter().copied())?)
        }
        Some(PyPartner::Positions(_)) => {
            return Err(PyValueError::new_err("positions are an array of shape (n, 3)"));
        }
    };
    let atoms = vector(py, atoms.as_array().iter().copied())?;
    Ok(Plan { request: Request::Distances(distances::Request { atoms, partner, periodic }) })
}

/// A plan for the distances of pairs of `atoms` and `others` (none for themselves), by `bins`.
#[pyfunction]
#[pyo3(signature = (atoms, others, *, bins, range, exclusion_block))]
pub(crate) fn rdf_plan(
    py: Python<'_>,
    atoms: PyReadonlyArray1<'_, i64>,
    others: Option<PyReadonlyArray1<'_, i64>>,
    bins: usize,
    range: (f64, f64),
    exclusion_block: Option<(usize, usize)>,
) -> PyResult<Plan> {
    let (first, last) = range;
    let bins = Bins::new(bins, range).filter(|_| first >= 0.0).ok_or_else(|| {
        PyValueError::new_err(format!("{bins} bins have no width between {first} and {last} Å"))
    })?;
    if exclusion_block.is_some_and(|(n, m)| n == 0 || m == 0) {
        return Err(PyValueError::new_err("a block has at least one atom"));
    }
    let atoms = vector(py, atoms.as_array().iter().copied())?;
    let others = others.map(|others| vector(py, others.as_array().iter().copied())).transpose()?;
    let request = rdf::Request { atoms, others, bins, exclusion_block };
    Ok(Plan { request: Request::Rdf(request) })
}

/// Threads that this process may use, by its affinity and its control group.
#[pyfunction]
pub(crate) fn available_threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Rows, state, report.
type Ran<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<f64>>, Bound<'py, PyDict>);

/// Runs a plan on threads and returns rows, state and report.
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
) -> PyResult<Ran<'py>> {
    let frames = frames.to_frames();
    let inner = &reader.inner;
    let raised = |error: Error| from_io(py, &error);
    inner.check(&frames).map_err(raised)?;
    let pass = plan.first_pass(inner.n_atoms()).map_err(raised)?;
    let mut control = FromPython::new(progress);
    let budget = Budget { threads, task_frames };
    let result = py.detach(|| trajet_engine::run(inner, &frames, pass, budget, &mut control));
    control.check()?;
    plan.raised().take().map_or(Ok(()), Err)?;
    let (output, report) = result.map_err(|error| from_run(py, &error))?;
    let width = output.row_width;
    let rows = PyArray1::from_vec(py, output.rows).reshape([frames.len(), width])?;
    Ok((rows, PyArray1::from_vec(py, output.state), report_dict(py, &report)?))
}

fn stages_dict<'py>(py: Python<'py>, stages: &Stages) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, seconds) in stages.named() {
        dict.set_item(name, seconds)?;
    }
    Ok(dict)
}

pub(crate) fn report_dict<'py>(
    py: Python<'py>,
    report: &RunReport,
) -> PyResult<Bound<'py, PyDict>> {
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
        for (name, seconds) in task.stages.named_of_task() {
            dict.set_item(name, seconds)?;
        }
        tasks.append(dict)?;
    }
    let dict = PyDict::new(py);
    dict.set_item("workers", workers)?;
    dict.set_item("tasks", tasks)?;
    dict.set_item("passes", report.passes)?;
    dict.set_item("t_total", report.wall)?;
    Ok(dict)
}
