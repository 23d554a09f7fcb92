//! Copies of trajectories, seen from Python.

use std::path::PathBuf;

use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use trajet_engine::run::convert::Request;
use trajet_io::{Format, WriteOptions};

use crate::arrays::{PyFrames, atoms};
use crate::control::FromPython;
use crate::error::{from_io, from_run};
use crate::reader::Reader;
use crate::run::report_dict;

/// Writes frames to a file of the format that its ending names; returns bytes, remarks and report.
#[pyfunction]
#[pyo3(signature = (reader, frames, atoms_wanted, path, *, precision, double, velocities, forces, allow_loss, force, threads, progress))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn convert<'py>(
    py: Python<'py>,
    reader: &Reader,
    frames: PyFrames<'py>,
    atoms_wanted: Option<PyReadonlyArray1<'py, i64>>,
    path: PathBuf,
    precision: Option<f32>,
    double: Option<bool>,
    velocities: bool,
    forces: bool,
    allow_loss: bool,
    force: bool,
    threads: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<(u64, Vec<String>, Bound<'py, PyDict>)> {
    let frames = frames.to_frames();
    let wanted = atoms(atoms_wanted, reader.inner.n_atoms()).map_err(|e| from_io(py, &e))?;
    let format = Format::of(&path).ok_or_else(|| {
        let path = path.display();
        PyValueError::new_err(format!("{path}: the ending of an output is .xtc, .trr, .dcd or .nc"))
    })?;
    let options = WriteOptions { precision, double, velocities, forces, allow_loss };
    let request =
        Request { frames: &frames, atoms: &wanted, path: &path, format, options: &options, force };
    let mut control = FromPython::new(progress);
    let done = py.detach(|| trajet_engine::convert(&reader.inner, &request, threads, &mut control));
    control.check()?;
    let done = done.map_err(|error| from_run(py, &error))?;
    Ok((done.bytes, done.remarks, report_dict(py, &done.report)?))
}
