//! Bindings for transforms of positions after decoding.

use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::{Deserialize, Serialize};
use trajet_engine::run::{each, lock};
use trajet_engine::{Control, RunError, TaskError};
use trajet_files::transform::ChainTransform;
use trajet_files::worker::WorkerSpec;
use trajet_files::{Chain, Error, Frames, Meter, Scratch};
use trajet_formats::Atoms;
use trajet_transforms::{JumpRequest, NetJumps, Start, Step, atoms_with_jumps, net_jumps};

use crate::arguments::from_arguments;

/// Steps that change positions after decoding. See `_trajet.pyi`.
#[pyclass(frozen, module = "trajet._trajet")]
pub(crate) struct Transforms {
    pub(crate) inner: Arc<trajet_transforms::Transforms>,
}

#[pymethods]
impl Transforms {
    /// Returns the steps given by their names and parameters, the variants and fields of `Step`.
    #[new]
    fn new(steps: Vec<(String, Bound<'_, PyAny>)>, n_atoms: usize) -> PyResult<Self> {
        let step = |(name, arguments): &(String, Bound<'_, PyAny>)| {
            from_arguments::<Step>(name, arguments)
        };
        let steps = steps.iter().map(step).collect::<PyResult<_>>()?;
        let inner = trajet_transforms::Transforms { steps, n_atoms };
        inner.check().map_err(PyValueError::new_err)?;
        Ok(Transforms { inner: Arc::new(inner) })
    }
}

/// What worker processes open: files, and the transform of their frames.
#[derive(Serialize, Deserialize)]
pub(crate) struct Outline {
    pub(crate) spec: WorkerSpec,
    pub(crate) transforms: Option<Arc<trajet_transforms::Transforms>>,
}

/// Returns a transform for chains.
pub(crate) fn of_chain(transforms: &Arc<trajet_transforms::Transforms>) -> Arc<ChainTransform> {
    Arc::new(ChainTransform::new(Arc::clone(transforms) as Arc<_>))
}

/// Counts jumps in runs of frames on threads. Returns the transforms with the shifts at which each run begins, and the counts
/// of all reads.
///
/// # Errors
/// Those of the first run that fails, in order.
///
/// # Panics
/// If jumps are not removed.
pub(crate) fn with_start(
    chain: &Chain,
    transforms: &trajet_transforms::Transforms,
    frames: &Frames,
    atoms: &Atoms,
    runs: usize,
    threads: usize,
    control: &mut dyn Control,
) -> Result<(trajet_transforms::Transforms, Meter), RunError> {
    let failed =
        |error: Error| RunError::Tasks(vec![TaskError::of_run(frames.len(), error.into())]);
    let atoms = atoms_with_jumps(transforms, atoms).map_err(failed)?;
    let runs = runs.clamp(1, frames.len().max(1));
    let positions: Vec<usize> = (0..runs).map(|run| frames.len() * run / runs).collect();
    // The last run has no successor that begins with its sum.
    let found: Vec<Mutex<Option<Result<NetJumps, Error>>>> =
        positions[1..].iter().map(|_| Mutex::default()).collect();
    let meter = Mutex::new(Meter::default());
    let (stop, done) = (Arc::new(AtomicBool::new(false)), AtomicUsize::new(0));
    let count = |run: usize| {
        let here = frames.slice(positions[run]..frames.len());
        let len = positions[run + 1] - positions[run];
        let request = JumpRequest { frames: here, len, atoms: atoms.clone() };
        let mut scratch = Scratch::stopped_by(Arc::clone(&stop));
        let counted = net_jumps(chain, transforms, &request, &mut scratch);
        lock(&meter).add(&scratch.meter);
        *lock(&found[run]) = Some(counted);
    };
    if each(found.len(), threads, &count, (&done, frames.len()), &stop, control)? {
        return Err(RunError::Interrupted);
    }
    let mut start = Start::at_first(frames.clone(), atoms.clone());
    for (run, net) in found.into_iter().enumerate() {
        let net = net.into_inner().unwrap_or_else(PoisonError::into_inner);
        let net = net.unwrap_or(Err(Error::Interrupted)).map_err(failed)?;
        // Where frames lack positions, several runs end with the same frame, or none does.
        let Some(end) = net.end.map(|end| positions[run] + end) else { break };
        if start.positions.last() == Some(&end) {
            continue;
        }
        let before: &Vec<i64> = &start.shifts[start.shifts.len() - 1];
        let sum = |(k, net): (usize, i64)| before.get(k).copied().unwrap_or(0).saturating_add(net);
        let shifts = net.shifts.into_iter().enumerate().map(sum).collect();
        let doubtful = start.doubtful.last().copied().flatten().or(net.doubtful);
        start.positions.push(end);
        start.shifts.push(shifts);
        start.doubtful.push(doubtful);
    }
    let mut transforms = transforms.clone();
    for step in &mut transforms.steps {
        if let Step::NoJump(no_jump) = step {
            no_jump.start = Some(start.clone());
        }
    }
    Ok((transforms, meter.into_inner().unwrap_or_else(PoisonError::into_inner)))
}
