//! Plans how jumps are removed from the frames of a run.
//!
//! Jumps are integers ([`crate::nojump`]), which are summed by one of three schedules. One thread walks through the
//! frames in order, and sums the jumps of each. The threads of one reader relay: each hands its sums to the next. Readers
//! that begin at any frame (processes, joint analyses with several transforms, random access) need the sums there: the
//! jumps of runs of frames are counted first, which reads all frames once more.

use std::ops::Range;

use trajet_files::Frames;
use trajet_formats::Atoms;

use crate::nojump::Start;
use crate::spec::{Step, Transforms};

/// Bytes of one position, as `f32`.
const POSITION_BYTES: usize = 12;
/// Maximal bytes of coordinates in a task that hands over, whose frames are kept in memory together.
const TASK_BYTES: usize = 4 << 20;
/// Maximal number of decoded atoms per analysed atom of a task that hands over: its length depends on the analysed atoms.
const DECODED_PER_ATOM: usize = 32;
/// Number of decoded atoms that such a task may have for however few analysed atoms.
const FEW_ATOMS: usize = 20_000;
/// Bytes of the shifts of an atom with which a run begins.
const SHIFT_BYTES: usize = 24;
/// Maximal bytes of the shifts with which all runs begin.
const RUNS_BYTES: usize = 64 << 20;
/// Maximal number of runs.
const MAX_RUNS: usize = 256;
/// Fewest frames of a run.
const RUN_FRAMES: usize = 8;

/// Frames and atoms to read, and the threads and readers that read them.
#[derive(Clone, Copy, Debug)]
pub struct JumpNeeds<'a> {
    /// The frames, in the order in which they are read.
    pub frames: &'a Frames,
    /// Frames that are compared with these: jumps are counted from the first of all.
    pub compared: &'a Frames,
    /// The atoms.
    pub atoms: &'a Atoms,
    /// Threads of one reader, which can hand over to one another.
    pub threads: usize,
    /// Readers that begin at any of the frames.
    pub workers: usize,
    /// Number of frames that one call reads without a check for interrupts; `None` if calls check for them.
    pub call_frames: Option<usize>,
}

/// Schedule by which the jumps of a run are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JumpPlan {
    /// Each reader while it reads, from the first frame on.
    Walk,
    /// The threads of one reader while they read, in tasks that hand over to the next one.
    Relay {
        /// Maximal number of frames in a task.
        task_frames: usize,
    },
    /// Threads before any frame is read.
    Count {
        /// Number of runs of frames: readers begin at the first frame of a run.
        runs: usize,
    },
}

/// Chooses the schedule by which jumps are counted. `start` is at the first of the frames from which jumps are counted.
pub(crate) fn plan_jumps(start: &Start, n_decoded: usize, needs: &JumpNeeds<'_>) -> JumpPlan {
    let JumpNeeds { frames, atoms, threads, workers, .. } = *needs;
    let n_walked = start.frames.len();
    let relay = relay_task_frames(start, frames, n_decoded).filter(|_| threads > 1);
    let relay = relay.map(|task_frames| JumpPlan::Relay { task_frames });
    if workers <= 1 && needs.call_frames.is_none_or(|n| n_walked <= n.saturating_mul(2)) {
        // A step back would begin anew at the first frame.
        if threads <= 1 && (1..frames.len()).all(|k| frames.get(k - 1) <= frames.get(k)) {
            return JumpPlan::Walk;
        }
        let most_decoded = atoms.len().saturating_mul(DECODED_PER_ATOM).max(FEW_ATOMS);
        if let Some(relay) = relay
            && n_decoded <= most_decoded
        {
            return relay;
        }
    }
    let fitting = RUNS_BYTES / (SHIFT_BYTES * n_decoded.max(1));
    match fitting.min(MAX_RUNS).min(n_walked / RUN_FRAMES) {
        0 | 1 => relay.unwrap_or(JumpPlan::Walk),
        runs => JumpPlan::Count { runs },
    }
}

/// Returns the most frames of a task if threads that read these frames can hand over to one another.
pub(crate) fn relay_task_frames(start: &Start, frames: &Frames, n_decoded: usize) -> Option<usize> {
    let hands_over = n_decoded > 0 && start.is_run(frames);
    hands_over.then(|| (TASK_BYTES / POSITION_BYTES / n_decoded).max(1))
}

/// Returns the frames from which jumps are counted, ascending, each once.
pub(crate) fn frames_walked(transforms: &Transforms, needs: &JumpNeeds<'_>) -> Frames {
    let numbers =
        |frames: &Frames| -> Vec<u64> { (0..frames.len()).map(|k| frames.get(k)).collect() };
    let (mut walked, mut every_frame) = (numbers(needs.frames), false);
    let is_empty = walked.is_empty();
    walked.append(&mut numbers(needs.compared));
    for step in &transforms.steps[transforms.no_jump().unwrap_or(transforms.steps.len())..] {
        match step {
            Step::NoJump(no_jump) => every_frame = no_jump.every_frame,
            // The molecules of the reference must be in the images of the other frames.
            Step::Fit { reference_frame: Some(frame), .. } if !is_empty => walked.push(*frame),
            _ => {}
        }
    }
    walked.sort_unstable();
    walked.dedup();
    let (Some(&first), Some(&last)) = (walked.first(), walked.last()) else {
        return Frames::all(0);
    };
    let count = ((last - first) as usize).saturating_add(1);
    match every_frame || count == walked.len() {
        true => Frames::Strided { first, step: 1, count },
        false => walked.into(),
    }
}

/// Returns the positions of `n` frames in `runs` runs of about the same length.
pub(crate) fn runs_of(n: usize, runs: usize) -> impl Iterator<Item = Range<usize>> {
    (0..runs).map(move |run| n * run / runs..n * (run + 1) / runs)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::FitMotion;
    use crate::nojump::{NoJump, View};

    const NONE: Frames = Frames::Strided { first: 0, step: 1, count: 0 };

    fn walked(every_frame: bool, fitted_to: Option<u64>, needs: &JumpNeeds<'_>) -> Frames {
        let fit = |reference_frame| Step::Fit {
            atoms: vec![0],
            reference: vec![[0.0; 3]],
            reference_frame,
            weights: None,
            motion: FitMotion::Translation,
        };
        let no_jump = NoJump { view: View::Lattice, molecules: None, every_frame, start: None };
        // Frames that are fitted before their jumps are removed need no other frame.
        let steps = vec![fit(Some(1)), Step::NoJump(no_jump), fit(fitted_to)];
        frames_walked(&Transforms { steps, n_atoms: 1 }, needs)
    }

    #[test]
    fn each_need_has_its_schedule() {
        let all = Frames::all;
        let back = |n: usize| Frames::Strided { first: n as u64 - 1, step: -1, count: n };
        let twice = Frames::from(vec![0, 0, 1]);
        let (walk, count) = (JumpPlan::Walk, |runs| JumpPlan::Count { runs });
        let relay = |task_frames| JumpPlan::Relay { task_frames };
        // Frames; analysed and decoded atoms; threads, workers; frames of a call.
        for (frames, atoms, (threads, workers), call_frames, plan) in [
            (all(100), (1000, 1000), (1, 1), None, walk),
            (all(100), (1000, 1000), (2, 1), None, relay(349)),
            (all(100), (1000, 1000), (1, 4), None, count(12)),
            (all(10_000), (1000, 1000), (1, 4), None, count(256)),
            (back(100), (1000, 1000), (1, 1), None, count(12)),
            (back(100), (1000, 1000), (2, 1), None, count(12)),
            (twice.clone(), (1000, 1000), (1, 1), None, walk),
            (twice, (1000, 1000), (2, 1), None, walk),
            // A call that reads few of the frames.
            (all(100), (1000, 1000), (1, 1), Some(50), walk),
            (all(100), (1000, 1000), (1, 1), Some(49), count(12)),
            (all(100), (1000, 1000), (2, 1), Some(49), count(12)),
            // Few frames.
            (all(15), (1000, 1000), (1, 4), None, walk),
            (all(16), (1000, 1000), (1, 4), None, count(2)),
            (all(0), (1000, 1000), (1, 4), None, walk),
            // No and many atoms.
            (all(100), (0, 0), (2, 1), None, count(12)),
            (all(100), (1, 20_000), (2, 1), None, relay(17)),
            (all(100), (1, 20_001), (2, 1), None, count(12)),
            (all(100), (1000, 32_000), (2, 1), None, relay(10)),
            (all(100), (1_000_000, 1_000_000), (2, 1), None, relay(1)),
            (all(100), (1_000_000, 1_000_000), (1, 4), None, count(2)),
            (all(100), (1_500_000, 1_500_000), (1, 4), None, walk),
            (all(100), (1, 1_500_000), (2, 1), None, relay(1)),
        ] {
            let (compared, atoms, n_decoded) = (&NONE, &Atoms::all(atoms.0), atoms.1);
            let needs =
                JumpNeeds { frames: &frames, compared, atoms, threads, workers, call_frames };
            let start = Start::at_first(walked(false, None, &needs), Vec::new());
            assert_eq!(plan_jumps(&start, n_decoded, &needs), plan, "{needs:?}, {n_decoded}");
        }
    }

    #[test]
    fn jumps_are_counted_from_all_frames_that_are_compared() {
        let listed = |list: &[u64]| Frames::from(list.to_vec());
        let four_to_six = Frames::Strided { first: 4, step: 1, count: 3 };
        for (frames, compared, every_frame, fitted_to, expected) in [
            (listed(&[6, 4, 5, 4]), NONE, false, None, four_to_six.clone()),
            (listed(&[6, 4]), NONE, false, None, listed(&[4, 6])),
            (listed(&[6, 4]), NONE, true, None, four_to_six.clone()),
            (listed(&[4]), listed(&[6]), true, None, four_to_six),
            (listed(&[6]), NONE, false, Some(0), listed(&[0, 6])),
            (listed(&[6]), listed(&[2]), true, Some(0), Frames::all(7)),
            (NONE, listed(&[2]), false, Some(0), listed(&[2])),
            (NONE, NONE, true, Some(0), NONE),
        ] {
            let (frames, compared, atoms) = (&frames, &compared, &Atoms::all(1));
            let needs =
                JumpNeeds { frames, compared, atoms, threads: 1, workers: 1, call_frames: None };
            let found = walked(every_frame, fitted_to, &needs);
            let numbers = |of: &Frames| (0..of.len()).map(|k| of.get(k)).collect::<Vec<_>>();
            assert_eq!(numbers(&found), numbers(&expected), "{needs:?}");
        }
    }

    proptest! {
        #[test]
        fn runs_have_each_frame_once(
            n in 0..20_000usize,
            n_atoms in 0..3_000_000usize,
            threads in 1..4usize,
            workers in 1..4usize,
        ) {
            let (frames, atoms) = (Frames::all(n), Atoms::all(n_atoms));
            let (compared, call_frames) = (&NONE, None);
            let needs = JumpNeeds {
                frames: &frames, compared, atoms: &atoms, threads, workers, call_frames,
            };
            let start = Start::at_first(frames.clone(), Vec::new());
            match plan_jumps(&start, n_atoms, &needs) {
                JumpPlan::Walk => prop_assert!(threads * workers == 1 || n < 16 || n_atoms > 1_000_000),
                JumpPlan::Relay { task_frames } => {
                    prop_assert!(threads > 1);
                    prop_assert!(task_frames == 1 || task_frames * n_atoms * 12 <= TASK_BYTES);
                }
                JumpPlan::Count { runs } => {
                    prop_assert!((2..=MAX_RUNS).contains(&runs));
                    prop_assert!(runs * n_atoms * SHIFT_BYTES <= RUNS_BYTES);
                    let mut next = 0;
                    for run in runs_of(n, runs) {
                        prop_assert_eq!(run.start, next);
                        prop_assert!(run.len() >= RUN_FRAMES);
                        next = run.end;
                    }
                    prop_assert_eq!(next, n);
                }
            }
        }
    }
}
