//! Several analyses in one pass: each frame is read and decoded once.
//!
//! Each analysis gets its own atoms in its own leaves, and its states are merged along its own tree, so that its result
//! has the bits of a run of its own. The leaves of the pass are those of the analysis with the most frames per leaf.
//! As grids nest ([`crate::plan`]), each of them holds whole leaves of every other analysis, and the merge of these is
//! a node of the analysis' own tree.

use std::ops::Range;
use std::sync::Arc;

use trajet_files::transform::ChainTransform;
use trajet_files::{Branches, Chain, Error, Frames, Relay, Scratch, TaskPart, Wanted};
use trajet_formats::{Atoms, Block, memory};

use crate::analysis::{Analysis, Pass, State};
use crate::atom_map::{AtomMap, merge_atom_lists};
use crate::cells::{self, CellSummary};
use crate::error::FrameError;
use crate::plan::Leaves;
use crate::tree::{Merger, Node};

/// Numbers before the state of each analysis in the packed states of several: the width of its rows, and the length of
/// its state.
const HEADER: usize = 2;

/// The state of an analysis, and the summary of the cells of its frames.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Folded {
    /// The state.
    pub state: State,
    /// The summary.
    pub cells: CellSummary,
}

impl Folded {
    /// Merges the states of two adjacent ranges of frames, `left` before `right`.
    fn merge(analysis: &dyn Analysis, left: Folded, right: Folded) -> Folded {
        let cells = left.cells.merge(right.cells);
        Folded { state: analysis.merge(left.state, right.state), cells }
    }

    /// Returns the state, with the numbers of the summary at its end.
    fn pack(self) -> State {
        let mut packed = self.state;
        packed.extend(self.cells.pack());
        packed
    }

    /// Returns the state that [`Folded::pack`] made numbers of; `None` if they are too few.
    fn unpack(packed: &[f64]) -> Option<Folded> {
        let (state, cells) = packed.split_last_chunk::<{ cells::PACKED }>()?;
        Some(Folded { state: state.to_vec(), cells: CellSummary::unpack(*cells) })
    }
}

/// The state of each analysis of a pass. States are packed into one array only where they leave the engine: packing at
/// each merge would copy all of them.
pub type JointState = Vec<Folded>;

/// A pass of one analysis or several.
pub struct JointPass {
    /// Atoms to read: all distinct ones of the analyses; those of a single analysis are in its order.
    atoms: Atoms,
    /// If there are transforms: one selection for each, and for the analyses without.
    branches: Option<Branches>,
    components: Vec<Component>,
    /// Analyses of fewer passes, which run with the last pass of the others.
    waiting: Vec<Numbered>,
}

/// Frames of a task that hands over, whose positions are completed later.
#[derive(Default)]
pub(crate) struct HeldChunk {
    /// The requested atoms.
    pub(crate) block: Block,
    /// All decoded atoms, if these are others.
    held: Vec<f32>,
}

impl HeldChunk {
    /// Returns the chunk as a part of a task, with so many frames.
    fn part(&mut self, n_frames: usize) -> TaskPart<'_> {
        let HeldChunk { block, held } = self;
        TaskPart { n_frames, held, out: &mut block.positions, meta: &mut block.meta }
    }
}

/// An analysis, its transform instead of that of the trajectory, and its position among all analyses of the run.
struct Numbered {
    number: usize,
    transform: Option<Arc<ChainTransform>>,
    pass: Pass,
}

/// One of the analyses of a pass.
struct Component {
    number: usize,
    transform: Option<Arc<ChainTransform>>,
    /// The block that has its atoms: the position of its transform among those of the pass.
    block: usize,
    /// The columns of its atoms in that block.
    map: AtomMap,
    pass: Pass,
}

impl From<Pass> for JointPass {
    fn from(pass: Pass) -> Self {
        let atoms = pass.atoms.clone();
        let only = Component { number: 0, transform: None, block: 0, map: AtomMap::All, pass };
        JointPass { atoms, branches: None, components: vec![only], waiting: Vec::new() }
    }
}

impl JointPass {
    /// Returns the pass of several analyses, each at its first pass. If one has a transform, the trajectory must have
    /// none.
    ///
    /// # Errors
    /// [`Error::Memory`], [`Error::AtomOutOfRange`].
    ///
    /// # Panics
    /// If there are no analyses, or they are of trajectories with different numbers of atoms.
    pub fn of(analyses: Vec<(Option<Arc<ChainTransform>>, Pass)>) -> Result<Self, Error> {
        let numbered = analyses.into_iter().enumerate();
        let numbered =
            numbered.map(|(number, (transform, pass))| Numbered { number, transform, pass });
        JointPass::numbered(numbered.collect())
    }

    fn numbered(passes: Vec<Numbered>) -> Result<Self, Error> {
        let n_total = passes[0].pass.atoms.n_total();
        // An analysis whose last pass is done would have to keep its rows while the others go on.
        let goes_on = passes.iter().any(|one| one.pass.then.is_some());
        let (now, waiting): (Vec<_>, Vec<_>) =
            passes.into_iter().partition(|one| !goes_on || one.pass.then.is_some());
        let mut components = Vec::with_capacity(now.len());
        // A selection for each transform, with the positions of its analyses among the components.
        let mut selections: Vec<(Option<Arc<ChainTransform>>, Vec<usize>)> = Vec::new();
        for (k, Numbered { number, transform, pass }) in now.into_iter().enumerate() {
            let same = |other: &Option<Arc<ChainTransform>>| match (&transform, other) {
                (Some(one), Some(other)) => Arc::ptr_eq(one, other),
                (one, other) => one.is_none() && other.is_none(),
            };
            let block = selections.iter().position(|(other, _)| same(other));
            let block = block.unwrap_or_else(|| {
                selections.push((transform.clone(), Vec::new()));
                selections.len() - 1
            });
            selections[block].1.push(k);
            components.push(Component { number, transform, block, map: AtomMap::All, pass });
        }
        let mut read = Vec::with_capacity(selections.len());
        for (transform, of) in selections {
            let lists: Vec<_> = of.iter().map(|&k| components[k].pass.atoms.indices()).collect();
            let lists: Vec<&[i64]> = lists.iter().map(|list| &list[..]).collect();
            let (union, maps) = merge_atom_lists(&lists);
            for (&k, map) in of.iter().zip(maps) {
                components[k].map = map;
            }
            read.push((transform, Atoms::listed(&union, n_total)?));
        }
        if let [(None, atoms)] = &read[..] {
            return Ok(JointPass { atoms: atoms.clone(), branches: None, components, waiting });
        }
        let branches = Branches::new(read, n_total)?;
        let atoms = branches.decoded().clone();
        Ok(JointPass { atoms, branches: Some(branches), components, waiting })
    }

    /// Returns the atoms to read.
    pub fn atoms(&self) -> &Atoms {
        &self.atoms
    }

    /// Returns the frames that are read for users of `frames`: a transform may depend on further ones.
    pub fn frames_read(&self, frames: &Frames) -> Frames {
        self.branches.as_ref().map_or(frames.clone(), |branches| branches.frames_read(frames))
    }

    /// Reads the frames at `positions` among the requested ones into the blocks of the pass.
    pub(crate) fn read(
        &self,
        chain: &Chain,
        frames: &Frames,
        positions: Range<usize>,
        scratch: &mut Scratch,
        blocks: &mut Vec<Block>,
    ) -> Result<(), Error> {
        blocks.resize_with(self.branches.as_ref().map_or(1, Branches::len), Block::default);
        if let Some(branches) = &self.branches {
            return chain.read_branches(branches, frames, positions, scratch, blocks);
        }
        let block = &mut blocks[0];
        block.reset(positions.len(), self.atoms.len())?;
        let wanted = Wanted::positions(frames, &self.atoms);
        chain.read_into(&wanted, positions, scratch, &mut block.positions, &mut block.meta)
    }

    /// Returns whether tasks of these frames hand over to one another; see [`Chain::relays`].
    pub(crate) fn relays(&self, chain: &Chain, frames: &Frames) -> Result<bool, Error> {
        Ok(self.branches.is_none() && chain.relays(frames, &self.atoms)?)
    }

    /// Reads the frames of a task that hands over, in these ranges of positions, into `chunks`.
    pub(crate) fn read_task(
        &self,
        chain: &Chain,
        frames: &Frames,
        ranges: &[Range<usize>],
        turn: (&Relay, usize),
        scratch: &mut Scratch,
        chunks: &mut Vec<HeldChunk>,
    ) -> Result<(), Error> {
        chunks.resize_with(ranges.len(), HeldChunk::default);
        let mut parts = Vec::with_capacity(ranges.len());
        for (range, chunk) in ranges.iter().zip(chunks) {
            chunk.block.reset(range.len(), self.atoms.len())?;
            parts.push(chunk.part(range.len()));
        }
        let wanted = Wanted::positions(frames, &self.atoms);
        chain.read_task(&wanted, turn, scratch, &mut parts)
    }

    /// Completes the positions of the next chunk of a task that has handed over, as [`JointPass::read`] reads them.
    pub(crate) fn complete(
        &self,
        chain: &Chain,
        frames: &Frames,
        chunk: &mut HeldChunk,
        scratch: &mut Scratch,
    ) -> Result<(), Error> {
        let wanted = Wanted::positions(frames, &self.atoms);
        let n_frames = chunk.block.meta.frames.len();
        chain.complete(&wanted, scratch, &mut chunk.part(n_frames))
    }

    /// Returns the leaves of `n_frames` requested frames.
    pub fn leaves(&self, n_frames: usize) -> Leaves {
        let grids = self.components.iter().map(|component| component.pass.leaves(n_frames));
        grids.max_by_key(Leaves::frames_per_leaf).expect("an analysis")
    }

    /// Returns the number of values per frame of all analyses.
    pub fn row_width(&self) -> usize {
        self.analyses().map(Analysis::row_width).sum()
    }

    /// Returns whether no pass follows.
    pub fn is_last(&self) -> bool {
        self.components.iter().all(|component| component.pass.then.is_none())
    }

    /// Returns the state of no frames.
    ///
    /// # Errors
    /// [`Error::Memory`].
    pub fn empty(&self) -> Result<JointState, Error> {
        let empty = |analysis: &dyn Analysis| {
            Ok(Folded { state: analysis.empty()?, cells: CellSummary::default() })
        };
        self.analyses().map(empty).collect()
    }

    /// Merges the states of two adjacent ranges of frames, `left` before `right`.
    pub fn merge(&self, left: JointState, right: JointState) -> JointState {
        let pairs = left.into_iter().zip(right);
        self.analyses()
            .zip(pairs)
            .map(|(of, (left, right))| Folded::merge(of, left, right))
            .collect()
    }

    /// Returns the next pass, made from the final state of this one; `None` if this is the last.
    ///
    /// # Errors
    /// [`Error::Memory`].
    pub fn next(self, states: JointState) -> Result<Option<JointPass>, Error> {
        if self.is_last() {
            return Ok(None);
        }
        let mut next = self.waiting;
        for (Component { number, transform, pass, .. }, folded) in
            self.components.into_iter().zip(states)
        {
            let then =
                pass.then.expect("only analyses that go on are components before the last pass");
            next.push(Numbered { number, transform, pass: then(folded.state) });
        }
        next.sort_by_key(|one| one.number);
        let own = |one: &Numbered| one.transform.is_none();
        match next.len() {
            1 if own(&next[0]) => Ok(next.pop().map(|one| one.pass.into())),
            _ => JointPass::numbered(next).map(Some),
        }
    }

    /// Returns the bytes that a thread needs for a leaf, beside the block that is read.
    pub(crate) fn bytes_of_thread(&self, n_frames: usize) -> usize {
        let of_component = |Component { pass, .. }: &Component| {
            // Gathered positions of a leaf, one more state, and a frame along three axes in double precision.
            let frame = pass.atoms.len().saturating_mul(size_of::<[f32; 3]>());
            let gathered = frame.saturating_mul(pass.leaves(n_frames).frames_per_leaf());
            let state = pass.analysis.state_len().saturating_mul(size_of::<f64>());
            gathered.saturating_add(state).saturating_add(frame.saturating_mul(4))
        };
        self.components.iter().map(of_component).fold(0, usize::saturating_add)
    }

    /// Divides a leaf into the ranges of frames that are read at a time: leaves of the finest grid.
    pub(crate) fn chunks(&self, frames: Range<usize>, n_frames: usize) -> Vec<Range<usize>> {
        let grids = self.components.iter().map(|component| component.pass.leaves(n_frames));
        let size = grids.map(|grid| grid.frames_per_leaf()).min().expect("an analysis");
        let end = frames.end;
        frames.step_by(size).map(|begin| begin..end.min(begin + size)).collect()
    }

    /// Returns the work on a leaf with these frames, of `n_frames` requested ones.
    pub(crate) fn fold(&self, frames: Range<usize>, n_frames: usize) -> LeafFold<'_> {
        let component = |component| ComponentFold {
            of: component,
            grid: component.pass.leaves(n_frames),
            block: Block::default(),
            states: Merger::new(component.pass.leaves(n_frames).len()),
        };
        let components = match &self.components[..] {
            [_] => Vec::new(),
            several => several.iter().map(component).collect(),
        };
        LeafFold { pass: self, begin: frames.start, next: frames.start, only: None, components }
    }

    fn analyses(&self) -> impl Iterator<Item = &dyn Analysis> {
        self.components.iter().map(|component| &*component.pass.analysis)
    }

    /// Returns one array of the states of all analyses, each with the summary of its cells at the end. Before each of
    /// several are the width of its rows, and its length.
    pub fn pack(&self, mut states: JointState) -> State {
        if let [only] = &mut states[..] {
            return std::mem::take(only).pack();
        }
        let len = |folded: &Folded| HEADER + folded.state.len() + cells::PACKED;
        let mut packed = Vec::with_capacity(states.iter().map(len).sum());
        for (analysis, folded) in self.analyses().zip(states) {
            let len = folded.state.len() + cells::PACKED;
            packed.extend([analysis.row_width() as f64, len as f64]);
            packed.extend(folded.pack());
        }
        packed
    }

    /// Returns the states of all analyses from the array that [`JointPass::pack`] made of them; `None` if it is not one.
    pub fn unpack(&self, packed: &[f64]) -> Option<JointState> {
        if self.components.len() == 1 {
            return Some(vec![Folded::unpack(packed)?]);
        }
        let mut rest = packed;
        let mut states = JointState::new();
        while let [_, len, of_rest @ ..] = rest {
            let (state, others) = of_rest.split_at_checked(*len as usize)?;
            states.push(Folded::unpack(state)?);
            rest = others;
        }
        (rest.is_empty() && states.len() == self.components.len()).then_some(states)
    }
}

/// The work on a leaf of a pass, block by block.
pub(crate) struct LeafFold<'a> {
    pass: &'a JointPass,
    /// Position of the first frame of the leaf among all requested ones.
    begin: usize,
    /// Position of the frame after the last block.
    next: usize,
    /// State of the only analysis.
    only: Option<Folded>,
    /// Work for each of several analyses.
    components: Vec<ComponentFold<'a>>,
}

/// Why a leaf cannot be analysed.
pub(crate) enum FoldError {
    /// An analysis cannot take a frame.
    Frame(FrameError),
    /// The memory for positions or a state cannot be allocated.
    Memory(Error),
}

impl From<FrameError> for FoldError {
    fn from(error: FrameError) -> Self {
        FoldError::Frame(error)
    }
}

impl<E: Into<Error>> From<E> for FoldError {
    fn from(error: E) -> Self {
        FoldError::Memory(error.into())
    }
}

impl LeafFold<'_> {
    /// Analyses the next blocks of the leaf. `rows` are those of the whole leaf: `[n_frames, row_width]`.
    pub(crate) fn absorb(
        &mut self,
        blocks: &mut [Block],
        rows: &mut [f64],
    ) -> Result<(), FoldError> {
        self.next += blocks[0].n_frames();
        if let [Component { pass, .. }] = &self.pass.components[..] {
            // The block is the whole leaf.
            self.only = Some(of_leaf(pass, &mut blocks[0], rows)?);
            return Ok(());
        }
        let row_width = self.pass.row_width();
        let mut column = 0;
        for component in &mut self.components {
            let width = component.of.pass.analysis.row_width();
            if let Some((first, of_component)) =
                component.absorb(&blocks[component.of.block], self.next)?
            {
                let rows =
                    rows[(first - self.begin) * row_width..].chunks_exact_mut(row_width.max(1));
                for (row, values) in rows.zip(of_component.chunks_exact(width.max(1))) {
                    row[column..column + width].copy_from_slice(values);
                }
            }
            column += width;
        }
        Ok(())
    }

    /// Returns the states of the leaf.
    ///
    /// # Panics
    /// If not all frames of the leaf were analysed.
    pub(crate) fn finish(self) -> JointState {
        if let Some(folded) = self.only {
            return vec![folded];
        }
        let whole = |component: ComponentFold<'_>| {
            let mut subtrees = component.states.into_subtrees();
            assert_eq!(subtrees.len(), 1, "a leaf of the pass holds one subtree of each analysis");
            subtrees.remove(0).1
        };
        self.components.into_iter().map(whole).collect()
    }
}

/// Superposes and analyses a leaf of one analysis, and returns its state.
fn of_leaf(pass: &Pass, block: &mut Block, rows: &mut [f64]) -> Result<Folded, FoldError> {
    if let Some(superpose) = &pass.superpose {
        superpose.apply(block);
    }
    of_superposed(pass, block, rows)
}

/// Analyses a leaf of one analysis, which was superposed, and returns its state.
fn of_superposed(pass: &Pass, block: &Block, rows: &mut [f64]) -> Result<Folded, FoldError> {
    let mut state = pass.analysis.empty()?;
    pass.analysis.absorb(block, rows, &mut state)?;
    Ok(Folded { state, cells: CellSummary::of(block, pass.analysis.cell_use()) })
}

/// The work of one of several analyses on a leaf of the pass.
struct ComponentFold<'a> {
    of: &'a Component,
    /// The leaves of this analysis.
    grid: Leaves,
    /// Frames of its current leaf, as far as they were read.
    block: Block,
    /// States of its leaves within the leaf of the pass.
    states: Merger<Folded>,
}

impl ComponentFold<'_> {
    /// Takes the analysis' atoms of a block whose last frame is before position `end`. If they complete a leaf of the
    /// analysis, analyses it and returns the position of its first frame and its rows.
    fn absorb(&mut self, read: &Block, end: usize) -> Result<Option<(usize, Vec<f64>)>, FoldError> {
        let Component { pass, map, .. } = self.of;
        let leaf = (end - 1) / self.grid.frames_per_leaf();
        let frames = self.grid.frames(leaf);
        let rows = || {
            let len = frames.len().saturating_mul(pass.analysis.row_width());
            memory::filled(len, 0.0, "the numbers of the frames of a leaf")
        };
        // The block that was read is the leaf: nothing has to be copied.
        if read.n_frames() == frames.len()
            && matches!(map, AtomMap::All)
            && pass.superpose.is_none()
        {
            let mut rows = rows()?;
            let state = of_superposed(pass, read, &mut rows)?;
            self.add(leaf, state);
            return Ok(Some((frames.start, rows)));
        }
        if self.block.n_frames() == 0 {
            self.block.reset(frames.len(), pass.atoms.len())?;
        }
        for i in 0..read.n_frames() {
            let at = self.block.n_frames();
            map.copy(read.frame(i), self.block.frame_mut(at));
            self.block.meta.push(read.meta.frames[i], read.meta.info(i));
        }
        if end < frames.end {
            return Ok(None);
        }
        let mut rows = rows()?;
        let state = of_leaf(pass, &mut self.block, &mut rows)?;
        self.add(leaf, state);
        self.block.meta.clear();
        Ok(Some((frames.start, rows)))
    }

    /// Adds the state of a leaf of the analysis.
    fn add(&mut self, leaf: usize, folded: Folded) {
        let analysis = &*self.of.pass.analysis;
        self.states
            .add(Node::leaf(leaf), folded, |left, right| Folded::merge(analysis, left, right));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const N_ATOMS: usize = 2500;

    /// Records the frames of each block, and how states were merged.
    #[derive(Clone, Copy, Debug)]
    struct Recorder {
        width: usize,
        passes: usize,
    }

    impl Analysis for Recorder {
        fn row_width(&self) -> usize {
            if self.passes == 1 { self.width } else { 0 }
        }

        fn absorb(
            &self,
            block: &Block,
            rows: &mut [f64],
            state: &mut State,
        ) -> Result<(), FrameError> {
            state.extend(block.meta.frames.iter().map(|&frame| frame as f64));
            for (i, row) in rows.chunks_exact_mut(self.row_width().max(1)).enumerate() {
                row.fill(block.meta.times[i]);
                row[0] = block.frame(i).iter().map(|&x| f64::from(x)).sum();
            }
            Ok(())
        }

        fn merge(&self, left: State, right: State) -> State {
            [&[-1.0][..], &left, &right, &[-2.0]].concat()
        }
    }

    fn pass_of(atoms: &[i64], recorder: Recorder) -> Pass {
        let then: Option<crate::analysis::Continuation> = (recorder.passes > 1).then(|| {
            let next = Recorder { passes: recorder.passes - 1, ..recorder };
            let atoms = atoms.to_vec();
            Box::new(move |state: State| {
                let width = recorder.width + state.len() % 3;
                pass_of(&atoms, Recorder { width, ..next })
            }) as _
        });
        Pass {
            atoms: Atoms::listed(atoms, N_ATOMS).unwrap(),
            superpose: None,
            analysis: Box::new(recorder),
            then,
        }
    }

    /// Runs all passes leaf by leaf, as a run does, on positions that tell atom and frame.
    fn run(mut pass: JointPass, n_frames: usize) -> (Vec<f64>, JointState, usize) {
        loop {
            let (leaves, width) = (pass.leaves(n_frames), pass.row_width());
            let mut rows = vec![0.0; n_frames * width];
            let mut states = Merger::new(leaves.len());
            for leaf in 0..leaves.len() {
                let frames = leaves.frames(leaf);
                let rows = &mut rows[frames.start * width..frames.end * width];
                let mut fold = pass.fold(frames.clone(), n_frames);
                for chunk in pass.chunks(frames, n_frames) {
                    let mut block = Block::default();
                    block.reset(chunk.len(), pass.atoms().len()).unwrap();
                    for (i, frame) in chunk.enumerate() {
                        let atoms = pass.atoms().indices();
                        for (x, atom) in block.frame_mut(i).chunks_exact_mut(3).zip(atoms) {
                            x.copy_from_slice(&[frame as f32, atom as f32, 1.0]);
                        }
                        let cell = [f64::NAN; 6];
                        let info = trajet_formats::FrameInfo {
                            time: frame as f64 / 2.0,
                            step: 0,
                            cell,
                            turned: None,
                        };
                        block.meta.push(frame as u64, info);
                    }
                    assert!(fold.absorb(&mut [block], rows).is_ok());
                }
                states.add(Node::leaf(leaf), fold.finish(), |l, r| pass.merge(l, r));
            }
            let state = states.into_whole().unwrap_or_else(|| pass.empty().unwrap());
            let state = pass.unpack(&pass.pack(state)).unwrap();
            if pass.is_last() {
                return (rows, state, width);
            }
            pass = pass.next(state).unwrap().unwrap();
        }
    }

    fn recorded() -> impl Strategy<Value = (Vec<i64>, Recorder)> {
        let atoms = prop_oneof![
            prop::collection::vec(0..N_ATOMS as i64, 1..40),
            (1..N_ATOMS as i64).prop_map(|end| (0..end).collect()),
            (1..N_ATOMS as i64).prop_map(|end| (0..end).rev().collect()),
        ];
        let recorder =
            (1usize..3, 1usize..4).prop_map(|(width, passes)| Recorder { width, passes });
        (atoms, recorder)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]
        #[test]
        fn analyses_together_have_the_bits_of_each_alone(
            analyses in prop::collection::vec(recorded(), 1..5),
            n_frames in prop_oneof![0usize..10, 200usize..1500],
        ) {
            let passes = analyses.iter().map(|(atoms, recorder)| (None, pass_of(atoms, *recorder)));
            let (rows, states, width) = run(JointPass::of(passes.collect()).unwrap(), n_frames);
            let mut column = 0;
            for ((atoms, recorder), state) in analyses.iter().zip(states) {
                let (own, own_state, own_width) = run(pass_of(atoms, *recorder).into(), n_frames);
                prop_assert!([state] == own_state[..]);
                let here = column..column + own_width;
                let found = rows.chunks_exact(width).flat_map(|row| &row[here.clone()]);
                prop_assert!(found.eq(&own));
                column += own_width;
            }
            prop_assert_eq!(column, width);
        }
    }
}
