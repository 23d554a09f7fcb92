//! Fraction of native contacts.

use std::sync::Mutex;

use serde::{Deserialize, Serialize};
use trajet_files::Error;
use trajet_formats::{AtomList, Atoms, Block, Numbers};
use trajet_kernels::native_contacts::NativePairs;
use trajet_simd::InstructionSet;

use crate::analysis::{self, Pass, PerFrame, cell_of};
use crate::atom_map::merge_atom_lists;
use crate::cells::CellUse;
use crate::contacts::check_half;
use crate::error::{InvalidArgument, Result};
use crate::frame_arrays::{ArraySpec, FrameArrays};

/// Parameters of the analysis.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The first atom of each pair, by index in the trajectory.
    pub first: AtomList,
    /// The second atom of each pair.
    pub second: AtomList,
    /// The distance (Å) up to which each pair is in contact.
    pub limits: Numbers<f64>,
    /// Steepness of a soft cut-off (1/Å); `None` for a hard one.
    pub beta: Option<f64>,
    /// Whether distances are of minimum images in frames that have a cell.
    pub periodic: bool,
}

impl analysis::Request for Request {
    fn check(&self) -> Result<(), InvalidArgument> {
        let n = self.limits.len();
        if n == 0 || self.first.len() != n || self.second.len() != n {
            return Err(InvalidArgument("there must be a distance for each pair, and a pair"));
        }
        if !self.limits.iter().all(|limit| *limit >= 0.0 && limit.is_finite()) {
            return Err(InvalidArgument("distances of contacts must be finite and not negative"));
        }
        match self.beta {
            Some(beta) if !(beta > 0.0 && beta.is_finite()) => {
                Err(InvalidArgument("beta must be finite and above 0"))
            }
            _ => Ok(()),
        }
    }

    fn atoms(&mut self) -> Vec<&mut AtomList> {
        vec![&mut self.first, &mut self.second]
    }

    fn plan(self, n_atoms: usize) -> Result<Pass, Error> {
        let Request { first, second, limits, beta, periodic } = self;
        let (union, maps) = merge_atom_lists(&[&first, &second]);
        let atoms = Atoms::listed(&union, n_atoms)?;
        let columns = |list: usize| maps[list].columns(union.len());
        let longest = limits.iter().copied().fold(0.0, f64::max);
        let pairs = NativePairs { atoms: [columns(0), columns(1)], limits: limits.0 };
        let spare = Mutex::default();
        Ok(Pass::per_frame(atoms, NativeContacts { pairs, longest, beta, periodic, spare }))
    }
}

/// Yields the array `fraction`, no state.
struct NativeContacts {
    pairs: NativePairs,
    /// The largest of the pairs' limits.
    longest: f64,
    beta: Option<f64>,
    periodic: bool,
    /// Spare buffers.
    spare: Mutex<Vec<Vec<f64>>>,
}

impl PerFrame for NativeContacts {
    fn per_frame(&self) -> Vec<ArraySpec> {
        vec![ArraySpec::of::<f64>("fraction", &[])]
    }

    fn compute(&self, block: &Block, out: &mut FrameArrays<'_>) -> Result<()> {
        let spare = || self.spare.lock().expect("nothing panics with it");
        let mut memory = spare().pop().unwrap_or_default();
        let set = InstructionSet::chosen();
        let what = format!("the longest native contact, {:.4} Å,", self.longest);
        let words = [&*what, "choose a shorter cut-off or a smaller factor"];
        for (i, fraction) in out.values::<f64>().iter_mut().enumerate() {
            let cell = if self.periodic { cell_of(block, i)? } else { None };
            if let Some(cell) = &cell {
                check_half(cell, self.longest, words, block.meta.frames[i])?;
            }
            *fraction =
                self.pairs.fraction(set, cell.as_ref(), block.frame(i), self.beta, &mut memory);
        }
        spare().push(memory);
        Ok(())
    }

    fn cell_use(&self) -> CellUse {
        CellUse::nearest_images(self.periodic)
    }
}
