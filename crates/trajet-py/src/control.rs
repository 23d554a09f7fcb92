//! Threads, progress and Ctrl-C: calls into the interpreter while the work runs without the GIL.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use trajet_engine::Control;

/// Atoms read between two checks for Ctrl-C: some tens of milliseconds.
pub(crate) const ATOMS_BETWEEN_SIGNALS: usize = 4_000_000;
/// Frames read between two checks, for frames of few atoms.
pub(crate) const FRAMES_BETWEEN_SIGNALS: usize = 20_000;

/// Returns the number of threads that this process may use, by its affinity and its control group.
#[pyfunction]
pub(crate) fn available_threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The exception of a signal that came while a request waited, until [`interruption`] takes it.
static RAISED: Mutex<Option<PyErr>> = Mutex::new(None);

/// Number of signals that came while requests waited.
static SIGNALS: AtomicU64 = AtomicU64::new(0);

/// Returns the number of signals that have ended waiting requests so far.
pub(crate) fn n_signals() -> u64 {
    SIGNALS.load(Ordering::Relaxed)
}

/// Returns whether a signal came that ends what the main thread does. The exception is kept for [`interruption`].
pub(crate) fn has_signal() -> bool {
    let raised = Python::try_attach(|py| py.check_signals().err()).flatten();
    let has = raised.is_some();
    if has {
        SIGNALS.fetch_add(1, Ordering::Relaxed);
        *RAISED.lock().unwrap_or_else(PoisonError::into_inner) = raised;
    }
    has
}

/// Returns the exception of a cancelled read: that of the signal that came, if one did.
pub(crate) fn interruption() -> PyErr {
    let raised = RAISED.lock().unwrap_or_else(PoisonError::into_inner).take();
    raised.unwrap_or_else(|| PyKeyboardInterrupt::new_err(()))
}

/// Shows progress and checks for Ctrl-C in the interpreter.
pub(crate) struct FromPython {
    progress: Option<Py<PyAny>>,
    raised: Option<PyErr>,
}

impl FromPython {
    /// Calls `progress(done, total)`, if given, every 100 ms.
    pub(crate) fn new(progress: Option<Py<PyAny>>) -> Self {
        FromPython { progress, raised: None }
    }

    /// Returns the exception that was raised meanwhile: `KeyboardInterrupt`, or an error of `progress`.
    pub(crate) fn check(self) -> PyResult<()> {
        self.raised.map_or(Ok(()), Err)
    }
}

impl Control for FromPython {
    fn progress(&mut self, done: usize, total: usize) {
        let Some(progress) = &self.progress else { return };
        let called = Python::attach(|py| progress.call1(py, (done, total)).map(drop));
        self.raised = self.raised.take().or(called.err());
    }

    fn interrupted(&mut self) -> bool {
        if self.raised.is_none() {
            self.raised = Python::attach(|py| py.check_signals()).err();
        }
        self.raised.is_some()
    }
}
