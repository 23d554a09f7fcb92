//! Bindings for cursors: one frame at a time.

use std::sync::{Arc, Mutex};

use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadwriteArray2};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use trajet_engine::cursor::Cursor;
use trajet_engine::run::lock;
use trajet_files::{Error, FrameFields};
use trajet_formats::{Field, NO_ORIGIN};

use crate::aligned::Aligned1;
use crate::arrays::{atoms, boundaries_of};
use crate::error::from_io;
use crate::reader::Reader;
use crate::report::counts;

/// Time, step, cell, box vectors of a rotated box, boundaries, corner of the cell unless it is zero, and which of positions,
/// velocities and forces the frame has.
type PyFrame<'py> = (
    f64,
    i64,
    Bound<'py, PyArray1<f64>>,
    Option<Bound<'py, PyArray1<f64>>>,
    Bound<'py, PyArray1<bool>>,
    Option<Bound<'py, PyArray1<f64>>>,
    (bool, bool, bool),
);

/// Reads one frame at a time. See `_trajet.pyi`.
#[pyclass(frozen, module = "trajet._trajet", name = "Cursor")]
pub(crate) struct PyCursor {
    inner: Mutex<Cursor>,
    reader: Py<Reader>,
}

#[pymethods]
impl PyCursor {
    #[new]
    #[pyo3(signature = (reader, atoms_wanted, *, positions, velocities, forces, reads_ahead))]
    fn new(
        reader: &Bound<'_, Reader>,
        atoms_wanted: Option<Aligned1<'_, i64>>,
        positions: bool,
        velocities: bool,
        forces: bool,
        reads_ahead: bool,
    ) -> PyResult<Self> {
        let (py, chain) = (reader.py(), &reader.get().inner);
        let wanted = atoms(atoms_wanted, chain.n_atoms()).map_err(|error| from_io(py, &error))?;
        let wanted_fields = [positions, velocities, forces];
        let fields = Field::ALL.into_iter().zip(wanted_fields).filter(|(_, wanted)| *wanted);
        let fields: Vec<Field> = fields.map(|(field, _)| field).collect();
        let cursor = Cursor::new(Arc::clone(chain), wanted, &fields, reads_ahead);
        Ok(PyCursor { inner: Mutex::new(cursor), reader: reader.clone().unbind() })
    }

    /// Fills the arrays of the requested fields with a frame.
    #[pyo3(signature = (frame, *outs))]
    fn read<'py>(
        &self,
        py: Python<'py>,
        frame: u64,
        outs: Vec<Bound<'py, PyArray2<f32>>>,
    ) -> PyResult<PyFrame<'py>> {
        let mut outs = outs.iter().map(borrowed).collect::<PyResult<Vec<_>>>()?;
        let mut slices = Vec::with_capacity(outs.len());
        for out in &mut outs {
            let slice = out.as_slice_mut();
            slices.push(slice.map_err(|_| PyValueError::new_err("an array is not C-contiguous"))?);
        }
        let mut raised = None;
        let read = py.detach(|| {
            let mut cursor = lock(&self.inner);
            let len = cursor.n_atoms() * 3;
            if slices.len() != cursor.fields().len() || slices.iter().any(|out| out.len() != len) {
                raised = Some(PyValueError::new_err("arrays of other sizes than fields and atoms"));
                return Err(Error::Interrupted);
            }
            cursor.read(frame, &mut slices, &mut || {
                raised = Python::attach(|py| py.check_signals()).err();
                raised.is_some()
            })
        });
        if let Some(raised) = raised {
            return Err(raised);
        }
        let FrameFields { info, present } = read.map_err(|error| from_io(py, &error))?;
        // Cells do not determine the orientation of box vectors, nor their last bits.
        let vectors = info.turned.or_else(|| self.reader.get().inner.known_box(frame));
        Ok((
            info.time,
            info.step,
            PyArray1::from_slice(py, &info.cell),
            vectors.map(|vectors| PyArray1::from_slice(py, &vectors)),
            PyArray1::from_slice(py, &boundaries_of(info.periodic, &info.cell)),
            (info.origin != NO_ORIGIN).then(|| PyArray1::from_slice(py, &info.origin)),
            present.into(),
        ))
    }

    /// Returns the counts of all reads so far, and how many frames had been read ahead.
    fn counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (meter, ahead) = py.detach(|| {
            let cursor = lock(&self.inner);
            (cursor.meter(), cursor.n_ahead())
        });
        let dict = counts(py, &meter)?;
        dict.set_item("frames_ahead", ahead)?;
        Ok(dict)
    }

    /// Pauses reading ahead, unless another thread reads a frame.
    fn pause(&self, py: Python<'_>) {
        py.detach(|| {
            if let Ok(mut cursor) = self.inner.try_lock() {
                cursor.pause();
            }
        });
    }

    /// Ends the thread that reads ahead.
    fn stop(&self, py: Python<'_>) {
        py.detach(|| lock(&self.inner).stop());
    }
}

/// Returns an array for writing.
fn borrowed<'py>(array: &Bound<'py, PyArray2<f32>>) -> PyResult<PyReadwriteArray2<'py, f32>> {
    array.try_readwrite().map_err(|error| {
        PyRuntimeError::new_err(format!(
            "a frame cannot be read into this array ({error}): if another thread reads at this \
             moment, give each thread a cursor of its own (u.copy() of a Universe)"
        ))
    })
}
