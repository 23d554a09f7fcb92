//! The content of compressed files, as if it were that of files.
//!
//! A position in the content is reached by uncompressing what comes before it, from the beginning of a stream on. The
//! first pass over a file, which finds its frames, records where streams begin, and the size of the content; sidecars
//! keep both. Cursors stay where a read has ended, one for each thread that reads, so that frames that are read in
//! order are uncompressed once.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use trajet_formats::compression::{Compression, Decompressor, INPUT_BYTES, Step, max_content};
use trajet_formats::memory;

use crate::{Error, Meter};

/// Bytes of the file that are read at a time; an object in remote storage is read in larger requests.
const REQUEST: usize = 256 << 10;
const _: () = assert!(REQUEST >= INPUT_BYTES);
const REMOTE_REQUEST: usize = 1 << 20;
/// Bytes of content between recorded streams, at least.
const STREAM_DISTANCE: u64 = 64 << 10;
/// Bytes of content that are skipped at a time.
const SKIP: usize = 64 << 10;
/// Cursors that are kept for further reads, at least; with more threads, one for each.
const MIN_IDLE: usize = 8;

/// Where streams begin, and the size of the content.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Layout {
    /// Byte of the file and byte of the content, ascending. The first stream, at 0 in both, is not listed.
    pub(crate) streams: Vec<(u64, u64)>,
    /// Bytes of content.
    pub(crate) size: u64,
    /// Whether the file ends inside a stream.
    pub(crate) is_cut: bool,
}

impl Layout {
    /// Returns whether the layout may be that of a file of `stored` bytes.
    pub(crate) fn is_valid(&self, stored: u64) -> bool {
        let ends = std::iter::once(&(0, 0)).chain(&self.streams);
        let ascends =
            ends.zip(&self.streams).all(|(last, next)| last.0 < next.0 && last.1 < next.1);
        let last = self.streams.last().unwrap_or(&(0, 0));
        ascends && last.0 < stored && last.1 <= self.size
    }
}

/// The bytes of a file as they are stored.
pub(crate) trait StoredBytes {
    fn path(&self) -> &Path;

    /// Returns whether the file is in remote storage.
    fn is_remote(&self) -> bool;

    /// Returns the size of the file, in bytes, when it was opened.
    fn stored_size(&self) -> u64;

    /// Fills `buffer` with the bytes of the file from `offset` on, in one request.
    ///
    /// # Errors
    /// Those of [`read_at`](crate::source::Source::read_at), but for [`Error::Compressed`].
    fn read_stored(&self, offset: u64, buffer: &mut [u8], meter: &mut Meter) -> Result<(), Error>;
}

/// The content of a compressed file.
#[derive(Debug)]
pub(crate) struct Compressed {
    pub(crate) compression: Compression,
    found: Mutex<Found>,
    idle: Mutex<Vec<Cursor>>,
}

/// The layout as far as it is known.
#[derive(Debug, Default)]
struct Found {
    layout: Layout,
    is_complete: bool,
}

/// A position in the content.
#[derive(Debug)]
struct Cursor {
    decompressor: Decompressor,
    /// Byte of the content.
    at: u64,
    /// Bytes of the file in memory, which end at byte `end` of it; the first `used` are uncompressed.
    input: Vec<u8>,
    used: usize,
    end: u64,
}

impl Cursor {
    /// Returns the byte of the file that is uncompressed next.
    fn stored_at(&self) -> u64 {
        self.end - (self.input.len() - self.used) as u64
    }

    /// Reads further bytes of the file; returns whether there were any.
    fn refill(&mut self, source: &dyn StoredBytes, meter: &mut Meter) -> Result<bool, Error> {
        let request = if source.is_remote() { REMOTE_REQUEST } else { REQUEST };
        let n = (source.stored_size() - self.end).min(request as u64) as usize;
        if n == 0 {
            return Ok(false);
        }
        self.input.drain(..self.used);
        self.used = 0;
        let kept = self.input.len();
        memory::resize(&mut self.input, kept + n, 0, "the bytes of a request")?;
        source.read_stored(self.end, &mut self.input[kept..], meter)?;
        self.end += n as u64;
        Ok(true)
    }
}

impl Compressed {
    pub(crate) fn new(compression: Compression) -> Self {
        Compressed { compression, found: Mutex::default(), idle: Mutex::default() }
    }

    fn found(&self) -> MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the layout; `None` until the content was read to its end.
    pub(crate) fn layout(&self) -> Option<Layout> {
        let found = self.found();
        found.is_complete.then(|| found.layout.clone())
    }

    /// Sets the layout, which an earlier pass over the file has found.
    pub(crate) fn set_layout(&self, layout: Layout) {
        *self.found() = Found { layout, is_complete: true };
    }

    /// Returns the bytes of content; `None` until it was read to its end.
    pub(crate) fn size(&self) -> Option<u64> {
        let found = self.found();
        found.is_complete.then_some(found.layout.size)
    }

    /// Returns whether the file ends inside a stream.
    pub(crate) fn is_cut(&self) -> bool {
        self.found().layout.is_cut
    }

    /// Fills `buffer` with the content from `offset` on; returns the number of bytes, fewer only at its end.
    ///
    /// # Errors
    /// [`Error::Compressed`], [`Error::Interrupted`]; as [`StoredBytes::read_stored`].
    pub(crate) fn read(
        &self,
        source: &dyn StoredBytes,
        offset: u64,
        buffer: &mut [u8],
        meter: &mut Meter,
    ) -> Result<usize, Error> {
        let mut cursor = self.cursor(offset);
        let mut skipped = Vec::new();
        while cursor.at < offset {
            if meter.stop.get().is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                return Err(Error::Interrupted);
            }
            let n = (offset - cursor.at).min(SKIP as u64) as usize;
            skipped.resize(n, 0);
            if self.advance(source, &mut cursor, &mut skipped, meter)? < n {
                return Ok(0);
            }
        }
        let n = self.advance(source, &mut cursor, buffer, meter)?;
        let most = std::thread::available_parallelism().map_or(1, usize::from).max(MIN_IDLE);
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() >= most {
            idle.remove(0);
        }
        idle.push(cursor);
        Ok(n)
    }

    /// Returns the cursor that is nearest before `offset`, or a new one if a stream begins nearer.
    fn cursor(&self, offset: u64) -> Cursor {
        let stream = {
            let found = self.found();
            let n = found.layout.streams.partition_point(|&(_, content)| content <= offset);
            n.checked_sub(1).map_or((0, 0), |last| found.layout.streams[last])
        };
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let near = idle.iter().enumerate().filter(|(_, cursor)| cursor.at <= offset);
        match near.max_by_key(|(_, cursor)| cursor.at).map(|(k, cursor)| (k, cursor.at)) {
            Some((k, at)) if at >= stream.1 => idle.remove(k),
            _ => Cursor {
                decompressor: Decompressor::new(self.compression),
                at: stream.1,
                input: Vec::new(),
                used: 0,
                end: stream.0,
            },
        }
    }

    /// Fills `buffer` with the content that follows a cursor, and moves it; returns the number of bytes.
    fn advance(
        &self,
        source: &dyn StoredBytes,
        cursor: &mut Cursor,
        buffer: &mut [u8],
        meter: &mut Meter,
    ) -> Result<usize, Error> {
        let mut filled = 0;
        while filled < buffer.len() {
            let input = &cursor.input[cursor.used..];
            let step = cursor.decompressor.step(input, &mut buffer[filled..]);
            let damaged = |why| self.damaged(source, cursor.stored_at(), why);
            let step = step.map_err(damaged)?;
            let Step { taken, given, is_end } = step;
            cursor.used += taken;
            cursor.at += given as u64;
            filled += given;
            if cursor.at > max_content(source.stored_size()) {
                let why = "its content is larger than 1 GiB and than 100 times the file: uncompress it yourself if that \
                           is right";
                return Err(self.damaged(source, cursor.stored_at(), why.to_owned()));
            }
            if is_end {
                self.record_stream(cursor.stored_at(), cursor.at);
            }
            if step == Step::default() && !cursor.refill(source, meter)? {
                let left = cursor.input.len() - cursor.used;
                self.record_end(cursor.at, left > 0 || !cursor.decompressor.is_between_streams());
                break;
            }
        }
        Ok(filled)
    }

    /// Records that a stream begins, if content follows.
    fn record_stream(&self, stored: u64, content: u64) {
        let mut found = self.found();
        let last = found.layout.streams.last().map_or(0, |last| last.1);
        if !found.is_complete && content >= last + STREAM_DISTANCE {
            found.layout.streams.push((stored, content));
        }
    }

    fn record_end(&self, size: u64, is_cut: bool) {
        let mut found = self.found();
        if !found.is_complete {
            found.layout.streams.retain(|&(_, content)| content < size);
            found.layout.size = size;
            found.layout.is_cut = is_cut;
            found.is_complete = true;
        }
    }

    fn damaged(&self, source: &dyn StoredBytes, at: u64, why: String) -> Error {
        let (path, compression) = (source.path().to_owned(), self.compression.name());
        Error::Compressed { path, compression, at, why }
    }
}

#[cfg(test)]
mod tests;
