//! Finds the frames of files whose frames are lines of text, by one scan over all lines.

use std::marker::PhantomData;
use std::sync::atomic::Ordering;

use trajet_formats::lines::{FoundFrame, FrameScan, LINE_BYTES, LineFormat, ScanEnd, ScannedLine};
use trajet_formats::text::find_newline;
use trajet_formats::{DecodeError, memory};

use crate::indexing::{Indexing, Search};
use crate::sidecar::Finder;
use crate::source::Source;
use crate::whole_frames::first_frame;
use crate::{Error, FrameIndex, Meter, OpenOptions, ParallelFor};

/// Returns the error for a file that ends inside a frame, of which `lacks` bytes are missing, at least one.
fn truncated(source: &Source, frame: u64, offset: u64, lacks: u64) -> Error {
    let left = source.size() - offset;
    let needed = left.saturating_add(lacks.max(1));
    Error::Truncated { path: source.path().to_owned(), frame, offset, needed, left }
}

/// Finds frames line by line.
pub(crate) struct ByLines<F>(PhantomData<F>);

impl<F: LineFormat> Indexing for ByLines<F> {
    type Search<'a> = Lines<'a, F>;

    fn search<'a>(
        source: &'a Source,
        options: &'a OpenOptions,
        _: &'a dyn ParallelFor,
    ) -> Lines<'a, F> {
        Lines { source, options, format: PhantomData }
    }
}

/// The lines of a file, in which frames are found.
pub(crate) struct Lines<'a, F> {
    source: &'a Source,
    options: &'a OpenOptions,
    format: PhantomData<F>,
}

impl<F: LineFormat> Finder for Lines<'_, F> {
    const SIDECAR: [u8; 4] = F::SIDECAR;
    const SHORTEST_FRAME: u64 = F::SHORTEST_FRAME;

    /// Frames begin behind the end of a line; each is compared with the index when it is read.
    fn agrees(&self, index: &FrameIndex, meter: &mut Meter) -> Result<bool, Error> {
        if index.offset(0) != 0 || index.end() > self.source.size() {
            return Ok(false);
        }
        // Frames have equal numbers of lines: a long one may hold others that the index leaves out.
        if self.source.remote().is_some() && !index.long_frames(1).is_empty() {
            return Ok(false);
        }
        let last = index.offset(index.n_frames() as u64 - 1);
        let mut before = [b'\n'];
        if last > 0 {
            self.source.read_at(last - 1, &mut before, meter)?;
        }
        Ok(before == [b'\n'])
    }

    fn build(&self, base: Option<FrameIndex>, meter: &mut Meter) -> Result<FrameIndex, Error> {
        let base = base.filter(|base| base.n_frames() > 1 && !self.source.is_compressed());
        let Some(base) = base else {
            return self.scan(F::Scan::new(), FrameIndex::default(), 0, meter);
        };
        // Lines that follow may belong to the last frame.
        let last = base.n_frames() - 1;
        let start = base.offset(last as u64);
        let first = first_frame(self.source, &base, meter)?;
        let fault = |fault| self.corrupt(0, 0, fault);
        let scan = F::Scan::resumed(&first, last as u64, start).map_err(fault)?;
        let column = base.offsets()[..last].to_vec();
        let (times, steps) = (base.times()[..last].to_vec(), base.steps()[..last].to_vec());
        let index = FrameIndex::from_columns(base.n_atoms(), (column, start), times, steps);
        self.scan(scan, index, start, meter)
    }
}

impl<F: LineFormat> Search for Lines<'_, F> {
    /// Returns whether the index ends with the file: only a scan can tell how a file continues.
    fn has_all(&self, index: &FrameIndex, _: &mut Meter) -> bool {
        self.source.size() == index.end()
    }

    fn cut(&self, index: &FrameIndex, _: &mut Meter) -> Result<Error, Error> {
        let (size, end) = (self.source.size(), index.end());
        let lacks = index.extent(0).end.saturating_sub(size - end);
        Ok(truncated(self.source, index.n_frames() as u64, end, lacks))
    }
}

impl<F: LineFormat> Lines<'_, F> {
    fn corrupt(&self, frame: u64, offset: u64, fault: DecodeError) -> Error {
        Error::of_frame(self.source.path(), frame, offset, fault)
    }

    /// Adds the frames from byte `start` on to `index`.
    fn scan(
        &self,
        mut scan: F::Scan,
        mut index: FrameIndex,
        start: u64,
        meter: &mut Meter,
    ) -> Result<FrameIndex, Error> {
        /// Long enough for one request to take longer than its overhead.
        const MIN_REQUEST: usize = 4096;
        let mut buffer = Vec::new();
        let request = self.options.request_size.max(MIN_REQUEST) as u64;
        let request = request.min(self.source.size() - start) as usize;
        memory::resize(&mut buffer, request, 0, "the bytes of a request")?;
        // The beginning of a line that continues in the next request.
        let mut carried: Vec<u8> = Vec::new();
        let (mut at, mut line_start) = (start, start);
        loop {
            if self.options.watch.stop.load(Ordering::Relaxed) {
                return Err(Error::Interrupted);
            }
            let stored = meter.bytes_read;
            let read = self.source.read_up_to(at, &mut buffer, meter);
            let n = read.map_err(|error| self.in_frame(&index, error))?;
            let stored = meter.bytes_read - stored;
            self.options.watch.bytes.fetch_add(stored, Ordering::Relaxed);
            if n == 0 {
                break;
            }
            let mut rest = &buffer[..n];
            while let Some(place) = find_newline(rest) {
                let end = at + (n - rest.len() + place + 1) as u64;
                let (text, behind) = (&rest[..place], &rest[place + 1..]);
                let text = match carried.is_empty() {
                    true => &text[..text.len().min(LINE_BYTES)],
                    false => carry(&mut carried, text),
                };
                let line =
                    ScannedLine { start: line_start, end, text: trimmed(text), is_ended: true };
                self.take(&mut scan, &line, &mut index)?;
                carried.clear();
                (line_start, rest) = (end, behind);
            }
            carry(&mut carried, rest);
            at += n as u64;
        }
        let size = at;
        if line_start < size {
            let text = trimmed(&carried);
            let line = ScannedLine { start: line_start, end: size, text, is_ended: false };
            self.take(&mut scan, &line, &mut index)?;
        }
        let (frame, offset) = (index.n_frames() as u64, index.end());
        let end = scan.finish(size).map_err(|fault| self.corrupt(frame, offset, fault))?;
        let ScanEnd { last, cut, is_blank } = end;
        if let Some(last) = last {
            self.push(&last, &mut index)?;
        }
        if is_blank {
            index.extend_to(size);
        }
        match cut {
            Some((offset, lacks)) if index.n_frames() == 0 => {
                Err(truncated(self.source, 0, offset, lacks))
            }
            _ => Ok(index),
        }
    }

    /// Returns the error for compressed bytes that cannot be uncompressed, with the frame that they belong to.
    fn in_frame(&self, index: &FrameIndex, error: Error) -> Error {
        let Error::Compressed { compression, at, why, .. } = error else { return error };
        let words = format!("{compression} file, at byte {at} of it: {why}");
        self.corrupt(index.n_frames() as u64, index.end(), DecodeError::Malformed(words))
    }

    fn take(
        &self,
        scan: &mut F::Scan,
        line: &ScannedLine<'_>,
        index: &mut FrameIndex,
    ) -> Result<(), Error> {
        match scan.line(line) {
            Ok(None) => Ok(()),
            Ok(Some(found)) => self.push(&found, index),
            Err(fault) => Err(self.corrupt(index.n_frames() as u64, index.end(), fault)),
        }
    }

    fn push(&self, found: &FoundFrame, index: &mut FrameIndex) -> Result<(), Error> {
        let FoundFrame { start, end, n_atoms, time, step } = *found;
        if index.n_frames() == 0 {
            *index = FrameIndex::new(n_atoms);
        }
        if n_atoms != index.n_atoms() {
            let (path, frame) = (self.source.path().to_owned(), index.n_frames() as u64);
            let expected = index.n_atoms();
            return Err(Error::AtomCount { path, frame, offset: start, expected, found: n_atoms });
        }
        index.reserve(1)?;
        index.push(start, end, time, step);
        Ok(())
    }
}

/// Adds the beginning of a text to that of its line, and returns both.
fn carry<'a>(carried: &'a mut Vec<u8>, text: &[u8]) -> &'a [u8] {
    let room = LINE_BYTES.saturating_sub(carried.len());
    carried.extend_from_slice(&text[..text.len().min(room)]);
    carried
}

/// Returns a line without the `\r` before its end.
fn trimmed(text: &[u8]) -> &[u8] {
    text.strip_suffix(b"\r").unwrap_or(text)
}
