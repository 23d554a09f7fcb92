//! The selected frames and their order: a strided range or a list.

use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};

/// The selected frames of a trajectory by number, in the order in which they were requested.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Frames {
    /// `first, first + step, …`, `count` of them; the step may be negative.
    Strided {
        /// Number of the first frame.
        first: u64,
        /// Difference between neighbours.
        step: i64,
        /// Number of frames.
        count: usize,
    },
    /// Any frames in any order, repeats allowed.
    Listed(FrameList),
}

/// A list of frame numbers.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(from = "Arc<[u64]>")]
pub struct FrameList {
    numbers: Arc<[u64]>,
    /// Cached, because it is needed for every block that is read.
    largest: Option<u64>,
}

impl<T: Into<Arc<[u64]>>> From<T> for FrameList {
    fn from(numbers: T) -> Self {
        let numbers = numbers.into();
        FrameList { largest: numbers.iter().copied().max(), numbers }
    }
}

impl Serialize for FrameList {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.numbers.serialize(serializer)
    }
}

impl Deref for FrameList {
    type Target = [u64];

    fn deref(&self) -> &[u64] {
        &self.numbers
    }
}

impl From<Vec<u64>> for Frames {
    fn from(list: Vec<u64>) -> Self {
        Frames::Listed(list.into())
    }
}

impl Frames {
    /// Selects all frames of a trajectory of `n` frames.
    pub fn all(n: usize) -> Self {
        Frames::Strided { first: 0, step: 1, count: n }
    }

    /// Returns the number of selected frames.
    pub fn len(&self) -> usize {
        match self {
            Frames::Strided { count, .. } => *count,
            Frames::Listed(list) => list.len(),
        }
    }

    /// Returns whether no frame is selected.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of the frame at `position`.
    ///
    /// # Panics
    /// If `position` is not below [`Frames::len`].
    pub fn get(&self, position: usize) -> u64 {
        match self {
            Frames::Strided { first, step, count } => {
                assert!(position < *count, "position {position} of {count} frames");
                first.wrapping_add_signed(step.wrapping_mul(position as i64))
            }
            Frames::Listed(list) => list[position],
        }
    }

    /// Returns the frames at `positions`.
    ///
    /// # Panics
    /// If `positions` extends past [`Frames::len`].
    #[must_use]
    pub fn slice(&self, positions: std::ops::Range<usize>) -> Frames {
        assert!(positions.end <= self.len(), "{positions:?} of {} frames", self.len());
        match self {
            Frames::Strided { first, step, .. } => Frames::Strided {
                first: first.wrapping_add_signed(step.wrapping_mul(positions.start as i64)),
                step: *step,
                count: positions.len(),
            },
            Frames::Listed(list) => Frames::Listed(list[positions].into()),
        }
    }

    /// Returns the largest frame number; `None` if no frame is selected.
    pub fn largest(&self) -> Option<u64> {
        match self {
            Frames::Strided { count: 0, .. } => None,
            Frames::Strided { count, .. } => Some(self.get(0).max(self.get(count - 1))),
            Frames::Listed(list) => list.largest,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strides_may_be_negative() {
        let frames = Frames::Strided { first: 9, step: -3, count: 4 };
        assert_eq!((0..4).map(|i| frames.get(i)).collect::<Vec<_>>(), [9, 6, 3, 0]);
        assert_eq!(frames.largest(), Some(9));
        assert_eq!(Frames::all(0).largest(), None);
        let part = frames.slice(1..3);
        assert_eq!((0..2).map(|i| part.get(i)).collect::<Vec<_>>(), [6, 3]);
    }
}
