//! Python bindings for copying trajectories.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use trajet_convert::{OutputPiece, Request, convert_piece, join};
use trajet_formats::{AtomColumns, Format, Loss, Losses, WriteOptions};

use crate::aligned::Aligned1;
use crate::arrays::{PyFrames, atoms};
use crate::control::FromPython;
use crate::error::{from_io, from_run};
use crate::messages::{PyMessage, to_python};
use crate::reader::Reader;
use crate::report::{PyLoss, of_loss, report_dict};

/// Size in bytes, messages, losses and report of an output.
type OutputSummary<'py> = (u64, Vec<PyMessage>, Vec<PyLoss>, Bound<'py, PyDict>);

/// Options for writing; see `OutputOptions` of `trajet.conversion`.
#[derive(FromPyObject)]
pub(crate) struct PyWriteOptions {
    precision: Option<f32>,
    double: Option<bool>,
    velocities: bool,
    forces: bool,
    without_cells: bool,
    without_time: bool,
    atoms: Option<(String, Vec<String>)>,
    allow_loss: bool,
    of_source: Vec<PyMessage>,
}

impl PyWriteOptions {
    pub(crate) fn options(self) -> WriteOptions {
        let PyWriteOptions {
            precision,
            double,
            velocities,
            forces,
            without_cells,
            without_time,
            atoms,
            allow_loss,
            of_source,
        } = self;
        let atoms = atoms.map(|(names, words)| Arc::new(AtomColumns { names, words }));
        let of_source = of_source.into_iter().map(|PyMessage(message)| message).collect();
        WriteOptions {
            precision,
            double,
            velocities,
            forces,
            without_cells,
            without_time,
            atoms,
            allow_loss,
            of_source,
        }
    }
}

/// The output that a piece belongs to; see `trajet_convert::OutputPiece`.
#[derive(FromPyObject)]
pub(crate) struct Within<'py> {
    head: u64,
    begin: usize,
    times: Aligned1<'py, f64>,
    steps: Aligned1<'py, i64>,
}

/// Returns the format for the suffix of a path.
pub(crate) fn format_of(path: &Path) -> PyResult<Format> {
    Format::of(path).ok_or_else(|| {
        let path = path.display();
        PyValueError::new_err(format!("{path}: the ending of an output is .xtc, .trr, .dcd or .nc"))
    })
}

/// Writes frames to files, all or none, in the formats of their suffixes. `within` is set if the file is a piece of an
/// output.
#[pyfunction]
#[pyo3(signature = (reader, parts, atoms_wanted, how, *, force, threads, progress, within=None))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn convert<'py>(
    py: Python<'py>,
    reader: &Reader,
    parts: Vec<(PathBuf, PyFrames<'py>)>,
    atoms_wanted: Option<Aligned1<'py, i64>>,
    how: PyWriteOptions,
    force: bool,
    threads: usize,
    progress: Option<Py<PyAny>>,
    within: Option<Within<'py>>,
) -> PyResult<Vec<OutputSummary<'py>>> {
    let selected = atoms(atoms_wanted, reader.inner.n_atoms()).map_err(|e| from_io(py, &e))?;
    let options = how.options();
    let parts: Vec<_> =
        parts.into_iter().map(|(path, frames)| (path, frames.to_frames())).collect();
    let mut requests = Vec::with_capacity(parts.len());
    for (path, frames) in &parts {
        let (atoms, options, format) = (&selected, &options, format_of(path)?);
        requests.push(Request { frames, atoms, path, format, options, force });
    }
    let mut control = FromPython::new(progress);
    let done = match &within {
        None => {
            py.detach(|| trajet_convert::split(&reader.inner, &requests, threads, &mut control))
        }
        Some(within) => {
            let (times, steps) = (within.times.as_slice()?, within.steps.as_slice()?);
            let &Within { head, begin, .. } = within;
            let piece = OutputPiece { head, begin, times, steps };
            let [request] = &requests[..] else {
                return Err(PyValueError::new_err("a piece of an output is exactly one file"));
            };
            let write = || convert_piece(&reader.inner, request, piece, threads, &mut control);
            py.detach(write).map(|one| vec![one])
        }
    };
    control.check()?;
    let done = done.map_err(|error| from_run(py, &error))?;
    done.into_iter()
        .map(|one| {
            let losses = one.losses.list().iter().cloned().map(of_loss).collect();
            Ok((one.bytes, to_python(one.messages), losses, report_dict(py, &one.report)?))
        })
        .collect()
}

/// Joins the pieces of an output and removes them. Returns the output's size in bytes, and messages, which count the
/// losses of all pieces.
#[pyfunction]
#[pyo3(signature = (reader, part, atoms_wanted, how, pieces, losses, *, force, progress))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn join_pieces<'py>(
    py: Python<'py>,
    reader: &Reader,
    part: (PathBuf, PyFrames<'py>),
    atoms_wanted: Option<Aligned1<'py, i64>>,
    how: PyWriteOptions,
    pieces: Vec<(PathBuf, u64)>,
    losses: Vec<PyLoss>,
    force: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<(u64, Vec<PyMessage>)> {
    let selected = atoms(atoms_wanted, reader.inner.n_atoms()).map_err(|e| from_io(py, &e))?;
    let (path, options) = (&part.0, &how.options());
    let (frames, format) = (&part.1.to_frames(), format_of(path)?);
    let request = Request { frames, atoms: &selected, path, format, options, force };
    let mut control = FromPython::new(progress);
    let loss = |(kind, what, frames, first)| Loss { kind, what, frames, first };
    let losses = Losses::new(losses.into_iter().map(loss).collect());
    let done = py.detach(|| join(&reader.inner, &request, &pieces, &losses, &mut control));
    control.check()?;
    let (len, messages) = done.map_err(|error| from_run(py, &error))?;
    Ok((len, to_python(messages)))
}
