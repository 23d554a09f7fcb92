//! Sizes of requests. Of a file, neighbouring bytes are cheap; of an object in remote storage, each request costs the
//! latency, and a byte may cost as much.

use crate::ParallelFor;
use crate::source::Source;

/// Least number of frames of an object, approximately, that are searched by a walker of its own.
const FRAMES_OF_WALKER: u64 = 4;

impl Source {
    /// Returns the largest gap between wanted ranges, in bytes, that is read along; for a file a quarter of a request.
    pub(crate) fn gap(&self, request_size: usize) -> usize {
        self.remote().map_or(request_size / 4, |remote| remote.gap() as usize)
    }

    /// Returns the bytes that several requests for parts of a frame must spare, instead of one for the whole frame; for
    /// a file as many as a request has.
    pub(crate) fn least_spared(&self, request_size: usize) -> usize {
        self.remote().map_or(request_size, |remote| remote.gap() as usize)
    }

    /// Returns the number of pieces of `bytes` of the file in which frames of about `frame` bytes are searched at the
    /// same time, each of at least `least` bytes. Walkers of an object wait for most of their time, so that each connection
    /// has one.
    pub(crate) fn pieces(
        &self,
        bytes: u64,
        frame: u64,
        least: u64,
        threads: &dyn ParallelFor,
    ) -> usize {
        let (most, least) = match self.remote() {
            Some(remote) => (remote.connections().min(threads.width()), FRAMES_OF_WALKER * frame),
            None => (threads.width(), least),
        };
        most.min((bytes / least.max(1)) as usize).max(1)
    }

    /// Returns the bytes of a request for headers that are `distance` bytes apart: 1 if each is asked for alone. `left`
    /// bytes are still to be searched; a request for all of them has `usize::MAX`, and ends where they do.
    pub(crate) fn header_request(&self, distance: u64, left: u64, request_size: usize) -> usize {
        match self.remote() {
            Some(remote) if distance <= remote.gap() => {
                let most = remote.whole_request(request_size);
                if left <= most as u64 { usize::MAX } else { most }
            }
            // Short frames are read in large requests: one request per header would cost more.
            None if distance * 16 <= request_size as u64 => request_size,
            _ => 1,
        }
    }
}
