//! Tasks whose transform depends on all frames before, read by several threads in one pass.
//!
//! A thread decodes the frames of a task. As soon as the task before has handed over what it knows of the frames before
//! ([`Relay`]), the thread transforms the frames that it has, in order, and then each further one after decoding. If the
//! task before has not handed over when all frames are decoded, the thread does not wait: it does the first step of the
//! transform ([`RelayTransform`]) frame by frame, which needs no other task, and the second step of these frames later. Tasks must
//! be taken in order: a task waits only for tasks that threads have taken before, so that the first of all unfinished tasks
//! never waits.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use trajet_formats::{Atoms, FrameInfo, FrameMeta, Snapshot, memory};

use crate::chain::Chain;
use crate::reader::ReadRequest;
use crate::transform::{PreparedTransform, RelayTransform, TransformState};
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
    handed: Option<TransformState>,
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
    /// As `work`.
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
    fn wait(&self, task: usize, scratch: &mut Scratch) -> Result<Option<TransformState>, Error> {
        let begin = Instant::now();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = loop {
            if state.failed.is_some_and(|failed| failed < task) {
                break Err(Error::Interrupted);
            }
            if state.next == task {
                break Ok(state.handed.take());
            }
            scratch.check_stop()?;
            let held = self.moved.wait_timeout(state, POLL_INTERVAL);
            state = held.unwrap_or_else(PoisonError::into_inner).0;
        };
        scratch.meter.wait_ns += begin.elapsed().as_nanos() as u64;
        waited
    }

    /// Returns what the task before handed over; `None` if it has not handed over yet.
    ///
    /// # Errors
    /// [`Error::Interrupted`] if an earlier task failed.
    fn poll(&self, task: usize) -> Result<Option<Option<TransformState>>, Error> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.failed.is_some_and(|failed| failed < task) {
            return Err(Error::Interrupted);
        }
        Ok((state.next == task).then(|| state.handed.take()))
    }

    /// Gives the turn to the next task.
    fn pass_on(&self, task: usize, handed: Option<TransformState>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        (state.next, state.handed) = (task + 1, handed);
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

/// Returns a transform whose tasks hand over.
///
/// # Panics
/// If it is none.
fn as_relay(prepared: &dyn PreparedTransform) -> &dyn RelayTransform {
    prepared.as_relay().expect("frames whose tasks hand over")
}

/// The next run of frames of a task, with output buffers.
pub struct TaskPart<'a> {
    /// The number of its frames.
    pub n_frames: usize,
    /// Memory for the decoded atoms, if these are others than requested.
    pub held: &'a mut Vec<f32>,
    /// Gets the positions of the requested atoms, `[frames, atoms, 3]`.
    pub out: &'a mut [f32],
    /// Gets these frames only.
    pub meta: &'a mut FrameMeta,
}

/// The frames of a task, which are read in order and held.
trait TaskFrames {
    /// Reads the next frame.
    fn read(&mut self, at: usize, scratch: &mut Scratch) -> Result<(), Error>;

    /// Changes decoded positions, time and cell of a frame that was read.
    fn change<T>(
        &mut self,
        at: usize,
        change: impl FnOnce(&mut [[f32; 3]], &mut FrameInfo) -> T,
    ) -> T;
}

/// Frames in the parts of a task.
struct FramesOfParts<'a, 'b> {
    chain: &'a Chain,
    /// The frames, atoms and field that are decoded.
    request: ReadRequest<'a>,
    /// Whether decoded atoms are others than requested.
    is_held: bool,
    /// The part of each frame, and its place in it.
    places: Vec<(usize, usize)>,
    parts: &'a mut [TaskPart<'b>],
}

impl FramesOfParts<'_, '_> {
    fn frame(&mut self, at: usize) -> (&mut [f32], &mut FrameMeta, usize) {
        let (part, k) = self.places[at];
        let TaskPart { held, out, meta, .. } = &mut self.parts[part];
        let all = if self.is_held { &mut held[..] } else { &mut out[..] };
        let frame_len = self.request.atoms.len() * 3;
        (&mut all[k * frame_len..(k + 1) * frame_len], meta, k)
    }
}

impl TaskFrames for FramesOfParts<'_, '_> {
    fn read(&mut self, at: usize, scratch: &mut Scratch) -> Result<(), Error> {
        let (chain, request) = (self.chain, self.request);
        let (target, meta, _) = self.frame(at);
        chain.read_untransformed(&request, at..at + 1, scratch, target, meta)
    }

    fn change<T>(
        &mut self,
        at: usize,
        change: impl FnOnce(&mut [[f32; 3]], &mut FrameInfo) -> T,
    ) -> T {
        let (positions, meta, k) = self.frame(at);
        let mut info = meta.info(k);
        let changed = change(positions.as_chunks_mut::<3>().0, &mut info);
        meta.set(k, info);
        changed
    }
}

/// Frames with all their fields.
struct Snapshots<'a> {
    chain: &'a Chain,
    frames: &'a Frames,
    decoded: &'a Atoms,
    held: Vec<(Snapshot, FrameInfo)>,
}

impl TaskFrames for Snapshots<'_> {
    fn read(&mut self, at: usize, scratch: &mut Scratch) -> Result<(), Error> {
        scratch.check_stop()?;
        let mut whole = Snapshot::default();
        let info = self.chain.snapshot(self.frames, at, self.decoded, scratch, &mut whole)?;
        self.held.push((whole, info));
        Ok(())
    }

    fn change<T>(
        &mut self,
        at: usize,
        change: impl FnOnce(&mut [[f32; 3]], &mut FrameInfo) -> T,
    ) -> T {
        let (whole, info) = &mut self.held[at];
        let mut none = [[f32::NAN; 3]];
        change(whole.positions.as_deref_mut().unwrap_or(&mut none), info)
    }
}

impl Chain {
    /// Returns the most frames of a task if the threads that read these frames hand over to one another, because the
    /// transform depends on the frames before. They read by [`Chain::read_task`] and [`Chain::complete`] then.
    ///
    /// # Errors
    /// As [`crate::transform::Transform::prepare`].
    pub fn relay_task_frames(
        &self,
        frames: &Frames,
        atoms: &Atoms,
        threads: usize,
    ) -> Result<Option<usize>, Error> {
        if threads <= 1 {
            return Ok(None);
        }
        let prepared = self.prepared(atoms)?;
        let relay = prepared.as_ref().and_then(|prepared| prepared.as_relay());
        Ok(relay.and_then(|relay| relay.task_frames(frames)))
    }

    /// Returns how many requests to remote storage wait at the same time; `None` if all files are here.
    pub fn connections(&self) -> Option<usize> {
        self.segments().iter().filter_map(|segment| segment.reader.connections()).max()
    }

    /// Returns how many frames should be read at the same time where the caller takes one after another: as many as the
    /// connections of an object in remote storage. One for files, and if the transform depends on the frames before.
    ///
    /// # Errors
    /// As [`crate::transform::Transform::prepare`].
    pub fn frames_at_once(&self, atoms: &Atoms) -> Result<usize, Error> {
        let most = self.connections().unwrap_or(1);
        if most == 1 {
            return Ok(1);
        }
        let prepared = self.prepared(atoms)?;
        let depends = prepared.is_some_and(|prepared| prepared.as_relay().is_some());
        Ok(if depends { 1 } else { most })
    }

    /// Reads the frames of a task (`request.frames`) into its parts, and hands over to the next task. [`Chain::complete`]
    /// completes each part.
    ///
    /// # Errors
    /// As [`Chain::read_into`]; [`Error::Interrupted`] after a cancellation, or if an earlier task failed.
    ///
    /// # Panics
    /// As [`Chain::read_into`], and if the frames are not those of a task that hands over.
    pub fn read_task(
        &self,
        request: &ReadRequest<'_>,
        turn: (&Relay, usize),
        scratch: &mut Scratch,
        parts: &mut [TaskPart<'_>],
    ) -> Result<(), Error> {
        let prepared = self.prepared(request.atoms)?.expect("a transform");
        let inner = ReadRequest { atoms: prepared.decoded(), ..*request };
        let is_held = prepared.columns().is_some();
        let mut places = Vec::with_capacity(request.frames.len());
        for (part, TaskPart { n_frames, held, out, .. }) in parts.iter_mut().enumerate() {
            places.extend((0..*n_frames).map(|k| (part, k)));
            let len = n_frames.saturating_mul(inner.atoms.len() * 3);
            if is_held {
                memory::resize(held, len, 0.0, "the atoms of the frames of a task")?;
            } else {
                assert_eq!(out.len(), len, "size of the output");
            }
        }
        assert_eq!(places.len(), request.frames.len(), "frames of all parts");
        let mut frames = FramesOfParts { chain: self, request: inner, is_held, places, parts };
        self.relay(&*prepared, request.frames, turn, scratch, &mut frames)
    }

    /// Completes the positions of a part of a task; the parts of a task in order.
    ///
    /// # Errors
    /// [`Error::Transform`].
    ///
    /// # Panics
    /// As [`Chain::read_task`].
    pub fn complete(
        &self,
        request: &ReadRequest<'_>,
        scratch: &mut Scratch,
        part: &mut TaskPart<'_>,
    ) -> Result<(), Error> {
        let TaskPart { held, out, meta, .. } = part;
        let prepared = self.prepared(request.atoms)?.expect("a transform");
        let steps = as_relay(&*prepared);
        let (n, n_decoded) = (request.atoms.len() * 3, prepared.decoded().len() * 3);
        for k in 0..meta.frames.len() {
            let (begin, number, mut info) = (Instant::now(), meta.frames[k], meta.info(k));
            let target = match prepared.columns() {
                Some(_) => &mut held[k * n_decoded..(k + 1) * n_decoded],
                None => &mut out[k * n..(k + 1) * n],
            };
            let vectors = target.as_chunks_mut::<3>().0;
            let warnings = steps.second_step(vectors, &mut info, &mut scratch.transform);
            self.add_warnings(warnings, number, begin, scratch)?;
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
    /// As [`Chain::read_snapshots`] and [`Chain::read_task`].
    ///
    /// # Panics
    /// As [`Chain::read_task`].
    pub fn relay_snapshots(
        &self,
        frames: &Frames,
        atoms: &Atoms,
        turn: (&Relay, usize),
        scratch: &mut Scratch,
        mut take: impl FnMut(usize, &Snapshot) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let prepared = self.prepared(atoms)?.expect("a transform");
        let steps = as_relay(&*prepared);
        let decoded = prepared.decoded();
        let mut read = Snapshots { chain: self, frames, decoded, held: Vec::new() };
        self.relay(&*prepared, frames, turn, scratch, &mut read)?;
        let mut part = Snapshot::default();
        for at in 0..frames.len() {
            scratch.check_stop()?;
            let begin = Instant::now();
            let warnings = read.change(at, |positions, info| {
                steps.second_step(positions, info, &mut scratch.transform)
            });
            self.add_warnings(warnings, frames.get(at), begin, scratch)?;
            let whole = std::mem::take(&mut read.held[at].0);
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

    /// Reads the frames of a task, transforms them, but for the second step of some, and hands over to the next task.
    fn relay(
        &self,
        prepared: &dyn PreparedTransform,
        frames: &Frames,
        (relay, task): (&Relay, usize),
        scratch: &mut Scratch,
        held: &mut impl TaskFrames,
    ) -> Result<(), Error> {
        self.begin_task(prepared, frames, task, scratch)?;
        let steps = as_relay(prepared);
        // The frames that are transformed, or had the first step before the task before handed over.
        let (mut done, mut has_received) = (0, false);
        for at in 0..frames.len() {
            held.read(at, scratch)?;
            if !has_received && let Some(before) = relay.poll(task)? {
                self.receive(steps, before, frames, scratch)?;
                has_received = true;
            }
            while has_received && done <= at {
                self.transform_held(prepared, frames, done, scratch, held)?;
                done += 1;
            }
        }
        while !has_received && done < frames.len() {
            scratch.check_stop()?;
            if let Some(before) = relay.poll(task)? {
                self.receive(steps, before, frames, scratch)?;
                has_received = true;
                continue;
            }
            let (begin, number) = (Instant::now(), frames.get(done));
            let warnings = held.change(done, |positions, info| {
                steps.first_step(number, positions, info, &mut scratch.transform)
            });
            self.add_warnings(warnings, number, begin, scratch)?;
            done += 1;
        }
        if !has_received {
            let before = relay.wait(task, scratch)?;
            self.receive(steps, before, frames, scratch)?;
        }
        for at in done..frames.len() {
            scratch.check_stop()?;
            self.transform_held(prepared, frames, at, scratch, held)?;
        }
        relay.pass_on(task, steps.hand_over(&mut scratch.transform));
        Ok(())
    }

    /// Takes what the task before handed over.
    fn receive(
        &self,
        steps: &dyn RelayTransform,
        before: Option<TransformState>,
        frames: &Frames,
        scratch: &mut Scratch,
    ) -> Result<(), Error> {
        let begin = Instant::now();
        let warnings = steps.receive(before, &mut scratch.transform);
        self.add_warnings(warnings, frames.get(0), begin, scratch)
    }

    /// Transforms a frame of a task that has received.
    fn transform_held(
        &self,
        prepared: &dyn PreparedTransform,
        frames: &Frames,
        at: usize,
        scratch: &mut Scratch,
        held: &mut impl TaskFrames,
    ) -> Result<(), Error> {
        let (begin, number) = (Instant::now(), frames.get(at));
        let warnings = held.change(at, |positions, info| {
            prepared.apply(number, positions, info, &mut scratch.transform)
        });
        self.add_warnings(warnings, number, begin, scratch)
    }

    /// Begins a task of frames: reads what the first task of all depends on.
    fn begin_task(
        &self,
        prepared: &dyn PreparedTransform,
        frames: &Frames,
        task: usize,
        scratch: &mut Scratch,
    ) -> Result<(), Error> {
        self.check(frames)?;
        as_relay(prepared).begin(&mut scratch.transform);
        if task > 0 || frames.is_empty() {
            return Ok(());
        }
        let mut decoded = std::mem::take(&mut scratch.decoded);
        let len = prepared.decoded().len() * 3;
        let walked = memory::resize(&mut decoded, len, 0.0, "the atoms of a frame")
            .map_err(Error::from)
            .and_then(|()| self.walk_to(prepared, frames.get(0), scratch, &mut decoded));
        scratch.decoded = decoded;
        walked
    }
}

#[cfg(test)]
mod tests;
