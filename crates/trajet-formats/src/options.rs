//! Options of single formats, for opening files.

use serde::{Deserialize, Serialize};

use crate::{dcd, h5md};

/// Options that only one format has, each under the name of its format.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FormatOptions {
    /// Options of DCD.
    pub dcd: dcd::Options,
    /// Options of H5MD, and of the HDF5 layout of mdtraj.
    pub h5md: h5md::Options,
    /// Options of LAMMPS dumps.
    pub lammps: crate::lammps::Options,
    /// Options of XYZ.
    pub xyz: crate::xyz::Options,
}
