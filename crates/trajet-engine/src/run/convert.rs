//! Copies frames to outputs of any format: read, decoded and encoded by many threads at once, and
//! written in their order by whichever thread has the next ones. Of several outputs as many are made
//! at a time as there are threads, which they share: threads of one output wait for each other.
//!
//! Memory: each thread owns one window and one frame; encoded frames wait for those before them, at
//! most four tasks a thread, in memory that is used again.

use std::collections::BTreeMap;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Instant;

use trajet_io::{
    Atoms, Chain, Encoder, Error, Format, Frames, Input, Meter, Output, Plan, Scratch, Whole,
    Workspace, WriteOptions, encoder, publish,
};

use super::{Control, LOOK, Leaving, MOST_THREADS, lock, message, watch};
use crate::error::{RunError, TaskError, TaskFault};
use crate::report::{RunReport, WorkerReport};

/// Bytes of coordinates that a task should have.
const TASK_BYTES: usize = 1 << 20;
/// Most frames of a task.
const TASK_FRAMES: usize = 64;
/// Tasks of a thread that may be encoded and wait.
const AHEAD: usize = 4;

/// What is copied, and where to.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The frames, in the order in which they are written.
    pub frames: &'a Frames,
    /// The atoms of each.
    pub atoms: &'a Atoms,
    /// The output.
    pub path: &'a Path,
    /// Its format.
    pub format: Format,
    /// What is asked of it.
    pub options: &'a WriteOptions,
    /// Whether to replace what stands there.
    pub force: bool,
}

/// What was written.
#[derive(Clone, Debug)]
pub struct Converted {
    /// Bytes.
    pub bytes: u64,
    /// What a user should know: what was left out because that was allowed.
    pub remarks: Vec<String>,
    /// Where the time went; encoding counts as computing, writing as merging.
    pub report: RunReport,
}

/// Copies frames to an output, which has its name only when it is whole.
///
/// # Errors
/// [`RunError::Tasks`] with the first frames that failed, or [`RunError::Interrupted`]; then there is
/// no output, and what stood there before still does.
pub fn convert(
    chain: &Chain,
    request: &Request<'_>,
    threads: usize,
    control: &mut dyn Control,
) -> Result<Converted, RunError> {
    split(chain, std::slice::from_ref(request), threads, control).map(|mut one| one.remove(0))
}

/// Copies frames to several outputs, several at the same time where there are threads for that. They
/// have their names only when all are whole.
///
/// # Errors
/// As [`convert`]; then there is none of the outputs.
pub fn split(
    chain: &Chain,
    requests: &[Request<'_>],
    threads: usize,
    control: &mut dyn Control,
) -> Result<Vec<Converted>, RunError> {
    let begin = Instant::now();
    let threads = threads.clamp(1, MOST_THREADS);
    let lanes = threads.min(requests.len());
    let copies = Copies {
        chain,
        requests,
        stop: Arc::default(),
        next: AtomicUsize::new(0),
        frames_done: AtomicUsize::new(0),
        done: requests.iter().map(|_| Mutex::default()).collect(),
        errors: Mutex::default(),
        lanes_left: Mutex::new(lanes),
        all_left: Condvar::new(),
    };
    let interrupted = std::thread::scope(|scope| {
        for lane in 0..lanes {
            let copies = &copies;
            let own = threads / lanes + usize::from(lane < threads % lanes);
            let work = move || copies.work(own);
            if let Err(error) = std::thread::Builder::new().spawn_scoped(scope, work) {
                drop(Leaving { left: &copies.lanes_left, all_left: &copies.all_left });
                if lane == 0 {
                    let fault = TaskFault::NoThread(error.to_string());
                    copies.fail(0, vec![failed_copy(requests[0].frames.len(), fault)]);
                }
            }
        }
        let done = || copies.frames_done.load(Ordering::Relaxed);
        let stop = || copies.stop.store(true, Ordering::Relaxed);
        let total = requests.iter().map(|request| request.frames.len()).sum();
        watch(&copies.lanes_left, &copies.all_left, &done, total, control, &stop)
    });
    if interrupted {
        return Err(RunError::Interrupted);
    }
    let mut errors = copies.errors.into_inner().unwrap_or_else(PoisonError::into_inner);
    if !errors.is_empty() {
        errors.sort_by_key(|&(part, ref error)| (part, error.task));
        return Err(RunError::Tasks(errors.into_iter().map(|(_, error)| error).collect()));
    }
    let done = copies.done.into_iter().filter_map(|one| one.into_inner().ok().flatten());
    let (files, mut converted): (Vec<_>, Vec<_>) = done.unzip();
    publish(files).map_err(|error| RunError::Tasks(vec![failed_copy(0, error.into())]))?;
    if let [one] = &mut converted[..] {
        one.report.wall = begin.elapsed().as_secs_f64();
    }
    Ok(converted)
}

/// The error of a copy as a whole.
fn failed_copy(frames: usize, fault: TaskFault) -> TaskError {
    TaskError { task: 0, first: 0, frames, fault }
}

/// What the lanes share: each makes one output after the other.
struct Copies<'a> {
    chain: &'a Chain,
    requests: &'a [Request<'a>],
    stop: Arc<AtomicBool>,
    next: AtomicUsize,
    frames_done: AtomicUsize,
    done: Vec<Mutex<Option<(Whole, Converted)>>>,
    /// With the numbers of their outputs.
    errors: Mutex<Vec<(usize, TaskError)>>,
    lanes_left: Mutex<usize>,
    all_left: Condvar,
}

impl Copies<'_> {
    /// A lane's life, on so many threads.
    fn work(&self, threads: usize) {
        let _leaving = Leaving { left: &self.lanes_left, all_left: &self.all_left };
        while !self.stop.load(Ordering::Relaxed) {
            let part = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(request) = self.requests.get(part) else { break };
            let copied = catch_unwind(AssertUnwindSafe(|| self.copy(request, threads)));
            match copied {
                Ok(Ok(copied)) => *lock(&self.done[part]) = copied,
                Ok(Err(errors)) => self.fail(part, errors),
                Err(panic) => {
                    let fault = TaskFault::Panicked(message(&*panic));
                    self.fail(part, vec![failed_copy(request.frames.len(), fault)]);
                }
            }
        }
    }

    /// Keeps the errors of an output and ends all.
    fn fail(&self, part: usize, mut errors: Vec<TaskError>) {
        errors.retain(|e| !matches!(e.fault, TaskFault::Input(Error::Interrupted)));
        lock(&self.errors).extend(errors.into_iter().map(|error| (part, error)));
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Makes an output; none where all is to end.
    fn copy(
        &self,
        request: &Request<'_>,
        threads: usize,
    ) -> Result<Option<(Whole, Converted)>, Vec<TaskError>> {
        let begin = Instant::now();
        let Request { frames, atoms, path, options, .. } = *request;
        let failed = |error: Error| vec![failed_copy(frames.len(), error.into())];
        self.chain.check(frames).map_err(failed)?;
        if frames.is_empty() {
            return Err(failed(Error::Empty { path: path.to_owned() }));
        }
        let mut output = Output::begin(path, request.force).map_err(failed)?;
        let when = |k: usize| self.chain.when(frames.get(k));
        let (times, steps): (Vec<f64>, Vec<i64>) = (0..frames.len()).map(when).unzip();
        let mut scratch = Scratch::stopped_by(Arc::clone(&self.stop));
        let raw = self.chain.read_raw_of(frames.get(0), atoms, &mut scratch).map_err(failed)?;
        let first = Input::Raw { raw: &raw, time: times[0], step: steps[0] };
        let plan = Plan { path, first, times: &times, steps: &steps, options };
        let encoder = encoder(request.format, &plan).map_err(failed)?;
        output.append(&encoder.head()).map_err(failed)?;
        let per_task = (TASK_BYTES / (12 * atoms.len().max(1))).clamp(1, TASK_FRAMES);
        let task = |begin: usize| begin..(begin + per_task).min(frames.len());
        let tasks: Vec<_> = (0..frames.len()).step_by(per_task).map(task).collect();
        let threads = threads.min(tasks.len());
        let line = Line {
            chain: self.chain,
            request,
            encoder: &*encoder,
            times: &times,
            steps: &steps,
            ahead: AHEAD * threads,
            tasks,
            stop: &self.stop,
            next: AtomicUsize::new(0),
            frames_done: &self.frames_done,
            order: Mutex::new(Order { output: Some(output), ..Order::default() }),
            moved: Condvar::new(),
        };
        let mut workers = vec![WorkerReport::default(); threads];
        std::thread::scope(|scope| {
            let line = &line;
            let [own, others @ ..] = &mut workers[..] else { return };
            for worker in others {
                // Where the system lets no more be started, there are fewer.
                let work = move || line.work(worker);
                let _ = std::thread::Builder::new().spawn_scoped(scope, work);
            }
            line.work(own);
        });
        let Line { order, tasks, .. } = line;
        let Order { output, errors, next, .. } =
            order.into_inner().unwrap_or_else(PoisonError::into_inner);
        if !errors.is_empty() {
            return Err(errors);
        }
        if next < tasks.len() {
            return Ok(None);
        }
        let output = output.expect("whoever wrote without an error has put it back");
        let bytes = output.len();
        let whole = output.finish(&encoder.patches(frames.len() as u64)).map_err(failed)?;
        let wall = begin.elapsed().as_secs_f64();
        // The first frame was looked at before all others, which count it.
        let (first, Meter { opens, requests, bytes_read, .. }) = (&mut workers[0], scratch.meter);
        first.meter.add(&Meter { opens, requests, bytes_read, ..Meter::default() });
        let report = RunReport { workers, passes: 1, wall, ..Default::default() };
        let remarks = encoder.remarks().to_vec();
        Ok(Some((whole, Converted { bytes, remarks, report })))
    }
}

/// What the workers of an output share.
struct Line<'a> {
    chain: &'a Chain,
    request: &'a Request<'a>,
    encoder: &'a dyn Encoder,
    times: &'a [f64],
    steps: &'a [i64],
    tasks: Vec<Range<usize>>,
    /// How many tasks may be begun before the oldest one is written.
    ahead: usize,
    stop: &'a Arc<AtomicBool>,
    next: AtomicUsize,
    frames_done: &'a AtomicUsize,
    order: Mutex<Order>,
    /// A task was written.
    moved: Condvar,
}

/// The output, and what waits for its turn.
#[derive(Default)]
struct Order {
    /// None while a worker writes: the others go on meanwhile.
    output: Option<Output>,
    /// The task whose bytes come next.
    next: usize,
    waiting: BTreeMap<usize, Vec<u8>>,
    /// Memory of tasks that were written: memory that is new to a process costs more than encoding.
    spare: Vec<Vec<u8>>,
    errors: Vec<TaskError>,
}

impl Line<'_> {
    /// A worker's life.
    fn work(&self, report: &mut WorkerReport) {
        let begin = Instant::now();
        let mut scratch = Scratch::stopped_by(Arc::clone(self.stop));
        let mut workspace = Workspace::default();
        loop {
            let task = self.next.fetch_add(1, Ordering::Relaxed);
            if task >= self.tasks.len() {
                break;
            }
            let Some(mut bytes) = self.wait_for_room(task, report) else { break };
            let encoded = catch_unwind(AssertUnwindSafe(|| {
                self.encode(task, &mut scratch, &mut workspace, &mut bytes, report)
            }));
            let encoded =
                encoded.unwrap_or_else(|panic| Err(TaskFault::Panicked(message(&*panic))));
            report.tasks += 1;
            if let Err(fault) = encoded {
                self.fail(task, fault);
                break;
            }
            let writing = Instant::now();
            let written = self.write(task, bytes);
            report.stages.t_merge += writing.elapsed().as_secs_f64();
            if let Err((task, error)) = written {
                self.fail(task, TaskFault::Input(error));
                break;
            }
        }
        report.meter.add(&scratch.meter);
        let stages = &mut report.stages;
        stages.t_read = report.meter.read_ns as f64 / 1e9;
        stages.t_decode = report.meter.decode_ns as f64 / 1e9;
        stages.close(begin.elapsed().as_secs_f64());
    }

    /// Waits until the task is not too far ahead of what is written; returns memory for its bytes, none
    /// where all is to end.
    fn wait_for_room(&self, task: usize, report: &mut WorkerReport) -> Option<Vec<u8>> {
        let waiting = Instant::now();
        let mut order = lock(&self.order);
        while task >= order.next + self.ahead && !self.stop.load(Ordering::Relaxed) {
            let held = self.moved.wait_timeout(order, LOOK);
            order = held.unwrap_or_else(PoisonError::into_inner).0;
        }
        report.stages.t_wait += waiting.elapsed().as_secs_f64();
        let stopped = self.stop.load(Ordering::Relaxed);
        (!stopped).then(|| order.spare.pop().unwrap_or_default())
    }

    /// Fills `bytes` with those of a task's frames.
    fn encode(
        &self,
        task: usize,
        scratch: &mut Scratch,
        workspace: &mut Workspace,
        bytes: &mut Vec<u8>,
        report: &mut WorkerReport,
    ) -> Result<(), TaskFault> {
        let Request { frames, atoms, format, .. } = *self.request;
        bytes.clear();
        let positions = self.tasks[task].clone();
        if let Some(numbers) = self.neighbours(task)
            && self.chain.copy_frames(numbers, format, scratch, bytes)?
        {
            self.frames_done.fetch_add(positions.len(), Ordering::Relaxed);
            return Ok(());
        }
        // The frames of this task alone: what comes next is read by others.
        let begin = positions.start;
        self.chain.read_raws(&frames.slice(positions), atoms, scratch, |k, raw| {
            let k = begin + k;
            let encoding = Instant::now();
            let input = Input::Raw { raw, time: self.times[k], step: self.steps[k] };
            self.encoder.encode(k as u64, input, workspace, bytes)?;
            report.stages.t_comp += encoding.elapsed().as_secs_f64();
            self.frames_done.fetch_add(1, Ordering::Relaxed);
            Ok(())
        })?;
        Ok(())
    }

    /// The numbers of a task's frames, where they are neighbours of which nothing is to change.
    fn neighbours(&self, task: usize) -> Option<Range<u64>> {
        let Request { frames, atoms, options, .. } = *self.request;
        let WriteOptions { precision, double, velocities, forces, .. } = *options;
        let whole = atoms.listed_indices().is_none();
        if !(whole && precision.is_none() && double.is_none() && velocities && forces) {
            return None;
        }
        let Range { start, end } = self.tasks[task].clone();
        let first = frames.get(start);
        let ascending = (start..end).all(|k| frames.get(k) == first + (k - start) as u64);
        ascending.then(|| first..first + (end - start) as u64)
    }

    /// Writes a task's bytes, and those that waited for it, or lets them wait for whoever writes now.
    /// An error comes with the task whose bytes could not be written.
    fn write(&self, task: usize, bytes: Vec<u8>) -> Result<(), (usize, Error)> {
        let mut order = lock(&self.order);
        order.waiting.insert(task, bytes);
        let Some(mut output) = order.output.take() else { return Ok(()) };
        loop {
            let next = order.next;
            let Some(bytes) = order.waiting.remove(&next) else { break };
            drop(order);
            output.append(&bytes).map_err(|error| (next, error))?;
            order = lock(&self.order);
            order.next += 1;
            order.spare.push(bytes);
            self.moved.notify_all();
        }
        order.output = Some(output);
        Ok(())
    }

    /// Keeps an error and ends all.
    fn fail(&self, task: usize, fault: TaskFault) {
        let range = self.tasks[task].clone();
        let (first, frames) = (range.start, range.len());
        lock(&self.order).errors.push(TaskError { task, first, frames, fault });
        self.stop.store(true, Ordering::Relaxed);
        self.moved.notify_all();
    }
}

#[cfg(test)]
mod tests;
