//! The native module of the Python package `trajet`: conversion only, no science.

mod aligned;
mod apply;
mod arguments;
mod arrays;
mod constants;
mod control;
mod convert;
mod cursor;
mod deviations;
mod error;
mod formats;
mod geometry;
mod h5md;
mod leftovers;
mod lifetimes;
mod messages;
mod mount;
mod pairwise;
mod parts;
mod plan;
mod reader;
mod remote;
mod report;
mod run;
mod selection;
mod serialize;
mod store;
mod stored;
mod topology;
mod topology_sidecar;
mod transforms;
mod writer;

use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;
use trajet_simd::InstructionSet;

/// Native part of trajet.
#[pymodule]
fn _trajet(module: &Bound<'_, PyModule>) -> PyResult<()> {
    error::register(module)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    InstructionSet::check().map_err(PyImportError::new_err)?;
    module.add("INSTRUCTION_SET", InstructionSet::chosen().name())?;
    let sets: Vec<_> = InstructionSet::available().iter().map(|set| set.name()).collect();
    module.add("INSTRUCTION_SETS", sets)?;
    module.add("MESSAGES_ATTRIBUTE", trajet_formats::messages::ATTRIBUTE)?;
    module.add("MESSAGE_CODES", messages::table())?;
    constants::register(module)?;
    module.add("FORMATS", formats::table(module.py())?)?;
    module.add_class::<formats::PyFormatInfo>()?;
    module.add_function(wrap_pyfunction!(formats::is_hdf5, module)?)?;
    module.add_function(wrap_pyfunction!(formats::check_format_options, module)?)?;
    module.add("DEBUG_BUILD", cfg!(debug_assertions))?;
    // Set by the Makefile for the profile `gate`.
    module.add("TEST_BUILD", option_env!("TRAJET_TEST_BUILD").is_some())?;
    module.add_class::<reader::Reader>()?;
    module.add_class::<reader::Parts>()?;
    module.add_class::<cursor::PyCursor>()?;
    module.add_class::<plan::Plan>()?;
    module.add_class::<store::PyStore>()?;
    module.add_class::<pairwise::CentredFrames>()?;
    module.add_class::<deviations::Deviations>()?;
    module.add_class::<parts::PyPass>()?;
    module.add_class::<parts::PyWorkerTrajectory>()?;
    module.add_class::<parts::PyStates>()?;
    module.add_class::<parts::Stop>()?;
    module.add_class::<transforms::Transforms>()?;
    module.add_class::<lifetimes::PyCorrelation>()?;
    module.add_class::<topology::Topology>()?;
    module.add_class::<topology::StructureFile>()?;
    module.add_function(wrap_pyfunction!(topology::connected, module)?)?;
    module.add_function(wrap_pyfunction!(topology::element_symbol, module)?)?;
    module.add_function(wrap_pyfunction!(topology::is_protein, module)?)?;
    module.add_function(wrap_pyfunction!(topology::van_der_waals_radius, module)?)?;
    module.add_class::<topology_sidecar::TopologySidecar>()?;
    module.add_function(wrap_pyfunction!(topology::first_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(topology::read_structure, module)?)?;
    module.add_function(wrap_pyfunction!(topology::structure_text, module)?)?;
    module.add_class::<writer::PyWriter>()?;
    module.add_class::<selection::SelectionText>()?;
    module.add_class::<selection::PyUpdatingSelection>()?;
    module.add_function(wrap_pyfunction!(selection::select_atoms, module)?)?;
    module.add_function(wrap_pyfunction!(parts::task, module)?)?;
    module.add_function(wrap_pyfunction!(parts::leaf_frames, module)?)?;
    module.add_function(wrap_pyfunction!(parts::n_tasks, module)?)?;
    module.add_function(wrap_pyfunction!(convert::convert, module)?)?;
    module.add_function(wrap_pyfunction!(convert::join_pieces, module)?)?;
    module.add_function(wrap_pyfunction!(leftovers::process_mark, module)?)?;
    module.add_function(wrap_pyfunction!(leftovers::temporary_name, module)?)?;
    module.add_function(wrap_pyfunction!(leftovers::destination, module)?)?;
    module.add_function(wrap_pyfunction!(leftovers::create_file_beside, module)?)?;
    module.add_function(wrap_pyfunction!(leftovers::publish_file, module)?)?;
    module.add_function(wrap_pyfunction!(leftovers::remove_leftovers, module)?)?;
    module.add_function(wrap_pyfunction!(leftovers::end_process, module)?)?;
    module.add_function(wrap_pyfunction!(geometry::pair_distances, module)?)?;
    module.add_function(wrap_pyfunction!(geometry::shortest_lattice_vector, module)?)?;
    module.add_function(wrap_pyfunction!(geometry::contact_pairs, module)?)?;
    module.add_function(wrap_pyfunction!(run::run, module)?)?;
    module.add_function(wrap_pyfunction!(h5md::pack_chunks, module)?)?;
    module.add_function(wrap_pyfunction!(h5md::cells_of_vectors, module)?)?;
    module.add_function(wrap_pyfunction!(control::available_threads, module)?)?;
    module.add_function(wrap_pyfunction!(store::write_down_use, module)?)?;
    module.add_function(wrap_pyfunction!(store::file_digest, module)?)?;
    Ok(())
}
