//! The frame index, and the sidecar file that keeps it.
//!
//! A sidecar lies beside its trajectory as `.NAME.trajet-index`; where that folder cannot be written,
//! in the user's cache folder; else the index lives in memory only. It is stamped with the size of
//! the trajectory and digests of its head and tail: a modification time that differs between nodes
//! does not matter. It is written to a name of its own and renamed, so that any number of processes
//! may do so at once without a lock: each reads a whole index, and the last one's stays.
//!
//! Stamps and digests find accidents, not forgeries: a sidecar counts only if it is a regular file that belongs
//! to this user, to root or to the owner of the trajectory (`index/place`). Others are neither read nor replaced.
//!
//! Sidecar layout, little endian: magic (8 bytes), format (4), version (u32), atoms, size of the
//! trajectory, bytes that whole frames fill, digest of the head, digest of the tail, frames (u64
//! each), then offsets (u64), times (f64), steps (i64) of all frames, and the XXH3 digest of all that.

use std::collections::hash_map::RandomState;
use std::fs;
use std::hash::{BuildHasher, Hasher};
use std::io::{Read, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use boxes::BoxColumn;

use crate::divided::Heads;
use crate::memory::{Refused, reserve};
use crate::reader::OpenOptions;
use crate::source::{Meter, Source};
use crate::{Error, Frames, GivenBox, xxh3_64};

mod boxes;
mod place;

const MAGIC: &[u8; 8] = b"trajetix";
const VERSION: u32 = 1;
const HEADER_BYTES: usize = 64;
const FRAME_BYTES: usize = 24;
/// Bytes of the head and of the tail that enter the stamp.
const STAMP_BYTES: u64 = 4096;

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
    /// The heads of all frames, a segment each, where these have the boxes. A part of an index has the boxes
    /// of its frames instead.
    #[serde(skip)]
    heads: Vec<Arc<Heads>>,
    /// Whether a part should have boxes of heads that could not be decoded.
    boxes_fail: bool,
    /// Of a part: which frames it knows. Behind those of a stretch stands where the last of them ends.
    stretches: Option<Vec<Stretch>>,
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

    /// Says which boxes the frames have, for parts that leave them out ([`crate::h5md::Boxes::Elsewhere`]).
    pub fn set_boxes(&mut self, boxes: impl IntoIterator<Item = GivenBox>) {
        self.boxes = BoxColumn::new(boxes);
    }

    /// Has boxes taken from the heads of all frames, a segment each: parts leave boxes out, or may hold others.
    pub fn set_heads(&mut self, heads: Vec<Arc<Heads>>) {
        self.heads = heads;
    }

    /// Returns the box of a frame, where boxes are known here.
    ///
    /// # Errors
    /// [`Error::Division`] where the head of the frame cannot be decoded.
    pub(crate) fn given_box(&self, frame: u64, path: &Path) -> Result<Option<GivenBox>, Error> {
        let mut at = self.at(frame);
        for heads in &self.heads {
            if at < heads.len() {
                return Ok(Some(heads.get(at)?.given_box()));
            }
            at -= heads.len();
        }
        if self.boxes_fail || !self.heads.is_empty() {
            let what =
                format!("the box of frame {frame} cannot be read from the heads of its frames");
            return Err(Error::Division { path: path.to_owned(), what });
        }
        Ok(self.boxes.get(at))
    }

    /// Whether each frame has its box here.
    pub(crate) fn has_boxes(&self) -> bool {
        let n_heads: usize = self.heads.iter().map(|heads| heads.len()).sum();
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
            if !self.heads.is_empty() {
                part.boxes_fail |= self.decode_boxes(stretch.frames.clone(), &mut boxes).is_err();
            }
            part.push(self.extent(stretch.frames.end - 1).end, 0, f64::NAN, 0);
            part.digests.resize(part.digests.len() + n_digests, 0);
        }
        if !self.heads.is_empty() {
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

/// What ties an index to the file that it describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// Bytes in the file.
    pub size: u64,
    /// Digest of its first bytes.
    pub head: u64,
    /// Digest of its last bytes.
    pub tail: u64,
}

impl Stamp {
    /// The stamp that the first `size` bytes of a file have.
    ///
    /// # Errors
    /// As [`Source::read_at`].
    pub fn of(source: &Source, size: u64, meter: &mut Meter) -> Result<Stamp, Error> {
        Stamp::with(source, size, |_, _| (), meter)
    }

    /// The same, of bytes that `change` has been shown, with the place of the first, and may change.
    fn with(
        source: &Source,
        size: u64,
        change: impl Fn(u64, &mut [u8]),
        meter: &mut Meter,
    ) -> Result<Stamp, Error> {
        let n = size.min(STAMP_BYTES);
        let mut digest = |offset| {
            let mut bytes = [0; STAMP_BYTES as usize];
            let bytes = &mut bytes[..n as usize];
            source.read_at(offset, bytes, meter)?;
            if offset == 0 {
                source.check_head(bytes, meter)?;
            }
            change(offset, bytes);
            Ok::<_, Error>(xxh3_64(bytes))
        };
        Ok(Stamp { size, head: digest(0)?, tail: digest(size - n)? })
    }

    /// Whether the head of the file is still the one that was stamped.
    ///
    /// # Errors
    /// As [`Source::read_at`].
    pub(crate) fn head_stands(&self, source: &Source, meter: &mut Meter) -> Result<bool, Error> {
        let mut bytes = [0; STAMP_BYTES as usize];
        let bytes = &mut bytes[..self.size.min(STAMP_BYTES) as usize];
        source.read_at(0, bytes, meter)?;
        Ok(xxh3_64(bytes) == self.head)
    }

    /// The digest that reports name, as hexadecimal digits: of size, head and tail.
    pub fn digest(&self) -> String {
        let mut bytes = [0; 24];
        bytes[..8].copy_from_slice(&self.size.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.head.to_le_bytes());
        bytes[16..].copy_from_slice(&self.tail.to_le_bytes());
        format!("xxh3:{:016x}", xxh3_64(&bytes))
    }
}

/// An index, where it came from, and the sidecar that keeps it.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) index: Arc<FrameIndex>,
    pub(crate) stamp: Stamp,
    pub(crate) state: IndexState,
    pub(crate) sidecar: Option<PathBuf>,
    /// A remark on a sidecar that was not used although it is there.
    pub(crate) remark: Option<String>,
}

impl Found {
    /// An index that no sidecar keeps: it takes no pass over the file.
    pub(crate) fn without_sidecar(index: Arc<FrameIndex>, stamp: Stamp, state: IndexState) -> Self {
        Found { index, stamp, state, sidecar: None, remark: None }
    }
}

/// How a format finds its frames.
pub(crate) trait Finder {
    /// Stands in the sidecar.
    const FORMAT: [u8; 4];
    /// Bytes of the shortest frame that the format allows.
    const SHORTEST_FRAME: u64;

    /// Whether a loaded index may belong to this file: looks at a few frames.
    ///
    /// # Errors
    /// [`Error::Io`].
    fn agrees(&self, index: &FrameIndex, meter: &mut Meter) -> Result<bool, Error>;

    /// Gives `bytes`, which stand at byte `at`, back what they said when the file held only the frames
    /// of `index`: for formats that count frames in a header.
    fn rewind(&self, _index: &FrameIndex, _at: u64, _bytes: &mut [u8]) {}

    /// Makes the index, from `base` on where the file has only grown since.
    ///
    /// # Errors
    /// Of a file that is not what the format says.
    fn build(&self, base: Option<FrameIndex>, meter: &mut Meter) -> Result<FrameIndex, Error>;
}

/// The index of an open file: loaded, extended or built, and kept for the next time.
///
/// # Errors
/// As [`Finder::build`].
pub(crate) fn find<F: Finder>(
    finder: &F,
    source: &Source,
    options: &OpenOptions,
    meter: &mut Meter,
) -> Result<Found, Error> {
    let stamp = Stamp::of(source, source.size(), meter)?;
    let places = Sidecar::of(source.path(), source.owner(), F::FORMAT, options.cache.as_deref());
    let loaded = match options.sidecar {
        true => places.load(most_sidecar_bytes(source.size(), F::SHORTEST_FRAME)),
        false => Vec::new(),
    };
    if options.rebuild_index {
        let index = finder.build(None, meter)?;
        // What is there already need not be written again.
        let sidecar = match loaded.first() {
            Some((path, kept, old)) if *kept == stamp && *old == index => Some(path.clone()),
            _ if options.sidecar => places.save(&stamp, &index),
            _ => None,
        };
        let state = IndexState::Built;
        return Ok(Found { index: index.into(), stamp, state, sidecar, remark: None });
    }
    let mut base = None;
    for (path, kept, index) in loaded {
        if kept == stamp && finder.agrees(&index, meter)? {
            let state = IndexState::Loaded;
            let sidecar = Some(path);
            return Ok(Found { index: index.into(), stamp, state, sidecar, remark: None });
        }
        let rewind = |at, bytes: &mut [u8]| finder.rewind(&index, at, bytes);
        let grew = kept.size < stamp.size;
        if grew
            && Stamp::with(source, kept.size, rewind, meter)? == kept
            && finder.agrees(&index, meter)?
        {
            base = Some(index);
            break;
        }
    }
    let state = if base.is_some() { IndexState::Extended } else { IndexState::Built };
    let index = finder.build(base, meter)?;
    let (mut sidecar, mut remark) = (None, None);
    if options.sidecar {
        remark = places.remark();
        sidecar = places.save(&stamp, &index);
    }
    Ok(Found { index: index.into(), stamp, state, sidecar, remark })
}

/// Most bytes that the sidecar of a file of `size` bytes can have, with frames of `shortest` bytes.
fn most_sidecar_bytes(size: u64, shortest: u64) -> u64 {
    (size / shortest) * FRAME_BYTES as u64 + HEADER_BYTES as u64 + 8
}

/// The paths at which a trajectory's sidecar may lie, best first.
#[derive(Clone, Debug)]
pub struct Sidecar {
    candidates: Vec<PathBuf>,
    /// User id of the trajectory's owner.
    owner: Option<u32>,
    format: [u8; 4],
}

impl Sidecar {
    /// Returns the places for the sidecar of `trajectory`, which belongs to the user `owner`: beside it, then in
    /// `cache`.
    pub fn of(
        trajectory: &Path,
        owner: Option<u32>,
        format: [u8; 4],
        cache: Option<&Path>,
    ) -> Self {
        let absolute = fs::canonicalize(trajectory).unwrap_or_else(|_| trajectory.to_owned());
        let name = absolute.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut candidates = vec![absolute.with_file_name(format!(".{name}.trajet-index"))];
        if let Some(cache) = cache {
            // Files of one name in different folders stay apart.
            let place = xxh3_64(absolute.as_os_str().as_encoded_bytes());
            candidates.push(cache.join("index").join(format!("{place:016x}-{name}.trajet-index")));
        }
        Sidecar { candidates, owner, format }
    }

    /// Reads the sidecars that are whole and of this format, with their stamps. A file is ignored if it is not
    /// trusted (module `place`), or longer than `most` bytes.
    pub fn load(&self, most: u64) -> Vec<(PathBuf, Stamp, FrameIndex)> {
        let read = |path: &PathBuf| {
            let file = place::open(path, self.owner).ok()??;
            let len = file.metadata().ok()?.len();
            if len > most {
                return None;
            }
            // One byte more shows a file that grew meanwhile.
            let mut bytes = Vec::with_capacity(len as usize + 1);
            file.take(len + 1).read_to_end(&mut bytes).ok()?;
            let (stamp, index) = decode(&bytes, self.format)?;
            Some((path.clone(), stamp, index))
        };
        self.candidates.iter().filter_map(read).collect()
    }

    /// Writes the index to the first place that takes it; `None` where none does. What is not trusted is never
    /// replaced: two users of one folder would replace each other's sidecars for ever.
    pub fn save(&self, stamp: &Stamp, index: &FrameIndex) -> Option<PathBuf> {
        let bytes = encode(stamp, index, self.format);
        let write = |(k, path): (usize, &PathBuf)| {
            place::open(path, self.owner).ok()?;
            if k > 0 {
                fs::create_dir_all(path.parent()?).ok()?;
            }
            write_beside_and_rename(path, &bytes).ok()?;
            Some(path.clone())
        };
        self.candidates.iter().enumerate().find_map(write)
    }

    /// Returns a remark on the first sidecar that is there and is not trusted.
    fn remark(&self) -> Option<String> {
        self.candidates.iter().find_map(|path| {
            let why = place::open(path, self.owner).err()?;
            Some(format!(
                "the kept index {} is ignored, because {why}; frames were found from their own headers",
                path.display()
            ))
        })
    }
}

/// Readers see the old file or the new one, whole. What a failed attempt leaves is removed.
fn write_beside_and_rename(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    // Hash maps are seeded with random numbers: nobody can predict the name, nor have it made before.
    let random = RandomState::new().build_hasher().finish();
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}-{random:016x}.tmp", std::process::id()));
    let temporary = PathBuf::from(name);
    let written = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&temporary)
        .and_then(|mut file| file.write_all(bytes).and_then(|()| fs::rename(&temporary, path)));
    if written.is_err() {
        // Nothing more can be done about a file that cannot be removed either.
        let _ = fs::remove_file(&temporary);
    }
    written
}

fn encode(stamp: &Stamp, index: &FrameIndex, format: [u8; 4]) -> Vec<u8> {
    let n = index.n_frames();
    let mut bytes = Vec::with_capacity(HEADER_BYTES + n * FRAME_BYTES + 8);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&format);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    let header = [index.n_atoms as u64, stamp.size, index.end, stamp.head, stamp.tail, n as u64];
    bytes.extend(header.iter().flat_map(|v| v.to_le_bytes()));
    bytes.extend(index.offsets.iter().flat_map(|v| v.to_le_bytes()));
    bytes.extend(index.times.iter().flat_map(|v| v.to_le_bytes()));
    bytes.extend(index.steps.iter().flat_map(|v| v.to_le_bytes()));
    bytes.extend_from_slice(&xxh3_64(&bytes).to_le_bytes());
    bytes
}

/// None where anything does not fit: a sidecar is never an error, only stale.
fn decode(bytes: &[u8], format: [u8; 4]) -> Option<(Stamp, FrameIndex)> {
    let word = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    let body = bytes.len().checked_sub(8).filter(|&n| n >= HEADER_BYTES)?;
    let fits = bytes.starts_with(MAGIC)
        && bytes[8..12] == format
        && bytes[12..16] == VERSION.to_le_bytes()
        && word(body)? == xxh3_64(&bytes[..body]);
    let n = usize::try_from(word(56)?).ok()?;
    if !fits || Some(body - HEADER_BYTES) != n.checked_mul(FRAME_BYTES) {
        return None;
    }
    let words = |from: usize| {
        bytes[from..from + 8 * n].as_chunks::<8>().0.iter().map(|w| u64::from_le_bytes(*w))
    };
    let at = |k: usize| HEADER_BYTES + 8 * n * k;
    let index = FrameIndex {
        n_atoms: usize::try_from(word(16)?).ok()?,
        offsets: words(at(0)).collect(),
        end: word(32)?,
        times: words(at(1)).map(f64::from_bits).collect(),
        steps: words(at(2)).map(|w| w as i64).collect(),
        digests: Vec::new(),
        boxes: BoxColumn::default(),
        heads: Vec::new(),
        boxes_fail: false,
        stretches: None,
    };
    let stamp = Stamp { size: word(24)?, head: word(40)?, tail: word(48)? };
    let ends = index.offsets.iter().skip(1).chain(std::iter::once(&index.end));
    let ascending = index.offsets.iter().zip(ends).all(|(begin, end)| begin < end);
    (ascending && n > 0 && index.end <= stamp.size).then_some((stamp, index))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three_frames() -> (Stamp, FrameIndex) {
        let mut index = FrameIndex::new(7);
        for k in 0..3 {
            index.push(100 * k, 100 * (k + 1), k as f64 * 0.5, 10 * k as i64);
        }
        (Stamp { size: 301, head: 1, tail: 2 }, index)
    }

    #[test]
    fn a_sidecar_gives_back_what_was_kept() {
        let (stamp, index) = three_frames();
        let bytes = encode(&stamp, &index, *b"XTC ");
        assert_eq!(decode(&bytes, *b"XTC "), Some((stamp, index)));
        assert_eq!(decode(&bytes, *b"TRR "), None);
    }

    #[test]
    fn any_changed_or_missing_byte_makes_it_stale() {
        let (stamp, index) = three_frames();
        let bytes = encode(&stamp, &index, *b"XTC ");
        for n in 0..bytes.len() {
            assert_eq!(decode(&bytes[..n], *b"XTC "), None);
            let mut changed = bytes.clone();
            changed[n] ^= 0x10;
            assert_eq!(decode(&changed, *b"XTC "), None, "byte {n}");
        }
    }

    #[test]
    fn a_folder_that_cannot_be_written_falls_back_to_the_cache() {
        let folder = tempfile::tempdir().unwrap();
        let trajectory = folder.path().join("a.xtc");
        fs::write(&trajectory, b"x").unwrap();
        // A folder in the sidecar's place refuses the rename for every user.
        fs::create_dir(folder.path().join(".a.xtc.trajet-index")).unwrap();
        let cache = folder.path().join("cache");
        let (stamp, index) = three_frames();
        let sidecar = Sidecar::of(&trajectory, None, *b"XTC ", Some(&cache));
        let path = sidecar.save(&stamp, &index).unwrap();
        assert!(path.starts_with(&cache));
        assert_eq!(sidecar.load(10), []);
        assert_eq!(sidecar.load(1000), [(path, stamp, index.clone())]);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3, "no temporary file is left");
        assert_eq!(Sidecar::of(&trajectory, None, *b"XTC ", None).save(&stamp, &index), None);
    }
}
