//! One pass over frames. Threads read the frames of a task, decode each frame once and encode it for every output; the
//! bytes of tasks are written in order.

use std::collections::BTreeMap;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Instant;

use trajet_engine::report::{RunReport, WorkerReport};
use trajet_engine::run::{POLL_INTERVAL, Threads, lock};
use trajet_engine::{TaskError, TaskFault};
use trajet_files::{Chain, Error, Meter, Output, ParallelFor, Relay, Scratch};
use trajet_formats::{Atoms, Input, Patch, Raw, Snapshot, Workspace, WriteOptions, xxh3_64};

use crate::parts::{First, Measure, Part};
use crate::request::{Divided, FrameRow, FrameRows, Job, OutputPiece, times_and_steps};

/// Target size of a task, bytes of coordinates.
const TASK_BYTES: usize = 1 << 20;
/// Maximal number of frames in a task.
pub(crate) const TASK_FRAMES: usize = 64;
/// Encoded tasks per thread that may wait to be written.
const AHEAD: usize = 4;
/// Data shared by the threads of all jobs.
pub(crate) struct Shared<'a> {
    pub(crate) chain: &'a Chain,
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) frames_done: AtomicUsize,
}

/// Makes the outputs of a job on `threads` threads. Returns `None` if it was cancelled.
pub(crate) fn copy(
    shared: &Shared<'_>,
    job: &Job<'_>,
    threads: usize,
) -> Result<Option<Divided>, Vec<TaskError>> {
    let begin = Instant::now();
    let Job { frames, ref targets, force, whole, piece, .. } = *job;
    let chain = shared.chain;
    let failed = |error: Error| vec![TaskError::of_run(frames.len(), error.into())];
    chain.check(frames).map_err(failed)?;
    if frames.is_empty() {
        return Err(failed(Error::Empty { path: targets[0].path.to_owned() }));
    }
    let outputs = targets.iter().map(|target| Output::begin(target.path, force));
    let mut outputs = outputs.collect::<Result<Vec<_>, _>>().map_err(failed)?;
    let own = if piece.is_none() { times_and_steps(chain, frames) } else { Default::default() };
    let of_all = OutputPiece { head: frames.get(0), begin: 0, times: &own.0, steps: &own.1 };
    let OutputPiece { head, begin: before, times, steps } = piece.unwrap_or(of_all);
    let all = whole.map(|_| Atoms::all(chain.n_atoms()));
    let atoms = all.as_ref().unwrap_or(targets[0].atoms);
    let mut scratch = Scratch::stopped_by(shared.stop.clone());
    let (parts, measure) = if let Some(format) = whole {
        if chain.is_transformed() {
            let what = "a transformed trajectory".to_owned();
            let remedy = "write it to a file first, then divide that";
            return Err(failed(Error::Unsupported { path: chain.path().to_owned(), what, remedy }));
        }
        let raw = chain.read_raw_of(head, atoms, &mut scratch).map_err(failed)?;
        let first = First { raw: &raw, times, steps };
        let parts = targets.iter().map(|&target| Part::new(target, true, &first));
        let parts = parts.collect::<Result<Vec<_>, _>>().map_err(failed)?;
        let measure = Measure::new(format, chain.path(), &parts, &first).map_err(failed)?;
        (parts, Some(measure))
    } else {
        let part = Part::of_copy(chain, targets[0], head, (times, steps), &mut scratch);
        (vec![part.map_err(failed)?], None)
    };
    if piece.is_none() {
        for (part, output) in parts.iter().zip(&mut outputs) {
            output.append(&part.encoder.head()).map_err(failed)?;
        }
    }
    let per_task = (TASK_BYTES / (12 * atoms.len().max(1))).clamp(1, TASK_FRAMES);
    let task = |begin: usize| begin..(begin + per_task).min(frames.len());
    let tasks: Vec<_> = (0..frames.len()).step_by(per_task).map(task).collect();
    let threads = threads.min(tasks.len());
    let relay_frames = chain.relay_task_frames(frames, atoms, threads).map_err(failed)?;
    let written = WrittenOutputs { outputs, frames: FrameRows::default() };
    let pipeline = Pipeline {
        shared,
        job,
        atoms,
        parts: &parts,
        measure,
        times,
        steps,
        before,
        relay: relay_frames.map(|_| Relay::default()),
        ahead: AHEAD * threads,
        tasks,
        next: AtomicUsize::new(0),
        order: Mutex::new(Order { written: Some(written), ..Order::default() }),
        moved: Condvar::new(),
    };
    let mut workers = pipeline.run(threads);
    let Pipeline { order, tasks, .. } = pipeline;
    let Order { written, errors, next, .. } =
        order.into_inner().unwrap_or_else(PoisonError::into_inner);
    if !errors.is_empty() {
        return Err(errors);
    }
    if next < tasks.len() {
        return Ok(None);
    }
    let written = written.expect("a worker that wrote without an error has put it back");
    let n_frames = piece.is_none().then_some(frames.len() as u64);
    let mut done = finish(&parts, written, n_frames).map_err(failed)?;
    // The first frame was read twice, but is counted once, with the others: add only the requests.
    let Meter { opens, requests, bytes_read, .. } = scratch.meter;
    workers[0].meter.add(&Meter { opens, requests, bytes_read, ..Meter::default() });
    let wall = begin.elapsed().as_secs_f64();
    done.report = RunReport { workers, passes: 1, wall, ..Default::default() };
    Ok(Some(done))
}

/// Completes the files of `n_frames` frames. `None` is for a piece of an output, which has no header that counts
/// frames.
fn finish(
    parts: &[Part<'_>],
    written: WrittenOutputs,
    n_frames: Option<u64>,
) -> Result<Divided, Error> {
    let WrittenOutputs { outputs, frames } = written;
    let mut done = Divided { frames, ..Divided::default() };
    for (part, output) in parts.iter().zip(outputs) {
        let encoder = &part.encoder;
        let patches = n_frames.map_or_else(Vec::new, |n| encoder.patches(n));
        let mut head = n_frames.map_or_else(Vec::new, |_| encoder.head());
        for Patch { offset, bytes } in &patches {
            head[*offset as usize..][..bytes.len()].copy_from_slice(bytes);
        }
        done.heads_of_files.push((head.len() as u64, xxh3_64(&head)));
        // Losses of pieces are counted in the message of the joined output.
        done.messages.push(if n_frames.is_some() {
            part.messages()
        } else {
            encoder.general_messages()
        });
        done.losses.push(encoder.losses());
        done.lens.push(output.len());
        done.files.push(output.finish(&patches)?);
    }
    Ok(done)
}

/// Data shared by the workers of a job.
struct Pipeline<'a> {
    shared: &'a Shared<'a>,
    job: &'a Job<'a>,
    /// The atoms to read.
    atoms: &'a Atoms,
    parts: &'a [Part<'a>],
    /// Measures the frames of a partition.
    measure: Option<Measure<'a>>,
    times: &'a [f64],
    steps: &'a [i64],
    /// Number of earlier frames of the output, which other pieces hold.
    before: usize,
    tasks: Vec<Range<usize>>,
    /// Set if tasks hand over to one another.
    relay: Option<Relay>,
    /// Maximal number of tasks between the oldest unwritten one and the newest.
    ahead: usize,
    next: AtomicUsize,
    order: Mutex<Order>,
    /// Notified when a task was written.
    moved: Condvar,
}

/// The outputs, and encoded tasks that wait to be written.
#[derive(Default)]
struct Order {
    /// `None` while a worker writes; the others continue.
    written: Option<WrittenOutputs>,
    /// The next task to write.
    next: usize,
    waiting: BTreeMap<usize, Encoded>,
    /// Buffers of written tasks, for reuse: allocating new ones costs more than encoding.
    spare: Vec<Encoded>,
    errors: Vec<TaskError>,
}

/// The outputs so far, and the records of the written frames.
struct WrittenOutputs {
    outputs: Vec<Output>,
    frames: FrameRows,
}

impl WrittenOutputs {
    fn append(&mut self, task: &Encoded) -> Result<(), Error> {
        for (output, bytes) in self.outputs.iter_mut().zip(&task.bytes) {
            output.append(bytes)?;
        }
        task.rows.iter().for_each(|row| self.frames.push(row));
        Ok(())
    }
}

/// The encoded frames of a task.
#[derive(Default)]
struct Encoded {
    /// One buffer per output.
    bytes: Vec<Vec<u8>>,
    /// Records of the frames, if this is a partition.
    rows: Vec<FrameRow>,
}

/// Buffers of a worker, reused for every frame.
struct WorkerBuffers {
    scratch: Scratch,
    workspace: Workspace,
    /// Buffer for an encoded frame of all atoms.
    whole: Vec<u8>,
}

impl Pipeline<'_> {
    /// Runs all tasks on `threads` threads, one of which is the calling thread.
    fn run(&self, threads: usize) -> Vec<WorkerReport> {
        let workers: Vec<Mutex<WorkerReport>> = (0..threads).map(|_| Mutex::default()).collect();
        Threads(threads).each(threads, &|k| self.work(&mut lock(&workers[k])));
        let done = |worker: Mutex<_>| worker.into_inner().unwrap_or_else(PoisonError::into_inner);
        workers.into_iter().map(done).collect()
    }

    /// Runs tasks until there are none left, or the job is cancelled.
    fn work(&self, report: &mut WorkerReport) {
        let begin = Instant::now();
        let scratch = Scratch::stopped_by(self.shared.stop.clone());
        let mut tools =
            WorkerBuffers { scratch, workspace: Workspace::default(), whole: Vec::new() };
        loop {
            let task = self.next.fetch_add(1, Ordering::Relaxed);
            if task >= self.tasks.len() {
                break;
            }
            let Some(mut out) = self.wait_for_room(task, report) else { break };
            let encoded =
                catch_unwind(AssertUnwindSafe(|| self.encode(task, &mut tools, &mut out, report)));
            let encoded = encoded.unwrap_or_else(|panic| Err(TaskFault::panicked(&*panic)));
            report.tasks += 1;
            if let Err(fault) = encoded {
                self.fail(task, fault);
                break;
            }
            let writing = Instant::now();
            let written = self.write(task, out);
            report.stages.t_merge += writing.elapsed().as_secs_f64();
            if let Err((task, error)) = written {
                self.fail(task, TaskFault::Input(error));
                break;
            }
        }
        report.meter.add(&tools.scratch.meter);
        let stages = &mut report.stages;
        stages.t_comp += report.meter.transform_ns as f64 / 1e9;
        stages.t_read = report.meter.read_ns as f64 / 1e9;
        stages.t_decode = report.meter.decode_ns as f64 / 1e9;
        stages.close(begin.elapsed().as_secs_f64());
    }

    fn is_stopped(&self) -> bool {
        self.shared.stop.load(Ordering::Relaxed)
    }

    /// Waits until fewer than `ahead` tasks are between this one and the next to be written. Returns a buffer for its
    /// bytes; `None` after cancellation.
    fn wait_for_room(&self, task: usize, report: &mut WorkerReport) -> Option<Encoded> {
        let waiting = Instant::now();
        let mut order = lock(&self.order);
        while task >= order.next + self.ahead && !self.is_stopped() {
            let held = self.moved.wait_timeout(order, POLL_INTERVAL);
            order = held.unwrap_or_else(PoisonError::into_inner).0;
        }
        report.stages.t_wait += waiting.elapsed().as_secs_f64();
        (!self.is_stopped()).then(|| order.spare.pop().unwrap_or_default())
    }

    /// Encodes a task's frames into `out`.
    fn encode(
        &self,
        task: usize,
        tools: &mut WorkerBuffers,
        out: &mut Encoded,
        report: &mut WorkerReport,
    ) -> Result<(), TaskFault> {
        let WorkerBuffers { scratch, workspace, whole } = tools;
        let Encoded { bytes, rows } = out;
        bytes.resize_with(self.parts.len(), Vec::new);
        bytes.iter_mut().for_each(Vec::clear);
        rows.clear();
        let (chain, done) = (self.shared.chain, &self.shared.frames_done);
        let positions = self.tasks[task].clone();
        if let Some(numbers) = self.neighbours(task)
            && chain.copy_frames(numbers, self.parts[0].target.format, scratch, &mut bytes[0])?
        {
            done.fetch_add(positions.len(), Ordering::Relaxed);
            return Ok(());
        }
        // Only the frames of this task, so that the reader does not read ahead: other threads read the rest.
        let begin = self.before + positions.start;
        if chain.is_transformed() {
            let frames = self.job.frames.slice(positions);
            let encode = |k: usize, snapshot: &Snapshot| {
                let encoding = Instant::now();
                let input = Input::Snapshot(snapshot);
                self.parts[0].encode(begin + k, input, workspace, &mut bytes[0])?;
                report.stages.t_comp += encoding.elapsed().as_secs_f64();
                done.fetch_add(1, Ordering::Relaxed);
                Ok(())
            };
            match &self.relay {
                Some(relay) => {
                    chain.relay_snapshots(&frames, self.atoms, (relay, task), scratch, encode)?;
                }
                None => chain.read_snapshots(&frames, self.atoms, scratch, encode)?,
            }
            return Ok(());
        }
        chain.read_raws(&self.job.frames.slice(positions), self.atoms, scratch, |k, raw| {
            let k = begin + k;
            let encoding = Instant::now();
            let mut known = Vec::new();
            let mut given = Vec::new();
            for (part, bytes) in self.parts.iter().zip(&mut *bytes) {
                let frame = part.of(raw);
                let at = bytes.len();
                part.encode(k, self.input(k, &frame), workspace, bytes)?;
                if let Some(measure) = &self.measure {
                    known.push(((bytes.len() - at) as u64, xxh3_64(&bytes[at..])));
                    given.extend(measure.check_restorable(k, part, frame)?);
                }
            }
            if let Some(measure) = &self.measure {
                let joined = measure.joined(k, raw, &given)?;
                let size = measure.size_of(k, self.input(k, &joined), workspace, whole)?;
                let source = self.job.digests.then(|| raw.digest());
                rows.push(FrameRow { whole: size, parts: known, head: raw.head(), source });
            }
            report.stages.t_comp += encoding.elapsed().as_secs_f64();
            done.fetch_add(1, Ordering::Relaxed);
            Ok(())
        })?;
        Ok(())
    }

    /// Returns frame `k`, or a part of it, as input for encoders.
    fn input<'r>(&self, k: usize, raw: &'r Raw) -> Input<'r> {
        Input::Raw { raw, time: self.times[k], step: self.steps[k] }
    }

    /// Returns the frames of a task if they are consecutive and can be copied as bytes.
    fn neighbours(&self, task: usize) -> Option<Range<u64>> {
        let Job { frames, ref targets, whole, .. } = *self.job;
        let WriteOptions { precision, double, velocities, forces, .. } = *targets[0].options;
        let complete = self.atoms.listed_indices().is_none() && whole.is_none();
        if !(complete && precision.is_none() && double.is_none() && velocities && forces) {
            return None;
        }
        let Range { start, end } = self.tasks[task].clone();
        let first = frames.get(start);
        let ascending = (start..end).all(|k| frames.get(k) == first + (k - start) as u64);
        ascending.then(|| first..first + (end - start) as u64)
    }

    /// Writes the bytes of a task and of the tasks that waited for it, or leaves them to the thread that is writing.
    ///
    /// # Errors
    /// The task that could not be written, and the cause.
    fn write(&self, task: usize, encoded: Encoded) -> Result<(), (usize, Error)> {
        let mut order = lock(&self.order);
        order.waiting.insert(task, encoded);
        let Some(mut written) = order.written.take() else { return Ok(()) };
        loop {
            let next = order.next;
            let Some(encoded) = order.waiting.remove(&next) else { break };
            drop(order);
            written.append(&encoded).map_err(|error| (next, error))?;
            order = lock(&self.order);
            order.next += 1;
            order.spare.push(encoded);
            self.moved.notify_all();
        }
        order.written = Some(written);
        Ok(())
    }

    /// Keeps an error and stops all threads.
    fn fail(&self, task: usize, fault: TaskFault) {
        let range = self.tasks[task].clone();
        let (first, frames) = (self.before + range.start, range.len());
        lock(&self.order).errors.push(TaskError { task, first, frames, analysis: None, fault });
        self.shared.stop.store(true, Ordering::Relaxed);
        self.moved.notify_all();
    }
}
