//! Reads frames as their formats store them.

use std::ops::Range;

use trajet_formats::{Atoms, Format, FrameLoss, Losses, Raw};

use super::{Chain, Place};
use crate::{Error, Frames, Scratch};

impl Chain {
    /// Returns the names of a frame's format-specific data beside these atoms.
    ///
    /// # Errors
    /// As [`Chain::read_into`].
    pub fn left_out_of(
        &self,
        frame: u64,
        atoms: &Atoms,
        scratch: &mut Scratch,
    ) -> Result<Vec<String>, Error> {
        let Place { segment, frame: within } = self.place(frame);
        let Some(reader) = self.segments[segment].reader.as_format_data() else {
            return Ok(Vec::new());
        };
        let left = reader.left_out(within, atoms, scratch);
        left.map_err(|error| self.in_chain(error, frame))
    }

    /// Returns numbers of a frame beside its atoms, by name, if its format holds any: "lambda" of TRR.
    ///
    /// # Errors
    /// As [`Chain::read_into`].
    pub fn observables(
        &self,
        frame: u64,
        scratch: &mut Scratch,
    ) -> Result<Vec<(&'static str, f64)>, Error> {
        self.check(&Frames::Strided { first: frame, step: 1, count: 1 })?;
        let Place { segment, frame: within } = self.place(frame);
        let Some(reader) = self.segments[segment].reader.as_format_data() else {
            return Ok(Vec::new());
        };
        let found = reader.observables(within, scratch);
        found.map_err(|error| self.in_chain(error, frame))
    }

    /// Counts the format-specific data that frames hold beside these atoms. In the result, frames are numbered by
    /// their positions in `frames`, from `begin` on.
    ///
    /// # Errors
    /// As [`Chain::read_into`].
    pub fn left_out(
        &self,
        frames: &Frames,
        begin: usize,
        atoms: &Atoms,
        scratch: &mut Scratch,
    ) -> Result<Losses, Error> {
        self.check(frames)?;
        let mut losses = Losses::default();
        for at in 0..frames.len() {
            scratch.check_stop()?;
            let left = self.left_out_of(frames.get(at), atoms, scratch)?;
            let left: Vec<FrameLoss> = left.into_iter().map(FrameLoss::from).collect();
            losses.add((begin + at) as u64, &left);
        }
        Ok(losses)
    }

    /// Reads one frame as its format stores it.
    ///
    /// # Errors
    /// As [`Chain::read_into`].
    pub fn read_raw(&self, frame: u64, scratch: &mut Scratch) -> Result<Raw, Error> {
        self.read_raw_of(frame, &Atoms::all(self.n_atoms()), scratch)
    }

    /// Reads some atoms of one frame as its format stores them.
    ///
    /// # Errors
    /// As [`Chain::read_into`].
    pub fn read_raw_of(
        &self,
        frame: u64,
        atoms: &Atoms,
        scratch: &mut Scratch,
    ) -> Result<Raw, Error> {
        self.check(&Frames::Strided { first: frame, step: 1, count: 1 })?;
        let Place { segment, frame: within } = self.place(frame);
        let read = self.segments[segment].reader.read_raw_of(within, atoms, scratch);
        let raw = read.map_err(|error| self.in_chain(error, frame))?;
        Ok(self.at_time(frame, raw))
    }

    /// Reads some atoms of the frame at position `at` as its format stores them. All `frames` must exist; those
    /// that follow are used to read ahead.
    ///
    /// # Errors
    /// As [`Chain::read_into`].
    pub fn raw(
        &self,
        frames: &Frames,
        at: usize,
        atoms: &Atoms,
        scratch: &mut Scratch,
    ) -> Result<Raw, Error> {
        let frame = frames.get(at);
        if self.alone {
            let raw = self.segments[0].reader.raw(frames, at, atoms, scratch)?;
            return Ok(self.at_time(frame, raw));
        }
        let run = self.run_of(frame);
        let within = run.frames_within(frames, at, at + 1);
        let read = self.segments[run.segment].reader.raw(&within, 0, atoms, scratch);
        Ok(self.at_time(frame, read.map_err(|error| self.in_chain(error, frame))?))
    }

    /// Reads some atoms of frames as their format stores them, and calls `take` with the position and the data of
    /// each.
    ///
    /// # Errors
    /// As [`Chain::read_into`], and those of `take`.
    pub fn read_raws(
        &self,
        frames: &Frames,
        atoms: &Atoms,
        scratch: &mut Scratch,
        mut take: impl FnMut(usize, &Raw) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.check(frames)?;
        let mut at = 0;
        while at < frames.len() {
            let run = self.run_of(frames.get(at));
            let within = run.frames_within(frames, at, frames.len());
            let reader = &self.segments[run.segment].reader;
            for k in 0..within.len() {
                scratch.check_stop()?;
                let raw = reader.raw(&within, k, atoms, scratch);
                let frame = frames.get(at + k);
                let raw = raw.map_err(|error| self.in_chain(error, frame))?;
                take(at + k, &self.at_time(frame, raw))?;
            }
            at += within.len();
        }
        Ok(())
    }

    /// Returns the box vectors (Å, row by row) of a frame, if they are in memory once its file is open and frames are
    /// not rotated.
    pub fn known_box(&self, frame: u64) -> Option<[f64; 9]> {
        if self.rotates() {
            return None;
        }
        let Place { segment, frame: within } = self.place(frame);
        self.segments[segment].reader.as_known_cells()?.known_box(within)
    }

    /// Appends the bytes of consecutive frames to `out`, unchanged. Returns false, and appends nothing, if they lie
    /// in several files or in another format, are not self-contained, are transformed, or have other times.
    ///
    /// # Errors
    /// As [`Chain::read_into`].
    ///
    /// # Panics
    /// If `frames` is empty or out of range.
    pub fn copy_frames(
        &self,
        frames: Range<u64>,
        format: Format,
        scratch: &mut Scratch,
        out: &mut Vec<u8>,
    ) -> Result<bool, Error> {
        if self.is_transformed() || self.clock.is_some() {
            return Ok(false);
        }
        let run = self.run_of(frames.start);
        let reader = &self.segments[run.segment].reader;
        if frames.end > run.frames.end || reader.format() != format.name() {
            return Ok(false);
        }
        let within = run.within(frames.start)..run.within(frames.end - 1) + 1;
        let Some(copying) = reader.as_copy_frames() else { return Ok(false) };
        let copied = copying.copy_frames(within, scratch, out);
        copied.map_err(|error| self.in_chain(error, frames.start))?;
        Ok(true)
    }
}
