//! Counts the losses of a copy: data of frames that the output format cannot hold.

use std::borrow::Cow;

use crate::{Code, Format, Message};

/// One loss of one frame.
#[derive(Clone, Debug, PartialEq)]
pub struct FrameLoss {
    /// The kind, under which losses of several frames are counted.
    kind: Cow<'static, str>,
    /// The message for this frame, with its values.
    pub what: Cow<'static, str>,
}

impl FrameLoss {
    /// Creates a loss whose message differs from frame to frame.
    pub fn of(kind: &'static str, what: String) -> FrameLoss {
        FrameLoss { kind: kind.into(), what: what.into() }
    }
}

impl From<&'static str> for FrameLoss {
    fn from(what: &'static str) -> FrameLoss {
        FrameLoss { kind: what.into(), what: what.into() }
    }
}

/// The kind is the text before " = ": "λ" for "λ = 0.5".
impl From<String> for FrameLoss {
    fn from(what: String) -> FrameLoss {
        let kind = what.split(" = ").next().unwrap_or(&what).to_owned();
        FrameLoss { kind: kind.into(), what: what.into() }
    }
}

/// The losses of one kind in the frames of an output.
#[derive(Clone, Debug, PartialEq)]
pub struct Loss {
    /// The kind, such as "velocities".
    pub kind: String,
    /// The message that all these frames share, such as "λ = 0.5"; `None` if the frames differ.
    pub what: Option<String>,
    /// The number of frames.
    pub frames: u64,
    /// The first of these frames, by its number in the output.
    pub first: u64,
}

/// The losses of a copy. Merging the losses of different frames gives the same result in any order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Losses(Vec<Loss>);

impl Losses {
    /// Creates the losses of a copy from a list, for instance one received from another process.
    pub fn new(losses: Vec<Loss>) -> Losses {
        let mut all = Losses::default();
        losses.into_iter().for_each(|loss| all.count(loss));
        all
    }

    /// Returns the losses, sorted by kind.
    pub fn list(&self) -> &[Loss] {
        &self.0
    }

    /// Counts the losses of one frame.
    pub fn add(&mut self, frame: u64, lost: &[FrameLoss]) {
        for FrameLoss { kind, what } in lost {
            match self.place(kind) {
                Ok(k) => {
                    let known = &mut self.0[k];
                    known.what.take_if(|known| *known != **what);
                    known.frames += 1;
                    known.first = known.first.min(frame);
                }
                Err(k) => {
                    let (kind, what) = (kind.to_string(), Some(what.to_string()));
                    self.0.insert(k, Loss { kind, what, frames: 1, first: frame });
                }
            }
        }
    }

    /// Adds the losses of other frames.
    pub fn merge(&mut self, other: &Losses) {
        other.0.iter().for_each(|loss| self.count(loss.clone()));
    }

    fn count(&mut self, loss: Loss) {
        match self.place(&loss.kind) {
            Ok(k) => {
                let known = &mut self.0[k];
                known.what.take_if(|known| Some(&*known) != loss.what.as_ref());
                known.frames += loss.frames;
                known.first = known.first.min(loss.first);
            }
            Err(k) => self.0.insert(k, loss),
        }
    }

    fn place(&self, kind: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|known| known.kind[..].cmp(kind))
    }

    /// Returns the message on a copy of `n_frames` frames; `None` if nothing was lost.
    pub fn message(&self, format: Format, n_frames: u64) -> Option<Message> {
        if self.0.is_empty() {
            return None;
        }
        let words = |loss: &Loss| {
            let Loss { kind, what, frames, first } = loss;
            let what = what.as_ref().unwrap_or(kind);
            match *frames == n_frames {
                true => what.clone(),
                false => {
                    format!("{what} (in {frames} of {n_frames} frames, first in frame {first})")
                }
            }
        };
        let words: Vec<String> = self.0.iter().map(words).collect();
        Some(not_held(format, &words.join(", ")))
    }
}

/// Returns the message on a copy in a format that has times and no steps.
pub(crate) fn without_steps(format: Format) -> Message {
    let text = format!("{} keeps the times, but not the numbers of the steps", format.name());
    Code::LeftOutOfCopy.message(text)
}

/// Returns the message on data that a copy in this format leaves out.
pub fn not_held(format: Format, what: &str) -> Message {
    Code::LeftOutOfCopy.message(format!("left out, as {} cannot hold it: {what}", format.name()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts frames of which all but frame 0 lose velocities, and every third λ and the virial.
    fn of(frames: impl Iterator<Item = u64>) -> Losses {
        let mut losses = Losses::default();
        for frame in frames.filter(|&frame| frame > 0) {
            losses.add(frame, &["velocities".into()]);
            if frame.is_multiple_of(3) {
                losses.add(frame, &[format!("λ = {frame}").into(), "the virial".into()]);
            }
        }
        losses
    }

    #[test]
    fn losses_merge_to_the_same_result_in_any_order() {
        let all = of(0..20);
        for border in 0..=20 {
            let mut merged = of(border..20);
            merged.merge(&of(0..border));
            assert_eq!(merged, all);
            assert_eq!(Losses::new(merged.list().to_vec()), all);
        }
        let some = "(in 6 of 20 frames, first in frame 3)";
        let expected = format!(
            "left out, as XTC cannot hold it: the virial {some}, velocities (in 19 of 20 frames, \
             first in frame 1), λ {some}"
        );
        assert_eq!(all.message(Format::Xtc, 20), Some(Code::LeftOutOfCopy.message(expected)));
        let one = of(3..4).message(Format::Ncdf, 1).unwrap();
        assert_eq!(one.text, "left out, as NCDF cannot hold it: the virial, velocities, λ = 3");
        assert_eq!(Losses::default().message(Format::Xtc, 20), None);
    }
}
