//! Bindings for pools whose workers are other processes: tasks, worker trajectories, merging of states.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use numpy::{PyArray1, PyReadonlyArray1, PyReadwriteArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyBytes, PyDict};
use serde::{Deserialize, Serialize};
use trajet_engine::plan::{Leaves, leaves_per_task, tasks};
use trajet_engine::report::{RunReport, Stages};
use trajet_engine::tree::{Merger, Node};
use trajet_engine::{
    ArraySpec, Budget, FrameArrays, JointPass, JointState, Part, RunError, RunHandle, Subtrees,
    frame_arrays, run_part,
};
use trajet_files::transform::ChainTransform;
use trajet_files::worker::{Slice, WorkerTrajectory};
use trajet_files::{Chain, Frames, Meter};
use trajet_store::partitioned::WORKER_OPENER;

use crate::arrays::PyFrames;
use crate::error::{from_failure, from_io, from_run};
use crate::plan::Plan;
use crate::reader::Reader;
use crate::remote::open_in_worker;
use crate::report::{counts, report_dict};
use crate::run::{PyFolded, folded};
use crate::serialize::{from_bytes, to_bytes};
use crate::transforms::{WorkerInput, of_chain};

/// Returns the number of frames in each leaf of a run.
#[pyfunction]
pub(crate) fn leaf_frames(n_frames: usize, n_atoms: usize) -> usize {
    Leaves::new(n_frames, n_atoms).frames_per_leaf()
}

/// Returns the number of tasks of a run, of about `task_frames` frames each if given.
#[pyfunction]
#[pyo3(signature = (n_frames, n_atoms, workers, task_frames=None))]
pub(crate) fn n_tasks(
    n_frames: usize,
    n_atoms: usize,
    workers: usize,
    task_frames: Option<usize>,
) -> usize {
    let leaves = Leaves::new(n_frames, n_atoms);
    leaves.len().div_ceil(leaves_per_task(&leaves, leaves.len(), workers, task_frames))
}

/// A pass of a plan over a number of frames. See `_trajet.pyi`.
#[pyclass(frozen, module = "trajet._trajet", name = "Pass")]
pub(crate) struct PyPass {
    inner: JointPass,
    leaves: Leaves,
}

/// States as bytes. Arrays of bytes move to other processes without a copy.
type States<'py> = PyReadonlyArray1<'py, u8>;

#[pymethods]
impl PyPass {
    /// Returns the pass after as many passes as there are `states`, which are their results.
    #[new]
    fn new(
        py: Python<'_>,
        plan: &Plan,
        n_atoms: usize,
        n_frames: usize,
        states: Vec<States<'_>>,
    ) -> PyResult<Self> {
        let mut inner = plan.first_pass(n_atoms).map_err(|error| from_io(py, &error))?;
        for state in states {
            let (_, whole) = subtrees(py, &inner, &state)?.pop().ok_or_else(no_states)?;
            if inner.is_last() {
                return Err(PyValueError::new_err("the plan has fewer passes"));
            }
            inner = inner.next(whole).map_err(|error| from_failure(py, error))?;
        }
        let leaves = inner.leaves(n_frames);
        Ok(PyPass { inner, leaves })
    }

    #[getter]
    fn n_leaves(&self) -> usize {
        self.leaves.len()
    }

    /// Unique name, dtype, and shape of the entry of a frame of each array.
    #[getter]
    fn arrays(&self) -> Vec<(String, &str, Vec<usize>)> {
        let named = self.inner.array_names().into_iter().zip(self.inner.per_frame());
        named.map(|(name, spec)| (name, spec.dtype, spec.shape.clone())).collect()
    }

    /// Bytes of the entry of a frame in each array.
    #[getter]
    fn entry_bytes(&self) -> Vec<usize> {
        self.inner.per_frame().into_iter().map(ArraySpec::entry_bytes).collect()
    }

    /// Returns where each array begins in a buffer for `n_frames` frames, and the bytes of the buffer.
    fn sections(&self, n_frames: usize) -> (Vec<usize>, usize) {
        frame_arrays::sections(&self.entry_bytes(), n_frames)
    }

    /// The atoms to read, ascending; `None` for all.
    #[getter]
    fn atoms<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<i64>>> {
        let list = self.inner.atoms().sorted()?.iter().map(|&atom| i64::from(atom));
        Some(PyArray1::from_iter(py, list))
    }

    #[getter]
    fn is_last(&self) -> bool {
        self.inner.is_last()
    }

    /// Returns the tasks as ranges of leaves (start, end).
    #[pyo3(signature = (workers, task_frames))]
    fn tasks(&self, workers: usize, task_frames: Option<usize>) -> Vec<(usize, usize)> {
        let tasks = tasks(&self.leaves, 0..self.leaves.len(), workers, task_frames);
        tasks.into_iter().map(|run| (run.start, run.end)).collect()
    }

    /// Returns the positions (start, end) of the frames in a range of leaves.
    fn frames_of(&self, begin: usize, end: usize) -> (usize, usize) {
        let frames = self.leaves.frames_of(&(begin..end));
        (frames.start, frames.end)
    }
}

/// A task, as sent to a worker.
#[derive(Serialize, Deserialize)]
struct Task {
    run: std::ops::Range<usize>,
    frames: Frames,
    slice: Slice,
}

/// Returns a task for a range of leaves as bytes, for a worker.
#[pyfunction]
pub(crate) fn task<'py>(
    py: Python<'py>,
    reader: &Reader,
    pass_: &PyPass,
    frames: PyFrames<'py>,
    begin: usize,
    end: usize,
) -> PyResult<Bound<'py, PyBytes>> {
    let run = begin..end;
    let positions = pass_.leaves.frames_of(&run);
    if run.is_empty() || end > pass_.leaves.len() || positions.end > frames.len() {
        return Err(PyValueError::new_err(format!("there are no leaves {begin} to {end}")));
    }
    // Not all frames for each task.
    let frames = frames.slice(positions);
    reader.inner.check(&frames).map_err(|error| from_io(py, &error))?;
    let slice = reader.inner.slice(&pass_.inner.frames_read(&frames));
    Ok(PyBytes::new(py, &to_bytes(&Task { run, frames, slice })?))
}

/// A cancellation flag. See `_trajet.pyi`.
#[pyclass(frozen, module = "trajet._trajet")]
#[derive(Default)]
pub(crate) struct Stop {
    handle: RunHandle,
    report: Mutex<Option<Py<PyDict>>>,
}

#[pymethods]
impl Stop {
    #[new]
    fn new() -> Self {
        Stop::default()
    }

    fn set(&self) {
        self.handle.stop.store(true, Ordering::Relaxed);
    }

    #[getter]
    fn is_set(&self) -> bool {
        self.handle.stop.load(Ordering::Relaxed)
    }

    /// Returns the seconds by stage spent so far. May be called during the run.
    fn spent<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.handle.spent().named_of_task().into_py_dict(py)
    }

    /// Report of the work before cancellation.
    #[getter]
    fn report(&self, py: Python<'_>) -> Option<Py<PyDict>> {
        let report = self.report.lock().unwrap_or_else(PoisonError::into_inner);
        report.as_ref().map(|report| report.clone_ref(py))
    }
}

/// A trajectory that was opened in another process. See `_trajet.pyi`.
#[pyclass(frozen, module = "trajet._trajet", name = "WorkerTrajectory")]
pub(crate) struct PyWorkerTrajectory {
    inner: WorkerTrajectory,
    transform: Option<Arc<ChainTransform>>,
}

#[pymethods]
impl PyWorkerTrajectory {
    #[new]
    fn new(worker_input: &[u8]) -> PyResult<Self> {
        let WorkerInput { spec, transforms } = from_bytes(worker_input)?;
        Ok(PyWorkerTrajectory {
            inner: WorkerTrajectory::new(spec, &[WORKER_OPENER]).with_objects(open_in_worker),
            transform: transforms.as_ref().map(of_chain),
        })
    }

    #[getter]
    fn n_atoms(&self) -> usize {
        self.inner.n_atoms()
    }

    /// Returns the duration in seconds of the longest file opening in progress in a task.
    fn opening(&self, task: &Stop) -> f64 {
        self.inner.opening(&task.handle.threads()).as_secs_f64()
    }

    /// Returns the trajectory, restricted to the frames of a slice, and the cost of opening their files.
    fn reader<'py>(&self, py: Python<'py>, slice: &[u8]) -> PyResult<(Reader, Bound<'py, PyDict>)> {
        let slice = from_bytes(slice)?;
        let mut meter = Meter::default();
        let chain = py.detach(|| self.chain(slice, &mut meter));
        let chain = chain.map_err(|error| from_io(py, &error))?;
        Ok((Reader::partial(chain), counts(py, &meter)?))
    }

    /// Runs a task. Fills `sections`, and returns states and report.
    #[pyo3(signature = (pass_, task, sections, *, threads, stop))]
    #[allow(clippy::too_many_arguments)]
    fn run<'py>(
        &self,
        py: Python<'py>,
        pass_: &PyPass,
        task: &[u8],
        mut sections: Vec<PyReadwriteArray2<'py, u8>>,
        threads: usize,
        stop: Option<&Stop>,
    ) -> PyResult<(Bound<'py, PyArray1<u8>>, Bound<'py, PyDict>)> {
        let parts = sections.iter_mut().map(|section| section.as_slice_mut());
        let parts = parts.collect::<Result<Vec<_>, _>>().map_err(|_| unfit())?;
        let (mut report, nobody) = (RunReport::default(), RunHandle::default());
        let handle = stop.map_or(&nobody, |stop| &stop.handle);
        let (result, ended) = py.detach(|| {
            let result = self.work(pass_, task, parts, threads, &mut report, handle);
            (result, Instant::now())
        });
        // Other threads of this process may hold the GIL.
        let waited = ended.elapsed().as_secs_f64();
        if let Some(first) = report.workers.first_mut() {
            first.stages.t_wait += waited;
            first.stages.t_total += waited;
        }
        let report = report_dict(py, &report)?;
        if let Some(stop) = stop.filter(|stop| stop.is_set()) {
            let mut kept = stop.report.lock().unwrap_or_else(PoisonError::into_inner);
            *kept = Some(report.clone().unbind());
        }
        let states = result.map_err(|fault| match fault {
            TaskError::Input(error) => from_io(py, &error),
            TaskError::Run(error) => from_run(py, &error),
            TaskError::Asked(error) => error,
        })?;
        Ok((PyArray1::from_vec(py, states), report))
    }
}

/// Cause of a failed task.
enum TaskError {
    Input(trajet_files::Error),
    Run(RunError),
    Asked(PyErr),
}

impl PyWorkerTrajectory {
    /// Returns the chain, of which only the frames of `slice` can be read.
    fn chain(&self, slice: Slice, meter: &mut Meter) -> Result<Chain, trajet_files::Error> {
        let chain = self.inner.chain(slice, meter)?;
        Ok(match &self.transform {
            Some(transform) => chain.transformed(Arc::clone(transform)),
            None => chain,
        })
    }

    /// Runs a task without the GIL, and returns the bytes of its states. Time that the first worker spends before and after
    /// the run is added to its stages.
    fn work(
        &self,
        pass_: &PyPass,
        task: &[u8],
        parts: Vec<&mut [u8]>,
        threads: usize,
        report: &mut RunReport,
        handle: &RunHandle,
    ) -> Result<Vec<u8>, TaskError> {
        let begin = Instant::now();
        handle.join();
        let Task { run, frames, slice } = from_bytes(task).map_err(TaskError::Asked)?;
        let opens = Instant::now();
        let mut opening = Meter::default();
        let chain = self.chain(slice, &mut opening).map_err(TaskError::Input)?;
        let (opened, waited) = (opens.elapsed(), Duration::from_nanos(opening.wait_ns));
        let PyPass { inner, leaves, .. } = pass_;
        // Threads that wait for remote storage take no core.
        let threads = threads.max(self.inner.connections());
        let n_frames = frames.len();
        let out = FrameArrays::new(inner.per_frame().into_iter(), parts, n_frames);
        let out = out.filter(|_| leaves.frames_of(&run).len() == n_frames);
        let out = out.ok_or_else(|| TaskError::Asked(unfit()))?;
        let part = Part { frames: &frames, leaves: *leaves, run };
        // For one thread a single share is best, as each share costs requests. Several threads balance their load with
        // a few more shares.
        let shares = if threads > 1 { 2 * threads } else { 1 };
        let budget = Budget { threads, task_frames: Some(n_frames.div_ceil(shares)) };
        let result = run_part(&chain, inner, &part, out, budget, report, handle);
        let packs = Instant::now();
        let states = result.and_then(|states| {
            inner.write_states(&states).map_err(|error| RunError::Tasks(vec![error.into()]))
        });
        if let Some(first) = report.workers.first_mut() {
            first.meter.add(&opening);
            let around = Stages {
                t_index: (opens - begin).as_secs_f64(),
                t_open: opened.saturating_sub(waited).as_secs_f64(),
                t_wait: waited.as_secs_f64(),
                t_merge: packs.elapsed().as_secs_f64(),
                ..Stages::default()
            };
            first.stages.add_around(&around);
        }
        states.map_err(TaskError::Run)
    }
}

/// Returns the states of some bytes.
fn subtrees(py: Python<'_>, pass: &JointPass, bytes: &States<'_>) -> PyResult<Subtrees> {
    let bytes = bytes.as_slice().map_err(|_| no_states())?;
    let subtrees = pass.read_states(bytes).map_err(|refused| from_io(py, &refused.into()))?;
    subtrees.ok_or_else(no_states)
}

/// Merges the states of tasks. See `_trajet.pyi`.
#[pyclass(frozen, module = "trajet._trajet", name = "States")]
pub(crate) struct PyStates {
    pass: Py<PyPass>,
    merger: Mutex<Option<Merger<JointState>>>,
}

#[pymethods]
impl PyStates {
    #[new]
    fn new(pass_: Py<PyPass>) -> Self {
        let merger = Mutex::new(Some(Merger::new(pass_.get().leaves.len())));
        PyStates { pass: pass_, merger }
    }

    /// Adds the states that a task returned.
    fn add(&self, py: Python<'_>, states: States<'_>) -> PyResult<()> {
        let pass = &self.pass.get().inner;
        let states = subtrees(py, pass, &states)?;
        let mut held = self.merger.lock().unwrap_or_else(PoisonError::into_inner);
        let merger = held.as_mut().ok_or_else(taken)?;
        let mut states = states.into_iter();
        states
            .try_for_each(|(node, state)| merger.add(node, state, |l, r| pass.merge(l, r)))
            .map_err(|error| from_failure(py, error))
    }

    /// Takes the states that could not be merged yet, to be added to another merger.
    fn subtrees<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u8>>> {
        self.bytes(py, &self.take()?.into_subtrees())
    }

    /// Takes the state of the whole pass, for the next.
    fn whole<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u8>>> {
        self.bytes(py, &vec![(Node::leaf(0), self.take_whole(py)?)])
    }

    /// Takes the state of the last pass, and returns the arrays of each analysis. `sections` are the bytes of those with
    /// an entry for each frame.
    fn finish<'py>(
        &self,
        py: Python<'py>,
        sections: Vec<Bound<'py, PyAny>>,
    ) -> PyResult<Vec<PyFolded<'py>>> {
        let whole = self.take_whole(py)?;
        let finished = self.pass.get().inner.finish(whole);
        folded(py, finished.map_err(|error| from_failure(py, error))?, sections)
    }
}

impl PyStates {
    fn take(&self) -> PyResult<Merger<JointState>> {
        self.merger.lock().unwrap_or_else(PoisonError::into_inner).take().ok_or_else(taken)
    }

    fn take_whole(&self, py: Python<'_>) -> PyResult<JointState> {
        let PyPass { inner, leaves } = self.pass.get();
        if leaves.is_empty() {
            return inner.empty().map_err(|error| from_failure(py, error));
        }
        let whole = self.take()?.into_whole();
        whole.ok_or_else(|| PyValueError::new_err("the states of some tasks were not added"))
    }

    fn bytes<'py>(&self, py: Python<'py>, states: &Subtrees) -> PyResult<Bound<'py, PyArray1<u8>>> {
        let bytes = self.pass.get().inner.write_states(states);
        Ok(PyArray1::from_vec(py, bytes.map_err(|error| from_failure(py, error))?))
    }
}

fn unfit() -> PyErr {
    PyValueError::new_err("the sections do not fit the frames and arrays of the task")
}

fn taken() -> PyErr {
    PyValueError::new_err("these states were taken already")
}

fn no_states() -> PyErr {
    PyValueError::new_err("these numbers are no states")
}
