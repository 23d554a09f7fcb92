//! Plans of analyses.

use std::sync::Arc;

use numpy::PyArray1;
use postcard::ser_flavors::Size;
use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde::{Deserialize, Serialize};
use trajet_engine::broken_molecules::Neighbours;
use trajet_engine::{AnalysisSpec, ArraySpec, JointPass, Pass, Request};
use trajet_files::Error;
use trajet_files::transform::ChainTransform;
use trajet_formats::{AtomList, memory};

use crate::apply::{Apply, Functions, PickledFunctions};
use crate::arguments::{WHAT, from_arguments, from_dict};
use crate::error::from_io;
use crate::serialize::{from_bytes, to_bytes};
use crate::transforms::of_chain;

/// A plan of one analysis or of several, independent of the trajectory and the frames. See `_trajet.pyi`.
#[pyclass(frozen, module = "trajet._trajet")]
pub(crate) struct Plan {
    jobs: Vec<Job>,
}

/// An analysis.
#[derive(Clone)]
struct Job {
    spec: Arc<Spec>,
    /// Its atoms, ascending, each once.
    atoms: Arc<[i64]>,
    /// Functions of Python, which it calls.
    functions: Option<Arc<Functions>>,
    /// Atoms by which broken molecules are found.
    neighbours: Option<Arc<Neighbours>>,
    /// The number of frames, if states of blocks of them are kept.
    blocks_of: Option<usize>,
    /// Its transforms instead of those of the trajectory.
    transforms: Option<(Vec<u8>, Arc<ChainTransform>)>,
}

#[derive(Clone, Serialize, Deserialize)]
enum Spec {
    Native(Box<AnalysisSpec>),
    Apply(Apply),
}

impl Spec {
    fn atoms(&mut self) -> Vec<&mut AtomList> {
        match self {
            Spec::Native(spec) => spec.atoms(),
            Spec::Apply(apply) => vec![&mut apply.atoms],
        }
    }
}

/// Returns the atoms of some lists ascending, each once.
fn distinct<'a>(lists: impl Iterator<Item = &'a [i64]>) -> Vec<i64> {
    // Of the exact size, for which memory was asked.
    let mut atoms = lists.collect::<Vec<_>>().concat();
    atoms.sort_unstable();
    atoms.dedup();
    atoms
}

#[pymethods]
impl Plan {
    /// Returns the plan of an analysis by its name and its parameters, the fields of its `Request` in the engine.
    #[new]
    #[pyo3(signature = (name, /, **request))]
    fn new(name: &str, request: Option<&Bound<'_, PyDict>>, py: Python<'_>) -> PyResult<Self> {
        let none = PyDict::new(py);
        let made = Job::new(name, request.unwrap_or(&none)).map_err(|error| {
            if error.is_instance_of::<PyOverflowError>(py) {
                return PyValueError::new_err(format!("a number is too large: {error}"));
            }
            error
        });
        Ok(Plan { jobs: vec![made?] })
    }

    /// Returns the plan of several analyses that share each pass, with the serialised transforms of each.
    #[staticmethod]
    fn joint(jobs: Vec<(PyRef<'_, Plan>, Option<Vec<u8>>)>) -> PyResult<Self> {
        let jobs = jobs.iter().map(|(plan, bytes)| (plan.jobs[0].clone(), bytes.clone()));
        Plan::of(jobs.collect())
    }

    /// Returns the plan of one analysis that also looks for broken molecules; `neighbours` are the fields of `Neighbours`
    /// in the engine.
    #[pyo3(signature = (**neighbours))]
    fn with_neighbours(&self, neighbours: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let neighbours = neighbours.map(from_dict::<Neighbours>).transpose()?.unwrap_or_default();
        neighbours.check().map_err(|error| PyValueError::new_err(error.to_string()))?;
        let job = Job { neighbours: Some(Arc::new(neighbours)), ..self.only()?.clone() };
        Ok(Plan { jobs: vec![job] })
    }

    /// Returns the plan of one analysis that also keeps the states of blocks of the `n_frames` frames.
    fn in_blocks(&self, n_frames: usize) -> PyResult<Self> {
        let job = Job { blocks_of: Some(n_frames), ..self.only()?.clone() };
        Ok(Plan { jobs: vec![job] })
    }

    /// The distinct atoms of all analyses.
    #[getter]
    fn atoms<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        PyArray1::from_vec(py, distinct(self.jobs.iter().map(|job| &*job.atoms)))
    }

    /// Returns how many numbers the first pass computes of each frame, their bytes, and those of its states as far as
    /// they are known beforehand.
    fn sizes(&self, py: Python<'_>, n_atoms: usize) -> PyResult<(usize, usize, usize)> {
        let pass = self.first_pass(n_atoms).map_err(|error| from_io(py, &error))?;
        let count = |spec: &ArraySpec| spec.shape.iter().copied().fold(1, usize::saturating_mul);
        let add = |(numbers, bytes): (usize, usize), spec: &ArraySpec| {
            (numbers.saturating_add(count(spec)), bytes.saturating_add(spec.entry_bytes()))
        };
        let (numbers, bytes) = pass.per_frame().into_iter().fold((0, 0), add);
        Ok((numbers, bytes, pass.state_bytes()))
    }

    /// Returns the plan for frames that have only the atoms of this one.
    fn condensed(&self) -> PyResult<Self> {
        let Job { spec, functions, atoms, neighbours, blocks_of, .. } = self.only()?;
        let mut spec = (**spec).clone();
        let mut neighbours = neighbours.as_deref().cloned();
        let lists =
            spec.atoms().into_iter().chain(neighbours.iter_mut().flat_map(Neighbours::atoms));
        for atom in lists.flat_map(|list| &mut **list) {
            *atom = atoms.partition_point(|other| other < atom) as i64;
        }
        let neighbours = neighbours.map(Arc::new);
        Ok(Plan {
            jobs: vec![Job {
                neighbours,
                blocks_of: *blocks_of,
                ..Job::of(spec, functions.clone())
            }],
        })
    }

    /// Whether it calls functions of Python.
    #[getter]
    fn has_functions(&self) -> bool {
        self.jobs.iter().any(|job| job.functions.is_some())
    }

    /// Returns the bytes of the plan, and the functions of each analysis, for pickle.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Py<PyAny>, Reduced<'py>)> {
        let of_job = |job: &Job| -> PickledJob {
            let transforms = job.transforms.clone().map(|of| of.0);
            (job.spec.clone(), job.neighbours.clone(), job.blocks_of, transforms)
        };
        let bytes = to_bytes(&self.jobs.iter().map(of_job).collect::<Vec<_>>())?;
        let functions = |job: &Job| job.functions.as_ref().map(|of| of.for_pickle(py));
        let functions = self.jobs.iter().map(functions).collect();
        let restored = py.get_type::<Plan>().getattr("restored")?.unbind();
        Ok((restored, (PyBytes::new(py, &bytes), functions)))
    }

    /// Returns the plan that was pickled.
    #[staticmethod]
    fn restored(bytes: &[u8], functions: Vec<Option<PickledFunctions>>) -> PyResult<Self> {
        let jobs: Vec<PickledJob> = from_bytes(bytes)?;
        let jobs = jobs.into_iter().zip(functions).map(|(job, called)| {
            let (spec, neighbours, blocks_of, transforms) = job;
            let functions = called.map(|of| Arc::new(Functions::from(of)));
            (
                Job { neighbours, blocks_of, ..Job::of(Arc::unwrap_or_clone(spec), functions) },
                transforms,
            )
        });
        Plan::of(jobs.collect())
    }
}

/// An analysis in the bytes of a plan: the fields of a [`Job`].
type PickledJob = (Arc<Spec>, Option<Arc<Neighbours>>, Option<usize>, Option<Vec<u8>>);

/// A pickled plan: its bytes, and the functions of each of its analyses.
type Reduced<'py> = (Bound<'py, PyBytes>, Vec<Option<PickledFunctions>>);

impl Job {
    fn new(name: &str, request: &Bound<'_, PyDict>) -> PyResult<Self> {
        let (spec, functions) = if name == "apply" {
            let functions = Functions::taken_from(request)?;
            (Spec::Apply(from_dict(request)?), Some(Arc::new(functions)))
        } else {
            let spec: AnalysisSpec = from_arguments(name, request)?;
            spec.check().map_err(|error| PyValueError::new_err(error.to_string()))?;
            (Spec::Native(Box::new(spec)), None)
        };
        Ok(Job::of(spec, functions))
    }

    fn of(mut spec: Spec, functions: Option<Arc<Functions>>) -> Self {
        let atoms = distinct(spec.atoms().iter().map(|list| &***list)).into();
        Job {
            spec: Arc::new(spec),
            atoms,
            functions,
            neighbours: None,
            blocks_of: None,
            transforms: None,
        }
    }

    fn first_pass(&self, n_atoms: usize) -> Result<Pass, Error> {
        let bytes = postcard::serialize_with_flavor(&*self.spec, Size::default());
        // Estimate for copies of the parameters in double precision, maps of atoms to columns, and references stored by
        // axis. Of neighbours: columns, marks, and pairs of columns.
        let n_pairs = self.neighbours.as_ref().map_or(0, |of| of.first.len());
        let of_neighbours = n_pairs.saturating_mul(64).saturating_add(n_atoms.saturating_mul(8));
        let of_pairs = if n_pairs == 0 { 0 } else { of_neighbours };
        let of_spec = bytes.unwrap_or(0).saturating_mul(12);
        memory::ask(of_spec.saturating_add(of_pairs), WHAT)?;
        let pass = match (&*self.spec, &self.functions) {
            (Spec::Native(spec), _) => (**spec).clone().plan(n_atoms)?,
            (Spec::Apply(apply), Some(functions)) => apply.first_pass(functions, n_atoms)?,
            (Spec::Apply(_), None) => unreachable!("plans of apply have functions"),
        };
        Ok(Pass { neighbours: self.neighbours.clone(), blocks_of: self.blocks_of, ..pass })
    }
}

impl Plan {
    /// Returns the analysis of a plan of one.
    fn only(&self) -> PyResult<&Job> {
        let [job] = &self.jobs[..] else {
            return Err(PyValueError::new_err("the plan has several analyses"));
        };
        Ok(job)
    }

    /// Returns the plan of these jobs, with serialised transforms, which jobs with the same ones share.
    fn of(jobs: Vec<(Job, Option<Vec<u8>>)>) -> PyResult<Self> {
        if jobs.is_empty() {
            return Err(PyValueError::new_err("there are no analyses"));
        }
        let mut known: Vec<(Vec<u8>, Arc<ChainTransform>)> = Vec::new();
        let with_transforms = |(job, bytes): (Job, Option<Vec<u8>>)| {
            let Some(bytes) = bytes else { return Ok(job) };
            let same = known.iter().find(|(other, _)| *other == bytes).cloned();
            let transforms = match same {
                Some(transforms) => transforms,
                None => {
                    let transform = of_chain(&from_bytes(&bytes)?);
                    known.push((bytes.clone(), Arc::clone(&transform)));
                    (bytes, transform)
                }
            };
            Ok(Job { transforms: Some(transforms), ..job })
        };
        Ok(Plan { jobs: jobs.into_iter().map(with_transforms).collect::<PyResult<_>>()? })
    }

    pub(crate) fn first_pass(&self, n_atoms: usize) -> Result<JointPass, Error> {
        if let [job @ Job { transforms: None, .. }] = &self.jobs[..] {
            return Ok(job.first_pass(n_atoms)?.into());
        }
        let pass = |job: &Job| {
            let transform = job.transforms.as_ref().map(|(_, transform)| Arc::clone(transform));
            Ok((transform, job.first_pass(n_atoms)?))
        };
        JointPass::of(self.jobs.iter().map(pass).collect::<Result<_, Error>>()?)
    }
}
