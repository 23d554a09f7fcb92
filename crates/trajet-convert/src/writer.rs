//! Frames of the caller, written to a file of any format.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use trajet_engine::run::Threads;
use trajet_files::{Error, Output, ParallelFor, publish};
use trajet_formats::{
    CannotHold, Encoder, Format, Input, Message, Patch, Plan, Raw, Snapshot, Workspace,
    WriteOptions, encoder,
};

/// Frames that are encoded before they are written.
const AT_ONCE: usize = 64;

/// A frame of the caller.
#[derive(Clone, Debug)]
pub enum GivenFrame {
    /// In common units.
    Snapshot(Snapshot),
    /// As a file of its format stores it, with its time (ps) and step.
    Raw(Raw, f64, i64),
}

impl GivenFrame {
    fn input(&self) -> Input<'_> {
        match self {
            GivenFrame::Snapshot(snapshot) => Input::Snapshot(snapshot),
            &GivenFrame::Raw(ref raw, time, step) => Input::Raw { raw, time, step },
        }
    }
}

/// A file that is written frame by frame, and gets its name when it is complete. If it is dropped before
/// [`Writer::finish`], there is no output.
pub struct Writer {
    output: Output,
    format: Format,
    options: WriteOptions,
    /// The first frame, from which the header is made, and the encoder for it.
    begun: Option<(GivenFrame, Arc<dyn Encoder>)>,
    /// Times (ps) and steps of all frames, as far as they were known at the beginning.
    expected: (Vec<f64>, Vec<i64>),
    /// Times (ps) and steps of all frames so far.
    times: Vec<f64>,
    steps: Vec<i64>,
}

impl Writer {
    /// Begins a file. An existing one is replaced only with `force`. `expected` are times (ps) and steps of all frames, or
    /// empty if they are not known yet.
    ///
    /// # Errors
    /// As [`Output::begin`].
    pub fn begin(
        path: &Path,
        format: Format,
        options: WriteOptions,
        force: bool,
        expected: (Vec<f64>, Vec<i64>),
    ) -> Result<Self, Error> {
        let output = Output::begin(path, force)?;
        let (times, steps) = (Vec::new(), Vec::new());
        Ok(Writer { output, format, options, begun: None, expected, times, steps })
    }

    /// Has the file kept if this process is killed: see [`Output::keep_if_killed`].
    pub fn keep_if_killed(&mut self) {
        self.output.keep_if_killed();
    }

    /// Appends frames, which are encoded on `threads` threads.
    ///
    /// # Errors
    /// [`Error::CannotHold`], [`Error::Unwritable`]. The file has the frames before this one then, of which the last may be
    /// incomplete: drop the writer, or [`Writer::keep`] them.
    pub fn append(&mut self, frames: &[GivenFrame], threads: usize) -> Result<(), Error> {
        let Some(first) = frames.first() else { return Ok(()) };
        let path = self.output.path().to_owned();
        let failed = |error| Error::of_output(&path, error);
        if self.begun.is_none() {
            // Of frames that are not known yet, none may have a cell if the first ones have none.
            self.options.without_cells =
                frames.iter().all(|frame| frame.input().cell()[0].is_nan());
            let (times, steps) = &self.expected;
            let is_known = !times.is_empty() && times.len() == steps.len();
            let only = (&[first.input().time()][..], &[first.input().step()][..]);
            let (times, steps) = if is_known { (&times[..], &steps[..]) } else { only };
            let made = self.encoder(first, times, steps).map_err(failed)?;
            self.output.append(&made.head())?;
            self.begun = Some((first.clone(), made));
        }
        let (_, encoder) = self.begun.as_ref().expect("the first frame is known");
        for frames in frames.chunks(AT_ONCE) {
            let encoded: Vec<Mutex<Result<Vec<u8>, CannotHold>>> =
                frames.iter().map(|_| Mutex::new(Ok(Vec::new()))).collect();
            Threads(threads).each(frames.len(), &|k| {
                let number = (self.times.len() + k) as u64;
                let (mut bytes, mut workspace) = (Vec::new(), Workspace::default());
                let input = frames[k].input();
                let done = encoder.encode(number, input, &mut workspace, &mut bytes);
                *encoded[k].lock().unwrap_or_else(PoisonError::into_inner) = done.map(|()| bytes);
            });
            for (bytes, frame) in encoded.into_iter().zip(frames) {
                let bytes = bytes.into_inner().unwrap_or_else(PoisonError::into_inner);
                self.output.append(&bytes.map_err(failed)?)?;
                self.times.push(frame.input().time());
                self.steps.push(frame.input().step());
            }
        }
        Ok(())
    }

    /// Writes all frames to the disk.
    ///
    /// # Errors
    /// [`Error::Unwritable`].
    pub fn sync(&mut self) -> Result<(), Error> {
        self.output.sync()
    }

    /// Leaves the unfinished file where it is, and returns its path; `None` if it has no frame. Formats whose headers tell
    /// what follows cannot be read then.
    pub fn keep(self) -> Option<PathBuf> {
        (!self.times.is_empty()).then(|| self.output.keep())
    }

    /// Completes the file and gives it its name. Returns its size in bytes, and messages on permitted losses.
    ///
    /// # Errors
    /// [`Error::Empty`] without frames; [`Error::CannotHold`], as only now all times are known; [`Error::Unwritable`]:
    /// there is no output then; [`Error::Unnamed`].
    pub fn finish(self) -> Result<(u64, Vec<Message>), Error> {
        let path = self.output.path().to_owned();
        let Some((first, encoder)) = &self.begun else { return Err(Error::Empty { path }) };
        // Headers may have the times of all frames.
        let of_all = self.encoder(first, &self.times, &self.steps);
        let of_all = of_all.map_err(|error| Error::of_output(&path, error))?;
        of_all.add_losses(&encoder.losses());
        let mut messages = of_all.messages();
        messages.extend(encoder.general_messages());
        let mut known = std::collections::BTreeSet::new();
        messages.retain(|message| known.insert(message.clone()));
        let head = of_all.head();
        if head.len() != encoder.head().len() {
            // Of DCD and NetCDF, a message on lost times comes before the frames.
            let error = CannotHold {
                frame: 0,
                format: self.format.name(),
                what: "a message on its times, which were not known when it was begun".to_owned(),
                remedy: "give the times of all frames (times=...), in equal steps if they may be",
            };
            return Err(Error::of_output(&path, error));
        }
        let mut patches = vec![Patch { offset: 0, bytes: head }];
        patches.extend(of_all.patches(self.times.len() as u64));
        let len = self.output.len();
        publish(vec![self.output.finish(&patches)?])?;
        Ok((len, messages))
    }

    fn encoder(
        &self,
        first: &GivenFrame,
        times: &[f64],
        steps: &[i64],
    ) -> Result<Arc<dyn Encoder>, CannotHold> {
        let first = first.input();
        encoder(self.format, &Plan { first, times, steps, options: &self.options })
    }
}
