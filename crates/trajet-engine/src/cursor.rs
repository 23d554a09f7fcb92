//! One frame at a time, in any order; frames that follow one another are decoded ahead.
//!
//! After a few reads with the same stride, a thread decodes the frames that follow, in blocks that double in size up to
//! `MAX_BLOCK_BYTES`. At most `MAX_READY` blocks wait to be used. A frame that cannot be read ends a block: its error
//! is that of the read which asks for the frame. The frames of a block of remote storage are read at the same time, each
//! by a thread that waits for its request.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

use trajet_files::{Chain, Error, FieldReader, FrameFields, Frames, Meter, ParallelFor, Scratch};
use trajet_formats::{Atoms, Field, memory};

use crate::run::{POLL_INTERVAL, Threads, lock as lock_job};

/// Equal strides in a row after which frames are decoded ahead.
const READS_BEFORE: u32 = 2;
/// Largest size of a block, unless one frame is larger.
const MAX_BLOCK_BYTES: usize = 1024 * 1024;
/// Largest size of a block whose frames are read at the same time, unless one frame is larger.
const MAX_REMOTE_BYTES: usize = 16 * 1024 * 1024;
/// Most frames of a block.
const MAX_BLOCK_FRAMES: usize = 256;
/// Most blocks that wait to be used.
const MAX_READY: usize = 2;

/// Reads chosen fields of chosen atoms, one frame at a time.
pub struct Cursor {
    source: Arc<Source>,
    reader: FieldReader,
    /// Whether frames are decoded ahead once reads follow one another.
    reads_ahead: bool,
    last: Option<u64>,
    stride: i64,
    /// Number of successive reads with this stride.
    n_regular: u32,
    /// The block in use, if frames are decoded ahead.
    block: Block,
    ahead: Option<Ahead>,
    /// The process in which `ahead` runs: a forked process has none of its threads.
    process: u32,
    /// Frames that were taken from blocks.
    n_ahead: u64,
    /// Counts of threads that have ended.
    ended: Meter,
}

/// The atoms and fields that a cursor reads, and the chain that has them.
struct Source {
    chain: Arc<Chain>,
    atoms: Atoms,
    fields: Vec<Field>,
    /// Frames that are read at the same time.
    at_once: usize,
}

impl Source {
    fn frame_len(&self) -> usize {
        self.atoms.len() * 3
    }

    /// Returns the most frames that a block should have.
    fn block_frames(&self) -> usize {
        let frame_bytes = (self.frame_len() * self.fields.len() * size_of::<f32>()).max(1);
        let most = (MAX_BLOCK_BYTES / frame_bytes).clamp(1, MAX_BLOCK_FRAMES);
        most.max(self.at_once.min(MAX_REMOTE_BYTES / frame_bytes))
    }
}

impl Cursor {
    /// Returns a cursor over the frames of a chain.
    pub fn new(chain: Arc<Chain>, atoms: Atoms, fields: &[Field], reads_ahead: bool) -> Cursor {
        let reader = FieldReader::new(&chain, fields, Scratch::default);
        // Without atoms or fields, frames are cheaper to read than to hand over.
        let reads_ahead = reads_ahead && !atoms.is_empty() && !fields.is_empty();
        // An error is that of the first read, too.
        let at_once = chain.frames_at_once(&atoms).unwrap_or(1);
        Cursor {
            source: Arc::new(Source { chain, atoms, fields: fields.to_vec(), at_once }),
            reader,
            reads_ahead,
            last: None,
            stride: 0,
            n_regular: 0,
            block: Block::default(),
            ahead: None,
            process: std::process::id(),
            n_ahead: 0,
            ended: Meter::default(),
        }
    }

    /// Returns the number of atoms.
    pub fn n_atoms(&self) -> usize {
        self.source.atoms.len()
    }

    /// Returns the fields that are read.
    pub fn fields(&self) -> &[Field] {
        &self.source.fields
    }

    /// Reads a frame. Each of `outs` receives a field (`[n_atoms, 3]`, C order), NaN if the frame has none.
    ///
    /// # Errors
    /// As [`Chain::read_into`]; [`Error::Interrupted`] if `interrupted` returns true, which is called every 100 ms while
    /// another thread decodes the frame.
    ///
    /// # Panics
    /// If an output has another size, or there are fewer than fields.
    pub fn read(
        &mut self,
        frame: u64,
        outs: &mut [&mut [f32]],
        interrupted: &mut dyn FnMut() -> bool,
    ) -> Result<FrameFields, Error> {
        self.source.chain.check(&single(frame))?;
        self.forget_threads_of_parent();
        let stride = self.last.map_or(0, |last| frame.wrapping_sub(last).cast_signed());
        let is_regular = self.last.is_some() && stride != 0 && stride == self.stride;
        self.n_regular = if is_regular { self.n_regular + 1 } else { 1 };
        (self.last, self.stride) = (Some(frame), stride);
        if let Some(found) = self.copy_ahead(frame, is_regular, outs, interrupted)? {
            self.n_ahead += 1;
            return Ok(found);
        }
        let followed = self.frames_from(frame, is_regular);
        let Source { chain, atoms, .. } = &*self.source;
        let found = self.reader.read(chain, &followed, atoms, 0, outs)?;
        if self.reads_ahead && self.n_regular >= READS_BEFORE {
            self.begin_ahead(frame);
        }
        Ok(found)
    }

    /// Pauses reading ahead until frames follow one another again, and waits until nothing is read: this process is
    /// about to fork, and its child could never release what the thread holds.
    pub fn pause(&mut self) {
        self.forget_threads_of_parent();
        if let Some(ahead) = &self.ahead {
            ahead.shared.pause();
            let mut state = lock(&ahead.shared.state);
            while state.is_busy {
                state = ahead.shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    /// Stops reading ahead, and waits for the thread to end.
    pub fn stop(&mut self) {
        self.forget_threads_of_parent();
        if let Some(ahead) = self.ahead.take() {
            self.ended.add(&ahead.end());
        }
    }

    /// Returns the counts of all reads so far, also of those ahead.
    pub fn meter(&self) -> Meter {
        let mut meter = self.reader.meter();
        meter.add(&self.ended);
        if let Some(ahead) = self.ahead.as_ref().filter(|_| self.process == std::process::id()) {
            meter.add(&lock(&ahead.shared.state).meter);
        }
        meter
    }

    /// Returns the number of frames that had been decoded ahead when they were asked for, or were being decoded.
    pub fn n_ahead(&self) -> u64 {
        self.n_ahead
    }

    /// Drops what a forked process has of its parent's threads: their locks may never be released.
    fn forget_threads_of_parent(&mut self) {
        let process = std::process::id();
        if self.process != process {
            self.process = process;
            std::mem::forget(self.ahead.take());
            self.block = Block::default();
        }
    }

    /// Returns the requested frames as far as they are foreseen, for the readers' own reading ahead.
    fn frames_from(&self, frame: u64, is_regular: bool) -> Frames {
        if !is_regular {
            return single(frame);
        }
        let n_frames = self.source.chain.n_frames() as u64;
        let n_left = match self.stride {
            step if step > 0 => (n_frames - 1 - frame) / step.unsigned_abs(),
            step => frame / step.unsigned_abs(),
        };
        let count = 1 + (n_left as usize).min(MAX_BLOCK_FRAMES);
        Frames::Strided { first: frame, step: self.stride, count }
    }

    /// Copies a frame from a block, if it was decoded ahead.
    fn copy_ahead(
        &mut self,
        frame: u64,
        is_regular: bool,
        outs: &mut [&mut [f32]],
        interrupted: &mut dyn FnMut() -> bool,
    ) -> Result<Option<FrameFields>, Error> {
        let Some(ahead) = &self.ahead else { return Ok(None) };
        if let Some(k) = self.block.position(frame) {
            return Ok(Some(self.block.copy(k, &self.source, outs)));
        }
        if !is_regular {
            ahead.shared.pause();
            return Ok(None);
        }
        let Some(block) = ahead.shared.take(frame, std::mem::take(&mut self.block), interrupted)?
        else {
            return Ok(None);
        };
        self.block = block;
        let k = self.block.position(frame).expect("a block that begins with this frame");
        Ok(Some(self.block.copy(k, &self.source, outs)))
    }

    /// Lets a thread decode the frames after this one.
    fn begin_ahead(&mut self, frame: u64) {
        let run = frame.checked_add_signed(self.stride);
        let Some(next) = run.filter(|&next| next < self.source.chain.n_frames() as u64) else {
            return;
        };
        if self.ahead.is_none() {
            self.ahead = Ahead::start(&self.source);
        }
        if let Some(ahead) = &self.ahead {
            ahead.shared.decode(Some(Run { next, stride: self.stride, n_frames: 1 }));
        }
    }
}

impl Drop for Cursor {
    fn drop(&mut self) {
        self.stop();
    }
}

fn single(frame: u64) -> Frames {
    Frames::Strided { first: frame, step: 1, count: 1 }
}

/// The thread that decodes ahead.
struct Ahead {
    shared: Arc<Shared>,
    thread: JoinHandle<()>,
}

impl Ahead {
    /// Starts the thread; `None` if the system refuses to.
    fn start(source: &Arc<Source>) -> Option<Ahead> {
        let shared = Arc::new(Shared::default());
        let (its, source) = (Arc::clone(&shared), Arc::clone(source));
        let builder = Builder::new().name("trajet-ahead".to_owned());
        let thread = builder.spawn(move || its.work(&source)).ok()?;
        Some(Ahead { shared, thread })
    }

    /// Ends the thread, and returns its counts.
    fn end(self) -> Meter {
        self.shared.pause();
        lock(&self.shared.state).is_closed = true;
        self.shared.changed.notify_all();
        // A panic of the thread was reported by the read that waited for it.
        let _ = self.thread.join();
        lock(&self.shared.state).meter.clone()
    }
}

/// State that the reading thread and the cursor share.
#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    /// Whether the block that is being decoded is no longer wanted.
    stop: Arc<AtomicBool>,
}

#[derive(Default)]
struct State {
    /// The frames that are decoded next.
    run: Option<Run>,
    /// Incremented when the cursor requests other frames than the thread decodes; blocks of earlier ones are dropped.
    generation: u64,
    /// Decoded blocks, in order.
    ready: VecDeque<Block>,
    /// Memory of used blocks.
    spare: Vec<Block>,
    /// Whether a block is being decoded.
    is_busy: bool,
    is_closed: bool,
    meter: Meter,
}

/// Frames that are decoded ahead.
#[derive(Clone, Copy)]
struct Run {
    next: u64,
    stride: i64,
    /// Frames of the next block.
    n_frames: usize,
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// Forgets what was decoded, and decodes no further.
    fn pause(&self) {
        self.decode(None);
    }

    /// Forgets what was decoded, and decodes other frames from now on, if there are any.
    fn decode(&self, run: Option<Run>) {
        let mut state = lock(&self.state);
        state.generation += 1;
        state.run = run.filter(|_| !state.is_closed);
        // The thread takes it back when it begins with the run.
        self.stop.store(true, Ordering::Relaxed);
        let State { ready, spare, .. } = &mut *state;
        spare.extend(ready.drain(..));
        self.changed.notify_all();
    }

    /// Returns the block that begins with this frame, which is waited for; `None` if it is not decoded ahead.
    fn take(
        &self,
        frame: u64,
        used: Block,
        interrupted: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Block>, Error> {
        let mut state = lock(&self.state);
        state.spare.push(used);
        loop {
            if let Some(first) = state.ready.front() {
                if first.position(frame) != Some(0) {
                    return Ok(None);
                }
                let block = state.ready.pop_front();
                drop(state);
                self.changed.notify_all();
                return Ok(block);
            }
            if !state.is_busy && state.run.is_none() {
                return Ok(None);
            }
            let waited = self.changed.wait_timeout(state, POLL_INTERVAL);
            let (next, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            if timeout.timed_out() {
                drop(next);
                if interrupted() {
                    return Err(Error::Interrupted);
                }
                state = lock(&self.state);
            } else {
                state = next;
            }
        }
    }

    /// Decodes blocks until the cursor is dropped.
    fn work(&self, source: &Source) {
        let scratch = || Scratch::stopped_by(Arc::clone(&self.stop));
        let reader = || FieldReader::new(&source.chain, &source.fields, scratch);
        let mut readers: Vec<FieldReader> = (0..source.at_once).map(|_| reader()).collect();
        let mut state = lock(&self.state);
        loop {
            if state.is_closed {
                return;
            }
            let Some(run) = state.run.filter(|_| state.ready.len() < MAX_READY) else {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let mut block = state.spare.pop().unwrap_or_default();
            let generation = state.generation;
            state.is_busy = true;
            self.stop.store(false, Ordering::Relaxed);
            drop(state);
            let decoded = {
                let _guard = PanicGuard(self);
                block.fill(run, source, &mut readers)
            };
            state = lock(&self.state);
            state.is_busy = false;
            state.meter = Meter::default();
            readers.iter().for_each(|reader| state.meter.add(&reader.meter()));
            // The user may have asked for other frames meanwhile.
            if state.generation == generation {
                state.run = decoded;
                if block.fields.is_empty() {
                    state.spare.push(block);
                } else {
                    state.ready.push_back(block);
                }
            } else {
                state.spare.push(block);
            }
            self.changed.notify_all();
        }
    }
}

/// Ends reading ahead if decoding panics, so that the cursor does not wait for it.
struct PanicGuard<'a>(&'a Shared);

impl Drop for PanicGuard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let mut state = lock(&self.0.state);
            (state.is_busy, state.run, state.is_closed) = (false, None, true);
            drop(state);
            self.0.changed.notify_all();
        }
    }
}

/// Decoded frames with the same stride.
#[derive(Default)]
struct Block {
    first: u64,
    stride: i64,
    /// By frame and field: `[n_frames, n_fields, n_atoms, 3]`.
    values: Vec<f32>,
    fields: Vec<FrameFields>,
}

impl Block {
    /// Decodes frames of a run, a part of them with each reader. Returns the frames that follow; `None` at the end, and
    /// before a frame that cannot be read.
    fn fill(&mut self, run: Run, source: &Source, readers: &mut [FieldReader]) -> Option<Run> {
        let Run { next, stride, n_frames } = run;
        (self.first, self.stride) = (next, stride);
        self.fields.clear();
        let all = source.chain.n_frames() as u64;
        let n_left = match stride {
            step if step > 0 => (all - 1 - next) / step.unsigned_abs(),
            step => next / step.unsigned_abs(),
        };
        let count = n_frames.min(1 + n_left as usize);
        let frame_len = source.frame_len();
        let len = frame_len * source.fields.len();
        let allocated = memory::resize(&mut self.values, count * len, 0.0, "frames read ahead");
        // Without memory, frames are read when they are asked for.
        allocated.ok()?;
        // The frames after the block let the readers' own requests reach into the next one.
        let followed = count + (n_left as usize + 1 - count).min(n_frames);
        let frames = Frames::Strided { first: next, step: stride, count: followed };
        let each = count.div_ceil(readers.len());
        let shares = self.values.chunks_mut(each * len).zip(readers);
        let jobs: Vec<_> = shares.map(|share| Mutex::new((share, Vec::new()))).collect();
        Threads(jobs.len()).each(jobs.len(), &|k| {
            let ((values, reader), found) = &mut *lock_job(&jobs[k]);
            for (at, values) in (k * each..).zip(values.chunks_exact_mut(len)) {
                let mut outs: Vec<&mut [f32]> = values.chunks_exact_mut(frame_len).collect();
                let read = reader.read(&source.chain, &frames, &source.atoms, at, &mut outs);
                let Ok(read) = read else { return };
                found.push(read);
            }
        });
        for (k, job) in jobs.into_iter().enumerate() {
            let (_, mut found) = job.into_inner().unwrap_or_else(PoisonError::into_inner);
            let is_whole = found.len() == each.min(count - k * each);
            self.fields.append(&mut found);
            if !is_whole {
                return None;
            }
        }
        let next = next.checked_add_signed(stride * count as i64).filter(|&next| next < all)?;
        Some(Run { next, stride, n_frames: (2 * n_frames).min(source.block_frames()) })
    }

    /// Returns the position of a frame in the block.
    fn position(&self, frame: u64) -> Option<usize> {
        let distance = frame.wrapping_sub(self.first).cast_signed();
        let k = distance.checked_div(self.stride).filter(|_| distance % self.stride == 0)?;
        usize::try_from(k).ok().filter(|&k| k < self.fields.len())
    }

    fn copy(&self, k: usize, source: &Source, outs: &mut [&mut [f32]]) -> FrameFields {
        let frame_len = source.frame_len();
        let len = frame_len * source.fields.len();
        let values = &self.values[k * len..(k + 1) * len];
        for (out, field) in outs.iter_mut().zip(values.chunks_exact(frame_len)) {
            out.copy_from_slice(field);
        }
        self.fields[k]
    }
}

#[cfg(test)]
mod tests;
