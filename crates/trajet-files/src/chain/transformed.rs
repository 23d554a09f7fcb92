//! Reads frames whose positions are changed after decoding.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use trajet_formats::{Atoms, FrameInfo, FrameMeta, NO_ORIGIN, Snapshot, memory};

use super::{Chain, Segment};
use crate::reader::ReadRequest;
use crate::transform::{ChainTransform, PreparedTransform, TransformWarnings};
use crate::{Error, Frames, Scratch};

impl Chain {
    /// Returns the same files with `transform` applied to the positions of every frame, instead of an earlier transform.
    #[must_use]
    pub fn transformed(&self, transform: Arc<ChainTransform>) -> Chain {
        Chain { transform: Some(transform), ..self.copied() }
    }

    /// Returns the same frames of the same open files.
    pub(super) fn copied(&self) -> Chain {
        let segment = |segment: &Segment| Segment {
            reader: Arc::clone(&segment.reader),
            dropped: segment.dropped,
            checked: AtomicBool::new(segment.checked.load(Ordering::Relaxed)),
        };
        Chain {
            segments: self.segments.iter().map(segment).collect(),
            runs: self.runs.clone(),
            n_frames: self.n_frames,
            messages: self.messages.clone(),
            time_messages: self.time_messages.clone(),
            clock: self.clock,
            alone: self.alone,
            continuous: self.continuous,
            transform: self.transform.clone(),
        }
    }

    /// Returns whether positions are changed after decoding. Frames as their format stores them
    /// ([`Chain::read_raw`], …) are not; [`Chain::read_snapshots`] returns changed ones.
    pub fn is_transformed(&self) -> bool {
        self.transform.is_some()
    }

    /// Returns whether frames are rotated after decoding.
    pub fn rotates(&self) -> bool {
        self.transform.as_ref().is_some_and(|transform| transform.rotates())
    }

    /// Returns the frames that are read for users of `frames`: a transform may depend on further ones.
    pub(crate) fn frames_read(&self, frames: &Frames) -> Frames {
        let transform = self.transform.as_ref();
        transform.and_then(|transform| transform.frames_read(frames)).unwrap_or(frames.clone())
    }

    /// Returns the atoms that are decoded for users of `atoms`: a transform may need further ones.
    ///
    /// # Errors
    /// As [`crate::transform::Transform::prepare`].
    pub fn decoded(&self, atoms: &Atoms) -> Result<Atoms, Error> {
        match &self.transform {
            Some(transform) => Ok(transform.prepared(atoms)?.decoded().clone()),
            None => Ok(atoms.clone()),
        }
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn read_transformed(
        &self,
        prepared: &dyn PreparedTransform,
        request: &ReadRequest<'_>,
        positions: Range<usize>,
        scratch: &mut Scratch,
        decoded: &mut Vec<f32>,
        out: &mut [f32],
        meta: &mut FrameMeta,
    ) -> Result<(), Error> {
        let frame_len = request.atoms.len() * 3;
        assert_eq!(out.len(), positions.len() * frame_len, "size of the output");
        self.check(request.frames)?;
        let inner = ReadRequest { atoms: prepared.decoded(), ..*request };
        memory::resize(decoded, inner.atoms.len() * 3, 0.0, "the atoms of a frame")?;
        for (k, at) in positions.enumerate() {
            let out = &mut out[k * frame_len..(k + 1) * frame_len];
            self.walk_to(prepared, request.frames.get(at), scratch, decoded)?;
            let target = match prepared.columns() {
                Some(_) => &mut decoded[..],
                None => &mut *out,
            };
            self.read_untransformed(&inner, at..at + 1, scratch, target, meta)?;
            let mut info = meta.last();
            self.transform(prepared, request.frames.get(at), target, &mut info, scratch)?;
            meta.set_last(info);
            if let Some(columns) = prepared.columns() {
                let decoded = decoded.as_chunks::<3>().0;
                for (position, &column) in out.as_chunks_mut::<3>().0.iter_mut().zip(columns) {
                    *position = decoded[column as usize];
                }
            }
        }
        Ok(())
    }

    /// Reads and transforms the frames on which the transform of frame `number` depends.
    pub(crate) fn walk_to(
        &self,
        prepared: &dyn PreparedTransform,
        number: u64,
        scratch: &mut Scratch,
        decoded: &mut [f32],
    ) -> Result<(), Error> {
        let before = prepared.frames_before(number, &scratch.transform);
        let before = before.map_err(|why| self.refused(number, why))?;
        let request = ReadRequest::positions(&before, prepared.decoded());
        let mut meta = FrameMeta::default();
        // Infinite molecules are counted where a frame is read for its own sake. Doubtful steps are not left out, as
        // frames between the requested ones are read here only.
        let infinite = scratch.meter.warnings.infinite_molecules;
        for at in 0..before.len() {
            self.read_untransformed(&request, at..at + 1, scratch, decoded, &mut meta)?;
            self.transform(prepared, before.get(at), decoded, &mut meta.last(), scratch)?;
            meta.clear();
        }
        scratch.meter.warnings.infinite_molecules = infinite;
        Ok(())
    }

    pub(crate) fn transform(
        &self,
        prepared: &dyn PreparedTransform,
        number: u64,
        positions: &mut [f32],
        info: &mut FrameInfo,
        scratch: &mut Scratch,
    ) -> Result<(), Error> {
        let begin = Instant::now();
        let positions = positions.as_chunks_mut::<3>().0;
        let warnings = prepared.apply(number, positions, info, &mut scratch.transform);
        self.add_warnings(warnings, number, begin, scratch)
    }

    /// Counts the warnings of a transform about a frame, and the time since `begin`; or returns its error.
    pub(crate) fn add_warnings(
        &self,
        warnings: Result<TransformWarnings, String>,
        number: u64,
        begin: Instant,
        scratch: &mut Scratch,
    ) -> Result<(), Error> {
        scratch.meter.warnings.add(&warnings.map_err(|why| self.refused(number, why))?);
        scratch.meter.transform_ns += begin.elapsed().as_nanos() as u64;
        Ok(())
    }

    /// Returns the transform for these atoms; `None` if positions are not changed.
    pub(crate) fn prepared(
        &self,
        atoms: &Atoms,
    ) -> Result<Option<Arc<dyn PreparedTransform>>, Error> {
        self.transform.as_ref().map(|transform| transform.prepared(atoms)).transpose()
    }

    /// Returns the error if a transform cannot take a frame.
    pub(crate) fn refused(&self, number: u64, why: String) -> Error {
        let path = self.path_of(number).to_owned();
        self.in_chain(Error::Transform { path, frame: self.place(number).frame, why }, number)
    }

    /// Reads frames in common units with all their fields, transforms their positions, and calls `take` with the
    /// position and the data of each. Frames that a transform rotates have no cell then, as few formats can hold a
    /// rotated one, and neither velocities nor forces, which are not rotated along.
    ///
    /// # Errors
    /// As [`Chain::read_into`], and those of `take`.
    pub fn read_snapshots(
        &self,
        frames: &Frames,
        atoms: &Atoms,
        scratch: &mut Scratch,
        mut take: impl FnMut(usize, &Snapshot) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.check(frames)?;
        let prepared = self.prepared(atoms)?;
        let read = prepared.as_deref().map_or(atoms, PreparedTransform::decoded);
        let mut decoded = Vec::new();
        if prepared.is_some() {
            memory::resize(&mut decoded, read.len() * 3, 0.0, "the atoms of a frame")?;
        }
        let (mut whole, mut part) = (Snapshot::default(), Snapshot::default());
        for at in 0..frames.len() {
            scratch.check_stop()?;
            let number = frames.get(at);
            if let Some(prepared) = &prepared {
                self.walk_to(&**prepared, number, scratch, &mut decoded)?;
            }
            let mut info = self.snapshot(frames, at, read, scratch, &mut whole)?;
            let Some(prepared) = &prepared else {
                take(at, &whole)?;
                continue;
            };
            if let Some(positions) = &mut whole.positions {
                let positions = positions.as_flattened_mut();
                self.transform(&**prepared, number, positions, &mut info, scratch)?;
                whole.origin = if self.rotates() { NO_ORIGIN } else { info.origin };
            }
            match prepared.columns() {
                Some(columns) => {
                    whole.take_into(columns, &mut part);
                    take(at, &part)?;
                }
                None => take(at, &whole)?,
            }
        }
        Ok(())
    }

    /// Reads a frame in common units with all its fields. Returns what its transform gets.
    pub(crate) fn snapshot(
        &self,
        frames: &Frames,
        at: usize,
        atoms: &Atoms,
        scratch: &mut Scratch,
        into: &mut Snapshot,
    ) -> Result<FrameInfo, Error> {
        let raw = self.raw(frames, at, atoms, scratch)?;
        let (time, step) = self.when(frames.get(at));
        raw.snapshot_into(time, step, into);
        let (cell, turned, periodic) = raw.reported_box();
        if self.rotates() {
            (into.velocities, into.forces) = (None, None);
            (into.cell, into.vectors) = ([f64::NAN; 6], None);
        }
        Ok(FrameInfo { time, step, cell, turned, periodic, origin: raw.origin() })
    }
}
