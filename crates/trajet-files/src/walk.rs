//! Finds the frames of a file that has no table of them, by walking from header to header.
//!
//! The pieces of a large file are walked in parallel. Only the walk from byte 0 is known to begin at a frame;
//! the others begin at the first place that looks like one, and their frames are used only if the previous
//! walk arrives at one of them. The result is thus the same for any number of pieces.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use trajet_formats::codec::{Headed, HeaderError, Mark};

use crate::indexing::{Indexing, Search};
use crate::sidecar::Finder;
use crate::source::Source;
use crate::window::Window;
use crate::{Error, FrameIndex, Meter, OpenOptions, ParallelFor};

/// Number of intervals between the frames of a loaded index whose headers are compared with the file before the
/// index is used.
const SAMPLES: usize = 8;

/// Number of long frames of a published index, at most, whose headers are compared with the object before it is used.
const LONG_FRAMES: usize = 256;

/// Finds frames by their headers.
pub(crate) struct Headers<H>(PhantomData<H>);

impl<H: Headed> Indexing for Headers<H> {
    type Search<'a> = Walk<'a, H>;

    fn search<'a>(
        source: &'a Source,
        options: &'a OpenOptions,
        threads: &'a dyn ParallelFor,
    ) -> Walk<'a, H> {
        Walk { source, options, threads, format: PhantomData }
    }
}

/// A walk over the frames of one file.
pub(crate) struct Walk<'a, H> {
    source: &'a Source,
    options: &'a OpenOptions,
    threads: &'a dyn ParallelFor,
    format: PhantomData<H>,
}

/// Result of looking for a frame at a byte of the file.
enum Next {
    Frame(Mark),
    /// The file ends before the frame does.
    Cut {
        needed: u64,
    },
}

impl<H: Headed> Finder for Walk<'_, H> {
    const SIDECAR: [u8; 4] = H::SIDECAR;
    const SHORTEST_FRAME: u64 = H::SHORTEST_FRAME;

    fn agrees(&self, index: &FrameIndex, meter: &mut Meter) -> Result<bool, Error> {
        if index.offset(0) != 0 {
            return Ok(false);
        }
        let mut window = Window::default();
        let last = index.n_frames() - 1;
        for k in 0..=SAMPLES.min(last) {
            let frame = (last * k / SAMPLES.min(last).max(1)) as u64;
            if !self.has_frame(index, frame, &mut window, meter)? {
                return Ok(false);
            }
        }
        match self.source.remote() {
            Some(_) => self.has_long_frames(index, meter),
            None => Ok(true),
        }
    }

    fn build(&self, base: Option<FrameIndex>, meter: &mut Meter) -> Result<FrameIndex, Error> {
        let size = self.source.size();
        let mut index = match base {
            Some(base) => base,
            None => FrameIndex::new(0),
        };
        let first = self.first_frame(meter)?;
        if index.n_frames() == 0 {
            index = FrameIndex::new(first.n_atoms);
        }
        let begin = index.end();
        let least = self.options.least_piece;
        let pieces = self.source.pieces(size - begin, first.len, least, self.threads);
        let border = |k: usize| {
            if k == pieces {
                size
            } else {
                begin + (size - begin) / pieces as u64 * k as u64 / 4 * 4
            }
        };
        let walked: Vec<Mutex<(FrameIndex, Meter)>> = (0..pieces)
            .map(|_| Mutex::new((FrameIndex::new(index.n_atoms()), meter.beside())))
            .collect();
        if pieces > 1 {
            // If the walk over the first piece fails, the others cannot be joined to it.
            let first_failed = AtomicBool::new(false);
            self.threads.each(pieces, &|k| {
                let mut piece = walked[k].lock().expect("no other thread holds this piece");
                let (found, meter) = &mut *piece;
                let mut window = Window::default();
                let from = if k == 0 {
                    Some(begin)
                } else {
                    let stop = &self.options.watch.stop;
                    let give_up =
                        || first_failed.load(Ordering::Relaxed) || stop.load(Ordering::Relaxed);
                    let piece = border(k)..border(k + 1);
                    self.look_for_frame(&mut window, &first, piece, &give_up, meter)
                };
                if let Some(from) = from {
                    // Errors are ignored here: if the walk over the true frames gets here, it meets
                    // and reports them again.
                    let walked = self.walk(&mut window, found, from..border(k + 1), meter);
                    if k == 0 && !matches!(walked, Ok(true)) {
                        first_failed.store(true, Ordering::Relaxed);
                    }
                }
            });
        }
        let mut window = Window::default();
        'pieces: for piece in walked {
            let (found, counted) = piece.into_inner().expect("a panic would have ended the build");
            meter.add(&counted);
            // Walk on until a frame of this piece is met, then append the piece's frames.
            while index.end() < found.end() {
                match found.offsets().binary_search(&index.end()) {
                    Ok(k) => {
                        index.reserve(found.n_frames() - k)?;
                        index.append(&found, k);
                    }
                    Err(_) => {
                        let from = index.end();
                        if !self.walk(&mut window, &mut index, from..from + 1, meter)? {
                            break 'pieces;
                        }
                    }
                }
            }
        }
        let from = index.end();
        self.walk(&mut window, &mut index, from..size, meter)?;
        if index.n_frames() == 0 {
            return Err(self.cut(&index, meter)?);
        }
        Ok(index)
    }
}

impl<H: Headed> Search for Walk<'_, H> {
    fn has_all(&self, index: &FrameIndex, meter: &mut Meter) -> bool {
        let (frame, offset) = (index.n_frames() as u64, index.end());
        offset == self.source.size()
            || matches!(
                self.next(&mut Window::default(), offset, frame, index.n_atoms(), (0, 1), meter),
                Ok(Next::Cut { .. })
            )
    }

    fn cut(&self, index: &FrameIndex, meter: &mut Meter) -> Result<Error, Error> {
        let (frame, offset) = (index.n_frames() as u64, index.end());
        Ok(
            match self.next(
                &mut Window::default(),
                offset,
                frame,
                index.n_atoms(),
                (0, 1),
                meter,
            )? {
                Next::Frame(_) => {
                    Error::Stale { path: self.source.path().to_owned(), frame, offset }
                }
                Next::Cut { needed } => self.truncated(frame, offset, needed),
            },
        )
    }
}

impl<H: Headed> Walk<'_, H> {
    /// Returns whether the header of a frame is that of the index.
    fn has_frame(
        &self,
        index: &FrameIndex,
        frame: u64,
        window: &mut Window,
        meter: &mut Meter,
    ) -> Result<bool, Error> {
        let offset = index.offset(frame);
        let at_hand = H::HEAD_BYTES.min((self.source.size() - offset) as usize);
        let bytes = window.bytes(self.source, offset, at_hand, 0, 1, meter)?;
        Ok(H::mark(&bytes[..at_hand]).is_ok_and(|mark| index.knows(frame, &mark)))
    }

    /// Returns whether the headers of unusually long frames are those of the index: where an index leaves out a frame,
    /// the one before it seems to be long.
    fn has_long_frames(&self, index: &FrameIndex, meter: &mut Meter) -> Result<bool, Error> {
        let frames = index.long_frames(LONG_FRAMES);
        let checked: Vec<_> =
            frames.iter().map(|_| Mutex::new((Ok(false), meter.beside()))).collect();
        self.threads.each(frames.len(), &|k| {
            let mut counted = Meter::stopped_by(&self.options.watch.stop);
            let agrees = self.has_frame(index, frames[k], &mut Window::default(), &mut counted);
            *checked[k].lock().expect("no other thread holds this frame") = (agrees, counted);
        });
        let mut agree = true;
        for frame in checked {
            let (agrees, counted) = frame.into_inner().expect("a panic would have ended the check");
            meter.add(&counted);
            agree &= agrees?;
        }
        Ok(agree)
    }

    fn truncated(&self, frame: u64, offset: u64, needed: u64) -> Error {
        let path = self.source.path().to_owned();
        Error::Truncated { path, frame, offset, needed, left: self.source.size() - offset }
    }

    /// Parses the header of the frame that should begin at `offset`. A request reaches to the next multiple of
    /// `request_size`, but not past `until`.
    fn next(
        &self,
        window: &mut Window,
        offset: u64,
        frame: u64,
        n_atoms: usize,
        (until, request_size): (u64, usize),
        meter: &mut Meter,
    ) -> Result<Next, Error> {
        let left = self.source.size() - offset;
        let at_hand = left.min(H::HEAD_BYTES as u64) as usize;
        let bytes = window.bytes(self.source, offset, at_hand, until, request_size, meter)?;
        let path = || self.source.path().to_owned();
        match H::mark(&bytes[..at_hand]) {
            Ok(mark) if mark.n_atoms != n_atoms => Err(Error::AtomCount {
                path: path(),
                frame,
                offset,
                expected: n_atoms,
                found: mark.n_atoms,
            }),
            Ok(mark) if mark.len > left => Ok(Next::Cut { needed: mark.len }),
            Ok(mark) => Ok(Next::Frame(mark)),
            Err(HeaderError::Short(needed)) => Ok(Next::Cut { needed: needed as u64 }),
            Err(HeaderError::Decode(fault)) => {
                Err(Error::Corrupt { path: path(), frame, offset, fault })
            }
        }
    }

    /// Adds frames to `index` until one begins at or past `stop`. Returns false if the file ends within a
    /// frame.
    fn walk(
        &self,
        window: &mut Window,
        index: &mut FrameIndex,
        Range { start: begin, end: stop }: Range<u64>,
        meter: &mut Meter,
    ) -> Result<bool, Error> {
        let watch = &self.options.watch;
        let mut offset = begin;
        let mut step_size = 1;
        while offset < stop {
            if watch.stop.load(Ordering::Relaxed) {
                return Err(Error::Interrupted);
            }
            let frame = index.n_frames() as u64;
            match self.next(window, offset, frame, index.n_atoms(), (stop, step_size), meter)? {
                Next::Cut { .. } => return Ok(false),
                Next::Frame(Mark { len, time, step, .. }) => {
                    let end = offset + len;
                    index.reserve(1)?;
                    index.push(offset, end, time, step);
                    offset = end;
                    watch.bytes.fetch_add(len, Ordering::Relaxed);
                    let (left, most) = (stop.saturating_sub(end), self.options.request_size);
                    step_size = self.source.header_request(len, left, most);
                }
            }
        }
        Ok(true)
    }

    /// Returns the header of the first frame.
    fn first_frame(&self, meter: &mut Meter) -> Result<Mark, Error> {
        let n = self.source.size().min(H::HEAD_BYTES as u64) as usize;
        let mut bytes = vec![0; n];
        self.source.read_at(0, &mut bytes, meter)?;
        match H::mark(&bytes) {
            Ok(mark) => Ok(mark),
            Err(HeaderError::Short(needed)) => Err(self.truncated(0, 0, needed as u64)),
            Err(HeaderError::Decode(fault)) => {
                let path = self.source.path().to_owned();
                Err(Error::Corrupt { path, frame: 0, offset: 0, fault })
            }
        }
    }

    /// Returns the first byte in a range at which a frame with as many atoms as the first seems to begin. The bytes read
    /// stay in `window`.
    fn look_for_frame(
        &self,
        window: &mut Window,
        first: &Mark,
        Range { start: from, end: to }: Range<u64>,
        give_up: &dyn Fn() -> bool,
        meter: &mut Meter,
    ) -> Option<u64> {
        const PIECE: usize = 1 << 18;
        let size = self.source.size();
        // The next frame of an object is half a frame away, on average.
        let piece = match self.source.remote() {
            Some(_) => PIECE.min((first.len / 2) as usize).max(PIECE / 8),
            None => PIECE,
        };
        let mut at = from;
        while at < to && size - at >= H::HEAD_BYTES as u64 && !give_up() {
            let n = piece.min((size - at) as usize);
            let bytes = window.bytes(self.source, at, n, 0, 1, meter).ok()?;
            for place in (0..=n - H::HEAD_BYTES).step_by(4) {
                if H::may_begin(bytes, place)
                    && H::mark(&bytes[place..n]).is_ok_and(|mark| mark.n_atoms == first.n_atoms)
                {
                    return Some(at + place as u64);
                }
            }
            at += ((n - H::HEAD_BYTES) / 4 * 4 + 4) as u64;
        }
        None
    }
}
