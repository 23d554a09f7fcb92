//! Messages, which are `trajet.messages.Message` in Python.

use pyo3::prelude::*;
use trajet_formats::{Code, Message};

/// A message that is converted by the name of its code.
pub(crate) struct PyMessage(pub(crate) Message);

impl<'py> IntoPyObject<'py> for PyMessage {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let PyMessage(message) = self;
        let fix = message.fix();
        let of_native = py.import("trajet.messages")?.getattr("of_native")?;
        of_native.call1((message.code.name(), message.text, fix))
    }
}

impl<'py> FromPyObject<'_, 'py> for PyMessage {
    type Error = PyErr;

    fn extract(message: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let code: String = message.getattr("code")?.getattr("text")?.extract()?;
        let text: String = message.extract()?;
        Ok(PyMessage(match Code::named(&code) {
            Some(code) => code.message_shown_as(&text),
            None => Code::Unknown.message(format!("{code}: {text}")),
        }))
    }
}

/// Returns messages for Python.
pub(crate) fn to_python(messages: Vec<Message>) -> Vec<PyMessage> {
    messages.into_iter().map(PyMessage).collect()
}

/// Returns the name of each code, its meaning, and what to do.
pub(crate) fn table() -> Vec<(&'static str, &'static str, &'static str)> {
    Code::ALL.iter().map(|code| (code.name(), code.meaning(), code.fix())).collect()
}
