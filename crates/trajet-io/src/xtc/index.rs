//! Finding the frames of an XTC file, which has no table of them: from header to header.
//!
//! A large file is walked in pieces at the same time. Only the walk from byte 0 is known to begin at
//! a frame; the others begin at the first place that looks like one, and count only where the walk
//! before them arrives at a frame of theirs. What is found is thus the same for any number of pieces.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use super::head::{HEAD_BYTES, Head, MAGIC, MAGIC_LARGE, NoHead};
use crate::index::{Sidecar, Stamp, most_sidecar_bytes};
use crate::reader::{OpenOptions, ParallelFor};
use crate::source::{Meter, Source, Window};
use crate::xdr::i32_at;
use crate::{Error, FrameIndex, IndexState};

const FORMAT: [u8; 4] = *b"XTC ";
/// A piece for a thread of its own is at least this large.
const LEAST_PIECE: u64 = 16 << 20;
/// Bytes of a frame of one atom.
const SHORTEST_FRAME: u64 = 68;
/// Frames of a loaded index whose headers are compared with the file before it is believed.
const SAMPLES: usize = 8;

/// An index and where it came from.
pub(super) struct Found {
    pub(super) index: FrameIndex,
    pub(super) stamp: Stamp,
    pub(super) state: IndexState,
    pub(super) sidecar: Option<PathBuf>,
}

/// The index of an open file: loaded, extended or built, and kept for the next time.
///
/// # Errors
/// [`Error::Corrupt`], [`Error::AtomCount`], [`Error::Truncated`] where not even one frame is whole,
/// [`Error::Io`].
pub(super) fn find(
    source: &Source,
    options: &OpenOptions,
    threads: &dyn ParallelFor,
    meter: &mut Meter,
) -> Result<Found, Error> {
    let stamp = Stamp::of(source, source.size(), meter)?;
    let places = Sidecar::of(source.path(), FORMAT, options.cache.as_deref());
    let mut base = None;
    if options.sidecar && !options.rebuild_index {
        for (path, kept, index) in places.load(most_sidecar_bytes(source.size(), SHORTEST_FRAME)) {
            if kept == stamp && agrees(source, &index, meter)? {
                let state = IndexState::Loaded;
                return Ok(Found { index, stamp, state, sidecar: Some(path) });
            }
            let grew = kept.size < stamp.size;
            if grew
                && Stamp::of(source, kept.size, meter)? == kept
                && agrees(source, &index, meter)?
            {
                base = Some(index);
                break;
            }
        }
    }
    let state = if base.is_some() { IndexState::Extended } else { IndexState::Built };
    let index = build(source, base, options, threads, meter)?;
    let sidecar = if options.sidecar { places.save(&stamp, &index) } else { None };
    Ok(Found { index, stamp, state, sidecar })
}

/// The error for a file whose last frame is not whole.
pub(super) fn cut(source: &Source, index: &FrameIndex, meter: &mut Meter) -> Result<Error, Error> {
    let (frame, offset) = (index.n_frames() as u64, index.end());
    let mut window = Window::default();
    Ok(match next(source, &mut window, offset, frame, index.n_atoms(), 1, meter)? {
        Next::Frame(_) => Error::Stale { path: source.path().to_owned(), frame, offset },
        Next::Cut { needed } => truncated(source, frame, offset, needed),
    })
}

fn truncated(source: &Source, frame: u64, offset: u64, needed: u64) -> Error {
    let path = source.path().to_owned();
    Error::Truncated { path, frame, offset, needed, left: source.size() - offset }
}

/// Whether frames spread over a loaded index begin where it says.
fn agrees(source: &Source, index: &FrameIndex, meter: &mut Meter) -> Result<bool, Error> {
    let mut window = Window::default();
    let last = index.n_frames() - 1;
    for k in 0..=SAMPLES.min(last) {
        let frame = last * k / SAMPLES.min(last).max(1);
        let offset = index.offset(frame as u64);
        let at_hand = HEAD_BYTES.min((source.size() - offset) as usize);
        let bytes = window.bytes(source, offset, at_hand, 0, 1, meter)?;
        let fits = Head::parse(&bytes[..at_hand]).is_ok_and(|head| {
            head.n_atoms == index.n_atoms()
                && f64::from(head.time).to_bits() == index.times()[frame].to_bits()
                && i64::from(head.step) == index.steps()[frame]
                && offset + head.len == index.offset(frame as u64 + 1)
        });
        if !fits {
            return Ok(false);
        }
    }
    Ok(true)
}

/// What stands at a place where a frame should begin.
enum Next {
    Frame(Head),
    /// The file ends before the frame does.
    Cut {
        needed: u64,
    },
}

/// Looks at the frame that should begin at `offset`.
fn next(
    source: &Source,
    window: &mut Window,
    offset: u64,
    frame: u64,
    n_atoms: usize,
    request_size: usize,
    meter: &mut Meter,
) -> Result<Next, Error> {
    let left = source.size() - offset;
    let at_hand = left.min(HEAD_BYTES as u64) as usize;
    let bytes = window.bytes(source, offset, at_hand, source.size(), request_size, meter)?;
    let corrupt = |fault| Error::Corrupt { path: source.path().to_owned(), frame, offset, fault };
    match Head::parse(&bytes[..at_hand]) {
        Ok(head) if head.n_atoms != n_atoms => Err(Error::AtomCount {
            path: source.path().to_owned(),
            frame,
            offset,
            expected: n_atoms,
            found: head.n_atoms,
        }),
        Ok(head) if head.len > left => Ok(Next::Cut { needed: head.len }),
        Ok(head) => Ok(Next::Frame(head)),
        Err(NoHead::Short(needed)) => Ok(Next::Cut { needed: needed as u64 }),
        Err(NoHead::Fault(fault)) => Err(corrupt(fault)),
    }
}

/// Adds frames to `index` until one begins at or past `stop`; false where the file ends inside one.
fn walk(
    source: &Source,
    index: &mut FrameIndex,
    begin: u64,
    stop: u64,
    options: &OpenOptions,
    meter: &mut Meter,
) -> Result<bool, Error> {
    let mut window = Window::default();
    let mut offset = begin;
    let mut step_size = 1;
    while offset < stop {
        if options.watch.stop.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        let frame = index.n_frames() as u64;
        match next(source, &mut window, offset, frame, index.n_atoms(), step_size, meter)? {
            Next::Cut { .. } => return Ok(false),
            Next::Frame(head) => {
                let end = offset + head.len;
                index.push(offset, end, f64::from(head.time), i64::from(head.step));
                offset = end;
                options.watch.bytes.fetch_add(head.len, Ordering::Relaxed);
                // Short frames are read through: a request for each would cost more.
                let request = options.request_size;
                step_size = if head.len * 16 <= request as u64 { request } else { 1 };
            }
        }
    }
    Ok(true)
}

fn build(
    source: &Source,
    base: Option<FrameIndex>,
    options: &OpenOptions,
    threads: &dyn ParallelFor,
    meter: &mut Meter,
) -> Result<FrameIndex, Error> {
    let size = source.size();
    let mut index = match base {
        Some(base) => base,
        None => FrameIndex::new(first_atoms(source, meter)?),
    };
    let begin = index.end();
    let pieces = threads.width().min(((size - begin) / LEAST_PIECE) as usize).max(1);
    let border = |k: usize| {
        if k == pieces { size } else { begin + (size - begin) / pieces as u64 * k as u64 / 4 * 4 }
    };
    let walked: Vec<Mutex<(FrameIndex, Meter)>> = (0..pieces)
        .map(|_| Mutex::new((FrameIndex::new(index.n_atoms()), Meter::default())))
        .collect();
    if pieces > 1 {
        // Where the first piece cannot be walked there is nothing for the others to join.
        let in_vain = AtomicBool::new(false);
        threads.each(pieces, &|k| {
            let mut piece = walked[k].lock().expect("no other thread holds this piece");
            let (found, meter) = &mut *piece;
            let from = if k == 0 {
                Some(begin)
            } else {
                let give_up = || {
                    in_vain.load(Ordering::Relaxed) || options.watch.stop.load(Ordering::Relaxed)
                };
                look_for_frame(source, found.n_atoms(), border(k)..border(k + 1), &give_up, meter)
            };
            if let Some(from) = from {
                // What goes wrong here goes wrong again, and is then reported, if the walk over the
                // true frames comes this way.
                let walked = walk(source, found, from, border(k + 1), options, meter);
                if k == 0 && !matches!(walked, Ok(true)) {
                    in_vain.store(true, Ordering::Relaxed);
                }
            }
        });
    }
    for piece in walked {
        let (found, counted) = piece.into_inner().expect("a panic would have ended the build");
        meter.add(&counted);
        // The first of the piece's frames at which the walk so far arrives.
        while index.end() < found.end() {
            match found.offsets().binary_search(&index.end()) {
                Ok(k) => index.append(&found, k),
                Err(_) => {
                    let stop = index.end() + 1;
                    if !walk_on(source, &mut index, stop, options, meter)? {
                        return Ok(index);
                    }
                }
            }
        }
    }
    walk_on(source, &mut index, size, options, meter)?;
    if index.n_frames() == 0 {
        return Err(cut(source, &index, meter)?);
    }
    Ok(index)
}

fn walk_on(
    source: &Source,
    index: &mut FrameIndex,
    stop: u64,
    options: &OpenOptions,
    meter: &mut Meter,
) -> Result<bool, Error> {
    let from = index.end();
    walk(source, index, from, stop, options, meter)
}

/// The number of atoms of the first frame.
fn first_atoms(source: &Source, meter: &mut Meter) -> Result<usize, Error> {
    let mut bytes = [0; HEAD_BYTES];
    let n = source.size().min(HEAD_BYTES as u64) as usize;
    source.read_at(0, &mut bytes[..n], meter)?;
    let fault =
        |fault| Error::Corrupt { path: source.path().to_owned(), frame: 0, offset: 0, fault };
    match Head::parse(&bytes[..n]) {
        Ok(head) => Ok(head.n_atoms),
        Err(NoHead::Short(needed)) => Err(truncated(source, 0, 0, needed as u64)),
        Err(NoHead::Fault(found)) => Err(fault(found)),
    }
}

/// The first place in a range that looks like a frame of `n_atoms` atoms.
fn look_for_frame(
    source: &Source,
    n_atoms: usize,
    Range { start: from, end: to }: Range<u64>,
    give_up: &dyn Fn() -> bool,
    meter: &mut Meter,
) -> Option<u64> {
    const PIECE: usize = 1 << 18;
    let mut bytes = vec![0; PIECE];
    let mut at = from;
    while at < to && source.size() - at >= HEAD_BYTES as u64 && !give_up() {
        let n = PIECE.min((source.size() - at) as usize);
        source.read_at(at, &mut bytes[..n], meter).ok()?;
        // Every frame begins at a multiple of four bytes.
        for place in (0..=n - HEAD_BYTES).step_by(4) {
            let magic = i32_at(&bytes, place);
            if (magic == MAGIC || magic == MAGIC_LARGE)
                && Head::parse(&bytes[place..n]).is_ok_and(|head| head.n_atoms == n_atoms)
            {
                return Some(at + place as u64);
            }
        }
        at += ((n - HEAD_BYTES) / 4 * 4 + 4) as u64;
    }
    None
}
