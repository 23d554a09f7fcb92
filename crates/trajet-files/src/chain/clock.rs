//! Times that a user gives, in place of those in the files.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use trajet_formats::time::text;
use trajet_formats::{Raw, TimePrecision};

use super::{Chain, Segment};

/// Equally spaced times of all frames of a chain, as `time_step=` asks for. They replace the times in the files.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Clock {
    /// Time between neighbouring frames, ps.
    step: f64,
    /// Number of frames between the beginning of the run and frame 0.
    first: f64,
    /// Whether times are rounded to single precision.
    is_single: bool,
}

impl Clock {
    /// Returns the clock of frames `step` ps apart, whose integration steps are `steps`. Frame 0 has the time 0, or
    /// a later one if the integration steps do not begin at 0.
    pub fn new(step: f64, steps: &[i64]) -> Clock {
        let first = match *steps {
            [first, second, ..] if first > 0 && second > first => {
                first as f64 / second.wrapping_sub(first) as f64
            }
            _ => 0.0,
        };
        Clock { step, first, is_single: false }
    }

    /// Returns the time of a frame, ps.
    pub fn time(&self, frame: u64) -> f64 {
        let time = (frame as f64 + self.first) * self.step;
        if self.is_single { f64::from(time as f32) } else { time }
    }

    /// Returns the remark for the user.
    fn remark(&self) -> String {
        format!(
            "times are those of time_step={0} (--time-step {0}), not of the files",
            text(self.step)
        )
    }
}

impl Chain {
    /// Returns the same frames at times `step` ps apart, in place of those in the files.
    #[must_use]
    pub fn with_time_step(mut self, step: f64) -> Chain {
        let clock = Clock::new(step, &self.steps());
        self.time_notes = vec![clock.remark()];
        self.clock = Some(clock);
        self
    }

    /// Returns the same frames of the same open files at times `step` ps apart.
    #[must_use]
    pub fn at_time_step(&self, step: f64) -> Chain {
        self.copied().with_time_step(step)
    }

    /// Returns the same frames at the times of a clock, or at those in the files.
    pub(crate) fn at_times_of(self, clock: Option<Clock>) -> Chain {
        Chain { clock, ..self }
    }

    /// Returns the same frames at times that each file can store again, for outputs in the same format that are compared
    /// with these times bit by bit; `None` if these are such times.
    pub fn at_storable_times(&self) -> Option<Chain> {
        let clock = self.clock.filter(|clock| !clock.is_single)?;
        let is_single =
            |segment: &Segment| segment.reader.time_precision() == TimePrecision::Single;
        let clock = Clock { is_single: self.segments.iter().any(is_single), ..clock };
        clock.is_single.then(|| self.copied().at_times_of(Some(clock)))
    }

    /// Returns the times that replace those in the files, if the user gave a time step.
    pub fn clock(&self) -> Option<Clock> {
        self.clock
    }

    /// Returns the time of each frame, ps.
    pub fn times(&self) -> Cow<'_, [f64]> {
        match self.clock {
            Some(clock) => (0..self.n_frames).map(|frame| clock.time(frame)).collect(),
            None => self.gather(crate::FrameIndex::times),
        }
    }

    /// Returns a frame as its format stores it, at its time in the chain.
    pub(super) fn at_time(&self, frame: u64, mut raw: Raw) -> Raw {
        if let Some(clock) = self.clock {
            raw.set_time(clock.time(frame));
        }
        raw
    }
}
