//! Sequential reading of a trajectory, as hosts do it.
//!
//! Hosts have one number for the end of a file and for errors. A file is therefore indexed as a whole when it is
//! opened, and a truncated one refused there. Later errors end the reading with a line on standard error: no frame
//! follows one that could not be read.

use std::io::Write;
use std::path::Path;

use trajet_files::{Chain, Frames, ReadRequest, Reader, Scratch};
use trajet_formats::{Atoms, Field, FrameInfo, FrameMeta};
use trajet_simd::InstructionSet;

use crate::error::Error;
use crate::pointer::{self, Tag};

/// An open trajectory with the position of the next frame.
pub(crate) struct Cursor {
    chain: Chain,
    /// The tag of a store, whose access log gets an entry on drop.
    tag: Option<Tag>,
    n_read: u64,
    frames: Frames,
    atoms: Atoms,
    scratch: Scratch,
    meta: FrameMeta,
    next: usize,
    has_velocities: bool,
    /// Whether a read has failed or is in progress.
    failed: bool,
    /// Whether the message on missing positions was printed.
    warned: bool,
}

impl Cursor {
    /// Opens a trajectory, or the one that a pointer file names.
    pub(crate) fn open(path: &Path) -> Result<Cursor, Error> {
        InstructionSet::check().map_err(Error::InstructionSet)?;
        let (chain, tag) = pointer::open(path)?;
        let n_atoms = chain.n_atoms();
        if i32::try_from(n_atoms).is_err() {
            return Err(Error::TooManyAtoms { path: path.to_owned(), found: n_atoms });
        }
        let has_velocities =
            chain.segments().iter().all(|segment| begins_with_velocities(&*segment.reader));
        for message in chain.messages() {
            print_line(format_args!("{}: {message}", path.display()));
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

    /// Returns the size of all files in bytes.
    pub(crate) fn size(&self) -> u64 {
        self.chain.size()
    }

    /// Returns whether the first frame of every file has velocities.
    pub(crate) fn has_velocities(&self) -> bool {
        self.has_velocities
    }

    /// Returns whether there is a further frame.
    ///
    /// # Errors
    /// [`Error::AtomCount`] if the host expects another number of atoms; [`Error::Failed`] after a failed read.
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

    /// Skips the next frame.
    pub(crate) fn skip(&mut self) {
        self.next += 1;
    }

    /// Reads the next frame: positions in Å, and velocities in Å/ps if requested and present.
    ///
    /// # Errors
    /// As [`Chain::read_into`]. No frame can be read after an error.
    pub(crate) fn read(
        &mut self,
        positions: &mut [f32],
        velocities: Option<&mut [f32]>,
    ) -> Result<FrameInfo, Error> {
        // Reset at the end: after a panic the host must not continue either.
        self.failed = true;
        let empty = self.scratch.meter.empty_frames;
        let frame = self.read_field(Field::Positions, positions)?;
        if self.scratch.meter.empty_frames > empty && !self.warned {
            let (path, frame) = (self.chain.path_of(self.next as u64).display(), self.next);
            print_line(format_args!("{path}: frame {frame} and perhaps others hold no positions"));
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
        let request = ReadRequest { frames: &self.frames, atoms: &self.atoms, field };
        self.meta.clear();
        let here = self.next..self.next + 1;
        self.chain.read_into(&request, here, &mut self.scratch, out, &mut self.meta)?;
        Ok(self.meta.last())
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
    let request = ReadRequest { frames: &first, atoms: &atom, field };
    let (mut scratch, mut out) = (Scratch::default(), [0.0; 3]);
    let read = reader.read_into(&request, 0..1, &mut scratch, &mut out, &mut FrameMeta::default());
    read.is_ok() && scratch.meter.empty_frames == 0
}

/// Writes a line to the host's console, if it has one.
pub(crate) fn print_line(line: std::fmt::Arguments<'_>) {
    let _ = writeln!(std::io::stderr(), "trajet: {line}");
}
