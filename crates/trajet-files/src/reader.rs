//! The traits of readers: [`Reader`], which all formats implement, and the optional capabilities of some.

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trajet_formats::h5md::StoredAs;
use trajet_formats::messages::OF_SOURCE;
use trajet_formats::{
    Atoms, Code, Extra, Field, Format, FrameInfo, FrameMeta, Message, Raw, TimePrecision, memory,
};

use crate::indexed::Indexed;
use crate::meter::FrameCost;
use crate::remote::Remote;
use crate::source::Source;
use crate::{Error, FrameIndex, Frames, Opening, ParallelFor, Scratch, Stamp, Watch};

/// Why the times of a file that states none are not those of a simulation.
pub(crate) const NUMBERED_TIMES: &str = "it states no times: frames are taken to be 1 ps apart";

/// Returns the message on a file that has room for `n` frames, of which `written` were written.
pub(crate) fn written_frames(n: u64, written: u64) -> Message {
    Code::FrameCount.message(format!("of {n} frames {written} were written: these count"))
}

/// A request for frames, atoms and a field of a trajectory.
#[derive(Clone, Copy, Debug)]
pub struct ReadRequest<'a> {
    /// The frames, in the requested order.
    pub frames: &'a Frames,
    /// The atoms of each frame.
    pub atoms: &'a Atoms,
    /// The vectors of these atoms to read.
    pub field: Field,
}

impl<'a> ReadRequest<'a> {
    /// Requests the positions of `atoms` in `frames`.
    pub fn positions(frames: &'a Frames, atoms: &'a Atoms) -> Self {
        ReadRequest { frames, atoms, field: Field::Positions }
    }
}

/// The data from which worker processes open a file that is open in this process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WorkerFile {
    /// The name of the opener: of a format, or of a [`crate::WorkerOpener`].
    pub opener: String,
    /// The serialized data for the opener.
    pub data: Vec<u8>,
}

impl WorkerFile {
    /// Serializes the data for the opener.
    ///
    /// # Panics
    /// Never: the data is serialized to memory.
    pub fn new(opener: &str, data: &impl Serialize) -> Self {
        let data = postcard::to_stdvec(data).expect("memory takes it");
        WorkerFile { opener: opener.to_owned(), data }
    }
}

/// Returns whether a copy of a file in this format holds everything on which messages on the file are based.
pub fn is_complete_copy(format: &str, copied_to: Option<&str>) -> bool {
    let is_complete = |known: Format| known.info().own_copy_is_complete;
    copied_to == Some(format) && Format::named(format).is_some_and(is_complete)
}

/// An open trajectory file, which any number of threads can read at any frame at the same time: it has no cursor.
pub trait Reader: Send + Sync {
    /// Returns the name of the format.
    fn format(&self) -> &'static str;

    /// Returns the open file and its index.
    fn file(&self) -> &Indexed;

    /// Returns the reader of the same file that this one changes, if there is one. Methods that such a reader does not
    /// define are those of that one, but for those on atoms and bytes.
    fn wrapped(&self) -> Option<&dyn Reader> {
        None
    }

    /// Returns how many requests to remote storage wait at the same time; `None` if all files are here.
    fn connections(&self) -> Option<usize> {
        self.file().source.remote().map(Remote::connections)
    }

    /// Returns messages on this file for the user, for example on a header that contradicts the frames.
    fn messages(&self) -> Vec<Message> {
        self.wrapped().map_or_else(Vec::new, |inner| inner.messages())
    }

    /// Returns the subset of [`Reader::messages`] that a reader of a whole copy in the format `copied_to` would not
    /// produce itself. See [`is_complete_copy`].
    fn lasting_messages(&self, copied_to: Option<&str>) -> Vec<Message> {
        match self.wrapped() {
            Some(inner) => inner.lasting_messages(copied_to),
            None if is_complete_copy(self.format(), copied_to) => Vec::new(),
            None => self.messages(),
        }
    }

    /// Returns the messages on its source that are stored in the file ([`trajet_formats::messages`]).
    fn stored_messages(&self) -> &[Message] {
        self.wrapped().map_or(&[], |inner| inner.stored_messages())
    }

    /// Returns how the times of frames are stored.
    fn time_precision(&self) -> TimePrecision {
        self.wrapped().map_or(TimePrecision::Double, |inner| inner.time_precision())
    }

    /// Returns why the times of frames are not those of a simulation; `None` if the file states them.
    fn missing_times(&self) -> Option<Message> {
        self.wrapped()?.missing_times()
    }

    /// Returns the numbers by which the file names its atoms, in the order in which they are read; `None` if it has none.
    fn atom_numbers(&self) -> Option<&[i64]> {
        None
    }

    /// Reads the distinct requested atoms, ascending, of the frame at position `at` into `out`
    /// (`[atoms.n_sorted(), 3]`). The frames that follow in the request are used to read ahead.
    /// A frame without the requested field is filled with NaN. `read_into` counts the cost and the time.
    ///
    /// # Errors
    /// As `dyn Reader::read_into`.
    fn read_frame(
        &self,
        request: &ReadRequest<'_>,
        at: usize,
        scratch: &mut Scratch,
        out: &mut [f32],
    ) -> Result<(FrameInfo, FrameCost), Error>;

    /// Reads the whole frame at position `at` as the format stores it.
    ///
    /// # Errors
    /// As [`Reader::raw`].
    fn whole_raw(&self, frames: &Frames, at: usize, scratch: &mut Scratch) -> Result<Raw, Error>;

    /// Returns the data from which worker processes open the file to read only these atoms.
    ///
    /// # Errors
    /// [`Error::Io`] if the working folder was removed.
    fn for_worker(&self, _atoms: &Atoms) -> Result<WorkerFile, Error> {
        Ok(WorkerFile { opener: self.format().to_owned(), data: Vec::new() })
    }

    /// Reads some atoms, in their order, of the frame at position `at` as the format stores them. The frames
    /// that follow in `frames`, all of which must exist, are used to read ahead.
    ///
    /// # Errors
    /// As `dyn Reader::read_into`.
    fn raw(
        &self,
        frames: &Frames,
        at: usize,
        atoms: &Atoms,
        scratch: &mut Scratch,
    ) -> Result<Raw, Error> {
        let timer = scratch.meter.start_decode_timer();
        let whole = self.whole_raw(frames, at, scratch)?;
        self.file().check_cell(frames.get(at), &whole.cell())?;
        let raw = match atoms.listed_indices() {
            Some(list) => whole.take(&list),
            None => whole,
        };
        scratch.meter.stop_decode_timer(&timer);
        let atoms = Some(self.file().index.n_atoms() as u64);
        scratch.meter.count_frame(FrameCost { bytes: 0, atoms });
        Ok(raw)
    }

    /// Returns the size of the trajectory in bytes.
    fn size(&self) -> u64 {
        self.wrapped().map_or_else(|| self.file().source.stored_size(), |inner| inner.size())
    }

    /// Returns the number of bytes after the last whole frame, which are ignored
    /// ([`OpenOptions::allow_truncated_tail`](crate::OpenOptions)).
    fn truncated_tail(&self) -> u64 {
        let file = self.file();
        let behind = || file.source.size() - file.index.end();
        self.wrapped().map_or_else(behind, |inner| inner.truncated_tail())
    }

    /// Returns the capability to rebuild the index from frame headers, if the reader has it.
    fn as_reindex(&self) -> Option<&dyn Reindex> {
        self.wrapped()?.as_reindex()
    }

    /// Returns the capability to read with a part of the index, if the reader has it.
    fn as_partial_index(&self) -> Option<&dyn PartialIndex> {
        None
    }

    /// Returns the capability to copy the bytes of frames, if the reader has it.
    fn as_copy_frames(&self) -> Option<&dyn CopyFrames> {
        None
    }

    /// Returns the capability to look up unit cells without reading frames, if the reader has it.
    fn as_known_cells(&self) -> Option<&dyn KnownCells> {
        self.wrapped()?.as_known_cells()
    }

    /// Returns the capability to look up the stored type of each field, if the reader has it.
    fn as_stored_types(&self) -> Option<&dyn StoredTypes> {
        self.wrapped()?.as_stored_types()
    }

    /// Returns the capability to list omitted fields, if the reader has it.
    fn as_omitted_fields(&self) -> Option<&dyn OmittedFields> {
        None
    }

    /// Returns the capability to list format-specific data, if the reader has it.
    fn as_format_data(&self) -> Option<&dyn FormatData> {
        self.wrapped()?.as_format_data()
    }
}

/// A reader that can rebuild its index.
pub trait Reindex {
    /// Builds the index anew from the headers of all frames.
    ///
    /// # Errors
    /// As [`crate::open`].
    fn indexed_again(
        &self,
        threads: &dyn ParallelFor,
        watch: &Arc<Watch>,
    ) -> Result<FrameIndex, Error>;
}

/// A reader that can work with a part of an index.
pub trait PartialIndex {
    /// Returns a reader of the same file with another part of its index.
    fn with_index(&self, index: FrameIndex) -> Arc<dyn Reader>;
}

/// A reader of a format whose files are sequences of self-contained frames, which can be copied as bytes.
pub trait CopyFrames {
    /// Appends the bytes of consecutive frames to `out`, unchanged.
    ///
    /// # Errors
    /// As `dyn Reader::read_into`.
    fn copy_frames(
        &self,
        frames: Range<u64>,
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Result<(), Error>;
}

/// A reader that has the unit cells in memory once the file is open.
pub trait KnownCells {
    /// Returns the box vectors (Å, row by row) of a frame, if they are in memory.
    fn known_box(&self, frame: u64) -> Option<[f64; 9]>;
}

/// A reader of a format that stores a field with one type in all frames.
pub trait StoredTypes {
    /// Returns how a field is stored, if the file has it.
    fn stored_as(&self, field: Field) -> Option<StoredAs>;
}

/// A reader that lists the fields that were omitted when its files were written.
pub trait OmittedFields {
    /// Returns the omitted fields of each part that holds some of these atoms, with the names of the parts.
    fn omitted_fields(&self, atoms: &Atoms) -> Vec<(Extra, String)>;
}

/// A reader of a format whose frames may hold data that other formats cannot.
pub trait FormatData {
    /// Returns the names of a frame's format-specific data beside its atoms ([`Raw::left_out`]). At most the
    /// front of the frame is read.
    ///
    /// # Errors
    /// As `dyn Reader::read_into`.
    fn left_out(
        &self,
        frame: u64,
        atoms: &Atoms,
        scratch: &mut Scratch,
    ) -> Result<Vec<String>, Error>;

    /// Returns numbers of a frame beside its atoms, by name, as far as the front of the frame holds them: "lambda".
    ///
    /// # Errors
    /// As `dyn Reader::read_into`.
    fn observables(
        &self,
        _frame: u64,
        _scratch: &mut Scratch,
    ) -> Result<Vec<(&'static str, f64)>, Error> {
        Ok(Vec::new())
    }
}

impl dyn Reader + '_ {
    /// Returns the open file.
    pub fn source(&self) -> &Source {
        &self.file().source
    }

    /// Returns the frame index.
    pub fn index(&self) -> &FrameIndex {
        &self.file().index
    }

    /// Returns the stamp that ties the index to the file.
    pub fn stamp(&self) -> &Stamp {
        &self.file().stamp
    }

    /// Returns the cost of opening the file.
    pub fn opening(&self) -> &Opening {
        &self.file().opening
    }

    /// Returns the messages on the file, then those on its source, marked as such, and those on its index and storage,
    /// which copies do not store.
    pub fn all_messages(&self) -> Vec<Message> {
        let of_source = self.stored_messages().iter().map(|message| message.prefixed(OF_SOURCE));
        let of_opening = self.file().opening.messages.iter().cloned();
        self.messages().into_iter().chain(of_source).chain(of_opening).collect()
    }

    /// Reads one frame as the format stores it.
    ///
    /// # Errors
    /// As `read_into`.
    pub fn read_raw(&self, frame: u64, scratch: &mut Scratch) -> Result<Raw, Error> {
        self.read_raw_of(frame, &Atoms::all(self.index().n_atoms()), scratch)
    }

    /// Reads some atoms of one frame, in their order, as the format stores them.
    ///
    /// # Errors
    /// As `read_into`.
    pub fn read_raw_of(
        &self,
        frame: u64,
        atoms: &Atoms,
        scratch: &mut Scratch,
    ) -> Result<Raw, Error> {
        let frames = Frames::Strided { first: frame, step: 1, count: 1 };
        self.index().check(&frames, self.source().path())?;
        self.raw(&frames, 0, atoms, scratch)
    }

    /// Reads the frames at `positions` of the request into `out` (`[positions, atoms, 3]`, C order, in the
    /// units of [`Field`]) and appends their times, steps and cells to `meta`.
    ///
    /// # Errors
    /// [`Error::FrameOutOfRange`], [`Error::Stale`], [`Error::Changed`], [`Error::Corrupt`],
    /// [`Error::Io`], [`Error::NoField`], [`Error::Interrupted`].
    ///
    /// # Panics
    /// If `out` has another size, or `atoms` was made for a trajectory with another number of atoms.
    pub fn read_into(
        &self,
        request: &ReadRequest<'_>,
        positions: Range<usize>,
        scratch: &mut Scratch,
        out: &mut [f32],
        meta: &mut FrameMeta,
    ) -> Result<(), Error> {
        let ReadRequest { frames, atoms, .. } = *request;
        assert_eq!(atoms.n_total(), self.index().n_atoms(), "atoms of another trajectory");
        assert_eq!(out.len(), positions.len() * atoms.len() * 3, "size of the output");
        self.index().check(frames, self.source().path())?;
        let timer = scratch.meter.start_decode_timer();
        let mut unordered = std::mem::take(&mut scratch.unordered);
        if atoms.order().is_some() {
            memory::resize(&mut unordered, atoms.n_sorted() * 3, 0.0, "the atoms of a frame")?;
        }
        let frame_len = atoms.len() * 3;
        meta.reserve(positions.len())?;
        for (k, at) in positions.enumerate() {
            scratch.check_stop()?;
            let out = &mut out[k * frame_len..(k + 1) * frame_len];
            let target = if atoms.order().is_some() { &mut unordered[..] } else { &mut out[..] };
            let (info, cost) = self.read_frame(request, at, scratch, target)?;
            scratch.meter.count_frame(cost);
            self.file().check_cell(frames.get(at), &info.cell)?;
            if let Some(order) = atoms.order() {
                let sorted = unordered.as_chunks::<3>().0;
                for (position, &column) in out.as_chunks_mut::<3>().0.iter_mut().zip(order) {
                    *position = sorted[column as usize];
                }
            }
            meta.push(frames.get(at), info);
        }
        scratch.unordered = unordered;
        scratch.meter.stop_decode_timer(&timer);
        Ok(())
    }
}
