//! Plans of analyses.

use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use trajet_engine::{AnalysisSpec, JointPass, Pass};
use trajet_files::Error;
use trajet_files::transform::ChainTransform;
use trajet_formats::memory;

use crate::apply::{Apply, Arguments, Raised};
use crate::arguments::{WHAT, array_bytes, from_arguments};
use crate::serialize::from_bytes;
use crate::transforms::of_chain;

/// The name of a plan of several analyses that share each pass.
const JOINT: &str = "joint";

/// A plan of one analysis or of several, independent of the trajectory and the frames. See `_trajet.pyi`.
#[pyclass(frozen, module = "trajet._trajet")]
pub(crate) struct Plan {
    jobs: Vec<Job>,
    raised: Raised,
}

/// An analysis, with its transform instead of that of the trajectory.
struct Job {
    spec: Spec,
    transform: Option<Arc<ChainTransform>>,
    /// Bytes of its arrays. The memory of a Python function is unknown.
    bytes: usize,
}

enum Spec {
    Native(AnalysisSpec),
    Apply(Apply),
}

/// Analyses of a plan: name, arguments, serialised transforms.
type JointJobs<'py> = Vec<(String, Bound<'py, PyAny>, Option<Vec<u8>>)>;

#[pymethods]
impl Plan {
    /// Returns the plan of an analysis by its name and its parameters, the fields of its `Request` in the engine; or of
    /// several analyses, `joint`.
    #[new]
    fn new(analysis: &str, arguments: &Bound<'_, PyAny>) -> PyResult<Self> {
        let raised = Raised::default();
        if analysis != JOINT {
            let job = Job::new(analysis, arguments, None, &raised)?;
            return Ok(Plan { jobs: vec![job], raised });
        }
        let joint: JointJobs<'_> = arguments.get_item("jobs")?.extract()?;
        if joint.is_empty() {
            return Err(PyValueError::new_err("there are no analyses"));
        }
        // Analyses with the same transforms share them.
        let mut known: Vec<(Vec<u8>, Arc<ChainTransform>)> = Vec::new();
        let mut jobs = Vec::with_capacity(joint.len());
        for (name, arguments, transforms) in joint {
            let transform = transforms.map(|bytes| {
                if let Some((_, transform)) = known.iter().find(|(other, _)| *other == bytes) {
                    return Ok(Arc::clone(transform));
                }
                let transform = of_chain(&from_bytes(&bytes)?);
                known.push((bytes, Arc::clone(&transform)));
                PyResult::Ok(transform)
            });
            jobs.push(Job::new(&name, &arguments, transform.transpose()?, &raised)?);
        }
        Ok(Plan { jobs, raised })
    }
}

impl Job {
    fn new(
        analysis: &str,
        arguments: &Bound<'_, PyAny>,
        transform: Option<Arc<ChainTransform>>,
        raised: &Raised,
    ) -> PyResult<Self> {
        if analysis == "apply" {
            let mut apply: Apply = arguments.extract::<Arguments<'_>>()?.try_into()?;
            apply.raised = raised.clone();
            return Ok(Job { spec: Spec::Apply(apply), transform, bytes: 0 });
        }
        let spec: AnalysisSpec = from_arguments(analysis, arguments)?;
        spec.check().map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Job { spec: Spec::Native(spec), transform, bytes: array_bytes(arguments)? })
    }

    fn first_pass(&self, n_atoms: usize) -> Result<Pass, Error> {
        // Estimate for copies of the parameters in double precision, maps of atoms to columns, and references stored by
        // axis.
        memory::ask(self.bytes.saturating_mul(12), WHAT)?;
        match &self.spec {
            Spec::Native(spec) => spec.clone().plan(n_atoms),
            Spec::Apply(apply) => apply.first_pass(n_atoms),
        }
    }
}

impl Plan {
    pub(crate) fn first_pass(&self, n_atoms: usize) -> Result<JointPass, Error> {
        if let [Job { transform: None, .. }] = &self.jobs[..] {
            return Ok(self.jobs[0].first_pass(n_atoms)?.into());
        }
        let pass = |job: &Job| Ok((job.transform.clone(), job.first_pass(n_atoms)?));
        JointPass::of(self.jobs.iter().map(pass).collect::<Result<_, Error>>()?)
    }

    /// Returns the exception slot of the plan's Python functions.
    pub(crate) fn raised(&self) -> Raised {
        self.raised.clone()
    }
}
