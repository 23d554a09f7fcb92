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

/// Bytes, remarks and report of an output.
type Done<'py> = (u64, Vec<String>, Bound<'py, PyDict>);

/// Writes frames to files of the format that their endings name, all or none.
#[pyfunction]
#[pyo3(signature = (reader, parts, atoms_wanted, *, precision, double, velocities, forces, allow_loss, force, threads, progress))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn convert<'py>(
    py: Python<'py>,
    reader: &Reader,
    parts: Vec<(PathBuf, PyFrames<'py>)>,
    atoms_wanted: Option<PyReadonlyArray1<'py, i64>>,
    precision: Option<f32>,
    double: Option<bool>,
    velocities: bool,
    forces: bool,
    allow_loss: bool,
    force: bool,
    threads: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<Vec<Done<'py>>> {
    let wanted = atoms(atoms_wanted, reader.inner.n_atoms()).map_err(|e| from_io(py, &e))?;
    let options = WriteOptions { precision, double, velocities, forces, allow_loss };
    let parts: Vec<_> =
        parts.into_iter().map(|(path, frames)| (path, frames.to_frames())).collect();
    let mut requests = Vec::with_capacity(parts.len());
    for (path, frames) in &parts {
        let format = Format::of(path).ok_or_else(|| {
            let path = path.display();
            let message = format!("{path}: the ending of an output is .xtc, .trr, .dcd or .nc");
            PyValueError::new_err(message)
        })?;
        let (atoms, options) = (&wanted, &options);
        requests.push(Request { frames, atoms, path, format, options, force });
    }
    let mut control = FromPython::new(progress);
    let done = py.detach(|| trajet_engine::split(&reader.inner, &requests, threads, &mut control));
    control.check()?;
    let done = done.map_err(|error| from_run(py, &error))?;
    done.into_iter()
        .map(|one| Ok((one.bytes, one.remarks, report_dict(py, &one.report)?)))
        .collect()
}
