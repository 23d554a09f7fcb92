//! Serialisation of values for other processes of the same version.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::{Deserialize, Serialize};

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
/// `ValueError` if the bytes are not of such a value.
pub(crate) fn from_bytes<T: for<'de> Deserialize<'de>>(bytes: &[u8]) -> PyResult<T> {
    postcard::from_bytes(bytes).map_err(|error| {
        PyValueError::new_err(format!(
            "not data of this version of trajet; do all processes run the same one? {error}"
        ))
    })
}
