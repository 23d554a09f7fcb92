//! Tasks whose transform depends on all frames before, read by several threads in one pass.
//!
//! A thread reads the frames of a task and does the first step of the transform ([`TwoSteps`]). Then it waits for its turn
//! ([`Relay`]), hands over what the next task needs, and does the second step. Tasks must be taken in order: a task waits
//! only for tasks that threads have taken before, so that the first of all unfinished tasks never waits.

use std::ops::Range;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use trajet_formats::{Atoms, FrameMeta, Snapshot, memory};

use crate::chain::Chain;
use crate::reader::Wanted;
use crate::transform::{Baton, PreparedTransform, TwoSteps};
use crate::{Error, Frames, Scratch};

/// Interval at which a waiting task looks for cancellation.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Hands from task to task, in order, what a transform knows of the frames before.
#[derive(Debug, Default)]
pub struct Relay {
    state: Mutex<State>,
    moved: Condvar,
}

#[derive(Default)]
struct State {
    /// The task whose turn it is.
    next: usize,
    baton: Option<Baton>,
    /// The first task that failed.
    failed: Option<usize>,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State").field("next", &self.next).finish_non_exhaustive()
    }
}

impl Relay {
    /// Does the work of a task. If it fails or panics, later tasks do not wait for it.
    ///
    /// # Errors
    /// Those of the work.
    pub fn guarded<T, E>(&self, task: usize, work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let guard = Guard { relay: self, task };
        let done = work()?;
        std::mem::forget(guard);
        Ok(done)
    }

    /// Tells later tasks that this one failed: they must not wait for it.
    fn fail(&self, task: usize) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.failed = Some(state.failed.map_or(task, |failed| failed.min(task)));
        drop(state);
        self.moved.notify_all();
    }

    /// Waits for the turn of a task, and returns what the task before handed over.
    ///
    /// # Errors
    /// [`Error::Interrupted`] after a cancellation, or if an earlier task failed.
    fn wait(&self, task: usize, scratch: &mut Scratch) -> Result<Option<Baton>, Error> {
        let begin = Instant::now();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = loop {
            if state.failed.is_some_and(|failed| failed < task) {
                break Err(Error::Interrupted);
            }
            if state.next == task {
                break Ok(state.baton.take());
            }
            scratch.check_stop()?;
            let held = self.moved.wait_timeout(state, POLL_INTERVAL);
            state = held.unwrap_or_else(PoisonError::into_inner).0;
        };
        scratch.meter.wait_ns += begin.elapsed().as_nanos() as u64;
        waited
    }

    /// Gives the turn to the next task.
    fn pass_on(&self, task: usize, baton: Option<Baton>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        (state.next, state.baton) = (task + 1, baton);
        drop(state);
        self.moved.notify_all();
    }
}

/// Fails a task when it is dropped.
struct Guard<'a> {
    relay: &'a Relay,
    task: usize,
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.relay.fail(self.task);
    }
}

/// Returns a transform of frames that [`Chain::relays`] in two steps.
///
/// # Panics
/// If it has only one.
fn two_steps(prepared: &dyn PreparedTransform) -> &dyn TwoSteps {
    prepared.as_two_steps().expect("frames whose tasks hand over")
}

impl Chain {
    /// Returns whether a transform depends on the frames before and tasks of these frames can hand over: then they are read
    /// by [`Chain::read_first_step`], [`Chain::hand_over`] and [`Chain::do_second_step`].
    ///
    /// # Errors
    /// As [`crate::transform::Transform::prepare`].
    pub fn relays(&self, frames: &Frames, atoms: &Atoms) -> Result<bool, Error> {
        let prepared = self.prepared(atoms)?;
        let steps = prepared.as_ref().and_then(|prepared| prepared.as_two_steps());
        Ok(steps.is_some_and(|steps| steps.can_hand_over(frames)))
    }

    /// Begins a task of frames: reads what the first task of all depends on.
    ///
    /// # Errors
    /// As [`Chain::read_into`].
    ///
    /// # Panics
    /// As [`Chain::read_first_step`].
    pub fn begin_task(
        &self,
        frames: &Frames,
        atoms: &Atoms,
        task: usize,
        scratch: &mut Scratch,
    ) -> Result<(), Error> {
        self.check(frames)?;
        let prepared = self.prepared(atoms)?.expect("a transform");
        two_steps(&*prepared).begin(&mut scratch.transform);
        if task > 0 || frames.is_empty() {
            return Ok(());
        }
        let mut decoded = std::mem::take(&mut scratch.decoded);
        let len = prepared.decoded().len() * 3;
        let walked = memory::resize(&mut decoded, len, 0.0, "the atoms of a frame")
            .map_err(Error::from)
            .and_then(|()| self.walk_to(&*prepared, frames.get(0), scratch, &mut decoded));
        scratch.decoded = decoded;
        walked
    }

    /// Reads the next frames of a task, and does the first step of the transform. The positions are in `held`
    /// (`[frames, decoded atoms, 3]`) if other atoms are decoded than requested, or else in `out`; `meta` gets these frames
    /// only.
    ///
    /// # Errors
    /// As [`Chain::read_into`].
    ///
    /// # Panics
    /// As [`Chain::read_into`], and if the frames are not those of a task that [`Chain::relays`].
    pub fn read_first_step(
        &self,
        request: &Wanted<'_>,
        positions: Range<usize>,
        scratch: &mut Scratch,
        held: &mut Vec<f32>,
        out: &mut [f32],
        meta: &mut FrameMeta,
    ) -> Result<(), Error> {
        let prepared = self.prepared(request.atoms)?.expect("a transform");
        let steps = two_steps(&*prepared);
        let inner = Wanted { atoms: prepared.decoded(), ..*request };
        let frame_len = inner.atoms.len() * 3;
        let target = if prepared.columns().is_some() {
            let len = positions.len().saturating_mul(frame_len);
            memory::resize(held, len, 0.0, "the atoms of the frames of a task")?;
            &mut held[..]
        } else {
            out
        };
        assert_eq!(target.len(), positions.len() * frame_len, "size of the output");
        for (at, target) in positions.zip(target.chunks_exact_mut(frame_len)) {
            self.read_untransformed(&inner, at..at + 1, scratch, target, meta)?;
            let (begin, number, mut info) = (Instant::now(), request.frames.get(at), meta.last());
            let target = target.as_chunks_mut::<3>().0;
            let doubts = steps.first_step(number, target, &mut info, &mut scratch.transform);
            self.add_doubts(doubts, number, begin, scratch)?;
            meta.set_last(info);
        }
        Ok(())
    }

    /// Waits until the task before has handed over, and hands over to the next task.
    ///
    /// # Errors
    /// [`Error::Interrupted`] after a cancellation, or if an earlier task failed; [`Error::Transform`].
    ///
    /// # Panics
    /// As [`Chain::read_first_step`].
    pub fn hand_over(
        &self,
        frames: &Frames,
        atoms: &Atoms,
        relay: &Relay,
        task: usize,
        scratch: &mut Scratch,
    ) -> Result<(), Error> {
        let prepared = self.prepared(atoms)?.expect("a transform");
        let steps = two_steps(&*prepared);
        let before = relay.wait(task, scratch)?;
        let begin = Instant::now();
        let (baton, doubts) = steps
            .hand_over(before, &mut scratch.transform)
            .map_err(|why| self.refused(frames.get(0), why))?;
        relay.pass_on(task, baton);
        self.add_doubts(Ok(doubts), frames.get(0), begin, scratch)
    }

    /// Does the second step of the transform for the next frames of a task, which [`Chain::read_first_step`] has read with
    /// the same `held`, `out` and `meta`; `out` gets their positions.
    ///
    /// # Errors
    /// [`Error::Transform`].
    ///
    /// # Panics
    /// As [`Chain::read_first_step`].
    pub fn do_second_step(
        &self,
        request: &Wanted<'_>,
        scratch: &mut Scratch,
        held: &mut [f32],
        out: &mut [f32],
        meta: &mut FrameMeta,
    ) -> Result<(), Error> {
        let prepared = self.prepared(request.atoms)?.expect("a transform");
        let steps = two_steps(&*prepared);
        let (n, n_decoded) = (request.atoms.len() * 3, prepared.decoded().len() * 3);
        for k in 0..meta.frames.len() {
            let (begin, number, mut info) = (Instant::now(), meta.frames[k], meta.info(k));
            let target = match prepared.columns() {
                Some(_) => &mut held[k * n_decoded..(k + 1) * n_decoded],
                None => &mut out[k * n..(k + 1) * n],
            };
            let vectors = target.as_chunks_mut::<3>().0;
            let doubts = steps.second_step(vectors, &mut info, &mut scratch.transform);
            self.add_doubts(doubts, number, begin, scratch)?;
            meta.set(k, info);
            if let Some(columns) = prepared.columns() {
                let out = out[k * n..(k + 1) * n].as_chunks_mut::<3>().0;
                let decoded = held[k * n_decoded..].as_chunks::<3>().0;
                for (position, &column) in out.iter_mut().zip(columns) {
                    *position = decoded[column as usize];
                }
            }
        }
        Ok(())
    }

    /// Reads the frames of a task that hands over in common units with all their fields, as [`Chain::read_snapshots`].
    ///
    /// # Errors
    /// As [`Chain::read_snapshots`] and [`Chain::hand_over`].
    ///
    /// # Panics
    /// As [`Chain::read_first_step`].
    pub fn relay_snapshots(
        &self,
        frames: &Frames,
        atoms: &Atoms,
        (relay, task): (&Relay, usize),
        scratch: &mut Scratch,
        mut take: impl FnMut(usize, &Snapshot) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.begin_task(frames, atoms, task, scratch)?;
        let prepared = self.prepared(atoms)?.expect("a transform");
        let steps = two_steps(&*prepared);
        let mut held = Vec::new();
        for at in 0..frames.len() {
            scratch.check_stop()?;
            let mut whole = Snapshot::default();
            let mut info = self.snapshot(frames, at, prepared.decoded(), scratch, &mut whole)?;
            let (begin, number) = (Instant::now(), frames.get(at));
            let mut none = [[f32::NAN; 3]];
            let positions = whole.positions.as_deref_mut().unwrap_or(&mut none);
            let doubts = steps.first_step(number, positions, &mut info, &mut scratch.transform);
            self.add_doubts(doubts, number, begin, scratch)?;
            held.push((whole, info));
        }
        self.hand_over(frames, atoms, relay, task, scratch)?;
        let mut part = Snapshot::default();
        for (at, (mut whole, mut info)) in held.into_iter().enumerate() {
            scratch.check_stop()?;
            let begin = Instant::now();
            let mut none = [[f32::NAN; 3]];
            let positions = whole.positions.as_deref_mut().unwrap_or(&mut none);
            let doubts = steps.second_step(positions, &mut info, &mut scratch.transform);
            self.add_doubts(doubts, frames.get(at), begin, scratch)?;
            match prepared.columns() {
                Some(columns) => {
                    whole.take_into(columns, &mut part);
                    take(at, &part)?;
                }
                None => take(at, &whole)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
