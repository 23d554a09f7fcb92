//! Jobs are made by lanes, each one after the other, on threads that the lanes share.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use trajet_io::{Chain, Error};

use super::line::copy;
use super::{Control, Divided, Job, Leaving, MOST_THREADS, failed_copy, lock, message, watch};
use crate::error::{RunError, TaskError, TaskFault};

/// Makes all jobs, whose files have no names yet.
pub(super) fn run(
    chain: &Chain,
    jobs: &[Job<'_>],
    threads: usize,
    control: &mut dyn Control,
) -> Result<Vec<Divided>, RunError> {
    let threads = threads.clamp(1, MOST_THREADS);
    let n_lanes = threads.min(jobs.len());
    let shared = Shared { chain, stop: Arc::default(), frames_done: AtomicUsize::new(0) };
    let lanes = Lanes {
        shared: &shared,
        jobs,
        next: AtomicUsize::new(0),
        done: jobs.iter().map(|_| Mutex::default()).collect(),
        errors: Mutex::default(),
        lanes_left: Mutex::new(n_lanes),
        all_left: Condvar::new(),
    };
    let interrupted = std::thread::scope(|scope| {
        for lane in 0..n_lanes {
            let lanes = &lanes;
            let own = threads / n_lanes + usize::from(lane < threads % n_lanes);
            let work = move || lanes.work(own);
            if let Err(error) = std::thread::Builder::new().spawn_scoped(scope, work) {
                drop(Leaving { left: &lanes.lanes_left, all_left: &lanes.all_left });
                if lane == 0 {
                    let fault = TaskFault::NoThread(error.to_string());
                    lanes.fail(0, vec![failed_copy(jobs[0].frames.len(), fault)]);
                }
            }
        }
        let done = || shared.frames_done.load(Ordering::Relaxed);
        let stop = || shared.stop.store(true, Ordering::Relaxed);
        let total = jobs.iter().map(|job| job.frames.len()).sum();
        watch(&lanes.lanes_left, &lanes.all_left, &done, total, control, &stop)
    });
    if interrupted {
        return Err(RunError::Interrupted);
    }
    let mut errors = lanes.errors.into_inner().unwrap_or_else(PoisonError::into_inner);
    if !errors.is_empty() {
        errors.sort_by_key(|&(job, ref error)| (job, error.task));
        return Err(RunError::Tasks(errors.into_iter().map(|(_, error)| error).collect()));
    }
    Ok(lanes.done.into_iter().filter_map(|one| one.into_inner().ok().flatten()).collect())
}

/// What all threads share.
pub(super) struct Shared<'a> {
    pub(super) chain: &'a Chain,
    pub(super) stop: Arc<AtomicBool>,
    pub(super) frames_done: AtomicUsize,
}

/// What the lanes share.
struct Lanes<'a> {
    shared: &'a Shared<'a>,
    jobs: &'a [Job<'a>],
    next: AtomicUsize,
    done: Vec<Mutex<Option<Divided>>>,
    /// With the numbers of their jobs.
    errors: Mutex<Vec<(usize, TaskError)>>,
    lanes_left: Mutex<usize>,
    all_left: Condvar,
}

impl Lanes<'_> {
    /// A lane's life, on so many threads.
    fn work(&self, threads: usize) {
        let _leaving = Leaving { left: &self.lanes_left, all_left: &self.all_left };
        while !self.shared.stop.load(Ordering::Relaxed) {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = self.jobs.get(number) else { break };
            let copied = catch_unwind(AssertUnwindSafe(|| copy(self.shared, job, threads)));
            match copied {
                Ok(Ok(copied)) => *lock(&self.done[number]) = copied,
                Ok(Err(errors)) => self.fail(number, errors),
                Err(panic) => {
                    let fault = TaskFault::Panicked(message(&*panic));
                    self.fail(number, vec![failed_copy(job.frames.len(), fault)]);
                }
            }
        }
    }

    /// Keeps the errors of a job and ends all.
    fn fail(&self, job: usize, mut errors: Vec<TaskError>) {
        errors.retain(|e| !matches!(e.fault, TaskFault::Input(Error::Interrupted)));
        lock(&self.errors).extend(errors.into_iter().map(|error| (job, error)));
        self.shared.stop.store(true, Ordering::Relaxed);
    }
}
