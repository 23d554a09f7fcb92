//! Threads, progress and Ctrl-C: calls into the interpreter while the work runs without the GIL.

use pyo3::prelude::*;
use trajet_engine::Control;

/// Returns the number of threads that this process may use, by its affinity and its control group.
#[pyfunction]
pub(crate) fn available_threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
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
