//! Bindings for stores.

use std::collections::HashMap;
use std::os::fd::{IntoRawFd, RawFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyDict, PyTuple};
use trajet_files::index::Stamp;
use trajet_files::remote::DEFAULT_CONNECTIONS;
use trajet_files::source::{FileOpener, Source};
use trajet_files::{Meter, OpenOptions};
use trajet_formats::h5md::Description;
use trajet_store::hdf5::{Job, Writer};
use trajet_store::{
    Access, AddedFiles, CopiedFile, Error, Manifest, PartitionOutcome, Spec, Store,
};

use crate::control::FromPython;
use crate::error::{from_io, from_store, raised};
use crate::h5md::PyDescription;
use crate::messages::to_python;
use crate::mount;
use crate::reader::Reader;
use crate::remote::remote_options;
use crate::report::report_dict;

/// A store. See `_trajet.pyi`.
#[pyclass(frozen, module = "trajet._trajet", name = "Store")]
pub(crate) struct PyStore {
    inner: Store,
    /// Python callable that writes HDF5 files.
    hdf5: Option<Py<PyAny>>,
}

/// A writer of HDF5 files that calls Python.
#[derive(Debug)]
struct Hdf5 {
    write: Py<PyAny>,
    progress: Option<Py<PyAny>>,
    /// The exception that it raised.
    raised: Mutex<Option<PyErr>>,
}

impl Hdf5 {
    /// Calls `write(reader, path, own=…, velocities=…, forces=…, threads=…, show=…)`.
    fn call(&self, py: Python<'_>, job: Job<'_>) -> PyResult<Description> {
        let Job { chain, options, path, own, velocities, forces, filled, threads, stage } = job;
        let total = chain.n_frames();
        let (done, progress) =
            (AtomicUsize::new(0), self.progress.as_ref().map(|one| one.clone_ref(py)));
        let show = move |args: &Bound<'_, PyTuple>, _: Option<&Bound<'_, PyDict>>| {
            filled.check().map_err(|error| from_store(args.py(), &error))?;
            let (more,): (usize,) = args.extract()?;
            let done = done.fetch_add(more, Ordering::Relaxed) + more;
            let Some(progress) = &progress else { return Ok(()) };
            progress.call1(args.py(), (stage.done(done, total), total)).map(drop)
        };
        let show = PyCFunction::new_closure(py, None, None, show)?;
        let named = PyDict::new(py);
        named.set_item("own", own)?;
        named.set_item("velocities", velocities)?;
        named.set_item("forces", forces)?;
        named.set_item("threads", threads)?;
        named.set_item("show", show)?;
        let layout = self.write.call(py, (Reader::of(chain, options), path), Some(&named))?;
        layout.extract::<PyDescription<'_>>(py)?.to_description()
    }
}

impl Writer for Hdf5 {
    fn write(&self, job: Job<'_>) -> Result<Description, String> {
        Python::attach(|py| {
            self.call(py, job).map_err(|error| {
                let words = error.to_string();
                *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                words
            })
        })
    }
}

/// Parses a spec from JSON.
fn spec(py: Python<'_>, json: &str) -> PyResult<Spec> {
    serde_json::from_str(json)
        .map_err(|error| raised(py, "StoreError", format!("the profile: {error}")))
}

impl PyStore {
    /// Runs `work` without the GIL, and checks for Ctrl-C meanwhile.
    fn work<T: Send>(
        &self,
        py: Python<'_>,
        progress: Option<Py<PyAny>>,
        work: impl Send + FnOnce(&Store, &mut FromPython) -> Result<T, Error>,
    ) -> PyResult<T> {
        let hdf5 = self.hdf5.as_ref().map(|write| {
            let progress = progress.as_ref().map(|progress| progress.clone_ref(py));
            Arc::new(Hdf5 { write: write.clone_ref(py), progress, raised: Mutex::default() })
        });
        let mut control = FromPython::new(progress);
        let mut store = self.inner.clone();
        if let Some(hdf5) = &hdf5 {
            store = store.with_hdf5(Arc::<Hdf5>::clone(hdf5));
        }
        let done = py.detach(|| work(&store, &mut control));
        control.check()?;
        let raised =
            hdf5.and_then(|hdf5| hdf5.raised.lock().unwrap_or_else(PoisonError::into_inner).take());
        raised.map_or(Ok(()), Err)?;
        done.map_err(|error| from_store(py, &error))
    }
}

#[pymethods]
impl PyStore {
    #[new]
    #[pyo3(signature = (folder, *, create = false, hdf5 = None))]
    fn new(
        py: Python<'_>,
        folder: PathBuf,
        create: bool,
        hdf5: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let opened = if create { Store::create(&folder) } else { Store::open(&folder) };
        let inner = opened.map_err(|error| from_store(py, &error))?;
        Ok(PyStore { inner, hdf5 })
    }

    /// The absolute path of the folder.
    #[getter]
    fn folder(&self) -> PathBuf {
        self.inner.folder().to_owned()
    }

    /// Returns folder, limit and used bytes of each tier, as JSON.
    fn tiers(&self, py: Python<'_>) -> PyResult<String> {
        let tiers = self.inner.tiers().map_err(|error| from_store(py, &error))?;
        Ok(serde_json::to_string(&tiers).expect("tiers are plain"))
    }

    /// Returns the names of the data sets.
    fn names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.inner.names().map_err(|error| from_store(py, &error))
    }

    /// Returns the manifest of a data set as JSON.
    fn manifest(&self, py: Python<'_>, name: &str) -> PyResult<String> {
        let manifest = self.inner.manifest(name).map_err(|error| from_store(py, &error))?;
        Ok(serde_json::to_string(&manifest).expect("manifests are plain"))
    }

    /// Adds a trajectory, partitioned by tags. Returns a report.
    #[pyo3(signature = (name, reader, spec_json, topology, structures, *, threads, progress = None, other_contents = None))]
    #[allow(clippy::too_many_arguments)]
    fn add<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        reader: &Reader,
        spec_json: &str,
        topology: PathBuf,
        structures: Vec<Vec<PathBuf>>,
        threads: usize,
        progress: Option<Py<PyAny>>,
        other_contents: Option<Vec<PathBuf>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let spec = spec(py, spec_json)?;
        let other_contents = other_contents.unwrap_or_default();
        let given = AddedFiles { topology: &topology, structures: &structures };
        let done = self.work(py, progress, |store, control| {
            let store = store.clone().with_other_contents(other_contents);
            store.add(name, &reader.inner, &spec, &given, threads, control)
        })?;
        done_dict(py, done)
    }

    /// Appends the frames of a trajectory from `skip` on. Returns a report.
    #[pyo3(signature = (name, reader, *, skip, threads, progress = None, other_contents = None))]
    #[allow(clippy::too_many_arguments)]
    fn append<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        reader: &Reader,
        skip: u64,
        threads: usize,
        progress: Option<Py<PyAny>>,
        other_contents: Option<Vec<PathBuf>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let other_contents = other_contents.unwrap_or_default();
        let done = self.work(py, progress, |store, control| {
            let store = store.clone().with_other_contents(other_contents);
            store.append(name, &reader.inner, skip, threads, control)
        })?;
        done_dict(py, done)
    }

    /// Adds a published data set, whose files `copy(key, path, size)` writes.
    #[pyo3(signature = (name, manifest, id, copy, *, threads))]
    fn receive(
        &self,
        py: Python<'_>,
        name: &str,
        manifest: &str,
        id: &str,
        copy: Py<PyAny>,
        threads: usize,
    ) -> PyResult<()> {
        let published: Manifest = serde_json::from_str(manifest)
            .map_err(|error| raised(py, "StoreError", format!("the manifest: {error}")))?;
        let mut failed = None;
        let mut call = |file: &CopiedFile| {
            let given = (&file.key, &file.path, file.size);
            Python::attach(|py| copy.call1(py, given).map(drop)).map_err(|error| {
                failed = Some(error);
                Error::Interrupted
            })
        };
        let done = self.work(py, None, |store, control| {
            store.receive(name, &published, id, threads, &mut call, control)
        });
        failed.map_or(done, Err)
    }

    /// Repartitions a data set. Returns a report.
    #[pyo3(signature = (name, spec_json, structures, *, threads, progress = None))]
    fn retag<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        spec_json: &str,
        structures: Vec<Vec<PathBuf>>,
        threads: usize,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let spec = spec(py, spec_json)?;
        let done = self.work(py, progress, |store, control| {
            store.retag(name, &spec, &structures, threads, control)
        })?;
        done_dict(py, done)
    }

    /// Moves a tag to another tier.
    #[pyo3(signature = (name, tag, tier, *, progress = None))]
    fn r#move(
        &self,
        py: Python<'_>,
        name: &str,
        tag: &str,
        tier: &str,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        self.work(py, progress, |store, control| store.move_tag(name, tag, tier, control))
    }

    /// Removes a data set.
    fn remove(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        self.work(py, None, |store, _| store.remove(name))
    }

    /// Checks all files. Returns a message for each that was modified.
    #[pyo3(signature = (name, *, threads, progress = None))]
    fn verify(
        &self,
        py: Python<'_>,
        name: &str,
        threads: usize,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Vec<String>> {
        self.work(py, progress, |store, control| store.verify(name, threads, control))
    }

    /// Removes files of interrupted operations. Returns messages on them.
    fn repair(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.work(py, None, |store, _| store.repair())
    }

    /// Returns the paths of a tag's files.
    fn paths(&self, py: Python<'_>, name: &str, tag: &str) -> PyResult<Vec<PathBuf>> {
        self.work(py, None, |store, _| {
            let dataset = store.dataset(name)?;
            let number = dataset.tags(Some(&[tag.to_owned()]))?[0];
            dataset.paths(number)
        })
    }

    /// Returns the descriptor of a file of the store, which is opened without following a link that leads elsewhere.
    fn open_file(&self, py: Python<'_>, path: PathBuf) -> PyResult<RawFd> {
        let opened = py.detach(|| {
            let files = self.inner.files()?;
            files.open(&path).map_err(|source| Error::Io { path, doing: "open", source })
        });
        Ok(opened.map_err(|error| from_store(py, &error))?.into_raw_fd())
    }

    /// Returns the path of the index that is kept of a file of a tag; `None` if there is none.
    fn index_of(
        &self,
        py: Python<'_>,
        path: PathBuf,
        cache: Option<PathBuf>,
    ) -> PyResult<Option<PathBuf>> {
        self.work(py, None, |store, _| store.index_of(&path, cache))
    }

    /// Returns for each source file a file with its contents other than frames, and its number of frames; `None` unless
    /// all were kept.
    fn other_contents(&self, py: Python<'_>, name: &str) -> PyResult<Option<Vec<(PathBuf, u64)>>> {
        self.work(py, None, |store, _| store.other_contents_of(name))
    }

    /// Opens some tags of a data set, or all, as a trajectory; of one segment, if that is given.
    #[pyo3(signature = (name, tags = None, *, request_size, segment = None, objects = None, connections = DEFAULT_CONNECTIONS, merge_gap = None, cache = None))]
    #[allow(clippy::too_many_arguments)]
    fn reader(
        &self,
        py: Python<'_>,
        name: &str,
        tags: Option<Vec<String>>,
        request_size: usize,
        segment: Option<usize>,
        objects: Option<HashMap<PathBuf, Py<PyAny>>>,
        connections: usize,
        merge_gap: Option<u64>,
        cache: Option<PathBuf>,
    ) -> PyResult<Reader> {
        let remote = remote_options(py, objects, connections, merge_gap)?;
        let (inner, options) = self.work(py, None, |store, _| {
            let mut dataset = store.dataset(name)?;
            if let Some(segment) = segment {
                dataset = dataset.segment(segment)?;
            }
            let options = OpenOptions { request_size, remote, cache, ..OpenOptions::default() };
            Ok((dataset.chain(tags.as_deref(), &options)?, options))
        })?;
        Ok(Reader::of(inner, options))
    }

    /// Mounts the store on a folder until it is unmounted, or until Ctrl-C.
    #[pyo3(signature = (folder, *, threads, ready, say))]
    fn mount(
        &self,
        py: Python<'_>,
        folder: PathBuf,
        threads: usize,
        ready: Py<PyAny>,
        say: Py<PyAny>,
    ) -> PyResult<()> {
        mount::serve(py, &self.inner, &folder, threads, &ready, &say)
    }
}

/// Appends an access to the log of a data set: the frames that were read, and the bytes of each tag.
#[pyfunction]
pub(crate) fn write_down_use(
    py: Python<'_>,
    dataset: PathBuf,
    what: &str,
    frames: u64,
    read: Vec<(String, u64)>,
) {
    py.detach(|| Access::new(what, frames, read).write_down(&dataset));
}

/// Returns the digest of a file as in reports and manifests: of its size, head and tail.
#[pyfunction]
pub(crate) fn file_digest(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    let digest = || {
        let mut meter = Meter::default();
        let source = Source::open(&path, &mut meter)?;
        Ok(Stamp::of(&source, source.size(), &mut meter)?.digest())
    };
    py.detach(digest).map_err(|error| from_io(py, &error))
}

/// Converts the outcome of partitioning to a report with "n_frames" and "messages".
fn done_dict(py: Python<'_>, done: PartitionOutcome) -> PyResult<Bound<'_, PyDict>> {
    let dict = report_dict(py, &done.report)?;
    dict.set_item("n_frames", done.n_frames)?;
    dict.set_item("messages", to_python(done.messages))?;
    Ok(dict)
}
