//! What reading cost.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Most tiers whose bytes are counted apart.
pub const MOST_TIERS: usize = 8;

/// What one worker has asked of the storage and of the decoders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meter {
    /// Files opened.
    pub opens: u64,
    /// Read requests made.
    pub requests: u64,
    /// Bytes that the requests returned.
    pub bytes_read: u64,
    /// Bytes of these that were read on each tier of a store.
    pub by_tier: [u64; MOST_TIERS],
    /// The same of each part of a divided trajectory; empty where none was.
    pub by_part: Vec<u64>,
    /// Bytes that decoders looked at.
    pub bytes_used: u64,
    /// Frames decoded.
    pub frames: u64,
    /// Frames of these that had no positions (or whatever else was wanted): all NaN.
    pub empty_frames: u64,
    /// Atoms whose coordinates were decoded.
    pub atoms_decoded: u64,
    /// Nanoseconds spent in opening files again.
    pub open_ns: u64,
    /// Nanoseconds spent in read requests.
    pub read_ns: u64,
    /// Nanoseconds spent in decoding.
    pub decode_ns: u64,
    /// Nanoseconds spent in waiting for another thread that opens what is wanted, or compares it.
    pub wait_ns: u64,
}

/// What was counted, and when, as frames were asked for.
#[derive(Debug)]
pub(crate) struct Asked {
    begin: Instant,
    decode_ns: u64,
    elsewhere_ns: u64,
}

impl Meter {
    /// To be called before frames are asked for.
    pub(crate) fn asked(&self) -> Asked {
        Asked {
            begin: Instant::now(),
            decode_ns: self.decode_ns,
            elsewhere_ns: self.elsewhere_ns(),
        }
    }

    /// Counts as decoding all that was done since frames were asked for, but for openings and requests: also
    /// to find frames in the bytes at hand, and to put atoms in their order.
    pub(crate) fn got(&mut self, asked: &Asked) {
        let taken = asked.begin.elapsed().as_nanos() as u64;
        let elsewhere = self.elsewhere_ns() - asked.elsewhere_ns;
        self.decode_ns = asked.decode_ns + taken.saturating_sub(elsewhere);
    }

    /// Nanoseconds in which the storage, or another thread, was waited for.
    fn elsewhere_ns(&self) -> u64 {
        self.open_ns + self.read_ns + self.wait_ns
    }

    /// Locks what another thread may hold that opens a file or compares it: who comes later waits.
    pub(crate) fn lock<'a, T>(&mut self, what: &'a Mutex<T>) -> MutexGuard<'a, T> {
        what.try_lock().unwrap_or_else(|_| {
            let begin = Instant::now();
            let held = what.lock().unwrap_or_else(PoisonError::into_inner);
            self.wait_ns += begin.elapsed().as_nanos() as u64;
            held
        })
    }

    /// Adds another meter's counts.
    pub fn add(&mut self, other: &Meter) {
        self.opens += other.opens;
        self.requests += other.requests;
        self.bytes_read += other.bytes_read;
        self.bytes_used += other.bytes_used;
        self.frames += other.frames;
        self.empty_frames += other.empty_frames;
        self.atoms_decoded += other.atoms_decoded;
        self.by_tier.iter_mut().zip(other.by_tier).for_each(|(bytes, more)| *bytes += more);
        self.by_part.resize(self.by_part.len().max(other.by_part.len()), 0);
        self.by_part.iter_mut().zip(&other.by_part).for_each(|(bytes, more)| *bytes += more);
        self.open_ns += other.open_ns;
        self.read_ns += other.read_ns;
        self.decode_ns += other.decode_ns;
        self.wait_ns += other.wait_ns;
    }
}
