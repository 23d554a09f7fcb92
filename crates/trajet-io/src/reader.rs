//! The traits of readers: what all of them can do, and what only some can.

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::h5md::StoredAs;
use crate::indexed::Indexed;
use crate::remarks::OF_SOURCE;
use crate::source::Source;
use crate::{
    Atoms, Error, Extra, Field, FrameIndex, FrameInfo, FrameMeta, Frames, Opening, ParallelFor,
    Raw, Scratch, Stamp, Watch, memory,
};

/// What is to be read of a trajectory.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// Frames, in the order in which they are wanted.
    pub frames: &'a Frames,
    /// Atoms of each.
    pub atoms: &'a Atoms,
    /// Which of their vectors.
    pub field: Field,
}

impl<'a> Wanted<'a> {
    /// The positions of `atoms` in `frames`.
    pub fn positions(frames: &'a Frames, atoms: &'a Atoms) -> Self {
        Wanted { frames, atoms, field: Field::Positions }
    }
}

/// How worker processes open a file that is open here.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WorkerFile {
    /// The name of the opener: of a format, or of a [`crate::WorkerOpener`].
    pub opener: String,
    /// What the opener needs to know.
    pub data: Vec<u8>,
}

impl WorkerFile {
    /// Serializes what the opener needs to know.
    ///
    /// # Panics
    /// Never: the data is written to memory.
    pub fn new(opener: &str, data: &impl Serialize) -> Self {
        let data = postcard::to_stdvec(data).expect("memory takes it");
        WorkerFile { opener: opener.to_owned(), data }
    }
}

/// A file that can be read at any frame by any number of threads at once: there is no cursor.
pub trait Reader: Send + Sync {
    /// The format's name.
    fn format(&self) -> &'static str;

    /// The open file and its index.
    fn file(&self) -> &Indexed;

    /// What a user should know of this file: a header that disagrees with what the file holds, …
    fn remarks(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns those of [`Reader::remarks`] that readers of a whole copy in the format `copied_to` would not make
    /// again by themselves: copies of NetCDF and H5MD files to their own formats hold all that these were made of.
    fn lasting_remarks(&self, copied_to: Option<&str>) -> Vec<String> {
        let is_like = matches!(self.format(), "NCDF" | "H5MD") && copied_to == Some(self.format());
        if is_like { Vec::new() } else { self.remarks() }
    }

    /// Returns the remarks that the file keeps of what it was copied from ([`crate::remarks`]).
    fn noted(&self) -> &[String] {
        &[]
    }

    /// Reads the distinct wanted atoms, ascending, of the frame at position `at` into `out`
    /// (`[atoms.n_sorted(), 3]`). The rest of the wanted frames tells what will be asked for next.
    /// A frame without the wanted field is all NaN, and counted in the meter.
    ///
    /// # Errors
    /// As `dyn Reader::read_into`.
    fn read_frame(
        &self,
        wanted: &Wanted<'_>,
        at: usize,
        scratch: &mut Scratch,
        out: &mut [f32],
    ) -> Result<FrameInfo, Error>;

    /// Reads the frame at position `at` as the format stores it.
    ///
    /// # Errors
    /// As [`Reader::raw`].
    fn whole_raw(&self, frames: &Frames, at: usize, scratch: &mut Scratch) -> Result<Raw, Error>;

    /// Returns how worker processes open the file, to read no other atoms than these.
    ///
    /// # Errors
    /// [`Error::Io`] where the working folder was removed.
    fn for_worker(&self, _atoms: &Atoms) -> Result<WorkerFile, Error> {
        Ok(WorkerFile { opener: self.format().to_owned(), data: Vec::new() })
    }

    /// Reads some atoms, in their order, of the frame at position `at` as the format stores them. The
    /// rest of the wanted frames, all of which the file has, tells what will be asked for next.
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
        scratch.meter.frames += 1;
        scratch.meter.atoms_decoded += self.file().index.n_atoms() as u64;
        Ok(raw)
    }

    /// Bytes of the trajectory.
    fn size(&self) -> u64 {
        self.file().source.size()
    }

    /// Bytes behind the last whole frame that were left out because that was allowed.
    fn truncated_tail(&self) -> u64 {
        self.file().source.size() - self.file().index.end()
    }

    /// Returns the reader as one that finds the frames again from their headers.
    fn as_reindex(&self) -> Option<&dyn Reindex> {
        None
    }

    /// Returns the reader as one that reads with a part of its index.
    fn as_partial_index(&self) -> Option<&dyn PartialIndex> {
        None
    }

    /// Returns the reader as one that copies the bytes of frames.
    fn as_copy_frames(&self) -> Option<&dyn CopyFrames> {
        None
    }

    /// Returns the reader as one that knows unit cells without reading frames.
    fn as_known_cells(&self) -> Option<&dyn KnownCells> {
        None
    }

    /// Returns the reader as one of a format that stores vectors of a kind alike in all frames.
    fn as_stored_types(&self) -> Option<&dyn StoredTypes> {
        None
    }

    /// Returns the reader as one of files that were allowed to omit fields.
    fn as_omitted_fields(&self) -> Option<&dyn OmittedFields> {
        None
    }

    /// Returns the reader as one of frames that hold what only their own format has a place for.
    fn as_format_data(&self) -> Option<&dyn FormatData> {
        None
    }
}

/// Finds frames again.
pub trait Reindex {
    /// Finds the frames again from the headers of all of them.
    ///
    /// # Errors
    /// As [`crate::open`].
    fn indexed_again(
        &self,
        threads: &dyn ParallelFor,
        watch: &Arc<Watch>,
    ) -> Result<FrameIndex, Error>;
}

/// Reads with a part of an index.
pub trait PartialIndex {
    /// Returns the reader of the same file with another part of its index.
    fn with_index(&self, index: FrameIndex) -> Arc<dyn Reader>;
}

/// Copies frames that stand for themselves, in files that hold nothing else.
pub trait CopyFrames {
    /// Appends the bytes of neighbouring frames as they stand in the file.
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

/// Knows unit cells from opening the file.
pub trait KnownCells {
    /// Returns the box vectors (Å, row by row) of a frame, where they are known.
    fn known_box(&self, frame: u64) -> Option<[f64; 9]>;
}

/// Stores vectors of a kind alike in all frames.
pub trait StoredTypes {
    /// Returns how vectors of a kind are stored, where the file has some.
    fn stored_as(&self, field: Field) -> Option<StoredAs>;
}

/// Knows which fields were omitted when the file was written.
pub trait OmittedFields {
    /// Returns the fields that parts with some of these atoms omit, with the names of the parts.
    fn lost(&self, atoms: &Atoms) -> Vec<(Extra, String)>;
}

/// Reads what only the frames' own format has a place for.
pub trait FormatData {
    /// Returns the names of what a frame holds beside these atoms that only its own format has a place for
    /// ([`Raw::left_out`]). No more than the front of the frame is read.
    ///
    /// # Errors
    /// As `dyn Reader::read_into`.
    fn left_out(
        &self,
        frame: u64,
        atoms: &Atoms,
        scratch: &mut Scratch,
    ) -> Result<Vec<String>, Error>;
}

impl dyn Reader + '_ {
    /// The open file.
    pub fn source(&self) -> &Source {
        &self.file().source
    }

    /// Where the frames are.
    pub fn index(&self) -> &FrameIndex {
        &self.file().index
    }

    /// What ties the index to the file.
    pub fn stamp(&self) -> &Stamp {
        &self.file().stamp
    }

    /// What opening cost.
    pub fn opening(&self) -> &Opening {
        &self.file().opening
    }

    /// Returns the file's own remarks, then those of its source, which say so, and the one on its index, which
    /// no copy keeps.
    pub fn all_remarks(&self) -> Vec<String> {
        let noted = self.noted().iter().map(|remark| format!("{OF_SOURCE}{remark}"));
        let on_index = self.file().opening.remark.clone();
        self.remarks().into_iter().chain(noted).chain(on_index).collect()
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

    /// Reads the frames at `positions` of the wanted ones into `out` (`[positions, atoms, 3]`, C
    /// order, in the units of [`Field`]) and adds what they say of themselves to `meta`.
    ///
    /// # Errors
    /// [`Error::FrameOutOfRange`], [`Error::Stale`], [`Error::Changed`], [`Error::Corrupt`],
    /// [`Error::Io`], [`Error::NoField`], [`Error::Interrupted`].
    ///
    /// # Panics
    /// If `out` has another size, or the atoms were made for another number of atoms.
    pub fn read_into(
        &self,
        wanted: &Wanted<'_>,
        positions: Range<usize>,
        scratch: &mut Scratch,
        out: &mut [f32],
        meta: &mut FrameMeta,
    ) -> Result<(), Error> {
        let Wanted { frames, atoms, .. } = *wanted;
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
            let said = self.read_frame(wanted, at, scratch, target)?;
            self.file().check_cell(frames.get(at), &said.cell)?;
            if let Some(order) = atoms.order() {
                let sorted = unordered.as_chunks::<3>().0;
                for (position, &place) in out.as_chunks_mut::<3>().0.iter_mut().zip(order) {
                    *position = sorted[place as usize];
                }
            }
            meta.push(frames.get(at), said);
        }
        scratch.unordered = unordered;
        scratch.meter.stop_decode_timer(&timer);
        Ok(())
    }
}
