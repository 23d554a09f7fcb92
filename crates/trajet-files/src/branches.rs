//! Several selections of a chain, each with a transform of its own, for which every frame is decoded once.

use std::ops::Range;
use std::sync::Arc;

use trajet_formats::{Atoms, Block, FrameMeta, memory};

use crate::chain::Chain;
use crate::reader::ReadRequest;
use crate::transform::{ChainTransform, PreparedTransform};
use crate::{Error, Frames, Scratch};

/// Selections with their transforms, prepared for reading.
pub struct Branches {
    /// All atoms to decode, ascending, each once.
    decoded: Atoms,
    branches: Vec<Branch>,
}

struct Branch {
    n_atoms: usize,
    transform: Option<Arc<ChainTransform>>,
    prepared: Option<Arc<dyn PreparedTransform>>,
    /// Columns among the decoded atoms: of the atoms that the transform needs, or of the selection if there is no
    /// transform.
    columns: Vec<u32>,
}

impl Branches {
    /// Prepares selections for [`Chain::read_branches`], each with a transform, of frames of `n_atoms` atoms.
    ///
    /// # Errors
    /// As [`crate::transform::Transform::prepare`].
    pub fn new(
        selections: Vec<(Option<Arc<ChainTransform>>, Atoms)>,
        n_atoms: usize,
    ) -> Result<Branches, Error> {
        let mut branches = Vec::with_capacity(selections.len());
        let mut lists = Vec::with_capacity(selections.len());
        for (transform, atoms) in selections {
            let prepared = transform.as_ref().map(|of| of.prepared(&atoms)).transpose()?;
            lists.push(prepared.as_ref().map_or(&atoms, |prepared| prepared.decoded()).indices());
            let (n_atoms, columns) = (atoms.len(), Vec::new());
            branches.push(Branch { n_atoms, transform, prepared, columns });
        }
        let mut union = lists.concat();
        union.sort_unstable();
        union.dedup();
        let decoded = Atoms::listed(&union, n_atoms)?;
        let column = |atom: &i64| union.binary_search(atom).expect("part of the union") as u32;
        for (branch, list) in branches.iter_mut().zip(&lists) {
            branch.columns = list.iter().map(column).collect();
        }
        Ok(Branches { decoded, branches })
    }

    /// Returns the number of selections.
    pub fn len(&self) -> usize {
        self.branches.len()
    }

    /// Returns whether there are no selections.
    pub fn is_empty(&self) -> bool {
        self.branches.is_empty()
    }

    /// Returns the atoms that are decoded.
    pub fn decoded(&self) -> &Atoms {
        &self.decoded
    }

    /// Returns the frames that are read for users of `frames`: a transform may depend on further ones.
    pub fn frames_read(&self, frames: &Frames) -> Frames {
        let transforms = self.branches.iter().filter_map(|branch| branch.transform.as_ref());
        let further: Vec<Frames> =
            transforms.filter_map(|transform| transform.frames_read(frames)).collect();
        if further.is_empty() {
            return frames.clone();
        }
        let numbers =
            |frames: &Frames| (0..frames.len()).map(|k| frames.get(k)).collect::<Vec<_>>();
        let mut all = further.iter().flat_map(numbers).chain(numbers(frames)).collect::<Vec<_>>();
        all.sort_unstable();
        all.dedup();
        all.into()
    }
}

impl Chain {
    /// Reads frames once and writes the positions of each selection into a block of its own, after its transform.
    ///
    /// # Errors
    /// As [`Chain::read_into`], with the selection whose transform failed.
    ///
    /// # Panics
    /// If there are not as many blocks as selections.
    pub fn read_branches(
        &self,
        branches: &Branches,
        frames: &Frames,
        positions: Range<usize>,
        scratch: &mut Scratch,
        blocks: &mut [Block],
    ) -> Result<(), (Option<usize>, Error)> {
        let of_all = |error: Error| (None, error);
        assert_eq!(blocks.len(), branches.len(), "blocks of the selections");
        self.check(frames).map_err(of_all)?;
        for (block, branch) in blocks.iter_mut().zip(&branches.branches) {
            let reset = block.reset(positions.len(), branch.n_atoms);
            reset.map_err(|refused| of_all(refused.into()))?;
        }
        // Each transform has its own memory from frame to frame.
        let mut memories = std::mem::take(&mut scratch.branches);
        memories.resize_with(branches.len(), || None);
        let mut buffers = std::mem::take(&mut scratch.decoded_of_branches);
        let read = (|| {
            let [all, own] = &mut buffers;
            memory::resize(all, branches.decoded.len() * 3, 0.0, "the atoms of a frame")
                .map_err(|refused| of_all(refused.into()))?;
            let request = ReadRequest::positions(frames, &branches.decoded);
            let mut meta = FrameMeta::default();
            for (k, at) in positions.enumerate() {
                meta.clear();
                self.read_untransformed(&request, at..at + 1, scratch, all, &mut meta)
                    .map_err(of_all)?;
                let parts = branches.branches.iter().zip(&mut *blocks).zip(&mut memories);
                for (number, ((branch, block), memory)) in parts.enumerate() {
                    std::mem::swap(&mut scratch.transform, memory);
                    let read = self.read_branch(
                        branch,
                        frames.get(at),
                        k,
                        all,
                        own,
                        scratch,
                        &meta,
                        block,
                    );
                    std::mem::swap(&mut scratch.transform, memory);
                    read.map_err(|error| (Some(number), error))?;
                }
            }
            Ok(())
        })();
        scratch.branches = memories;
        scratch.decoded_of_branches = buffers;
        read
    }

    /// Writes the positions of a selection as frame `k` of its block: transforms the decoded ones, if it has a
    /// transform.
    #[allow(clippy::too_many_arguments)]
    fn read_branch(
        &self,
        branch: &Branch,
        number: u64,
        k: usize,
        decoded: &[f32],
        own: &mut Vec<f32>,
        scratch: &mut Scratch,
        meta: &FrameMeta,
        block: &mut Block,
    ) -> Result<(), Error> {
        let Some(prepared) = &branch.prepared else {
            take(decoded, &branch.columns, block.frame_mut(k));
            block.meta.push(number, meta.last());
            return Ok(());
        };
        memory::resize(own, branch.columns.len() * 3, 0.0, "the atoms of a frame")?;
        self.walk_to(&**prepared, number, scratch, own)?;
        take(decoded, &branch.columns, own);
        let mut info = meta.last();
        self.transform(&**prepared, number, own, &mut info, scratch)?;
        match prepared.columns() {
            Some(columns) => take(own, columns, block.frame_mut(k)),
            None => block.frame_mut(k).copy_from_slice(own),
        }
        block.meta.push(number, info);
        Ok(())
    }
}

/// Copies the positions of these columns.
fn take(from: &[f32], columns: &[u32], to: &mut [f32]) {
    let from = from.as_chunks::<3>().0;
    for (to, &column) in to.as_chunks_mut::<3>().0.iter_mut().zip(columns) {
        *to = from[column as usize];
    }
}
