//! Reads DCD files.

use std::time::Instant;

use trajet_formats::dcd::decode::interleave;
use trajet_formats::dcd::head::{self, CELL_BYTES, Head, Layout, Order};
use trajet_formats::dcd::{Cell, CellForm, FOURTH, Frame};
use trajet_formats::time::text;
use trajet_formats::{
    Atoms, Code, DecodeError, Field, Format, FrameInfo, Message, Raw, TimePrecision, memory,
    messages, turned_vectors,
};

use crate::indexed::Indexed;
use crate::opener::KnownFile;
use crate::reader::{self, ReadRequest, WorkerFile};
use crate::sidecar::Found;
use crate::source::Source;
use crate::window::HeaderBytes;
use crate::{
    Error, FrameCost, FrameIndex, Frames, IndexState, Meter, OpenOptions, Opening, Scratch, Stamp,
};

/// An open DCD trajectory.
#[derive(Debug)]
pub struct Reader {
    file: Indexed,
    head: Head,
    /// Form of the cell records of all frames.
    form: CellForm,
    /// Whether the user chose the form.
    chosen: bool,
    /// Data for fixed atoms, if there are any.
    fixed: Option<Fixed>,
    /// Messages on the source of the file, stored in its titles.
    stored_messages: Vec<Message>,
}

/// Positions of fixed atoms, which only the first frame stores.
#[derive(Debug)]
struct Fixed {
    /// All positions of the first frame, Å.
    first: Vec<f32>,
    /// Index of each atom among the free atoms; `u32::MAX` for a fixed atom.
    place: Vec<u32>,
}

impl Reader {
    /// Opens a file: reads its header and computes the index.
    ///
    /// # Errors
    /// [`Error::Truncated`], [`Error::Corrupt`], [`Error::DcdCell`], [`Error::Io`].
    pub fn open(
        source: Source,
        options: &OpenOptions,
        mut opening: Opening,
    ) -> Result<Reader, Error> {
        let begin = Instant::now();
        let meter = &mut opening.meter;
        let head = Head::read(&mut HeaderBytes::new(&source, meter))?;
        let index = index_of(&source, &head, options.allow_truncated_tail)?;
        let form = match options.formats.dcd.cell {
            Some(form) => form,
            None => form_of(&source, &head, meter)?,
        };
        let stamp = Stamp::of(&source, source.size(), meter)?;
        let found = Found::without_sidecar(index.into(), stamp, IndexState::Computed);
        let mut reader = Reader {
            stored_messages: messages::of_titles(&head.titles),
            file: Indexed::new(source, found, options, opening, begin)?,
            head,
            form,
            chosen: options.formats.dcd.cell.is_some(),
            fixed: None,
        };
        if let Some(free) = &reader.head.free {
            let n_atoms = reader.head.n_atoms;
            let mut place = memory::filled(n_atoms, u32::MAX, "the places of the free atoms")?;
            for (k, &atom) in free.iter().enumerate() {
                place[atom as usize] = k as u32;
            }
            let mut scratch = Scratch::default();
            let mut first = memory::filled(3 * n_atoms, 0.0, "the first frame")?;
            let (frames, atoms) = (Frames::all(1), Atoms::all(reader.head.n_atoms));
            let requested = ReadRequest::positions(&frames, &atoms);
            let (_, cost) =
                reader::Reader::read_frame(&reader, &requested, 0, &mut scratch, &mut first)?;
            scratch.meter.count_frame(cost);
            reader.file.opening.meter.add(&scratch.meter);
            reader.fixed = Some(Fixed { first, place });
        }
        Ok(reader)
    }

    /// Opens a file that another process has opened.
    ///
    /// # Errors
    /// As [`Reader::open`]; [`Error::UnknownFormat`].
    pub(crate) fn known(file: KnownFile<'_>, options: &OpenOptions) -> Result<Reader, Error> {
        let mut options = options.clone();
        options.formats.dcd.cell = Some(file.decoded()?);
        Reader::open(file.source, &options, Opening::default())
    }

    /// Returns time, step and cell of a frame.
    fn frame_info(&self, frame: u64, cell: Option<Cell>) -> Result<FrameInfo, Error> {
        let head = &self.head;
        // Computed like in other readers, so that times are equal bit by bit.
        let first = head.first_step() as f64 / head.steps() as f64;
        let (cell, vectors) = match cell {
            Some(cell) => cell.read().map_err(|what| {
                let (path, offset) = (self.file.source.path().to_owned(), self.file.place(frame).0);
                Error::DcdCell { path, frame, offset, what }
            })?,
            None => ([f64::NAN; 6], None),
        };
        let time = (frame as f64 + first) * head.time_step();
        let step = head.first_step() + frame as i64 * head.steps();
        let turned = vectors.and_then(|vectors| turned_vectors(&vectors, 1.0));
        Ok(FrameInfo::of_periodic(time, step, cell, turned))
    }

    /// Checks that the record marker at byte `at` of the frame gives a length of `length` bytes.
    fn check_marker(
        &self,
        frame: u64,
        bytes: &[u8],
        at: usize,
        length: usize,
    ) -> Result<(), Error> {
        let found = self.head.order.marker(bytes, at, self.head.marker);
        if found == length as u64 {
            return Ok(());
        }
        let words = format!("a record of {length} bytes is marked as one of {found}");
        Err(self.file.corrupt(frame, DecodeError::Malformed(words)))
    }

    /// Checks the markers of all records of a whole frame.
    fn check_markers(&self, frame: u64, bytes: &[u8], layout: &Layout) -> Result<(), Error> {
        let marker = self.head.marker;
        if self.head.has_cell() {
            self.check_marker(frame, bytes, 0, CELL_BYTES)?;
            self.check_marker(frame, bytes, marker + CELL_BYTES, CELL_BYTES)?;
        }
        let length = 4 * layout.n_atoms;
        let mut at = layout.axes[0] - marker;
        while at + length + 2 * marker <= layout.len as usize {
            self.check_marker(frame, bytes, at, length)?;
            self.check_marker(frame, bytes, at + marker + length, length)?;
            at += length + 2 * marker;
        }
        Ok(())
    }

    /// Reads a whole frame, together with the frames requested next, and checks its markers.
    fn whole<'s>(
        &self,
        frames: &Frames,
        at: usize,
        layout: &Layout,
        scratch: &'s mut Scratch,
    ) -> Result<&'s [u8], Error> {
        let bytes = self.file.whole(frames, at, scratch)?;
        self.check_markers(frames.get(at), bytes, layout)?;
        Ok(bytes)
    }

    /// Reads the cell of a frame and, for each axis, the coordinates of the atoms in `span`.
    fn spans(
        &self,
        frame: u64,
        layout: &Layout,
        span: &std::ops::Range<usize>,
        state: &mut WorkerState,
        meter: &mut Meter,
    ) -> Result<(), Error> {
        let offset = self.file.index.offset(frame);
        memory::resize(&mut state.front, layout.axes[0], 0, "the bytes of a frame")?;
        let front = 0..layout.axes[0];
        let n = 4 * span.len();
        memory::resize(&mut state.bytes, 3 * n, 0, "the bytes of a frame")?;
        let x = layout.axes[0] + 4 * span.start;
        // One request serves both if the first selected atom is near the beginning of the frame.
        if 4 * span.start <= self.file.source.gap(self.file.request_size) {
            memory::resize(&mut state.joined, x + n, 0, "the bytes of a frame")?;
            self.file.source.read_at(offset, &mut state.joined, meter)?;
            state.front.copy_from_slice(&state.joined[front]);
            state.bytes[..n].copy_from_slice(&state.joined[x..]);
        } else {
            self.file.source.read_at(offset, &mut state.front, meter)?;
            self.file.source.read_at(offset + x as u64, &mut state.bytes[..n], meter)?;
        }
        for axis in 1..3 {
            let at = offset + (layout.axes[axis] + 4 * span.start) as u64;
            self.file.source.read_at(at, &mut state.bytes[axis * n..(axis + 1) * n], meter)?;
        }
        if self.head.has_cell() {
            self.check_marker(frame, &state.front, 0, CELL_BYTES)?;
            self.check_marker(frame, &state.front, self.head.marker + CELL_BYTES, CELL_BYTES)?;
        }
        let x = layout.axes[0] - self.head.marker;
        self.check_marker(frame, &state.front, x, 4 * layout.n_atoms)
    }
}

/// Buffers that a worker keeps between frames.
#[derive(Debug, Default)]
struct WorkerState {
    front: Vec<u8>,
    bytes: Vec<u8>,
    joined: Vec<u8>,
}

/// Computes the index from the size of the file.
fn index_of(source: &Source, head: &Head, allow_cut: bool) -> Result<FrameIndex, Error> {
    let (first, others) = (head.layout(true).len, head.layout(false).len);
    let size = source.size();
    let truncated = |frame: u64, offset: u64, needed: u64| {
        let path = source.path().to_owned();
        Error::Truncated { path, frame, offset, needed, left: size - offset }
    };
    if size - head.data_at < first {
        return Err(truncated(0, head.data_at, first));
    }
    let behind_first = size - head.data_at - first;
    let n_frames = 1 + behind_first / others;
    if !behind_first.is_multiple_of(others) && !allow_cut {
        return Err(truncated(n_frames, size - behind_first % others, others));
    }
    let mut index = FrameIndex::new(head.n_atoms);
    let mut offset = head.data_at;
    let (start, time_step) = (head.first_step() as f64 / head.steps() as f64, head.time_step());
    index.reserve(n_frames as usize)?;
    for frame in 0..n_frames {
        let end = offset + if frame == 0 { first } else { others };
        let step = head.first_step() + frame as i64 * head.steps();
        index.push(offset, end, (frame as f64 + start) * time_step, step);
        offset = end;
    }
    Ok(index)
}

/// Determines the form of the cells of all frames from the header and the first frame.
fn form_of(source: &Source, head: &Head, meter: &mut Meter) -> Result<CellForm, Error> {
    if !head.has_cell() || head.titles.starts_with(head::TITLE.as_bytes()) {
        return Ok(CellForm::of_version(head.version()));
    }
    let mut bytes = vec![0; head.marker + CELL_BYTES];
    source.read_at(head.data_at, &mut bytes, meter)?;
    let first = head::record(head.order, &bytes[head.marker..]);
    CellForm::decide(head.version(), first).map_err(|what| {
        let (path, offset) = (source.path().to_owned(), head.data_at);
        Error::DcdCell { path, frame: 0, offset, what }
    })
}

impl reader::Reader for Reader {
    fn format(&self) -> &'static str {
        Format::Dcd.name()
    }

    fn file(&self) -> &Indexed {
        &self.file
    }

    fn stored_messages(&self) -> &[Message] {
        &self.stored_messages
    }

    fn messages(&self) -> Vec<Message> {
        let mut messages = Vec::new();
        let (claimed, held) = (self.head.n_frames(), self.file.index.n_frames());
        if i64::from(claimed) != held as i64 {
            messages.push(Code::FrameCount.message(format!(
                "the header says {claimed} frames, the file holds {held}: those that it holds count"
            )));
        }
        if self.head.is_of_lammps() {
            messages.push(Code::AssumedUnits.message_with_fix(format!(
                "LAMMPS wrote it, with a time step of {} in the units of the run, which it does not name: read as \
                 fs, frames are {} ps apart",
                text(self.head.delta()),
                text(self.head.time_step())
            )));
        }
        let version = self.head.version();
        if self.head.has_cell() && self.form.version(version) != version {
            let why = if self.chosen { "as was asked for" } else { "which is what the first is" };
            messages.push(Code::AssumedCell.message(format!(
                "the header's version {version} does not say so, but cells are read as {}, {why}",
                self.form.words()
            )));
        }
        messages
    }

    fn for_worker(&self, _: &Atoms) -> Result<WorkerFile, Error> {
        Ok(WorkerFile::new(self.format(), &self.form))
    }

    fn time_precision(&self) -> TimePrecision {
        match self.head.has_single_step() {
            true => TimePrecision::SingleStep,
            false => TimePrecision::Double,
        }
    }

    fn missing_times(&self) -> Option<Message> {
        self.head.has_placeholder_times().then(|| {
            let step = text(self.head.time_step());
            Code::NoTimes.message_with_fix(format!(
                "VMD's DCD plug-in wrote it with a placeholder for the time step: frames are taken to be {step} \
                 ps apart"
            ))
        })
    }

    fn read_frame(
        &self,
        &ReadRequest { frames, atoms, field }: &ReadRequest<'_>,
        at: usize,
        scratch: &mut Scratch,
        out: &mut [f32],
    ) -> Result<(FrameInfo, FrameCost), Error> {
        if field != Field::Positions {
            return Err(self.file.no_field(self.format(), field));
        }
        let frame = frames.get(at);
        let layout = self.head.layout(frame == 0);
        let out = out.as_chunks_mut::<3>().0;
        let span = atoms.span();
        let set = scratch.set;
        let order = self.head.order;
        let spared = (layout.len as usize - layout.axes[0]).saturating_sub(12 * span.len());
        let moving = self.fixed.as_ref().filter(|_| frame > 0);
        let least = self.file.source.least_spared(self.file.request_size);
        let spares = spared > least && scratch.expected.is_none();
        let (info, bytes) = if moving.is_none() && spares {
            let mut state: Box<WorkerState> = scratch.take_own();
            self.spans(frame, &layout, &span, &mut state, &mut scratch.meter)?;
            let (x, rest) = state.bytes.split_at(4 * span.len());
            let (y, z) = rest.split_at(4 * span.len());
            let from = span.start as u32;
            interleave(set, order, [x, y, z], atoms.sorted(), from, out);
            let info = self.frame_info(frame, self.cell_of(&state.front))?;
            scratch.keep_own(state);
            (info, (layout.axes[0] + 12 * span.len()) as u64)
        } else {
            let bytes = self.whole(frames, at, &layout, scratch)?;
            let axes = layout.axes.map(|at| &bytes[at..at + 4 * layout.n_atoms]);
            match moving {
                None => interleave(set, order, axes, atoms.sorted(), 0, out),
                Some(fixed) => fixed.fill(order, axes, atoms, out),
            }
            (self.frame_info(frame, self.cell_of(bytes))?, layout.len)
        };
        Ok((info, FrameCost { bytes, atoms: Some(out.len() as u64) }))
    }

    fn whole_raw(&self, frames: &Frames, at: usize, scratch: &mut Scratch) -> Result<Raw, Error> {
        let frame = frames.get(at);
        let layout = self.head.layout(frame == 0);
        let order = self.head.order;
        let bytes = self.whole(frames, at, &layout, scratch)?;
        let cell = self.cell_of(bytes);
        self.frame_info(frame, cell)?;
        let record = 4 * layout.n_atoms + 2 * self.head.marker;
        let n_axes = (layout.len as usize - (layout.axes[0] - self.head.marker)) / record;
        let moving = self.fixed.as_ref().filter(|_| frame > 0);
        let axis = |k: usize| {
            let at = layout.axes[0] + record * k;
            let value = |place: usize| order.f32(bytes, at + 4 * place);
            let one = |atom: usize| match moving {
                Some(fixed) if fixed.place[atom] == u32::MAX && k < 3 => fixed.first[3 * atom + k],
                Some(fixed) if fixed.place[atom] == u32::MAX => 0.0,
                Some(fixed) => value(fixed.place[atom] as usize),
                None => value(atom),
            };
            (0..self.head.n_atoms).map(one).collect()
        };
        let axes = (0..n_axes).map(axis).collect();
        scratch.meter.bytes_used += layout.len;
        let version = self.head.version();
        Ok(Raw::Dcd(Frame { version, cell, axes }))
    }

    fn as_format_data(&self) -> Option<&dyn reader::FormatData> {
        Some(self)
    }
}

impl reader::FormatData for Reader {
    fn left_out(&self, _: u64, _: &Atoms, _: &mut Scratch) -> Result<Vec<String>, Error> {
        let fourth = self.head.has_fourth_dimension().then(|| FOURTH.to_owned());
        Ok(fourth.into_iter().collect())
    }
}

impl Reader {
    /// Returns the unit cell record at the front of a frame; `None` if the file has no cells.
    fn cell_of(&self, front: &[u8]) -> Option<Cell> {
        let Head { order, marker, .. } = self.head;
        let numbers = self.head.has_cell().then(|| head::record(order, &front[marker..]))?;
        Some(Cell { numbers, form: self.form })
    }
}

impl Fixed {
    /// Fills `out` with the positions of fixed atoms from the first frame, and of the others from `axes`.
    fn fill(&self, order: Order, axes: [&[u8]; 3], atoms: &Atoms, out: &mut [[f32; 3]]) {
        for (k, position) in out.iter_mut().enumerate() {
            let atom = atoms.sorted().map_or(k, |list| list[k] as usize);
            *position = match self.place[atom] {
                u32::MAX => [0, 1, 2].map(|axis| self.first[3 * atom + axis]),
                place => axes.map(|axis| order.f32(axis, 4 * place as usize)),
            };
        }
    }
}

#[cfg(test)]
mod tests;
