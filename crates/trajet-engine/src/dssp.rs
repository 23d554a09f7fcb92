//! Secondary structure of the residues of proteins.

use std::sync::Mutex;

use serde::{Deserialize, Serialize};
use trajet_files::Error;
use trajet_formats::{AtomList, Atoms, Block, Numbers, memory};
use trajet_kernels::dssp::{Assigner, Backbone, Class};
use trajet_simd::InstructionSet;

use crate::analysis::{self, Pass, PerFrame, check_finite};
use crate::error::{InvalidArgument, Result};
use crate::frame_arrays::{ArraySpec, FrameArrays};

/// Parameters of the analysis.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// N, CA, C and O of each residue (`[n, 4]`).
    pub residues: AtomList,
    /// C and O (`[n, 2]`) of the residue before each; any atoms for residues that donate no bond.
    pub before: AtomList,
    /// Whether N of each residue has a hydrogen atom: not in proline, and not in the first residue of a chain.
    pub donates: Vec<bool>,
    /// Place of each residue in the sequence, ascending; places without a residue are those of incomplete ones.
    pub slots: Numbers<u32>,
    /// Chain of each place of the sequence.
    pub chains: Numbers<u32>,
}

impl analysis::Request for Request {
    fn check(&self) -> Result<(), InvalidArgument> {
        if self.residues.is_empty() {
            return Err(InvalidArgument("there are no residues"));
        }
        let n = self.slots.len();
        if [self.residues.len(), self.before.len(), self.donates.len()] != [4 * n, 2 * n, n] {
            return Err(InvalidArgument("lists must have one element for each residue"));
        }
        let exists = |&last: &u32| (last as usize) < self.chains.len();
        if !self.slots.is_sorted_by(|a, b| a < b) || !self.slots.last().is_some_and(exists) {
            return Err(InvalidArgument(
                "slots must be in ascending order and below the length of chains",
            ));
        }
        Ok(())
    }

    fn atoms(&mut self) -> Vec<&mut AtomList> {
        vec![&mut self.residues, &mut self.before]
    }

    fn plan(self, n_atoms: usize) -> Result<Pass, Error> {
        let Request { residues, before, donates, slots, chains } = self;
        let mut union: Vec<i64> = Vec::new();
        memory::reserve(&mut union, residues.len() + before.len(), "the atoms of an analysis")?;
        union.extend(&*residues);
        union.extend(&*before);
        union.sort_unstable();
        union.dedup();
        let atoms = Atoms::listed(&union, n_atoms)?;
        let column = |atom: i64| union.binary_search(&atom).expect("part of the union") as u32;
        let backbone = residues.as_chunks::<4>().0;
        let backbone = backbone.iter().map(|residue| residue.map(column)).collect();
        let pairs = before.as_chunks::<2>().0.iter().zip(&donates);
        let donors = pairs.map(|(pair, donates)| donates.then(|| pair.map(column))).collect();
        let backbone = Backbone::new(backbone, donors, slots.0, chains.0).expect("checked");
        Ok(Pass::per_frame(atoms, Dssp { backbone, spare: Mutex::default() }))
    }
}

/// Yields the array `codes`, no state.
struct Dssp {
    backbone: Backbone,
    /// Spare searches, whose memory is reused.
    spare: Mutex<Vec<(Assigner, Vec<Class>)>>,
}

impl PerFrame for Dssp {
    fn per_frame(&self) -> Vec<ArraySpec> {
        vec![ArraySpec::of::<u8>("codes", &[self.backbone.len()])]
    }

    fn compute(&self, block: &Block, out: &mut FrameArrays<'_>) -> Result<()> {
        check_finite(block)?;
        let spare = || self.spare.lock().expect("nothing panics with it");
        let (mut assigner, mut classes) = spare().pop().unwrap_or_default();
        classes.resize(self.backbone.len(), Class::Loop);
        for (i, row) in out.rows::<u8>().enumerate() {
            let set = InstructionSet::chosen();
            assigner.assign(set, &self.backbone, block.frame(i), &mut classes);
            for (code, &class) in row.iter_mut().zip(&classes) {
                *code = class as u8;
            }
        }
        spare().push((assigner, classes));
        Ok(())
    }
}
