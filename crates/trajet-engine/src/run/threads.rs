//! Threads for opening files and for other pieces of work. The calling thread shows progress and polls for
//! cancellation.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use trajet_files::{Chain, OpenOptions, Opener, ParallelFor, Serial, Watch};

use crate::error::{RunError, TaskError, TaskFault};

/// Interval at which the calling thread polls for cancellation and shows progress.
pub const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Maximal number of threads; requests for more are lowered to it.
pub const MAX_THREADS: usize = 1024;

/// Callbacks of a run, called every 100 ms on the caller's thread.
pub trait Control {
    /// Reports that `done` of `total` frames (of all passes begun so far), or bytes of an index, are done.
    fn progress(&mut self, done: usize, total: usize);
    /// Returns whether to cancel the run.
    fn interrupted(&mut self) -> bool;
}

/// Runs pieces of work on this number of threads.
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
            for _ in 1..self.0.min(n).min(MAX_THREADS) {
                // If the system refuses to start a thread, fewer are used.
                let _ = thread::Builder::new().spawn_scoped(scope, work);
            }
            work();
        });
    }
}

/// Opens the files of a trajectory on `threads` threads, while the calling thread shows progress (in bytes that the
/// index covers) and polls for cancellation.
///
/// # Errors
/// As [`trajet_files::chain::open`]; [`trajet_files::Error::Interrupted`] if `control` cancelled it.
pub fn open(
    paths: &[PathBuf],
    options: &OpenOptions,
    threads: usize,
    control: &mut dyn Control,
) -> Result<Chain, trajet_files::Error> {
    open_with(paths, options, &[], threads, control)
}

/// Opens the files of a trajectory like [`open`], each with the first of `openers` that recognises it.
///
/// # Errors
/// As [`open`], and the errors of the openers.
pub fn open_with(
    paths: &[PathBuf],
    options: &OpenOptions,
    openers: &[&dyn Opener],
    threads: usize,
    control: &mut dyn Control,
) -> Result<Chain, trajet_files::Error> {
    let size = paths.iter().map(|path| options.size_of(path) as usize).sum();
    let open = |threads: &dyn ParallelFor| {
        trajet_files::chain::open_with(paths, options, openers, threads)
    };
    with_progress(&options.watch, size, threads, control, &open)
}

/// Compares the times in stored indexes with the headers of all frames, as [`Chain::check_times`], while the calling
/// thread polls for cancellation.
///
/// # Errors
/// As [`Chain::check_times`]; [`trajet_files::Error::Interrupted`] if `control` cancelled it.
pub fn check_times(
    chain: &Chain,
    threads: usize,
    control: &mut dyn Control,
) -> Result<(), trajet_files::Error> {
    let progress = Arc::new(Watch::default());
    let check = |threads: &dyn ParallelFor| chain.check_times(threads, &progress);
    with_progress(&progress, chain.size() as usize, threads, control, &check)
}

/// Runs `work` with `threads` threads, while the calling thread shows progress, in bytes of `size`, and cancels it when
/// `control` asks for that.
pub fn with_progress<T: Send>(
    progress: &Watch,
    size: usize,
    threads: usize,
    control: &mut dyn Control,
    work: &(dyn Fn(&dyn ParallelFor) -> T + Sync),
) -> T {
    let (left, all_left) = (Mutex::new(1), Condvar::new());
    thread::scope(|scope| {
        let working = thread::Builder::new().spawn_scoped(scope, || {
            let _leaving = LeaveGuard { left: &left, all_left: &all_left };
            work(&Threads(threads))
        });
        // Without a second thread no progress is shown.
        let Ok(working) = working else { return work(&Serial) };
        let bytes = || progress.bytes.load(Ordering::Relaxed) as usize;
        let stop = || progress.stop.store(true, Ordering::Relaxed);
        watch(&left, &all_left, &bytes, size, control, &stop);
        match working.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// Signals the calling thread that a worker has left, also after a panic.
pub(super) struct LeaveGuard<'a> {
    pub(super) left: &'a Mutex<usize>,
    pub(super) all_left: &'a Condvar,
}

impl Drop for LeaveGuard<'_> {
    fn drop(&mut self) {
        *lock(self.left) -= 1;
        self.all_left.notify_all();
    }
}

/// Shows progress and polls for cancellation until `left` is zero. Returns whether the run was cancelled. This is the
/// loop of the calling thread.
pub(super) fn watch(
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
            all_left.wait_timeout(workers, POLL_INTERVAL).unwrap_or_else(PoisonError::into_inner);
        workers = held;
        if timeout.timed_out() && !interrupted {
            // The callbacks run without the lock, as they may take long.
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

/// Runs `n` pieces of work on threads, while the calling thread shows progress (`done` of `total` units, which the
/// pieces count) and sets `stop` on cancellation, which the pieces poll. Returns whether the work was cancelled.
///
/// # Errors
/// [`TaskFault::NoThread`] if the system refuses to start any thread; no piece has run then. The calling thread does not
/// run them itself, as it could neither show progress nor cancel.
pub fn each(
    n: usize,
    threads: usize,
    work: &(dyn Fn(usize) + Sync),
    (done, total): (&AtomicUsize, usize),
    stop: &AtomicBool,
    control: &mut dyn Control,
) -> Result<bool, RunError> {
    let threads = threads.min(n).clamp(1, MAX_THREADS);
    let next = AtomicUsize::new(0);
    let (left, all_left) = (Mutex::new(threads), Condvar::new());
    thread::scope(|scope| {
        let work = || {
            let _leaving = LeaveGuard { left: &left, all_left: &all_left };
            while !stop.load(Ordering::Relaxed) {
                let k = next.fetch_add(1, Ordering::Relaxed);
                if k >= n {
                    break;
                }
                work(k);
            }
        };
        for number in 0..threads {
            match thread::Builder::new().spawn_scoped(scope, work) {
                Ok(_) => {}
                Err(error) if number == 0 => {
                    let fault = TaskFault::NoThread(error.to_string());
                    return Err(RunError::Tasks(vec![TaskError::of_run(n, fault)]));
                }
                // Fewer threads are used.
                Err(_) => drop(LeaveGuard { left: &left, all_left: &all_left }),
            }
        }
        let stop = || stop.store(true, Ordering::Relaxed);
        Ok(watch(&left, &all_left, &|| done.load(Ordering::Relaxed), total, control, &stop))
    })
}

/// Locks a mutex. Poisoning is ignored, as panics of workers are caught and reported.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
