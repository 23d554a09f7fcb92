//! Objects in remote storage, whose ranges Python reads (`trajet.remote`).
//!
//! An engine thread that reads a range hands the request to a thread of the object, and waits. If the run is cancelled,
//! it stops waiting: the other thread ends when the request does. Transient failures are tried again here, so that
//! each attempt names the ETag, is counted, and can be cancelled.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use trajet_files::range_bytes::{RangeBytes, RemoteFault};
use trajet_files::remote::RemoteOptions;
use trajet_files::source::Source;
use trajet_formats::Message;

use crate::control::{has_signal, n_signals};
use crate::messages::PyMessage;

/// Module with the paths of objects.
const NAMES: &str = "trajet.remote";
/// Module that opens objects.
const OBJECTS: &str = "trajet.remote.objects";
/// Interval at which a waiting request looks for cancellation.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Returns the options of opening for these objects, by the names under which they are opened.
pub(crate) fn remote_options(
    py: Python<'_>,
    objects: Option<HashMap<PathBuf, Py<PyAny>>>,
    connections: usize,
    merge_gap: Option<u64>,
) -> PyResult<RemoteOptions> {
    let opened = objects.unwrap_or_default().into_iter().map(|(path, object)| {
        let object: Arc<dyn RangeBytes> = Arc::new(RemoteObject::new(object.bind(py))?);
        Ok((path, object))
    });
    let objects = Arc::new(opened.collect::<PyResult<_>>()?);
    Ok(RemoteOptions { objects, connections, merge_gap, ..RemoteOptions::default() })
}

/// Opens an object in a worker process. Where a URL leads is asked in another thread, for which nobody waits after
/// `stop` is set.
pub(crate) fn open_in_worker(
    data: &[u8],
    stop: Option<&AtomicBool>,
) -> Result<Arc<dyn RangeBytes>, RemoteFault> {
    let data = data.to_vec();
    let opened = in_thread(Cancel { stop, signals: n_signals() }, move |py| {
        let open = || {
            let open = py.import(OBJECTS)?.getattr("open_in_worker")?;
            RemoteObject::new(&open.call1((PyBytes::new(py, &data),))?)
        };
        open().map_err(|error: PyErr| RemoteFault::Failed(text_of(py, &error)))
    });
    opened.map(|object| Arc::new(object) as Arc<dyn RangeBytes>)
}

/// Returns the result of a call into Python, made by a thread of its own, so that waiting for it can be cancelled.
fn in_thread<T: Send + 'static>(
    cancel: Cancel<'_>,
    call: impl FnOnce(Python<'_>) -> Result<T, RemoteFault> + Send + 'static,
) -> Result<T, RemoteFault> {
    let failed = |what: &str| RemoteFault::Failed(what.to_owned());
    let (answer, answers) = channel();
    let started = thread::Builder::new().name("trajet-remote".to_owned()).spawn(move || {
        if let Some(found) = Python::try_attach(call) {
            // Nobody waits for the answer if the call was cancelled.
            let _ = answer.send(found);
        }
    });
    started.map_err(|_| failed("the system refuses another thread"))?;
    loop {
        match answers.recv_timeout(POLL_INTERVAL) {
            Ok(found) => return found,
            Err(RecvTimeoutError::Timeout) if cancel.is_cancelled() => {
                return Err(RemoteFault::Interrupted);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(failed("the thread of a request has ended"));
            }
        }
    }
}

/// Returns the path of a source as Python shows it: that of an object keeps the double slash of its URL.
pub(crate) fn path_of<'py>(py: Python<'py>, source: &Source) -> PyResult<Bound<'py, PyAny>> {
    match source.remote() {
        None => source.path().into_pyobject(py).map(Bound::into_any),
        Some(_) => object_path(py, source.path()),
    }
}

/// Returns the path of a file or of an object, for errors.
pub(crate) fn path_object<'py>(py: Python<'py>, path: &Path) -> Option<Bound<'py, PyAny>> {
    match path.to_string_lossy().contains("://") {
        true => object_path(py, path).ok(),
        false => path.into_pyobject(py).map(Bound::into_any).ok(),
    }
}

fn object_path<'py>(py: Python<'py>, path: &Path) -> PyResult<Bound<'py, PyAny>> {
    py.import(NAMES)?.getattr("ObjectPath")?.call1((path.as_os_str(),))
}

/// Returns the text of an error of trajet; of others the name of the class alone, as texts may hold secrets.
fn text_of(py: Python<'_>, error: &PyErr) -> String {
    let own = py.import("trajet._trajet").and_then(|module| module.getattr("TrajetError"));
    match own.is_ok_and(|class| error.matches(py, class).unwrap_or(false)) {
        true => error.value(py).to_string(),
        false => format!("{} was raised", error.get_type(py)),
    }
}

/// An object that Python reads.
#[derive(Debug)]
struct RemoteObject {
    /// Its URL without secrets.
    name: PathBuf,
    object: Arc<Py<PyAny>>,
    size: u64,
    n_held: u64,
    /// Pauses before a request is made again after a transient failure.
    pauses: Vec<Duration>,
    version: Option<String>,
    messages: Vec<Message>,
    /// The process that opened it.
    process: u32,
    /// Threads without a request.
    idle: Mutex<Vec<Connection>>,
}

/// A thread that makes one request at a time.
#[derive(Debug)]
struct Connection {
    requests: Sender<Request>,
    answers: Receiver<Answer>,
}

/// A request for so many bytes from an offset on.
#[derive(Debug)]
struct Request {
    offset: u64,
    len: usize,
    is_left: IsLeft,
}

/// Whether nobody waits for a request any more. Python calls it while the bytes arrive.
#[pyclass(frozen)]
#[derive(Clone, Debug, Default)]
struct IsLeft(Arc<AtomicBool>);

#[pymethods]
impl IsLeft {
    fn __call__(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Bytes of a range, or why there are none.
type Answer = Result<Vec<u8>, Failure>;

/// A request that failed.
#[derive(Debug)]
enum Failure {
    /// It may succeed later.
    Transient(String),
    Final(RemoteFault),
}

impl RemoteObject {
    fn new(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let pauses: Vec<f64> = object.getattr("pauses")?.extract()?;
        let messages: Vec<PyMessage> = object.getattr("messages")?.extract()?;
        Ok(RemoteObject {
            name: object.getattr("path")?.str()?.to_str()?.into(),
            size: object.getattr("size")?.extract()?,
            n_held: object.getattr("n_held")?.extract()?,
            pauses: pauses.into_iter().map(Duration::from_secs_f64).collect(),
            version: object.getattr("version")?.extract()?,
            messages: messages.into_iter().map(|PyMessage(message)| message).collect(),
            object: Arc::new(object.clone().unbind()),
            process: std::process::id(),
            idle: Mutex::default(),
        })
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes one request and waits for the answer.
    fn ask(&self, offset: u64, len: usize, cancel: Cancel<'_>) -> Answer {
        let failed = |what: &str| Failure::Final(RemoteFault::Failed(what.to_owned()));
        let idle = self.idle().pop();
        let connection = match idle {
            Some(connection) => connection,
            None => Connection::start(&self.object)
                .map_err(|error| failed(&format!("the system refuses another thread: {error}")))?,
        };
        let ended = || failed("the thread of a request has ended");
        let is_left = IsLeft::default();
        let request = Request { offset, len, is_left: is_left.clone() };
        connection.requests.send(request).map_err(|_| ended())?;
        loop {
            match connection.answers.recv_timeout(POLL_INTERVAL) {
                Ok(answer) => {
                    self.idle().push(connection);
                    return answer;
                }
                Err(RecvTimeoutError::Timeout) if cancel.is_cancelled() => {
                    is_left.0.store(true, Ordering::Relaxed);
                    return Err(Failure::Final(RemoteFault::Interrupted));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(ended()),
            }
        }
    }
}

/// How a waiting request is cancelled.
#[derive(Clone, Copy)]
struct Cancel<'a> {
    /// The flag of the run that it belongs to, if it belongs to one.
    stop: Option<&'a AtomicBool>,
    /// Number of signals when it began.
    signals: u64,
}

impl Cancel<'_> {
    /// Returns whether the request is cancelled: by its run, or else by a signal. Python tells the main thread alone of
    /// signals; other threads that read for the same call see that one came.
    fn is_cancelled(&self) -> bool {
        match self.stop {
            Some(stop) => stop.load(Ordering::Relaxed),
            None => n_signals() != self.signals || has_signal(),
        }
    }
}

/// Waits before a request is made again; returns early, and false, if it is cancelled.
fn pause(time: Duration, cancel: Cancel<'_>) -> bool {
    let begin = Instant::now();
    loop {
        if cancel.is_cancelled() {
            return false;
        }
        let left = time.saturating_sub(begin.elapsed());
        if left.is_zero() {
            return true;
        }
        thread::sleep(left.min(POLL_INTERVAL));
    }
}

impl Connection {
    /// Starts a thread, which ends when the connection is dropped.
    fn start(object: &Arc<Py<PyAny>>) -> std::io::Result<Connection> {
        let (requests, asked) = channel();
        let (answer, answers) = channel();
        let object = Arc::clone(object);
        thread::Builder::new().name("trajet-remote".to_owned()).spawn(move || {
            for request in asked {
                let read = Python::try_attach(|py| read(object.bind(py), request));
                // Python is ending: nobody waits.
                let Some(read) = read else { return };
                if answer.send(read).is_err() {
                    return;
                }
            }
        })?;
        Ok(Connection { requests, answers })
    }
}

/// Calls `object.read(start, end, is_left)`, which returns bytes, or a kind of failure and its description.
fn read(object: &Bound<'_, PyAny>, request: Request) -> Answer {
    let Request { offset, len, is_left } = request;
    let raised = |error: PyErr| Failure::Final(RemoteFault::Failed(text_of(object.py(), &error)));
    let end = offset + len as u64;
    let answer = object.call_method1("read", (offset, end, is_left)).map_err(raised)?;
    if let Ok((kind, what)) = answer.extract::<(String, String)>() {
        return Err(match &kind[..] {
            "transient" | "busy" => Failure::Transient(what),
            "replaced" => Failure::Final(RemoteFault::Replaced),
            "missing" => Failure::Final(RemoteFault::Missing(what)),
            "denied" => Failure::Final(RemoteFault::Denied(what)),
            _ => Failure::Final(RemoteFault::Failed(what)),
        });
    }
    let bytes = PyBuffer::<u8>::get(&answer).and_then(|buffer| buffer.to_vec(object.py()));
    let bytes = bytes.map_err(raised)?;
    match bytes.len() == len {
        true => Ok(bytes),
        false => {
            let n = bytes.len();
            Err(Failure::Transient(format!(
                "{n} bytes were sent instead of {len}: try again later"
            )))
        }
    }
}

/// Calls `object.published_index(most)`, which returns bytes, None, or the reason why they are not used.
fn published_index(object: &Bound<'_, PyAny>, most: u64) -> Result<Option<Vec<u8>>, RemoteFault> {
    let raised = |error: PyErr| RemoteFault::Failed(text_of(object.py(), &error));
    let answer = object.call_method1("published_index", (most,)).map_err(raised)?;
    if answer.is_none() {
        return Ok(None);
    }
    if let Ok(why) = answer.extract::<String>() {
        return Err(RemoteFault::Failed(why));
    }
    let bytes = PyBuffer::<u8>::get(&answer).and_then(|buffer| buffer.to_vec(object.py()));
    bytes.map(Some).map_err(raised)
}

impl RangeBytes for RemoteObject {
    fn name(&self) -> Option<PathBuf> {
        Some(self.name.clone())
    }

    fn len(&self) -> u64 {
        self.size
    }

    fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    fn n_held(&self) -> u64 {
        self.n_held
    }

    fn messages(&self) -> &[Message] {
        &self.messages
    }

    fn read(
        &self,
        offset: u64,
        buffer: &mut [u8],
        stop: Option<&AtomicBool>,
    ) -> Result<u64, RemoteFault> {
        if std::process::id() != self.process {
            let what = "it was opened before this process was forked, and connections are not shared: open it in this \
                        process, or use a pool that starts its processes";
            return Err(RemoteFault::Failed(what.to_owned()));
        }
        let cancel = Cancel { stop, signals: n_signals() };
        let mut pauses = self.pauses.iter();
        for retries in 0.. {
            let failure = match self.ask(offset, buffer.len(), cancel) {
                Ok(bytes) => {
                    buffer.copy_from_slice(&bytes);
                    return Ok(retries);
                }
                Err(Failure::Final(fault)) => return Err(fault),
                Err(Failure::Transient(failure)) => failure,
            };
            let Some(&time) = pauses.next() else {
                let tries = retries + 1;
                return Err(RemoteFault::Failed(format!(
                    "no answer to {tries} requests, the last time because of: {failure}"
                )));
            };
            if !pause(time, cancel) {
                return Err(RemoteFault::Interrupted);
            }
        }
        unreachable!("there are few pauses")
    }

    fn published_index(
        &self,
        most: u64,
        stop: Option<&AtomicBool>,
    ) -> Result<Option<Vec<u8>>, RemoteFault> {
        let object = Arc::clone(&self.object);
        in_thread(Cancel { stop, signals: n_signals() }, move |py| {
            published_index(object.bind(py), most)
        })
    }

    fn for_worker(&self, secrets: bool) -> Vec<u8> {
        let data = Python::try_attach(|py| {
            self.object.bind(py).call_method1("for_worker", (secrets,))?.extract()
        });
        data.and_then(Result::<Vec<u8>, PyErr>::ok).unwrap_or_default()
    }
}
