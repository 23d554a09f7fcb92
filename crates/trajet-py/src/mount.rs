//! Mounts of stores, on systems that have FUSE.

use std::path::Path;

use pyo3::prelude::*;
use trajet_store::Store;

/// Mounts a store until it is unmounted, or until Ctrl-C.
#[cfg(target_os = "linux")]
pub(crate) fn serve(
    py: Python<'_>,
    store: &Store,
    folder: &Path,
    threads: usize,
    ready: &Py<PyAny>,
    say: &Py<PyAny>,
) -> PyResult<()> {
    use crate::error::from_store;
    use trajet_store::mount::Mount;

    let begun = py.detach(|| Mount::begin(store.clone(), folder, threads));
    let mut mount = begun.map_err(|error| from_store(py, &error))?;
    let watched = ready.call0(py).and_then(|_| watch(py, &mount, say));
    let ended = py.detach(|| mount.end());
    forward_messages(py, &mount, say)?;
    watched?;
    ended.map_err(|error| from_store(py, &error))
}

/// Raises a `StoreError`: there is no mount here.
#[cfg(not(target_os = "linux"))]
pub(crate) fn serve(
    py: Python<'_>,
    _store: &Store,
    _folder: &Path,
    _threads: usize,
    _ready: &Py<PyAny>,
    _say: &Py<PyAny>,
) -> PyResult<()> {
    let message = "stores are mounted on Linux only: read the data set by its path, or write a file of it with \
                   trajet store get";
    Err(crate::error::raised(py, "StoreError", message.into()))
}

/// Waits for the end of a mount, or for Ctrl-C, and forwards its messages.
#[cfg(target_os = "linux")]
fn watch(py: Python<'_>, mount: &trajet_store::mount::Mount, say: &Py<PyAny>) -> PyResult<()> {
    loop {
        let has_ended = mount.has_ended();
        forward_messages(py, mount, say)?;
        if has_ended {
            return Ok(());
        }
        py.detach(|| std::thread::sleep(trajet_engine::run::POLL_INTERVAL));
        py.check_signals()?;
    }
}

#[cfg(target_os = "linux")]
fn forward_messages(
    py: Python<'_>,
    mount: &trajet_store::mount::Mount,
    say: &Py<PyAny>,
) -> PyResult<()> {
    mount.messages().into_iter().try_for_each(|message| say.call1(py, (message,)).map(drop))
}
