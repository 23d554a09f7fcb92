//! Reads files whose frames are lines of text, of any such format.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use trajet_formats::lines::{
    DecodedFrame, FoundFrame, FrameScan, LINE_BYTES, LineFormat, ScanEnd, ScannedLine,
};
use trajet_formats::text::find_newline;
use trajet_formats::{Fault, Field, FrameInfo, Raw, memory};

use crate::indexed::Indexed;
use crate::opener::KnownFile;
use crate::reader::{self, Wanted, WorkerFile};
use crate::sidecar::{Finder, Found, find};
use crate::source::Source;
use crate::{
    Error, FrameIndex, Frames, IndexState, Meter, OpenOptions, Opening, ParallelFor, Scratch, Watch,
};

/// An open file whose frames are lines of text.
pub struct Reader<F: LineFormat> {
    file: Indexed,
    shared: Arc<F::Shared>,
}

impl<F: LineFormat> Reader<F> {
    /// Opens a file and indexes its frames, from the sidecar if that is valid.
    ///
    /// # Errors
    /// [`Error::Truncated`], [`Error::Corrupt`], [`Error::AtomCount`], [`Error::Io`].
    pub fn open(
        source: Source,
        options: &OpenOptions,
        mut opening: Opening,
    ) -> Result<Reader<F>, Error> {
        let begin = Instant::now();
        let found = frames_of::<F>(&source, options, &mut opening.meter)?;
        let first = first_frame(&source, &found.index, &mut opening.meter)?;
        let shared = F::shared(&first);
        drop(first);
        let file = Indexed::new(source, found, options, opening, begin)?;
        let shared = shared.map_err(|fault| file.corrupt(0, fault))?.into();
        Ok(Reader { file, shared })
    }

    /// Creates the reader of a file that another process has opened.
    ///
    /// # Errors
    /// [`Error::UnknownFormat`] if its data is not that of [`reader::Reader::for_worker`].
    pub(crate) fn known(
        file: KnownFile<'_>,
        index: FrameIndex,
        options: &OpenOptions,
    ) -> Result<Reader<F>, Error> {
        let Ok(shared) = postcard::from_bytes(file.data) else {
            let path = file.source.path().to_owned();
            let looks_like = format!("it was opened as {} elsewhere", F::FORMAT.name());
            return Err(Error::UnknownFormat { path, looks_like });
        };
        Ok(Reader { file: file.indexed(index, options), shared: Arc::new(shared) })
    }

    /// Returns the number of atoms, the time and the step of a decoded frame, after comparing them with the index.
    fn info(&self, frame: u64, decoded: &DecodedFrame) -> Result<FrameInfo, Error> {
        let (time, step) = self.file.index.when(frame);
        let same = decoded.n_atoms == self.file.index.n_atoms()
            && decoded.time.is_none_or(|found| found.to_bits() == time.to_bits())
            && decoded.step.is_none_or(|found| found == step);
        if !same {
            let path = self.file.source.path().to_owned();
            return Err(Error::Stale { path, frame, offset: self.file.index.offset(frame) });
        }
        let (cell, turned) = decoded.given_box;
        Ok(FrameInfo { time, step, cell, turned })
    }
}

impl<F: LineFormat> reader::Reader for Reader<F> {
    fn format(&self) -> &'static str {
        F::FORMAT.name()
    }

    fn file(&self) -> &Indexed {
        &self.file
    }

    fn read_frame(
        &self,
        &Wanted { frames, atoms, field }: &Wanted<'_>,
        at: usize,
        scratch: &mut Scratch,
        out: &mut [f32],
    ) -> Result<FrameInfo, Error> {
        if !F::FIELDS.contains(&field) {
            return Err(self.file.no_field(F::FORMAT.name(), field));
        }
        let frame = frames.get(at);
        let bytes = self.file.whole(frames, at, scratch)?;
        let n_bytes = bytes.len() as u64;
        let begin = Instant::now();
        let out = out.as_chunks_mut::<3>().0;
        let decoded = F::decode(bytes, &self.shared, field, atoms.sorted(), out)
            .map_err(|fault| self.file.corrupt(frame, fault))?;
        let info = self.info(frame, &decoded)?;
        let meter = &mut scratch.meter;
        meter.decode_ns += begin.elapsed().as_nanos() as u64;
        meter.bytes_used += n_bytes;
        meter.frames += 1;
        match decoded.has_field {
            true => meter.atoms_decoded += out.len() as u64,
            false => meter.empty_frames += 1,
        }
        Ok(info)
    }

    fn whole_raw(&self, frames: &Frames, at: usize, scratch: &mut Scratch) -> Result<Raw, Error> {
        let frame = frames.get(at);
        let bytes = self.file.whole(frames, at, scratch)?;
        let n_bytes = bytes.len() as u64;
        let corrupt = |fault| self.file.corrupt(frame, fault);
        let decoded = F::decode(bytes, &self.shared, Field::Positions, Some(&[]), &mut []);
        let info = self.info(frame, &decoded.map_err(corrupt)?)?;
        let n_atoms = self.file.index.n_atoms();
        let raw = F::raw(bytes, &self.shared, n_atoms, info.time, info.step).map_err(corrupt)?;
        scratch.meter.bytes_used += n_bytes;
        Ok(raw)
    }

    fn for_worker(&self, _: &trajet_formats::Atoms) -> Result<WorkerFile, Error> {
        Ok(WorkerFile::new(F::FORMAT.name(), &*self.shared))
    }

    fn as_reindex(&self) -> Option<&dyn reader::Reindex> {
        Some(self)
    }

    fn as_partial_index(&self) -> Option<&dyn reader::PartialIndex> {
        Some(self)
    }
}

impl<F: LineFormat> reader::Reindex for Reader<F> {
    fn indexed_again(&self, _: &dyn ParallelFor, watch: &Arc<Watch>) -> Result<FrameIndex, Error> {
        let (request_size, watch) = (self.file.request_size, Arc::clone(watch));
        let options = &OpenOptions { request_size, watch, ..OpenOptions::default() };
        Lines::<F>::of(&self.file.source, options).build(None, &mut Meter::default())
    }
}

impl<F: LineFormat> reader::PartialIndex for Reader<F> {
    fn with_index(&self, index: FrameIndex) -> Arc<dyn reader::Reader> {
        let (file, shared) = (self.file.with_index(index), Arc::clone(&self.shared));
        Arc::new(Reader::<F> { file, shared })
    }
}

/// Returns the index of an open file, from its sidecar or by a scan. The file must end with a whole frame unless the
/// options allow a truncated tail.
fn frames_of<F: LineFormat>(
    source: &Source,
    options: &OpenOptions,
    meter: &mut Meter,
) -> Result<Found, Error> {
    let mut found = find(&Lines::<F>::of(source, options), source, options, meter)?;
    let is_cut = source.size() > found.index.end();
    if is_cut && found.state == IndexState::Loaded {
        // Only a scan knows how the file goes on.
        let options = OpenOptions { rebuild_index: true, ..options.clone() };
        found = find(&Lines::<F>::of(source, &options), source, &options, meter)?;
    }
    let end = found.index.end();
    if source.size() > end && !options.allow_truncated_tail {
        let lacks = found.index.extent(0).end.saturating_sub(source.size() - end);
        return Err(truncated(source, found.index.n_frames() as u64, end, lacks));
    }
    Ok(found)
}

/// Returns the error for a file that ends inside a frame and lacks so many bytes, at least one.
fn truncated(source: &Source, frame: u64, offset: u64, lacks: u64) -> Error {
    let left = source.size() - offset;
    let needed = left.saturating_add(lacks.max(1));
    Error::Truncated { path: source.path().to_owned(), frame, offset, needed, left }
}

/// Returns the bytes of frame 0.
fn first_frame(source: &Source, index: &FrameIndex, meter: &mut Meter) -> Result<Vec<u8>, Error> {
    let Range { start, end } = index.extent(0);
    let mut bytes = Vec::new();
    memory::resize(&mut bytes, (end - start) as usize, 0, "the bytes of a frame")?;
    source.read_at(start, &mut bytes, meter)?;
    Ok(bytes)
}

/// The lines of a file, in which frames are found.
struct Lines<'a, F> {
    source: &'a Source,
    options: &'a OpenOptions,
    format: std::marker::PhantomData<F>,
}

impl<F: LineFormat> Finder for Lines<'_, F> {
    const FORMAT: [u8; 4] = F::SIDECAR;
    const SHORTEST_FRAME: u64 = F::SHORTEST_FRAME;

    /// Frames begin behind the end of a line; each is compared with the index when it is read.
    fn agrees(&self, index: &FrameIndex, meter: &mut Meter) -> Result<bool, Error> {
        if index.offset(0) != 0 || index.end() > self.source.size() {
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
        let Some(base) = base.filter(|base| base.n_frames() > 1) else {
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

impl<'a, F: LineFormat> Lines<'a, F> {
    fn of(source: &'a Source, options: &'a OpenOptions) -> Self {
        Lines { source, options, format: std::marker::PhantomData }
    }

    fn corrupt(&self, frame: u64, offset: u64, fault: Fault) -> Error {
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
        const LEAST_REQUEST: usize = 4096;
        let size = self.source.size();
        let mut buffer = Vec::new();
        let request = self.options.request_size.max(LEAST_REQUEST) as u64;
        let request = request.min(size - start) as usize;
        memory::resize(&mut buffer, request, 0, "the bytes of a request")?;
        // The beginning of a line that continues in the next request.
        let mut carried: Vec<u8> = Vec::new();
        let (mut at, mut line_start) = (start, start);
        while at < size {
            if self.options.watch.stop.load(Ordering::Relaxed) {
                return Err(Error::Interrupted);
            }
            let n = (size - at).min(buffer.len() as u64) as usize;
            self.source.read_at(at, &mut buffer[..n], meter)?;
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
            self.options.watch.bytes.fetch_add(n as u64, Ordering::Relaxed);
        }
        if line_start < size {
            let text = trimmed(&carried);
            let line = ScannedLine { start: line_start, end: size, text, is_ended: false };
            self.take(&mut scan, &line, &mut index)?;
        }
        let (frame, offset) = (index.n_frames() as u64, index.end());
        let end = scan.finish(size).map_err(|fault| self.corrupt(frame, offset, fault))?;
        let ScanEnd { last, cut } = end;
        if let Some(last) = last {
            self.push(&last, &mut index)?;
        }
        match cut {
            Some((offset, lacks)) if index.n_frames() == 0 => {
                Err(truncated(self.source, 0, offset, lacks))
            }
            _ => Ok(index),
        }
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
