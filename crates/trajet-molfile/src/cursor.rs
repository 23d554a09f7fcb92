//! A trajectory as a host reads it: from its first frame on, one after the other.

use std::io::Write;
use std::path::Path;

use trajet_io::{Atoms, Chain, Field, FrameInfo, FrameMeta, Frames, Reader, Scratch, Wanted};
use trajet_simd::InstructionSet;

use crate::error::Error;
use crate::pointer::{self, Tag};

/// An open trajectory and the frame that comes next.
pub(crate) struct Cursor {
    chain: Chain,
    /// The store to whose access log the reading is written.
    tag: Option<Tag>,
    n_read: u64,
    frames: Frames,
    atoms: Atoms,
    scratch: Scratch,
    meta: FrameMeta,
    next: usize,
    has_velocities: bool,
    /// Whether a frame could not be read, or is being read.
    failed: bool,
    /// Whether a message was printed that frames lack positions.
    warned: bool,
}

impl Cursor {
    /// Opens a trajectory, or what a pointer file names.
    pub(crate) fn open(path: &Path) -> Result<Cursor, Error> {
        InstructionSet::check().map_err(Error::InstructionSet)?;
        let (chain, tag) = pointer::open(path)?;
        let n_atoms = chain.n_atoms();
        if i32::try_from(n_atoms).is_err() {
            return Err(Error::TooManyAtoms { path: path.to_owned(), found: n_atoms });
        }
        let has_velocities =
            chain.segments().iter().all(|segment| begins_with_velocities(&*segment.reader));
        for remark in chain.remarks() {
            say(format_args!("{}: {remark}", path.display()));
        }
        Ok(Cursor {
            frames: Frames::all(chain.n_frames()),
            atoms: Atoms::all(n_atoms),
            chain,
            tag,
            n_read: 0,
            scratch: Scratch::default(),
            meta: FrameMeta::default(),
            next: 0,
            has_velocities,
            failed: false,
            warned: false,
        })
    }

    pub(crate) fn n_atoms(&self) -> usize {
        self.chain.n_atoms()
    }

    pub(crate) fn n_frames(&self) -> usize {
        self.chain.n_frames()
    }

    /// Bytes of all files.
    pub(crate) fn size(&self) -> u64 {
        self.chain.size()
    }

    /// Whether every file has velocities, by its first frame.
    pub(crate) fn has_velocities(&self) -> bool {
        self.has_velocities
    }

    /// Whether there is a frame left.
    ///
    /// # Errors
    /// [`Error::AtomCount`] where the host expects other atoms, [`Error::Failed`].
    pub(crate) fn has_next(&self, expected: i64) -> Result<bool, Error> {
        let path = || self.chain.path().to_owned();
        if expected != self.n_atoms() as i64 {
            return Err(Error::AtomCount { path: path(), found: self.n_atoms(), expected });
        }
        if self.failed {
            return Err(Error::Failed { path: path() });
        }
        Ok(self.next < self.n_frames())
    }

    /// Passes over the next frame.
    pub(crate) fn skip(&mut self) {
        self.next += 1;
    }

    /// Reads the next frame: positions in Å, velocities in Å/ps where they are wanted and there are any.
    ///
    /// # Errors
    /// As [`Chain::read_into`]; then none can be read any more.
    pub(crate) fn read(
        &mut self,
        positions: &mut [f32],
        velocities: Option<&mut [f32]>,
    ) -> Result<FrameInfo, Error> {
        // Until the frame is whole: a panic must not let the host go on either.
        self.failed = true;
        let empty = self.scratch.meter.empty_frames;
        let frame = self.read_field(Field::Positions, positions)?;
        if self.scratch.meter.empty_frames > empty && !self.warned {
            let (path, frame) = (self.chain.path_of(self.next as u64).display(), self.next);
            say(format_args!("{path}: frame {frame} and perhaps others hold no positions"));
            self.warned = true;
        }
        if let Some(velocities) = velocities.filter(|_| self.has_velocities) {
            self.read_field(Field::Velocities, velocities)?;
        }
        self.failed = false;
        self.next += 1;
        self.n_read += 1;
        Ok(frame)
    }

    fn read_field(&mut self, field: Field, out: &mut [f32]) -> Result<FrameInfo, Error> {
        let wanted = Wanted { frames: &self.frames, atoms: &self.atoms, field };
        self.meta.clear();
        let here = self.next..self.next + 1;
        self.chain.read_into(&wanted, here, &mut self.scratch, out, &mut self.meta)?;
        let FrameMeta { times, steps, cells, turned, .. } = &self.meta;
        Ok(FrameInfo { time: times[0], step: steps[0], cell: cells[0], turned: turned[0] })
    }
}

impl Drop for Cursor {
    fn drop(&mut self) {
        if let Some(tag) = &self.tag {
            tag.used(self.n_read, self.scratch.meter.bytes_read);
        }
    }
}

fn begins_with_velocities(reader: &dyn Reader) -> bool {
    let Ok(atom) = Atoms::listed(&[0], reader.index().n_atoms()) else { return false };
    let (first, field) = (Frames::all(1), Field::Velocities);
    let wanted = Wanted { frames: &first, atoms: &atom, field };
    let (mut scratch, mut out) = (Scratch::default(), [0.0; 3]);
    let read = reader.read_into(&wanted, 0..1, &mut scratch, &mut out, &mut FrameMeta::default());
    read.is_ok() && scratch.meter.empty_frames == 0
}

/// Writes a line to the host's console, if it has one.
pub(crate) fn say(line: std::fmt::Arguments<'_>) {
    let _ = writeln!(std::io::stderr(), "trajet: {line}");
}
