//! The native module of the Python package `trajet`: conversion only, no science.

mod arrays;
mod control;
mod error;
mod reader;
mod run;

use pyo3::prelude::*;

/// Native part of trajet.
#[pymodule]
fn _trajet(module: &Bound<'_, PyModule>) -> PyResult<()> {
    error::register(module)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("INSTRUCTION_SET", trajet_engine::report::INSTRUCTION_SET)?;
    module.add("DEBUG_BUILD", cfg!(debug_assertions))?;
    module.add_class::<reader::Reader>()?;
    module.add_class::<run::Plan>()?;
    module.add_function(wrap_pyfunction!(run::rmsd_plan, module)?)?;
    module.add_function(wrap_pyfunction!(run::run, module)?)?;
    module.add_function(wrap_pyfunction!(run::available_threads, module)?)?;
    Ok(())
}
