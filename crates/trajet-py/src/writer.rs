//! Python bindings for writing frames of the caller.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use numpy::PyUntypedArrayMethods;
use numpy::ndarray::ArrayView1;
use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::prelude::*;
use trajet_convert::{GivenFrame, Writer};
use trajet_formats::{NO_ORIGIN, PERIODIC, Raw, Snapshot, memory, trr};

use crate::aligned::{Aligned1, Aligned2, Aligned3};
use crate::convert::{PyWriteOptions, format_of};
use crate::error::from_io;
use crate::messages::{PyMessage, to_python};

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
    periodic: Option<Aligned2<'py, bool>>,
    origins: Option<Aligned2<'py, f64>>,
}

/// Frames in the units of GROMACS; see `GromacsFrames` of `trajet.mdanalysis.block_writer`.
#[derive(FromPyObject)]
pub(crate) struct GromacsFrames<'py> {
    n_atoms: usize,
    times: Aligned1<'py, f64>,
    steps: Aligned1<'py, i64>,
    lambdas: Aligned1<'py, f64>,
    vectors: Aligned3<'py, f32>,
    positions: Option<Aligned3<'py, f32>>,
    velocities: Option<Aligned3<'py, f32>>,
    forces: Option<Aligned3<'py, f32>>,
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
        self.write(py, &snapshots(py, &block)?, threads)
    }

    /// Appends frames in the units of GROMACS to a file of one of its formats, bit for bit.
    #[pyo3(signature = (frames, *, threads))]
    fn append_gromacs(
        &self,
        py: Python<'_>,
        frames: GromacsFrames<'_>,
        threads: usize,
    ) -> PyResult<()> {
        self.write(py, &raw_frames(py, &frames)?, threads)
    }

    /// Has the file kept if this process is killed.
    fn keep_if_killed(&self) {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(writer) = writer.as_mut() {
            writer.keep_if_killed();
        }
    }

    /// Leaves the unfinished file where it is, and returns its path; None if it has no frame.
    fn keep(&self) -> Option<PathBuf> {
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        writer.and_then(Writer::keep)
    }

    /// Writes all frames to the disk.
    fn sync(&self, py: Python<'_>) -> PyResult<()> {
        self.with_writer(py, Writer::sync)
    }

    /// Completes the file. Returns its size in bytes, and messages.
    fn finish(&self, py: Python<'_>) -> PyResult<(u64, Vec<PyMessage>)> {
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        let writer = writer.ok_or_else(closed)?;
        let (len, messages) = py.detach(|| writer.finish()).map_err(|error| from_io(py, &error))?;
        Ok((len, to_python(messages)))
    }

    /// Removes the file, unless it is complete.
    fn discard(&self) {
        drop(self.writer.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

impl PyWriter {
    fn write(&self, py: Python<'_>, frames: &[GivenFrame], threads: usize) -> PyResult<()> {
        self.with_writer(py, |writer| writer.append(frames, threads))
    }

    fn with_writer(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Writer) -> Result<(), trajet_files::Error> + Send,
    ) -> PyResult<()> {
        let done = py.detach(|| {
            self.writer.lock().unwrap_or_else(PoisonError::into_inner).as_mut().map(work)
        });
        done.ok_or_else(closed)?.map_err(|error| from_io(py, &error))
    }
}

fn closed() -> PyErr {
    PyValueError::new_err("the file was completed or removed already")
}

/// Returns the frames of a block.
fn snapshots(py: Python<'_>, block: &Frames<'_>) -> PyResult<Vec<GivenFrame>> {
    let &[n_frames, n_atoms, 3] = block.positions.shape() else {
        return Err(PyValueError::new_err("positions must be (n_frames, n_atoms, 3)"));
    };
    let fields = [Some(&block.positions), block.velocities.as_ref(), block.forces.as_ref()];
    let is_like = |field: &Aligned3<'_, f32>| field.shape() == block.positions.shape();
    let lengths = [block.times.len(), block.steps.len(), block.cells.shape()[0]];
    let fits = fields.iter().flatten().all(|field| is_like(field))
        && lengths == [n_frames; 3]
        && block.cells.shape()[1] == 6
        && block.vectors.as_ref().is_none_or(|vectors| vectors.shape() == [n_frames, 3, 3])
        && block.periodic.as_ref().is_none_or(|periodic| periodic.shape() == [n_frames, 3])
        && block.origins.as_ref().is_none_or(|origins| origins.shape() == [n_frames, 3]);
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
        let periodic = block.periodic.as_ref().map_or(PERIODIC, |periodic| {
            let periodic = periodic.as_array();
            [0, 1, 2].map(|i| periodic[[k, i]])
        });
        let origin = block.origins.as_ref().map_or(NO_ORIGIN, |origins| {
            let origins = origins.as_array();
            [0, 1, 2].map(|i| origins[[k, i]])
        });
        GivenFrame::Snapshot(Snapshot {
            n_atoms,
            time: times[k],
            step: steps[k],
            cell,
            vectors,
            periodic,
            origin,
            positions: rows(fields[0], k),
            velocities: rows(fields[1], k),
            forces: rows(fields[2], k),
            ..Snapshot::default()
        })
    };
    Ok((0..n_frames).map(frame).collect())
}

/// Returns frames in the units of GROMACS.
fn raw_frames(py: Python<'_>, given: &GromacsFrames<'_>) -> PyResult<Vec<GivenFrame>> {
    let (n_frames, n_atoms) = (given.times.len(), given.n_atoms);
    let fields = [given.positions.as_ref(), given.velocities.as_ref(), given.forces.as_ref()];
    let fits = fields.iter().flatten().all(|field| field.shape() == [n_frames, n_atoms, 3])
        && [given.steps.len(), given.lambdas.len()] == [n_frames; 2]
        && given.vectors.shape() == [n_frames, 3, 3];
    if !fits {
        return Err(PyValueError::new_err("the arrays of a block have different lengths"));
    }
    let n = fields.iter().flatten().count();
    memory::ask(n.saturating_mul(n_frames * n_atoms * 12), "the frames of a block")
        .map_err(|refused| from_io(py, &refused.into()))?;
    let (times, steps, lambdas) =
        (given.times.as_array(), given.steps.as_array(), given.lambdas.as_array());
    let numbers = |field: &Aligned3<'_, f32>, k: usize| {
        let of_all = field.as_array();
        let of_frame = of_all.index_axis(numpy::ndarray::Axis(0), k);
        trr::Reals::Single(of_frame.iter().copied().collect())
    };
    let frame = |k: usize| {
        let step = i32::try_from(steps[k])
            .map_err(|_| PyOverflowError::new_err("a step needs more than 32 bits"))?;
        let [positions, velocities, forces] = fields.map(|field| Some(numbers(field?, k)));
        let frame = trr::Frame {
            n_atoms,
            double: false,
            step,
            time: times[k],
            lambda: lambdas[k],
            vectors: Some(numbers(&given.vectors, k)),
            virial: None,
            pressure: None,
            positions,
            velocities,
            forces,
        };
        Ok(GivenFrame::Raw(Raw::Trr(frame), times[k], steps[k]))
    };
    (0..n_frames).map(frame).collect()
}
