//! Raw frames: a frame exactly as its format stores it, for writers and the store.
//!
//! Positions that were converted to `f32` Å do not restore the stored numbers; a raw frame does. Each
//! format defines the type of its own frames.

use serde::{Deserialize, Serialize};

use crate::dcd::frame as dcd;
use crate::h5md::frame as h5md;
use crate::ncdf::frame as ncdf;
use crate::ncdf::layout::Further;
use crate::trr::frame as trr;
use crate::xtc::frame as xtc;
use crate::xxh3_64;

mod extra;
mod join;

/// One frame as its format stores it.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Raw {
    /// A frame of GROMACS' compressed format.
    Xtc(xtc::Frame),
    /// A frame of GROMACS' full-precision format.
    Trr(trr::Frame),
    /// A frame of the format of CHARMM and NAMD.
    Dcd(dcd::Frame),
    /// A frame of Amber's NetCDF format.
    Ncdf(Box<ncdf::Frame>),
    /// A frame of H5MD or of mdtraj's HDF5 layout.
    H5md(Box<h5md::Frame>),
}

impl Raw {
    /// Returns the frame with only `atoms`, in that order.
    ///
    /// # Panics
    /// If an index is not below the number of atoms.
    #[must_use]
    pub fn take(&self, atoms: &[usize]) -> Raw {
        match self {
            Raw::Xtc(frame) => Raw::Xtc(frame.take(atoms)),
            Raw::Trr(frame) => Raw::Trr(frame.take(atoms)),
            Raw::Dcd(frame) => Raw::Dcd(frame.take(atoms)),
            Raw::Ncdf(frame) => Raw::Ncdf(Box::new(frame.take(atoms))),
            Raw::H5md(frame) => Raw::H5md(Box::new(frame.take(atoms))),
        }
    }

    /// Returns the frame without its atoms: time, step, box and the other data of the whole frame.
    #[must_use]
    pub fn head(&self) -> Raw {
        self.take(&[])
    }

    /// Sets the time of the frame (ps), in the precision and unit of its format. Frames that hold no time stay so.
    pub fn set_time(&mut self, time: f64) {
        match self {
            Raw::Xtc(frame) => frame.time = time as f32,
            Raw::Trr(frame) => {
                frame.time = if frame.double { time } else { f64::from(time as f32) };
            }
            Raw::Dcd(_) => {}
            Raw::Ncdf(frame) => frame.set_time(time),
            Raw::H5md(frame) => frame.set_time(time),
        }
    }

    /// Returns the XXH3 digest of all data of the frame. Stores keep it together with a version number, which
    /// must be raised when the digest of an unchanged frame changes.
    pub fn digest(&self) -> u64 {
        xxh3_64(&self.to_bytes())
    }

    fn to_bytes(&self) -> Vec<u8> {
        let bytes = postcard::to_stdvec(self).expect("memory takes it");
        let Some(Further { layout, values }) = self.further() else { return bytes };
        postcard::to_extend(&(&**layout, values), bytes).expect("memory takes it")
    }

    /// Returns the layout of the frame's NetCDF file and the values of variables that the convention does not
    /// name; `None` for other formats.
    pub fn further(&self) -> Option<&Further> {
        match self {
            Raw::Ncdf(frame) => frame.further.as_ref(),
            _ => None,
        }
    }

    /// Describes the variables and global attributes of the frame's file that the format's convention does not
    /// name. Other formats cannot store them.
    pub fn further_names(&self) -> Vec<String> {
        self.further().map_or_else(Vec::new, |further| further.layout.further_names())
    }

    /// Returns the names of the variables that the convention does not name and that have per-atom values.
    pub fn per_atom_names(&self) -> Vec<String> {
        self.further().map_or_else(Vec::new, |further| further.layout.per_atom_names())
    }

    /// Whether this frame, restored from a store, is what the store can keep of `now`. Variables with several
    /// atom dimensions are ignored, since they cannot be partitioned, and so are layouts of NetCDF files if
    /// this frame has none: earlier stores did not keep them.
    pub fn is_kept_of(&self, mut now: Raw) -> bool {
        if self.further().is_none() {
            now.forget_further();
        }
        // Taking all atoms drops variables with several atom dimensions.
        let all: Vec<usize> = (0..now.n_atoms()).collect();
        self.says(&now) || self.says(&now.take(&all))
    }

    /// Removes the layout of the file and all variables that the format's convention does not name.
    pub fn forget_further(&mut self) {
        if let Raw::Ncdf(frame) = self {
            frame.further = None;
        }
    }

    /// Whether both frames hold the same data. Unlike with `==`, equal NaNs are equal.
    pub fn says(&self, other: &Raw) -> bool {
        // The serialised bytes of equal NaNs are equal.
        self == other || self.to_bytes() == other.to_bytes()
    }

    /// Whether one file can hold both frames without conversion: variables, precision, scale factors and the
    /// form of the cell are declared once for all frames of a file.
    pub fn is_like(&self, other: &Raw) -> bool {
        match (self, other) {
            (Raw::Xtc(_), Raw::Xtc(_)) | (Raw::Trr(_), Raw::Trr(_)) => true,
            (Raw::Dcd(one), Raw::Dcd(other)) => one.is_like(other),
            (Raw::Ncdf(one), Raw::Ncdf(other)) => one.is_like(other),
            (Raw::H5md(one), Raw::H5md(other)) => one.is_like(other),
            _ => false,
        }
    }

    /// Returns the number of atoms in the frame.
    pub fn n_atoms(&self) -> usize {
        match self {
            Raw::Xtc(frame) => frame.n_atoms(),
            Raw::Trr(frame) => frame.n_atoms(),
            Raw::Dcd(frame) => frame.n_atoms(),
            Raw::Ncdf(frame) => frame.n_atoms(),
            Raw::H5md(frame) => frame.n_atoms(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dcd::CellForm;
    use crate::ncdf::{Frame, Scale, Stored, Values};

    #[test]
    fn frames_are_alike_if_one_header_describes_both() {
        let with = |values: Values, scale_factor| {
            let coordinates = Stored { values, scale_factor };
            let (velocities, forces, cell, further) = (None, None, None, None);
            let frame = Frame { time: None, coordinates, velocities, forces, cell, further };
            Raw::Ncdf(Box::new(frame))
        };
        let float = with(Values::Float(vec![1.0; 3]), None);
        assert!(float.is_like(&with(Values::Float(vec![2.0; 3]), None)));
        assert!(!float.is_like(&with(Values::Double(vec![1.0; 3]), None)));
        assert!(!float.is_like(&with(Values::Float(vec![1.0; 3]), Some(Scale::Float(2.0)))));
        let nan = || with(Values::Float(vec![f32::NAN; 3]), None);
        assert!(nan() != nan() && nan().says(&nan()) && !nan().says(&float) && float.says(&float));
        let dcd = |cell, n| {
            let axes = vec![vec![0.0]; n];
            Raw::Dcd(dcd::Frame { version: 24, cell, axes })
        };
        let cell = |form| Some(crate::dcd::Cell { numbers: [0.0; 6], form });
        assert!(dcd(None, 3).is_like(&dcd(None, 3)));
        assert!(!dcd(None, 3).is_like(&dcd(cell(CellForm::Angles), 3)));
        assert!(!dcd(cell(CellForm::Matrix), 3).is_like(&dcd(cell(CellForm::Angles), 3)));
        assert!(!dcd(None, 3).is_like(&dcd(None, 4)));
        assert!(!dcd(None, 3).is_like(&float));
    }
}
