//! The file that keeps a topology which takes long to parse.

use std::path::PathBuf;

use pyo3::prelude::*;
use trajet_files::topology_sidecar::TopologySidecar as Native;

use crate::topology::StructureFile;

/// The sidecar of a topology file. It is never an error: what cannot be read or written is None.
#[pyclass(frozen, module = "trajet._trajet", name = "TopologySidecar")]
pub(crate) struct TopologySidecar {
    native: Native,
}

#[pymethods]
impl TopologySidecar {
    /// Returns the sidecar of a file as the program `by` (name and version) parses it: beside the file, unless `beside`
    /// is false, or in the folder `cache`. None if the file cannot have one. The whole file is read and digested.
    #[staticmethod]
    #[pyo3(signature = (path, by, *, beside, cache))]
    fn of(
        py: Python<'_>,
        path: PathBuf,
        by: &str,
        beside: bool,
        cache: Option<PathBuf>,
    ) -> Option<Self> {
        let native = py.detach(|| Native::of(&path, by, beside, cache.as_deref()))?;
        Some(TopologySidecar { native })
    }

    /// Returns what is kept; None if it is not of this file and program, damaged or not trusted.
    fn load(&self, py: Python<'_>) -> Option<StructureFile> {
        py.detach(|| self.native.load()).map(StructureFile::new)
    }

    /// Keeps the content of the file, and returns where; None if that is not possible, or the file has changed.
    fn save(&self, py: Python<'_>, content: &StructureFile) -> Option<PathBuf> {
        let structure = content.structure();
        py.detach(|| self.native.save(&structure))
    }
}
