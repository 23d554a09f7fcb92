//! Several jobs at a time. Each pipeline runs one job after another, on its share of the threads.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use trajet_engine::Control;
use trajet_engine::run::{MAX_THREADS, each, lock};
use trajet_engine::{RunError, TaskError, TaskFault};
use trajet_files::{Chain, Error};

use crate::encode_pipeline::{Shared, copy};
use crate::request::{Divided, Job};

/// Makes the outputs of all jobs; their files do not have their final names yet.
pub(crate) fn run(
    chain: &Chain,
    jobs: &[Job<'_>],
    threads: usize,
    control: &mut dyn Control,
) -> Result<Vec<Divided>, RunError> {
    let threads = threads.clamp(1, MAX_THREADS);
    let n_pipelines = threads.min(jobs.len());
    let shared = Shared { chain, stop: Arc::default(), frames_done: AtomicUsize::new(0) };
    let outputs = MultiOutput {
        shared: &shared,
        jobs,
        next: AtomicUsize::new(0),
        done: jobs.iter().map(|_| Mutex::default()).collect(),
        errors: Mutex::default(),
    };
    let work =
        |number| outputs.work(threads / n_pipelines + usize::from(number < threads % n_pipelines));
    let total = jobs.iter().map(|job| job.frames.len()).sum();
    let progress = (&shared.frames_done, total);
    let interrupted = each(n_pipelines, n_pipelines, &work, progress, &shared.stop, control)?;
    if interrupted {
        return Err(RunError::Interrupted);
    }
    let mut errors = outputs.errors.into_inner().unwrap_or_else(PoisonError::into_inner);
    if !errors.is_empty() {
        errors.sort_by_key(|&(job, ref error)| (job, error.task));
        return Err(RunError::Tasks(errors.into_iter().map(|(_, error)| error).collect()));
    }
    Ok(outputs.done.into_iter().filter_map(|one| one.into_inner().ok().flatten()).collect())
}

/// Data shared by the pipelines.
struct MultiOutput<'a> {
    shared: &'a Shared<'a>,
    jobs: &'a [Job<'a>],
    next: AtomicUsize,
    done: Vec<Mutex<Option<Divided>>>,
    /// Errors with the indices of their jobs.
    errors: Mutex<Vec<(usize, TaskError)>>,
}

impl MultiOutput<'_> {
    /// Runs jobs until there are none left, each on `threads` threads.
    fn work(&self, threads: usize) {
        while !self.shared.stop.load(Ordering::Relaxed) {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = self.jobs.get(number) else { break };
            let copied = catch_unwind(AssertUnwindSafe(|| copy(self.shared, job, threads)));
            match copied {
                Ok(Ok(copied)) => *lock(&self.done[number]) = copied,
                Ok(Err(errors)) => self.fail(number, errors),
                Err(panic) => {
                    let fault = TaskFault::panicked(&*panic);
                    self.fail(number, vec![TaskError::of_run(job.frames.len(), fault)]);
                }
            }
        }
    }

    /// Keeps the errors of a job and stops all jobs.
    fn fail(&self, job: usize, mut errors: Vec<TaskError>) {
        errors.retain(|e| !matches!(e.fault, TaskFault::Input(Error::Interrupted)));
        lock(&self.errors).extend(errors.into_iter().map(|error| (job, error)));
        self.shared.stop.store(true, Ordering::Relaxed);
    }
}
