//! XTC, the compressed trajectory format of GROMACS.
//!
//! Source: the XTC page of the GROMACS reference manual and the XDR library's behaviour, observed
//! from its files; compression by F. van Hoesel. Departures: a header is checked before anything is
//! allocated; a first coordinate outside of the range that its frame declares is an error instead of
//! a wrong number, as are bytes left over behind the last atom.

mod decode;
mod head;
mod index;
mod radix;
mod scan;

use std::ops::Range;
use std::time::Instant;

use crate::index::Stamp;
use crate::reader::{OpenOptions, Opening, ParallelFor, Scratch};
use crate::source::{Meter, Source};
use crate::{Atoms, Error, Fault, FrameIndex, FrameMeta, Frames, Raw, RawPositions};
use crate::{cell_from_vectors, reader};
use decode::{ANGSTROM_PER_NM, Decoded, Used};
use head::Head;
pub use head::{MAGIC, MAGIC_LARGE, PLAIN_ATOMS};
pub(crate) use scan::Groups;

/// Whether a file that begins with `first` may be an XTC trajectory.
pub fn sniff(first: &[u8]) -> bool {
    let magic = [MAGIC.to_be_bytes(), MAGIC_LARGE.to_be_bytes()];
    // A file cut inside its first word is still told by what is left of it.
    let n = first.len().min(4);
    magic.iter().any(|m| m[..n] == first[..n])
}

/// An open XTC trajectory.
#[derive(Debug)]
pub struct Reader {
    source: Source,
    index: FrameIndex,
    stamp: Stamp,
    opening: Opening,
    request_size: usize,
}

impl Reader {
    /// Indexes an open file, from its sidecar where that fits.
    ///
    /// # Errors
    /// [`Error::Truncated`], [`Error::Corrupt`], [`Error::AtomCount`], [`Error::Io`].
    pub fn open(
        source: Source,
        options: &OpenOptions,
        threads: &dyn ParallelFor,
        mut meter: Meter,
        open_ns: u64,
    ) -> Result<Reader, Error> {
        let begin = Instant::now();
        let found = index::find(&source, options, threads, &mut meter)?;
        if source.size() > found.index.end() && !options.allow_truncated_tail {
            return Err(index::cut(&source, &found.index, &mut meter)?);
        }
        Ok(Reader {
            opening: Opening {
                state: found.state,
                sidecar: found.sidecar,
                meter,
                open_ns,
                index_ns: begin.elapsed().as_nanos() as u64,
            },
            request_size: options.request_size.max(1),
            index: found.index,
            stamp: found.stamp,
            source,
        })
    }

    /// Where the bytes that should be asked for together with frame `at` of `frames` end: past
    /// following frames, over gaps of up to a quarter of a request.
    fn wanted_until(&self, frames: &Frames, at: usize) -> u64 {
        let gap = self.request_size as u64 / 4;
        let begin = self.index.offset(frames.get(at));
        let mut end = self.index.offset(frames.get(at) + 1);
        for next in at + 1..frames.len() {
            let offset = self.index.offset(frames.get(next));
            if offset < end || offset - end > gap || end - begin > 2 * self.request_size as u64 {
                break;
            }
            end = self.index.offset(frames.get(next) + 1);
        }
        end
    }

    /// Reads the bytes of one frame and hands them to `decode`: only its front where the last frame
    /// needed no more and the rest is worth leaving out, and all of it where that was too little.
    fn with_frame<T>(
        &self,
        frames: &Frames,
        at: usize,
        scratch: &mut Scratch,
        mut decode: impl FnMut(&Head, &[u8], usize, &mut Groups) -> Result<(Decoded, T), Fault>,
    ) -> Result<(Head, T), Error> {
        scratch.check_stop()?;
        let frame = frames.get(at);
        let offset = self.index.offset(frame);
        let len = (self.index.offset(frame + 1) - offset) as usize;
        // Some frames are a little longer than the last one.
        let front = scratch.enough + scratch.enough / 16 + 256;
        let mut at_hand =
            if len > front && len - front > self.request_size / 4 { front } else { len };
        loop {
            let until = if at_hand < len || scratch.window.holds(offset, len) {
                offset + at_hand as u64
            } else {
                self.wanted_until(frames, at)
            };
            let request = self.request_size;
            let Scratch { window, groups, meter, .. } = &mut *scratch;
            let bytes = window.bytes(&self.source, offset, at_hand, until, request, meter)?;
            let begin = Instant::now();
            let head = self.head_of(frame, offset, &bytes[..at_hand])?;
            let corrupt = |fault| self.corrupt(frame, offset, fault);
            let (decoded, value) = decode(&head, bytes, at_hand, groups).map_err(corrupt)?;
            meter.decode_ns += begin.elapsed().as_nanos() as u64;
            match decoded {
                Decoded::Done(Used { bytes, atoms }) => {
                    meter.frames += 1;
                    meter.bytes_used += bytes;
                    meter.atoms_decoded += atoms;
                    scratch.enough = bytes as usize;
                    return Ok((head, value));
                }
                Decoded::Short { .. } if at_hand < len => at_hand = len,
                Decoded::Short { atom } => return Err(corrupt(Fault::Exhausted { atom })),
            }
        }
    }

    /// The header of a frame, which must be the one that the index saw.
    fn head_of(&self, frame: u64, offset: u64, bytes: &[u8]) -> Result<Head, Error> {
        let same = |head: &Head| {
            let (time, step) =
                (self.index.times()[frame as usize], self.index.steps()[frame as usize]);
            head.n_atoms == self.index.n_atoms()
                && f64::from(head.time).to_bits() == time.to_bits()
                && i64::from(head.step) == step
                && head.len == self.index.offset(frame + 1) - offset
        };
        let path = || self.source.path().to_owned();
        Head::parse(bytes).ok().filter(same).ok_or_else(|| Error::Stale {
            path: path(),
            frame,
            offset,
        })
    }

    fn corrupt(&self, frame: u64, offset: u64, fault: Fault) -> Error {
        Error::Corrupt { path: self.source.path().to_owned(), frame, offset, fault }
    }
}

impl reader::Reader for Reader {
    fn format(&self) -> &'static str {
        "XTC"
    }

    fn source(&self) -> &Source {
        &self.source
    }

    fn index(&self) -> &FrameIndex {
        &self.index
    }

    fn stamp(&self) -> &Stamp {
        &self.stamp
    }

    fn opening(&self) -> &Opening {
        &self.opening
    }

    fn read_into(
        &self,
        frames: &Frames,
        positions: Range<usize>,
        atoms: &Atoms,
        scratch: &mut Scratch,
        out: &mut [f32],
        meta: &mut FrameMeta,
    ) -> Result<(), Error> {
        assert_eq!(atoms.n_total(), self.index.n_atoms(), "atoms of another trajectory");
        assert_eq!(out.len(), positions.len() * atoms.len() * 3, "size of the output");
        self.index.check(frames, self.source.path())?;
        let mut unordered = std::mem::take(&mut scratch.unordered);
        if atoms.order().is_some() {
            unordered.resize(atoms.n_sorted() * 3, 0.0);
        }
        let frame_len = atoms.len() * 3;
        for (k, at) in positions.enumerate() {
            let out = &mut out[k * frame_len..(k + 1) * frame_len];
            let target = if atoms.order().is_some() { &mut unordered[..] } else { &mut out[..] };
            let (head, ()) =
                self.with_frame(frames, at, scratch, |head, bytes, at_hand, groups| {
                    decode::angstroms(head, bytes, at_hand, atoms, groups, target)
                        .map(|decoded| (decoded, ()))
                })?;
            if let Some(order) = atoms.order() {
                let sorted = unordered.as_chunks::<3>().0;
                for (position, &place) in out.as_chunks_mut::<3>().0.iter_mut().zip(order) {
                    *position = sorted[place as usize];
                }
            }
            let cell = cell_from_vectors(&head.vectors, f64::from(ANGSTROM_PER_NM));
            meta.push(frames.get(at), f64::from(head.time), i64::from(head.step), cell);
        }
        scratch.unordered = unordered;
        Ok(())
    }

    fn read_raw(&self, frame: u64, scratch: &mut Scratch) -> Result<Raw, Error> {
        let frames = Frames::Strided { first: frame, step: 1, count: 1 };
        self.index.check(&frames, self.source.path())?;
        let atoms = Atoms::all(self.index.n_atoms());
        let (head, positions) =
            self.with_frame(&frames, 0, scratch, |head, bytes, at_hand, groups| {
                let Some(packed) = &head.packed else {
                    let mut floats = vec![[0.0; 3]; head.n_atoms];
                    let decoded = decode::plain(head, bytes, at_hand, &atoms, &mut floats, |nm| nm);
                    return Ok((decoded, RawPositions::Floats(floats)));
                };
                let mut triples = vec![[0; 3]; head.n_atoms];
                let decoded =
                    decode::integers(head, packed, bytes, at_hand, &atoms, groups, &mut triples)?;
                Ok((decoded, RawPositions::Integers { precision: packed.precision, triples }))
            })?;
        let Head { magic, step, time, vectors, .. } = head;
        Ok(Raw { magic, step, time, vectors, positions })
    }
}

#[cfg(test)]
mod tests;
