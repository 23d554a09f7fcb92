//! Reads XTC files.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use trajet_formats::codec::Mark;
use trajet_formats::messages::rounded;
use trajet_formats::xtc::decode::{self, DecodeCost, Decoded, Memory};
use trajet_formats::xtc::head::{self, ANGSTROM_PER_NM, Head, Xtc};
use trajet_formats::xtc::{Frame, Positions};
use trajet_formats::{
    Atoms, DecodeError, Field, Format, FrameInfo, Message, Raw, TimePrecision, cell_from_vectors,
    memory, turned_vectors,
};

use crate::indexed::Indexed;
use crate::reader::{self, ReadRequest};
use crate::remote::EnoughBytes;
use crate::source::Source;
use crate::walk::Headers;
use crate::{
    Error, FrameCost, FrameIndex, Frames, OpenOptions, Opening, ParallelFor, Scratch, Watch,
    indexing,
};

/// An open XTC trajectory.
#[derive(Debug)]
pub struct Reader {
    file: Indexed,
    /// Precision (steps per nm) of the first frame, if known and if its positions are compressed.
    precision: Option<f32>,
    /// Bytes that were enough to decode some first atoms, of an object in remote storage.
    enough: Arc<EnoughBytes>,
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
            indexing::frames_of::<Headers<Xtc>>(&source, options, threads, &mut opening.meter)?;
        let precision = head::precision(&opening.first);
        let file = Indexed::new(source, found, options, opening, begin)?;
        Ok(Reader { file, precision, enough: Arc::default() })
    }

    /// Creates the reader of a file that is indexed already.
    pub(crate) fn known(file: Indexed) -> Reader {
        Reader { file, precision: None, enough: Arc::default() }
    }

    /// Reads the bytes of one frame and passes them to `decode`. Reads only the front of the frame if the last
    /// frame needed no more and the rest is large enough to skip; if `decode` needs more, reads the frame
    /// whole and calls `decode` again. Of an object in remote storage, frames before tell how much is enough for any
    /// thread, and a little more is read if it was not.
    fn with_frame<T>(
        &self,
        frames: &Frames,
        at: usize,
        atoms: &Atoms,
        scratch: &mut Scratch,
        mut decode: impl FnMut(&Head, &[u8], usize, &mut Memory) -> Result<(Decoded, T), DecodeError>,
    ) -> Result<(Head, T, FrameCost), Error> {
        let file = &self.file;
        let frame = frames.get(at);
        let (offset, len) = file.place(frame);
        let mut state: Box<WorkerState> = scratch.take_own();
        let is_remote = file.source.remote().is_some();
        let (first_atoms, n_atoms) = (atoms.span().end, atoms.n_total());
        if is_remote {
            state.enough = self.enough.guess(first_atoms, n_atoms, len);
        }
        // Margin for frames that need a little more than the last one.
        let front = state.enough + state.enough / 16 + 256;
        let spares = len > front && len - front > file.source.gap(file.request_size);
        let Scratch { window, meter, expected, .. } = &mut *scratch;
        let mut at_hand = if spares && expected.is_none() { front } else { len };
        let (head, value, cost) = loop {
            let until = if at_hand < len || window.holds(&file.source, offset, len) {
                offset + at_hand as u64
            } else {
                file.wanted_until(frames, at)
            };
            let request = file.request_size;
            let bytes = window.bytes(&file.source, offset, at_hand, until, request, meter)?;
            file.compare(frame, &bytes[..at_hand], *expected)?;
            let head = Head::parse(&bytes[..at_hand]).ok();
            file.check(frame, head.as_ref().map(Head::mark).as_ref())?;
            let head = head.expect("checked just now");
            let corrupt = |fault| file.corrupt(frame, fault);
            let (decoded, value) =
                decode(&head, bytes, at_hand, &mut state.memory).map_err(corrupt)?;
            match decoded {
                Decoded::Done(DecodeCost { bytes, atoms }) => {
                    state.enough = bytes as usize;
                    if is_remote {
                        self.enough.record(first_atoms, state.enough);
                    }
                    break (head, value, FrameCost { bytes, atoms: Some(atoms) });
                }
                Decoded::Short { .. } if at_hand < len && is_remote => {
                    at_hand = len.min(at_hand + at_hand / 4 + 4096);
                }
                Decoded::Short { .. } if at_hand < len => at_hand = len,
                Decoded::Short { atom } => return Err(corrupt(DecodeError::Exhausted { atom })),
            }
        };
        scratch.keep_own(state);
        Ok((head, value, cost))
    }
}

/// Buffers and estimates that a worker keeps between frames.
#[derive(Debug, Default)]
struct WorkerState {
    memory: Memory,
    /// Bytes that decoding the last frame needed.
    enough: usize,
}

impl reader::Reader for Reader {
    fn format(&self) -> &'static str {
        Format::Xtc.name()
    }

    fn file(&self) -> &Indexed {
        &self.file
    }

    fn messages(&self) -> Vec<Message> {
        self.precision.and_then(rounded).into_iter().collect()
    }

    fn time_precision(&self) -> TimePrecision {
        TimePrecision::Single
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
        let set = scratch.set;
        let decode = |head: &Head, bytes: &[u8], at_hand, memory: &mut Memory| {
            decode::angstroms(set, head, bytes, at_hand, atoms, memory, out).map(|done| (done, ()))
        };
        let (head, (), cost) = self.with_frame(frames, at, atoms, scratch, decode)?;
        let Mark { time, step, .. } = head.mark();
        let (vectors, scale) = (head.vectors.map(f64::from), f64::from(ANGSTROM_PER_NM));
        let cell = cell_from_vectors(&vectors, scale);
        let turned = turned_vectors(&vectors, scale);
        Ok((FrameInfo::of_periodic(time, step, cell, turned), cost))
    }

    fn whole_raw(&self, frames: &Frames, at: usize, scratch: &mut Scratch) -> Result<Raw, Error> {
        self.raw(frames, at, &Atoms::all(self.file.index.n_atoms()), scratch)
    }

    fn raw(
        &self,
        frames: &Frames,
        at: usize,
        atoms: &Atoms,
        scratch: &mut Scratch,
    ) -> Result<Raw, Error> {
        let set = scratch.set;
        let timer = scratch.meter.start_decode_timer();
        let (head, positions, cost) =
            self.with_frame(frames, at, atoms, scratch, |head, bytes, at_hand, memory| {
                let Some(packed) = &head.packed else {
                    let n = atoms.n_sorted();
                    let mut floats = memory::filled(n, [0.0; 3], "the atoms of a frame")?;
                    let decoded = decode::plain(head, bytes, at_hand, atoms, &mut floats, |nm| nm);
                    return Ok((decoded, Positions::Floats(floats)));
                };
                let mut triples = Vec::new();
                let out = &mut triples;
                let decoded =
                    decode::integers(set, head, packed, bytes, at_hand, atoms, memory, out)?;
                Ok((decoded, Positions::Integers { precision: packed.precision, triples }))
            })?;
        scratch.meter.stop_decode_timer(&timer);
        scratch.meter.count_frame(cost);
        let Head { magic, step, time, vectors, .. } = head;
        let raw = Frame { magic, step, time, vectors, positions };
        self.file.check_cell(frames.get(at), &raw.cell())?;
        let order = |order: &[u32]| order.iter().map(|&place| place as usize).collect::<Vec<_>>();
        Ok(Raw::Xtc(atoms.order().map(|o| raw.take(&order(o))).unwrap_or(raw)))
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

impl reader::Reindex for Reader {
    fn indexed_again(
        &self,
        threads: &dyn ParallelFor,
        watch: &Arc<Watch>,
    ) -> Result<FrameIndex, Error> {
        indexing::indexed_again::<Headers<Xtc>>(&self.file, threads, watch)
    }
}

impl reader::PartialIndex for Reader {
    fn with_index(&self, index: FrameIndex) -> Arc<dyn reader::Reader> {
        let (file, precision) = (self.file.with_index(index), self.precision);
        Arc::new(Reader { file, precision, enough: Arc::clone(&self.enough) })
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
            Some((head.mark(), cell_from_vectors(&head.vectors.map(f64::from), 1.0)))
        };
        self.file.copy(frames, &mut scratch.meter, out, look)
    }
}

#[cfg(test)]
mod tests;
