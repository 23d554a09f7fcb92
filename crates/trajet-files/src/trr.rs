//! Reads TRR files.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use trajet_formats::trr::decode::{fill, frame_info, reals};
use trajet_formats::trr::head::{Head, MAX_FRONT_BYTES, MAX_HEAD_BYTES, Trr};
use trajet_formats::trr::{Frame, left_out, scale};
use trajet_formats::{Atoms, DecodeError, Field, Format, FrameInfo, Raw, TimePrecision, memory};

use crate::indexed::Indexed;
use crate::reader::{self, ReadRequest};
use crate::source::Source;
use crate::walk::Headers;
use crate::{
    Error, FrameCost, FrameIndex, Frames, Meter, OpenOptions, Opening, ParallelFor, Scratch, Watch,
    indexing,
};

/// An open TRR trajectory.
#[derive(Debug)]
pub struct Reader {
    file: Indexed,
}

impl Reader {
    /// Opens a file and indexes its frames, from the sidecar if that is valid.
    ///
    /// # Errors
    /// [`Error::Truncated`], [`Error::Corrupt`], [`Error::AtomCount`], [`Error::Io`].
    pub fn open(
        source: Source,
        options: &OpenOptions,
        threads: &dyn ParallelFor,
        mut opening: Opening,
    ) -> Result<Reader, Error> {
        let begin = Instant::now();
        let found =
            indexing::frames_of::<Headers<Trr>>(&source, options, threads, &mut opening.meter)?;
        let file = Indexed::new(source, found, options, opening, begin)?;
        // A false number of atoms must not determine how much memory is allocated.
        let n_atoms = file.index.n_atoms();
        if 12 * n_atoms as u64 > file.source.size() {
            let words = format!("the header claims {n_atoms} atoms, for which no frame has room");
            return Err(file.corrupt(0, DecodeError::Malformed(words)));
        }
        Ok(Reader { file })
    }

    /// Creates the reader of a file that is indexed already.
    pub(crate) fn known(file: Indexed) -> Reader {
        Reader { file }
    }

    /// Parses the header of a frame that begins with `bytes`, and checks it against the index.
    fn head(&self, frame: u64, bytes: &[u8]) -> Result<Head, Error> {
        let head = Head::parse(bytes).ok();
        self.file.check(frame, head.as_ref().map(Head::mark).as_ref())?;
        Ok(head.expect("checked just now"))
    }

    /// Reads the header of a frame.
    fn head_alone(&self, frame: u64, meter: &mut Meter) -> Result<Head, Error> {
        let (offset, len) = self.file.place(frame);
        let mut front = [0; MAX_HEAD_BYTES];
        let front = &mut front[..MAX_HEAD_BYTES.min(len)];
        self.file.source.read_at(offset, front, meter)?;
        self.head(frame, front)
    }

    /// Reads a whole frame, together with the frames requested next.
    fn whole<'s>(
        &self,
        frames: &Frames,
        at: usize,
        scratch: &'s mut Scratch,
    ) -> Result<(Head, &'s [u8]), Error> {
        let bytes = self.file.whole(frames, at, scratch)?;
        Ok((self.head(frames.get(at), bytes)?, bytes))
    }

    /// Reads the front of a frame and the vectors of the atoms in `span`. One request suffices if the vectors
    /// begin soon after the front and lie where those of the last frame did.
    fn span(
        &self,
        frame: u64,
        field: Field,
        span: &Range<usize>,
        state: &mut WorkerState,
        meter: &mut Meter,
    ) -> Result<Head, Error> {
        let (offset, len) = self.file.place(frame);
        let place = |head: &Head| {
            let vector = 3 * head.real;
            let all = head.vectors(field)?;
            Some(all.start + vector * span.start..all.start + vector * span.end)
        };
        let guess = state.last.as_ref().and_then(place);
        let near =
            guess.filter(|guess| guess.start <= self.file.source.gap(self.file.request_size));
        let front = near.as_ref().map_or(MAX_FRONT_BYTES, |near| near.end).min(len);
        memory::resize(&mut state.front, front, 0, "the bytes of a frame")?;
        self.file.source.read_at(offset, &mut state.front, meter)?;
        let head = self.head(frame, &state.front)?;
        state.last = Some(head);
        state.vectors.clear();
        state.used = head.part(0).map_or(0, |place| place.end);
        if let Some(place) = place(&head) {
            state.used += place.len();
            if place.end <= front {
                state.vectors.extend_from_slice(&state.front[place]);
            } else {
                memory::resize(&mut state.vectors, place.len(), 0, "the bytes of a frame")?;
                self.file.source.read_at(offset + place.start as u64, &mut state.vectors, meter)?;
            }
        }
        Ok(head)
    }
}

/// Buffers that a worker keeps between frames.
#[derive(Debug, Default)]
struct WorkerState {
    last: Option<Head>,
    front: Vec<u8>,
    vectors: Vec<u8>,
    /// Bytes of the last frame that were used.
    used: usize,
}

impl reader::Reader for Reader {
    fn format(&self) -> &'static str {
        Format::Trr.name()
    }

    fn file(&self) -> &Indexed {
        &self.file
    }

    fn time_precision(&self) -> TimePrecision {
        // Frames of double precision hold other numbers too.
        let is_single = |&time: &f64| f64::from(time as f32) == time;
        match self.file.index.times().iter().all(is_single) {
            true => TimePrecision::Single,
            false => TimePrecision::Double,
        }
    }

    fn read_frame(
        &self,
        &ReadRequest { frames, atoms, field }: &ReadRequest<'_>,
        at: usize,
        scratch: &mut Scratch,
        out: &mut [f32],
    ) -> Result<(FrameInfo, FrameCost), Error> {
        let frame = frames.get(at);
        let len = self.file.place(frame).1;
        let span = atoms.span();
        let out = out.as_chunks_mut::<3>().0;
        let set = scratch.set;
        // Bytes needed in double precision: an upper bound, so that no header must be read to decide.
        let needed = MAX_FRONT_BYTES + 24 * span.len();
        let spares =
            len.saturating_sub(needed) > self.file.source.least_spared(self.file.request_size);
        Ok(if spares && scratch.expected.is_none() {
            let mut state: Box<WorkerState> = scratch.take_own();
            let head = self.span(frame, field, &span, &mut state, &mut scratch.meter)?;
            let there = head.vectors(field).map(|_| &state.vectors[..]);
            let from = span.start as u32;
            fill(set, head.real, there, atoms.sorted(), from, scale(field), out);
            let cost = cost(state.used, there.map(|_| out.len()));
            let info = frame_info(&head, &state.front);
            scratch.keep_own(state);
            (info, cost)
        } else {
            let (head, bytes) = self.whole(frames, at, scratch)?;
            let there = head.vectors(field).map(|place| &bytes[place]);
            fill(set, head.real, there, atoms.sorted(), 0, scale(field), out);
            (frame_info(&head, bytes), cost(len, there.map(|_| out.len())))
        })
    }

    fn whole_raw(&self, frames: &Frames, at: usize, scratch: &mut Scratch) -> Result<Raw, Error> {
        let (head, bytes) = self.whole(frames, at, scratch)?;
        let n_bytes = bytes.len() as u64;
        let part = |k: usize| Some(reals(head.real, &bytes[head.part(k)?]));
        let Head { n_atoms, real, step, time, lambda, .. } = head;
        let [vectors, virial, pressure, positions, velocities, forces] =
            [0, 1, 2, 3, 4, 5].map(part);
        let double = real == 8;
        scratch.meter.bytes_used += n_bytes;
        Ok(Raw::Trr(Frame {
            n_atoms,
            double,
            step,
            time,
            lambda,
            vectors,
            virial,
            pressure,
            positions,
            velocities,
            forces,
        }))
    }

    fn as_format_data(&self) -> Option<&dyn reader::FormatData> {
        Some(self)
    }

    fn as_reindex(&self) -> Option<&dyn reader::Reindex> {
        Some(self)
    }

    fn as_partial_index(&self) -> Option<&dyn reader::PartialIndex> {
        Some(self)
    }

    fn as_copy_frames(&self) -> Option<&dyn reader::CopyFrames> {
        Some(self)
    }
}

impl reader::FormatData for Reader {
    fn left_out(&self, frame: u64, _: &Atoms, scratch: &mut Scratch) -> Result<Vec<String>, Error> {
        let head = self.head_alone(frame, &mut scratch.meter)?;
        let [virial, pressure] = [1, 2].map(|part| head.part(part).is_some());
        Ok(left_out(head.lambda, virial, pressure))
    }

    fn observables(
        &self,
        frame: u64,
        scratch: &mut Scratch,
    ) -> Result<Vec<(&'static str, f64)>, Error> {
        let head = self.head_alone(frame, &mut scratch.meter)?;
        Ok(vec![("lambda", head.lambda)])
    }
}

impl reader::Reindex for Reader {
    fn indexed_again(
        &self,
        threads: &dyn ParallelFor,
        watch: &Arc<Watch>,
    ) -> Result<FrameIndex, Error> {
        indexing::indexed_again::<Headers<Trr>>(&self.file, threads, watch)
    }
}

impl reader::PartialIndex for Reader {
    fn with_index(&self, index: FrameIndex) -> Arc<dyn reader::Reader> {
        Arc::new(Reader::known(self.file.with_index(index)))
    }
}

impl reader::CopyFrames for Reader {
    fn copy_frames(
        &self,
        frames: Range<u64>,
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let look = |bytes: &[u8]| {
            let head = Head::parse(bytes).ok()?;
            Some((head.mark(), frame_info(&head, bytes).cell))
        };
        self.file.copy(frames, &mut scratch.meter, out, look)
    }
}

/// Returns the cost of a frame; `decoded` is `None` if the frame lacks the requested field.
fn cost(used: usize, decoded: Option<usize>) -> FrameCost {
    FrameCost { bytes: used as u64, atoms: decoded.map(|atoms| atoms as u64) }
}

#[cfg(test)]
mod tests;
