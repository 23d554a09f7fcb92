//! Python bindings for writing frames of the caller.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use numpy::PyUntypedArrayMethods;
use numpy::ndarray::ArrayView1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use trajet_convert::Writer;
use trajet_formats::{Snapshot, memory};

use crate::aligned::{Aligned1, Aligned2, Aligned3};
use crate::convert::{PyWriteOptions, format_of};
use crate::error::from_io;

/// A trajectory file that is written block by block. See `_trajet.pyi`.
#[pyclass(frozen, module = "trajet._trajet", name = "TrajectoryWriter")]
pub(crate) struct PyWriter {
    writer: Mutex<Option<Writer>>,
}

/// A block of frames; see `Block` of `trajet.trajectory`.
#[derive(FromPyObject)]
pub(crate) struct Frames<'py> {
    positions: Aligned3<'py, f32>,
    times: Aligned1<'py, f64>,
    steps: Aligned1<'py, i64>,
    cells: Aligned2<'py, f64>,
    velocities: Option<Aligned3<'py, f32>>,
    forces: Option<Aligned3<'py, f32>>,
    vectors: Option<Aligned3<'py, f64>>,
}

#[pymethods]
impl PyWriter {
    /// Begins a file in the format of its suffix. `times` and `steps` are those of all frames, or empty if they are not
    /// known yet.
    #[new]
    #[pyo3(signature = (path, how, times, steps, *, force))]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        how: PyWriteOptions,
        times: Aligned1<'_, f64>,
        steps: Aligned1<'_, i64>,
        force: bool,
    ) -> PyResult<Self> {
        let (format, options) = (format_of(&path)?, how.options());
        let expected = (times.as_array().to_vec(), steps.as_array().to_vec());
        let writer = py.detach(|| Writer::begin(&path, format, options, force, expected));
        let writer = writer.map_err(|error| from_io(py, &error))?;
        Ok(PyWriter { writer: Mutex::new(Some(writer)) })
    }

    /// Appends the frames of a block.
    #[pyo3(signature = (block, *, threads))]
    fn append(&self, py: Python<'_>, block: Frames<'_>, threads: usize) -> PyResult<()> {
        let frames = snapshots(py, &block)?;
        let done = py.detach(|| {
            let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
            writer.as_mut().map(|writer| writer.append(&frames, threads))
        });
        done.ok_or_else(closed)?.map_err(|error| from_io(py, &error))
    }

    /// Completes the file. Returns its size in bytes, and remarks.
    fn finish(&self, py: Python<'_>) -> PyResult<(u64, Vec<String>)> {
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        let writer = writer.ok_or_else(closed)?;
        py.detach(|| writer.finish()).map_err(|error| from_io(py, &error))
    }

    /// Removes the file, unless it is complete.
    fn discard(&self) {
        drop(self.writer.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

fn closed() -> PyErr {
    PyValueError::new_err("the file was completed or removed already")
}

/// Returns the frames of a block.
fn snapshots(py: Python<'_>, block: &Frames<'_>) -> PyResult<Vec<Snapshot>> {
    let &[n_frames, n_atoms, 3] = block.positions.shape() else {
        return Err(PyValueError::new_err("positions must be (n_frames, n_atoms, 3)"));
    };
    let fields = [Some(&block.positions), block.velocities.as_ref(), block.forces.as_ref()];
    let is_like = |field: &Aligned3<'_, f32>| field.shape() == block.positions.shape();
    let lengths = [block.times.len(), block.steps.len(), block.cells.shape()[0]];
    let fits = fields.iter().flatten().all(|field| is_like(field))
        && lengths == [n_frames; 3]
        && block.cells.shape()[1] == 6
        && block.vectors.as_ref().is_none_or(|vectors| vectors.shape() == [n_frames, 3, 3]);
    if !fits {
        return Err(PyValueError::new_err("the arrays of a block have different lengths"));
    }
    let n = fields.iter().flatten().count();
    memory::ask(n.saturating_mul(n_frames * n_atoms * 12), "the frames of a block")
        .map_err(|refused| from_io(py, &refused.into()))?;
    let rows = |field: Option<&Aligned3<'_, f32>>, k: usize| {
        let of_frame = field?.as_array();
        let of_frame = of_frame.index_axis(numpy::ndarray::Axis(0), k);
        let row = |x: ArrayView1<'_, f32>| [x[0], x[1], x[2]];
        Some(of_frame.rows().into_iter().map(row).collect())
    };
    let (times, steps, cells) =
        (block.times.as_array(), block.steps.as_array(), block.cells.as_array());
    let frame = |k: usize| {
        let mut cell = [f64::NAN; 6];
        (0..6).for_each(|i| cell[i] = cells[[k, i]]);
        let vectors = block.vectors.as_ref().and_then(|vectors| {
            let vectors = vectors.as_array();
            let mut rows = [0.0; 9];
            (0..9).for_each(|i| rows[i] = vectors[[k, i / 3, i % 3]] / 10.0);
            (!rows[0].is_nan()).then_some(rows)
        });
        Snapshot {
            n_atoms,
            time: times[k],
            step: steps[k],
            cell,
            vectors,
            positions: rows(fields[0], k),
            velocities: rows(fields[1], k),
            forces: rows(fields[2], k),
            ..Snapshot::default()
        }
    };
    Ok((0..n_frames).map(frame).collect())
}
