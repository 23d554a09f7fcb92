//! Reads HDF5 files from their descriptions, and packs frames into chunks on several threads.
//!
//! A call first compares the head of the file with its stamp, once per worker: changed tables are an error, since a
//! chunk does not say what it is. Compressed chunks, and those whose digest a store knows, are read as a whole, others
//! in part. A compressed chunk is unpacked into memory of its exact size, and kept for the next frames until the call
//! ends.

mod non_chunk_regions;
mod pack;

use std::sync::Arc;
use std::time::Instant;

use trajet_formats::h5md::chunk_map::{self, MAX_OF_A_BYTE, Part, Piece, check_counts, corrupt};
use trajet_formats::h5md::unpack::{self, Numbers, PartSelection, Unpacker};
use trajet_formats::h5md::{Description, Frame, Layout, Series, Stored, StoredAs};
use trajet_formats::{
    Atoms, Code, DecodeError, Field, Format, FrameInfo, HeaderFault, Message, NO_ORIGIN, Raw,
    TimePrecision, Values, memory, turned_vectors, xxh3_64,
};

use crate::indexed::Indexed;
use crate::reader::{self, NUMBERED_TIMES, ReadRequest, WorkerFile, written_frames};
use crate::sidecar::Found;
use crate::source::Source;
use crate::window::Window;
use crate::{
    Error, FrameCost, FrameIndex, Frames, IndexState, Meter, OpenOptions, Opening, Scratch, Stamp,
};
use non_chunk_regions::NonChunkRegions;
pub use pack::pack;

/// Largest size of a worker's cache of unpacked chunks, bytes; further chunks of a row are unpacked again.
const MAX_CACHED: usize = 64 << 20;
/// Largest number of following frames that are searched for chunks to be read in the same request.
const LOOK_AHEAD: usize = 1024;

/// An open HDF5 trajectory.
#[derive(Debug)]
pub struct Reader {
    file: Indexed,
    description: Arc<Description>,
    /// Series by [`Field`]; `None` if the file lacks it.
    fields: [Option<chunk_map::Field>; 3],
    non_chunk_regions: NonChunkRegions,
    messages: Vec<Message>,
}

impl Reader {
    /// Creates the reader of an open file from its description, which is checked against the file.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Corrupt`], [`Error::Truncated`], [`Error::Unwritten`].
    pub fn open(
        source: Source,
        description: &Arc<Description>,
        options: &OpenOptions,
        mut opening: Opening,
    ) -> Result<Reader, Error> {
        let begin = Instant::now();
        let Description { times, steps, positions, velocities, forces, .. } = &**description;
        let mut messages = description.messages.clone();
        let fault = |fault: HeaderFault| Error::of_header(source.path(), fault);
        let (n_atoms, mut n_frames) = check_counts(description).map_err(fault)?;
        let digests = description.digests.as_ref();
        let checked = |series: &Option<Series>| {
            let series = series.as_ref();
            let size = source.size();
            let new = |series| chunk_map::Field::new(series, n_atoms, n_frames, digests, size);
            series.map(new).transpose().map_err(fault)
        };
        let fields = [checked(positions)?, checked(velocities)?, checked(forces)?];
        let sound = description.own.as_ref().map_or(Ok(()), |own| own.check(times.len()));
        sound.map_err(|words| fault(corrupt(words)))?;
        let unwritten = fields
            .iter()
            .flatten()
            .filter_map(|field| field.first_unwritten(n_frames).map(|frame| (frame, field.rows)));
        if let Some((frame, rows)) = unwritten.min() {
            if frame == 0 || !options.allow_truncated_tail {
                let path = source.path().to_owned();
                return Err(Error::Unwritten { path, frame, n_frames: rows });
            }
            n_frames = frame;
            messages.push(written_frames(rows, frame));
        }
        // If no frame has a row, nothing else limits the number of atoms and thus the memory to allocate.
        if 12 * description.n_atoms > source.size().saturating_mul(MAX_OF_A_BYTE) {
            let words = format!("{n_atoms} atoms are described, for which the file is too small");
            return Err(fault(corrupt(words)));
        }
        let first = fields.iter().flatten().next().ok_or_else(|| {
            fault(corrupt("neither positions, velocities nor forces are described".to_owned()))
        })?;
        let mut index = FrameIndex::new(n_atoms);
        index.reserve(n_frames as usize)?;
        for frame in 0..n_frames {
            let (offset, end) = first.extent(frame);
            let time = times.get(frame as usize).copied().unwrap_or(f64::NAN);
            let step = steps.get(frame as usize).copied().unwrap_or(0);
            index.push(offset, end, time, step);
        }
        let between = digests.map_or(&[][..], |digests| &digests.between);
        let non_chunk_regions = NonChunkRegions::new(between, n_frames, &source)?;
        let stamp = Stamp::of(&source, source.size(), &mut opening.meter)?;
        let found = Found::without_sidecar(index.into(), stamp, IndexState::Computed);
        let mut file = Indexed::new(source, found, options, opening, begin)?;
        file.opening.index_ns += description.ns;
        Ok(Reader {
            file,
            description: Arc::clone(description),
            fields,
            non_chunk_regions,
            messages,
        })
    }

    /// Returns time, step and cell of a frame from the tables.
    fn frame_info(&self, frame: u64) -> FrameInfo {
        let index = &self.file.index;
        let (time, step) = (index.times()[frame as usize], index.steps()[frame as usize]);
        let cell = self.description.boxes.cell(frame);
        let vectors = self.description.boxes.vectors(frame);
        let turned = vectors.and_then(|v| turned_vectors(v, 1.0));
        let periodic = self.description.boxes.periodic(frame);
        FrameInfo { time, step, cell, turned, periodic, origin: NO_ORIGIN }
    }

    /// Returns the byte at which the request for a piece should end. It includes pieces of this and following
    /// frames, across gaps of up to a quarter of the request size.
    fn request_end(
        &self,
        field: &chunk_map::Field,
        requested: &ReadRequest<'_>,
        (at, row): (usize, u64),
        rest: (&[Part], &[Part]),
        piece: &Piece,
    ) -> u64 {
        let request = self.file.request_size as u64;
        let (begin, mut end) = (piece.from, piece.from + piece.len as u64);
        let (later_parts, parts) = rest;
        let row_of_chunks = |row: u64| row / field.shape[0] as u64;
        // A chunk that is read whole holds all frames of its row of chunks.
        let packed = piece.is_chunk();
        let later_rows = (at + 1..requested.frames.len())
            .take(LOOK_AHEAD)
            .filter_map(|k| field.row(requested.frames.get(k)))
            .filter(|&later| !packed || row_of_chunks(later) != row_of_chunks(row));
        let pieces = (later_parts.iter().map(|part| field.piece(row, part)))
            .chain(later_rows.flat_map(|row| parts.iter().map(move |p| field.piece(row, p))));
        for Piece { from, len, .. } in pieces {
            let its_end = from + len as u64;
            if begin <= from && its_end <= end {
                continue;
            }
            if from < end || from - end > request / 4 || end - begin > 2 * request {
                break;
            }
            end = its_end;
        }
        end
    }

    /// Calls `take` with the numbers of each requested part of a frame.
    fn parts(
        &self,
        field: &chunk_map::Field,
        requested: &ReadRequest<'_>,
        at: usize,
        scratch: &mut Scratch,
        state: &mut WorkerState,
        take: &mut dyn FnMut(&Part, Numbers<'_>),
    ) -> Result<(), Error> {
        let frame = requested.frames.get(at);
        let Some(row) = field.row(frame) else { return Ok(()) };
        let key = (self.file.source.number(), scratch.call, requested.field);
        if state.key.is_none_or(|(number, call, _)| (number, call) != (key.0, key.1)) {
            // Offsets of chunks are those of the opening: check that the file's head is unchanged.
            if !self.file.stamp.head_stands(&self.file.source, &mut scratch.meter)? {
                return self.file.check(frame, None);
            }
        }
        self.non_chunk_regions.compare(frame, &self.file.source, &mut scratch.meter)?;
        let row_of_chunks = row / field.shape[0] as u64;
        if state.key != Some(key) || state.row_of_chunks != row_of_chunks {
            state.cache.clear(field.chunks_of_a_row());
        }
        (state.key, state.row_of_chunks) = (Some(key), row_of_chunks);
        field.parts(requested.atoms, &mut state.parts);
        let Scratch { window, meter, .. } = scratch;
        let raw_len = field.numbers_of_a_chunk() * field.form.width();
        for (k, part) in state.parts.iter().enumerate() {
            let piece = field.piece(row, part);
            let plane = if piece.filters.shuffle { field.numbers_of_a_chunk() } else { 0 };
            let first = piece.first;
            if let Some(numbers) = field.compact_numbers() {
                let bytes = &numbers[piece.from as usize..][..piece.len];
                take(part, Numbers { bytes, plane, first });
                continue;
            }
            if let Some(bytes) = state.cache.get(part.chunk) {
                take(part, Numbers { bytes, plane, first });
                continue;
            }
            let rest = (&state.parts[k + 1..], &state.parts[..]);
            let bytes = self.fetch(window, meter, &piece, || {
                self.request_end(field, requested, (at, row), rest, &piece)
            })?;
            meter.bytes_used += piece.len as u64;
            if piece.digest.is_some_and(|digest| digest != xxh3_64(bytes)) {
                let words = format!("a chunk at byte {} is not what was written", piece.from);
                return Err(self.file.corrupt(frame, DecodeError::Malformed(words)));
            }
            if !piece.is_chunk() || piece.filters.are_none() && field.shape[0] == 1 {
                take(part, Numbers { bytes, plane, first });
            } else {
                let unpacked = state.cache.put(part.chunk, raw_len)?;
                if piece.filters.deflate {
                    state.unpacker.inflate(bytes, unpacked).map_err(|why| {
                        let words = format!("a chunk at byte {}: {why}", piece.from);
                        self.file.corrupt(frame, DecodeError::Malformed(words))
                    })?;
                } else {
                    unpacked.copy_from_slice(bytes);
                }
                take(part, Numbers { bytes: unpacked, plane, first });
            }
        }
        Ok(())
    }

    /// Reads the bytes of a piece.
    fn fetch<'w>(
        &self,
        window: &'w mut Window,
        meter: &mut Meter,
        piece: &Piece,
        until: impl FnOnce() -> u64,
    ) -> Result<&'w [u8], Error> {
        let &Piece { from, len, .. } = piece;
        let until =
            if window.holds(&self.file.source, from, len) { from + len as u64 } else { until() };
        let request = self.file.request_size;
        let bytes = window.bytes(&self.file.source, from, len, until, request, meter)?;
        Ok(&bytes[..len])
    }

    /// Returns all values of a field in the requested frame `at`, as they are stored; `None` if it lacks them.
    fn stored(
        &self,
        which: Field,
        frames: &Frames,
        at: usize,
        scratch: &mut Scratch,
    ) -> Result<Option<Stored>, Error> {
        let Some(field) = &self.fields[which as usize] else { return Ok(None) };
        if field.row(frames.get(at)).is_none() {
            return Ok(None);
        }
        let n_atoms = self.file.index.n_atoms();
        let atoms = Atoms::all(n_atoms);
        // Several series are read in turn for each frame and share one window, so that reading ahead to later
        // frames would not help.
        let one = Frames::Strided { first: frames.get(at), step: 1, count: 1 };
        let (frames, at) =
            if self.fields.iter().flatten().count() == 1 { (frames, at) } else { (&one, 0) };
        let requested = ReadRequest { frames, atoms: &atoms, field: which };
        let mut state: Box<WorkerState> = scratch.take_own();
        let form = field.form;
        let [n_floats, n_doubles] = if form.double { [0, n_atoms] } else { [n_atoms, 0] };
        let mut floats = memory::filled(n_floats, [0.0f32; 3], "the vectors of a frame")?;
        let mut doubles = memory::filled(n_doubles, [0.0f64; 3], "the vectors of a frame")?;
        self.parts(field, &requested, at, scratch, &mut state, &mut |part, numbers| {
            let selection = PartSelection::of(part, None, field.shape[2]);
            let columns = part.columns.clone();
            match form.double {
                true => unpack::doubles(form, numbers, selection, &mut doubles[columns]),
                false => unpack::floats(form, numbers, selection, &mut floats[columns]),
            }
        })?;
        scratch.keep_own(state);
        let values = match form.double {
            true => Values::Double(doubles.into_flattened()),
            false => Values::Float(floats.into_flattened()),
        };
        Ok(Some(Stored { values, factor: field.factor }))
    }
}

/// Buffers and unpacked chunks that a worker keeps between frames.
#[derive(Debug, Default)]
struct WorkerState {
    /// Number of the source, call and field to which the cache belongs.
    key: Option<(u64, u64, Field)>,
    row_of_chunks: u64,
    parts: Vec<Part>,
    cache: ChunkCache,
    unpacker: Unpacker,
}

/// Cache of the unpacked chunks of one row of chunks.
#[derive(Debug, Default)]
struct ChunkCache {
    /// One entry for each chunk of the row, empty if it is not cached.
    chunks: Vec<Vec<u8>>,
    filled: Vec<usize>,
    bytes: usize,
    /// Memory for further chunks.
    spare: Vec<Vec<u8>>,
    /// Memory for a chunk that is not cached.
    passing: Vec<u8>,
}

impl ChunkCache {
    /// Removes all chunks and keeps the memory.
    fn clear(&mut self, n_chunks: usize) {
        for k in self.filled.drain(..) {
            self.spare.push(std::mem::take(&mut self.chunks[k]));
        }
        self.chunks.resize(n_chunks, Vec::new());
        self.bytes = 0;
    }

    fn get(&self, chunk: usize) -> Option<&[u8]> {
        Some(self.chunks[chunk].as_slice()).filter(|bytes| !bytes.is_empty())
    }

    /// Returns memory for a chunk of `len` bytes, which is cached unless [`MAX_CACHED`] bytes are exceeded.
    fn put(&mut self, chunk: usize, len: usize) -> Result<&mut [u8], Error> {
        let keep = self.filled.is_empty() || self.bytes + len <= MAX_CACHED;
        let mut buffer = match keep {
            true => self.spare.pop().unwrap_or_default(),
            false => std::mem::take(&mut self.passing),
        };
        memory::resize(&mut buffer, len, 0, "an unpacked chunk")?;
        if !keep {
            self.passing = buffer;
            return Ok(&mut self.passing);
        }
        self.bytes += len;
        self.filled.push(chunk);
        self.chunks[chunk] = buffer;
        Ok(&mut self.chunks[chunk])
    }

    /// Removes the last chunk, which could not be unpacked.
    fn drop_last(&mut self) {
        if let Some(k) = self.filled.pop() {
            self.chunks[k].clear();
        }
    }
}

impl reader::Reader for Reader {
    fn format(&self) -> &'static str {
        match self.description.layout {
            Layout::H5md => Format::H5md.name(),
            Layout::Mdtraj => "MDTRAJ",
        }
    }

    fn file(&self) -> &Indexed {
        &self.file
    }

    fn stored_messages(&self) -> &[Message] {
        &self.description.stored_messages
    }

    fn messages(&self) -> Vec<Message> {
        self.messages.clone()
    }

    fn for_worker(&self, _: &Atoms) -> Result<WorkerFile, Error> {
        Ok(WorkerFile::new(reader::Reader::format(self), &*self.description))
    }

    fn truncated_tail(&self) -> u64 {
        // Tables may follow the frames. Frames that were never written are reported by a message.
        0
    }

    fn time_precision(&self) -> TimePrecision {
        match self.description.single_times {
            true => TimePrecision::Single,
            false => TimePrecision::Double,
        }
    }

    fn missing_times(&self) -> Option<Message> {
        self.description.no_times.then(|| Code::NoTimes.message_with_fix(NUMBERED_TIMES))
    }

    fn read_frame(
        &self,
        requested: &ReadRequest<'_>,
        at: usize,
        scratch: &mut Scratch,
        out: &mut [f32],
    ) -> Result<(FrameInfo, FrameCost), Error> {
        let frame = requested.frames.get(at);
        let Some(field) = &self.fields[requested.field as usize] else {
            if requested.field != Field::Positions {
                return Err(self.file.no_field(reader::Reader::format(self), requested.field));
            }
            out.fill(f32::NAN);
            return Ok((self.frame_info(frame), FrameCost::default()));
        };
        if field.row(frame).is_none() {
            out.fill(f32::NAN);
            return Ok((self.frame_info(frame), FrameCost::default()));
        }
        let out = out.as_chunks_mut::<3>().0;
        let set = scratch.set;
        let factor = if scratch.native_units { 1.0 } else { field.factor };
        let mut state: Box<WorkerState> = scratch.take_own();
        let read = self.parts(field, requested, at, scratch, &mut state, &mut |part, numbers| {
            let selection = PartSelection::of(part, requested.atoms.sorted(), field.shape[2]);
            let form = (field.form, factor);
            unpack::scaled(set, form, numbers, selection, &mut out[part.columns.clone()]);
        });
        if read.is_err() {
            state.cache.drop_last();
        }
        scratch.keep_own(state);
        read?;
        // Bytes of chunks are counted when they are unpacked.
        Ok((self.frame_info(frame), FrameCost { bytes: 0, atoms: Some(out.len() as u64) }))
    }

    fn whole_raw(&self, frames: &Frames, at: usize, scratch: &mut Scratch) -> Result<Raw, Error> {
        let frame = frames.get(at);
        let FrameInfo { time, step, cell, .. } = self.frame_info(frame);
        let own = self.description.own.as_ref();
        Ok(Raw::H5md(Box::new(Frame {
            time,
            step,
            cell: (!cell[0].is_nan()).then_some(cell),
            vectors: reader::KnownCells::known_box(self, frame),
            positions: self.stored(Field::Positions, frames, at, scratch)?,
            velocities: self.stored(Field::Velocities, frames, at, scratch)?,
            forces: self.stored(Field::Forces, frames, at, scratch)?,
            own: own.map(|own| own.of(frame, time, self.description.boxes.vectors(frame))),
            origin: NO_ORIGIN,
        })))
    }

    fn as_stored_types(&self) -> Option<&dyn reader::StoredTypes> {
        Some(self)
    }

    fn as_known_cells(&self) -> Option<&dyn reader::KnownCells> {
        Some(self)
    }
}

impl reader::StoredTypes for Reader {
    fn stored_as(&self, field: Field) -> Option<StoredAs> {
        let Description { positions, velocities, forces, .. } = &*self.description;
        let series = [positions, velocities, forces][field as usize].as_ref()?;
        Some(StoredAs { double: series.form.double, factor: series.factor })
    }
}

impl reader::KnownCells for Reader {
    fn known_box(&self, frame: u64) -> Option<[f64; 9]> {
        let boxes = &self.description.boxes;
        boxes.vectors(frame).copied().filter(|_| !boxes.cell(frame)[0].is_nan())
    }
}

#[cfg(test)]
mod tests;
