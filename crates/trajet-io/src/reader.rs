//! What every format's reader can do.

use std::any::Any;
use std::collections::HashMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use trajet_simd::InstructionSet;

use crate::dcd::CellForm;
use crate::divided::Divisions;
use crate::h5md::{Description, StoredAs};
use crate::index::Stamp;
use crate::indexed::Indexed;
use crate::remarks::OF_SOURCE;
use crate::source::{Handles, Source, Window, Written};
use crate::{Atoms, Error, Extra, FrameIndex, FrameMeta, Frames, IndexState, Meter, Raw, memory};

/// Bytes of a request where nothing else is asked for. On local disks larger ones fall out of the
/// processor's cache before they are decoded; on parallel file systems several MiB are better.
pub const DEFAULT_REQUEST_SIZE: usize = 256 * 1024;

/// A piece of a file for a thread of its own is at least this large. Fuzz targets have short files.
pub(crate) const LEAST_PIECE: u64 = if cfg!(fuzzing) { 64 } else { 16 << 20 };

/// How to open a trajectory.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// Read the whole frames of a file that ends inside a frame, instead of refusing it.
    pub allow_truncated_tail: bool,
    /// Bytes of a read request.
    pub request_size: usize,
    /// Whether to look for a sidecar and to leave one.
    pub sidecar: bool,
    /// Whether to build the index although there is a sidecar that fits.
    pub rebuild_index: bool,
    /// The folder for sidecars of trajectories whose own folder cannot be written.
    pub cache: Option<PathBuf>,
    /// Whether frames of a file that come again in a later one of the chain are left out. Times decide that, so
    /// that indexes of several files are built again from their headers.
    pub continuous: bool,
    /// Where files are held open together; with none, a file alone stays open as long as it is used, and
    /// the files of a chain have handles of their own.
    pub handles: Option<Arc<Handles>>,
    /// What is told of HDF5 files, by their paths.
    pub described: Arc<HashMap<PathBuf, Arc<Description>>>,
    /// What divided trajectories are, by the paths that stand for them.
    pub divided: Arc<Divisions>,
    /// What files must be, by their paths, where that was written down.
    pub written: Arc<HashMap<PathBuf, Written>>,
    /// How the cells of DCD files are read; by the files themselves where none is given.
    pub dcd_cell: Option<CellForm>,
    /// Shared with whoever wants to see how far the index is, or to stop it.
    pub watch: Arc<Watch>,
}

/// How far the building of an index is, and whether it should end.
#[derive(Debug, Default)]
pub struct Watch {
    /// Once set, building ends with [`Error::Interrupted`]; looked at once a frame.
    pub stop: Arc<AtomicBool>,
    /// Bytes of the trajectory that the index covers so far.
    pub bytes: AtomicU64,
}

impl Default for OpenOptions {
    fn default() -> Self {
        OpenOptions {
            allow_truncated_tail: false,
            request_size: DEFAULT_REQUEST_SIZE,
            sidecar: true,
            rebuild_index: false,
            cache: None,
            continuous: false,
            handles: None,
            described: Arc::default(),
            divided: Arc::default(),
            written: Arc::default(),
            dcd_cell: None,
            watch: Arc::default(),
        }
    }
}

/// Does several pieces of work, perhaps at the same time. This crate starts no threads itself.
pub trait ParallelFor: Sync {
    /// How many pieces are worth making.
    fn width(&self) -> usize;
    /// Calls `work` with each number below `n`.
    fn each(&self, n: usize, work: &(dyn Fn(usize) + Sync));
}

/// One piece after the other.
#[derive(Clone, Copy, Debug)]
pub struct Serial;

impl ParallelFor for Serial {
    fn width(&self) -> usize {
        1
    }
    fn each(&self, n: usize, work: &(dyn Fn(usize) + Sync)) {
        (0..n).for_each(work);
    }
}

/// Pieces in any order, as threads would finish them.
#[cfg(test)]
pub(crate) struct Backwards(pub(crate) usize);

#[cfg(test)]
impl ParallelFor for Backwards {
    fn width(&self) -> usize {
        self.0
    }
    fn each(&self, n: usize, work: &(dyn Fn(usize) + Sync)) {
        (0..n).rev().for_each(work);
    }
}

/// What opening cost, and where the index is.
#[derive(Clone, Debug, Default)]
pub struct Opening {
    /// Where the index came from.
    pub state: IndexState,
    /// The sidecar that holds it; none where it lives in memory only.
    pub sidecar: Option<PathBuf>,
    /// A remark on a sidecar that is there and was ignored.
    pub remark: Option<String>,
    /// Opens, requests and bytes.
    pub meter: Meter,
    /// Nanoseconds for opening and looking at the head.
    pub open_ns: u64,
    /// Nanoseconds for loading, checking or building the index.
    pub index_ns: u64,
    /// The first bytes of the file, by which its format was known.
    pub(crate) first: Vec<u8>,
}

/// Memory that a worker uses again for every frame, and its counts.
#[derive(Debug)]
pub struct Scratch {
    pub(crate) window: Window,
    unordered: Vec<f32>,
    /// What the last format that read with this keeps between frames.
    own: Option<Box<dyn Any + Send>>,
    /// The how manieth call this is: what a format keeps of the bytes belongs to one.
    pub(crate) call: u64,
    /// What decoders may use.
    pub(crate) set: InstructionSet,
    /// The XXH3 digest that the bytes of the frame must have that is read now. Where it is known, frames are
    /// read whole, however few of their atoms are wanted.
    pub(crate) expected: Option<u64>,
    /// Whether H5MD is read in the units of its file; other formats take no notice.
    pub native_units: bool,
    /// What was asked of the storage and of the decoders.
    pub meter: Meter,
    stop: Option<Arc<AtomicBool>>,
}

impl Default for Scratch {
    fn default() -> Self {
        Scratch::on(InstructionSet::chosen())
    }
}

impl Scratch {
    /// A scratch whose decoders use these vector instructions.
    pub fn on(set: InstructionSet) -> Self {
        Scratch {
            window: Window::default(),
            unordered: Vec::new(),
            own: None,
            call: 0,
            set,
            expected: None,
            native_units: false,
            meter: Meter::default(),
            stop: None,
        }
    }

    /// A scratch whose reads end with [`Error::Interrupted`] once `stop` is set; it is looked at
    /// once a frame.
    pub fn stopped_by(stop: Arc<AtomicBool>) -> Self {
        Scratch { stop: Some(stop), ..Scratch::default() }
    }

    /// The scratch for another call: nothing that was read or counted is left in it, its memory is.
    #[must_use]
    pub fn renewed(mut self) -> Self {
        self.window.forget();
        self.call += 1;
        self.meter = Meter::default();
        self.native_units = false;
        self
    }

    /// The memory that a format keeps for itself, new where another format was here before.
    pub(crate) fn take_own<T: Default + Send + 'static>(&mut self) -> Box<T> {
        self.own.take().and_then(|own| own.downcast().ok()).unwrap_or_default()
    }

    /// Gives back what [`Scratch::take_own`] took.
    pub(crate) fn keep_own<T: Send + 'static>(&mut self, own: Box<T>) {
        self.own = Some(own);
    }

    /// A scratch for another file that is read with this one.
    pub(crate) fn beside(&self) -> Scratch {
        Scratch { stop: self.stop.clone(), call: self.call, ..Scratch::on(self.set) }
    }

    /// Renews this scratch where the one that it was made beside was.
    pub(crate) fn follow(&mut self, other: &Scratch) {
        if self.call != other.call {
            self.window.forget();
            self.call = other.call;
        }
    }

    /// Ends the building of an index when reads with this scratch end.
    pub(crate) fn watch(&self) -> Watch {
        Watch { stop: self.stop.clone().unwrap_or_default(), ..Watch::default() }
    }

    pub(crate) fn check_stop(&self) -> Result<(), Error> {
        match &self.stop {
            Some(stop) if stop.load(Ordering::Relaxed) => Err(Error::Interrupted),
            _ => Ok(()),
        }
    }
}

/// One kind of vectors that a frame may hold for each atom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// Å.
    Positions,
    /// Å/ps.
    Velocities,
    /// kJ/(mol Å).
    Forces,
}

impl Field {
    /// All kinds.
    pub const ALL: [Field; 3] = [Field::Positions, Field::Velocities, Field::Forces];

    /// The word that messages use.
    pub fn name(self) -> &'static str {
        match self {
            Field::Positions => "positions",
            Field::Velocities => "velocities",
            Field::Forces => "forces",
        }
    }
}

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

/// When a frame was written, and its cell (as in [`FrameMeta`]).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Said {
    /// ps.
    pub time: f64,
    /// Integration step.
    pub step: i64,
    /// a, b, c (Å), α, β, γ (degrees); NaN where the frame has none.
    pub cell: [f64; 6],
    /// Box vectors (Å), where they are turned (as in [`FrameMeta`]).
    pub turned: Option<[f64; 9]>,
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

    /// Returns the file's own remarks, then those of its source, which say so, and the one on its index, which
    /// no copy keeps.
    fn all_remarks(&self) -> Vec<String> {
        let noted = self.noted().iter().map(|remark| format!("{OF_SOURCE}{remark}"));
        let on_index = self.file().opening.remark.clone();
        self.remarks().into_iter().chain(noted).chain(on_index).collect()
    }

    /// Finds the frames again from the headers of all of them; none where nothing but the file as it was
    /// opened tells where frames are and when they were written.
    ///
    /// # Errors
    /// As [`crate::open`].
    fn indexed_again(
        &self,
        _: &dyn ParallelFor,
        _: &Arc<Watch>,
    ) -> Result<Option<FrameIndex>, Error> {
        Ok(None)
    }

    /// Reads the distinct wanted atoms, ascending, of the frame at position `at` into `out`
    /// (`[atoms.n_sorted(), 3]`). The rest of the wanted frames tells what will be asked for next.
    /// A frame without the wanted field is all NaN, and counted in the meter.
    ///
    /// # Errors
    /// As [`Reader::read_into`].
    fn read_frame(
        &self,
        wanted: &Wanted<'_>,
        at: usize,
        scratch: &mut Scratch,
        out: &mut [f32],
    ) -> Result<Said, Error>;

    /// Reads the frame at position `at` as the format stores it.
    ///
    /// # Errors
    /// As [`Reader::raw`].
    fn whole_raw(&self, frames: &Frames, at: usize, scratch: &mut Scratch) -> Result<Raw, Error>;

    /// The form of the cells of a DCD file.
    fn dcd_cell(&self) -> Option<CellForm> {
        None
    }

    /// How vectors of a kind stand in the file, of formats that say so once: H5MD.
    fn stored_as(&self, _field: Field) -> Option<StoredAs> {
        None
    }

    /// What parts that hold some of the atoms were allowed to lose, by their names.
    fn lost(&self, _atoms: &Atoms) -> Vec<(Extra, String)> {
        Vec::new()
    }

    /// Returns what a frame holds beside these atoms that only its own format has a place for
    /// ([`Raw::left_out`]). No more than the front of the frame is read.
    ///
    /// # Errors
    /// As [`Reader::read_into`].
    fn left_out(
        &self,
        _frame: u64,
        _atoms: &Atoms,
        _scratch: &mut Scratch,
    ) -> Result<Vec<String>, Error> {
        Ok(Vec::new())
    }

    /// Box vectors (Å, row by row) of a frame, where they are known from opening the file.
    fn known_box(&self, _frame: u64) -> Option<[f64; 9]> {
        None
    }

    /// Appends the bytes of neighbouring frames as they stand in the file, where each frame stands for
    /// itself and the file has nothing beside them; false, and nothing is appended, in other formats.
    ///
    /// # Errors
    /// As [`Reader::read_into`].
    fn copy_frames(
        &self,
        _frames: Range<u64>,
        _scratch: &mut Scratch,
        _out: &mut Vec<u8>,
    ) -> Result<bool, Error> {
        Ok(false)
    }

    /// Reads some atoms, in their order, of the frame at position `at` as the format stores them. The
    /// rest of the wanted frames, all of which the file has, tells what will be asked for next.
    ///
    /// # Errors
    /// As [`Reader::read_into`].
    fn raw(
        &self,
        frames: &Frames,
        at: usize,
        atoms: &Atoms,
        scratch: &mut Scratch,
    ) -> Result<Raw, Error> {
        let asked = scratch.meter.asked();
        let whole = self.whole_raw(frames, at, scratch)?;
        self.file().check_cell(frames.get(at), &whole.cell())?;
        let raw = match atoms.listed_indices() {
            Some(list) => whole.take(&list),
            None => whole,
        };
        scratch.meter.got(&asked);
        scratch.meter.frames += 1;
        scratch.meter.atoms_decoded += self.index().n_atoms() as u64;
        Ok(raw)
    }

    /// Reads one frame as the format stores it.
    ///
    /// # Errors
    /// As [`Reader::read_into`].
    fn read_raw(&self, frame: u64, scratch: &mut Scratch) -> Result<Raw, Error> {
        self.read_raw_of(frame, &Atoms::all(self.index().n_atoms()), scratch)
    }

    /// Reads some atoms of one frame, in their order, as the format stores them.
    ///
    /// # Errors
    /// As [`Reader::read_into`].
    fn read_raw_of(&self, frame: u64, atoms: &Atoms, scratch: &mut Scratch) -> Result<Raw, Error> {
        let frames = Frames::Strided { first: frame, step: 1, count: 1 };
        self.index().check(&frames, self.source().path())?;
        self.raw(&frames, 0, atoms, scratch)
    }

    /// The same file with another part of its index; none where the index follows from the header and
    /// is here whole.
    fn with_index(&self, _index: FrameIndex) -> Option<Arc<dyn Reader>> {
        None
    }

    /// The open file.
    fn source(&self) -> &Source {
        &self.file().source
    }

    /// Where the frames are.
    fn index(&self) -> &FrameIndex {
        &self.file().index
    }

    /// What ties the index to the file.
    fn stamp(&self) -> &Stamp {
        &self.file().stamp
    }

    /// What opening cost.
    fn opening(&self) -> &Opening {
        &self.file().opening
    }

    /// Bytes of the trajectory.
    fn size(&self) -> u64 {
        self.source().size()
    }

    /// Bytes behind the last whole frame that were left out because that was allowed.
    fn truncated_tail(&self) -> u64 {
        self.source().size() - self.index().end()
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
    fn read_into(
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
        let asked = scratch.meter.asked();
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
        scratch.meter.got(&asked);
        Ok(())
    }
}
