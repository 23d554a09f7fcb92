//! Runs the passes of an analysis on threads. This room starts the only threads of the library.
//!
//! Memory is bounded by the workers: each owns one block and one window of file bytes; beside them
//! there are the result's rows, of which each task writes its own part, and the states that wait for
//! their sibling (at most a few for each task under way).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use trajet_io::{Block, Chain, Frames, Meter, OpenOptions, ParallelFor, Scratch, Serial, Wanted};

use crate::analysis::{Output, Pass, Refusal, State};
use crate::error::{RunError, TaskError, TaskFault};
use crate::plan::{Leaves, tasks};
use crate::report::{RunReport, Stages, TaskReport, WorkerReport};
use crate::schedule::{Event, Instruction, Schedule};
use crate::tree::{Merger, Node};

pub mod convert;

/// How often the calling thread looks for a stop and shows progress.
const LOOK: Duration = Duration::from_millis(100);

/// More threads than any machine has cores are a mistake, and could not all be started.
const MOST_THREADS: usize = 1024;

/// What a run may use.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// Worker threads.
    pub threads: usize,
    /// Frames of a task, rounded up to whole leaves; none for a size that keeps all threads busy.
    pub task_frames: Option<usize>,
}

/// The caller's side of a run, called every 100 ms on the caller's own thread.
pub trait Control {
    /// `done` of `total` frames (of all passes begun so far), or bytes of an index, are ready.
    fn progress(&mut self, done: usize, total: usize);
    /// Whether the run should stop.
    fn interrupted(&mut self) -> bool;
}

/// What others see of a part of a run, and can do to it, while it goes on.
#[derive(Debug, Default)]
pub struct Going {
    /// Ends it.
    pub stop: Arc<AtomicBool>,
    /// What its workers have spent on leaves that are done.
    pub spent: Mutex<Stages>,
    /// Those that work on it.
    threads: Mutex<Vec<ThreadId>>,
}

impl Going {
    /// What was spent until now.
    pub fn spent(&self) -> Stages {
        *lock(&self.spent)
    }

    /// Counts the calling thread among those that work on it. Who calls [`run_part`] does so before it opens
    /// anything; the others do by themselves.
    pub fn join(&self) {
        lock(&self.threads).push(thread::current().id());
    }

    /// The threads that work on it, or did.
    pub fn threads(&self) -> Vec<ThreadId> {
        lock(&self.threads).clone()
    }
}

/// Pieces of work on threads of their own, for building an index.
#[derive(Clone, Copy, Debug)]
pub struct Threads(pub usize);

impl ParallelFor for Threads {
    fn width(&self) -> usize {
        self.0
    }

    fn each(&self, n: usize, work: &(dyn Fn(usize) + Sync)) {
        let next = AtomicUsize::new(0);
        let work = || {
            loop {
                let k = next.fetch_add(1, Ordering::Relaxed);
                if k >= n {
                    break;
                }
                work(k);
            }
        };
        thread::scope(|scope| {
            for _ in 1..self.0.min(n).min(MOST_THREADS) {
                // Where the system lets no more be started, there are fewer.
                let _ = thread::Builder::new().spawn_scoped(scope, work);
            }
            work();
        });
    }
}

/// Opens the files of a trajectory on `threads` threads, while the calling thread shows progress (in
/// bytes that the index covers) and looks for a stop.
///
/// # Errors
/// As [`trajet_io::chain::open`]; [`trajet_io::Error::Interrupted`] where `control` asked for it.
pub fn open(
    paths: &[PathBuf],
    options: &OpenOptions,
    threads: usize,
    control: &mut dyn Control,
) -> Result<Chain, trajet_io::Error> {
    let (left, all_left) = (Mutex::new(1), Condvar::new());
    thread::scope(|scope| {
        let opening = thread::Builder::new().spawn_scoped(scope, || {
            let _leaving = Leaving { left: &left, all_left: &all_left };
            trajet_io::chain::open(paths, options, &Threads(threads))
        });
        // Where the system lets no thread be started, nobody shows progress.
        let Ok(opening) = opening else { return trajet_io::chain::open(paths, options, &Serial) };
        let size = |path| std::fs::metadata(path).map_or(0, |m| m.len() as usize);
        let size = paths.iter().map(size).sum();
        let bytes = || options.watch.bytes.load(Ordering::Relaxed) as usize;
        let stop = || options.watch.stop.store(true, Ordering::Relaxed);
        watch(&left, &all_left, &bytes, size, control, &stop);
        match opening.join() {
            Ok(opened) => opened,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// Tells the calling thread that a worker has left, however that came.
struct Leaving<'a> {
    left: &'a Mutex<usize>,
    all_left: &'a Condvar,
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        *lock(self.left) -= 1;
        self.all_left.notify_all();
    }
}

/// The calling thread of a run: shows progress and looks for a stop until `left` is zero.
/// Returns whether it was stopped.
fn watch(
    left: &Mutex<usize>,
    all_left: &Condvar,
    done: &dyn Fn() -> usize,
    total: usize,
    control: &mut dyn Control,
    stop: &dyn Fn(),
) -> bool {
    let mut interrupted = false;
    let mut workers = lock(left);
    while *workers > 0 {
        let (held, timeout) =
            all_left.wait_timeout(workers, LOOK).unwrap_or_else(PoisonError::into_inner);
        workers = held;
        if timeout.timed_out() && !interrupted {
            // The caller's code runs without the lock: it may take its time.
            drop(workers);
            control.progress(done(), total);
            if control.interrupted() {
                interrupted = true;
                stop();
            }
            workers = lock(left);
        }
    }
    drop(workers);
    control.progress(done(), total);
    interrupted || control.interrupted()
}

/// Does `n` pieces of work on threads, while the calling thread shows how many of the `total` units that they
/// count are `done`, and sets `stop` where it is asked to, at which they look. Returns whether it was.
pub fn each(
    n: usize,
    threads: usize,
    work: &(dyn Fn(usize) + Sync),
    (done, total): (&AtomicUsize, usize),
    stop: &AtomicBool,
    control: &mut dyn Control,
) -> bool {
    let threads = threads.min(n).clamp(1, MOST_THREADS);
    let next = AtomicUsize::new(0);
    let (left, all_left) = (Mutex::new(threads), Condvar::new());
    thread::scope(|scope| {
        let work = || {
            let _leaving = Leaving { left: &left, all_left: &all_left };
            while !stop.load(Ordering::Relaxed) {
                let k = next.fetch_add(1, Ordering::Relaxed);
                if k >= n {
                    break;
                }
                work(k);
            }
        };
        for number in 0..threads {
            // Where the system lets no more be started, there are fewer.
            if thread::Builder::new().spawn_scoped(scope, work).is_ok() {
                continue;
            }
            match number {
                0 => work(),
                _ => drop(Leaving { left: &left, all_left: &all_left }),
            }
        }
        let stop = || stop.store(true, Ordering::Relaxed);
        watch(&left, &all_left, &|| done.load(Ordering::Relaxed), total, control, &stop)
    })
}

/// Runs `pass`, and the passes that follow from it, over the wanted frames.
///
/// # Errors
/// [`RunError::Tasks`] with every task that failed, or [`RunError::Interrupted`].
pub fn run(
    chain: &Chain,
    frames: &Frames,
    pass: Pass,
    budget: Budget,
    control: &mut dyn Control,
) -> Result<(Output, RunReport), RunError> {
    let begin = Instant::now();
    // More threads than leaves would find nothing to do.
    let leaves = Leaves::new(frames.len(), pass.atoms.len()).len();
    let threads = budget.threads.min(leaves).clamp(1, MOST_THREADS);
    let mut report =
        RunReport { workers: vec![WorkerReport::default(); threads], ..Default::default() };
    let mut pass = pass;
    loop {
        let then = pass.then.take();
        let leaves = Leaves::new(frames.len(), pass.atoms.len());
        let width = pass.analysis.row_width();
        let mut rows = row_memory(frames.len(), width)?;
        let part = Part { frames, leaves, run: 0..leaves.len() };
        let caller = Caller::Watches(control);
        let states = run_pass(chain, &pass, &part, &mut rows, budget, begin, &mut report, caller)?;
        let mut whole = Merger::new(leaves.len());
        states.into_iter().for_each(|(node, state)| {
            whole.add(node, state, |left, right| pass.analysis.merge(left, right));
        });
        let state = whole.into_whole().unwrap_or_else(|| pass.analysis.empty());
        report.passes += 1;
        match then {
            Some(then) => pass = then(state),
            None => {
                report.tasks.sort_by_key(|t| (t.pass, t.task));
                report.wall = begin.elapsed().as_secs_f64();
                return Ok((Output { rows, row_width: width, state }, report));
            }
        }
    }
}

/// A run of leaves of a pass.
#[derive(Clone, Debug)]
pub struct Part<'a> {
    /// The frames of these leaves.
    pub frames: &'a Frames,
    /// All leaves of the pass.
    pub leaves: Leaves,
    /// Which of them.
    pub run: std::ops::Range<usize>,
}

impl Part<'_> {
    /// Positions among all wanted frames.
    fn positions(&self) -> std::ops::Range<usize> {
        self.leaves.frames_of(&self.run)
    }
}

/// Runs a part of a pass: writes its rows (`[n_frames, row_width]`) and returns the states of the largest
/// whole subtrees in it. The report says what was done, also where it ends with an error. The calling thread is
/// one of those at work.
///
/// # Errors
/// As [`run`].
///
/// # Panics
/// If there are not as many frames or rows as the leaves have.
pub fn run_part(
    chain: &Chain,
    pass: &Pass,
    part: &Part<'_>,
    rows: &mut [f64],
    budget: Budget,
    report: &mut RunReport,
    going: &Going,
) -> Result<Subtrees, RunError> {
    let begin = Instant::now();
    assert_eq!(part.frames.len(), part.positions().len(), "frames of the part");
    assert_eq!(rows.len(), part.frames.len() * pass.analysis.row_width(), "rows of the part");
    let threads = budget.threads.min(part.run.len()).clamp(1, MOST_THREADS);
    *report = RunReport { workers: vec![WorkerReport::default(); threads], ..Default::default() };
    let states = run_pass(chain, pass, part, rows, budget, begin, report, Caller::Works(going));
    report.passes = 1;
    report.tasks.sort_by_key(|t| t.task);
    report.wall = begin.elapsed().as_secs_f64();
    states
}

/// What the workers of a pass share.
struct Shared<'a> {
    chain: &'a Chain,
    pass: &'a Pass,
    part: &'a Part<'a>,
    tasks: Vec<std::ops::Range<usize>>,
    begin: Instant,
    pass_number: usize,
    stop: Arc<AtomicBool>,
    /// Where somebody looks at it.
    going: Option<&'a Going>,
    frames_done: AtomicUsize,
    schedule: Mutex<Schedule>,
    /// Where each task writes its rows: a part of the result.
    rows: Vec<Mutex<&'a mut [f64]>>,
    collected: Mutex<Collected>,
    workers_left: Mutex<usize>,
    all_left: Condvar,
}

/// What the tasks of a pass have yielded.
struct Collected {
    states: Merger<State>,
    tasks: Vec<TaskReport>,
    errors: Vec<TaskError>,
}

/// What a worker knows of a task that it has just done.
struct Attempt {
    worker: usize,
    task: usize,
    begin: f64,
    spent: Stages,
    merging: Instant,
}

/// The states of the largest whole subtrees in a task.
pub type Subtrees = Vec<(Node, State)>;

/// What the calling thread does meanwhile.
enum Caller<'a> {
    /// It shows progress and looks for a stop.
    Watches(&'a mut dyn Control),
    /// It is a worker: where tasks are short, starting a thread and being woken would cost as much as they do.
    Works(&'a Going),
}

#[allow(clippy::too_many_arguments)]
fn run_pass(
    chain: &Chain,
    pass: &Pass,
    part: &Part<'_>,
    rows: &mut [f64],
    budget: Budget,
    begin: Instant,
    report: &mut RunReport,
    caller: Caller<'_>,
) -> Result<Subtrees, RunError> {
    let threads = report.workers.len();
    let Part { frames, leaves, run } = part;
    let tasks = tasks(leaves, run.clone(), threads, budget.task_frames);
    let shared = Shared {
        chain,
        pass,
        part,
        begin,
        pass_number: report.passes,
        stop: match &caller {
            Caller::Watches(_) => Arc::default(),
            Caller::Works(going) => Arc::clone(&going.stop),
        },
        going: match &caller {
            Caller::Watches(_) => None,
            Caller::Works(going) => Some(going),
        },
        frames_done: AtomicUsize::new(0),
        schedule: Mutex::new(Schedule::new(tasks.len())),
        collected: Mutex::new(Collected {
            states: Merger::new(leaves.len()),
            tasks: Vec::with_capacity(tasks.len()),
            errors: Vec::new(),
        }),
        rows: apart(rows, leaves, &tasks, pass.analysis.row_width()),
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
                if let Some(going) = shared.going {
                    going.join();
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
    let Collected { states, tasks, mut errors } =
        shared.collected.into_inner().unwrap_or_else(PoisonError::into_inner);
    report.tasks.extend(tasks);
    errors.retain(|e| !matches!(e.fault, TaskFault::Input(trajet_io::Error::Interrupted)));
    if interrupted {
        return Err(RunError::Interrupted);
    }
    if !errors.is_empty() {
        errors.sort_by_key(|e| e.task);
        return Err(RunError::Tasks(errors));
    }
    Ok(states.into_subtrees())
}

/// Room for the rows of a run.
///
/// # Errors
/// [`TaskFault::Memory`] where the system has not got it.
fn row_memory(n_frames: usize, width: usize) -> Result<Vec<f64>, RunError> {
    // Asked for first: a refusal must not end the process.
    let mut asked: Vec<f64> = Vec::new();
    if n_frames.checked_mul(width).is_none_or(|n| asked.try_reserve_exact(n).is_err()) {
        let needed = (n_frames as u64).saturating_mul(width as u64).div_ceil(1 << 27);
        let fault = TaskFault::Memory { needed, what: "the numbers of all frames" };
        return Err(RunError::Tasks(vec![TaskError {
            task: 0,
            first: 0,
            frames: n_frames,
            fault,
        }]));
    }
    drop(asked);
    Ok(vec![0.0; n_frames * width])
}

/// The rows of each task.
fn apart<'r>(
    mut rows: &'r mut [f64],
    leaves: &Leaves,
    tasks: &[std::ops::Range<usize>],
    width: usize,
) -> Vec<Mutex<&'r mut [f64]>> {
    let mut parts = Vec::with_capacity(tasks.len());
    for task in tasks {
        let (part, rest) = rows.split_at_mut(leaves.frames_of(task).len() * width);
        parts.push(Mutex::new(part));
        rows = rest;
    }
    parts
}

/// A panic of a worker is caught and reported: a lock is never poisoned by one that matters.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared<'_> {
    /// The others do the work of a thread that the system refuses; without any there is none.
    fn could_not_start(&self, number: usize, error: &std::io::Error) {
        drop(Leaving { left: &self.workers_left, all_left: &self.all_left });
        if number == 0 {
            let fault = TaskFault::NoThread(error.to_string());
            lock(&self.schedule).handle(Event::Stop);
            lock(&self.collected).errors.push(TaskError { task: 0, first: 0, frames: 0, fault });
        }
    }

    /// A worker's life.
    fn work(&self, number: usize, report: &mut WorkerReport) {
        let _leaving = Leaving { left: &self.workers_left, all_left: &self.all_left };
        let begin = Instant::now();
        let mut scratch = Scratch::stopped_by(Arc::clone(&self.stop));
        let mut block = Block::default();
        let stages = &mut report.stages;
        loop {
            let asked = Instant::now();
            let answer = lock(&self.schedule).handle(Event::Idle { worker: number });
            stages.t_wait += asked.elapsed().as_secs_f64();
            let Instruction::Run { task } = answer else { break };
            let started = self.begin.elapsed().as_secs_f64();
            let (before, mut t_comp) = (scratch.meter.clone(), 0.0);
            let done = catch_unwind(AssertUnwindSafe(|| {
                self.task(task, &mut scratch, &mut block, &mut t_comp)
            }));
            stages.t_comp += t_comp;
            let result = done.unwrap_or_else(|panic| Err(TaskFault::Panicked(message(&*panic))));
            let merging = Instant::now();
            let mut ok = result.is_ok();
            let spent = Stages { t_comp, ..Stages::between(&before, &scratch.meter) };
            let attempt = Attempt { worker: number, task, begin: started, spent, merging };
            let collecting = catch_unwind(AssertUnwindSafe(|| self.collect(attempt, result)));
            if let Err(panic) = collecting {
                let fault = TaskFault::Panicked(message(&*panic));
                lock(&self.collected).errors.push(TaskError { task, first: 0, frames: 0, fault });
                ok = false;
            }
            lock(&self.schedule).handle(Event::Done { worker: number, ok });
            stages.t_merge += merging.elapsed().as_secs_f64();
            report.tasks += 1;
        }
        report.meter.add(&scratch.meter);
        let metered = Stages::between(&Meter::default(), &report.meter);
        stages.t_open = metered.t_open;
        stages.t_read = metered.t_read;
        stages.t_decode = metered.t_decode;
        stages.t_wait += metered.t_wait;
        let total = stages.t_total + begin.elapsed().as_secs_f64();
        stages.close(total);
    }

    /// Reads, transforms and absorbs the leaves of a task.
    fn task(
        &self,
        task: usize,
        scratch: &mut Scratch,
        block: &mut Block,
        t_comp: &mut f64,
    ) -> Result<Subtrees, TaskFault> {
        let Pass { atoms, transforms, analysis, .. } = self.pass;
        let leaves = self.tasks[task].clone();
        let all_leaves = &self.part.leaves;
        let task_frames = all_leaves.frames_of(&leaves);
        let first = self.part.positions().start;
        // The reader sees the task's frames and nothing beyond, so that it asks for no more.
        let frames = self.part.frames.slice(task_frames.start - first..task_frames.end - first);
        let width = analysis.row_width();
        let mut rows = lock(&self.rows[task]);
        let mut states = Merger::new(all_leaves.len());
        for leaf in leaves {
            let all = all_leaves.frames(leaf);
            let here = all.start - task_frames.start..all.end - task_frames.start;
            block.reset(here.len(), atoms.len());
            let Block { positions, meta, .. } = &mut *block;
            let wanted = Wanted::positions(&frames, atoms);
            let before = scratch.meter.clone();
            self.chain.read_into(&wanted, here.clone(), scratch, positions, meta)?;
            let computing = Instant::now();
            let mut state = analysis.empty();
            let rows = &mut rows[here.start * width..here.end * width];
            let absorbed = transforms
                .iter()
                .try_for_each(|transform| transform.apply(block))
                .and_then(|()| analysis.absorb(block, rows, &mut state));
            absorbed.map_err(|Refusal { frame, why }| {
                let path = self.chain.path_of(frame).to_owned();
                let within = self.chain.place(frame).frame;
                let chained = (!self.chain.is_alone()).then_some(frame);
                TaskFault::Refused { path, frame: within, chained, why }
            })?;
            states.add(Node::leaf(leaf), state, |left, right| analysis.merge(left, right));
            let computed = computing.elapsed().as_secs_f64();
            *t_comp += computed;
            if let Some(going) = self.going {
                lock(&going.spent)
                    .add(&Stages { t_comp: computed, ..Stages::between(&before, &scratch.meter) });
            }
            self.frames_done.fetch_add(here.len(), Ordering::Relaxed);
        }
        Ok(states.into_subtrees())
    }

    /// Merges states; keeps every error.
    fn collect(&self, attempt: Attempt, result: Result<Subtrees, TaskFault>) {
        let Attempt { worker, task, begin, mut spent, merging } = attempt;
        let at = self.part.leaves.frames_of(&self.tasks[task]);
        let mut collected = lock(&self.collected);
        match result {
            Ok(states) => {
                for (node, state) in states {
                    let analysis = &self.pass.analysis;
                    collected.states.add(node, state, |left, right| analysis.merge(left, right));
                }
            }
            Err(fault) => {
                collected.errors.push(TaskError { task, first: at.start, frames: at.len(), fault });
            }
        }
        spent.t_merge = merging.elapsed().as_secs_f64();
        collected.tasks.push(TaskReport {
            pass: self.pass_number,
            task,
            worker,
            first: at.start,
            frames: at.len(),
            begin,
            end: self.begin.elapsed().as_secs_f64(),
            stages: spent,
        });
    }
}

fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic".to_owned())
}

#[cfg(test)]
mod tests;
