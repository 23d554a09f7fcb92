//! Chains at the times that a user gives.

use std::borrow::Cow;

use trajet_formats::{Code, Message, Raw, TimePrecision};

use super::clock::Clock;
use super::overlap::name;
use super::{Chain, Segment};

impl Chain {
    /// Returns the same frames at times `step` ps apart, in place of those in the files.
    #[must_use]
    pub fn with_time_step(mut self, step: f64) -> Chain {
        let clock = Clock::new(step, &self.steps());
        self.time_messages = vec![clock.message()];
        self.time_messages.extend(self.unequal_steps());
        self.clock = Some(clock);
        self
    }

    /// Returns the message on the first file whose frames, as far as the chain has them, are not as many integration
    /// steps apart. Steps of the next file may begin anew.
    fn unequal_steps(&self) -> Option<Message> {
        let steps = self.steps();
        (0..self.segments.len()).find_map(|segment| {
            let runs = self.runs.iter().filter(|run| run.segment == segment);
            let frames: Vec<u64> = runs.flat_map(|run| run.frames.clone()).collect();
            // XTC and TRR hold 32 bits of a step.
            let apart = |pair: &[u64]| {
                steps[pair[1] as usize].wrapping_sub(steps[pair[0] as usize]) as i32
            };
            let usual = apart(frames.get(..2)?);
            let other = frames.windows(2).find(|pair| apart(pair) != usual)?;
            Some(Code::UnequalSteps.message_with_fix(format!(
                "{}: time_step takes frames as equally spaced, and frames {} and {} are {usual} integration steps \
                 apart, frames {} and {} {}",
                name(&self.segments[segment].reader),
                frames[0],
                frames[1],
                other[0],
                other[1],
                apart(other)
            )))
        })
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
        let clock = self.clock.filter(|clock| !clock.is_single())?;
        let is_single =
            |segment: &Segment| segment.reader.time_precision() == TimePrecision::Single;
        let rounds = self.segments.iter().any(is_single);
        rounds.then(|| self.copied().at_times_of(Some(clock.in_single_precision())))
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
