//! Runs the passes of an analysis on threads. All threads that read or compute are started here and in `run::threads`;
//! the FUSE library starts those of a mounted store.
//!
//! Memory is bounded by the workers: each owns one block and one window of file bytes. In addition there are the
//! result's arrays, of which each task writes its own part, and the states that wait for their sibling (at most a few per
//! running task).
//!
//! The caller of [`run_part`] is the first of its threads: starting a thread per task took 15 % of the time of short
//! tasks.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Instant;

use trajet_files::{Chain, Error, Frames, Meter, Relay, Scratch};
use trajet_formats::Block;

use crate::component::FoldedArrays;
use crate::error::{AnalysisError, Failure, FrameError, RunError, TaskError, TaskFault};
use crate::frame_arrays::{FrameArrays, FrameBuffer};
use crate::joint::{JointPass, JointState, PendingChunk, Subtrees};
use crate::plan::{Leaves, tasks};
use crate::report::{RunReport, Stages, TaskReport, WorkerReport};
use crate::schedule::{Event, Instruction, Schedule};
use crate::tree::{Merger, Node};

pub use threads::{
    Control, MAX_THREADS, POLL_INTERVAL, Threads, check_times, each, lock, open, open_with,
    with_progress,
};
use threads::{LeaveGuard, watch};

mod huge_pages;
mod threads;

/// Limits of a run.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// Number of worker threads.
    pub threads: usize,
    /// Frames per task, rounded up to whole leaves; `None` for a size that keeps all threads busy.
    pub task_frames: Option<usize>,
}

/// Progress and cancellation handle of a running part.
#[derive(Debug, Default)]
pub struct RunHandle {
    /// Set to cancel the part.
    pub stop: Arc<AtomicBool>,
    /// Time that the workers have spent on finished leaves.
    pub spent: Mutex<Stages>,
    /// The threads that work on the part.
    threads: Mutex<Vec<ThreadId>>,
}

impl RunHandle {
    /// Returns the time spent so far.
    pub fn spent(&self) -> Stages {
        *lock(&self.spent)
    }

    /// Registers the calling thread. Callers of [`run_part`] do so before they open files; its workers register
    /// themselves.
    pub fn join(&self) {
        lock(&self.threads).push(thread::current().id());
    }

    /// Returns the threads that work on the part, or did.
    pub fn threads(&self) -> Vec<ThreadId> {
        lock(&self.threads).clone()
    }
}

/// Runs `pass`, and the passes that follow from it, over the requested frames.
///
/// # Errors
/// [`RunError::Tasks`] with every task that failed, or [`RunError::Interrupted`].
pub fn run(
    chain: &Chain,
    frames: &Frames,
    pass: impl Into<JointPass>,
    budget: Budget,
    control: &mut dyn Control,
) -> Result<(Output, RunReport), RunError> {
    let begin = Instant::now();
    let mut pass = pass.into();
    // More threads than leaves would be idle.
    let leaves = pass.leaves(frames.len()).len();
    let threads = budget.threads.min(leaves).clamp(1, MAX_THREADS);
    let mut report =
        RunReport { workers: vec![WorkerReport::default(); threads], ..Default::default() };
    let of_run = |failure: Failure| {
        RunError::Tasks(vec![TaskError { frames: frames.len(), ..failure.into() }])
    };
    loop {
        let leaves = pass.leaves(frames.len());
        let mut buffer = buffer_of(&pass, frames.len())?;
        let part = Part { frames, leaves, run: 0..leaves.len() };
        let caller = Caller::Watches(control);
        let out = buffer.arrays();
        let states = run_pass(chain, &pass, &part, out, budget, begin, &mut report, caller)?;
        let mut whole = Merger::new(leaves.len());
        let merge = |left, right| pass.merge(left, right);
        for (node, state) in states {
            whole.add(node, state, merge).map_err(of_run)?;
        }
        let state = match whole.into_whole() {
            Some(state) => state,
            None => pass.empty().map_err(of_run)?,
        };
        report.passes += 1;
        if pass.is_last() {
            let folded = pass.finish(state).map_err(of_run)?;
            report.tasks.sort_by_key(|t| (t.pass, t.task));
            report.wall = begin.elapsed().as_secs_f64();
            return Ok((Output { buffer, folded }, report));
        }
        pass = pass.next(state).map_err(of_run)?;
    }
}

/// Result of a run.
#[derive(Clone, Debug, Default)]
pub struct Output {
    /// The arrays of all analyses with an entry for each of the requested frames, in their order.
    pub buffer: FrameBuffer,
    /// The arrays that each analysis has made of its state.
    pub folded: Vec<FoldedArrays>,
}

/// A range of leaves of a pass.
#[derive(Clone, Debug)]
pub struct Part<'a> {
    /// The frames of this range.
    pub frames: &'a Frames,
    /// All leaves of the pass.
    pub leaves: Leaves,
    /// The range.
    pub run: std::ops::Range<usize>,
}

impl Part<'_> {
    /// Returns the frames of the range, by position among all requested frames.
    fn positions(&self) -> std::ops::Range<usize> {
        self.leaves.frames_of(&self.run)
    }
}

/// Runs a part of a pass: writes the entries of its frames to `out` and returns the states of the largest whole
/// subtrees in it. The calling thread is one of the workers. `report` is also filled in if the run fails.
///
/// # Errors
/// As [`run`].
///
/// # Panics
/// If the number of frames does not match the leaves.
pub fn run_part(
    chain: &Chain,
    pass: &JointPass,
    part: &Part<'_>,
    out: FrameArrays<'_>,
    budget: Budget,
    report: &mut RunReport,
    handle: &RunHandle,
) -> Result<Subtrees, RunError> {
    let begin = Instant::now();
    assert_eq!(part.frames.len(), part.positions().len(), "frames of the part");
    let threads = budget.threads.min(part.run.len()).clamp(1, MAX_THREADS);
    *report = RunReport { workers: vec![WorkerReport::default(); threads], ..Default::default() };
    let states = run_pass(chain, pass, part, out, budget, begin, report, Caller::Works(handle));
    report.passes = 1;
    report.tasks.sort_by_key(|t| t.task);
    report.wall = begin.elapsed().as_secs_f64();
    states
}

/// Data shared by the workers of a pass.
struct Shared<'a> {
    chain: &'a Chain,
    pass: &'a JointPass,
    part: &'a Part<'a>,
    tasks: Vec<std::ops::Range<usize>>,
    begin: Instant,
    pass_number: usize,
    stop: Arc<AtomicBool>,
    /// Set if the pass is run in parts.
    handle: Option<&'a RunHandle>,
    frames_done: AtomicUsize,
    schedule: Mutex<Schedule>,
    /// The entries of the frames of each task, as disjoint parts of the result.
    out: Vec<Mutex<FrameArrays<'a>>>,
    results: Mutex<TaskResults>,
    /// Set if tasks hand over to one another.
    relay: Option<Relay>,
    workers_left: Mutex<usize>,
    all_left: Condvar,
}

/// Results of the tasks of a pass.
struct TaskResults {
    states: Merger<JointState>,
    tasks: Vec<TaskReport>,
    errors: Vec<TaskError>,
}

/// Memory that a worker reuses.
#[derive(Default)]
struct Memory {
    blocks: Vec<Block>,
    /// Frames of a task that hands over.
    chunks: Vec<PendingChunk>,
}

/// A worker's record of a task that it has just ended.
struct TaskRecord {
    worker: usize,
    task: usize,
    begin: f64,
    spent: Stages,
    merging: Instant,
}

/// Role of the calling thread.
enum Caller<'a> {
    /// Shows progress and polls for cancellation.
    Watches(&'a mut dyn Control),
    /// Computes as one of the workers: for short tasks, starting and waking another thread would cost as much as they do.
    Works(&'a RunHandle),
}

#[allow(clippy::too_many_arguments)]
fn run_pass(
    chain: &Chain,
    pass: &JointPass,
    part: &Part<'_>,
    out: FrameArrays<'_>,
    budget: Budget,
    begin: Instant,
    report: &mut RunReport,
    caller: Caller<'_>,
) -> Result<Subtrees, RunError> {
    let threads = report.workers.len();
    let Part { frames, leaves, run } = part;
    ask_for_memory(pass, leaves, threads)?;
    let relay_frames = pass
        .relay_task_frames(chain, frames, threads)
        .map_err(|error| RunError::Tasks(vec![TaskError::of_run(frames.len(), error.into())]))?;
    let mut tasks = tasks(leaves, run.clone(), threads, budget.task_frames);
    if let Some(most) = relay_frames
        && tasks.first().is_some_and(|task| leaves.frames_of(task).len() > most)
    {
        tasks = crate::plan::tasks(leaves, run.clone(), threads, Some(most));
    }
    let shared = Shared {
        chain,
        pass,
        part,
        begin,
        pass_number: report.passes,
        stop: match &caller {
            Caller::Watches(_) => Arc::default(),
            Caller::Works(handle) => Arc::clone(&handle.stop),
        },
        handle: match &caller {
            Caller::Watches(_) => None,
            Caller::Works(handle) => Some(handle),
        },
        frames_done: AtomicUsize::new(0),
        schedule: Mutex::new(Schedule::new(tasks.len())),
        results: Mutex::new(TaskResults {
            states: Merger::new(leaves.len()),
            tasks: Vec::with_capacity(tasks.len()),
            errors: Vec::new(),
        }),
        relay: relay_frames.map(|_| Relay::default()),
        out: {
            let lengths = tasks.iter().map(|task| leaves.frames_of(task).len());
            out.divided(lengths).into_iter().map(Mutex::new).collect()
        },
        tasks,
        workers_left: Mutex::new(threads),
        all_left: Condvar::new(),
    };
    let before = report.passes * frames.len();
    let interrupted = thread::scope(|scope| {
        let shared = &shared;
        let mut workers = report.workers.iter_mut().enumerate();
        let own = if let Caller::Works(_) = caller { workers.next() } else { None };
        for (number, worker) in workers {
            let work = move || {
                if let Some(handle) = shared.handle {
                    handle.join();
                }
                shared.work(number, worker);
            };
            if let Err(error) = thread::Builder::new().spawn_scoped(scope, work) {
                shared.could_not_start(number, &error);
            }
        }
        if let Some((number, worker)) = own {
            shared.work(number, worker);
        }
        let Caller::Watches(control) = caller else { return false };
        let done = || before + shared.frames_done.load(Ordering::Relaxed);
        let stop = || {
            lock(&shared.schedule).handle(Event::Stop);
            shared.stop.store(true, Ordering::Relaxed);
        };
        let total = before + frames.len();
        watch(&shared.workers_left, &shared.all_left, &done, total, control, &stop)
    });
    let interrupted = interrupted || shared.stop.load(Ordering::Relaxed);
    let TaskResults { states, tasks, mut errors } =
        shared.results.into_inner().unwrap_or_else(PoisonError::into_inner);
    report.tasks.extend(tasks);
    errors.retain(|e| !matches!(e.fault, TaskFault::Input(Error::Interrupted)));
    if interrupted {
        return Err(RunError::Interrupted);
    }
    if !errors.is_empty() {
        errors.sort_by_key(|e| e.task);
        return Err(RunError::Tasks(errors));
    }
    Ok(states.into_subtrees())
}

/// Checks that the system has the memory that the threads of a pass, and the next pass, will use. Analyses allocate it
/// in many small pieces, which cannot fail gracefully.
///
/// # Errors
/// [`RunError::Tasks`] if the system refuses the memory.
fn ask_for_memory(pass: &JointPass, leaves: &Leaves, threads: usize) -> Result<(), RunError> {
    let of_thread = pass.bytes_of_thread(leaves.n_frames());
    // Once: an average structure as the reference of the next pass, along axes and weighted.
    let frame = pass.atoms().len().saturating_mul(size_of::<[f32; 3]>());
    let once = frame.saturating_mul(if pass.is_last() { 0 } else { 16 });
    let bytes = of_thread.saturating_mul(threads).saturating_add(once);
    trajet_formats::memory::ask(bytes, "the numbers that an analysis computes with").map_err(
        |refused| {
            let fault = Error::from(refused).into();
            RunError::Tasks(vec![TaskError::of_run(0, fault)])
        },
    )
}

/// Returns memory for the arrays of a pass over `n_frames` frames.
///
/// # Errors
/// [`TaskFault::Memory`] if the system refuses the memory.
fn buffer_of(pass: &JointPass, n_frames: usize) -> Result<FrameBuffer, RunError> {
    let specs = pass.per_frame().into_iter().cloned().collect();
    let mut buffer = FrameBuffer::new(specs, n_frames).map_err(|refused| {
        let fault =
            TaskFault::Memory { needed: refused.needed.div_ceil(1 << 30), what: refused.what };
        RunError::Tasks(vec![TaskError::of_run(n_frames, fault)])
    })?;
    huge_pages::request(buffer.words());
    Ok(buffer)
}

impl Shared<'_> {
    /// Handles a thread that could not be started: the other threads do its work. Without any thread the run fails.
    fn could_not_start(&self, number: usize, error: &std::io::Error) {
        drop(LeaveGuard { left: &self.workers_left, all_left: &self.all_left });
        if number == 0 {
            let fault = TaskFault::NoThread(error.to_string());
            lock(&self.schedule).handle(Event::Stop);
            lock(&self.results).errors.push(TaskError::of_run(0, fault));
        }
    }

    /// Runs tasks until there are none left.
    fn work(&self, number: usize, report: &mut WorkerReport) {
        let _leaving = LeaveGuard { left: &self.workers_left, all_left: &self.all_left };
        let begin = Instant::now();
        let mut scratch = Scratch::stopped_by(Arc::clone(&self.stop));
        let mut memory = Memory::default();
        let stages = &mut report.stages;
        loop {
            let asked = Instant::now();
            let answer = lock(&self.schedule).handle(Event::Idle { worker: number });
            stages.t_wait += asked.elapsed().as_secs_f64();
            let Instruction::Run { task } = answer else { break };
            let started = self.begin.elapsed().as_secs_f64();
            let (before, mut t_comp) = (scratch.meter.clone(), 0.0);
            let done = catch_unwind(AssertUnwindSafe(|| {
                let mut work = || self.task(task, &mut scratch, &mut memory, &mut t_comp);
                match &self.relay {
                    Some(relay) => relay.guarded(task, work),
                    None => work(),
                }
            }));
            stages.t_comp += t_comp;
            let result = done.unwrap_or_else(|panic| Err(TaskFault::panicked(&*panic).into()));
            let merging = Instant::now();
            let mut spent = Stages::between(&before, &scratch.meter);
            spent.t_comp += t_comp;
            let record = TaskRecord { worker: number, task, begin: started, spent, merging };
            let collecting = catch_unwind(AssertUnwindSafe(|| self.collect(record, result)));
            let ok = collecting.unwrap_or_else(|panic| {
                let error = TaskError::of_run(0, TaskFault::panicked(&*panic));
                lock(&self.results).errors.push(TaskError { task, ..error });
                false
            });
            lock(&self.schedule).handle(Event::Done { worker: number, ok });
            stages.t_merge += merging.elapsed().as_secs_f64();
            report.tasks += 1;
        }
        report.meter.add(&scratch.meter);
        let metered = Stages::between(&Meter::default(), &report.meter);
        stages.t_open = metered.t_open;
        stages.t_read = metered.t_read;
        stages.t_decode = metered.t_decode;
        stages.t_comp += metered.t_comp;
        stages.t_wait += metered.t_wait;
        let total = stages.t_total + begin.elapsed().as_secs_f64();
        stages.close(total);
    }

    /// Reads, transforms and analyses the leaves of a task.
    fn task(
        &self,
        task: usize,
        scratch: &mut Scratch,
        Memory { blocks, chunks }: &mut Memory,
        t_comp: &mut f64,
    ) -> Result<Subtrees, Failure> {
        let pass = self.pass;
        let leaves = self.tasks[task].clone();
        let all_leaves = &self.part.leaves;
        let task_frames = all_leaves.frames_of(&leaves);
        let first = self.part.positions().start;
        // The reader is given only the frames of the task, so that it does not read ahead further.
        let frames = self.part.frames.slice(task_frames.start - first..task_frames.end - first);
        let mut out = lock(&self.out[task]);
        let mut states = Merger::new(all_leaves.len());
        let here = |range: &std::ops::Range<usize>| {
            range.start - task_frames.start..range.end - task_frames.start
        };
        let chunks_of = |leaf| pass.chunks(all_leaves.frames(leaf), all_leaves.n_frames());
        if let Some(relay) = &self.relay {
            let before = scratch.meter.clone();
            let ranges: Vec<_> =
                leaves.clone().flat_map(chunks_of).map(|chunk| here(&chunk)).collect();
            let turn = (relay, task);
            pass.read_task(self.chain, &frames, &ranges, turn, scratch, chunks)?;
            self.computed(Instant::now(), &before, scratch, t_comp);
        }
        let mut chunks = chunks.iter_mut();
        for leaf in leaves {
            let all = all_leaves.frames(leaf);
            let of_leaf = here(&all);
            let n_arrays = out.len();
            let mut out = out.part(0..n_arrays, of_leaf);
            let mut fold = pass.fold(all.clone(), all_leaves.n_frames());
            for chunk in chunks_of(leaf) {
                let before = scratch.meter.clone();
                let read = if self.relay.is_some() {
                    let held = chunks.next().expect("as many as were read");
                    pass.complete(self.chain, &frames, held, scratch)?;
                    std::slice::from_mut(&mut held.block)
                } else {
                    pass.read(self.chain, &frames, here(&chunk), scratch, blocks)?;
                    &mut blocks[..]
                };
                let computing = Instant::now();
                fold.absorb(read, &mut out).map_err(|failure| self.with_file(failure))?;
                self.computed(computing, &before, scratch, t_comp);
                self.frames_done.fetch_add(chunk.len(), Ordering::Relaxed);
            }
            let (merging, before) = (Instant::now(), scratch.meter.clone());
            states.add(Node::leaf(leaf), fold.finish(), |left, right| pass.merge(left, right))?;
            self.computed(merging, &before, scratch, t_comp);
        }
        Ok(states.into_subtrees())
    }

    /// Adds the time since `begin` to that of computing, and the work since `before` to what the handle shows.
    fn computed(&self, begin: Instant, before: &Meter, scratch: &Scratch, t_comp: &mut f64) {
        let computed = begin.elapsed().as_secs_f64();
        *t_comp += computed;
        if let Some(handle) = self.handle {
            let mut spent = Stages::between(before, &scratch.meter);
            spent.t_comp += computed;
            lock(&handle.spent).add(&spent);
        }
    }

    /// Returns the failure with the file of the frame that an analysis cannot take.
    fn with_file(&self, failure: Failure) -> Failure {
        let fault = match failure.fault {
            TaskFault::Analysis(AnalysisError::Frame(FrameError { frame, why })) => {
                let path = self.chain.path_of(frame).to_owned();
                let within = self.chain.place(frame).frame;
                let chained = (!self.chain.is_alone()).then_some(frame);
                TaskFault::Refused { path, frame: within, chained, why }
            }
            other => other,
        };
        Failure { fault, ..failure }
    }

    /// Merges the states of a task, or keeps its error; returns whether there was none.
    fn collect(&self, record: TaskRecord, result: Result<Subtrees, Failure>) -> bool {
        let TaskRecord { worker, task, begin, mut spent, merging } = record;
        let at = self.part.leaves.frames_of(&self.tasks[task]);
        let mut results = lock(&self.results);
        let merge = |left, right| self.pass.merge(left, right);
        let result = result.and_then(|states| {
            let mut states = states.into_iter();
            states.try_for_each(|(node, state)| results.states.add(node, state, merge))
        });
        let ok = result.is_ok();
        if let Err(failure) = result {
            let error = TaskError { task, first: at.start, frames: at.len(), ..failure.into() };
            results.errors.push(error);
        }
        spent.t_merge = merging.elapsed().as_secs_f64();
        results.tasks.push(TaskReport {
            pass: self.pass_number,
            task,
            worker,
            first: at.start,
            frames: at.len(),
            begin,
            end: self.begin.elapsed().as_secs_f64(),
            stages: spent,
        });
        ok
    }
}

#[cfg(test)]
mod tests;
