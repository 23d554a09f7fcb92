//! Removal of jumps over the box.
//!
//! From one frame to the next an atom is taken to have moved by less than half a cell. With fractional coordinates `f`
//! along the box vectors of each frame, the shift of frame `t` against the frame before is `s_t = -round(f_t - f_{t-1})`,
//! three integers, and that against the first frame is the sum of all shifts so far. Integers can be summed in parts:
//! `task_jumps` counts those of a task, which the task before hands the sums so far. Where frames are not read in
//! order, `net_jumps` counts those of runs of frames before, and [`Start`] holds the sums before certain frames,
//! from which a reader can begin anywhere. `plan` chooses between these schedules.
//!
//! If the cell changes, there are two views of the same shifts. The lattice view adds `Σ s · L_t` with the cell of the
//! frame, which keeps bonds and distances to neighbours (M. Kulke and J. V. Vermaas, J. Chem. Theory Comput. 18, 6161
//! (2022), doi:10.1021/acs.jctc.2c00327). The toroidal view adds `Σ s_t · L_t` with the cell of each jump, to whole
//! molecules, which keeps their diffusion (S. von Bülow, J. T. Bullerjahn and G. Hummer, J. Chem. Phys. 153, 021101
//! (2020), doi:10.1063/5.0008316). It is summed in fixed point, so that the sum does not depend on the parts.

use serde::{Deserialize, Serialize};
use trajet_files::Frames;
use trajet_kernels::cell::Cell;
use trajet_kernels::periodic::{
    AtomJumps, AtomShifts, FrameBefore, Groups, LARGE_STEP, add_and_shift_atoms, add_atom_jumps,
    add_toroidal_jumps, count_jumps, count_jumps_between, find_atom_jumps, find_jumps,
    follow_atoms, fractional_centres, move_groups, shift_atoms, toroidal_jumps,
};

/// The shifts that are added to positions. They are sums of jumps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum View {
    /// Shifts of each atom, with the cell of the frame.
    Lattice,
    /// Shifts of each molecule, with the cells of the jumps.
    Toroidal,
}

/// The removal of jumps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoJump {
    /// The shifts that are added to positions.
    pub view: View,
    /// The number of the molecule of each atom, for the toroidal view.
    pub molecules: Option<Vec<u32>>,
    /// Whether jumps are also counted in the frames between the requested ones.
    pub every_frame: bool,
    /// The frames that are compared one after the other; known once frames are requested.
    #[serde(default)]
    pub start: Option<Start>,
}

/// A step whose direction is doubtful: the number of the frame that it leads to, and the atom.
pub type LargeStep = (u64, u32);

/// The frames that are compared one after the other, and the shifts with which some of them begin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Start {
    /// The frames, ascending, each once.
    pub frames: Frames,
    /// The atoms of the shifts, or of the molecules that have them, ascending.
    pub atoms: Vec<u32>,
    /// Positions in `frames`, ascending, the first of which is 0.
    pub positions: Vec<usize>,
    /// The shifts of each of these frames, three for each atom or molecule: integers, or multiples of 2⁻³² Å in the
    /// toroidal view. Molecules are in the order of their first atoms. An empty list is all zero.
    pub shifts: Vec<Vec<i64>>,
    /// For each of these frames, the first doubtful step up to it.
    pub doubtful: Vec<Option<LargeStep>>,
}

impl Start {
    /// Returns the start at the first of `frames`, without shifts.
    pub fn at_first(frames: Frames, atoms: Vec<u32>) -> Self {
        Start { frames, atoms, positions: vec![0], shifts: vec![Vec::new()], doubtful: vec![None] }
    }

    /// Returns the start for the removal of the jumps of `atoms`, ascending; `None` if their shifts are not known.
    pub(crate) fn of_atoms(&self, atoms: &[usize], view: View) -> Option<Start> {
        let listed: Vec<u32> = atoms.iter().map(|&atom| atom as u32).collect();
        let shifts = if self.shifts.iter().all(Vec::is_empty) || listed == self.atoms {
            self.shifts.clone()
        } else if view == View::Toroidal {
            // Molecules are numbered by their first atoms.
            return None;
        } else {
            let place = |atom: &u32| self.atoms.binary_search(atom).ok();
            let places: Vec<usize> = listed.iter().map(place).collect::<Option<_>>()?;
            let own = |shifts: &Vec<i64>| match shifts.as_chunks::<3>().0 {
                [] => Vec::new(),
                triples => places.iter().flat_map(|&place| triples[place]).collect(),
            };
            self.shifts.iter().map(own).collect()
        };
        let Start { frames, positions, doubtful, .. } = self.clone();
        Some(Start { frames, atoms: listed, positions, shifts, doubtful })
    }

    pub(crate) fn position_of(&self, number: u64) -> Option<usize> {
        match &self.frames {
            Frames::Strided { first, step, count } => {
                let beyond = number.checked_sub(*first)?;
                let step = u64::try_from(*step).ok().filter(|&step| step > 0)?;
                let position = (beyond / step) as usize;
                (beyond.is_multiple_of(step) && position < *count).then_some(position)
            }
            Frames::Listed(list) => list.binary_search(&number).ok(),
        }
    }

    /// Returns the frames that must be read for `frames`: from the last start before them to the last of them.
    pub(crate) fn frames_read(&self, frames: &Frames) -> Option<Frames> {
        let positions = (0..frames.len()).map(|k| self.position_of(frames.get(k)));
        let positions: Vec<usize> = positions.collect::<Option<_>>()?;
        let (first, last) = (*positions.iter().min()?, *positions.iter().max()?);
        Some(self.frames.slice(self.positions[self.before(first)]..last + 1))
    }

    /// Returns whether all frames between the first and the last of `frames` are frames of the list, in its order, and
    /// jumps are known at the first frame of the list only.
    pub(crate) fn is_run(&self, frames: &Frames) -> bool {
        let follows = |next: Option<usize>, k| {
            let found = self.position_of(frames.get(k))?;
            (next.is_none() || next == Some(found)).then_some(Some(found + 1))
        };
        self.positions.len() == 1 && (0..frames.len()).try_fold(None, follows).is_some()
    }

    /// Returns the number of the last start at or before a position.
    pub(crate) fn before(&self, position: usize) -> usize {
        self.positions.partition_point(|&start| start <= position) - 1
    }
}

/// The units whose jumps are counted: atoms, or molecules by their centres.
pub(crate) enum Units {
    Atoms,
    Molecules(Groups),
}

impl Units {
    /// Returns a column of a unit.
    pub(crate) fn column(&self, unit: usize) -> u32 {
        match self {
            Units::Atoms => unit as u32,
            Units::Molecules(groups) => groups.members[groups.starts[unit] as usize],
        }
    }

    /// Returns the number of units of some atoms.
    fn count(&self, n_atoms: usize) -> usize {
        match self {
            Units::Atoms => n_atoms,
            Units::Molecules(groups) => groups.len(),
        }
    }
}

/// A frame that others are compared with: positions of atoms, or fractional coordinates of centres of molecules.
#[derive(Clone, Default)]
pub(crate) struct ReferenceFrame {
    atoms: FrameBefore,
    centres: Vec<[f64; 3]>,
}

impl ReferenceFrame {
    /// Sets the frame.
    pub(crate) fn set(&mut self, cell: &Cell, units: &Units, positions: &[[f32; 3]]) {
        match units {
            Units::Atoms => self.atoms.set(cell, positions),
            Units::Molecules(groups) => {
                fractional_centres(cell, groups, None, positions, &mut self.centres);
            }
        }
    }
}

/// The jumps of all units from one frame to the next.
#[derive(Default)]
pub(crate) struct FrameJumps {
    atoms: AtomJumps,
    molecules: Vec<[i32; 3]>,
    /// Memory for fractional coordinates.
    f: Vec<[f64; 3]>,
}

impl FrameJumps {
    /// Sets the jumps to none.
    pub(crate) fn set_to_none(&mut self, units: &Units, n_atoms: usize) {
        match units {
            Units::Atoms => self.atoms.set_to_none(n_atoms),
            Units::Molecules(groups) => {
                self.molecules.clear();
                self.molecules.resize(groups.len(), [0; 3]);
            }
        }
    }

    /// Finds the jumps from the frame before to this one, which becomes the frame before. Returns the largest step, as a
    /// share of a cell, and its unit.
    ///
    /// # Errors
    /// As [`check_known`].
    pub(crate) fn find(
        &mut self,
        cell: &Cell,
        units: &Units,
        before: &mut ReferenceFrame,
        positions: &[[f32; 3]],
    ) -> Result<(f64, usize), String> {
        let step = match units {
            Units::Atoms => find_atom_jumps(cell, &mut before.atoms, positions, &mut self.atoms),
            Units::Molecules(groups) => {
                fractional_centres(cell, groups, None, positions, &mut self.f);
                self.molecules.resize(self.f.len(), [0; 3]);
                find_jumps(&mut before.centres, &self.f, &mut self.molecules)
            }
        };
        checked(step, positions)
    }
}

/// The frame before, and the shifts so far.
#[derive(Default)]
pub(crate) struct Walk {
    /// Position of the last frame.
    pub(crate) last: Option<usize>,
    pub(crate) before: ReferenceFrame,
    /// The shifts of atoms, in cells.
    shifts: AtomShifts,
    /// The shifts of molecules, in fixed point.
    sums: Vec<[i64; 3]>,
    /// Memory for fractional coordinates.
    f: Vec<[f64; 3]>,
    /// Memory for the atoms whose jumps are removed.
    own: Vec<[f32; 3]>,
}

impl Walk {
    /// Moves on to a frame. Returns the unit of the largest step if that is doubtful.
    ///
    /// # Errors
    /// As [`check_known`].
    pub(crate) fn step(
        &mut self,
        cell: &Cell,
        units: &Units,
        positions: &[[f32; 3]],
    ) -> Result<Option<usize>, String> {
        let step = match units {
            Units::Atoms => count_jumps(cell, &mut self.before.atoms, positions, &mut self.shifts),
            Units::Molecules(groups) => self.step_of_centres(cell, groups, positions),
        };
        Ok(doubtful(checked(step, positions)?))
    }

    /// Moves on to a frame, and moves its atoms by the shifts. Returns the unit of the largest step if that is doubtful.
    ///
    /// # Errors
    /// As [`check_known`]. The walk must begin again then.
    pub(crate) fn follow(
        &mut self,
        cell: &Cell,
        units: &Units,
        positions: &mut [[f32; 3]],
    ) -> Result<Option<usize>, String> {
        let step = match units {
            Units::Atoms => follow_atoms(cell, &mut self.before.atoms, positions, &mut self.shifts),
            Units::Molecules(groups) => {
                let step = self.step_of_centres(cell, groups, positions);
                move_groups(groups, &self.sums, positions);
                step
            }
        };
        // Moved atoms have positions if they had some before.
        Ok(doubtful(checked(step, positions)?))
    }

    fn step_of_centres(
        &mut self,
        cell: &Cell,
        groups: &Groups,
        positions: &[[f32; 3]],
    ) -> (f64, usize) {
        fractional_centres(cell, groups, None, positions, &mut self.f);
        toroidal_jumps(cell, &mut self.before.centres, &self.f, &mut self.sums)
    }

    /// Adds the jumps to a frame all of whose atoms have positions, as [`Walk::step`]; the frame before stays.
    pub(crate) fn step_to(
        &mut self,
        cell: &Cell,
        units: &Units,
        now: &ReferenceFrame,
    ) -> Option<usize> {
        doubtful(match units {
            Units::Atoms => count_jumps_between(&self.before.atoms, &now.atoms, &mut self.shifts),
            Units::Molecules(_) => {
                toroidal_jumps(cell, &mut self.before.centres, &now.centres, &mut self.sums)
            }
        })
    }

    /// Adds the jumps that lead to a frame with this cell.
    pub(crate) fn add(&mut self, cell: &Cell, units: &Units, jumps: &FrameJumps) {
        match units {
            Units::Atoms => add_atom_jumps(&jumps.atoms, &mut self.shifts),
            Units::Molecules(_) => add_toroidal_jumps(cell, &jumps.molecules, &mut self.sums),
        }
    }

    /// Adds the jumps that lead to a frame with this cell, and moves its atoms by the shifts.
    pub(crate) fn add_and_move(
        &mut self,
        cell: &Cell,
        units: &Units,
        jumps: &FrameJumps,
        positions: &mut [[f32; 3]],
    ) {
        match units {
            Units::Atoms => {
                add_and_shift_atoms(&jumps.atoms, cell, &mut self.shifts, positions);
            }
            Units::Molecules(groups) => {
                self.add(cell, units, jumps);
                move_groups(groups, &self.sums, positions);
            }
        }
    }

    /// Moves the atoms of a frame by the shifts.
    pub(crate) fn move_atoms(&self, cell: &Cell, units: &Units, positions: &mut [[f32; 3]]) {
        match units {
            Units::Atoms => shift_atoms(cell, &self.shifts, positions),
            Units::Molecules(groups) => move_groups(groups, &self.sums, positions),
        }
    }

    /// Takes the shifts of another walk.
    pub(crate) fn copy_shifts(&mut self, of: &Walk) {
        self.shifts.clone_from(&of.shifts);
        self.sums.clone_from(&of.sums);
    }

    /// Returns the sums of shifts of all units, as [`Start::shifts`] has them.
    pub(crate) fn sums(&self, units: &Units) -> Vec<i64> {
        match units {
            Units::Atoms => self.shifts.iter().flat_map(|triple| triple.map(i64::from)).collect(),
            Units::Molecules(_) => self.sums.as_flattened().to_vec(),
        }
    }

    /// Begins at a frame with these shifts.
    pub(crate) fn begin(
        &mut self,
        cell: &Cell,
        units: &Units,
        positions: &[[f32; 3]],
        shifts: &[i64],
    ) {
        self.before.set(cell, units, positions);
        self.set_shifts(units, positions.len(), shifts);
    }

    /// Sets the shifts of all units of some atoms to those that [`Start::shifts`] has.
    pub(crate) fn set_shifts(&mut self, units: &Units, n_atoms: usize, shifts: &[i64]) {
        let triples = shifts.as_chunks::<3>().0;
        let all = |unit: usize| triples.get(unit).copied().unwrap_or([0; 3]);
        match units {
            Units::Atoms => self.shifts.set(n_atoms, |unit| all(unit).map(saturated)),
            Units::Molecules(_) => {
                self.sums.clear();
                self.sums.extend((0..units.count(n_atoms)).map(all));
            }
        }
    }
}

/// Returns the unit of a step if that is doubtful.
fn doubtful((largest, unit): (f64, usize)) -> Option<usize> {
    is_doubtful(largest).then_some(unit)
}

/// Returns a step between two frames if all atoms of the second one have positions: where a position is not finite, the
/// step is not either.
///
/// # Errors
/// As [`check_known`].
fn checked(step: (f64, usize), positions: &[[f32; 3]]) -> Result<(f64, usize), String> {
    if !step.0.is_finite() {
        check_known(positions)?;
    }
    Ok(step)
}

/// Returns whether the direction of a step of this share of a cell is doubtful.
pub(crate) fn is_doubtful(step: f64) -> bool {
    step > LARGE_STEP
}

/// The removal of jumps for certain decoded atoms.
pub(crate) struct PreparedNoJump {
    pub(crate) units: Units,
    /// The columns of the atoms whose jumps are removed.
    pub(crate) columns: Vec<u32>,
    /// `None` until frames are requested.
    pub(crate) start: Option<Start>,
}

impl PreparedNoJump {
    pub(crate) fn start(&self) -> Result<&Start, String> {
        let unknown = "jumps cannot be removed from frames before it is known which are requested";
        self.start.as_ref().ok_or_else(|| unknown.to_owned())
    }

    pub(crate) fn position_of(&self, number: u64) -> Result<usize, String> {
        let start = self.start()?;
        let other = || "is not one of the frames whose jumps were counted".to_owned();
        start.position_of(number).ok_or_else(other)
    }

    /// Returns the frames to walk through before frame `number`.
    pub(crate) fn frames_before(&self, number: u64, walk: Option<&Walk>) -> Result<Frames, String> {
        let (start, position) = (self.start()?, self.position_of(number)?);
        let from = start.positions[start.before(position)];
        let last = walk.and_then(|walk| walk.last);
        let next = match last {
            Some(last) if last == position => position,
            Some(last) if (from..position).contains(&last) => last + 1,
            _ => from,
        };
        Ok(start.frames.slice(next..position))
    }

    /// Removes the jumps of a frame. Returns the first doubtful step up to it since the frame before.
    pub(crate) fn apply(
        &self,
        number: u64,
        cell: &Cell,
        positions: &mut [[f32; 3]],
        walk: &mut Walk,
    ) -> Result<Option<LargeStep>, String> {
        let mut own = std::mem::take(&mut walk.own);
        let removed =
            self.with_own(positions, &mut own, |own| self.remove(number, cell, own, walk));
        walk.own = own;
        if removed.is_err() {
            walk.last = None;
        }
        removed
    }

    /// Returns the positions of the atoms whose jumps are removed.
    pub(crate) fn own<'a>(
        &self,
        positions: &'a [[f32; 3]],
        own: &'a mut Vec<[f32; 3]>,
    ) -> &'a [[f32; 3]] {
        // Columns are ascending, each once.
        if self.columns.len() == positions.len() {
            return positions;
        }
        own.clear();
        own.extend(self.columns.iter().map(|&column| positions[column as usize]));
        own
    }

    /// Calls `change` with the positions of the atoms whose jumps are removed.
    pub(crate) fn with_own<T>(
        &self,
        positions: &mut [[f32; 3]],
        own: &mut Vec<[f32; 3]>,
        change: impl FnOnce(&mut [[f32; 3]]) -> T,
    ) -> T {
        // Columns are ascending, each once.
        if self.columns.len() == positions.len() {
            return change(positions);
        }
        own.clear();
        own.extend(self.columns.iter().map(|&column| positions[column as usize]));
        let result = change(own);
        for (&column, &moved) in self.columns.iter().zip(&*own) {
            positions[column as usize] = moved;
        }
        result
    }

    /// Removes the jumps of a frame from the positions of its own atoms, as [`PreparedNoJump::apply`].
    fn remove(
        &self,
        number: u64,
        cell: &Cell,
        own: &mut [[f32; 3]],
        walk: &mut Walk,
    ) -> Result<Option<LargeStep>, String> {
        let (start, position) = (self.start()?, self.position_of(number)?);
        let begin = start.before(position);
        if walk.last.is_some_and(|last| last + 1 == position) {
            let unit = walk.follow(cell, &self.units, own)?;
            walk.last = Some(position);
            return Ok(unit.map(|unit| (number, self.atom_of(start, unit))));
        }
        check_known(own)?;
        let mut doubtful = None;
        if walk.last != Some(position) {
            if start.positions[begin] != position {
                return Err("frames were not read in order".to_owned());
            }
            walk.begin(cell, &self.units, own, &start.shifts[begin]);
            walk.last = Some(position);
            doubtful = start.doubtful[begin];
        }
        walk.move_atoms(cell, &self.units, own);
        Ok(doubtful)
    }

    /// Returns an atom of a unit.
    pub(crate) fn atom_of(&self, start: &Start, unit: usize) -> u32 {
        start.atoms[self.units.column(unit) as usize]
    }

    /// Leaves out a frame without positions: the next one is compared with the frame before it.
    pub(crate) fn skip(&self, number: u64, walk: &mut Walk) -> Result<(), String> {
        let position = self.position_of(number)?;
        if !walk.last.is_some_and(|last| last == position || last + 1 == position) {
            return Err(without_first());
        }
        walk.last = Some(position);
        Ok(())
    }
}

/// Returns the error for a first frame that lacks positions.
pub(crate) fn without_first() -> String {
    "is the first frame from which jumps are counted and has no positions: leave it out".to_owned()
}

/// Checks that all atoms of a frame have positions.
///
/// # Errors
/// A text that says that one has none.
pub(crate) fn check_known(positions: &[[f32; 3]]) -> Result<(), String> {
    match positions.iter().flatten().all(|x| x.is_finite()) {
        true => Ok(()),
        false => Err("an atom whose jumps are counted has no position there (not a number): leave this frame out"
            .to_owned()),
    }
}

/// Returns a shift as the kernels hold it.
fn saturated(shift: i64) -> i32 {
    shift.clamp(i32::MIN.into(), i32::MAX.into()) as i32
}
