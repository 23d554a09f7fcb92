//! Encodes frames as the bytes of a DCD file: little endian, with markers of 32 bits. Frames of DCD files keep
//! their version and cell record. Cells of other formats are written with version 24 as lengths and angles in
//! degrees; right angles as cosines (zero). MDAnalysis, VMD, mdtraj and chemfiles read these.
//!
//! The format stores no times, but a time step, the first step and the steps between frames. Readers
//! compute the time of frame `k` as `(k + first / steps) * steps * time step`.

use super::cell::{Cell, CellForm};
use super::frame::Frame;
use super::head::{PS_PER_AKMA, TITLE};
use crate::losses::{FrameLoss, without_steps};
use crate::time::text;
use crate::write_checks::{self, WriteChecks};
use crate::writer::{self, Format, Input, Patch, Plan, Workspace, put};
use crate::{CannotHold, Code, Field, Raw, messages};

/// Bytes of the file at which the numbers of frames and of steps are stored.
const COUNTS_AT: [u64; 2] = [8, 20];
/// Largest number of atoms: more would need records of 2 GiB.
const MAX_ATOMS: usize = (i32::MAX / 4) as usize;

/// Encoder of DCD files.
#[derive(Debug)]
pub struct Encoder {
    checks: WriteChecks,
    clock: Clock,
    n_frames: u64,
    version: i32,
    has_cell: bool,
    form: CellForm,
    has_fourth: bool,
}

impl Encoder {
    /// Creates the encoder and checks that the format can hold the times and the first frame.
    ///
    /// # Errors
    /// [`CannotHold`].
    pub fn new(plan: &Plan<'_>) -> Result<Encoder, CannotHold> {
        let mut checks = WriteChecks::new(Format::Dcd, plan, Some(&[Field::Positions]))?;
        if checks.n_atoms > MAX_ATOMS {
            let what = format!("{} atoms", checks.n_atoms);
            return Err(checks.cannot_hold(0, what, "choose fewer atoms"));
        }
        let clock = Clock::of(plan.times, plan.steps);
        if let Some((frame, time)) = clock.first_off(plan.times) {
            let lost = irregular(&clock, frame, time);
            checks.may_lose(frame, &lost)?;
            let text = format!("lost, as DCD holds equal steps of time only: {lost}");
            checks.add_stored_message(Code::ChangedTimes.message(text));
        }
        let keeps = |(k, &step): (usize, &i64)| step == clock.step(k as u64);
        if !plan.steps.iter().enumerate().all(keeps) {
            checks.messages.push(without_steps(Format::Dcd));
        }
        let has_cell = write_checks::may_have_cells(&plan.first);
        let has_fourth =
            matches!(plan.first, Input::Raw { raw: Raw::Dcd(frame), .. } if frame.axes.len() > 3);
        let (version, form) = match plan.first {
            Input::Raw { raw: Raw::Dcd(Frame { version, cell: Some(cell), .. }), .. } => {
                (cell.form.version(*version), cell.form)
            }
            Input::Raw { raw: Raw::Dcd(Frame { version, .. }), .. } if *version > 0 => {
                (*version, CellForm::Angles)
            }
            _ => (CellForm::Angles.version(0), CellForm::Angles),
        };
        let n_frames = plan.times.len() as u64;
        Ok(Encoder { checks, clock, n_frames, version, has_cell, form, has_fourth })
    }

    /// Returns the numbers of frames and of steps, as the header stores them.
    fn counts(&self, n_frames: u64) -> [i32; 2] {
        let word = |n: u64| i32::try_from(n).unwrap_or(i32::MAX);
        [word(n_frames), word(n_frames.saturating_mul(self.clock.steps as u64))]
    }

    /// Returns the six numbers of the cell record.
    fn cell(&self, number: u64, frame: &Input<'_>) -> Result<[f64; 6], CannotHold> {
        if let Input::Raw { raw: Raw::Dcd(Frame { cell: Some(cell), .. }), .. } = *frame
            && cell.form == self.form
        {
            return Ok(cell.numbers);
        }
        if self.form == CellForm::Matrix {
            return self.matrix(number, frame);
        }
        let [a, b, c, alpha, beta, gamma] = self.checks.cell(number, frame)?;
        if a.is_nan() {
            return Ok([0.0; 6]);
        }
        // Right angles as cosines: all programs read zeros as right angles.
        if [alpha, beta, gamma] == [90.0; 3] {
            return Ok([a, 0.0, b, 0.0, 0.0, c]);
        }
        let numbers = [a, gamma, b, beta, alpha, c];
        if (Cell { numbers, form: self.form }).read().is_err() {
            let what = format!("the impossible cell {:?}", [a, b, c, alpha, beta, gamma]);
            self.checks.lose(number, &[FrameLoss::of("impossible cells", what)])?;
            return Ok([0.0; 6]);
        }
        Ok(numbers)
    }

    /// Returns the cell record of a frame for a file of matrices.
    ///
    /// # Errors
    /// [`CannotHold`] if the box vectors are no symmetric matrix.
    fn matrix(&self, number: u64, frame: &Input<'_>) -> Result<[f64; 6], CannotHold> {
        let [xx, yx, zx, xy, yy, zy, xz, yz, zz] = self.checks.box_vectors(number, frame)?;
        let numbers = [xx, xy, yy, xz, yz, zz].map(|x| x * 10.0);
        let is_one = Cell { numbers, form: self.form }.read().is_ok();
        if [xy, xz, yz] == [yx, zx, zy] && is_one {
            return Ok(numbers);
        }
        let what = "a cell that is no symmetric matrix, where that of its first frame is one";
        Err(self.checks.cannot_hold(number, what.to_owned(), "write a file of its own"))
    }
}

/// Whether DCD can represent the times (ps) of the frames.
pub fn holds_times(times: &[f64], steps: &[i64]) -> bool {
    Clock::of(times, steps).first_off(times).is_none()
}

/// Describes the loss of a time.
fn irregular(clock: &Clock, frame: u64, time: f64) -> String {
    let (time, due) = (text(time), text(clock.time(frame)));
    format!("the time {time} ps of frame {frame}, where equal steps of time lead to {due} ps")
}

impl writer::Encoder for Encoder {
    fn checks(&self) -> &WriteChecks {
        &self.checks
    }

    fn head(&self) -> Vec<u8> {
        let Clock { first, steps, delta, .. } = self.clock;
        let mut control = [0; 20];
        let [n_frames, n_steps] = self.counts(self.n_frames);
        control[..4].copy_from_slice(&[n_frames, first, steps, n_steps]);
        control[9] = delta.to_bits() as i32;
        control[10] = i32::from(self.has_cell);
        control[11] = i32::from(self.has_fourth);
        control[19] = self.version;
        let mut main = b"CORD".to_vec();
        put(&mut main, &control, i32::to_le_bytes);
        let kept = messages::titles(&self.checks.kept);
        let mut titles = (1 + (kept.len() / 80) as i32).to_le_bytes().to_vec();
        titles.extend(format!("{TITLE:80}").bytes());
        titles.extend(kept);
        let mut head = Vec::new();
        for record in [&main, &titles, &(self.checks.n_atoms as i32).to_le_bytes().to_vec()] {
            framed(&mut head, record.len(), |head| head.extend(record));
        }
        head
    }

    fn frame(
        &self,
        number: u64,
        input: &Input<'_>,
        Workspace { floats, .. }: &mut Workspace,
        out: &mut Vec<u8>,
    ) -> Result<(), CannotHold> {
        if !self.clock.agrees(number, input.time()) {
            self.checks.may_lose(number, &irregular(&self.clock, number, input.time()))?;
        }
        let cell = self.cell(number, input)?;
        if self.has_cell {
            framed(out, 48, |out| put(out, &cell, f64::to_le_bytes));
        } else if cell[0] != 0.0 {
            self.checks.lose(number, &[write_checks::LATE_CELL.into()])?;
        }
        let n_axes = if self.has_fourth { 4 } else { 3 };
        if let Input::Raw { raw: Raw::Dcd(Frame { axes, .. }), .. } = *input {
            if axes.len() != n_axes {
                let what = format!("{} dimensions, where its first frame has {n_axes}", axes.len());
                return Err(self.checks.cannot_hold(number, what, "write a file of its own"));
            }
            for axis in axes {
                framed(out, 4 * axis.len(), |out| put(out, axis, f32::to_le_bytes));
            }
            return Ok(());
        }
        if self.has_fourth {
            let what =
                "a frame without a fourth dimension, where its first frame has one".to_owned();
            return Err(self.checks.cannot_hold(number, what, "write a file of its own"));
        }
        let positions = input.vectors(Field::Positions, floats).unwrap_or_default();
        for axis in 0..3 {
            framed(out, 4 * positions.len(), |out| put(out, positions, |p| p[axis].to_le_bytes()));
        }
        Ok(())
    }

    fn patches(&self, n_frames: u64) -> Vec<Patch> {
        let counts = self.counts(n_frames);
        let patch =
            |k: usize| Patch { offset: COUNTS_AT[k], bytes: counts[k].to_le_bytes().into() };
        vec![patch(0), patch(1)]
    }
}

/// Appends a record between its two markers.
fn framed(out: &mut Vec<u8>, length: usize, body: impl FnOnce(&mut Vec<u8>)) {
    let marker = (length as u32).to_le_bytes();
    out.extend(marker);
    body(out);
    out.extend(marker);
}

/// Times as the header stores them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Clock {
    /// Step of the first frame.
    first: i32,
    /// Steps between frames, at least one.
    steps: i32,
    /// Time step in CHARMM's unit.
    delta: f32,
}

impl Clock {
    /// Returns the clock that represents these times, with these steps if possible without changing times. If
    /// none represents all times, they begin at zero with equal distances.
    fn of(times: &[f64], steps: &[i64]) -> Clock {
        let begin = times.first().copied().unwrap_or(0.0);
        let n = times.len();
        let first_step = steps.first().copied().unwrap_or(0);
        // With a single frame, the time since step 0 is the only measure.
        let (apart, between) = match n {
            0 | 1 if first_step > 0 => (first_step, begin),
            0 | 1 if begin != 0.0 => (1, begin),
            0 | 1 => (1, 1.0),
            _ => (steps[1].saturating_sub(first_step), (times[n - 1] - begin) / (n - 1) as f64),
        };
        let as_stepped = Clock::new(first_step, apart, between);
        // Counts frames instead of steps if steps and times do not begin together.
        let as_counted = Clock::new((begin / between).round() as i64, 1, between);
        let fitting = [as_stepped, as_counted].into_iter().flatten();
        let all = |clock: &Clock| clock.first_off(times).is_none();
        let begun_anew = Clock { first: 0, steps: 1, delta: (between / PS_PER_AKMA) as f32 };
        fitting.clone().find(all).unwrap_or(begun_anew)
    }

    fn new(first: i64, steps: i64, between: f64) -> Option<Clock> {
        let (first, steps) = (i32::try_from(first).ok()?, i32::try_from(steps).ok()?);
        let delta = (between / f64::from(steps) / PS_PER_AKMA) as f32;
        (steps > 0 && delta.is_finite()).then_some(Clock { first, steps, delta })
    }

    /// Returns the time of a frame that readers compute, ps.
    fn time(&self, frame: u64) -> f64 {
        let first = f64::from(self.first) / f64::from(self.steps);
        (frame as f64 + first) * self.between()
    }

    /// Returns the time between frames, ps.
    fn between(&self) -> f64 {
        f64::from(self.delta) * PS_PER_AKMA * f64::from(self.steps)
    }

    fn step(&self, frame: u64) -> i64 {
        i64::from(self.first) + frame as i64 * i64::from(self.steps)
    }

    /// Returns the first frame whose time differs from what readers compute, and that time.
    fn first_off(&self, times: &[f64]) -> Option<(u64, f64)> {
        (0..).zip(times.iter().copied()).find(|&(frame, time)| !self.agrees(frame, time))
    }

    /// Whether readers compute this time for a frame, within the precision of floats.
    fn agrees(&self, frame: u64, time: f64) -> bool {
        let allowed = 1e-6 * time.abs() + 1e-3 * self.between().abs();
        (self.time(frame) - time).abs() <= allowed
    }
}
