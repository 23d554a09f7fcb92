//! Constants of the engine that Python code needs too.

use pyo3::prelude::*;

/// Adds the constants to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("SHORTEST_CELL", trajet_kernels::cell::SHORTEST_CELL)?;
    module.add("HEAVIEST_HYDROGEN", trajet_topology::HEAVIEST_HYDROGEN)?;
    module.add("MODIFIED_AMINO_ACIDS", trajet_topology::select::MODIFIED_AMINO_ACIDS)?;
    module.add("MAX_UNCONNECTED", trajet_topology::MAX_UNCONNECTED)?;
    module.add("UNNAMED_SEGMENT", trajet_topology::UNNAMED_SEGMENT)?;
    module.add("MAX_BLOCKS_OF_ERRORS", trajet_engine::plan::MAX_BLOCKS)?;
    module.add("DEFAULT_REQUEST_SIZE", trajet_files::DEFAULT_REQUEST_SIZE)?;
    module.add("DEFAULT_CONNECTIONS", trajet_files::remote::DEFAULT_CONNECTIONS)?;
    module.add("MAX_OF_A_DEFLATED_BYTE", trajet_formats::h5md::chunk_map::MAX_OF_A_BYTE)?;
    module.add("MAX_TIERS", trajet_store::MAX_TIERS)?;
    module.add("STORE_SETTINGS", trajet_store::SETTINGS)?;
    module.add("STORE_MANIFEST", trajet_store::MANIFEST)?;
    module.add("STORE_ACCESS_LOG", trajet_store::ACCESS_LOG)
}
