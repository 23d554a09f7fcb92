//! Reads NetCDF files.

use std::ops::Range;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

use trajet_formats::codec::Mark;
use trajet_formats::ncdf::classic::RECORDS_AT;
use trajet_formats::ncdf::decode::scaled;
use trajet_formats::ncdf::head::{self, Head, Slab};
use trajet_formats::ncdf::{Frame, Further, KJ_PER_KCAL, Layout, Located, Stored};
use trajet_formats::{
    Code, DecodeError, Field, Format, FrameInfo, Message, Raw, TimePrecision, memory,
};

use crate::indexed::Indexed;
use crate::numbered::NumberedReader;
use crate::reader::{self, NUMBERED_TIMES, ReadRequest, written_frames};
use crate::sidecar::{Finder, Found, find};
use crate::source::Source;
use crate::window::{HeaderBytes, Window};
use crate::{
    Error, FrameCost, FrameIndex, Frames, IndexState, Meter, OpenOptions, Opening, ParallelFor,
    Scratch, Stamp, Watch,
};

/// Number of intervals between the frames of a loaded index whose times are compared with the file before the
/// index is used.
const SAMPLES: u64 = 8;
/// Bytes per request when a record is searched for bytes that are not zero.
const LOOKED_AT: u64 = 1 << 16;
/// Bytes of the first such request.
const FIRST_LOOK: u64 = 1 << 12;

/// An open NCDF trajectory.
#[derive(Debug)]
pub struct Reader {
    file: Indexed,
    head: Head,
    layout: Arc<LayoutCell>,
    messages: Vec<Message>,
}

/// The layout of a file, read with the first raw frame. Analyses do not need it.
#[derive(Debug, Default)]
struct LayoutCell {
    read: OnceLock<Located>,
    /// Locked by the thread that reads the layout.
    reading: Mutex<()>,
}

impl Reader {
    /// Opens a file: reads its header, and the times of its frames unless a valid sidecar has them.
    ///
    /// # Errors
    /// [`Error::UnknownFormat`], [`Error::Unsupported`], [`Error::Truncated`], [`Error::Corrupt`],
    /// [`Error::Io`], [`Error::Interrupted`].
    pub fn open(
        source: Source,
        options: &OpenOptions,
        threads: &dyn ParallelFor,
        mut opening: Opening,
    ) -> Result<Reader, Error> {
        let begin = Instant::now();
        let meter = &mut opening.meter;
        let head = Head::read(&mut HeaderBytes::new(&source, meter))?;
        let counted = head.count(source.size(), options.allow_truncated_tail);
        let (n_frames, message) =
            counted.map_err(|fault| Error::of_header(source.path(), fault))?;
        let mut messages: Vec<Message> = head.messages.iter().cloned().chain(message).collect();
        let needs_times = options.time_step.is_none();
        let records =
            Records { source: &source, head: &head, n_frames, options, needs_times, threads };
        let found = match head.time.is_some() && !head.is_restart {
            true => records.found(meter)?,
            false => {
                let index = records.build(None, meter)?;
                let stamp = Stamp::of(&source, source.size(), meter)?;
                Found::without_sidecar(index.into(), stamp, IndexState::Computed)
            }
        };
        let written = found.index.n_frames() as u64;
        if written < n_frames {
            messages.push(written_frames(n_frames, written));
        }
        let file = Indexed::new(source, found, options, opening, begin)?;
        Ok(Reader { file, head, layout: Arc::default(), messages })
    }

    /// Creates the reader of a file that is indexed already.
    ///
    /// # Errors
    /// As [`Reader::open`].
    pub(crate) fn known(mut file: Indexed) -> Result<Reader, Error> {
        let head = Head::read(&mut HeaderBytes::new(&file.source, &mut file.opening.meter))?;
        Ok(Reader { file, head, layout: Arc::default(), messages: Vec::new() })
    }

    /// Returns the variable that holds a field.
    fn slab(&self, field: Field) -> Result<&Slab, Error> {
        let slab = match field {
            Field::Positions => Some(&self.head.coordinates),
            Field::Velocities => self.head.velocities.as_ref(),
            Field::Forces => self.head.forces.as_ref(),
        };
        slab.ok_or_else(|| self.file.no_field(reader::Reader::format(self), field))
    }

    /// Returns the layout of the file, which is read once.
    fn layout(&self, meter: &mut Meter) -> Result<&Located, Error> {
        let LayoutCell { read, reading } = &*self.layout;
        if let Some(layout) = read.get() {
            return Ok(layout);
        }
        let _reading = meter.lock(reading);
        if read.get().is_none() {
            self.file.source.check_head(&[], meter)?;
            let mut file = HeaderBytes::new(&self.file.source, meter);
            let layout = Layout::read(&mut file, &self.head)?;
            // The lock excludes that another thread set it.
            let _ = read.set(layout);
        }
        Ok(read.get().expect("it was set"))
    }

    /// Returns whether the file states the numbers of its atoms.
    pub(crate) fn has_numbers(&self) -> bool {
        self.head.numbers.is_some()
    }

    /// Returns the reader with another part of the index.
    fn part(&self, index: FrameIndex) -> Reader {
        let (head, messages) = (self.head.clone(), self.messages.clone());
        Reader {
            file: self.file.with_index(index),
            head,
            layout: Arc::clone(&self.layout),
            messages,
        }
    }

    /// Appends the numbers of atoms at byte `offset` of the file to `out`.
    fn numbers_at(
        &self,
        offset: u64,
        len: u64,
        meter: &mut Meter,
        out: &mut Vec<i64>,
    ) -> Result<(), Error> {
        let Some(numbers) = &self.head.numbers else { return Ok(()) };
        let mut bytes = Vec::new();
        memory::resize(&mut bytes, len as usize, 0, "the numbers of the atoms")?;
        self.file.source.read_at(offset, &mut bytes, meter)?;
        numbers.read(&bytes, out);
        Ok(())
    }

    /// Returns the bytes of time, cell lengths and cell angles in a record, which every read needs.
    fn beside(&self) -> [Range<usize>; 3] {
        let bytes = |slab: Option<&Slab>| slab.map_or(0..0, Slab::bytes);
        let cell = self.head.cell.as_ref();
        [self.head.time.as_ref(), cell.map(|c| &c[0]), cell.map(|c| &c[1])].map(bytes)
    }

    /// Returns the error for a variable that was never written in a frame.
    fn unwritten(&self, frame: u64, field: Field) -> Error {
        let Head { coordinates_name, .. } = self.head;
        Error::UnwrittenField {
            path: self.file.source.path().to_owned(),
            frame,
            offset: self.file.index.offset(frame),
            variable: if field == Field::Positions { coordinates_name } else { field.name() },
        }
    }

    /// Reads the vectors of a field from a record, as the file stores them.
    fn stored_vectors(
        &self,
        frame: u64,
        field: Field,
        record: &[u8],
    ) -> Result<Option<Stored>, Error> {
        let slab = match field {
            Field::Positions => Some(&self.head.coordinates),
            Field::Velocities => self.head.velocities.as_ref(),
            Field::Forces => self.head.forces.as_ref(),
        };
        let Some(slab) = slab else { return Ok(None) };
        let bytes = &record[slab.bytes()];
        let (values, stands_out) = slab.values(bytes);
        if (stands_out || !slab.markers_stand_out()) && slab.lacks_vectors(bytes, None, 0) {
            return Err(self.unwritten(frame, field));
        }
        Ok(Some(Stored { values, scale_factor: slab.scale_factor }))
    }

    /// Collects the parts of a record to read, ascending; parts with small gaps between them are merged.
    fn parts(&self, vectors: Range<usize>, parts: &mut Vec<Range<usize>>) {
        let [time, lengths, angles] = self.beside();
        let mut needed = [time, lengths, angles, vectors];
        needed.sort_unstable_by_key(|part| part.start);
        parts.clear();
        let gap = self.file.source.gap(self.file.request_size);
        for part in needed.into_iter().filter(|part| !part.is_empty()) {
            match parts.last_mut() {
                // Variables of damaged files may overlap.
                Some(last) if part.start.saturating_sub(last.end) <= gap => {
                    last.end = last.end.max(part.end);
                }
                _ => parts.push(part),
            }
        }
    }

    /// Decodes a record: returns time, step and cell, and writes the selected vectors, scaled, to `out`.
    fn decode(
        &self,
        record: &Record<'_>,
        frame: u64,
        &ReadRequest { atoms, field, .. }: &ReadRequest<'_>,
        span: &Range<usize>,
        set: trajet_simd::InstructionSet,
        out: &mut [[f32; 3]],
    ) -> Result<FrameInfo, Error> {
        let slab = self.slab(field)?;
        let [time, lengths, angles] = self.beside();
        let time = match &self.head.time {
            None => frame as f64,
            Some(slab) => {
                let time = slab.written(record.get(time)).unwrap_or(f64::NAN);
                let (step, len) = (frame as i64, self.head.record_len);
                let mark = Mark { n_atoms: self.head.n_atoms, time, step, len };
                self.file.check(frame, Some(&mark))?;
                time
            }
        };
        let cell = match &self.head.cell {
            None => [f64::NAN; 6],
            Some(slabs) => head::cell(slabs, record.get(lengths), record.get(angles)),
        };
        let vectors = record.get(slab.vectors(span));
        let (form, from) = ((slab.is_double, slab.factor()), span.start as u32);
        let stands_out = scaled(set, vectors, form, atoms.sorted(), from, out);
        if (stands_out || !slab.markers_stand_out())
            && slab.lacks_vectors(vectors, atoms.sorted(), from)
        {
            return Err(self.unwritten(frame, field));
        }
        if field == Field::Forces {
            out.as_flattened_mut().iter_mut().for_each(|force| *force *= KJ_PER_KCAL);
        }
        Ok(FrameInfo::of_periodic(time, frame as i64, cell, None))
    }
}

/// The parts of a record that were read.
struct Record<'a> {
    /// Bytes of the parts, ascending, from the beginning of the record.
    parts: &'a [Range<usize>],
    /// Contents of the parts, one after the other.
    bytes: &'a [u8],
}

impl Record<'_> {
    /// Returns the contents of `range`, which must lie in one of the parts.
    fn get(&self, range: Range<usize>) -> &[u8] {
        let mut before = 0;
        for part in self.parts {
            if part.start <= range.start && range.end <= part.end {
                let at = before + range.start - part.start;
                return &self.bytes[at..at + range.len()];
            }
            before += part.len();
        }
        assert!(range.is_empty(), "what is needed was asked for");
        &[]
    }
}

/// Buffers that a worker keeps between frames.
#[derive(Debug, Default)]
struct WorkerState {
    parts: Vec<Range<usize>>,
    bytes: Vec<u8>,
}

impl reader::Reader for Reader {
    fn format(&self) -> &'static str {
        Format::Ncdf.name()
    }

    fn file(&self) -> &Indexed {
        &self.file
    }

    fn stored_messages(&self) -> &[Message] {
        &self.head.stored_messages
    }

    fn messages(&self) -> Vec<Message> {
        self.messages.clone()
    }

    fn truncated_tail(&self) -> u64 {
        let Indexed { source, index, .. } = &self.file;
        // Bytes after all frames that the header counts are no truncated frame.
        match self.head.n_records {
            Some(claimed) if claimed == index.n_frames() as u64 => 0,
            _ => source.size() - index.end(),
        }
    }

    fn time_precision(&self) -> TimePrecision {
        match &self.head.time {
            Some(time) if !time.is_double => TimePrecision::Single,
            _ => TimePrecision::Double,
        }
    }

    fn missing_times(&self) -> Option<Message> {
        if self.head.time.is_none() {
            return Some(Code::NoTimes.message_with_fix(NUMBERED_TIMES));
        }
        let n = self.file.index.times().iter().filter(|time| time.is_nan()).count();
        let why = || format!("the times of {n} frames are no numbers or were never written");
        (n > 0).then(|| Code::NoTimes.message_with_fix(why()))
    }

    fn read_frame(
        &self,
        requested: &ReadRequest<'_>,
        at: usize,
        scratch: &mut Scratch,
        out: &mut [f32],
    ) -> Result<(FrameInfo, FrameCost), Error> {
        let slab = self.slab(requested.field)?;
        let frame = requested.frames.get(at);
        let out = out.as_chunks_mut::<3>().0;
        let span = requested.atoms.span();
        let vectors = slab.vectors(&span);
        let used = vectors.len() + self.beside().iter().map(Range::len).sum::<usize>();
        let (set, record_len) = (scratch.set, self.head.record_len as usize);
        let mut state: Box<WorkerState> = scratch.take_own();
        self.parts(vectors, &mut state.parts);
        let len = state.parts.iter().map(Range::len).sum();
        let least = self.file.source.least_spared(self.file.request_size);
        let info = if record_len - len > least && scratch.expected.is_none() {
            memory::resize(&mut state.bytes, len, 0, "the bytes of a frame")?;
            let mut rest = &mut state.bytes[..];
            for part in &state.parts {
                let (bytes, others) = rest.split_at_mut(part.len());
                let offset = self.file.index.offset(frame) + part.start as u64;
                self.file.source.read_at(offset, bytes, &mut scratch.meter)?;
                rest = others;
            }
            let record = Record { parts: &state.parts, bytes: &state.bytes };
            self.decode(&record, frame, requested, &span, set, out)?
        } else {
            let bytes = self.file.whole(requested.frames, at, scratch)?;
            let all = 0..record_len;
            let record = Record { parts: std::slice::from_ref(&all), bytes };
            self.decode(&record, frame, requested, &span, set, out)?
        };
        scratch.keep_own(state);
        Ok((info, FrameCost { bytes: used as u64, atoms: Some(out.len() as u64) }))
    }

    fn whole_raw(&self, frames: &Frames, at: usize, scratch: &mut Scratch) -> Result<Raw, Error> {
        let layout = self.layout(&mut scratch.meter)?;
        let bytes = self.file.whole(frames, at, scratch)?;
        let number = frames.get(at);
        let stored = |slab: &Slab| Stored {
            values: slab.few_values(&bytes[slab.bytes()]),
            scale_factor: slab.scale_factor,
        };
        let vectors = |field| self.stored_vectors(number, field, bytes);
        let Head { time, cell, .. } = &self.head;
        let frame = Frame {
            time: time.as_ref().map(stored),
            coordinates: vectors(Field::Positions)?.expect("each file has coordinates"),
            velocities: vectors(Field::Velocities)?,
            forces: vectors(Field::Forces)?,
            cell: cell.as_ref().map(|slabs| slabs.each_ref().map(stored)),
            further: Some(Further::of_record(layout, bytes)),
        };
        scratch.meter.bytes_used += bytes.len() as u64;
        Ok(Raw::Ncdf(Box::new(frame)))
    }

    fn as_reindex(&self) -> Option<&dyn reader::Reindex> {
        Some(self)
    }

    fn as_partial_index(&self) -> Option<&dyn reader::PartialIndex> {
        (self.head.time.is_some() && !self.head.is_restart).then_some(self as _)
    }
}

impl reader::Reindex for Reader {
    fn indexed_again(
        &self,
        threads: &dyn ParallelFor,
        watch: &Arc<Watch>,
    ) -> Result<FrameIndex, Error> {
        let Indexed { source, index, request_size, .. } = &self.file;
        let (request_size, watch) = (*request_size, Arc::clone(watch));
        let options = &OpenOptions { request_size, watch, ..OpenOptions::default() };
        let n_frames = index.n_frames() as u64;
        let needs_times = false;
        let records = Records { source, head: &self.head, n_frames, options, needs_times, threads };
        records.build(None, &mut Meter::default())
    }
}

impl reader::PartialIndex for Reader {
    fn with_index(&self, index: FrameIndex) -> Arc<dyn reader::Reader> {
        Arc::new(self.part(index))
    }
}

impl NumberedReader for Reader {
    fn numbers(
        &self,
        frames: &Frames,
        at: usize,
        atoms: Range<usize>,
        scratch: &mut Scratch,
        out: &mut Vec<i64>,
    ) -> Result<(), Error> {
        let Some(numbers) = &self.head.numbers else { return Ok(()) };
        let Range { start, end } = numbers.bytes(&atoms);
        memory::reserve(out, atoms.len(), "the numbers of the atoms")?;
        if !numbers.in_records {
            return self.numbers_at(start, end - start, &mut scratch.meter, out);
        }
        // As for vectors: whole records are read unless they are long.
        if self.head.record_len - (end - start) > self.file.request_size as u64
            && scratch.expected.is_none()
        {
            let offset = self.file.index.offset(frames.get(at)) + start;
            return self.numbers_at(offset, end - start, &mut scratch.meter, out);
        }
        let bytes = self.file.whole(frames, at, scratch)?;
        numbers.read(&bytes[start as usize..end as usize], out);
        Ok(())
    }

    fn first_numbers(&self, meter: &mut Meter, out: &mut Vec<i64>) -> Result<(), Error> {
        let Some(numbers) = &self.head.numbers else { return Ok(()) };
        let Range { start, end } = numbers.bytes(&(0..self.head.n_atoms));
        let begin = if numbers.in_records { self.head.offset(0) } else { 0 };
        self.numbers_at(begin + start, end - start, meter, out)
    }

    fn with_part(&self, index: FrameIndex) -> Arc<dyn NumberedReader> {
        Arc::new(self.part(index))
    }
}

/// Finds the times of a file's records.
struct Records<'a> {
    source: &'a Source,
    head: &'a Head,
    n_frames: u64,
    options: &'a OpenOptions,
    /// Whether a time that was never written is an error; else it is not a number in the index.
    needs_times: bool,
    threads: &'a dyn ParallelFor,
}

impl Finder for Records<'_> {
    // Indexes named "NCDF" may hold fill values as times.
    const SIDECAR: [u8; 4] = *b"NCD2";
    /// A frame with one atom in single precision.
    const SHORTEST_FRAME: u64 = 12;

    fn agrees(&self, index: &FrameIndex, meter: &mut Meter) -> Result<bool, Error> {
        let n = index.n_frames() as u64;
        let fits = index.n_atoms() == self.head.n_atoms
            && n <= self.n_frames
            && (0..=n).all(|frame| index.offset(frame) == self.head.offset(frame))
            && (0..).zip(index.steps()).all(|(frame, &step)| step == frame)
            && !(self.needs_times && index.times().iter().any(|time| time.is_nan()));
        if !fits {
            return Ok(false);
        }
        let mut window = Window::default();
        let last = n - 1;
        for k in 0..=SAMPLES.min(last) {
            let frame = last * k / SAMPLES.min(last).max(1);
            let time = self.time(frame, &mut window, 0, 1, meter)?;
            let known = index.times()[frame as usize];
            if time.unwrap_or(f64::NAN).to_bits() != known.to_bits() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn rewind(&self, index: &FrameIndex, at: u64, bytes: &mut [u8]) {
        // A header that counts no frames did so then as well.
        if matches!(self.head.n_records, None | Some(0)) {
            return;
        }
        let then = self.head.version.count(index.n_frames() as u64);
        for (place, byte) in (RECORDS_AT..).zip(then) {
            if let Some(now) = place.checked_sub(at).and_then(|k| bytes.get_mut(k as usize)) {
                *now = byte;
            }
        }
    }

    fn build(&self, base: Option<FrameIndex>, meter: &mut Meter) -> Result<FrameIndex, Error> {
        let index = base.unwrap_or_else(|| FrameIndex::new(self.head.n_atoms));
        let (first, n) = (index.n_frames() as u64, self.n_frames);
        let bytes = (n - first) * self.head.record_len;
        let least = self.options.least_piece;
        let pieces = self.source.pieces(bytes, self.head.record_len, least, self.threads);
        let border = |k: usize| first + (n - first) * k as u64 / pieces as u64;
        let read: Vec<_> =
            (0..pieces).map(|_| Mutex::new((Ok(Vec::new()), meter.beside()))).collect();
        self.threads.each(pieces, &|k| {
            let mut counted = Meter::stopped_by(&self.options.watch.stop);
            let times = self.times(border(k)..border(k + 1), &mut counted);
            *read[k].lock().expect("no other thread holds this piece") = (times, counted);
        });
        let mut times = Vec::new();
        memory::reserve(&mut times, (n - first) as usize, "the times of all frames")?;
        for piece in read {
            let (found, counted) = piece.into_inner().expect("a panic would have ended the build");
            meter.add(&counted);
            times.extend(found?);
        }
        if let Some(k) = times.iter().position(Option::is_none) {
            let frame = first + k as u64;
            let is_tail = frame > 0 && times[k..].iter().all(Option::is_none);
            if is_tail && self.options.allow_truncated_tail {
                times.truncate(k);
            } else if self.needs_times {
                let path = self.source.path().to_owned();
                return Err(Error::UnwrittenTime { path, frame, variable: "time", is_tail });
            }
        }
        self.index(index, times.into_iter().map(|time| time.unwrap_or(f64::NAN)))
    }
}

impl Records<'_> {
    /// Returns the index, with times from the sidecar or the file.
    fn found(&self, meter: &mut Meter) -> Result<Found, Error> {
        let found = find(self, self.source, self.options, meter)?;
        if found.index.n_frames() as u64 == self.n_frames {
            return Ok(found);
        }
        // A valid sidecar lists all frames: rebuild it otherwise.
        let anew = OpenOptions { rebuild_index: true, ..self.options.clone() };
        find(self, self.source, &anew, meter)
    }

    /// Adds frames with these times to `index`.
    fn index(
        &self,
        mut index: FrameIndex,
        times: impl IntoIterator<Item = f64>,
    ) -> Result<FrameIndex, Error> {
        index.reserve(self.n_frames.saturating_sub(index.n_frames() as u64) as usize)?;
        for time in times {
            let frame = index.n_frames() as u64;
            index.push(self.head.offset(frame), self.head.offset(frame + 1), time, frame as i64);
        }
        Ok(index)
    }

    /// Reads the times of some frames; `None` for a time that was never written.
    fn times(&self, frames: Range<u64>, meter: &mut Meter) -> Result<Vec<Option<f64>>, Error> {
        let record_len = self.head.record_len;
        let watch = &self.options.watch;
        let until = self.head.offset(frames.end);
        let mut window = Window::default();
        let mut times = Vec::new();
        let n_frames = (frames.end - frames.start) as usize;
        memory::reserve(&mut times, n_frames, "the times of all frames")?;
        for frame in frames {
            if watch.stop.load(Ordering::Relaxed) {
                return Err(Error::Interrupted);
            }
            // Short records are read in large requests: one request per time would cost more.
            let left = until - self.head.offset(frame);
            let request_size = self.options.request_size;
            let request = self.source.header_request(record_len, left, request_size);
            let time = self.time(frame, &mut window, until, request, meter)?;
            // A single atom may lie at the origin, so that its record is all zeros.
            let looks = time == Some(0.0) && frame > 0 && self.head.n_atoms > 1;
            if looks && self.is_hole(frame, meter)? {
                let path = self.source.path().to_owned();
                let fault = DecodeError::Malformed("all of its bytes are zeros".to_owned());
                return Err(Error::Corrupt { path, frame, offset: self.head.offset(frame), fault });
            }
            times.push(time);
            watch.bytes.fetch_add(record_len, Ordering::Relaxed);
        }
        Ok(times)
    }

    /// Whether a record was never written, that is, whether all of its bytes are zero.
    fn is_hole(&self, frame: u64, meter: &mut Meter) -> Result<bool, Error> {
        let (mut at, end) = (self.head.offset(frame), self.head.offset(frame + 1));
        let mut bytes = Vec::new();
        while at < end {
            // The first request decides for most frames.
            let most = if bytes.is_empty() { FIRST_LOOK } else { LOOKED_AT };
            bytes.resize(most.min(end - at) as usize, 0);
            self.source.read_at(at, &mut bytes, meter)?;
            if bytes.iter().any(|&byte| byte != 0) {
                return Ok(false);
            }
            at += bytes.len() as u64;
        }
        Ok(true)
    }

    /// Reads the time of a frame through a window that reads ahead up to `until`; `None` if it was never written.
    fn time(
        &self,
        frame: u64,
        window: &mut Window,
        until: u64,
        request: usize,
        meter: &mut Meter,
    ) -> Result<Option<f64>, Error> {
        let Some(slab) = &self.head.time else { return Ok(Some(frame as f64)) };
        let at = self.head.offset(frame) + slab.at as u64;
        let bytes = window.bytes(self.source, at, slab.width(), until, request, meter)?;
        Ok(slab.written(bytes))
    }
}

#[cfg(test)]
mod tests;
