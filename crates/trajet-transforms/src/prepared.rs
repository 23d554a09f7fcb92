//! Transforms for certain atoms: which others must be decoded, and bonds and groups as columns of the decoded atoms.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use trajet_files::transform::{
    PreparedTransform, RelayTransform, Transform, TransformMemory, TransformState,
    TransformWarnings,
};
use trajet_files::{Error, Frames};
use trajet_formats::{Atoms, FrameInfo, NO_ORIGIN, memory, turned_vectors};
use trajet_kernels::cell::{Cell, PERIODIC};
use trajet_kernels::periodic::{
    BondTrees, Groups, Shape, TurnedCell, Unplaced, WholeMemory, centre, cluster_groups,
    make_whole, translate, wrap_groups,
};

use crate::fit::{Fit, FitMotion};
use crate::nojump::{LargeStep, NoJump, PreparedNoJump, Units, View, Walk};
use crate::plan::relay_task_frames;
use crate::spec::{Step, Transforms};
use crate::task_jumps::TaskJumps;

/// The purpose of the memory, for messages.
const WHAT: &str = "the molecules of a transform";
/// Numbers of prepared transforms, by which memories are recognised.
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// A transform for the users of certain atoms.
pub(crate) struct Prepared {
    number: u64,
    decoded: Atoms,
    columns: Option<Vec<u32>>,
    steps: Vec<PreparedStep>,
}

enum PreparedStep {
    Whole(BondTrees),
    NoJump(PreparedNoJump),
    Cluster(Groups),
    Center { columns: Vec<u32>, weights: Option<Vec<f64>> },
    Wrap { groups: Groups, weights: Option<Vec<f64>>, shape: Shape },
    Fit(Fit),
    SubtractOrigin,
    Translate([f64; 3]),
}

/// Memory from frame to frame, and of which transform.
#[derive(Default)]
struct Memory {
    number: u64,
    whole: WholeMemory,
    walk: Walk,
    task: TaskJumps,
}

/// A function that removes jumps: it changes the positions of a frame, given its cell, and returns a large step.
type OnJumps<'a> =
    dyn FnMut(&PreparedNoJump, &Cell, &mut [[f32; 3]]) -> Result<Option<LargeStep>, String> + 'a;

/// A set of atoms of a frame.
type Mask = Vec<bool>;

impl Prepared {
    /// Prepares the steps for users of `atoms`.
    ///
    /// # Errors
    /// [`Error::Memory`].
    pub(crate) fn new(transforms: &Transforms, atoms: &Atoms) -> Result<Self, Error> {
        let n = transforms.n_atoms;
        let mut needed: Mask = memory::filled(n, false, WHAT)?;
        match atoms.sorted() {
            Some(list) => list.iter().for_each(|&atom| needed[atom as usize] = true),
            None => needed.fill(true),
        }
        // What each step must have moved, from the last to the first.
        let mut moved = Vec::new();
        for step in transforms.steps.iter().rev() {
            let own = needed.clone();
            require(step, &mut needed)?;
            moved.push(if takes_more(step) { needed.clone() } else { own });
        }
        moved.reverse();
        let listed: Vec<i64> =
            needed.iter().enumerate().filter(|&(_, &is)| is).map(|(atom, _)| atom as i64).collect();
        let decoded = Atoms::listed(&listed, n)?;
        let mut column_of = memory::filled(n, u32::MAX, WHAT)?;
        for (column, &atom) in listed.iter().enumerate() {
            column_of[atom as usize] = column as u32;
        }
        let steps = transforms.steps.iter().zip(&moved);
        let steps = steps.map(|(step, moved)| prepare_step(step, moved, &column_of, &listed));
        let columns = match atoms.listed_indices() {
            Some(list) if atoms.order().is_some() || atoms.n_sorted() != decoded.len() => {
                Some(list.into_iter().map(|atom| column_of[atom]).collect())
            }
            _ => None,
        };
        Ok(Prepared {
            number: NUMBER.fetch_add(1, Ordering::Relaxed) + 1,
            columns,
            steps: steps.collect(),
            decoded,
        })
    }

    /// Returns the removal of jumps, if there is one.
    pub(crate) fn no_jump(&self) -> Option<&PreparedNoJump> {
        self.no_jump_at().ok().map(|(_, no_jump)| no_jump)
    }

    /// Returns the atoms whose jumps are removed, ascending.
    pub(crate) fn atoms_with_jumps(&self) -> Vec<u32> {
        let sorted = self.decoded.sorted();
        let atom = |&column: &u32| sorted.map_or(column, |list| list[column as usize]);
        self.no_jump().map_or(Vec::new(), |no_jump| no_jump.columns.iter().map(atom).collect())
    }

    /// Returns the removal of jumps, and its position among the steps.
    ///
    /// # Errors
    /// A text, if there is none.
    fn no_jump_at(&self) -> Result<(usize, &PreparedNoJump), String> {
        let found = self.steps.iter().enumerate().find_map(|(k, step)| match step {
            PreparedStep::NoJump(no_jump) => Some((k, no_jump)),
            _ => None,
        });
        found.ok_or_else(|| "jumps are not removed".to_owned())
    }

    /// Returns the memory of this transform, which forgets that of another one.
    fn own_memory<'a>(&self, memory: &'a mut TransformMemory) -> &'a mut Memory {
        let of_others = |memory: &Memory| memory.number != self.number;
        if memory.as_ref().and_then(|m| m.downcast_ref::<Memory>()).is_none_or(of_others) {
            *memory = Some(Box::new(Memory { number: self.number, ..Memory::default() }));
        }
        let own = memory.as_mut().and_then(|memory| memory.downcast_mut::<Memory>());
        own.expect("made just now")
    }

    /// Does some of the steps; `on_jumps` is called where jumps are removed.
    fn take_steps(
        &self,
        steps: Range<usize>,
        positions: &mut [[f32; 3]],
        info: &mut FrameInfo,
        whole: &mut WholeMemory,
        on_jumps: &mut OnJumps<'_>,
    ) -> Result<TransformWarnings, String> {
        let mut warnings = TransformWarnings::default();
        let mut known = None;
        for step in &self.steps[steps] {
            let needs_cell = !matches!(
                step,
                PreparedStep::Fit(_) | PreparedStep::SubtractOrigin | PreparedStep::Translate(_)
            );
            if needs_cell && known.is_none() {
                known = Some(cell_of(info)?);
            }
            let cell = known.as_ref();
            match (step, cell) {
                (PreparedStep::Whole(trees), Some(cell)) => {
                    let made = make_whole(cell, trees, positions, whole);
                    warnings.infinite_molecules += made.infinite as u64;
                    check_placed(made.unplaced)?;
                }
                (PreparedStep::NoJump(no_jump), Some(cell)) => {
                    warnings.add(&warnings_of(on_jumps(no_jump, cell, positions)?));
                }
                (PreparedStep::Cluster(groups), Some(cell)) => {
                    check_placed(cluster_groups(cell, groups, None, positions))?;
                }
                (PreparedStep::Center { columns, weights }, Some(cell)) => {
                    let at = centre(columns, weights.as_deref(), positions);
                    if !at.iter().all(|x| x.is_finite()) {
                        return Err("a centred atom has no position there (not a number): leave this frame out"
                            .to_owned());
                    }
                    move_all(to_middle(cell, at), positions)?;
                }
                (PreparedStep::Wrap { groups, weights, shape }, Some(cell)) => {
                    wrap(cell, *shape, groups, weights.as_deref(), positions)?;
                }
                (PreparedStep::Fit(fit), _) => {
                    let Some(motion) = fit.motion(positions) else {
                        return Err("a fitted atom has no position there (not a number): leave this frame out"
                            .to_owned());
                    };
                    for position in &mut *positions {
                        *position = motion.apply(position.map(f64::from)).map(|x| x as f32);
                    }
                    if turn(info, &motion.rotation) {
                        known = None;
                    }
                }
                (PreparedStep::SubtractOrigin, _) => {
                    if info.origin != NO_ORIGIN {
                        move_all(info.origin.map(|x| 0.0 - x), positions)?;
                        (info.origin, known) = (NO_ORIGIN, None);
                    }
                }
                (PreparedStep::Translate(by), _) => move_all(*by, positions)?,
                (_, None) => unreachable!("the cell is known where a step needs it"),
            }
        }
        Ok(warnings)
    }
}

/// Returns whether a frame has positions; some frames of TRR files have none.
fn has_positions(positions: &[[f32; 3]]) -> bool {
    positions.iter().flatten().any(|x| x.is_finite())
}

/// Returns whether a step moves all atoms of the molecules of those that are needed.
fn takes_more(step: &Step) -> bool {
    match step {
        Step::Whole { .. } | Step::Cluster { .. } | Step::Wrap { .. } => true,
        Step::NoJump(NoJump { view, .. }) => *view == View::Toroidal,
        Step::Center { .. }
        | Step::Fit { .. }
        | Step::SubtractOrigin {}
        | Step::Translate { .. } => false,
    }
}

/// Adds to `needed` the atoms on which a step depends if its result is needed for these atoms.
fn require(step: &Step, needed: &mut Mask) -> Result<(), Error> {
    let add = |atoms: &[u32], needed: &mut Mask| {
        atoms.iter().for_each(|&atom| needed[atom as usize] = true);
    };
    match step {
        Step::Whole { molecules, .. } => require_groups(molecules, needed)?,
        Step::NoJump(NoJump { molecules: Some(labels), .. }) => require_groups(labels, needed)?,
        Step::Cluster { atoms, molecules } => {
            // Only if one of the molecules is needed at all.
            let mut clustered: Mask = memory::filled(needed.len(), false, WHAT)?;
            add(atoms, &mut clustered);
            require_groups(molecules, &mut clustered)?;
            if clustered.iter().zip(&*needed).any(|(&is, &wanted)| is && wanted) {
                clustered.iter().zip(needed).for_each(|(&is, wanted)| *wanted |= is);
            }
        }
        Step::Wrap { groups: Some(labels), .. } => require_groups(labels, needed)?,
        Step::Center { atoms, .. } | Step::Fit { atoms, .. } => add(atoms, needed),
        Step::NoJump(_)
        | Step::Wrap { groups: None, .. }
        | Step::SubtractOrigin {}
        | Step::Translate { .. } => {}
    }
    Ok(())
}

/// Adds all atoms of the groups of the needed ones.
fn require_groups(labels: &[u32], needed: &mut Mask) -> Result<(), Error> {
    let n_labels = labels.iter().max().map_or(0, |&label| label as usize + 1);
    let mut wanted = memory::filled(n_labels, false, WHAT)?;
    for (&label, _) in labels.iter().zip(&*needed).filter(|&(_, &is)| is) {
        wanted[label as usize] = true;
    }
    for (is, &label) in needed.iter_mut().zip(labels) {
        *is |= wanted[label as usize];
    }
    Ok(())
}

/// Returns the groups of the atoms of `moved` by their labels, as columns, in the order of their first atoms.
fn groups_of(labels: &[u32], moved: &Mask, column_of: &[u32]) -> Groups {
    let own = || labels.iter().enumerate().filter(|&(atom, _)| moved[atom]);
    let n_labels = labels.iter().max().map_or(0, |&label| label as usize + 1);
    let mut numbers = vec![u32::MAX; n_labels];
    let mut starts = vec![0];
    for (_, &label) in own() {
        let number = &mut numbers[label as usize];
        if *number == u32::MAX {
            *number = starts.len() as u32 - 1;
            starts.push(0);
        }
        starts[*number as usize + 1] += 1;
    }
    for group in 1..starts.len() {
        starts[group] += starts[group - 1];
    }
    let mut next = starts.clone();
    let mut members = vec![0; starts[starts.len() - 1] as usize];
    for (atom, &label) in own() {
        let next = &mut next[numbers[label as usize] as usize];
        members[*next as usize] = column_of[atom];
        *next += 1;
    }
    Groups { starts, members }
}

/// Returns the weights of the members of groups; `None` for equal ones.
fn weights_of(weights: Option<&[f64]>, groups: &Groups, listed: &[i64]) -> Option<Vec<f64>> {
    let weights = weights?;
    let weight = |&column: &u32| weights[listed[column as usize] as usize];
    Some(groups.members.iter().map(weight).collect())
}

fn prepare_step(step: &Step, moved: &Mask, column_of: &[u32], listed: &[i64]) -> PreparedStep {
    let columns = |atoms: &[u32]| atoms.iter().map(|&atom| column_of[atom as usize]).collect();
    match step {
        Step::Whole { bonds, .. } => {
            let own = bonds.iter().filter(|[a, b]| moved[*a as usize] && moved[*b as usize]);
            let own: Vec<_> = own.map(|bond| bond.map(|atom| column_of[atom as usize])).collect();
            PreparedStep::Whole(BondTrees::new(listed.len(), &own))
        }
        Step::NoJump(NoJump { view, molecules, start, .. }) => {
            let atoms = moved.iter().enumerate().filter(|&(_, &is)| is).map(|(atom, _)| atom);
            let atoms: Vec<usize> = atoms.collect();
            let columns: Vec<u32> = atoms.iter().map(|&atom| column_of[atom]).collect();
            let units = match (view, molecules) {
                (View::Toroidal, Some(labels)) => {
                    // As columns of the atoms whose jumps are removed.
                    let mut among = vec![u32::MAX; column_of.len()];
                    (0..).zip(&atoms).for_each(|(column, &atom)| among[atom] = column);
                    Units::Molecules(groups_of(labels, moved, &among))
                }
                _ => Units::Atoms,
            };
            let start = start.as_ref().and_then(|start| start.of_atoms(&atoms, *view));
            PreparedStep::NoJump(PreparedNoJump { units, columns, start })
        }
        Step::Cluster { atoms, molecules } => {
            let mut own = vec![false; moved.len()];
            let labels: BTreeSet<u32> =
                atoms.iter().map(|&atom| molecules[atom as usize]).collect();
            for (atom, label) in molecules.iter().enumerate() {
                own[atom] = moved[atom] && labels.contains(label);
            }
            PreparedStep::Cluster(groups_of(molecules, &own, column_of))
        }
        Step::Center { atoms, weights } => {
            PreparedStep::Center { columns: columns(atoms), weights: weights.clone() }
        }
        Step::Wrap { groups, weights, shape } => {
            let groups = match groups {
                Some(labels) => groups_of(labels, moved, column_of),
                None => {
                    let atoms = (0..moved.len()).filter(|&atom| moved[atom]);
                    let members: Vec<u32> = atoms.map(|atom| column_of[atom]).collect();
                    Groups { starts: (0..=members.len() as u32).collect(), members }
                }
            };
            let weights = weights_of(weights.as_deref(), &groups, listed);
            PreparedStep::Wrap { groups, weights, shape: (*shape).into() }
        }
        Step::Fit { atoms, reference, weights, motion, .. } => {
            PreparedStep::Fit(Fit::new(columns(atoms), reference, weights.as_deref(), *motion))
        }
        Step::SubtractOrigin {} => PreparedStep::SubtractOrigin,
        Step::Translate { by } => PreparedStep::Translate(*by),
    }
}

/// Returns the cell of a frame.
///
/// # Errors
/// A text that says that there is none, or that it has no volume.
pub(crate) fn cell_of(info: &FrameInfo) -> Result<Cell, String> {
    let cell = Cell::of_frame(info.cell, info.turned, info.periodic)
        .map_err(|no_cell| format!("{no_cell}: leave this frame out"))?;
    cell.map(|cell| cell.with_origin(info.origin)).ok_or_else(|| {
        "has no unit cell, which periodic boundaries need: leave this frame out, or ask for no \
         change that needs a cell"
            .to_owned()
    })
}

impl Transform for Transforms {
    fn prepare(&self, atoms: &Atoms) -> Result<Arc<dyn PreparedTransform>, Error> {
        Ok(Arc::new(Prepared::new(self, atoms)?))
    }

    fn frames_read(&self, frames: &Frames) -> Option<Frames> {
        self.steps.iter().find_map(|step| match step {
            Step::NoJump(NoJump { start: Some(start), .. }) => start.frames_read(frames),
            _ => None,
        })
    }

    fn rotates(&self) -> bool {
        let turns = |step: &Step| match step {
            Step::Fit { motion, .. } => *motion != FitMotion::Translation,
            _ => false,
        };
        self.steps.iter().any(turns)
    }
}

impl PreparedTransform for Prepared {
    fn decoded(&self) -> &Atoms {
        &self.decoded
    }

    fn columns(&self) -> Option<&[u32]> {
        self.columns.as_deref()
    }

    fn frames_before(&self, number: u64, memory: &TransformMemory) -> Result<Frames, String> {
        let Some(no_jump) = self.no_jump() else { return Ok(Frames::all(0)) };
        let memory = memory.as_ref().and_then(|memory| memory.downcast_ref::<Memory>());
        let own = memory.filter(|memory| memory.number == self.number);
        no_jump.frames_before(number, own.map(|memory| &memory.walk))
    }

    fn apply(
        &self,
        number: u64,
        positions: &mut [[f32; 3]],
        info: &mut FrameInfo,
        memory: &mut TransformMemory,
    ) -> Result<TransformWarnings, String> {
        let Memory { whole, walk, .. } = self.own_memory(memory);
        if positions.is_empty() {
            return Ok(TransformWarnings::default());
        }
        if !has_positions(positions) {
            self.no_jump().map_or(Ok(()), |no_jump| no_jump.skip(number, walk))?;
            return Ok(TransformWarnings::default());
        }
        let mut remove = |no_jump: &PreparedNoJump, cell: &Cell, positions: &mut [[f32; 3]]| {
            no_jump.apply(number, cell, positions, walk)
        };
        self.take_steps(0..self.steps.len(), positions, info, whole, &mut remove)
    }

    fn as_relay(&self) -> Option<&dyn RelayTransform> {
        self.no_jump().is_some().then_some(self)
    }
}

impl RelayTransform for Prepared {
    fn task_frames(&self, frames: &Frames) -> Option<usize> {
        let start = self.no_jump()?.start.as_ref()?;
        relay_task_frames(start, frames, self.decoded.len())
    }

    fn begin(&self, memory: &mut TransformMemory) {
        let Memory { walk, task, .. } = self.own_memory(memory);
        *walk = Walk::default();
        task.clear();
    }

    fn first_step(
        &self,
        number: u64,
        positions: &mut [[f32; 3]],
        info: &mut FrameInfo,
        memory: &mut TransformMemory,
    ) -> Result<TransformWarnings, String> {
        let Memory { whole, task, .. } = self.own_memory(memory);
        let (at, no_jump) = self.no_jump_at()?;
        if !has_positions(positions) {
            no_jump.count_none(number, task)?;
            return Ok(TransformWarnings::default());
        }
        let mut count = |no_jump: &PreparedNoJump, cell: &Cell, positions: &mut [[f32; 3]]| {
            no_jump.count(number, cell, positions, task)
        };
        self.take_steps(0..at + 1, positions, info, whole, &mut count)
    }

    fn receive(
        &self,
        before: Option<TransformState>,
        memory: &mut TransformMemory,
    ) -> Result<TransformWarnings, String> {
        let Memory { walk, task, .. } = self.own_memory(memory);
        if let Some(handed) = before.and_then(|handed| handed.downcast::<Walk>().ok()) {
            *walk = *handed;
        }
        let (_, no_jump) = self.no_jump_at()?;
        Ok(warnings_of(no_jump.receive(walk, task)?))
    }

    fn hand_over(&self, memory: &mut TransformMemory) -> Option<TransformState> {
        let walk = std::mem::take(&mut self.own_memory(memory).walk);
        walk.last.is_some().then(|| Box::new(walk) as TransformState)
    }

    fn second_step(
        &self,
        positions: &mut [[f32; 3]],
        info: &mut FrameInfo,
        memory: &mut TransformMemory,
    ) -> Result<TransformWarnings, String> {
        let Memory { whole, task, .. } = self.own_memory(memory);
        if task.skips_next() {
            return Ok(TransformWarnings::default());
        }
        let (at, _) = self.no_jump_at()?;
        let mut remove = |no_jump: &PreparedNoJump, cell: &Cell, positions: &mut [[f32; 3]]| {
            no_jump.remove_counted(cell, positions, task).map(|()| None)
        };
        self.take_steps(at..self.steps.len(), positions, info, whole, &mut remove)
    }
}

/// Returns the warnings about a step.
fn warnings_of(step: Option<LargeStep>) -> TransformWarnings {
    let first_large_step = step.map(|(to, atom)| (to, u64::from(atom)));
    TransformWarnings {
        large_steps: u64::from(step.is_some()),
        first_large_step,
        ..TransformWarnings::default()
    }
}

/// Checks that a step moved every atom to its place.
///
/// # Errors
/// A text that says that an atom of a molecule or group has no position.
fn check_placed(unplaced: Unplaced) -> Result<(), String> {
    match unplaced {
        None => Ok(()),
        Some(_) => Err("an atom has no position there (not a number), or one that is millions of \
                        cells away, so that its molecule cannot be moved: leave this frame out"
            .to_owned()),
    }
}

/// Adds a vector to all positions.
///
/// # Errors
/// A text that says that an atom would leave the range of `f32`.
fn move_all(by: [f64; 3], positions: &mut [[f32; 3]]) -> Result<(), String> {
    match translate(by, positions) {
        None => Ok(()),
        Some(_) => Err("an atom would be moved to where single precision has no numbers: leave \
                        this frame out, or move by less"
            .to_owned()),
    }
}

/// Returns the vector from a point to the middle of the cell; none along vectors that are not periodic.
fn to_middle(cell: &Cell, from: [f64; 3]) -> [f64; 3] {
    let ([a, b, c], origin) = (cell.vectors(), cell.origin());
    let by = [0, 1, 2].map(|k| origin[k] + (a[k] + b[k] + c[k]) / 2.0 - from[k]);
    if cell.periodic() == PERIODIC {
        by
    } else {
        cell.lattice_vector(cell.wrapping_coordinates(by))
    }
}

/// Wraps groups.
///
/// # Errors
/// A text that says that the cell has no rectangular form, or as [`check_placed`].
fn wrap(
    cell: &Cell,
    shape: Shape,
    groups: &Groups,
    weights: Option<&[f64]>,
    positions: &mut [[f32; 3]],
) -> Result<(), String> {
    let unplaced = wrap_groups(cell, shape, groups, weights, positions).map_err(|TurnedCell| {
        "its box is turned (the first vector is not along x, or the second not in the x-y plane) and has no \
         rectangular form: wrap into another cell, or wrap before you fit"
            .to_owned()
    })?;
    check_placed(unplaced)
}

/// Rotates the box of a frame along. Returns whether that changed it.
fn turn(info: &mut FrameInfo, rotation: &[[f64; 3]; 3]) -> bool {
    let identity = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    if *rotation == identity || info.cell.iter().all(|x| x.is_nan()) {
        return false;
    }
    let Ok(cell) = cell_of(info) else { return false };
    let rotated = |v: [f64; 3]| {
        [0, 1, 2].map(|i| rotation[i][0] * v[0] + rotation[i][1] * v[1] + rotation[i][2] * v[2])
    };
    let turned = cell.vectors().map(rotated);
    info.origin = rotated(info.origin);
    let mut rows = [0.0; 9];
    rows.copy_from_slice(turned.as_flattened());
    info.turned = turned_vectors(&rows, 1.0);
    true
}
