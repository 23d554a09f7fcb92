//! Rust errors as Python exceptions; built-in ones where these fit.

use std::io::ErrorKind;

use pyo3::exceptions::{
    PyFileNotFoundError, PyIsADirectoryError, PyKeyboardInterrupt, PyMemoryError, PyOSError,
    PyPermissionError,
};
use pyo3::panic::PanicException;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use trajet_engine::{AnalysisError, Failure, RunError, TaskError, TaskFault};
use trajet_files::Error;

use crate::control;
use crate::remote::path_object;

/// Python module that defines the exceptions with two base classes.
const MODULE: &std::ffi::CStr = c"
class TrajetError(Exception):
    '''Anything that trajet refuses or that failed while it worked.'''
    __slots__ = ()

class FormatError(TrajetError, ValueError):
    '''The bytes of a file contradict its format.'''

class TruncatedError(FormatError):
    '''A file ends inside a frame.'''

class StaleIndexError(FormatError):
    '''A frame does not begin where the index says: the file has changed.

    Attributes
    ----------
    path
        The file, as a Path.
    '''
    path = None

class FrameError(TrajetError, IndexError):
    '''A frame out of range was asked for.'''

class SelectionError(TrajetError, ValueError):
    '''Atoms that cannot be selected, or that do not fit the trajectory.

    Attributes
    ----------
    only_in_mdanalysis
        Whether the text has a keyword that only MDAnalysis knows.
    '''
    only_in_mdanalysis = False

class OutputError(TrajetError, OSError):
    '''An output that cannot be written.'''

class AnalysisError(TrajetError, ValueError):
    '''A frame that the analysis cannot take: it has no cell, or no positions.'''

class TaskError(TrajetError, RuntimeError):
    '''A task failed through a defect of trajet.'''
    __slots__ = ()

class WorkerError(TrajetError, RuntimeError):
    '''A worker of a pool died or could not be reached.'''

class StoreError(TrajetError, ValueError):
    '''What a store refuses, or what is wrong with one.'''

class RemoteError(TrajetError, OSError):
    '''An object in remote storage that cannot be read.'''

class MissingPackageError(TrajetError, ImportError):
    '''A package that only this needs is not installed.'''

def describe_panic(error):
    message = RuntimeError.__str__(error)
    return 'internal error: ' + message + ': please report this, with the call that led to it'
";

/// Names of the exceptions, all of which the package exports.
const NAMES: [&str; 13] = [
    "TrajetError",
    "FormatError",
    "TruncatedError",
    "StaleIndexError",
    "FrameError",
    "SelectionError",
    "OutputError",
    "AnalysisError",
    "TaskError",
    "WorkerError",
    "StoreError",
    "RemoteError",
    "MissingPackageError",
];

/// Adds the exceptions to the native module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let names = PyDict::new(py);
    names.set_item("__name__", "trajet")?;
    py.run(MODULE, Some(&names), None)?;
    for name in NAMES {
        let class = names.get_item(name)?.expect("defined just now");
        module.add(name, class)?;
    }
    let describe = names.get_item("describe_panic")?.expect("defined just now");
    make_panics_ordinary(module, &describe)
}

/// Makes the exception of a panic, wherever one reaches Python, a `TaskError`: PyO3 derives it from `BaseException`,
/// which `except Exception` does not catch, and which no other process can load. A class can only get a base of the same
/// layout, so `TaskError` has no slots of its own.
fn make_panics_ordinary(module: &Bound<'_, PyModule>, describe: &Bound<'_, PyAny>) -> PyResult<()> {
    let panic = module.py().get_type::<PanicException>();
    panic.setattr("__bases__", (module.getattr("TaskError")?,))?;
    panic.setattr("__module__", "trajet._trajet")?;
    panic.setattr("__str__", describe)?;
    module.add("PanicException", panic)
}

/// Returns the exception for an error of a store.
pub(crate) fn from_store(py: Python<'_>, error: &trajet_store::Error) -> PyErr {
    use trajet_store::Error;

    match error {
        Error::Input(error) => from_io(py, error),
        Error::Run(RunError::Interrupted) | Error::Interrupted => PyKeyboardInterrupt::new_err(()),
        Error::Run(error) => from_run(py, error),
        Error::Io { source, .. } => from_os(source, error.to_string()),
        other => raised(py, "StoreError", other.to_string()),
    }
}

pub(crate) fn raised(py: Python<'_>, name: &str, message: String) -> PyErr {
    let make = || py.import("trajet._trajet")?.getattr(name)?.call1((message,));
    make().map_or_else(|error| error, PyErr::from_value)
}

/// Returns the exception for an error of the operating system.
pub(crate) fn from_os(source: &std::io::Error, message: String) -> PyErr {
    match source.kind() {
        ErrorKind::NotFound => PyFileNotFoundError::new_err(message),
        ErrorKind::PermissionDenied => PyPermissionError::new_err(message),
        ErrorKind::OutOfMemory => PyMemoryError::new_err(message),
        // Keeping `errno` preserves it when the exception is pickled.
        _ => match source.raw_os_error() {
            Some(code) => PyOSError::new_err((code, message)),
            None => PyOSError::new_err(message),
        },
    }
}

/// Returns the exception for an error of reading.
pub(crate) fn from_io(py: Python<'_>, error: &Error) -> PyErr {
    let message = error.to_string();
    let name = match error.root() {
        Error::Interrupted => return control::interruption(),
        Error::Memory { .. } => return PyMemoryError::new_err(message),
        Error::Io { source, .. } => {
            return from_os(source, message);
        }
        Error::NotAFile { folder: true, .. } => return PyIsADirectoryError::new_err(message),
        Error::NotAFile { .. } => return PyOSError::new_err(message),
        Error::Truncated { .. } | Error::Unwritten { .. } => "TruncatedError",
        Error::Stale { .. } | Error::Changed { .. } => "StaleIndexError",
        Error::CannotHold { .. }
        | Error::Exists { .. }
        | Error::Unnamed { .. }
        | Error::Unwritable { .. } => "OutputError",
        Error::PartGone { .. } => "StoreError",
        Error::Remote { .. } => "RemoteError",
        Error::FrameOutOfRange { .. } => "FrameError",
        Error::AtomOutOfRange { .. } => "SelectionError",
        Error::InPart { .. } => "StoreError",
        Error::Transform { .. } => "AnalysisError",
        _ => "FormatError",
    };
    let exception = raised(py, name, message);
    if let Some(path) = error.changed() {
        // The attribute is a convenience: the message contains the path.
        let _ = exception.value(py).setattr("path", path_object(py, path));
    }
    exception
}

/// Returns the exception for the first task that failed, with the others as notes.
pub(crate) fn from_run(py: Python<'_>, error: &RunError) -> PyErr {
    let RunError::Tasks(tasks) = error else { return PyKeyboardInterrupt::new_err(()) };
    let Some(first) = tasks.first() else { return raised(py, "TaskError", error.to_string()) };
    let exception = from_fault(py, &first.fault);
    if let Some(number) = first.analysis {
        // Exceptions of any class may carry it, unless they have no room for attributes.
        let _ = exception.value(py).setattr("analysis_number", number);
    }
    if let TaskFault::Analysis(AnalysisError::TooLarge { .. }) = first.fault {
        let _ = exception.value(py).setattr("is_too_large", true);
    }
    // An analysis that cannot take a frame cannot take others either.
    let is_other = |task: &&TaskError| task.analysis.is_none() || task.analysis != first.analysis;
    for task in tasks[1..].iter().filter(is_other) {
        let note = format!(
            "also failed: task {} ({} frames from position {}): {task}",
            task.task, task.frames, task.first
        );
        // Failing to add a note must not hide the error itself.
        let _ = exception.value(py).call_method1("add_note", (note,));
    }
    exception
}

/// Returns the exception for a failure.
pub(crate) fn from_failure(py: Python<'_>, failure: Failure) -> PyErr {
    from_run(py, &RunError::Tasks(vec![failure.into()]))
}

fn from_fault(py: Python<'_>, fault: &TaskFault) -> PyErr {
    let message = fault.to_string();
    match fault {
        TaskFault::Input(input) => from_io(py, input),
        TaskFault::Refused { .. } => raised(py, "AnalysisError", message),
        TaskFault::Analysis(AnalysisError::Caller(error)) => {
            let exception = error.downcast_ref::<PyErr>().map(|error| error.clone_ref(py));
            exception.unwrap_or_else(|| raised(py, "AnalysisError", message))
        }
        TaskFault::Analysis(AnalysisError::TooLarge { .. } | AnalysisError::Memory(_))
        | TaskFault::Memory { .. } => PyMemoryError::new_err(message),
        _ => raised(py, "TaskError", message),
    }
}
