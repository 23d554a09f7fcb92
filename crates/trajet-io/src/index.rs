//! The frame index: where each frame of a file begins, when and at which step it was written.

use std::fmt::Debug;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use boxes::BoxColumn;

use crate::cell::GivenBox;
use crate::memory::{Refused, reserve};
pub use crate::stamp::Stamp;
use crate::{Error, Frames};

mod boxes;

/// Where each frame begins, when and at which step it was written.
///
/// A part of an index ([`FrameIndex::part`]) knows some of the frames by the numbers that they have in the
/// file; only what concerns single frames can be asked of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FrameIndex {
    n_atoms: usize,
    offsets: Vec<u64>,
    end: u64,
    times: Vec<f64>,
    steps: Vec<i64>,
    /// Of a divided trajectory what the bytes of each frame must be: as many digests a frame as there are parts.
    digests: Vec<u64>,
    /// Of a divided trajectory whose parts do not all have boxes.
    boxes: BoxColumn,
    /// Where the boxes of all frames are looked up, a segment each. A part of an index has the boxes of its
    /// frames instead.
    #[serde(skip)]
    heads: Segments,
    /// Whether a part should have boxes of heads that could not be decoded.
    boxes_fail: bool,
    /// Of a part: which frames it knows. Behind those of a stretch stands where the last of them ends.
    stretches: Option<Vec<Stretch>>,
}

/// Boxes of the frames of a segment, which are decoded when they are asked for.
pub trait FrameBoxes: Debug + Send + Sync {
    /// Returns the number of frames.
    fn n_frames(&self) -> usize;

    /// Returns the box of frame `k`.
    ///
    /// # Errors
    /// [`Error::Division`] where it cannot be decoded.
    fn given_box(&self, k: usize) -> Result<GivenBox, Error>;
}

/// The boxes of all frames, a segment each.
#[derive(Clone, Debug, Default)]
struct Segments(Vec<Arc<dyn FrameBoxes>>);

impl PartialEq for Segments {
    /// Whether both look boxes up in the same place.
    fn eq(&self, other: &Segments) -> bool {
        self.0.len() == other.0.len() && self.0.iter().zip(&other.0).all(|(a, b)| Arc::ptr_eq(a, b))
    }
}

/// Neighbouring frames that a part of an index knows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Stretch {
    frames: Range<u64>,
    /// The place of the first of them.
    at: usize,
}

impl FrameIndex {
    /// An index without frames.
    pub fn new(n_atoms: usize) -> Self {
        FrameIndex { n_atoms, ..FrameIndex::default() }
    }

    /// Makes an index of columns with a value for each frame.
    pub(crate) fn from_columns(
        n_atoms: usize,
        (offsets, end): (Vec<u64>, u64),
        times: Vec<f64>,
        steps: Vec<i64>,
    ) -> Self {
        FrameIndex { n_atoms, offsets, end, times, steps, ..FrameIndex::default() }
    }

    /// Makes room for `more` frames.
    ///
    /// # Errors
    /// [`Refused`] if the system has not got the memory.
    #[inline]
    pub fn reserve(&mut self, more: usize) -> Result<(), Refused> {
        const WHAT: &str = "the index of all frames";
        reserve(&mut self.offsets, more, WHAT)?;
        reserve(&mut self.times, more, WHAT)?;
        reserve(&mut self.steps, more, WHAT)
    }

    /// Adds the frame that follows the last one and ends at byte `end`.
    pub fn push(&mut self, offset: u64, end: u64, time: f64, step: i64) {
        self.offsets.push(offset);
        self.times.push(time);
        self.steps.push(step);
        self.end = end;
    }

    /// The same, of a divided trajectory, with the XXH3 digest of the frame's bytes in the file of each part.
    pub fn push_divided(
        &mut self,
        extent: Range<u64>,
        (time, step): (f64, i64),
        digests: impl IntoIterator<Item = u64>,
    ) {
        self.push(extent.start, extent.end, time, step);
        self.digests.extend(digests);
    }

    /// How many parts' digests are known of each frame; none where it is not the same number of all.
    pub(crate) fn n_digests(&self) -> Option<usize> {
        let n_frames = self.n_frames();
        let n = self.digests.len().checked_div(n_frames).unwrap_or(0);
        (n * n_frames == self.digests.len()).then_some(n)
    }

    /// The digest of a frame's bytes in the file of a part, where it is known.
    pub(crate) fn digest(&self, frame: u64, part: usize) -> Option<u64> {
        let n = self.n_digests().filter(|&n| part < n)?;
        Some(self.digests[self.at(frame) * n + part])
    }

    /// Says which boxes the frames have, for parts that leave them out ([`crate::h5md::Boxes::InParentIndex`]).
    pub fn set_boxes(&mut self, boxes: impl IntoIterator<Item = GivenBox>) {
        self.boxes = BoxColumn::new(boxes);
    }

    /// Has boxes taken from the heads of all frames, a segment each: parts leave boxes out, or may hold others.
    pub fn set_heads<B: FrameBoxes + 'static>(&mut self, heads: Vec<Arc<B>>) {
        self.heads = Segments(heads.into_iter().map(|heads| heads as _).collect());
    }

    /// Returns the box of a frame, where boxes are known here.
    ///
    /// # Errors
    /// [`Error::Division`] where the head of the frame cannot be decoded.
    pub(crate) fn given_box(&self, frame: u64, path: &Path) -> Result<Option<GivenBox>, Error> {
        let mut at = self.at(frame);
        for heads in &self.heads.0 {
            if at < heads.n_frames() {
                return heads.given_box(at).map(Some);
            }
            at -= heads.n_frames();
        }
        if self.boxes_fail || !self.heads.0.is_empty() {
            let what =
                format!("the box of frame {frame} cannot be read from the heads of its frames");
            return Err(Error::Division { path: path.to_owned(), what });
        }
        Ok(self.boxes.get(at))
    }

    /// Whether each frame has its box here.
    pub(crate) fn has_boxes(&self) -> bool {
        let n_heads: usize = self.heads.0.iter().map(|heads| heads.n_frames()).sum();
        n_heads == self.n_frames() || self.boxes.are_of(self.n_frames())
    }

    /// Adds the boxes of a stretch of frames, and one behind them that is of no frame, from the heads.
    ///
    /// # Errors
    /// As [`FrameIndex::given_box`].
    fn decode_boxes(&self, frames: Range<u64>, out: &mut Vec<GivenBox>) -> Result<(), Error> {
        for frame in frames {
            out.extend(self.given_box(frame, Path::new(""))?);
        }
        out.extend(out.last().copied());
        Ok(())
    }

    /// Adds all frames of `later` from its `skip`-th on.
    pub(crate) fn append(&mut self, later: &FrameIndex, skip: usize) {
        if skip < later.n_frames() {
            self.offsets.extend_from_slice(&later.offsets[skip..]);
            self.times.extend_from_slice(&later.times[skip..]);
            self.steps.extend_from_slice(&later.steps[skip..]);
            self.end = later.end;
        }
    }

    /// Atoms of every frame.
    pub fn n_atoms(&self) -> usize {
        self.n_atoms
    }

    /// Whole frames.
    pub fn n_frames(&self) -> usize {
        self.offsets.len()
    }

    /// What is known of some frames; `wanted` are numbers in any order. Frames between neighbours that are
    /// no further apart than it takes to name a stretch are there too.
    ///
    /// # Panics
    /// If there is no such frame.
    #[must_use]
    pub fn part(&self, wanted: impl IntoIterator<Item = u64>) -> FrameIndex {
        const NEAR: u64 = 8;
        let mut wanted: Vec<u64> = wanted.into_iter().collect();
        wanted.sort_unstable();
        let n_digests = self.n_digests().unwrap_or(0);
        let mut part = FrameIndex::new(self.n_atoms);
        let (mut stretches, mut boxes): (Vec<Stretch>, _) = (Vec::new(), Vec::new());
        for frame in wanted {
            match stretches.last_mut() {
                Some(last) if frame < last.frames.end + NEAR => {
                    last.frames.end = last.frames.end.max(frame + 1);
                }
                _ => stretches.push(Stretch { frames: frame..frame + 1, at: 0 }),
            }
        }
        for stretch in &mut stretches {
            stretch.at = part.offsets.len();
            let places = self.at(stretch.frames.start)..self.at(stretch.frames.end - 1) + 1;
            part.offsets.extend_from_slice(&self.offsets[places.clone()]);
            part.times.extend_from_slice(&self.times[places.clone()]);
            part.steps.extend_from_slice(&self.steps[places.clone()]);
            let digests = places.start * n_digests..places.end * n_digests;
            part.digests.extend_from_slice(&self.digests[digests]);
            part.boxes.append(&self.boxes, places);
            if !self.heads.0.is_empty() {
                part.boxes_fail |= self.decode_boxes(stretch.frames.clone(), &mut boxes).is_err();
            }
            part.push(self.extent(stretch.frames.end - 1).end, 0, f64::NAN, 0);
            part.digests.resize(part.digests.len() + n_digests, 0);
        }
        if !self.heads.0.is_empty() {
            part.set_boxes(boxes);
        }
        part.end = part.offsets.last().copied().unwrap_or(0);
        part.stretches = Some(stretches);
        part
    }

    /// The place of a frame in the tables.
    fn at(&self, frame: u64) -> usize {
        let Some(stretches) = &self.stretches else { return frame as usize };
        let k = stretches.partition_point(|stretch| stretch.frames.end <= frame);
        let stretch = stretches.get(k).filter(|stretch| stretch.frames.contains(&frame));
        let stretch = stretch.unwrap_or_else(|| panic!("frame {frame} is not in this part"));
        stretch.at + (frame - stretch.frames.start) as usize
    }

    /// The bytes of a frame.
    ///
    /// # Panics
    /// If there is no such frame.
    pub fn extent(&self, frame: u64) -> Range<u64> {
        let at = self.at(frame);
        self.offsets[at]..self.offsets.get(at + 1).copied().unwrap_or(self.end)
    }

    /// Where a frame begins; for the number of frames, where the last one ends.
    ///
    /// # Panics
    /// If `frame` is above the number of frames.
    pub fn offset(&self, frame: u64) -> u64 {
        if self.stretches.is_none() && frame as usize == self.offsets.len() {
            return self.end;
        }
        self.offsets[self.at(frame)]
    }

    /// Where each frame begins.
    pub fn offsets(&self) -> &[u64] {
        &self.offsets
    }

    /// Bytes that whole frames fill.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Time of each frame, ps.
    pub fn times(&self) -> &[f64] {
        &self.times
    }

    /// Integration step of each frame.
    pub fn steps(&self) -> &[i64] {
        &self.steps
    }

    /// Time (ps) and integration step of a frame.
    ///
    /// # Panics
    /// If there is no such frame.
    pub fn when(&self, frame: u64) -> (f64, i64) {
        let at = self.at(frame);
        (self.times[at], self.steps[at])
    }

    /// Whether `frame` is this one: a file may have changed since it was indexed.
    pub(crate) fn knows(&self, frame: u64, mark: &Mark) -> bool {
        let (at, extent) = (self.at(frame), self.extent(frame));
        mark.n_atoms == self.n_atoms
            && mark.time.to_bits() == self.times[at].to_bits()
            && mark.step == self.steps[at]
            && mark.len == extent.end - extent.start
    }

    /// Makes sure that another index of the same file has the same frames.
    ///
    /// # Errors
    /// [`Error::Stale`] with the first frame that differs.
    pub(crate) fn same_as(&self, found: &FrameIndex, path: &Path) -> Result<(), Error> {
        let n = self.n_frames().max(found.n_frames());
        let row = |index: &FrameIndex, k: usize| {
            let time = index.times.get(k)?.to_bits();
            Some((index.extent(k as u64), time, index.steps[k]))
        };
        match (0..n).find(|&k| row(self, k) != row(found, k)) {
            None => Ok(()),
            Some(k) => {
                let offset = self.offsets.get(k).copied().unwrap_or(self.end);
                Err(Error::Stale { path: path.to_owned(), frame: k as u64, offset })
            }
        }
    }

    /// Checks that every wanted frame exists.
    ///
    /// # Errors
    /// [`Error::FrameOutOfRange`] with the largest frame asked for.
    pub fn check(&self, frames: &Frames, path: &Path) -> Result<(), Error> {
        if self.stretches.is_some() {
            // Whoever cut the part out has looked.
            return Ok(());
        }
        match frames.largest() {
            Some(frame) if frame >= self.n_frames() as u64 => Err(Error::FrameOutOfRange {
                path: path.to_owned(),
                frame: frame as i64,
                n_frames: self.n_frames() as u64,
            }),
            _ => Ok(()),
        }
    }
}

/// What an index keeps of a frame, as the frame's own header says it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Mark {
    pub(crate) n_atoms: usize,
    /// ps.
    pub(crate) time: f64,
    pub(crate) step: i64,
    /// Bytes of the whole frame.
    pub(crate) len: u64,
}

/// Where an index came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IndexState {
    /// Follows from the header and the size of the file.
    Computed,
    /// Built from the trajectory just now.
    #[default]
    Built,
    /// Read from a sidecar that fits.
    Loaded,
    /// Read from a sidecar, and the frames that have come since added.
    Extended,
}

impl IndexState {
    /// The word that reports use.
    pub fn name(self) -> &'static str {
        match self {
            IndexState::Computed => "computed",
            IndexState::Built => "built",
            IndexState::Loaded => "loaded",
            IndexState::Extended => "extended",
        }
    }
}
