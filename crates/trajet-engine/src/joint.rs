//! Several analyses in one pass: each frame is read and decoded once.
//!
//! Each analysis gets its own atoms in its own leaves, and its states are merged along its own tree, so that its result
//! has the bits of a run of its own. The leaves of the pass are those of the analysis with the most frames per leaf.
//! As grids nest ([`crate::plan`]), each of them holds whole leaves of every other analysis, and the merge of these is
//! a node of the analysis' own tree.

use std::ops::Range;
use std::sync::Arc;

use trajet_files::transform::ChainTransform;
use trajet_files::{Branches, Chain, Error, Frames, ReadRequest, Relay, Scratch, TaskPart};
use trajet_formats::memory::{self, Refused};
use trajet_formats::{Atoms, Block, Field};

use crate::analysis::{Pass, write};
use crate::atom_map::merge_atom_lists;
use crate::component::{Component, ComponentFold, Folded, FoldedArrays, JointEntry};
use crate::error::{Failure, Result};
use crate::frame_arrays::{ArraySpec, FrameArrays};
use crate::plan::Leaves;
use crate::tree::Node;

/// The state of each analysis of a pass.
pub type JointState = Vec<Folded>;

/// The states of the largest whole subtrees in some leaves.
pub type Subtrees = Vec<(Node, JointState)>;

/// A pass of one analysis or several.
pub struct JointPass {
    /// Atoms to read: all distinct ones of the analyses; those of a single analysis are in its order.
    atoms: Atoms,
    /// The field to read.
    field: Field,
    /// If there are transforms: one selection for each, and for the analyses without.
    branches: Option<Branches>,
    components: Vec<Component>,
    /// Analyses of fewer passes, which run with the last pass of the others.
    waiting: Vec<JointEntry>,
}

/// Frames of a task that hands over, whose positions are completed later.
#[derive(Default)]
pub(crate) struct PendingChunk {
    /// The requested atoms.
    pub(crate) block: Block,
    /// All decoded atoms, if these are others.
    held: Vec<f32>,
}

impl PendingChunk {
    /// Returns the chunk as a part of a task; `n_frames` is its number of frames.
    fn part(&mut self, n_frames: usize) -> TaskPart<'_> {
        let PendingChunk { block, held } = self;
        TaskPart { n_frames, held, out: &mut block.positions, meta: &mut block.meta }
    }
}

impl From<Pass> for JointPass {
    fn from(pass: Pass) -> Self {
        let (atoms, field) = (pass.atoms.clone(), pass.field);
        let only = Component::new(JointEntry { number: 0, transform: None, pass }, 0, None);
        JointPass { atoms, field, branches: None, components: vec![only], waiting: Vec::new() }
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
    /// If there are no analyses, they are of trajectories with different numbers of atoms, or one of several does not read
    /// positions.
    pub fn of(analyses: Vec<(Option<Arc<ChainTransform>>, Pass)>) -> Result<Self, Error> {
        let entry = |(number, (transform, pass))| JointEntry { number, transform, pass };
        JointPass::of_entries(analyses.into_iter().enumerate().map(entry).collect())
    }

    fn of_entries(passes: Vec<JointEntry>) -> Result<Self, Error> {
        let n_total = passes[0].pass.atoms.n_total();
        let field = Field::Positions;
        assert!(passes.iter().all(|one| one.pass.field == field), "analyses of other fields");
        // An analysis whose last pass is done would have to keep its arrays while the others go on.
        let goes_on = passes.iter().any(|one| one.pass.analysis.has_next());
        let (now, waiting): (Vec<_>, Vec<_>) =
            passes.into_iter().partition(|one| !goes_on || one.pass.analysis.has_next());
        let mut components: Vec<Component> = Vec::with_capacity(now.len());
        // A selection for each transform, with the positions of its analyses among the components.
        let mut selections: Vec<(Option<Arc<ChainTransform>>, Vec<usize>)> = Vec::new();
        for (k, analysis) in now.into_iter().enumerate() {
            let same = |other: &Option<Arc<ChainTransform>>| match (&analysis.transform, other) {
                (Some(one), Some(other)) => Arc::ptr_eq(one, other),
                (one, other) => one.is_none() && other.is_none(),
            };
            let block = selections.iter().position(|(other, _)| same(other));
            let block = block.unwrap_or_else(|| {
                selections.push((analysis.transform.clone(), Vec::new()));
                selections.len() - 1
            });
            selections[block].1.push(k);
            let component = Component::new(analysis, block, components.last());
            components.push(component);
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
            let atoms = atoms.clone();
            return Ok(JointPass { atoms, field, branches: None, components, waiting });
        }
        let branches = Branches::new(read, n_total)?;
        let atoms = branches.decoded().clone();
        Ok(JointPass { atoms, field, branches: Some(branches), components, waiting })
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
    ) -> Result<(), Failure> {
        blocks.resize_with(self.branches.as_ref().map_or(1, Branches::len), Block::default);
        if let Some(branches) = &self.branches {
            let read = chain.read_branches(branches, frames, positions, scratch, blocks);
            return read.map_err(|(branch, error)| {
                let is_of_transform = matches!(error.root(), Error::Transform { .. });
                // The other analyses with this transform would fail likewise.
                let is_first = |of: &&Component| is_of_transform && Some(of.block) == branch;
                let failed = self.components.iter().find(is_first);
                Failure { analysis: failed.map(|of| of.number), fault: error.into() }
            });
        }
        let block = &mut blocks[0];
        block.reset(positions.len(), self.atoms.len()).map_err(Error::from)?;
        let request = ReadRequest { frames, atoms: &self.atoms, field: self.field };
        chain.read_into(&request, positions, scratch, &mut block.positions, &mut block.meta)?;
        Ok(())
    }

    /// Returns the most frames of a task if tasks of these frames hand over; see [`Chain::relay_task_frames`].
    pub(crate) fn relay_task_frames(
        &self,
        chain: &Chain,
        frames: &Frames,
        threads: usize,
    ) -> Result<Option<usize>, Error> {
        match (&self.branches, self.field) {
            (None, Field::Positions) => chain.relay_task_frames(frames, &self.atoms, threads),
            _ => Ok(None),
        }
    }

    /// Reads the frames of a task that hands over, in these ranges of positions, into `chunks`.
    pub(crate) fn read_task(
        &self,
        chain: &Chain,
        frames: &Frames,
        ranges: &[Range<usize>],
        turn: (&Relay, usize),
        scratch: &mut Scratch,
        chunks: &mut Vec<PendingChunk>,
    ) -> Result<(), Error> {
        chunks.resize_with(ranges.len(), PendingChunk::default);
        let mut parts = Vec::with_capacity(ranges.len());
        for (range, chunk) in ranges.iter().zip(chunks) {
            chunk.block.reset(range.len(), self.atoms.len())?;
            parts.push(chunk.part(range.len()));
        }
        let request = ReadRequest::positions(frames, &self.atoms);
        chain.read_task(&request, turn, scratch, &mut parts)
    }

    /// Completes the positions of the next chunk of a task that has handed over, as [`JointPass::read`] reads them.
    pub(crate) fn complete(
        &self,
        chain: &Chain,
        frames: &Frames,
        chunk: &mut PendingChunk,
        scratch: &mut Scratch,
    ) -> Result<(), Error> {
        let request = ReadRequest::positions(frames, &self.atoms);
        let n_frames = chunk.block.meta.frames.len();
        chain.complete(&request, scratch, &mut chunk.part(n_frames))
    }

    /// Returns the leaves of `n_frames` requested frames.
    pub fn leaves(&self, n_frames: usize) -> Leaves {
        let grids = self.components.iter().map(|component| component.pass.leaves(n_frames));
        grids.max_by_key(Leaves::frames_per_leaf).expect("an analysis")
    }

    /// Returns the bytes that the states of all analyses take, as far as they are known beforehand.
    pub fn state_bytes(&self) -> usize {
        let states = self.components.iter().map(|component| component.pass.analysis.state_bytes());
        states.fold(0, usize::saturating_add)
    }

    /// Returns the arrays of all analyses with an entry for each frame.
    pub fn per_frame(&self) -> Vec<&ArraySpec> {
        self.components.iter().flat_map(|component| &component.per_frame).collect()
    }

    /// Returns the names of these arrays, which begin with the number of the analysis if there are several.
    pub fn array_names(&self) -> Vec<String> {
        let of_component = |Component { number, per_frame, .. }: &Component| {
            let name = |spec: &ArraySpec| match self.components.len() {
                1 => spec.name.to_owned(),
                _ => format!("{number}-{}", spec.name),
            };
            per_frame.iter().map(name).collect::<Vec<_>>()
        };
        self.components.iter().flat_map(of_component).collect()
    }

    /// Returns whether no pass follows.
    pub fn is_last(&self) -> bool {
        self.components.iter().all(|component| !component.pass.analysis.has_next())
    }

    /// Returns the state of no frames.
    ///
    /// # Errors
    /// The error of the first analysis that cannot make its state.
    pub fn empty(&self) -> Result<JointState, Failure> {
        self.components.iter().map(|component| component.numbered(component.empty())).collect()
    }

    /// Merges the states of two adjacent ranges of frames, `left` before `right`.
    ///
    /// # Errors
    /// The error of the first analysis whose states cannot be merged.
    pub fn merge(&self, left: JointState, right: JointState) -> Result<JointState, Failure> {
        let pairs = left.into_iter().zip(right);
        self.components
            .iter()
            .zip(pairs)
            .map(|(of, (left, right))| of.numbered(of.merge(left, right)))
            .collect()
    }

    /// Returns the next pass, made from the states of all frames of this one.
    ///
    /// # Errors
    /// The error of an analysis, or [`Error::Memory`] for the atoms of the next pass.
    ///
    /// # Panics
    /// If this is the last pass.
    pub fn next(self, states: JointState) -> Result<JointPass, Failure> {
        let mut next = self.waiting;
        for (component, folded) in self.components.into_iter().zip(states) {
            next.push(component.next(folded)?);
        }
        next.sort_by_key(|one| one.number);
        let own = |one: &JointEntry| one.transform.is_none();
        match next.len() {
            1 if own(&next[0]) => Ok(next.remove(0).pass.into()),
            _ => Ok(JointPass::of_entries(next)?),
        }
    }

    /// Returns the arrays of each analysis, made from the states of all frames of the last pass.
    ///
    /// # Errors
    /// The error of an analysis.
    ///
    /// # Panics
    /// If there is a further pass.
    pub fn finish(&self, states: JointState) -> Result<Vec<FoldedArrays>, Failure> {
        let each = self.components.iter().zip(states);
        each.map(|(component, folded)| component.numbered(component.finish(folded))).collect()
    }

    /// Returns the bytes of states: of each subtree its node, then the states of each analysis.
    ///
    /// # Errors
    /// [`crate::AnalysisError::Memory`] of an analysis.
    pub fn write_states(&self, subtrees: &Subtrees) -> Result<Vec<u8>, Failure> {
        let mut bytes = Vec::new();
        for (node, states) in subtrees {
            self.components[0].numbered(write(node, &mut bytes))?;
            for (component, folded) in self.components.iter().zip(states) {
                component.numbered(component.write(folded, &mut bytes))?;
            }
        }
        Ok(bytes)
    }

    /// Returns the states of which [`JointPass::write_states`] made these bytes; `None` if they are of other states.
    ///
    /// # Errors
    /// [`Refused`] if there is not enough memory: asked before, as the codec cannot tell that from other states.
    pub fn read_states(&self, bytes: &[u8]) -> Result<Option<Subtrees>, Refused> {
        memory::ask(bytes.len(), "the state of an analysis")?;
        Ok(self.states_of(bytes))
    }

    fn states_of(&self, mut bytes: &[u8]) -> Option<Subtrees> {
        let mut subtrees = Subtrees::new();
        while !bytes.is_empty() {
            let node: Node;
            (node, bytes) = postcard::take_from_bytes(bytes).ok()?;
            let mut states = JointState::with_capacity(self.components.len());
            for component in &self.components {
                let folded;
                (folded, bytes) = component.read(bytes)?;
                states.push(folded);
            }
            subtrees.push((node, states));
        }
        Some(subtrees)
    }

    /// Returns the bytes that a thread needs for a leaf, beside the block that is read.
    pub(crate) fn bytes_of_thread(&self, n_frames: usize) -> usize {
        let of_component = |Component { pass, .. }: &Component| {
            // Gathered positions of a leaf, one more state, and a frame along three axes in double precision.
            let frame = pass.atoms.len().saturating_mul(size_of::<[f32; 3]>());
            let gathered = frame.saturating_mul(pass.leaves(n_frames).frames_per_leaf());
            let state = pass.analysis.state_bytes();
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
        let components = match &self.components[..] {
            [_] => Vec::new(),
            several => several.iter().map(|of| ComponentFold::new(of, n_frames)).collect(),
        };
        LeafFold { pass: self, begin: frames.start, next: frames.start, only: None, components }
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

impl LeafFold<'_> {
    /// Analyses the next blocks of the leaf. `out` has the frames of the whole leaf.
    pub(crate) fn absorb(
        &mut self,
        blocks: &mut [Block],
        out: &mut FrameArrays<'_>,
    ) -> Result<(), Failure> {
        self.next += blocks[0].n_frames();
        if let [component] = &self.pass.components[..] {
            // The block is the whole leaf.
            let folded = component.of_leaf(&mut blocks[0], out);
            self.only = Some(component.numbered(folded)?);
            return Ok(());
        }
        for fold in &mut self.components {
            let component = fold.component();
            let read = &blocks[component.block];
            component.numbered(fold.absorb(read, self.begin..self.next, out))?;
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
        self.components.into_iter().map(ComponentFold::finish).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Merger;
    use crate::{Analysis, Array, Finished, FrameBuffer};
    use proptest::prelude::*;
    use trajet_formats::{FrameInfo, Numbers};

    const N_ATOMS: usize = 2500;

    /// Records the frames of each block, and how states were merged.
    #[derive(Clone, Debug)]
    struct Recorder {
        atoms: Vec<i64>,
        width: usize,
        passes: usize,
    }

    impl Analysis for Recorder {
        type State = Numbers<i64>;

        fn per_frame(&self) -> Vec<ArraySpec> {
            if self.passes > 1 {
                return Vec::new();
            }
            vec![ArraySpec::of::<i64>("frame", &[]), ArraySpec::of::<f64>("row", &[self.width])]
        }

        fn empty(&self) -> Result<Numbers<i64>> {
            Ok(Numbers::default())
        }

        fn absorb(
            &self,
            block: &Block,
            out: &mut FrameArrays<'_>,
            state: &mut Numbers<i64>,
        ) -> Result<()> {
            let frames: Vec<_> = block.meta.frames.iter().map(|&frame| frame as i64).collect();
            state.0.extend(&frames);
            if self.passes > 1 {
                return Ok(());
            }
            let [numbers, rows] = out.all();
            numbers.values().copy_from_slice(&frames);
            for (i, row) in rows.rows::<f64>().enumerate() {
                row.fill(block.meta.times[i]);
                row[0] = block.frame(i).iter().map(|&x| f64::from(x)).sum();
            }
            Ok(())
        }

        fn merge(&self, left: Numbers<i64>, right: Numbers<i64>) -> Result<Numbers<i64>> {
            Ok(Numbers([&[-1][..], &left, &right, &[-2]].concat()))
        }

        fn has_next(&self) -> bool {
            self.passes > 1
        }

        fn finish(&self, state: Numbers<i64>) -> Result<Finished> {
            if self.passes == 1 {
                return Ok(Finished::Arrays(vec![("state", Array::integers(state))]));
            }
            let width = self.width + state.len() % 3;
            Ok(Finished::Next(Box::new(pass_of(Recorder {
                width,
                passes: self.passes - 1,
                atoms: self.atoms.clone(),
            }))))
        }
    }

    fn pass_of(recorder: Recorder) -> Pass {
        Pass::new(Atoms::listed(&recorder.atoms, N_ATOMS).unwrap(), recorder)
    }

    /// Runs all passes leaf by leaf, as a run does, on positions that tell atom and frame.
    fn run(mut pass: JointPass, n_frames: usize) -> (FrameBuffer, Vec<FoldedArrays>) {
        loop {
            let leaves = pass.leaves(n_frames);
            let specs = pass.per_frame().into_iter().cloned().collect();
            let mut buffer = FrameBuffer::new(specs, n_frames).unwrap();
            let mut all = buffer.arrays();
            let n_arrays = all.len();
            let mut states = Merger::new(leaves.len());
            for leaf in 0..leaves.len() {
                let frames = leaves.frames(leaf);
                let mut out = all.part(0..n_arrays, frames.clone());
                let mut fold = pass.fold(frames.clone(), n_frames);
                for chunk in pass.chunks(frames, n_frames) {
                    let mut block = Block::default();
                    block.reset(chunk.len(), pass.atoms().len()).unwrap();
                    for (i, frame) in chunk.enumerate() {
                        let atoms = pass.atoms().indices();
                        for (x, atom) in block.frame_mut(i).chunks_exact_mut(3).zip(atoms) {
                            x.copy_from_slice(&[frame as f32, atom as f32, 1.0]);
                        }
                        let time = frame as f64 / 2.0;
                        let info = FrameInfo::of_periodic(time, 0, [f64::NAN; 6], None);
                        block.meta.push(frame as u64, info);
                    }
                    assert!(fold.absorb(&mut [block], &mut out).is_ok());
                }
                let added = states.add(Node::leaf(leaf), fold.finish(), |l, r| pass.merge(l, r));
                assert!(added.is_ok());
            }
            let whole = states.into_whole().unwrap_or_else(|| pass.empty().unwrap());
            let bytes = pass.write_states(&vec![(Node::leaf(0), whole)]).unwrap();
            let (_, whole) = pass.read_states(&bytes).unwrap().unwrap().remove(0);
            assert!(pass.read_states(&bytes[..bytes.len() - 1]).unwrap().is_none());
            if pass.is_last() {
                return (buffer, pass.finish(whole).unwrap());
            }
            pass = pass.next(whole).unwrap();
        }
    }

    fn recorded() -> impl Strategy<Value = Recorder> {
        let atoms = prop_oneof![
            prop::collection::vec(0..N_ATOMS as i64, 1..40),
            (1..N_ATOMS as i64).prop_map(|end| (0..end).collect()),
            (1..N_ATOMS as i64).prop_map(|end| (0..end).rev().collect()),
        ];
        (atoms, 1usize..3, 1usize..4).prop_map(|(atoms, width, passes)| Recorder {
            atoms,
            width,
            passes,
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]
        #[test]
        fn analyses_together_have_the_bits_of_each_alone(
            analyses in prop::collection::vec(recorded(), 1..5),
            n_frames in prop_oneof![0usize..10, 200usize..1500],
        ) {
            let passes = analyses.iter().map(|recorder| (None, pass_of(recorder.clone())));
            let (mut buffer, states) = run(JointPass::of(passes.collect()).unwrap(), n_frames);
            let mut arrays = buffer.arrays();
            let mut arrays = arrays.each();
            for (recorder, state) in analyses.iter().zip(states) {
                let (mut own, own_state) = run(pass_of(recorder.clone()).into(), n_frames);
                prop_assert!([state] == own_state[..]);
                for array in own.arrays().each() {
                    prop_assert!(arrays.next().unwrap().bytes() == array.bytes());
                }
            }
            prop_assert!(arrays.next().is_none());
        }
    }
}
