//! One of the analyses of a pass: its atoms among those that are read, and the states of its frames.

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trajet_files::transform::ChainTransform;
use trajet_formats::Block;
use trajet_kernels::bonded::BondedPairs;

use crate::analysis::{AnyState, Array, Finished, Pass, write};
use crate::atom_map::AtomMap;
use crate::broken_molecules::ApartSummary;
use crate::cells::CellSummary;
use crate::error::{Failure, Result};
use crate::frame_arrays::{ArraySpec, FrameArrays};
use crate::plan::Leaves;
use crate::tree::{Merger, Node};

/// The state of an analysis, and what is known of its frames.
pub struct Folded {
    state: AnyState,
    about: FrameSummary,
    /// The states of the whole blocks among these frames, from the first on.
    blocks: Vec<AnyState>,
}

/// Summary of some frames: their number, their cells, and the molecules that are broken in them.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct FrameSummary {
    n_frames: usize,
    cells: CellSummary,
    broken: ApartSummary,
}

impl FrameSummary {
    /// Adds the frames after these.
    fn merge(self, right: Self) -> Self {
        FrameSummary {
            n_frames: self.n_frames + right.n_frames,
            cells: self.cells.merge(right.cells),
            broken: self.broken.merge(right.broken),
        }
    }
}

/// The arrays of an analysis, made from its state of all frames, and the summaries of these frames.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FoldedArrays {
    /// Its arrays with an entry for each frame, which the run has written.
    pub per_frame: Vec<ArraySpec>,
    /// Arrays by their names.
    pub arrays: Vec<(&'static str, Array)>,
    /// The summary of their cells.
    pub cells: CellSummary,
    /// The summary of molecules that are broken in them.
    pub broken: ApartSummary,
    /// The same arrays of each block of these frames, if they were asked for.
    pub blocks: Vec<Vec<(&'static str, Array)>>,
}

/// An analysis, its transform instead of that of the trajectory, and its position among all analyses of the run.
pub(crate) struct JointEntry {
    pub(crate) number: usize,
    pub(crate) transform: Option<Arc<ChainTransform>>,
    pub(crate) pass: Pass,
}

/// One of the analyses of a pass.
pub(crate) struct Component {
    pub(crate) number: usize,
    pub(crate) transform: Option<Arc<ChainTransform>>,
    /// The block that has its atoms: the position of its transform among those of the pass.
    pub(crate) block: usize,
    /// The columns of its atoms in that block.
    pub(crate) map: AtomMap,
    pub(crate) pass: Pass,
    /// Pairs of its atoms by which broken molecules are found.
    bonded: Option<[BondedPairs; 2]>,
    /// Frames of each block whose state is kept.
    block_frames: Option<usize>,
    /// Its arrays with an entry for each frame.
    pub(crate) per_frame: Vec<ArraySpec>,
    /// Positions of these among the arrays of all analyses.
    pub(crate) arrays: Range<usize>,
}

impl Component {
    /// Returns the component of an analysis that has all atoms of its block. Its arrays follow those of `before`.
    pub(crate) fn new(
        JointEntry { number, transform, pass }: JointEntry,
        block: usize,
        before: Option<&Component>,
    ) -> Self {
        let per_frame = pass.analysis.per_frame();
        let first = before.map_or(0, |before| before.arrays.end);
        let arrays = first..first + per_frame.len();
        let is_last = !pass.analysis.has_next();
        let bonded = pass.neighbours.as_ref().filter(|_| is_last).map(|of| of.among(&pass.atoms));
        let in_blocks = pass.blocks_of.filter(|_| is_last);
        let block_frames = in_blocks.map(|n_frames| pass.leaves(n_frames).block_frames());
        let map = AtomMap::All;
        Component { number, transform, block, map, pass, bonded, block_frames, per_frame, arrays }
    }

    /// Adds the number of the analysis to its error.
    pub(crate) fn numbered<T>(&self, result: Result<T>) -> Result<T, Failure> {
        result.map_err(|error| Failure { analysis: Some(self.number), fault: error.into() })
    }

    /// Merges the states of two adjacent ranges of frames, `left` before `right`.
    pub(crate) fn merge(&self, left: Folded, right: Folded) -> Result<Folded> {
        let state = self.pass.analysis.merge(left.state, right.state)?;
        let about = left.about.merge(right.about);
        let mut blocks = left.blocks;
        blocks.extend(right.blocks);
        self.folded(state, about, blocks)
    }

    /// Returns the state of some frames with those of their blocks; `smaller` are the blocks of its parts.
    fn folded(
        &self,
        state: AnyState,
        about: FrameSummary,
        smaller: Vec<AnyState>,
    ) -> Result<Folded> {
        let blocks = match self.block_frames == Some(about.n_frames) {
            true => vec![self.pass.analysis.copy(&state)?],
            false => smaller,
        };
        Ok(Folded { state, about, blocks })
    }

    /// Superposes and analyses a leaf, and returns its state.
    pub(crate) fn of_leaf(&self, block: &mut Block, out: &mut FrameArrays<'_>) -> Result<Folded> {
        let broken = self.broken(block);
        if let Some(superpose) = &self.pass.superpose {
            superpose.apply(block);
        }
        self.of_superposed(block, broken, out)
    }

    /// Analyses a leaf that was superposed, and returns its state.
    fn of_superposed(
        &self,
        block: &Block,
        broken: ApartSummary,
        out: &mut FrameArrays<'_>,
    ) -> Result<Folded> {
        let state = self.pass.analysis.fold(block, out)?;
        let cells = CellSummary::of(block, self.pass.analysis.cell_use());
        self.folded(state, FrameSummary { n_frames: block.n_frames(), cells, broken }, Vec::new())
    }

    /// Returns the summary of broken molecules of a leaf that is not superposed yet: cells are not turned along.
    fn broken(&self, block: &Block) -> ApartSummary {
        self.bonded.as_ref().map_or_else(ApartSummary::default, |of| ApartSummary::of(block, of))
    }

    /// Returns the state of no frames.
    pub(crate) fn empty(&self) -> Result<Folded> {
        let state = self.pass.analysis.empty()?;
        Ok(Folded { state, about: FrameSummary::default(), blocks: Vec::new() })
    }

    /// Returns the next pass, made from the state of all frames.
    ///
    /// # Panics
    /// If this is the last pass.
    pub(crate) fn next(self, folded: Folded) -> Result<JointEntry, Failure> {
        let finished = self.numbered(self.pass.analysis.finish(folded.state))?;
        let Finished::Next(next) = finished else { panic!("a further pass") };
        let Component { number, transform, pass: Pass { neighbours, blocks_of, .. }, .. } = self;
        Ok(JointEntry { number, transform, pass: Pass { neighbours, blocks_of, ..*next } })
    }

    /// Returns the arrays of the analysis, made from the state of all frames of the last pass.
    ///
    /// # Panics
    /// If there is a further pass.
    pub(crate) fn finish(&self, folded: Folded) -> Result<FoldedArrays> {
        let FrameSummary { cells, broken, .. } = folded.about;
        let finish = |state| match self.pass.analysis.finish(state)? {
            Finished::Arrays(arrays) => Ok(arrays),
            Finished::Next(_) => panic!("no further pass"),
        };
        let blocks = folded.blocks.into_iter().map(finish).collect::<Result<_>>()?;
        let (per_frame, arrays) = (self.per_frame.clone(), finish(folded.state)?);
        Ok(FoldedArrays { per_frame, arrays, cells, broken, blocks })
    }

    /// Appends the bytes of states: what is known of the frames, the number of blocks, the state, and the states of the
    /// blocks.
    pub(crate) fn write(&self, folded: &Folded, bytes: &mut Vec<u8>) -> Result<()> {
        write(&(folded.about, folded.blocks.len()), bytes)?;
        let mut states = std::iter::once(&folded.state).chain(&folded.blocks);
        states.try_for_each(|state| self.pass.analysis.write(state, bytes))
    }

    /// Returns the states at the beginning of some bytes, and the bytes after them; `None` if there are none.
    pub(crate) fn read<'b>(&self, bytes: &'b [u8]) -> Option<(Folded, &'b [u8])> {
        let ((about, n_blocks), bytes) =
            postcard::take_from_bytes::<(FrameSummary, usize)>(bytes).ok()?;
        let (state, mut bytes) = self.pass.analysis.read(bytes)?;
        let mut blocks = Vec::new();
        for _ in 0..n_blocks {
            let (block, others) = self.pass.analysis.read(bytes)?;
            blocks.push(block);
            bytes = others;
        }
        Some((Folded { state, about, blocks }, bytes))
    }
}

/// The work of one of several analyses on a leaf of the pass.
pub(crate) struct ComponentFold<'a> {
    of: &'a Component,
    /// The leaves of this analysis.
    grid: Leaves,
    /// Frames of its current leaf, as far as they were read.
    block: Block,
    /// States of its leaves within the leaf of the pass.
    states: Merger<Folded>,
}

impl<'a> ComponentFold<'a> {
    /// Returns the work on a leaf of the pass, of `n_frames` requested frames.
    pub(crate) fn new(of: &'a Component, n_frames: usize) -> Self {
        let grid = of.pass.leaves(n_frames);
        let states = Merger::new(grid.len());
        ComponentFold { of, grid, block: Block::default(), states }
    }

    /// Returns the analysis.
    pub(crate) fn component(&self) -> &'a Component {
        self.of
    }

    /// Returns the state of the leaf of the pass.
    ///
    /// # Panics
    /// If not all of its frames were analysed.
    pub(crate) fn finish(self) -> Folded {
        let mut subtrees = self.states.into_subtrees();
        assert_eq!(subtrees.len(), 1, "a leaf of the pass holds one subtree of each analysis");
        subtrees.remove(0).1
    }

    /// Takes the analysis' atoms of a block with the last frames of the range `until`, which begins with the leaf of the
    /// pass, as the arrays of all analyses do (`out`). If they complete a leaf of the analysis, analyses it.
    pub(crate) fn absorb(
        &mut self,
        read: &Block,
        until: Range<usize>,
        out: &mut FrameArrays<'_>,
    ) -> Result<()> {
        let Component { pass, map, arrays, .. } = self.of;
        let leaf = (until.end - 1) / self.grid.frames_per_leaf();
        let frames = self.grid.frames(leaf);
        let here = frames.start - until.start..frames.end - until.start;
        // The block that was read is the leaf: nothing has to be copied.
        if read.n_frames() == frames.len()
            && matches!(map, AtomMap::All)
            && pass.superpose.is_none()
        {
            let broken = self.of.broken(read);
            let out = &mut out.part(arrays.clone(), here);
            let state = self.of.of_superposed(read, broken, out)?;
            return self.add(leaf, state);
        }
        if self.block.n_frames() == 0 {
            self.block.reset(frames.len(), pass.atoms.len())?;
        }
        for i in 0..read.n_frames() {
            let at = self.block.n_frames();
            map.copy(read.frame(i), self.block.frame_mut(at));
            self.block.meta.push(read.meta.frames[i], read.meta.info(i));
        }
        if until.end < frames.end {
            return Ok(());
        }
        let state = self.of.of_leaf(&mut self.block, &mut out.part(arrays.clone(), here))?;
        self.block.meta.clear();
        self.add(leaf, state)
    }

    /// Adds the state of a leaf of the analysis.
    fn add(&mut self, leaf: usize, folded: Folded) -> Result<()> {
        let component = self.of;
        self.states.add(Node::leaf(leaf), folded, |left, right| component.merge(left, right))
    }
}
