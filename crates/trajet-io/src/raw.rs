//! The second exit: a frame exactly as its format stores it, for writers and the store.
//!
//! `f32` Å cannot give back what was stored; this can. Each format describes its own frames.

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
    /// GROMACS' compressed format.
    Xtc(xtc::Frame),
    /// GROMACS' format of full precision.
    Trr(trr::Frame),
    /// The format of CHARMM and NAMD.
    Dcd(dcd::Frame),
    /// The NetCDF format of Amber.
    Ncdf(Box<ncdf::Frame>),
    /// H5MD, and mdtraj's layout of HDF5.
    H5md(Box<h5md::Frame>),
}

impl Raw {
    /// The frame with only `atoms`, in that order.
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

    /// What the frame says beside its atoms: the frame with none of them.
    #[must_use]
    pub fn head(&self) -> Raw {
        self.take(&[])
    }

    /// The XXH3 of all that the frame says. Stores keep it, with a version that goes up where this changes.
    pub fn digest(&self) -> u64 {
        xxh3_64(&self.to_bytes())
    }

    fn to_bytes(&self) -> Vec<u8> {
        let bytes = postcard::to_stdvec(self).expect("memory takes it");
        let Some(Further { layout, values }) = self.further() else { return bytes };
        postcard::to_extend(&(&**layout, values), bytes).expect("memory takes it")
    }

    /// The layout of the frame's file and what it holds of variables that the format's convention does not
    /// name.
    pub(crate) fn further(&self) -> Option<&Further> {
        match self {
            Raw::Ncdf(frame) => frame.further.as_ref(),
            _ => None,
        }
    }

    /// What other formats have no place for of the frame's file, in words: the variables and the global attributes
    /// that the format's convention does not name.
    pub fn further_names(&self) -> Vec<String> {
        self.further().map_or_else(Vec::new, |further| further.layout.further_names())
    }

    /// Names of further variables that have values of each atom.
    pub fn per_atom_names(&self) -> Vec<String> {
        self.further().map_or_else(Vec::new, |further| further.layout.per_atom_names())
    }

    /// Whether a store gives this frame back of `now`: it is the same, but for what a store cannot keep of it, or did
    /// not keep before it kept layouts of NetCDF files.
    pub fn is_kept_of(&self, mut now: Raw) -> bool {
        if self.further().is_none() {
            now.forget_further();
        }
        // What several dimensions of atoms say cannot be divided.
        let all: Vec<usize> = (0..now.n_atoms()).collect();
        self.says(&now) || self.says(&now.take(&all))
    }

    /// Removes what the file holds beside the variables that the format's convention names.
    pub fn forget_further(&mut self) {
        if let Raw::Ncdf(frame) = self {
            frame.further = None;
        }
    }

    /// Whether another frame says the same; what is not a number is the same as itself.
    pub fn says(&self, other: &Raw) -> bool {
        // Bytes tell what is no number.
        self == other || self.to_bytes() == other.to_bytes()
    }

    /// Whether one file can hold this frame and another as they are: its head says once what all hold.
    pub fn is_like(&self, other: &Raw) -> bool {
        match (self, other) {
            (Raw::Xtc(_), Raw::Xtc(_)) | (Raw::Trr(_), Raw::Trr(_)) => true,
            (Raw::Dcd(one), Raw::Dcd(other)) => one.is_like(other),
            (Raw::Ncdf(one), Raw::Ncdf(other)) => one.is_like(other),
            (Raw::H5md(one), Raw::H5md(other)) => one.is_like(other),
            _ => false,
        }
    }

    /// Atoms in the frame.
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
    fn frames_are_alike_where_one_head_describes_both() {
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
