//! Objects in remote storage, of which ranges of bytes are read.
//!
//! [`Remote`] adds to [`RangeBytes`] what all readers need: both ends of the object are kept in memory after they were
//! read once, and the latency and the rate of earlier requests decide which gaps between wanted ranges are read along.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use trajet_formats::memory;

use crate::range_bytes::{RangeBytes, RemoteFault};
use crate::{Error, Meter};

/// Default number of requests that wait at the same time.
pub const DEFAULT_CONNECTIONS: usize = 32;

/// Bytes at either end of an object that are read in one request and kept: headers and stamps lie there.
const END_BYTES: u64 = 64 << 10;
/// Shortest request, in bytes, whose duration shows the rate of a connection.
const RATE_BYTES: usize = 32 << 10;
/// Rate of all connections together, in bytes per second, that is assumed until one was measured.
const ASSUMED_RATE: u64 = 100_000_000;
/// Largest gap between wanted ranges, in bytes, that is read along.
const MAX_GAP: u64 = 8 << 20;
/// Largest measured gap times the number of connections. On a fast network reading along would spare time, but traffic
/// is charged and shared.
const MAX_MEASURED: u64 = 4 << 20;
/// Bytes of a request where everything is read, at least.
const WHOLE_REQUEST: usize = 1 << 20;

/// The objects among the files of a trajectory, and how they are read.
#[derive(Clone, Debug)]
pub struct RemoteOptions {
    /// Objects by the names under which they are opened.
    pub objects: Arc<HashMap<PathBuf, Arc<dyn RangeBytes>>>,
    /// Number of requests that wait at the same time.
    pub connections: usize,
    /// Largest gap between wanted ranges that is read along, in bytes; `None` measures it.
    pub merge_gap: Option<u64>,
    /// Whether secrets are sent to worker processes, which must be on this machine then.
    pub worker_secrets: bool,
}

impl Default for RemoteOptions {
    fn default() -> Self {
        let (connections, merge_gap) = (DEFAULT_CONNECTIONS, None);
        RemoteOptions { objects: Arc::default(), connections, merge_gap, worker_secrets: false }
    }
}

impl RemoteOptions {
    /// Returns the object that is opened under this name; `None` for a file.
    pub(crate) fn find(&self, path: &Path) -> Option<Remote> {
        let object = Arc::clone(self.objects.get(path)?);
        Some(Remote::new(object, self.connections, self.merge_gap))
    }
}

/// An open object.
#[derive(Debug)]
pub struct Remote {
    object: Arc<dyn RangeBytes>,
    connections: usize,
    merge_gap: Option<u64>,
    /// The first and the last bytes, once they were read.
    ends: [OnceLock<Vec<u8>>; 2],
    /// Locked by the thread that reads an end.
    reading: Mutex<()>,
    pace: Pace,
}

/// Duration of requests so far.
#[derive(Debug, Default)]
struct Pace {
    /// Shortest request, nanoseconds; 0 if there was none.
    latency_ns: AtomicU64,
    /// Rate of one connection while at least half of the others are busy as well, bytes per second; 0 if it is unknown.
    rate: AtomicU64,
    /// Requests that wait now.
    waiting: AtomicUsize,
}

impl Pace {
    /// Counts a request of `n` bytes. `is_busy` says whether so many others waited at the same time that they shared the
    /// bandwidth as they would during a run.
    fn add(&self, n: usize, taken: Duration, is_busy: bool) {
        let taken = (taken.as_nanos() as u64).max(1);
        let latency = match self.latency_ns.load(Ordering::Relaxed) {
            0 => taken,
            known => known.min(taken),
        };
        self.latency_ns.store(latency, Ordering::Relaxed);
        if n >= RATE_BYTES && is_busy {
            let moving = taken.saturating_sub(latency).max(taken / 8);
            let rate = (n as f64 * 1e9 / moving as f64) as u64;
            let rate = match self.rate.load(Ordering::Relaxed) {
                0 => rate,
                known => known - known / 4 + rate / 4,
            };
            self.rate.store(rate.max(1), Ordering::Relaxed);
        }
    }

    /// Returns the bytes that one of `connections` transfers while another waits for an answer: the rate of all
    /// connections, times the latency, divided by their number.
    fn gap(&self, connections: usize) -> u64 {
        let latency = self.latency_ns.load(Ordering::Relaxed);
        let rate = match self.rate.load(Ordering::Relaxed) {
            0 => ASSUMED_RATE / connections.max(1) as u64,
            known => known,
        };
        let most = MAX_MEASURED / connections.max(1) as u64;
        ((rate as f64 * latency as f64 * 1e-9) as u64).min(most)
    }
}

impl Remote {
    /// Returns an object that nothing was read of.
    pub(crate) fn new(
        object: Arc<dyn RangeBytes>,
        connections: usize,
        merge_gap: Option<u64>,
    ) -> Remote {
        let (ends, reading, pace) = Default::default();
        Remote { object, connections, merge_gap, ends, reading, pace }
    }

    /// Returns the number of requests that wait at the same time.
    pub(crate) fn connections(&self) -> usize {
        self.connections
    }

    /// Returns the object.
    pub(crate) fn object(&self) -> &Arc<dyn RangeBytes> {
        &self.object
    }

    /// Returns the largest gap between wanted ranges, in bytes, that is read along: its transfer takes no longer than
    /// another request.
    pub(crate) fn gap(&self) -> u64 {
        self.merge_gap.unwrap_or_else(|| self.pace.gap(self.connections)).min(MAX_GAP)
    }

    /// Returns the bytes of a request where everything is read.
    pub(crate) fn whole_request(&self, request_size: usize) -> usize {
        request_size.max(WHOLE_REQUEST)
    }

    /// Returns the bytes of the index that is published beside the object, at most `most` of them; `None` if there is
    /// none, or if both ends, which are in memory, are the whole object.
    ///
    /// # Errors
    /// As [`RangeBytes::published_index`].
    pub(crate) fn published_index(
        &self,
        most: u64,
        meter: &mut Meter,
    ) -> Result<Option<Vec<u8>>, RemoteFault> {
        if self.object.len() <= 2 * END_BYTES {
            return Ok(None);
        }
        let begin = Instant::now();
        let found = self.object.published_index(most, meter.stop.get());
        meter.read_ns += begin.elapsed().as_nanos() as u64;
        meter.requests += 1;
        if let Ok(Some(bytes)) = &found {
            meter.bytes_read += bytes.len() as u64;
        }
        found
    }

    /// Fills `buffer` with the bytes from `offset` on, from memory if they lie at an end that was read.
    ///
    /// # Errors
    /// [`Error::Changed`] if the object was replaced; [`Error::Remote`]; [`Error::Interrupted`]; [`Error::Io`].
    pub(crate) fn read_at(
        &self,
        path: &Path,
        offset: u64,
        buffer: &mut [u8],
        meter: &mut Meter,
    ) -> Result<(), Error> {
        let (size, to) = (self.object.len(), offset.checked_add(buffer.len() as u64));
        let Some(to) = to.filter(|&to| to <= size) else {
            let why = format!(
                "bytes {offset} to {} were asked for, it has {size}",
                offset.saturating_add(buffer.len() as u64)
            );
            return Err(Error::Remote { path: path.to_owned(), why });
        };
        // Servers refuse requests for no bytes.
        if buffer.is_empty() {
            return Ok(());
        }
        let n = END_BYTES.min(size);
        for (end, begin) in self.ends.iter().zip([0, size - n]) {
            if offset < begin || to > begin + n {
                continue;
            }
            if end.get().is_none() {
                let _reading = meter.lock_or_stop(&self.reading)?;
                if end.get().is_none() {
                    let mut bytes = Vec::new();
                    memory::resize(&mut bytes, n as usize, 0, "the ends of an object")?;
                    self.request(path, begin, &mut bytes, meter)?;
                    // The lock excludes that another thread set it.
                    let _ = end.set(bytes);
                }
            }
            let from = (offset - begin) as usize;
            let bytes = end.get().expect("it was read");
            buffer.copy_from_slice(&bytes[from..from + buffer.len()]);
            return Ok(());
        }
        self.request(path, offset, buffer, meter)
    }

    /// Makes a request, and counts it.
    fn request(
        &self,
        path: &Path,
        offset: u64,
        buffer: &mut [u8],
        meter: &mut Meter,
    ) -> Result<(), Error> {
        let waiting = &self.pace.waiting;
        let at_begin = waiting.fetch_add(1, Ordering::Relaxed) + 1;
        let begin = Instant::now();
        let read = self.object.read(offset, buffer, meter.stop.get());
        let taken = begin.elapsed();
        let at_end = waiting.fetch_sub(1, Ordering::Relaxed);
        meter.read_ns += taken.as_nanos() as u64;
        meter.requests += 1;
        let retries = read.map_err(|fault| Error::of_remote(path, fault))?;
        meter.retries += retries;
        meter.requests += retries;
        meter.bytes_read += buffer.len() as u64;
        let is_held = offset + buffer.len() as u64 <= self.object.n_held();
        if retries == 0 && !is_held {
            let is_busy = 2 * at_begin.max(at_end) >= self.connections;
            self.pace.add(buffer.len(), taken, is_busy);
        }
        Ok(())
    }
}

/// Bytes that were enough to decode the atoms up to a certain one, in any thread: only the first frames need a guess.
#[derive(Debug, Default)]
pub(crate) struct EnoughBytes(Mutex<HashMap<usize, usize>>);

impl EnoughBytes {
    /// Returns the bytes of a frame that are probably enough for its first `n_atoms` atoms of `n_total`: those of the
    /// frames before, or more than their share of the `len` bytes.
    pub(crate) fn guess(&self, n_atoms: usize, n_total: usize, len: usize) -> usize {
        let known = self.0.lock().ok().and_then(|known| known.get(&n_atoms).copied());
        known.unwrap_or_else(|| {
            // Proteins, which come first in most files, take more bytes per atom than water.
            let share = n_atoms as f64 / n_total.max(1) as f64;
            (share * 1.6 * len as f64) as usize + 512
        })
    }

    /// Records how many bytes were enough. The largest number counts, and is forgotten slowly.
    pub(crate) fn record(&self, n_atoms: usize, enough: usize) {
        if let Ok(mut known) = self.0.lock() {
            let kept = known.entry(n_atoms).or_insert(enough);
            *kept = enough.max(*kept - *kept / 64);
        }
    }
}

#[cfg(test)]
mod tests;
