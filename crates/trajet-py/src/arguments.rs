//! Deserialises parameters of analyses from Python: dicts, tuples, numbers, text, bytes, and NumPy arrays of one or
//! two dimensions.

use std::fmt::Display;

use numpy::Element;
use numpy::ndarray::{ArrayView1, ArrayView2};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use serde::de::value::{MapAccessDeserializer, MapDeserializer, SeqDeserializer};
use serde::de::{self, Deserialize, Deserializer, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;
use trajet_formats::memory;

use crate::aligned::{Aligned1, Aligned2};
use crate::error::from_io;

/// What memory is asked for, in messages.
pub(crate) const WHAT: &str = "the atoms of an analysis";

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
    T::deserialize(variant).map_err(|Fault(error)| *error)
}

/// A Python exception, as an error of serde. It is boxed, as a result is made for every number of an array.
#[derive(Debug)]
struct Fault(Box<PyErr>);

impl From<PyErr> for Fault {
    fn from(error: PyErr) -> Self {
        Fault(Box::new(error))
    }
}

impl Display for Fault {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(to)
    }
}

impl std::error::Error for Fault {}

impl de::Error for Fault {
    fn custom<T: Display>(message: T) -> Self {
        PyValueError::new_err(message.to_string()).into()
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
            visitor.visit_bool(value.extract()?)
        } else if value.is_instance_of::<PyInt>() {
            visitor.visit_i64(value.extract()?)
        } else if value.is_instance_of::<PyFloat>() {
            visitor.visit_f64(value.extract()?)
        } else if value.is_instance_of::<PyString>() {
            visitor.visit_string(value.extract()?)
        } else if let Ok(bytes) = value.cast::<PyBytes>() {
            visitor.visit_bytes(bytes.as_bytes())
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
                let unit: String = self.0.extract()?;
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
    dict.iter().map(|(key, value)| Ok((key.extract()?, Value(value)))).collect()
}

/// Deserialises an array: a sequence of numbers, or of rows of numbers.
fn array<'de, V: Visitor<'de>>(value: &Bound<'_, PyAny>, visitor: V) -> Result<V::Value, Fault> {
    let py = value.py();
    if let Ok(list) = value.extract::<Aligned1<'_, i64>>() {
        numbers(py, list.as_array(), visitor)
    } else if let Ok(list) = value.extract::<Aligned1<'_, f64>>() {
        numbers(py, list.as_array(), visitor)
    } else if let Ok(table) = value.extract::<Aligned2<'_, i64>>() {
        rows(py, table.as_array(), visitor)
    } else if let Ok(table) = value.extract::<Aligned2<'_, f32>>() {
        rows(py, table.as_array(), visitor)
    } else if let Ok(table) = value.extract::<Aligned2<'_, f64>>() {
        rows(py, table.as_array(), visitor)
    } else {
        let message = format!("a plan takes no {}: {value}", value.get_type());
        Err(PyTypeError::new_err(message).into())
    }
}

/// Deserialises numbers, unless there is not enough memory for a vector of them.
fn numbers<'de, V: Visitor<'de>, T: IntoDeserializer<'de, Fault> + Element + Copy>(
    py: Python<'_>,
    list: ArrayView1<'_, T>,
    visitor: V,
) -> Result<V::Value, Fault> {
    ask(py, list.len())?;
    // Borrows what is contiguous already, as below.
    let list = list.as_standard_layout();
    Row(list.as_slice().expect("in standard layout")).into_deserializer().deserialize_any(visitor)
}

/// Deserialises the rows of a table, unless there is not enough memory for a vector of them.
fn rows<'de, V: Visitor<'de>, T: IntoDeserializer<'de, Fault> + Element + Copy>(
    py: Python<'_>,
    table: ArrayView2<'_, T>,
    visitor: V,
) -> Result<V::Value, Fault> {
    ask(py, table.len())?;
    let table = table.as_standard_layout();
    let numbers = table.as_slice().expect("in standard layout");
    let rows = numbers.chunks(table.ncols().max(1)).map(Row);
    SeqDeserializer::new(rows).deserialize_any(visitor)
}

/// Checks that there is memory for `n` numbers, of which lists of the engine take up to 8 bytes each.
fn ask(py: Python<'_>, n: usize) -> Result<(), Fault> {
    memory::ask(n.saturating_mul(8), WHAT).map_err(|refused| from_io(py, &refused.into()).into())
}

/// Returns the bytes of all arrays in a dict, list or tuple, and in those that it contains.
///
/// # Errors
/// Those of Python's attributes, which arrays do not raise.
pub(crate) fn array_bytes(arguments: &Bound<'_, PyAny>) -> PyResult<usize> {
    if let Ok(dict) = arguments.cast::<PyDict>() {
        return dict.iter().map(|(_, value)| array_bytes(&value)).sum();
    }
    if arguments.is_instance_of::<PyList>() || arguments.is_instance_of::<PyTuple>() {
        return arguments.try_iter()?.map(|value| array_bytes(&value?)).sum();
    }
    arguments.getattr_opt("nbytes")?.map_or(Ok(0), |bytes| bytes.extract())
}

/// Consecutive numbers: a list, or a row of a table.
struct Row<'a, T>(&'a [T]);

impl<'a, 'de, T> IntoDeserializer<'de, Fault> for Row<'a, T>
where
    T: IntoDeserializer<'de, Fault> + Copy,
{
    type Deserializer = SeqDeserializer<std::iter::Copied<std::slice::Iter<'a, T>>, Fault>;

    fn into_deserializer(self) -> Self::Deserializer {
        SeqDeserializer::new(self.0.iter().copied())
    }
}
