//! Counts the jumps in runs of frames, so that several threads can do so before frames are read; see [`crate::nojump`].

use std::ops::Range;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use trajet_files::transform::{ChainTransform, PreparedTransform};
use trajet_files::{Chain, Error, Frames, Meter, ParallelFor, ReadRequest, Scratch};
use trajet_formats::{Atoms, Block};

use crate::nojump::{LargeStep, Start, Units, Walk, check_known};
use crate::plan::{JumpNeeds, JumpPlan, frames_walked, plan_jumps, runs_of};
use crate::prepared::{Prepared, cell_of};
use crate::spec::{Step, Transforms};

/// The jumps of a run of frames, which begins and ends with a frame that has positions.
#[derive(Default)]
struct NetJumps {
    /// The sums of shifts, three numbers for each unit, as [`Start::shifts`] has them.
    shifts: Vec<i64>,
    /// Position of the frame with which the run ends; `None` if no frame from there on has positions.
    end: Option<usize>,
    /// The first doubtful step.
    doubtful: Option<LargeStep>,
}

/// Counts jumps before frames are read.
struct Counter<'a> {
    /// The frames with the steps before the removal of jumps.
    chain: Chain,
    frames: &'a Frames,
    /// The atoms whose jumps are removed, and the same as numbers.
    atoms: Atoms,
    numbers: &'a [u32],
    units: &'a Units,
}

impl Transforms {
    /// Returns the transforms for readers of a run of frames, and the counts of the reads in which jumps were counted
    /// before, on these threads, if the schedule needs that.
    ///
    /// # Errors
    /// As [`Chain::read_into`]: the error of the first run of frames that fails. [`Error::Interrupted`] once `stop` is
    /// set.
    pub fn for_run(
        &self,
        chain: &Chain,
        needs: &JumpNeeds<'_>,
        threads: &dyn ParallelFor,
        stop: &Arc<AtomicBool>,
    ) -> Result<(Transforms, Meter), Error> {
        let walked = frames_walked(self, needs);
        chain.check(&walked)?;
        let prepared = Prepared::new(self, needs.atoms)?;
        let mut start = Start::at_first(walked, prepared.atoms_with_jumps());
        let mut meter = Meter::default();
        if let JumpPlan::Count { runs } = plan_jumps(&start, prepared.decoded().len(), needs) {
            meter = count_runs(chain, self, &mut start, runs, threads, stop)?;
        }
        let mut started = self.clone();
        for step in &mut started.steps {
            if let Step::NoJump(no_jump) = step {
                no_jump.start = Some(start.clone());
            }
        }
        Ok((started, meter))
    }
}

/// Counts the jumps in runs of the frames of `start`, on these threads, and adds the shifts at which each run begins.
/// Returns the counts of all reads.
///
/// # Errors
/// As [`Chain::read_into`] in the first run that fails; [`Error::Interrupted`] once `stop` is set.
///
/// # Panics
/// If jumps are not removed.
fn count_runs(
    chain: &Chain,
    transforms: &Transforms,
    start: &mut Start,
    runs: usize,
    threads: &dyn ParallelFor,
    stop: &Arc<AtomicBool>,
) -> Result<Meter, Error> {
    let at = transforms.no_jump().expect("a step that removes jumps");
    let of_steps = |steps: &[_]| Transforms { steps: steps.to_vec(), n_atoms: transforms.n_atoms };
    let before = ChainTransform::new(Arc::new(of_steps(&transforms.steps[..at])));
    let atoms: Vec<i64> = start.atoms.iter().map(|&atom| i64::from(atom)).collect();
    let atoms = Atoms::listed(&atoms, transforms.n_atoms)?;
    // The same atoms, as a user of them alone would have them.
    let prepared = Prepared::new(&of_steps(&transforms.steps[at..=at]), &atoms)?;
    let units = &prepared.no_jump().expect("its only step").units;
    let chain = chain.transformed(Arc::new(before));
    let counter = Counter { chain, frames: &start.frames, atoms, numbers: &start.atoms, units };
    let mut positions: Vec<_> = runs_of(start.frames.len(), runs).collect();
    // The last run has no successor that begins with its sum.
    positions.pop();
    let counted: Vec<_> = positions.iter().map(|_| Mutex::new(Err(Error::Interrupted))).collect();
    let meter = Mutex::new(Meter::default());
    threads.each(positions.len(), &|run| {
        let mut scratch = Scratch::stopped_by(Arc::clone(stop));
        let net = counter.count(positions[run].clone(), &mut scratch);
        meter.lock().unwrap_or_else(PoisonError::into_inner).add(&scratch.meter);
        *counted[run].lock().unwrap_or_else(PoisonError::into_inner) = net;
    });
    for net in counted {
        let net = net.into_inner().unwrap_or_else(PoisonError::into_inner)?;
        // Where frames lack positions, several runs end with the same frame, or none does.
        let Some(end) = net.end else { break };
        if start.positions.last() == Some(&end) {
            continue;
        }
        let before = &start.shifts[start.shifts.len() - 1];
        let sum = |(k, net): (usize, i64)| before.get(k).copied().unwrap_or(0).saturating_add(net);
        let shifts = net.shifts.into_iter().enumerate().map(sum).collect();
        let doubtful = start.doubtful.last().copied().flatten().or(net.doubtful);
        start.positions.push(end);
        start.shifts.push(shifts);
        start.doubtful.push(doubtful);
    }
    Ok(meter.into_inner().unwrap_or_else(PoisonError::into_inner))
}

impl Counter<'_> {
    /// Returns the sums of shifts from the first frame of a run to the first one of the next run.
    ///
    /// # Errors
    /// As [`Chain::read_into`].
    fn count(&self, run: Range<usize>, scratch: &mut Scratch) -> Result<NetJumps, Error> {
        let Counter { chain, atoms, units, .. } = self;
        let (mut walk, mut block) = (Walk::default(), Block::default());
        let mut net = NetJumps::default();
        let mut has_begun = false;
        // The reader reads ahead as far as the frames that it gets.
        let own = self.frames.slice(run.start..run.end + 1);
        for k in run.start..self.frames.len() {
            block.reset(1, atoms.len())?;
            let (near, at) = match k <= run.end {
                true => (&own, k - run.start),
                false => (&self.frames.slice(k..k + 1), 0),
            };
            let request = ReadRequest::positions(near, atoms);
            chain.read_into(
                &request,
                at..at + 1,
                scratch,
                &mut block.positions,
                &mut block.meta,
            )?;
            let positions = block.positions.as_chunks::<3>().0;
            if !positions.iter().flatten().any(|x| x.is_finite()) {
                continue;
            }
            let number = self.frames.get(k);
            let refused = |why: String| {
                let path = chain.path_of(number).to_owned();
                Error::Transform { path, frame: chain.place(number).frame, why }
            };
            let cell = cell_of(&block.meta.last()).map_err(refused)?;
            if has_begun {
                let unit = walk.step(&cell, units, positions).map_err(refused)?;
                let step = unit.map(|unit| (number, self.numbers[units.column(unit) as usize]));
                net.doubtful = net.doubtful.or(step);
            } else {
                check_known(positions).map_err(refused)?;
                walk.begin(&cell, units, positions, &[]);
                has_begun = true;
            }
            if k >= run.end {
                net.end = Some(k);
                break;
            }
        }
        net.shifts = walk.sums(units);
        Ok(net)
    }
}
