//! Bindings for transforms of positions after decoding.

use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::{Deserialize, Serialize};
use trajet_files::transform::ChainTransform;
use trajet_files::worker::WorkerSpec;
use trajet_transforms::Step;

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

/// The trajectory that worker processes open: its files, and the transforms of its frames.
#[derive(Serialize, Deserialize)]
pub(crate) struct WorkerInput {
    pub(crate) spec: WorkerSpec,
    pub(crate) transforms: Option<Arc<trajet_transforms::Transforms>>,
}

/// Returns a transform for chains.
pub(crate) fn of_chain(transforms: &Arc<trajet_transforms::Transforms>) -> Arc<ChainTransform> {
    Arc::new(ChainTransform::new(Arc::clone(transforms) as Arc<_>))
}
