//! The table of formats as Python has it, and options of single formats.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyFrozenSet, PyTuple};
use serde::Serialize;
use trajet_formats::{FORMATS, Format, FormatInfo, FormatOptions, Writing};

/// A row of the table. See `_trajet.pyi`.
#[pyclass(frozen, get_all, name = "FormatInfo", module = "trajet._trajet")]
pub(crate) struct PyFormatInfo {
    name: &'static str,
    layouts: Py<PyTuple>,
    suffixes: Py<PyTuple>,
    magic: Py<PyTuple>,
    fields: Py<PyFrozenSet>,
    declares_fields: bool,
    frame_sizes: String,
    times: String,
    frames_from: String,
    own_copy_is_complete: bool,
    write_options: Py<PyFrozenSet>,
    is_written: bool,
    copied_as: &'static str,
    has_topology: bool,
    holds_origin: bool,
}

/// Returns the name of a unit variant.
fn name_of(value: impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => name,
        _ => unreachable!("columns are enums of unit variants"),
    }
}

impl PyFormatInfo {
    fn of(py: Python<'_>, info: &FormatInfo) -> PyResult<Self> {
        let layouts = std::iter::once(&info.name).chain(info.other_layouts);
        let suffixes = info.suffixes.iter().map(|suffix| format!(".{suffix}"));
        let options = info.write_options.iter().map(name_of);
        let (is_written, copied_as) = match info.writing {
            Writing::As(other) => (false, other.name()),
            Writing::Files | Writing::Text(_) | Writing::Numbers => (true, info.name),
        };
        Ok(PyFormatInfo {
            name: info.name,
            layouts: PyTuple::new(py, layouts.collect::<Vec<_>>())?.unbind(),
            suffixes: PyTuple::new(py, suffixes)?.unbind(),
            magic: PyTuple::new(py, info.magic.iter().map(|magic| PyBytes::new(py, magic)))?
                .unbind(),
            fields: PyFrozenSet::new(py, info.fields.iter().map(name_of))?.unbind(),
            declares_fields: info.declares_fields,
            frame_sizes: name_of(info.frame_sizes),
            times: name_of(info.times),
            frames_from: name_of(info.frames_from),
            own_copy_is_complete: info.own_copy_is_complete,
            write_options: PyFrozenSet::new(py, options)?.unbind(),
            is_written,
            copied_as,
            has_topology: info.has_topology,
            holds_origin: info.holds_origin,
        })
    }
}

/// Returns all rows by the names of their formats.
pub(crate) fn table(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let table = PyDict::new(py);
    for info in &FORMATS {
        table.set_item(info.name, PyFormatInfo::of(py, info)?)?;
    }
    Ok(table)
}

/// Returns whether a file begins with the magic number of HDF5, or is cut within it.
#[pyfunction]
pub(crate) fn is_hdf5(py: Python<'_>, path: PathBuf) -> bool {
    let hdf5 = Format::of_library();
    let len = hdf5.info().magic.iter().map(|magic| magic.len()).max().unwrap_or(0);
    let mut first = Vec::new();
    // Opening a named pipe would wait for its writer. What opens the file raises its errors.
    let read = || {
        let file = path.is_file().then(|| File::open(&path).ok()).flatten()?;
        file.take(len as u64).read_to_end(&mut first).ok()
    };
    py.detach(read).is_some_and(|n| n > 0) && hdf5.may_begin_with(&first)
}

/// Parses format options, a JSON object by format.
pub(crate) fn checked_format_options(json: &str) -> PyResult<FormatOptions> {
    serde_json::from_str(json).map_err(|error| {
        let words = error.to_string();
        // The text was made of the options, so that places in it mean nothing to the user.
        let words = words.split(" at line ").next().unwrap_or_default();
        PyValueError::new_err(format!("format options: {words}"))
    })
}

/// Raises `ValueError` for format options that do not exist. See `_trajet.pyi`.
#[pyfunction]
pub(crate) fn check_format_options(json: &str) -> PyResult<()> {
    checked_format_options(json).map(drop)
}
