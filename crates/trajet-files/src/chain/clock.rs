//! Times that a user gives, in place of those in the files.

use serde::{Deserialize, Serialize};
use trajet_formats::time::text;
use trajet_formats::{Code, Message};

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

    /// Returns the clock with times rounded to single precision.
    pub(super) fn in_single_precision(self) -> Clock {
        Clock { is_single: true, ..self }
    }

    /// Returns whether times are rounded to single precision.
    pub(super) fn is_single(&self) -> bool {
        self.is_single
    }

    /// Returns the message for the user.
    pub(super) fn message(&self) -> Message {
        Code::GivenTimes
            .message(format!("times are those of time_step={0}, not of the files", text(self.step)))
    }
}
