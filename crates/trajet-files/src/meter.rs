//! Counters of reading and decoding.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use crate::Error;
use crate::transform::TransformWarnings;

/// Interval at which a thread that waits for a lock looks whether it is cancelled.
const LOCK_POLL: Duration = Duration::from_millis(2);

/// Counters of the files, bytes, frames and time that one worker has read and decoded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meter {
    /// Files opened.
    pub opens: u64,
    /// Read requests made.
    pub requests: u64,
    /// Requests to remote storage that were made again after a transient failure; part of `requests`.
    pub retries: u64,
    /// Bytes that the requests returned.
    pub bytes_read: u64,
    /// Bytes read under labels that the reader of several files gives to them; part of `bytes_read`. One list per kind
    /// of label, by the numbers of kind and label; kinds and labels for which nothing was counted may be missing.
    pub by_label: Vec<Vec<u64>>,
    /// Bytes that decoders examined.
    pub bytes_used: u64,
    /// Frames decoded.
    pub frames: u64,
    /// Decoded frames that lack the requested field, whose vectors are all NaN.
    pub empty_frames: u64,
    /// Atoms whose coordinates were decoded.
    pub atoms_decoded: u64,
    /// Nanoseconds spent opening files during reading: files that were closed, and parts of partitioned trajectories.
    pub open_ns: u64,
    /// Nanoseconds spent in read requests.
    pub read_ns: u64,
    /// Nanoseconds spent in decoding.
    pub decode_ns: u64,
    /// Nanoseconds spent waiting for another thread that opens or checks the same file.
    pub wait_ns: u64,
    /// Nanoseconds spent in transforms of decoded positions.
    pub transform_ns: u64,
    /// Counts of transformed positions that may be wrong.
    pub warnings: TransformWarnings,
    /// Cancels requests that wait for remote storage.
    pub stop: StopFlag,
}

/// A flag whose owner sets it to cancel reads; it is no count, so that all flags are equal.
#[derive(Clone, Debug, Default)]
pub struct StopFlag(Option<Arc<AtomicBool>>);

impl StopFlag {
    /// Returns the flag; `None` if nobody cancels these reads.
    pub fn get(&self) -> Option<&AtomicBool> {
        self.0.as_deref()
    }
}

impl PartialEq for StopFlag {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for StopFlag {}

/// The cost of decoding a frame.
#[derive(Clone, Copy, Debug, Default)]
pub struct FrameCost {
    /// Bytes that the decoder examined and that are not counted yet.
    pub bytes: u64,
    /// Atoms that it decoded and that are not counted yet; `None` if the frame lacks the field.
    pub atoms: Option<u64>,
}

/// The clock and counters at the beginning of a read, from which the time spent decoding is computed.
#[derive(Debug)]
pub(crate) struct DecodeTimer {
    begin: Instant,
    decode_ns: u64,
    waiting_ns: u64,
}

impl Meter {
    /// Returns a meter of reads that are cancelled when `stop` is set.
    pub fn stopped_by(stop: &Arc<AtomicBool>) -> Self {
        Meter { stop: StopFlag(Some(Arc::clone(stop))), ..Meter::default() }
    }

    /// Returns a meter at zero, of reads that are cancelled like those of this one.
    #[must_use]
    pub fn beside(&self) -> Self {
        Meter { stop: self.stop.clone(), ..Meter::default() }
    }

    /// Starts a timer of decoding; to be called before frames are read.
    pub(crate) fn start_decode_timer(&self) -> DecodeTimer {
        DecodeTimer {
            begin: Instant::now(),
            decode_ns: self.decode_ns,
            waiting_ns: self.waiting_ns(),
        }
    }

    /// Counts the time since the timer was started as decoding, except for opening files, read requests and
    /// waiting. It includes finding frames in the buffer and reordering atoms.
    pub(crate) fn stop_decode_timer(&mut self, timer: &DecodeTimer) {
        let taken = timer.begin.elapsed().as_nanos() as u64;
        let waiting = self.waiting_ns() - timer.waiting_ns;
        self.decode_ns = timer.decode_ns + taken.saturating_sub(waiting);
    }

    /// Returns the nanoseconds spent waiting for the storage or for another thread.
    fn waiting_ns(&self) -> u64 {
        self.open_ns + self.read_ns + self.wait_ns
    }

    /// Locks a mutex that another thread may hold while it opens or checks a file, and counts the time waited.
    pub fn lock<'a, T>(&mut self, what: &'a Mutex<T>) -> MutexGuard<'a, T> {
        what.try_lock().unwrap_or_else(|_| {
            let begin = Instant::now();
            let held = what.lock().unwrap_or_else(PoisonError::into_inner);
            self.wait_ns += begin.elapsed().as_nanos() as u64;
            held
        })
    }

    /// Locks a mutex that another thread may hold while it waits for remote storage, and counts the time waited.
    ///
    /// # Errors
    /// [`Error::Interrupted`] if these reads are cancelled meanwhile: the other thread may belong to another run.
    pub fn lock_or_stop<'a, T>(&mut self, what: &'a Mutex<T>) -> Result<MutexGuard<'a, T>, Error> {
        loop {
            match what.try_lock() {
                Ok(held) => return Ok(held),
                Err(TryLockError::Poisoned(poisoned)) => return Ok(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) => {}
            }
            if self.stop.get().is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                return Err(Error::Interrupted);
            }
            std::thread::sleep(LOCK_POLL);
            self.wait_ns += LOCK_POLL.as_nanos() as u64;
        }
    }

    /// Returns the bytes read under each label of a kind, at least `n_labels` of them.
    pub fn labels_of(&mut self, kind: usize, n_labels: usize) -> &mut [u64] {
        self.by_label.resize(self.by_label.len().max(kind + 1), Vec::new());
        let counted = &mut self.by_label[kind];
        counted.resize(counted.len().max(n_labels), 0);
        counted
    }

    /// Counts a decoded frame.
    pub fn count_frame(&mut self, cost: FrameCost) {
        self.frames += 1;
        self.bytes_used += cost.bytes;
        match cost.atoms {
            Some(atoms) => self.atoms_decoded += atoms,
            None => self.empty_frames += 1,
        }
    }

    /// Adds the counters of another meter.
    pub fn add(&mut self, other: &Meter) {
        self.opens += other.opens;
        self.requests += other.requests;
        self.retries += other.retries;
        self.bytes_read += other.bytes_read;
        self.bytes_used += other.bytes_used;
        self.frames += other.frames;
        self.empty_frames += other.empty_frames;
        self.atoms_decoded += other.atoms_decoded;
        for (kind, bytes) in other.by_label.iter().enumerate() {
            let counted = self.labels_of(kind, bytes.len());
            counted.iter_mut().zip(bytes).for_each(|(bytes, more)| *bytes += more);
        }
        self.open_ns += other.open_ns;
        self.read_ns += other.read_ns;
        self.decode_ns += other.decode_ns;
        self.wait_ns += other.wait_ns;
        self.transform_ns += other.transform_ns;
        self.warnings.add(&other.warnings);
    }
}
