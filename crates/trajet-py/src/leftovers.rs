//! Files of outputs, names of temporary files, and removal of those of dead processes.

use std::fs::File;
use std::path::PathBuf;

use pyo3::prelude::*;
use trajet_files::{UnpublishedFile, create_beside, publish};

use crate::error::from_io;

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

/// Kills the child processes but `spared`, removes files and folders, and ends this process.
///
/// No other thread of Python runs meanwhile, which could start a process or make a file again: Python's lock is kept.
/// `by_signal`: the signal by which the process ends, `code` is its exit code otherwise.
#[pyfunction]
pub(crate) fn end_process(
    py: Python<'_>,
    unfinished: Vec<PathBuf>,
    spared: Option<i32>,
    by_signal: Option<i32>,
    code: i32,
) -> PyResult<()> {
    trajet_files::leftovers::kill_children(spared);
    trajet_files::leftovers::remove_all(&unfinished);
    let os = py.import("os")?;
    if let Some(number) = by_signal {
        os.call_method1("kill", (std::process::id(), number))?;
    }
    os.call_method1("_exit", (code,)).map(drop)
}

/// Returns where the file of an output is: see `trajet_files::destination`.
#[pyfunction]
pub(crate) fn destination(py: Python<'_>, path: PathBuf) -> PyResult<PathBuf> {
    Ok(py.detach(|| trajet_files::destination(&path))?)
}

/// Creates the empty file `beside`, with the permissions of the file at `place`.
#[pyfunction]
pub(crate) fn create_file_beside(py: Python<'_>, beside: PathBuf, place: PathBuf) -> PyResult<()> {
    Ok(py.detach(|| create_beside(&beside, &place).map(drop))?)
}

/// Renames the complete file `beside` to `place`; `path` is its name in messages.
#[pyfunction]
#[pyo3(signature = (path, place, beside, *, force))]
pub(crate) fn publish_file(
    py: Python<'_>,
    path: PathBuf,
    place: PathBuf,
    beside: PathBuf,
    force: bool,
) -> PyResult<()> {
    py.detach(|| {
        let opened = File::open(&beside)
            .map_err(|source| trajet_files::Error::Unwritable { path: path.clone(), source })?;
        publish(vec![UnpublishedFile::new(&path, place, (beside, opened), force)])
    })
    .map_err(|error| from_io(py, &error))
}
