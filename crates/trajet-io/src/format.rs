//! The formats of trajectories.

use std::path::Path;

use crate::frame::Extra;

/// The formats that are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// GROMACS' compressed format.
    Xtc,
    /// GROMACS' format of full precision.
    Trr,
    /// The format of CHARMM and NAMD.
    Dcd,
    /// The NetCDF format of Amber.
    Ncdf,
    /// H5MD: here its numbers alone are written, of which HDF5's library makes a file.
    H5md,
}

impl Format {
    /// The word that messages use, and readers.
    pub fn name(self) -> &'static str {
        match self {
            Format::Xtc => "XTC",
            Format::Trr => "TRR",
            Format::Dcd => "DCD",
            Format::Ncdf => "NCDF",
            Format::H5md => "H5MD",
        }
    }

    /// The format of that name.
    pub fn named(name: &str) -> Option<Format> {
        let all = [Format::Xtc, Format::Trr, Format::Dcd, Format::Ncdf, Format::H5md];
        all.into_iter().find(|f| f.name() == name)
    }

    /// The format that the ending of a path names; none where that is of no format.
    pub fn of(path: &Path) -> Option<Format> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "xtc" => Some(Format::Xtc),
            "trr" => Some(Format::Trr),
            "dcd" => Some(Format::Dcd),
            "nc" | "ncdf" => Some(Format::Ncdf),
            _ => None,
        }
    }
}

impl Format {
    /// Whether its files can have room for it.
    pub fn can_keep(self, extra: Extra) -> bool {
        match (self, extra) {
            (Format::Dcd, Extra::Fourth) => true,
            (Format::Xtc | Format::Dcd, _) | (_, Extra::Fourth) => false,
            (Format::Trr | Format::Ncdf | Format::H5md, Extra::Velocities | Extra::Forces) => true,
        }
    }
}
