//! An open file with its index, the basis of the readers of all formats.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use trajet_formats::codec::Mark;
use trajet_formats::{DecodeError, Field, xxh3_64};

use crate::sidecar::Found;
use crate::source::Source;
use crate::{Error, FrameIndex, Frames, Meter, OpenOptions, Opening, Scratch, Stamp};

/// An open trajectory file and its frame index.
#[derive(Debug)]
pub struct Indexed {
    /// The file.
    pub source: Arc<Source>,
    /// The index of its frames, or a part of it.
    pub index: Arc<FrameIndex>,
    /// The stamp that ties the index to the file.
    pub stamp: Stamp,
    pub(crate) opening: Opening,
    pub(crate) request_size: usize,
}

impl Indexed {
    /// Combines an open file with its index; `begin` is the time at which the search for the index began.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn new(
        mut source: Source,
        found: Found,
        options: &OpenOptions,
        mut opening: Opening,
        begin: Instant,
    ) -> Result<Self, Error> {
        let Found { index, stamp, state, sidecar, mut messages } = found;
        if let Some(handles) = &options.handles {
            source.share(handles, stamp)?;
        }
        opening.state = state;
        opening.sidecar = sidecar;
        if let Some(remote) = source.remote() {
            messages.extend_from_slice(remote.object().messages());
        }
        opening.messages = messages;
        opening.index_ns = begin.elapsed().as_nanos() as u64;
        let request_size = options.request_size.max(1);
        Ok(Indexed { source: Arc::new(source), index, stamp, opening, request_size })
    }

    /// Combines a file with `index`, a part of an index that was made by another process.
    pub(crate) fn known(source: Source, index: FrameIndex, stamp: Stamp, request: usize) -> Self {
        let (source, index, opening) = (Arc::new(source), index.into(), Opening::default());
        Indexed { source, index, stamp, opening, request_size: request.max(1) }
    }

    /// Returns the same file with another part of its index.
    #[must_use]
    pub fn with_index(&self, index: FrameIndex) -> Self {
        let (source, index) = (Arc::clone(&self.source), index.into());
        let opening = self.opening.clone();
        Indexed { source, index, stamp: self.stamp, opening, request_size: self.request_size }
    }

    /// Returns the offset and the size of a frame in bytes.
    pub(crate) fn place(&self, frame: u64) -> (u64, usize) {
        let Range { start, end } = self.index.extent(frame);
        (start, (end - start) as usize)
    }

    /// Returns the end of the bytes to read together with frame `at` of `frames`. They include following frames,
    /// across small gaps ([`Source::gap`]).
    pub(crate) fn wanted_until(&self, frames: &Frames, at: usize) -> u64 {
        let gap = self.source.gap(self.request_size) as u64;
        let Range { start: begin, mut end } = self.index.extent(frames.get(at));
        for next in at + 1..frames.len() {
            let next = self.index.extent(frames.get(next));
            let far = next.start < end || next.start - end > gap;
            if far || end - begin > 2 * self.request_size as u64 {
                break;
            }
            end = next.end;
        }
        end
    }

    /// Returns the bytes of a whole frame, which are read together with those of the next requested frames.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Altered`].
    pub(crate) fn whole<'s>(
        &self,
        frames: &Frames,
        at: usize,
        scratch: &'s mut Scratch,
    ) -> Result<&'s [u8], Error> {
        let Scratch { window, meter, expected, .. } = scratch;
        let (offset, len) = self.place(frames.get(at));
        let until = match window.holds(&self.source, offset, len) {
            true => offset + len as u64,
            false => self.wanted_until(frames, at),
        };
        let bytes = window.bytes(&self.source, offset, len, until, self.request_size, meter)?;
        let bytes = &bytes[..len];
        self.compare(frames.get(at), bytes, *expected)?;
        Ok(bytes)
    }

    /// Appends the bytes of consecutive frames to `out`. `look` decodes the header and the cell of each; the header
    /// must match the index.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Stale`], [`Error::Corrupt`].
    pub(crate) fn copy(
        &self,
        frames: Range<u64>,
        meter: &mut Meter,
        out: &mut Vec<u8>,
        look: impl Fn(&[u8]) -> Option<(Mark, [f64; 6])>,
    ) -> Result<(), Error> {
        let begin = self.index.offset(frames.start);
        let end = self.index.extent(frames.end - 1).end;
        let old = out.len();
        let len = old + (end - begin) as usize;
        trajet_formats::memory::resize(out, len, 0, "the bytes of frames")?;
        let mut from = begin;
        for piece in out[old..].chunks_mut(self.request_size) {
            self.source.read_at(from, piece, meter)?;
            from += piece.len() as u64;
        }
        for frame in frames {
            let (offset, len) = self.place(frame);
            let at = old + (offset - begin) as usize;
            let (mark, cell) = look(&out[at..at + len]).unzip();
            self.check(frame, mark.as_ref())?;
            self.check_cell(frame, &cell.unwrap_or([f64::NAN; 6]))?;
            meter.frames += 1;
            meter.bytes_used += len as u64;
        }
        Ok(())
    }

    /// Checks the bytes of a frame against their recorded digest, if there is one.
    ///
    /// # Errors
    /// [`Error::Altered`].
    pub(crate) fn compare(
        &self,
        frame: u64,
        bytes: &[u8],
        expected: Option<u64>,
    ) -> Result<(), Error> {
        if expected.is_none_or(|expected| xxh3_64(bytes) == expected) {
            return Ok(());
        }
        let offset = self.index.offset(frame);
        let what = format!("frame {frame} at byte {offset} is not the one that was written");
        Err(Error::Altered { path: self.source.path().to_owned(), what })
    }

    /// Checks that a frame is the one that was indexed; `mark` comes from its current header, `None` if that is
    /// no longer valid.
    ///
    /// # Errors
    /// [`Error::Stale`].
    pub(crate) fn check(&self, frame: u64, mark: Option<&Mark>) -> Result<(), Error> {
        if mark.is_some_and(|mark| self.index.knows(frame, mark)) {
            return Ok(());
        }
        let path = self.source.path().to_owned();
        Err(Error::Stale { path, frame, offset: self.index.offset(frame) })
    }

    /// Checks that all numbers of a frame's box were finite: readers return an infinite cell if one is not.
    ///
    /// # Errors
    /// [`Error::Corrupt`].
    pub fn check_cell(&self, frame: u64, cell: &[f64; 6]) -> Result<(), Error> {
        match cell.iter().any(|number| number.is_infinite()) {
            true => Err(self.corrupt(frame, DecodeError::Box)),
            false => Ok(()),
        }
    }

    /// Returns the error for a field that this format, or this file, does not have.
    pub(crate) fn no_field(&self, format: &'static str, field: Field) -> Error {
        Error::NoField { path: self.source.path().to_owned(), format, field: field.name() }
    }

    /// Returns the error for a frame whose bytes contradict the format.
    pub(crate) fn corrupt(&self, frame: u64, fault: DecodeError) -> Error {
        Error::of_frame(self.source.path(), frame, self.index.offset(frame), fault)
    }
}
