//! NumPy arrays of callers, aligned.
//!
//! References to numbers must be aligned, and an array need not be: one that arrived in a message begins anywhere in it,
//! and one without elements, which NumPy always calls aligned, anywhere at all.

use std::ops::Deref;

use numpy::ndarray::{Dimension, Ix1, Ix2, Ix3};
use numpy::{Element, PyReadonlyArray, PyUntypedArrayMethods};
use pyo3::prelude::*;

/// An array to read. An array that may not be aligned is copied.
pub(crate) struct Aligned<'py, T: Element, D: Dimension>(PyReadonlyArray<'py, T, D>);

/// An [`Aligned`] array of one axis.
pub(crate) type Aligned1<'py, T> = Aligned<'py, T, Ix1>;
/// An [`Aligned`] array of two axes.
pub(crate) type Aligned2<'py, T> = Aligned<'py, T, Ix2>;
/// An [`Aligned`] array of three axes.
pub(crate) type Aligned3<'py, T> = Aligned<'py, T, Ix3>;

impl<'py, T: Element, D: Dimension> FromPyObject<'_, 'py> for Aligned<'py, T, D> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let array: PyReadonlyArray<'py, T, D> = object.extract()?;
        if array.is_aligned() && array.len() > 0 {
            return Ok(Self(array));
        }
        Ok(Self(object.call_method0("copy")?.extract()?))
    }
}

impl<'py, T: Element, D: Dimension> Deref for Aligned<'py, T, D> {
    type Target = PyReadonlyArray<'py, T, D>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}
