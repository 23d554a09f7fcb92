//! Deserialises parameters of analyses from Python: dicts, tuples, numbers, text, and NumPy arrays of one or two
//! dimensions.

use std::fmt::Display;

use numpy::ndarray::ArrayView2;
use numpy::{Element, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use serde::de::value::{MapAccessDeserializer, MapDeserializer, SeqDeserializer};
use serde::de::{self, Deserialize, Deserializer, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;
use trajet_io::memory;

use crate::error::from_io;

/// Returns the value that is deserialised from the variant `name` of an enum with the contents `arguments`.
///
/// # Errors
/// `ValueError` or `TypeError` if names or types do not match, `MemoryError` if there is not enough memory.
pub(crate) fn from_arguments<T: for<'de> Deserialize<'de>>(
    name: &str,
    arguments: &Bound<'_, PyAny>,
) -> PyResult<T> {
    let entry = std::iter::once((name, Value(arguments.clone())));
    let variant = MapAccessDeserializer::new(MapDeserializer::new(entry));
    T::deserialize(variant).map_err(|Fault(error)| error)
}

/// A Python exception, as an error of serde.
#[derive(Debug)]
struct Fault(PyErr);

impl Display for Fault {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(to)
    }
}

impl std::error::Error for Fault {}

impl de::Error for Fault {
    fn custom<T: Display>(message: T) -> Self {
        Fault(PyValueError::new_err(message.to_string()))
    }
}

/// A Python object.
struct Value<'py>(Bound<'py, PyAny>);

impl<'de> IntoDeserializer<'de, Fault> for Value<'_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Value<'_> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let Value(value) = &self;
        // A bool is an int of Python, too.
        if value.is_instance_of::<PyBool>() {
            visitor.visit_bool(value.extract().map_err(Fault)?)
        } else if value.is_instance_of::<PyInt>() {
            visitor.visit_i64(value.extract().map_err(Fault)?)
        } else if value.is_instance_of::<PyFloat>() {
            visitor.visit_f64(value.extract().map_err(Fault)?)
        } else if value.is_instance_of::<PyString>() {
            visitor.visit_string(value.extract().map_err(Fault)?)
        } else if let Ok(dict) = value.cast::<PyDict>() {
            visitor.visit_map(MapDeserializer::new(entries(dict)?.into_iter()))
        } else if let Ok(list) = value.cast::<PyList>() {
            SeqDeserializer::new(list.iter().map(Value)).deserialize_any(visitor)
        } else if let Ok(tuple) = value.cast::<PyTuple>() {
            SeqDeserializer::new(tuple.iter().map(Value)).deserialize_any(visitor)
        } else {
            array(value, visitor)
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        if self.0.is_none() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    /// Accepts the name of a variant, or a dict with its name and its contents.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        match self.0.cast::<PyDict>() {
            Ok(dict) => {
                let map = MapDeserializer::new(entries(dict)?.into_iter());
                MapAccessDeserializer::new(map).deserialize_enum(name, variants, visitor)
            }
            Err(_) => {
                let unit: String = self.0.extract().map_err(Fault)?;
                unit.into_deserializer().deserialize_enum(name, variants, visitor)
            }
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        newtype_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

/// Returns the entries of a dict whose keys are text.
fn entries<'py>(dict: &Bound<'py, PyDict>) -> Result<Vec<(String, Value<'py>)>, Fault> {
    dict.iter().map(|(key, value)| Ok((key.extract().map_err(Fault)?, Value(value)))).collect()
}

/// Deserialises an array: a sequence of numbers, or of rows of numbers.
fn array<'de, V: Visitor<'de>>(value: &Bound<'_, PyAny>, visitor: V) -> Result<V::Value, Fault> {
    let py = value.py();
    if let Ok(list) = value.extract::<PyReadonlyArray1<'_, i64>>() {
        numbers(py, list.as_array().iter().copied(), visitor)
    } else if let Ok(list) = value.extract::<PyReadonlyArray1<'_, f64>>() {
        numbers(py, list.as_array().iter().copied(), visitor)
    } else if let Ok(table) = value.extract::<PyReadonlyArray2<'_, i64>>() {
        rows(py, table.as_array(), visitor)
    } else if let Ok(table) = value.extract::<PyReadonlyArray2<'_, f32>>() {
        rows(py, table.as_array(), visitor)
    } else {
        let message = format!("a plan takes no {}: {value}", value.get_type());
        Err(Fault(PyTypeError::new_err(message)))
    }
}

/// Deserialises numbers, unless there is not enough memory for a vector of them.
fn numbers<'de, V: Visitor<'de>, T: IntoDeserializer<'de, Fault>>(
    py: Python<'_>,
    numbers: impl ExactSizeIterator<Item = T>,
    visitor: V,
) -> Result<V::Value, Fault> {
    ask::<T>(py, numbers.len())?;
    SeqDeserializer::new(numbers).deserialize_any(visitor)
}

/// Deserialises the rows of a table, unless there is not enough memory for a vector of them.
fn rows<'de, V: Visitor<'de>, T: IntoDeserializer<'de, Fault> + Element + Copy>(
    py: Python<'_>,
    table: ArrayView2<'_, T>,
    visitor: V,
) -> Result<V::Value, Fault> {
    ask::<T>(py, table.len())?;
    let rows = table.rows().into_iter().map(|row| Row(row.to_vec()));
    SeqDeserializer::new(rows).deserialize_any(visitor)
}

/// Checks that there is memory for `n` numbers: the vector while it grows, and (an estimate) copies of it, maps of atoms
/// to columns and references stored by axis in the plan of the analysis.
fn ask<T>(py: Python<'_>, n: usize) -> Result<(), Fault> {
    memory::ask((10 * size_of::<T>()).saturating_mul(n), "the atoms of an analysis")
        .map_err(|refused| Fault(from_io(py, &refused.into())))
}

/// A row of a table.
struct Row<T>(Vec<T>);

impl<'de, T: IntoDeserializer<'de, Fault>> IntoDeserializer<'de, Fault> for Row<T> {
    type Deserializer = SeqDeserializer<std::vec::IntoIter<T>, Fault>;

    fn into_deserializer(self) -> Self::Deserializer {
        SeqDeserializer::new(self.0.into_iter())
    }
}
