//! Bindings for an open trajectory.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use numpy::{PyArray1, PyArray2, PyReadwriteArray3, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use trajet_engine::report::Stages;
use trajet_engine::run::{lock, with_progress};
use trajet_files::remote::DEFAULT_CONNECTIONS;
use trajet_files::{Chain, Frames, HdfLayouts, Meter, OpenOptions, ReadRequest, Scratch, Watch};
use trajet_formats::{Atoms, Field, Format, FrameMeta, Losses, memory};
use trajet_transforms::JumpNeeds;

use crate::aligned::Aligned1;
use crate::arrays::{
    PyFrames, array, atoms, boundaries, boxes, cells, frames_dict, origins, slice_of,
};
use crate::control::{FRAMES_BETWEEN_SIGNALS, FromPython, available_threads};
use crate::error::from_io;
use crate::formats::checked_format_options;
use crate::h5md::PyDescription;
use crate::messages::{PyMessage, to_python};
use crate::remote::{path_of, remote_options};
use crate::report::{PyLoss, counts, of_loss};
use crate::serialize::to_bytes;
use crate::stored::Stored;
use crate::topology::{StructureFile, from_topology};
use crate::transforms::{Transforms, WorkerInput, of_chain};

mod filling;

/// An open trajectory. See `_trajet.pyi`.
#[pyclass(frozen, module = "trajet._trajet")]
pub(crate) struct Reader {
    pub(crate) inner: Arc<Chain>,
    /// `None` if only some of the frames are known.
    options: Option<OpenOptions>,
    /// The transforms of the chain.
    transforms: Option<Arc<trajet_transforms::Transforms>>,
    /// Counts of the reads in which jumps were counted before frames are read.
    counting: Meter,
    /// Buffers of finished reads, for reuse; one for each concurrent read.
    spare: Mutex<Vec<Scratch>>,
}

#[pymethods]
impl Reader {
    #[new]
    #[pyo3(signature = (paths, *, continuous, allow_truncated_tail, request_size, sidecar, rebuild_index, cache, threads, progress, described, format_options = "{}", time_step = None, objects = None, connections = DEFAULT_CONNECTIONS, merge_gap = None))]
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
        format_options: &str,
        time_step: Option<f64>,
        objects: Option<HashMap<PathBuf, Py<PyAny>>>,
        connections: usize,
        merge_gap: Option<u64>,
    ) -> PyResult<Self> {
        if paths.is_empty() {
            return Err(PyValueError::new_err("a trajectory has at least one file"));
        }
        let described =
            described.into_iter().map(|(path, d)| Ok((path, d.to_description()?.into())));
        let described = HdfLayouts(described.collect::<PyResult<_>>()?);
        let options = OpenOptions {
            allow_truncated_tail,
            request_size,
            sidecar,
            rebuild_index,
            cache,
            continuous,
            time_step,
            formats: checked_format_options(format_options)?,
            remote: remote_options(py, objects, connections, merge_gap)?,
            ..OpenOptions::default()
        };
        let mut control = FromPython::new(progress);
        let opened = py.detach(|| {
            trajet_engine::open_with(&paths, &options, &[&described], threads, &mut control)
        });
        control.check()?;
        let inner = opened.map_err(|error| from_io(py, &error))?;
        Ok(Reader::of(inner, options))
    }

    /// Returns the bytes from which a worker process opens the trajectory, to read these atoms.
    #[pyo3(signature = (atoms_wanted, *, secrets = false))]
    fn worker_input<'py>(
        &self,
        py: Python<'py>,
        atoms_wanted: Option<Aligned1<'py, i64>>,
        secrets: bool,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let (atoms, mut options) = (self.atoms(py, atoms_wanted)?, self.whole()?.clone());
        options.remote.worker_secrets = secrets;
        let spec = self.inner.worker_spec(&options, &atoms).map_err(|error| from_io(py, &error))?;
        let transforms = self.transforms.clone();
        Ok(PyBytes::new(py, &to_bytes(&WorkerInput { spec, transforms })?))
    }

    /// Returns what frame 0 of a file states about its atoms; `None` if the format names no atoms.
    fn first_structure(&self, py: Python<'_>, segment: usize) -> PyResult<Option<StructureFile>> {
        let segment = self.inner.segments().get(segment);
        let segment = segment.ok_or_else(|| PyValueError::new_err("there is no such file"))?;
        let (reader, options) = (Arc::clone(&segment.reader), self.whole()?.formats.clone());
        let Some(format) = trajet_topology::FORMATS.iter().find(|f| f.name == reader.format())
        else {
            return Ok(None);
        };
        let read = || {
            let (extent, mut bytes) = (reader.index().extent(0), Vec::new());
            let len = (extent.end - extent.start) as usize;
            memory::resize(&mut bytes, len, 0, "the bytes of a frame")?;
            reader.source().read_at(extent.start, &mut bytes, &mut Meter::default())?;
            Ok(bytes)
        };
        let bytes = py.detach(read).map_err(|error| from_io(py, &error))?;
        let parsed = py.detach(|| format.parse(&bytes, false, &options));
        let structure =
            parsed.map_err(|fault| from_topology(py, &fault.in_file(reader.source().path())))?;
        Ok(Some(StructureFile::new(structure)))
    }

    /// Returns a reader of the same files with the atoms of some in another order: atom `k` is at place `orders[file][k]`
    /// of the file. Must be called before transforms are added.
    fn ordered(&self, orders: Vec<Option<Vec<u32>>>) -> PyResult<Self> {
        let n_atoms = self.inner.n_atoms();
        let is_order = |order: &Vec<u32>| {
            let mut sorted = order.clone();
            sorted.sort_unstable();
            sorted.into_iter().eq(0..n_atoms as u32)
        };
        if !orders.iter().flatten().all(is_order) {
            return Err(PyValueError::new_err("an order has each atom once"));
        }
        Ok(Reader::of(self.inner.ordered(orders), self.whole()?.clone()))
    }

    /// Returns a reader of the same files whose positions are transformed, instead of by its own transforms.
    fn transformed(&self, transforms: &Transforms) -> PyResult<Self> {
        Ok(self.with_transforms(Arc::clone(&transforms.inner)))
    }

    /// Returns a reader of the same frames at times `time_step` ps apart.
    fn with_time_step(&self, time_step: f64) -> PyResult<Self> {
        Ok(Reader::of(self.inner.at_time_step(time_step), self.whole()?.clone()))
    }

    /// The serialised transforms, for an analysis of a plan of several; `None` without transforms.
    #[getter]
    fn transforms<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let bytes =
            self.transforms.as_ref().map(|of| PyResult::Ok(PyBytes::new(py, &to_bytes(of)?)));
        bytes.transpose()
    }

    /// Returns whether jumps are removed.
    #[getter]
    fn has_no_jump(&self) -> bool {
        self.transforms.as_ref().is_some_and(|transforms| transforms.no_jump().is_some())
    }

    /// Returns the reader for a run of these frames and atoms: this one if no jumps are removed. See `JumpNeeds`.
    #[pyo3(signature = (frames, atoms_wanted, *, compared, threads, workers, call_frames))]
    #[allow(clippy::too_many_arguments)]
    fn for_run<'py>(
        this: Bound<'py, Self>,
        py: Python<'py>,
        frames: PyFrames<'_>,
        atoms_wanted: Option<Aligned1<'_, i64>>,
        compared: Option<PyFrames<'_>>,
        threads: usize,
        workers: usize,
        call_frames: Option<usize>,
    ) -> PyResult<Bound<'py, Self>> {
        let of = this.get();
        let Some(transforms) = of.transforms.as_ref().filter(|t| t.no_jump().is_some()) else {
            return Ok(this);
        };
        let (frames, atoms) = (frames.to_frames(), of.atoms(py, atoms_wanted)?);
        let compared = compared.map_or_else(|| Frames::all(0), |compared| compared.to_frames());
        let needs = JumpNeeds {
            frames: &frames,
            compared: &compared,
            atoms: &atoms,
            threads,
            workers,
            call_frames,
        };
        // A pool may have more threads than this machine.
        let threads = threads.saturating_mul(workers).min(available_threads());
        let (mut control, watch) = (FromPython::new(None), Watch::default());
        let started = py.detach(|| {
            with_progress(&watch, 0, threads, &mut control, &|threads| {
                transforms.for_run(&of.inner, &needs, threads, &watch.stop)
            })
        });
        control.check()?;
        let (started, counting) = started.map_err(|error| from_io(py, &error))?;
        let started = Reader { counting, ..of.with_transforms(Arc::new(started)) };
        Bound::new(py, started)
    }

    /// Returns counts and times of the reads in which jumps were counted before frames are read.
    fn counting<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = counts(py, &self.counting)?;
        let Stages { t_open, t_read, t_decode, t_comp, .. } =
            Stages::between(&Meter::default(), &self.counting);
        dict.set_item("t_open", t_open)?;
        dict.set_item("t_read", t_read)?;
        dict.set_item("t_decode", t_decode)?;
        dict.set_item("t_comp", t_comp)?;
        Ok(dict)
    }

    /// Returns the number of atoms that are decoded for users of these atoms.
    #[pyo3(signature = (atoms_wanted))]
    fn n_decoded(
        &self,
        py: Python<'_>,
        atoms_wanted: Option<Aligned1<'_, i64>>,
    ) -> PyResult<usize> {
        let decoded = self.inner.decoded(&self.atoms(py, atoms_wanted)?);
        Ok(decoded.map_err(|error| from_io(py, &error))?.len())
    }

    /// Returns the index of some frames as bytes, for worker processes.
    fn slice<'py>(&self, py: Python<'py>, frames: PyFrames<'py>) -> PyResult<Bound<'py, PyBytes>> {
        self.whole()?;
        let frames = frames.to_frames();
        self.inner.check(&frames).map_err(|error| from_io(py, &error))?;
        Ok(PyBytes::new(py, &to_bytes(&self.inner.slice(&frames))?))
    }

    #[getter]
    fn format(&self) -> String {
        self.inner.format()
    }

    /// Number of threads that wait for requests to remote storage; `None` if all files are here.
    #[getter]
    fn connections(&self) -> Option<usize> {
        let opened = self.inner.connections()?;
        // A run may have fewer: see `with_connections`.
        Some(self.options.as_ref().map_or(opened, |options| options.remote.connections))
    }

    /// Returns a reader of the same files, of which runs make at most so many requests at the same time.
    fn with_connections(&self, connections: usize) -> PyResult<Self> {
        let mut options = self.whole()?.clone();
        options.remote.connections = connections.max(1);
        Ok(Reader {
            inner: Arc::clone(&self.inner),
            options: Some(options),
            transforms: self.transforms.clone(),
            counting: Meter::default(),
            spare: Mutex::default(),
        })
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
    fn messages(&self) -> Vec<PyMessage> {
        to_python(self.inner.messages())
    }

    /// Returns the messages that copies in a format keep.
    fn messages_for_copy(&self, copied_to: &str) -> Vec<PyMessage> {
        to_python(self.inner.messages_for_copy(Some(copied_to)))
    }

    /// Compares the times of a stored index with the headers of all frames, once.
    fn check_times(&self, py: Python<'_>, threads: usize) -> PyResult<()> {
        let mut control = FromPython::new(None);
        let checked = py.detach(|| trajet_engine::check_times(&self.inner, threads, &mut control));
        control.check()?;
        checked.map_err(|error| from_io(py, &error))
    }

    /// Messages on how the files follow one another.
    #[getter]
    fn chain_messages(&self) -> Vec<PyMessage> {
        to_python(self.inner.chain_messages())
    }

    /// Messages on files that do not state the times of their frames.
    #[getter]
    fn unstated_times(&self) -> Vec<PyMessage> {
        to_python(self.inner.unstated_times())
    }

    /// The precision of stored times: "single", "double" or "text".
    #[getter]
    fn time_precision(&self) -> &'static str {
        self.inner.time_precision().name()
    }

    #[getter]
    fn truncated_tail(&self) -> u64 {
        self.inner.truncated_tail()
    }

    #[getter]
    fn index_state(&self) -> &'static str {
        self.inner.opening().state.name()
    }

    /// Returns a dictionary for each file, in order.
    fn segments<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for segment in self.inner.segments() {
            let reader = &segment.reader;
            let dict = PyDict::new(py);
            dict.set_item("path", path_of(py, reader.source())?)?;
            dict.set_item("format", reader.format())?;
            dict.set_item("size", reader.size())?;
            dict.set_item("digest", reader.stamp().digest())?;
            dict.set_item("n_atoms", reader.index().n_atoms())?;
            dict.set_item("n_frames", reader.index().n_frames())?;
            dict.set_item("dropped_frames", segment.dropped)?;
            dict.set_item("truncated_tail", reader.truncated_tail())?;
            dict.set_item("messages", to_python(reader.all_messages()))?;
            dict.set_item("index_path", reader.opening().sidecar.as_deref())?;
            list.append(dict)?;
        }
        Ok(list)
    }

    /// Returns the cost of opening as a dictionary.
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

    /// Returns the times of all frames, ps.
    fn times<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        self.whole()?;
        array(py, &self.inner.times())
    }

    /// Returns the integration steps of all frames.
    fn steps<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        self.whole()?;
        array(py, &self.inner.steps())
    }

    /// Returns the offset of each frame in its file, bytes.
    fn offsets<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u64>>> {
        self.whole()?;
        array(py, &self.inner.offsets())
    }

    /// Returns the fields that lossy tags omit for some of the atoms, each with the tag.
    fn omitted_fields(
        &self,
        py: Python<'_>,
        atoms: Option<Aligned1<'_, i64>>,
    ) -> PyResult<Vec<(&'static str, String)>> {
        let lost = self.inner.omitted_fields(&self.atoms(py, atoms)?);
        Ok(lost.into_iter().map(|(extra, tag)| (extra.name(), tag)).collect())
    }

    /// Counts fields of frames that only their own format can hold. Returns the losses, whose frames are positions in
    /// `frames`, and the message for a copy in H5MD.
    fn left_out(
        &self,
        py: Python<'_>,
        frames: PyFrames<'_>,
        atoms_wanted: Option<Aligned1<'_, i64>>,
    ) -> PyResult<(Vec<PyLoss>, Option<PyMessage>)> {
        let (frames, atoms) = (frames.to_frames(), self.atoms(py, atoms_wanted)?);
        let (mut scratch, mut losses, mut begin) = (self.borrow_scratch(), Losses::default(), 0);
        while begin < frames.len() {
            let end = (begin + FRAMES_BETWEEN_SIGNALS).min(frames.len());
            let here = frames.slice(begin..end);
            let left = py.detach(|| self.inner.left_out(&here, begin, &atoms, &mut scratch));
            losses.merge(&left.map_err(|error| from_io(py, &error))?);
            py.check_signals()?;
            begin = end;
        }
        self.return_scratch(scratch);
        let message = losses.message(Format::of_library(), frames.len() as u64);
        Ok((losses.list().iter().cloned().map(of_loss).collect(), message.map(PyMessage)))
    }

    /// Returns numbers of a frame beside its atoms, by name: "lambda" of TRR.
    fn observables(&self, py: Python<'_>, frame: u64) -> PyResult<HashMap<&'static str, f64>> {
        let mut scratch = self.borrow_scratch();
        let found = py.detach(|| self.inner.observables(frame, &mut scratch));
        self.return_scratch(scratch);
        Ok(found.map_err(|error| from_io(py, &error))?.into_iter().collect())
    }

    /// Returns the number of the file that holds a frame, the frame's number there, and its step.
    fn place(&self, py: Python<'_>, frame: u64) -> PyResult<(usize, u64, i64)> {
        let frames = Frames::Strided { first: frame, step: 1, count: 1 };
        self.inner.check(&frames).map_err(|error| from_io(py, &error))?;
        let place = self.inner.place(frame);
        Ok((place.segment, place.frame, self.inner.when(frame).1))
    }

    /// Returns the names of variables and attributes of a frame's file that other formats cannot hold.
    fn further_names(&self, py: Python<'_>, frame: u64) -> PyResult<Vec<String>> {
        let mut scratch = self.borrow_scratch();
        let raw = py.detach(|| self.inner.read_raw(frame, &mut scratch));
        self.return_scratch(scratch);
        Ok(raw.map_err(|error| from_io(py, &error))?.further_names())
    }

    /// Fills `out` with "positions", "velocities" or "forces". Returns times, steps, cells and counts. With
    /// `native_units` vectors of H5MD are in the unit of their file.
    #[pyo3(signature = (frames, atoms_wanted, out, field, *, threads = 1, native_units = false))]
    #[allow(clippy::too_many_arguments)]
    fn read<'py>(
        &self,
        py: Python<'py>,
        frames: PyFrames<'py>,
        atoms_wanted: Option<Aligned1<'py, i64>>,
        out: PyReadwriteArray3<'py, f32>,
        field: &str,
        threads: usize,
        native_units: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        let field = self::field(field)?;
        let frames = frames.to_frames();
        let atoms = self.atoms(py, atoms_wanted)?;
        let request = ReadRequest { frames: &frames, atoms: &atoms, field };
        let threads = threads.min(frames.len()).max(1);
        let is_single = |segment: &trajet_files::chain::Segment| {
            let typed = segment.reader.as_stored_types();
            typed.and_then(|typed| typed.stored_as(field)).is_some_and(|stored| !stored.double)
        };
        if native_units && !self.inner.segments().iter().all(is_single) {
            return Err(PyValueError::new_err("frames are not those of H5MD in single precision"));
        }
        let scratch = || {
            let mut scratch = self.borrow_scratch();
            scratch.native_units = native_units;
            scratch
        };
        let mut scratches: Vec<Scratch> = (0..threads).map(|_| scratch()).collect();
        let mut meta = self.fill(py, &request, 0..frames.len(), &mut scratches, out)?;
        self.add_known_boxes(&mut meta);
        let mut meter = Meter::default();
        for scratch in scratches {
            meter.add(&scratch.meter);
            self.return_scratch(scratch);
        }
        frames_dict(py, meta, &meter)
    }

    /// Fills arrays of "positions", "velocities" and "forces" in one pass: NaN in frames without. Returns what `read`
    /// does, and the number of frames that have each field.
    #[pyo3(signature = (frames, atoms_wanted, outs, *, threads = 1))]
    fn read_fields<'py>(
        &self,
        py: Python<'py>,
        frames: PyFrames<'py>,
        atoms_wanted: Option<Aligned1<'py, i64>>,
        outs: HashMap<String, PyReadwriteArray3<'py, f32>>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyDict>> {
        let frames = frames.to_frames();
        let atoms = self.atoms(py, atoms_wanted)?;
        let mut arrays: Vec<_> = outs
            .into_iter()
            .map(|(name, out)| Ok((field(&name)?, out)))
            .collect::<PyResult<_>>()?;
        arrays.sort_by_key(|(field, _)| *field as usize);
        let fields: Vec<Field> = arrays.iter().map(|(field, _)| *field).collect();
        let mut vectors = Vec::with_capacity(arrays.len());
        for (_, out) in &mut arrays {
            vectors.push(slice_of(out, frames.len() * atoms.len() * 3)?);
        }
        let (mut meta, n_with, meter) =
            self.fill_fields(py, (&frames, &atoms), &fields, vectors, threads)?;
        self.add_known_boxes(&mut meta);
        let dict = frames_dict(py, meta, &meter)?;
        let with = PyDict::new(py);
        for field in fields {
            with.set_item(field.name(), n_with[field as usize])?;
        }
        dict.set_item("n_with", with)?;
        Ok(dict)
    }

    /// Returns frames of H5MD as stored, in the units of the file; without `tables` only their vectors and steps.
    #[pyo3(signature = (frames, atoms_wanted, *, tables = true))]
    fn stored<'py>(
        &self,
        py: Python<'py>,
        frames: PyFrames<'py>,
        atoms_wanted: Option<Aligned1<'py, i64>>,
        tables: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (frames, atoms) = (frames.to_frames(), self.atoms(py, atoms_wanted)?);
        let mut scratch = self.borrow_scratch();
        let read = py.detach(|| Stored::read(&self.inner, &frames, &atoms, tables, &mut scratch));
        self.return_scratch(scratch);
        match read.map_err(|error| from_io(py, &error))? {
            Some(stored) => stored.to_dict(py),
            None => Err(PyValueError::new_err("frames are not those of H5MD")),
        }
    }

    /// Returns a handle to read positions in parts.
    #[pyo3(signature = (frames, atoms_wanted))]
    fn parts<'py>(
        this: &Bound<'py, Self>,
        frames: PyFrames<'py>,
        atoms_wanted: Option<Aligned1<'py, i64>>,
    ) -> PyResult<Parts> {
        let reader = this.get();
        let atoms = reader.atoms(this.py(), atoms_wanted)?;
        let at_once = reader.inner.frames_at_once(&atoms);
        let at_once = at_once.map_err(|error| from_io(this.py(), &error))?;
        let scratches = Mutex::new((0..at_once).map(|_| reader.borrow_scratch()).collect());
        let frames = frames.to_frames();
        Ok(Parts { reader: this.clone().unbind(), frames, atoms, at_once, scratches })
    }
}

/// Frames that are read in parts, as if in one call. See `_trajet.pyi`.
#[pyclass(frozen, module = "trajet._trajet")]
pub(crate) struct Parts {
    reader: Py<Reader>,
    frames: Frames,
    atoms: Atoms,
    /// Frames that are read at the same time.
    at_once: usize,
    /// One for each of them.
    scratches: Mutex<Vec<Scratch>>,
}

/// Times, steps, frame numbers, cells, vectors of rotated boxes, boundaries, and corners of cells.
type Meta<'py> = (
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray2<f64>>,
    Option<Bound<'py, PyArray2<f64>>>,
    Bound<'py, PyArray2<bool>>,
    Option<Bound<'py, PyArray2<f64>>>,
);

#[pymethods]
impl Parts {
    /// Fills `out` with the requested frames from position `begin` on. Returns their metadata.
    fn read<'py>(
        &self,
        py: Python<'py>,
        begin: usize,
        out: PyReadwriteArray3<'py, f32>,
    ) -> PyResult<Meta<'py>> {
        let request = ReadRequest::positions(&self.frames, &self.atoms);
        let end = begin.saturating_add(out.shape()[0]);
        if end > self.frames.len() {
            return Err(PyValueError::new_err("there are not so many frames"));
        }
        // Concurrent calls use buffers of their own.
        let mut scratches = std::mem::take(&mut *lock(&self.scratches));
        scratches.resize_with(self.at_once, Scratch::default);
        let mut meta = self.reader.get().fill(py, &request, begin..end, &mut scratches, out)?;
        *lock(&self.scratches) = scratches;
        self.reader.get().add_known_boxes(&mut meta);
        let periodic = boundaries(py, &meta)?;
        let numbers = meta.frames.into_iter().map(|frame| frame as i64).collect();
        Ok((
            PyArray1::from_vec(py, meta.times),
            PyArray1::from_vec(py, meta.steps),
            PyArray1::from_vec(py, numbers),
            cells(py, &meta.cells)?,
            boxes(py, &meta.turned)?,
            periodic,
            origins(py, &meta.origins)?,
        ))
    }

    /// Returns the counts of all parts so far.
    fn counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let mut meter = Meter::default();
        lock(&self.scratches).iter().for_each(|scratch| meter.add(&scratch.meter));
        counts(py, &meter)
    }

    /// Number of frames that are read at the same time.
    #[getter]
    fn frames_at_once(&self) -> usize {
        self.at_once
    }
}

impl Drop for Parts {
    fn drop(&mut self) {
        for scratch in std::mem::take(&mut *lock(&self.scratches)) {
            self.reader.get().return_scratch(scratch);
        }
    }
}

impl Reader {
    /// Returns a reader of a completely known trajectory.
    pub(crate) fn of(inner: Chain, options: OpenOptions) -> Reader {
        let inner = Arc::new(inner);
        Reader {
            inner,
            options: Some(options),
            transforms: None,
            counting: Meter::default(),
            spare: Mutex::default(),
        }
    }

    /// Returns a reader of a trajectory of which only some frames are known.
    pub(crate) fn partial(inner: Chain) -> Self {
        Reader {
            inner: Arc::new(inner),
            options: None,
            transforms: None,
            counting: Meter::default(),
            spare: Mutex::default(),
        }
    }

    fn with_transforms(&self, transforms: Arc<trajet_transforms::Transforms>) -> Reader {
        Reader {
            inner: Arc::new(self.inner.transformed(of_chain(&transforms))),
            options: self.options.clone(),
            transforms: Some(transforms),
            counting: Meter::default(),
            spare: Mutex::default(),
        }
    }

    /// Returns the options of opening, or an error if only some frames are known.
    fn whole(&self) -> PyResult<&OpenOptions> {
        let unknown =
            || PyValueError::new_err("only some frames of this trajectory are known here");
        self.options.as_ref().ok_or_else(unknown)
    }

    /// Adds the box vectors that are known without reading frames, where frames have no rotated ones.
    fn add_known_boxes(&self, meta: &mut FrameMeta) {
        let FrameMeta { frames, turned, .. } = meta;
        for (frame, known) in frames.iter().zip(turned).filter(|(_, known)| known.is_none()) {
            *known = self.inner.known_box(*frame);
        }
    }

    fn atoms(&self, py: Python<'_>, list: Option<Aligned1<'_, i64>>) -> PyResult<Atoms> {
        atoms(list, self.inner.n_atoms()).map_err(|error| from_io(py, &error))
    }

    /// Returns a spare buffer, or a new one. If the call that uses it fails, it is dropped.
    fn borrow_scratch(&self) -> Scratch {
        lock(&self.spare).pop().unwrap_or_default().renewed()
    }

    fn return_scratch(&self, scratch: Scratch) {
        lock(&self.spare).push(scratch);
    }
}

/// Returns the field with this name.
fn field(name: &str) -> PyResult<Field> {
    let found = Field::ALL.into_iter().find(|field| field.name() == name);
    found.ok_or_else(|| PyValueError::new_err(format!("frames have no {name}")))
}
