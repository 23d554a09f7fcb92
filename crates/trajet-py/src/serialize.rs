//! Serialisation of values for other processes of the same version.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::{Deserialize, Serialize};
use trajet_formats::memory;

use crate::error::from_io;

/// Copies of data that are made of it: lists of numbers, and what is derived from them.
const COPIES: usize = 3;

/// Serialises a value.
///
/// # Errors
/// `ValueError` if the value cannot be serialised.
pub(crate) fn to_bytes<T: Serialize>(value: &T) -> PyResult<Vec<u8>> {
    postcard::to_stdvec(value).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Deserialises a value from [`to_bytes`].
///
/// # Errors
/// `ValueError` if the bytes are not of such a value, `MemoryError` if there is no memory for it.
pub(crate) fn from_bytes<T: for<'de> Deserialize<'de>>(bytes: &[u8]) -> PyResult<T> {
    // Asked before, as the codec cannot tell refused memory from other data.
    memory::ask(bytes.len().saturating_mul(COPIES), "data of another process")
        .map_err(|refused| Python::attach(|py| from_io(py, &refused.into())))?;
    postcard::from_bytes(bytes).map_err(|error| {
        PyValueError::new_err(format!(
            "not data of this version of trajet; do all processes run the same one? {error}"
        ))
    })
}
