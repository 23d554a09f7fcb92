//! Reads files whose frames are decoded from all of their bytes, of any such format.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use trajet_formats::compression::Compression;
use trajet_formats::frame_format::{DecodedFrame, FrameFormat};
use trajet_formats::{
    Code, DecodeError, Field, FormatOptions, FrameInfo, Identity, Message, Raw, TimePrecision,
    memory,
};

use crate::compressed::Layout;
use crate::indexed::Indexed;
use crate::indexing::{Indexing, frames_of, indexed_again};
use crate::opener::KnownFile;
use crate::reader::{self, NUMBERED_TIMES, ReadRequest, WorkerFile};
use crate::source::Source;
use crate::{
    Error, FrameCost, FrameIndex, Frames, IndexState, Meter, OpenOptions, Opening, ParallelFor,
    Scratch, Watch,
};

/// Positions take 12 bytes of memory each, and at most 48 bytes for each byte of the file.
const MAX_ATOMS_PER_BYTE: u64 = 4;

/// An open file whose frames are decoded from all of their bytes, and found by `I`.
pub(crate) struct Reader<F: FrameFormat, I> {
    file: Indexed,
    shared: Arc<F::Shared>,
    messages: Vec<Message>,
    first: First,
    indexing: PhantomData<I>,
}

/// Frame 0, whose atoms all frames have.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct First {
    identity: Identity,
    /// The byte behind it; it begins at byte 0.
    end: u64,
}

/// Returns what all frames share, frame 0 and its number of atoms, from its bytes.
fn decoded<F: FrameFormat>(
    bytes: &[u8],
    options: &FormatOptions,
) -> Result<(F::Shared, First, usize), DecodeError> {
    let shared = F::shared(bytes, options)?;
    let found = F::decode(bytes, &shared, Field::Positions, Some(&[]), &mut [])?;
    Ok((shared, First { identity: found.identity, end: bytes.len() as u64 }, found.n_atoms))
}

impl<F: FrameFormat, I: Indexing> Reader<F, I> {
    /// Opens a file and indexes its frames, from the sidecar if that is valid.
    ///
    /// # Errors
    /// [`Error::Truncated`], [`Error::Corrupt`], [`Error::AtomCount`], [`Error::Io`].
    pub(crate) fn open(
        source: Source,
        options: &OpenOptions,
        threads: &dyn ParallelFor,
        mut opening: Opening,
    ) -> Result<Self, Error> {
        let begin = Instant::now();
        let mut found = frames_of::<I>(&source, options, threads, &mut opening.meter)?;
        let mut first = first_frame(&source, &found.index, &mut opening.meter)?;
        let mut shared = decoded::<F>(&first, &options.formats);
        let n_indexed = found.index.n_atoms();
        let fits = shared.as_ref().is_ok_and(|(.., n_atoms)| *n_atoms == n_indexed);
        if matches!(found.state, IndexState::Published) && !fits {
            let anew = OpenOptions { rebuild_index: true, ..options.clone() };
            found = frames_of::<I>(&source, &anew, threads, &mut opening.meter)?;
            found.messages = vec![Code::IndexNotUsed.message(format!(
                "the index published beside {} is not used: frame 0 is not one of {n_indexed} atoms; frames were \
                 searched",
                source.path().display()
            ))];
            first = first_frame(&source, &found.index, &mut opening.meter)?;
            shared = decoded::<F>(&first, &options.formats);
        }
        let mut messages = messages_on_end::<F>(&source, &found.index, &first, &mut opening.meter)?;
        drop(first);
        let (shared, first, _) =
            shared.map_err(|fault| Error::of_frame(source.path(), 0, 0, fault))?;
        messages.extend(F::messages(&shared));
        let index = Arc::unwrap_or_clone(found.index);
        found.index = Arc::new(with_times::<F>(&shared, index));
        let mut file = Indexed::new(source, found, options, opening, begin)?;
        if let Some((compression, Layout { streams, .. })) = file.source.layout()
            && streams.is_empty()
            && file.index.n_frames() > 1
        {
            file.opening.messages.push(sequential(compression));
        }
        if file.source.is_cut() && file.source.size() == file.index.end() {
            let text = "the compressed file ends too early, behind a whole frame";
            file.opening.messages.push(Code::CutFrame.message(text));
        }
        let n_atoms = file.index.n_atoms();
        // A false number of atoms must not determine how much memory is allocated.
        if n_atoms as u64 / MAX_ATOMS_PER_BYTE > file.source.size() {
            let words = format!("the file claims {n_atoms} atoms, for which it has no room");
            return Err(file.corrupt(0, DecodeError::Malformed(words)));
        }
        Ok(Reader { file, shared: shared.into(), first, messages, indexing: PhantomData })
    }

    /// Creates the reader of a file that another process has opened.
    ///
    /// # Errors
    /// [`Error::UnknownFormat`] if its data is not that of [`reader::Reader::for_worker`].
    pub(crate) fn known(
        mut file: KnownFile<'_>,
        index: FrameIndex,
        options: &OpenOptions,
    ) -> Result<Self, Error> {
        let (shared, first, layout): (_, _, Option<(Compression, Layout)>) = file.decoded()?;
        if let Some((compression, layout)) = layout {
            file.source.uncompress(compression);
            file.source.set_layout(layout);
        }
        let (file, shared) = (file.indexed(index, options), Arc::new(shared));
        Ok(Reader { file, shared, first, messages: Vec::new(), indexing: PhantomData })
    }

    /// Returns time, step and cell of a frame, after comparing it with the index and its atoms with those of frame 0.
    fn info(
        &self,
        frame: u64,
        bytes: &[u8],
        decoded: &DecodedFrame,
        meter: &mut Meter,
    ) -> Result<FrameInfo, Error> {
        let (time, step) = self.file.index.when(frame);
        let same = decoded.n_atoms == self.file.index.n_atoms()
            && decoded.time.is_none_or(|found| found.to_bits() == time.to_bits())
            && decoded.step.is_none_or(|found| found == step);
        if !same {
            let path = self.file.source.path().to_owned();
            return Err(Error::Stale { path, frame, offset: self.file.index.offset(frame) });
        }
        if !decoded.identity.agrees_with(&self.first.identity) {
            self.compare_atoms(frame, bytes, meter)?;
        }
        let (cell, turned, periodic) = decoded.reported_box;
        Ok(FrameInfo { time, step, cell, turned, periodic, origin: decoded.origin })
    }

    /// Checks that a frame names the same atoms as frame 0, in the same order.
    #[cold]
    fn compare_atoms(&self, frame: u64, bytes: &[u8], meter: &mut Meter) -> Result<(), Error> {
        let mut first = Vec::new();
        memory::resize(&mut first, self.first.end as usize, 0, "the bytes of a frame")?;
        self.file.source.read_at(0, &mut first, meter)?;
        let different = F::difference(&first, bytes);
        match different.map_err(|fault| self.file.corrupt(frame, fault))? {
            None => Ok(()),
            Some(what) => {
                let path = self.file.source.path().to_owned();
                Err(Error::OtherAtoms { path, frame, offset: self.file.index.offset(frame), what })
            }
        }
    }
}

impl<F: FrameFormat, I: Indexing> reader::Reader for Reader<F, I> {
    fn format(&self) -> &'static str {
        F::FORMAT.name()
    }

    fn file(&self) -> &Indexed {
        &self.file
    }

    fn messages(&self) -> Vec<Message> {
        self.messages.clone()
    }

    fn time_precision(&self) -> TimePrecision {
        TimePrecision::Text
    }

    fn missing_times(&self) -> Option<Message> {
        let code = F::missing_times(&self.shared);
        (!F::has_times(&self.shared)).then(|| code.message_with_fix(NUMBERED_TIMES))
    }

    fn read_frame(
        &self,
        &ReadRequest { frames, atoms, field }: &ReadRequest<'_>,
        at: usize,
        scratch: &mut Scratch,
        out: &mut [f32],
    ) -> Result<(FrameInfo, FrameCost), Error> {
        if !F::FIELDS.contains(&field) {
            return Err(self.file.no_field(F::FORMAT.name(), field));
        }
        let frame = frames.get(at);
        let bytes = self.file.whole(frames, at, scratch)?;
        let n_bytes = bytes.len() as u64;
        let out = out.as_chunks_mut::<3>().0;
        let decoded = F::decode(bytes, &self.shared, field, atoms.sorted(), out)
            .map_err(|fault| self.file.corrupt(frame, fault))?;
        let mut compared = Meter::default();
        let info = self.info(frame, bytes, &decoded, &mut compared)?;
        scratch.meter.add(&compared);
        let atoms = decoded.has_field.then_some(out.len() as u64);
        Ok((info, FrameCost { bytes: n_bytes, atoms }))
    }

    fn whole_raw(&self, frames: &Frames, at: usize, scratch: &mut Scratch) -> Result<Raw, Error> {
        let frame = frames.get(at);
        let bytes = self.file.whole(frames, at, scratch)?;
        let n_bytes = bytes.len() as u64;
        let corrupt = |fault| self.file.corrupt(frame, fault);
        let decoded = F::decode(bytes, &self.shared, Field::Positions, Some(&[]), &mut []);
        let mut compared = Meter::default();
        let info = self.info(frame, bytes, &decoded.map_err(corrupt)?, &mut compared)?;
        let n_atoms = self.file.index.n_atoms();
        let raw = F::raw(bytes, &self.shared, n_atoms, info.time, info.step).map_err(corrupt)?;
        scratch.meter.add(&compared);
        scratch.meter.bytes_used += n_bytes;
        Ok(raw)
    }

    fn for_worker(&self, _: &trajet_formats::Atoms) -> Result<WorkerFile, Error> {
        let layout = self.file.source.layout();
        Ok(WorkerFile::new(F::FORMAT.name(), &(&*self.shared, self.first, layout)))
    }

    fn as_reindex(&self) -> Option<&dyn reader::Reindex> {
        Some(self)
    }

    fn as_partial_index(&self) -> Option<&dyn reader::PartialIndex> {
        Some(self)
    }
}

impl<F: FrameFormat, I: Indexing> reader::Reindex for Reader<F, I> {
    fn indexed_again(
        &self,
        threads: &dyn ParallelFor,
        watch: &Arc<Watch>,
    ) -> Result<FrameIndex, Error> {
        Ok(with_times::<F>(&self.shared, indexed_again::<I>(&self.file, threads, watch)?))
    }
}

impl<F: FrameFormat, I: Indexing> reader::PartialIndex for Reader<F, I> {
    fn with_index(&self, index: FrameIndex) -> Arc<dyn reader::Reader> {
        let (file, shared) = (self.file.with_index(index), Arc::clone(&self.shared));
        let (first, messages) = (self.first, self.messages.clone());
        Arc::new(Reader::<F, I> { file, shared, first, messages, indexing: PhantomData })
    }
}

/// Returns the message on a compressed file of one stream.
fn sequential(compression: Compression) -> Message {
    Code::SequentialAccess.message(format!(
        "a single {} stream: to read a frame, all frames before it are uncompressed",
        compression.name()
    ))
}

/// Returns an index with the times (ps) of its frames, for that of a scan.
fn with_times<F: FrameFormat>(shared: &F::Shared, index: FrameIndex) -> FrameIndex {
    index.with_times(|number, time, step| F::time(shared, number, time, step))
}

/// Returns the messages on the end of a file. On that of one whose last frame is left out there is another message.
fn messages_on_end<F: FrameFormat>(
    source: &Source,
    index: &FrameIndex,
    first: &[u8],
    meter: &mut Meter,
) -> Result<Vec<Message>, Error> {
    let size = source.size();
    if F::TAIL_BYTES == 0 || size > index.end() {
        return Ok(Vec::new());
    }
    let n = size.min(F::TAIL_BYTES as u64);
    let mut tail = vec![0; n as usize];
    source.read_at(size - n, &mut tail, meter)?;
    Ok(F::messages_on_end(first, &tail, index.n_frames() == 1))
}

/// Returns the bytes of frame 0.
pub(crate) fn first_frame(
    source: &Source,
    index: &FrameIndex,
    meter: &mut Meter,
) -> Result<Vec<u8>, Error> {
    let Range { start, end } = index.extent(0);
    let mut bytes = Vec::new();
    memory::resize(&mut bytes, (end - start) as usize, 0, "the bytes of a frame")?;
    source.read_at(start, &mut bytes, meter)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests;
