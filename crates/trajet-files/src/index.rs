//! The frame index: the offset, time and step of each frame of a file.

use std::fmt::Debug;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use boxes::BoxColumn;

use trajet_formats::ReportedBox;
use trajet_formats::codec::Mark;
use trajet_formats::memory::{Refused, reserve};

pub use crate::stamp::Stamp;
use crate::{Error, Frames};

mod boxes;

/// The offset, time and step of each frame of a file.
///
/// A part of an index ([`FrameIndex::part`]) contains some of the frames, under the numbers that they have in the
/// file. Its `n_frames`, `offsets`, `times`, `steps` and `end` are those of the part, not of the file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FrameIndex {
    n_atoms: usize,
    offsets: Vec<u64>,
    end: u64,
    times: Vec<f64>,
    steps: Vec<i64>,
    /// Digests of each frame's bytes, the same number for each frame: one per file that holds a share of its atoms.
    digests: Vec<u64>,
    /// Boxes, if the files of the frames do not hold them.
    boxes: BoxColumn,
    /// The frame metadata from which boxes are decoded, one entry per segment. A part of an index has the boxes
    /// of its frames instead.
    #[serde(skip)]
    heads: Segments,
    /// In a part of an index: whether the boxes of some of its frames could not be decoded.
    boxes_fail: bool,
    /// In a part of an index: the ranges of frames that it contains. The tables have one more entry after each range,
    /// for the end of its last frame.
    ranges: Option<Vec<FrameRange>>,
}

/// Boxes of the frames of a segment, decoded on request.
pub trait FrameBoxes: Debug + Send + Sync {
    /// Returns the number of frames.
    fn n_frames(&self) -> usize;

    /// Returns the box of frame `k`.
    ///
    /// # Errors
    /// [`Error::Partition`] if it cannot be decoded.
    fn reported_box(&self, k: usize) -> Result<ReportedBox, Error>;
}

/// The boxes of all frames, one entry per segment.
#[derive(Clone, Debug, Default)]
struct Segments(Vec<Arc<dyn FrameBoxes>>);

impl PartialEq for Segments {
    /// Compares by identity: whether both refer to the same metadata.
    fn eq(&self, other: &Segments) -> bool {
        self.0.len() == other.0.len() && self.0.iter().zip(&other.0).all(|(a, b)| Arc::ptr_eq(a, b))
    }
}

/// Consecutive frames of a part of an index.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct FrameRange {
    frames: Range<u64>,
    /// Row of the first frame in the tables.
    at: usize,
}

impl FrameIndex {
    /// Returns an index without frames.
    pub fn new(n_atoms: usize) -> Self {
        FrameIndex { n_atoms, ..FrameIndex::default() }
    }

    /// Returns an index made of columns with one value per frame.
    pub(crate) fn from_columns(
        n_atoms: usize,
        (offsets, end): (Vec<u64>, u64),
        times: Vec<f64>,
        steps: Vec<i64>,
    ) -> Self {
        FrameIndex { n_atoms, offsets, end, times, steps, ..FrameIndex::default() }
    }

    /// Returns the index with other times (ps), each for the number, the time and the step of its frame.
    #[must_use]
    pub(crate) fn with_times(mut self, time: impl Fn(u64, f64, i64) -> f64) -> Self {
        for ((number, found), &step) in (0..).zip(&mut self.times).zip(&self.steps) {
            *found = time(number, *found, step);
        }
        self
    }

    /// Reserves capacity for `more` further frames.
    ///
    /// # Errors
    /// [`Refused`] if there is not enough memory.
    #[inline]
    pub fn reserve(&mut self, more: usize) -> Result<(), Refused> {
        const WHAT: &str = "the index of all frames";
        reserve(&mut self.offsets, more, WHAT)?;
        reserve(&mut self.times, more, WHAT)?;
        reserve(&mut self.steps, more, WHAT)
    }

    /// Appends a frame that begins at byte `offset` and ends at byte `end`.
    pub fn push(&mut self, offset: u64, end: u64, time: f64, step: i64) {
        self.offsets.push(offset);
        self.times.push(time);
        self.steps.push(step);
        self.end = end;
    }

    /// Extends the last frame to byte `end`.
    pub(crate) fn extend_to(&mut self, end: u64) {
        self.end = end;
    }

    /// Appends a frame whose atoms lie in several files, with the XXH3 digest of its bytes in each of them.
    pub fn push_with_digests(
        &mut self,
        extent: Range<u64>,
        (time, step): (f64, i64),
        digests: impl IntoIterator<Item = u64>,
    ) {
        self.push(extent.start, extent.end, time, step);
        self.digests.extend(digests);
    }

    /// Returns the number of digests per frame; `None` if it is not the same for all frames.
    pub fn n_digests(&self) -> Option<usize> {
        let n_frames = self.n_frames();
        let n = self.digests.len().checked_div(n_frames).unwrap_or(0);
        (n * n_frames == self.digests.len()).then_some(n)
    }

    /// Returns the digest of a frame's bytes in the file of a part, if it is known.
    pub fn digest(&self, frame: u64, part: usize) -> Option<u64> {
        let n = self.n_digests().filter(|&n| part < n)?;
        Some(self.digests[self.at(frame) * n + part])
    }

    /// Sets the boxes of all frames, for files that omit them ([`trajet_formats::h5md::Boxes::InParentIndex`]).
    pub fn set_boxes(&mut self, boxes: impl IntoIterator<Item = ReportedBox>) {
        self.boxes = BoxColumn::new(boxes);
    }

    /// Sets the frame metadata from which boxes are decoded, one entry per segment, for files that omit boxes or may
    /// hold different ones.
    pub fn set_heads<B: FrameBoxes + 'static>(&mut self, heads: Vec<Arc<B>>) {
        self.heads = Segments(heads.into_iter().map(|heads| heads as _).collect());
    }

    /// Returns the box of a frame, if the index has boxes.
    ///
    /// # Errors
    /// [`Error::Partition`] if the metadata of the frame cannot be decoded.
    pub fn reported_box(&self, frame: u64, path: &Path) -> Result<Option<ReportedBox>, Error> {
        let mut at = self.at(frame);
        for heads in &self.heads.0 {
            if at < heads.n_frames() {
                return heads.reported_box(at).map(Some);
            }
            at -= heads.n_frames();
        }
        if self.boxes_fail || !self.heads.0.is_empty() {
            let what =
                format!("the box of frame {frame} cannot be read from the heads of its frames");
            return Err(Error::Partition { path: path.to_owned(), what });
        }
        Ok(self.boxes.get(at))
    }

    /// Returns whether the index has a box for every frame.
    pub fn has_boxes(&self) -> bool {
        let n_heads: usize = self.heads.0.iter().map(|heads| heads.n_frames()).sum();
        n_heads == self.n_frames() || self.boxes.covers(self.n_frames())
    }

    /// Appends the boxes of a range of frames, decoded from the metadata, and a filler for the entry after them.
    ///
    /// # Errors
    /// As [`FrameIndex::reported_box`].
    fn decode_boxes(&self, frames: Range<u64>, out: &mut Vec<ReportedBox>) -> Result<(), Error> {
        for frame in frames {
            out.extend(self.reported_box(frame, Path::new(""))?);
        }
        out.extend(out.last().copied());
        Ok(())
    }

    /// Appends the frames of `later`, without the first `skip`.
    pub(crate) fn append(&mut self, later: &FrameIndex, skip: usize) {
        if skip < later.n_frames() {
            self.offsets.extend_from_slice(&later.offsets[skip..]);
            self.times.extend_from_slice(&later.times[skip..]);
            self.steps.extend_from_slice(&later.steps[skip..]);
            self.end = later.end;
        }
    }

    /// Returns the number of atoms in each frame.
    pub fn n_atoms(&self) -> usize {
        self.n_atoms
    }

    /// Returns the number of whole frames.
    pub fn n_frames(&self) -> usize {
        self.offsets.len()
    }

    /// Returns the part of the index for some `frames`, numbers in any order. It also contains the frames between
    /// requested ones that are at most 8 apart, since a further range would take more memory.
    ///
    /// # Panics
    /// If there is no such frame.
    #[must_use]
    pub fn part(&self, frames: impl IntoIterator<Item = u64>) -> FrameIndex {
        const NEAR: u64 = 8;
        let mut frames: Vec<u64> = frames.into_iter().collect();
        frames.sort_unstable();
        let n_digests = self.n_digests().unwrap_or(0);
        let mut part = FrameIndex::new(self.n_atoms);
        let (mut ranges, mut boxes): (Vec<FrameRange>, _) = (Vec::new(), Vec::new());
        for frame in frames {
            match ranges.last_mut() {
                Some(last) if frame < last.frames.end + NEAR => {
                    last.frames.end = last.frames.end.max(frame + 1);
                }
                _ => ranges.push(FrameRange { frames: frame..frame + 1, at: 0 }),
            }
        }
        for range in &mut ranges {
            range.at = part.offsets.len();
            let rows = self.at(range.frames.start)..self.at(range.frames.end - 1) + 1;
            part.offsets.extend_from_slice(&self.offsets[rows.clone()]);
            part.times.extend_from_slice(&self.times[rows.clone()]);
            part.steps.extend_from_slice(&self.steps[rows.clone()]);
            let digests = rows.start * n_digests..rows.end * n_digests;
            part.digests.extend_from_slice(&self.digests[digests]);
            part.boxes.append(&self.boxes, rows);
            if !self.heads.0.is_empty() {
                part.boxes_fail |= self.decode_boxes(range.frames.clone(), &mut boxes).is_err();
            }
            part.push(self.extent(range.frames.end - 1).end, 0, f64::NAN, 0);
            part.digests.resize(part.digests.len() + n_digests, 0);
        }
        if !self.heads.0.is_empty() {
            part.set_boxes(boxes);
        }
        part.end = part.offsets.last().copied().unwrap_or(0);
        part.ranges = Some(ranges);
        part
    }

    /// Returns the row of a frame in the tables.
    fn at(&self, frame: u64) -> usize {
        let Some(ranges) = &self.ranges else { return frame as usize };
        let k = ranges.partition_point(|range| range.frames.end <= frame);
        let range = ranges.get(k).filter(|range| range.frames.contains(&frame));
        let range = range.unwrap_or_else(|| panic!("frame {frame} is not in this part"));
        range.at + (frame - range.frames.start) as usize
    }

    /// Returns the byte range of a frame.
    ///
    /// # Panics
    /// If there is no such frame.
    pub fn extent(&self, frame: u64) -> Range<u64> {
        let at = self.at(frame);
        self.offsets[at]..self.offsets.get(at + 1).copied().unwrap_or(self.end)
    }

    /// Returns the byte at which a frame begins; for `frame` = the number of frames, the byte at which the last ends.
    ///
    /// # Panics
    /// If `frame` is above the number of frames.
    pub fn offset(&self, frame: u64) -> u64 {
        if self.ranges.is_none() && frame as usize == self.offsets.len() {
            return self.end;
        }
        self.offsets[self.at(frame)]
    }

    /// Returns the byte at which each frame begins.
    pub fn offsets(&self) -> &[u64] {
        &self.offsets
    }

    /// Returns the byte at which the last whole frame ends.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Returns the time of each frame, ps.
    pub fn times(&self) -> &[f64] {
        &self.times
    }

    /// Returns the integration step of each frame.
    pub fn steps(&self) -> &[i64] {
        &self.steps
    }

    /// Returns the time (ps) and the integration step of a frame.
    ///
    /// # Panics
    /// If there is no such frame.
    pub fn when(&self, frame: u64) -> (f64, i64) {
        let at = self.at(frame);
        (self.times[at], self.steps[at])
    }

    /// Returns whether `mark` is that of the indexed `frame`: a file may have changed since it was indexed.
    pub(crate) fn knows(&self, frame: u64, mark: &Mark) -> bool {
        let (at, extent) = (self.at(frame), self.extent(frame));
        mark.n_atoms == self.n_atoms
            && mark.time.to_bits() == self.times[at].to_bits()
            && mark.step == self.steps[at]
            && mark.len == extent.end - extent.start
    }

    /// Returns frames, at most `most` of them in equal steps, that have more bytes than one and a half of the median.
    pub(crate) fn long_frames(&self, most: usize) -> Vec<u64> {
        let ends = self.offsets.iter().skip(1).chain(std::iter::once(&self.end));
        let mut lengths: Vec<u64> =
            self.offsets.iter().zip(ends).map(|(begin, end)| end - begin).collect();
        let all = lengths.clone();
        let middle = lengths.len() / 2;
        let Some((_, &mut median, _)) =
            (!lengths.is_empty()).then(|| lengths.select_nth_unstable(middle))
        else {
            return Vec::new();
        };
        let is_long = |length: u64| length > median + median / 2;
        let long: Vec<u64> =
            (0..).zip(all).filter(|&(_, length)| is_long(length)).map(|(frame, _)| frame).collect();
        let n = long.len();
        (0..n.min(most)).map(|k| long[k * n / n.min(most)]).collect()
    }

    /// Checks that another index of the same file has the same frames.
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

    /// Checks that every requested frame exists.
    ///
    /// # Errors
    /// [`Error::FrameOutOfRange`] with the largest requested frame.
    pub fn check(&self, frames: &Frames, path: &Path) -> Result<(), Error> {
        if self.ranges.is_some() {
            // The frames were checked when the part was made.
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

/// The origin of an index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IndexState {
    /// Computed from the header and the size of the file.
    Computed,
    /// Built from the trajectory just now.
    #[default]
    Built,
    /// Read from a matching sidecar.
    Loaded,
    /// Read from a sidecar that is published beside an object, which anybody may have written.
    Published,
    /// Read from a sidecar and extended by the frames that were written since.
    Extended,
}

impl IndexState {
    /// Returns the name used in reports.
    pub fn name(self) -> &'static str {
        match self {
            IndexState::Computed => "computed",
            IndexState::Built => "built",
            IndexState::Loaded => "loaded",
            IndexState::Published => "published",
            IndexState::Extended => "extended",
        }
    }
}
