//! Names of temporary files, and removal of those of dead processes.

use std::path::PathBuf;

use pyo3::prelude::*;

/// Returns the part of names that identifies this process.
#[pyfunction]
pub(crate) fn process_mark() -> String {
    trajet_files::leftovers::owner()
}

/// Returns a name for a temporary file in a folder; the first call for a folder removes leftovers there.
#[pyfunction]
pub(crate) fn temporary_name(py: Python<'_>, folder: PathBuf) -> String {
    py.detach(|| trajet_files::leftovers::temporary_name(&folder))
}

/// Removes temporary files and folders of dead processes in a folder. Returns their number.
#[pyfunction]
pub(crate) fn remove_leftovers(py: Python<'_>, folder: PathBuf) -> usize {
    py.detach(|| trajet_files::leftovers::remove_leftovers(&folder))
}
