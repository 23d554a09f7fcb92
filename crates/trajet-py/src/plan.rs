//! Plans of analyses.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use trajet_engine::{AnalysisSpec, Pass};
use trajet_files::Error;
use trajet_formats::memory;

use crate::apply::{Apply, Arguments, Raised};
use crate::arguments::{WHAT, array_bytes, from_arguments};

/// A plan of an analysis, independent of the trajectory and the frames. See `_trajet.pyi`.
#[pyclass(frozen, module = "trajet._trajet")]
pub(crate) struct Plan {
    spec: Spec,
    /// Bytes of its arrays. The memory of a Python function is unknown.
    bytes: usize,
}

enum Spec {
    Native(AnalysisSpec),
    Apply(Apply),
}

#[pymethods]
impl Plan {
    /// Returns the plan of an analysis by its name and its parameters, the fields of its `Request` in the engine.
    #[new]
    fn new(analysis: &str, arguments: &Bound<'_, PyAny>) -> PyResult<Self> {
        if analysis == "apply" {
            let apply = arguments.extract::<Arguments<'_>>()?.try_into()?;
            return Ok(Plan { spec: Spec::Apply(apply), bytes: 0 });
        }
        let spec: AnalysisSpec = from_arguments(analysis, arguments)?;
        spec.check().map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Plan { spec: Spec::Native(spec), bytes: array_bytes(arguments)? })
    }
}

impl Plan {
    pub(crate) fn first_pass(&self, n_atoms: usize) -> Result<Pass, Error> {
        // Estimate for copies of the parameters in double precision, maps of atoms to columns, and references stored by
        // axis.
        memory::ask(self.bytes.saturating_mul(12), WHAT)?;
        match &self.spec {
            Spec::Native(spec) => spec.clone().plan(n_atoms),
            Spec::Apply(apply) => apply.first_pass(n_atoms),
        }
    }

    /// Returns the exception slot of the plan's Python functions.
    pub(crate) fn raised(&self) -> Raised {
        match &self.spec {
            Spec::Native(_) => Raised::default(),
            Spec::Apply(apply) => apply.raised().clone(),
        }
    }
}
