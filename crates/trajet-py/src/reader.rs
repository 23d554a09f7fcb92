//! An open trajectory, seen from Python.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use numpy::{PyArray1, PyReadonlyArray1, PyReadwriteArray3};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use trajet_io::{Chain, Field, FrameMeta, Meter, OpenOptions, Scratch, Wanted};

use crate::arrays::{PyFrames, atoms, cells, turned};
use crate::control::FromPython;
use crate::error::from_io;
use crate::h5md::PyDescription;
use crate::parts::to_bytes;

/// Atoms read between two looks for Ctrl-C: some tens of milliseconds.
const ATOMS_BETWEEN_SIGNALS: usize = 4_000_000;
/// The same for frames of few atoms.
const FRAMES_BETWEEN_SIGNALS: usize = 20_000;

/// An open trajectory. See `_trajet.pyi`.
#[pyclass(frozen, module = "trajet._trajet")]
pub(crate) struct Reader {
    pub(crate) inner: Chain,
    options: OpenOptions,
    /// Memory of reads that have ended, for the next ones; one for each read at the same time.
    spare: Mutex<Vec<Scratch>>,
}

#[pymethods]
impl Reader {
    #[new]
    #[pyo3(signature = (paths, *, continuous, allow_truncated_tail, request_size, sidecar, rebuild_index, cache, threads, progress, described))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        paths: Vec<PathBuf>,
        continuous: bool,
        allow_truncated_tail: bool,
        request_size: usize,
        sidecar: bool,
        rebuild_index: bool,
        cache: Option<PathBuf>,
        threads: usize,
        progress: Option<Py<PyAny>>,
        described: HashMap<PathBuf, PyDescription<'_>>,
    ) -> PyResult<Self> {
        if paths.is_empty() {
            return Err(PyValueError::new_err("a trajectory has at least one file"));
        }
        let described = described.into_iter().map(|(path, d)| Ok((path, d.to_description()?)));
        let options = OpenOptions {
            described: Arc::new(described.collect::<PyResult<_>>()?),
            allow_truncated_tail,
            request_size,
            sidecar,
            rebuild_index,
            cache,
            continuous,
            ..OpenOptions::default()
        };
        let mut control = FromPython::new(progress);
        let opened = py.detach(|| trajet_engine::open(&paths, &options, threads, &mut control));
        control.check()?;
        let inner = opened.map_err(|error| from_io(py, &error))?;
        Ok(Reader { inner, options, spare: Mutex::default() })
    }

    /// What workers in other processes are told once.
    fn outline<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let outline = self.inner.outline(&self.options).map_err(|error| from_io(py, &error))?;
        Ok(PyBytes::new(py, &to_bytes(&outline)?))
    }

    #[getter]
    fn format(&self) -> String {
        self.inner.format()
    }

    #[getter]
    fn n_frames(&self) -> usize {
        self.inner.n_frames()
    }

    #[getter]
    fn n_atoms(&self) -> usize {
        self.inner.n_atoms()
    }

    #[getter]
    fn size(&self) -> u64 {
        self.inner.size()
    }

    #[getter]
    fn remarks(&self) -> Vec<String> {
        self.inner.remarks()
    }

    /// Of these the ones on how files follow one another.
    #[getter]
    fn chain_remarks(&self) -> Vec<String> {
        self.inner.chain_remarks().to_vec()
    }

    #[getter]
    fn truncated_tail(&self) -> u64 {
        self.inner.truncated_tail()
    }

    #[getter]
    fn index_state(&self) -> &'static str {
        self.inner.opening().state.name()
    }

    /// What is known of each file, in the order of their frames.
    fn segments<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for segment in self.inner.segments() {
            let reader = &segment.reader;
            let dict = PyDict::new(py);
            dict.set_item("path", reader.source().path())?;
            dict.set_item("format", reader.format())?;
            dict.set_item("size", reader.source().size())?;
            dict.set_item("digest", reader.stamp().digest())?;
            dict.set_item("n_atoms", reader.index().n_atoms())?;
            dict.set_item("n_frames", reader.index().n_frames())?;
            dict.set_item("dropped_frames", segment.dropped)?;
            dict.set_item("truncated_tail", reader.truncated_tail())?;
            dict.set_item("remarks", reader.remarks())?;
            dict.set_item("index_path", reader.opening().sidecar.as_deref())?;
            list.append(dict)?;
        }
        Ok(list)
    }

    /// What opening cost, as a dictionary.
    fn opening<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let opening = self.inner.opening();
        let dict = PyDict::new(py);
        dict.set_item("t_open", opening.open_ns as f64 / 1e9)?;
        dict.set_item("t_index", opening.index_ns as f64 / 1e9)?;
        dict.set_item("opens", opening.meter.opens)?;
        dict.set_item("requests", opening.meter.requests)?;
        dict.set_item("bytes_read", opening.meter.bytes_read)?;
        dict.set_item("index", opening.state.name())?;
        Ok(dict)
    }

    /// Times of all frames, ps.
    fn times<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.inner.times())
    }

    /// Integration steps of all frames.
    fn steps<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        PyArray1::from_slice(py, &self.inner.steps())
    }

    /// Where each frame begins in its file, bytes.
    fn offsets<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        PyArray1::from_slice(py, &self.inner.offsets())
    }

    /// Fills `out` with "positions", "velocities" or "forces"; returns times, steps, cells and counts.
    #[pyo3(signature = (frames, atoms_wanted, out, field))]
    fn read<'py>(
        &self,
        py: Python<'py>,
        frames: PyFrames<'py>,
        atoms_wanted: Option<PyReadonlyArray1<'py, i64>>,
        mut out: PyReadwriteArray3<'py, f32>,
        field: &str,
    ) -> PyResult<Bound<'py, PyDict>> {
        let field = match field {
            "positions" => Field::Positions,
            "velocities" => Field::Velocities,
            "forces" => Field::Forces,
            other => return Err(PyValueError::new_err(format!("frames have no {other}"))),
        };
        let frames = frames.to_frames();
        let raised = |error: trajet_io::Error| from_io(py, &error);
        let wanted = atoms(atoms_wanted, self.inner.n_atoms()).map_err(raised)?;
        let vectors =
            out.as_slice_mut().map_err(|_| PyValueError::new_err("out is not C-contiguous"))?;
        let frame_len = wanted.len() * 3;
        if vectors.len() != frames.len() * frame_len {
            return Err(PyValueError::new_err("out has another size than frames x atoms x 3"));
        }
        let stride = ATOMS_BETWEEN_SIGNALS / self.inner.n_atoms();
        let stride = stride.clamp(1, FRAMES_BETWEEN_SIGNALS);
        let mut scratch = self.spare().pop().unwrap_or_default().renewed();
        let mut meta = FrameMeta::default();
        let wanted = Wanted { frames: &frames, atoms: &wanted, field };
        let mut at = 0;
        while at < frames.len() {
            let end = (at + stride).min(frames.len());
            let here = &mut vectors[at * frame_len..end * frame_len];
            py.detach(|| self.inner.read_into(&wanted, at..end, &mut scratch, here, &mut meta))
                .map_err(raised)?;
            py.check_signals()?;
            at = end;
        }
        let dict = PyDict::new(py);
        dict.set_item("times", PyArray1::from_vec(py, meta.times))?;
        dict.set_item("steps", PyArray1::from_vec(py, meta.steps))?;
        dict.set_item("cells", cells(py, &meta.cells)?)?;
        dict.set_item("turned", turned(py, &meta.turned)?)?;
        dict.set_item("counts", counts(py, &scratch.meter)?)?;
        self.spare().push(scratch);
        Ok(dict)
    }
}

impl Reader {
    /// The spare memory; a panic while it was held left it whole.
    fn spare(&self) -> MutexGuard<'_, Vec<Scratch>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A meter's counts as a dictionary.
pub(crate) fn counts<'py>(py: Python<'py>, meter: &Meter) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("requests", meter.requests)?;
    dict.set_item("opens", meter.opens)?;
    dict.set_item("bytes_read", meter.bytes_read)?;
    dict.set_item("bytes_used", meter.bytes_used)?;
    dict.set_item("frames", meter.frames)?;
    dict.set_item("empty_frames", meter.empty_frames)?;
    dict.set_item("atoms_decoded", meter.atoms_decoded)?;
    Ok(dict)
}
