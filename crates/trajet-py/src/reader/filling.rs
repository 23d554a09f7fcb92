//! Reads frames into arrays of numpy, on one thread or several.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use numpy::PyReadwriteArray3;
use pyo3::prelude::*;
use trajet_engine::run::{Threads, lock};
use trajet_files::{
    FieldReader, Frames, Meter, ParallelFor, ReadRequest, Relay, Scratch, TaskPart,
};
use trajet_formats::{Atoms, Field, FrameMeta};

use super::Reader;
use crate::arrays::slice_of;
use crate::control::{ATOMS_BETWEEN_SIGNALS, FRAMES_BETWEEN_SIGNALS};
use crate::error::from_io;

/// The order of tasks that hand over to one another, as the transform of their frames depends on those before.
struct ReadOrder {
    relay: Relay,
    /// Number of the next task.
    next: usize,
    /// Most frames of a task.
    task_frames: usize,
}

impl Reader {
    /// Fills `out` with the frames at `positions` of the requested ones, on one thread per buffer.
    pub(super) fn fill(
        &self,
        py: Python<'_>,
        request: &ReadRequest<'_>,
        positions: Range<usize>,
        scratches: &mut [Scratch],
        mut out: PyReadwriteArray3<'_, f32>,
    ) -> PyResult<FrameMeta> {
        let frame_len = request.atoms.len() * 3;
        let vectors = slice_of(&mut out, positions.len() * frame_len)?;
        let stride = ATOMS_BETWEEN_SIGNALS / self.inner.n_atoms();
        let stride = stride.clamp(1, FRAMES_BETWEEN_SIGNALS);
        let mut meta = FrameMeta::default();
        let mut rest = vectors;
        let mut at = positions.start;
        let order = self.read_order(request, &positions, scratches.len());
        let mut order = order.map_err(|error| from_io(py, &error))?;
        while at < positions.end {
            let end = (at + stride).min(positions.end);
            let (here, others) = rest.split_at_mut((end - at) * frame_len);
            py.detach(|| self.read_on(request, at..end, &mut order, scratches, here, &mut meta))
                .map_err(|error| from_io(py, &error))?;
            py.check_signals()?;
            (at, rest) = (end, others);
        }
        Ok(meta)
    }

    /// Returns the order of the tasks of threads that read these frames; `None` if they need none.
    fn read_order(
        &self,
        request: &ReadRequest<'_>,
        positions: &Range<usize>,
        threads: usize,
    ) -> Result<Option<ReadOrder>, trajet_files::Error> {
        if request.field != Field::Positions || positions.is_empty() {
            return Ok(None);
        }
        let frames = request.frames.slice(positions.clone());
        let most = self.inner.relay_task_frames(&frames, request.atoms, threads)?;
        Ok(most.map(|task_frames| ReadOrder { relay: Relay::default(), next: 0, task_frames }))
    }

    /// Reads frames, split into one contiguous range per thread.
    fn read_on(
        &self,
        request: &ReadRequest<'_>,
        positions: Range<usize>,
        order: &mut Option<ReadOrder>,
        scratches: &mut [Scratch],
        out: &mut [f32],
        meta: &mut FrameMeta,
    ) -> Result<(), trajet_files::Error> {
        if let [scratch] = scratches {
            return self.inner.read_into(request, positions, scratch, out, meta);
        }
        if let Some(order) = order {
            return self.read_in_order(request, positions, order, scratches, out, meta);
        }
        let each = positions.len().div_ceil(scratches.len());
        let (mut jobs, mut rest) = (Vec::new(), out);
        for (begin, scratch) in positions.clone().step_by(each).zip(scratches) {
            let here = begin..positions.end.min(begin + each);
            let (out, others) = rest.split_at_mut(here.len() * request.atoms.len() * 3);
            rest = others;
            jobs.push(Mutex::new((here, scratch, out, FrameMeta::default(), Ok(()))));
        }
        Threads(jobs.len()).each(jobs.len(), &|k| {
            let (here, scratch, out, meta, done) = &mut *lock(&jobs[k]);
            *done = self.inner.read_into(request, here.clone(), scratch, out, meta);
        });
        for job in jobs {
            let (_, _, _, mut here, done) =
                job.into_inner().unwrap_or_else(PoisonError::into_inner);
            done?;
            meta.append(&mut here);
        }
        Ok(())
    }

    /// Reads frames of which the transform depends on those before, in tasks that threads take in order.
    fn read_in_order(
        &self,
        request: &ReadRequest<'_>,
        positions: Range<usize>,
        order: &mut ReadOrder,
        scratches: &mut [Scratch],
        out: &mut [f32],
        meta: &mut FrameMeta,
    ) -> Result<(), trajet_files::Error> {
        let threads = scratches.len();
        let each = order.task_frames.min(positions.len().div_ceil(threads));
        let (mut jobs, mut rest) = (Vec::new(), out);
        for begin in positions.clone().step_by(each) {
            let here = begin..positions.end.min(begin + each);
            let (out, others) = rest.split_at_mut(here.len() * request.atoms.len() * 3);
            rest = others;
            jobs.push(Mutex::new((here, out, FrameMeta::default(), Ok(()))));
        }
        let spare: Mutex<Vec<&mut Scratch>> = Mutex::new(scratches.iter_mut().collect());
        Threads(threads).each(jobs.len(), &|k| {
            let (here, out, meta, done) = &mut *lock(&jobs[k]);
            let scratch = lock(&spare).pop().expect("one for each thread");
            let turn = (&order.relay, order.next + k);
            *done = self.read_task(request, here.clone(), turn, scratch, out, meta);
            lock(&spare).push(scratch);
        });
        order.next += jobs.len();
        for job in jobs {
            let (_, _, mut here, done) = job.into_inner().unwrap_or_else(PoisonError::into_inner);
            done?;
            meta.append(&mut here);
        }
        Ok(())
    }

    /// Reads a task of frames of which the transform depends on those before.
    fn read_task(
        &self,
        request: &ReadRequest<'_>,
        positions: Range<usize>,
        (relay, task): (&Relay, usize),
        scratch: &mut Scratch,
        out: &mut [f32],
        meta: &mut FrameMeta,
    ) -> Result<(), trajet_files::Error> {
        let chain = &*self.inner;
        relay.guarded(task, || {
            let frames = request.frames.slice(positions.clone());
            let request = ReadRequest { frames: &frames, ..*request };
            let mut held = Vec::new();
            let all = TaskPart { n_frames: frames.len(), held: &mut held, out, meta };
            let mut parts = [all];
            chain.read_task(&request, (relay, task), scratch, &mut parts)?;
            chain.complete(&request, scratch, &mut parts[0])
        })
    }

    /// Fills an array for each field, on several threads. Returns the metadata of the frames, the number of frames that
    /// have each field, and what was counted.
    pub(super) fn fill_fields(
        &self,
        py: Python<'_>,
        (frames, atoms): (&Frames, &Atoms),
        fields: &[Field],
        outs: Vec<&mut [f32]>,
        threads: usize,
    ) -> PyResult<(FrameMeta, [u64; 3], Meter)> {
        let threads = threads.min(frames.len()).max(1);
        let reader = || FieldReader::new(&self.inner, fields, || self.borrow_scratch());
        let mut readers: Vec<FieldReader> = (0..threads).map(|_| reader()).collect();
        let (mut meta, mut n_with) = (FrameMeta::default(), [0; 3]);
        let stride =
            (ATOMS_BETWEEN_SIGNALS / self.inner.n_atoms()).clamp(1, FRAMES_BETWEEN_SIGNALS);
        let (mut rest, mut at) = (outs, 0);
        while at < frames.len() {
            let end = (at + stride).min(frames.len());
            let len = (end - at) * atoms.len() * 3;
            let mut here = Vec::with_capacity(rest.len());
            for slice in &mut rest {
                here.push(slice.split_off_mut(..len).expect("as long as the frames"));
            }
            let read = py.detach(|| {
                self.read_fields_on(frames, atoms, at..end, &mut readers, here, &mut meta)
            });
            let present = read.map_err(|error| from_io(py, &error))?;
            n_with.iter_mut().zip(present).for_each(|(n, more)| *n += more);
            py.check_signals()?;
            at = end;
        }
        let mut meter = Meter::default();
        for reader in readers {
            meter.add(&reader.meter());
            reader.into_scratches().into_iter().for_each(|scratch| self.return_scratch(scratch));
        }
        Ok((meta, n_with, meter))
    }

    /// Reads fields of frames, split into one contiguous range per thread. Returns the number of frames that have each.
    fn read_fields_on(
        &self,
        frames: &Frames,
        atoms: &Atoms,
        positions: Range<usize>,
        readers: &mut [FieldReader],
        outs: Vec<&mut [f32]>,
        meta: &mut FrameMeta,
    ) -> Result<[u64; 3], trajet_files::Error> {
        let each = positions.len().div_ceil(readers.len());
        let (mut jobs, mut rest) = (Vec::new(), outs);
        for (begin, reader) in positions.clone().step_by(each).zip(readers) {
            let here = begin..positions.end.min(begin + each);
            let mut outs = Vec::with_capacity(rest.len());
            for slice in &mut rest {
                let len = here.len() * atoms.len() * 3;
                outs.push(slice.split_off_mut(..len).expect("as long as the frames"));
            }
            jobs.push(Mutex::new((here, reader, outs, FrameMeta::default(), Ok([0; 3]))));
        }
        Threads(jobs.len()).each(jobs.len(), &|k| {
            let (here, reader, outs, meta, done) = &mut *lock(&jobs[k]);
            *done = self.read_fields_of(frames, atoms, here.clone(), reader, outs, meta);
        });
        let mut n_with = [0; 3];
        for job in jobs {
            let (_, _, _, mut here, done) =
                job.into_inner().unwrap_or_else(PoisonError::into_inner);
            n_with.iter_mut().zip(done?).for_each(|(n, more)| *n += more);
            meta.append(&mut here);
        }
        Ok(n_with)
    }

    /// Reads fields of frames on this thread. Returns the number of frames that have each.
    fn read_fields_of(
        &self,
        frames: &Frames,
        atoms: &Atoms,
        positions: Range<usize>,
        reader: &mut FieldReader,
        outs: &mut [&mut [f32]],
        meta: &mut FrameMeta,
    ) -> Result<[u64; 3], trajet_files::Error> {
        let frame_len = atoms.len() * 3;
        let mut n_with = [0; 3];
        for (k, at) in positions.enumerate() {
            let span = k * frame_len..(k + 1) * frame_len;
            let mut here: Vec<&mut [f32]> =
                outs.iter_mut().map(|out| &mut out[span.clone()]).collect();
            let read = reader.read(&self.inner, frames, atoms, at, &mut here)?;
            n_with.iter_mut().zip(read.present).for_each(|(n, is)| *n += u64::from(is));
            meta.push(frames.get(at), read.info);
        }
        Ok(n_with)
    }
}
