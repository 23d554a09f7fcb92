//! Deserialises parameters of analyses from Python: dicts, lists, tuples, numbers, text, bytes, and NumPy arrays.

use std::fmt::Display;

use numpy::PyReadonlyArray1;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use serde::de::value::{
    BytesDeserializer, MapAccessDeserializer, MapDeserializer, SeqDeserializer,
};
use serde::de::{self, Deserialize, Deserializer, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;
use trajet_formats::{AtomList, memory};

use crate::error::from_io;

/// The purpose of the memory, for messages.
pub(crate) const WHAT: &str = "the atoms of an analysis";
/// Copies of a list that are made of it: numbers of a request, and its distinct atoms, twice.
const COPIES: usize = 3;

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
    T::deserialize(variant).map_err(|ArgumentError(error)| *error)
}

/// Returns the struct whose fields are the entries of a dict.
///
/// # Errors
/// As [`from_arguments`].
pub(crate) fn from_dict<T: for<'de> Deserialize<'de>>(fields: &Bound<'_, PyDict>) -> PyResult<T> {
    T::deserialize(Value(fields.clone().into_any())).map_err(|ArgumentError(error)| *error)
}

/// A Python exception, as an error of serde. It is boxed, as results are made for every value.
#[derive(Debug)]
struct ArgumentError(Box<PyErr>);

impl From<PyErr> for ArgumentError {
    fn from(error: PyErr) -> Self {
        ArgumentError(Box::new(error))
    }
}

impl Display for ArgumentError {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(to)
    }
}

impl std::error::Error for ArgumentError {}

impl de::Error for ArgumentError {
    fn custom<T: Display>(message: T) -> Self {
        PyValueError::new_err(message.to_string()).into()
    }
}

/// A Python object.
struct Value<'py>(Bound<'py, PyAny>);

impl<'de> IntoDeserializer<'de, ArgumentError> for Value<'_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Value<'_> {
    type Error = ArgumentError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ArgumentError> {
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
        } else if let Some(to_list) = value.getattr_opt("tolist")? {
            // Short arrays; long ones are deserialised as the numbers of a type.
            Value(to_list.call0()?).deserialize_any(visitor)
        } else {
            let message = format!("a plan takes no {}: {value}", value.get_type());
            Err(PyTypeError::new_err(message).into())
        }
    }

    /// Accepts an array or a list of the numbers that `name` names.
    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ArgumentError> {
        let numbers = numbers(&self.0, name)?;
        let bytes = numbers.as_slice().map_err(|error| PyValueError::new_err(error.to_string()))?;
        memory::ask(bytes.len().saturating_mul(COPIES), WHAT)
            .map_err(|refused| from_io(self.0.py(), &refused.into()))?;
        visitor.visit_newtype_struct(BytesDeserializer::new(bytes))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ArgumentError> {
        if self.0.is_none() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    /// Accepts the name of a variant, or a dict with its name and its contents.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ArgumentError> {
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
        seq tuple tuple_struct map struct identifier ignored_any
    }
}

/// Returns the entries of a dict whose keys are text.
fn entries<'py>(dict: &Bound<'py, PyDict>) -> Result<Vec<(String, Value<'py>)>, ArgumentError> {
    dict.iter().map(|(key, value)| Ok((key.extract()?, Value(value)))).collect()
}

/// Returns the bytes of an array or a list of numbers as an array of a type: atoms and integers of integers, floats of
/// floats.
fn numbers<'py>(
    value: &Bound<'py, PyAny>,
    name: &'static str,
) -> PyResult<PyReadonlyArray1<'py, u8>> {
    let numpy = value.py().import("numpy")?;
    let array = numpy.call_method1("asarray", (value,))?;
    let is_float = name.starts_with("float");
    let kind: String = array.getattr("dtype")?.getattr("kind")?.extract()?;
    let fits = if is_float { kind == "f" } else { kind == "i" || kind == "u" };
    if !fits && array.len()? > 0 {
        let message = format!("a plan takes {name}, not {}: {value}", array.getattr("dtype")?);
        return Err(PyTypeError::new_err(message));
    }
    let size: usize = array.getattr("size")?.extract()?;
    memory::ask(size.saturating_mul(8), WHAT)
        .map_err(|refused| from_io(value.py(), &refused.into()))?;
    let name = if name == AtomList::NAME { "int64" } else { name };
    let converted = numpy.call_method1("ascontiguousarray", (&array, name))?;
    // Negative numbers would become large ones.
    if !is_float
        && !converted.is(&array)
        && !numpy.call_method1("array_equal", (&converted, &array))?.is_truthy()?
    {
        return Err(PyValueError::new_err(format!("numbers are out of the range of {name}")));
    }
    converted.call_method1("reshape", (-1,))?.call_method1("view", ("uint8",))?.extract()
}
