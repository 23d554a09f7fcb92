//! Removal of jumps by tasks that several threads do at the same time, in one pass over the frames.
//!
//! A task finds the jumps between its first frames. Then it receives what the task before hands over: the positions in
//! the frame before its first one, and the shifts up to that frame. It adds the jumps to its first frame and its own,
//! follows its further frames as one thread does, hands over the same for its last frame, and only then moves the atoms of
//! its first frames. All jumps are added in the order of the frames, so that every sum is that of one thread, also where it
//! saturates.

use std::collections::VecDeque;

use trajet_kernels::cell::Cell;

use crate::nojump::{
    FrameJumps, LargeStep, PreparedNoJump, ReferenceFrame, Walk, check_known, is_doubtful,
    without_first,
};

/// The jumps of a task.
#[derive(Default)]
pub(crate) struct TaskJumps {
    /// The number and cell of the first frame with positions, and that frame.
    first: Option<(u64, Cell)>,
    compared_first: ReferenceFrame,
    /// The last frame with positions.
    before: ReferenceFrame,
    /// The position of the last frame.
    last: Option<usize>,
    /// Number of atoms whose jumps are removed.
    n_atoms: usize,
    /// The cell of each frame and the jumps that lead to it, in order; `None` for frames without positions.
    frames: VecDeque<Option<(Cell, FrameJumps)>>,
    /// Memory of used jumps.
    spare: Vec<FrameJumps>,
    /// The shifts up to the last frame that was moved.
    moved: Walk,
    /// Memory for the atoms whose jumps are removed.
    own: Vec<[f32; 3]>,
}

impl TaskJumps {
    /// Forgets the task before.
    pub(crate) fn clear(&mut self) {
        (self.first, self.last) = (None, None);
        self.frames.clear();
    }

    /// Passes over the next frame if its atoms are not moved later: if it lacks positions, or was moved when it was
    /// followed. Returns whether that is so.
    pub(crate) fn skips_next(&mut self) -> bool {
        let is_skipped = !matches!(self.frames.front(), Some(Some(_)));
        if is_skipped {
            self.frames.pop_front();
        }
        is_skipped
    }
}

impl PreparedNoJump {
    /// Finds the jumps that lead to the next frame of a task that has not received. Returns the step if it is doubtful.
    pub(crate) fn count(
        &self,
        number: u64,
        cell: &Cell,
        positions: &[[f32; 3]],
        task: &mut TaskJumps,
    ) -> Result<Option<LargeStep>, String> {
        task.last = Some(self.position_of(number)?);
        let mut found = task.spare.pop().unwrap_or_default();
        let own = self.own(positions, &mut task.own);
        let (mut largest, mut unit) = (0.0, 0);
        if task.first.is_some() {
            (largest, unit) = found.find(cell, &self.units, &mut task.before, own)?;
        } else {
            check_known(own)?;
            // What the task before hands over leads to this frame.
            found.set_to_none(&self.units, own.len());
            task.before.set(cell, &self.units, own);
            task.compared_first.clone_from(&task.before);
            (task.first, task.n_atoms) = (Some((number, cell.clone())), own.len());
        }
        let mut doubtful = None;
        if is_doubtful(largest) {
            doubtful = Some((number, self.atom_of(self.start()?, unit)));
        }
        task.frames.push_back(Some((cell.clone(), found)));
        Ok(doubtful)
    }

    /// Counts no jump to a frame without positions: the next one is compared with the frame before it.
    pub(crate) fn count_none(&self, number: u64, task: &mut TaskJumps) -> Result<(), String> {
        let position = self.position_of(number)?;
        if self.start()?.positions.binary_search(&position).is_ok() {
            return Err(without_first());
        }
        task.last = Some(position);
        task.frames.push_back(None);
        Ok(())
    }

    /// Moves a walk on through the frames of a task whose jumps were found. Returns the step to the first of them if it is
    /// doubtful. The walk is what the task before handed over, and of the first task how far it has walked; it has not begun
    /// if jumps are known at the first frame.
    pub(crate) fn receive(
        &self,
        walk: &mut Walk,
        task: &mut TaskJumps,
    ) -> Result<Option<LargeStep>, String> {
        let has_begun = walk.last.is_some();
        walk.last = task.last.or(walk.last);
        let Some((number, cell)) = task.first.take() else { return Ok(None) };
        let start = self.start()?;
        let doubtful = if has_begun {
            let unit = walk.step_to(&cell, &self.units, &task.compared_first);
            unit.map(|unit| (number, self.atom_of(start, unit)))
        } else {
            let begin = start.before(self.position_of(number)?);
            walk.set_shifts(&self.units, task.n_atoms, &start.shifts[begin]);
            start.doubtful[begin]
        };
        task.moved.copy_shifts(walk);
        for (cell, jumps) in task.frames.iter().flatten() {
            walk.add(cell, &self.units, jumps);
        }
        std::mem::swap(&mut walk.before, &mut task.before);
        Ok(doubtful)
    }

    /// Removes the jumps of the next frame whose jumps were found before its task received.
    pub(crate) fn remove_counted(
        &self,
        cell: &Cell,
        positions: &mut [[f32; 3]],
        task: &mut TaskJumps,
    ) -> Result<(), String> {
        let Some(Some((_, jumps))) = task.frames.pop_front() else {
            return Err("frames were not read in order".to_owned());
        };
        let mut own = std::mem::take(&mut task.own);
        self.with_own(positions, &mut own, |own| {
            task.moved.add_and_move(cell, &self.units, &jumps, own);
        });
        task.own = own;
        task.spare.push(jumps);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use trajet_files::Frames;
    use trajet_files::transform::{
        PreparedTransform, RelayTransform, TransformMemory, TransformState, TransformWarnings,
    };
    use trajet_formats::{Atoms, FrameInfo};

    use crate::nojump::{NoJump, Start, View};
    use crate::prepared::Prepared;
    use crate::spec::{Step, Transforms};

    const N_ATOMS: usize = 6;

    type Frame = (Vec<[f32; 3]>, f64);

    /// Frames of atoms in cells that change, some without positions, some atoms very far away.
    fn frames() -> impl Strategy<Value = Vec<Frame>> {
        let far = prop_oneof![Just(1e12f32), Just(-3e14)];
        let x = prop_oneof![20 => -60.0..60.0f32, 1 => far];
        let atoms = prop::collection::vec(prop::array::uniform3(x), N_ATOMS);
        let none = Just(vec![[f32::NAN; 3]; N_ATOMS]);
        let positions = prop_oneof![8 => atoms.clone(), 1 => none];
        let frame = (positions, 20.0..40.0f64);
        ((atoms, 20.0..40.0f64), prop::collection::vec(frame, 0..14))
            .prop_map(|(first, others)| std::iter::once(first).chain(others).collect())
    }

    fn prepared(view: View, n_frames: usize, chosen: &[i64]) -> Prepared {
        let start =
            Start::at_first(Frames::all(n_frames), chosen.iter().map(|&a| a as u32).collect());
        let molecules = (view == View::Toroidal).then(|| vec![0, 0, 1, 2, 2, 2]);
        let steps = vec![
            Step::Translate { by: [1.0, -2.0, 0.5] },
            Step::NoJump(NoJump { view, molecules, every_frame: false, start: Some(start) }),
            Step::Translate { by: [0.0, 3.0, 0.0] },
        ];
        let atoms = Atoms::listed(chosen, N_ATOMS).unwrap();
        Prepared::new(&Transforms { steps, n_atoms: N_ATOMS }, &atoms).unwrap()
    }

    fn info(edge: f64) -> FrameInfo {
        let cell = [edge, edge + 1.0, 30.0, 90.0, 75.0, 100.0];
        FrameInfo::of_periodic(0.0, 0, cell, None)
    }

    proptest! {
        #[test]
        fn any_tasks_have_the_bits_of_one_thread(
            frames in frames(),
            is_toroidal in any::<bool>(),
            cuts in prop::collection::vec(0..15usize, 0..6),
            walked in 0..3usize,
            // Frames of each task before it receives.
            early in prop::collection::vec(0..15usize, 8),
        ) {
            let view = if is_toroidal { View::Toroidal } else { View::Lattice };
            let chosen: &[i64] = if is_toroidal { &[0, 1, 2, 3, 4, 5] } else { &[1, 2, 5] };
            let of_chosen = |frame: &Frame| -> Vec<[f32; 3]> {
                chosen.iter().map(|&atom| frame.0[atom as usize]).collect()
            };
            let prepared = prepared(view, frames.len(), chosen);
            let n = frames.len();
            let (mut memory, mut warnings) = (TransformMemory::default(), TransformWarnings::default());
            let mut serial = Vec::new();
            for (k, frame) in frames.iter().enumerate() {
                let mut positions = of_chosen(frame);
                let found = prepared.apply(k as u64, &mut positions, &mut info(frame.1), &mut memory);
                warnings.add(&found.unwrap());
                serial.push(positions);
            }
            // The first task walks through some frames before its first.
            let first = walked.min(n - 1);
            let mut ends: Vec<usize> = cuts.iter().map(|&cut| cut.clamp(first, n)).chain([n]).collect();
            ends.sort_unstable();
            ends.dedup();
            let (mut handed, mut in_tasks): (Option<TransformState>, _) = (None, TransformWarnings::default());
            let mut begin = first;
            let mut is_first = true;
            for (end, early) in ends.into_iter().zip(early) {
                if begin == end {
                    continue;
                }
                let mut memory = TransformMemory::default();
                prepared.begin(&mut memory);
                let read = Frames::Strided { first: begin as u64, step: 1, count: end - begin };
                prop_assert!(prepared.task_frames(&read).is_some());
                if is_first {
                    for (k, frame) in frames[..first].iter().enumerate() {
                        let mut positions = of_chosen(frame);
                        let found =
                            prepared.apply(k as u64, &mut positions, &mut info(frame.1), &mut memory);
                        in_tasks.add(&found.unwrap());
                    }
                }
                is_first = false;
                let mut held = Vec::new();
                let receives = (begin + early).min(end);
                for (k, frame) in frames[..end].iter().enumerate().skip(begin) {
                    let (mut positions, mut info) = (of_chosen(frame), info(frame.1));
                    if k == receives {
                        in_tasks.add(&prepared.receive(handed.take(), &mut memory).unwrap());
                    }
                    let found = match k < receives {
                        true => prepared.first_step(k as u64, &mut positions, &mut info, &mut memory),
                        false => prepared.apply(k as u64, &mut positions, &mut info, &mut memory),
                    };
                    in_tasks.add(&found.unwrap());
                    held.push((positions, info));
                }
                if receives == end {
                    in_tasks.add(&prepared.receive(handed.take(), &mut memory).unwrap());
                }
                handed = prepared.hand_over(&mut memory);
                for (k, (mut positions, mut info)) in (begin..end).zip(held) {
                    in_tasks.add(&prepared.second_step(&mut positions, &mut info, &mut memory).unwrap());
                    let bits = |all: &[[f32; 3]]| -> Vec<u32> {
                        all.iter().flatten().map(|x| x.to_bits()).collect()
                    };
                    prop_assert_eq!(bits(&positions), bits(&serial[k]), "frame {}", k);
                }
                begin = end;
            }
            prop_assert_eq!(in_tasks, warnings);
        }
    }

    #[test]
    fn frames_out_of_order_or_left_out_cannot_hand_over() {
        let prepared = prepared(View::Lattice, 10, &[0, 1]);
        for (frames, can) in [
            (vec![0, 1, 2], true),
            (vec![4, 5], true),
            (vec![], true),
            (vec![0, 2], false),
            (vec![3, 2], false),
            (vec![3, 3], false),
            (vec![9, 10], false),
        ] {
            assert_eq!(prepared.task_frames(&frames.clone().into()).is_some(), can, "{frames:?}");
        }
    }

    #[test]
    fn a_first_frame_without_positions_is_an_error() {
        let prepared = prepared(View::Lattice, 4, &[0, 1]);
        let mut memory = TransformMemory::default();
        prepared.begin(&mut memory);
        let refused = prepared.first_step(0, &mut [[f32::NAN; 3]; 2], &mut info(30.0), &mut memory);
        assert!(refused.unwrap_err().contains("first frame from which jumps are counted"));
    }
}
