//! What every format's reader can do, and the door that finds the right one.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::index::Stamp;
use crate::source::{Source, Window};
use crate::{Atoms, Error, FrameIndex, FrameMeta, Frames, IndexState, Meter, Raw, xtc};

/// Bytes of a request where nothing else is asked for. On local disks larger ones fall out of the
/// processor's cache before they are decoded; on parallel file systems several MiB are better.
pub const DEFAULT_REQUEST_SIZE: usize = 256 * 1024;

/// How to open a trajectory.
#[derive(Clone, Debug)]
pub struct OpenOptions {
    /// Read the whole frames of a file that ends inside a frame, instead of refusing it.
    pub allow_truncated_tail: bool,
    /// Bytes of a read request.
    pub request_size: usize,
    /// Whether to look for a sidecar and to leave one.
    pub sidecar: bool,
    /// Whether to build the index although there is a sidecar that fits.
    pub rebuild_index: bool,
    /// The folder for sidecars of trajectories whose own folder cannot be written.
    pub cache: Option<PathBuf>,
    /// Shared with whoever wants to see how far the index is, or to stop it.
    pub watch: Arc<Watch>,
}

/// How far the building of an index is, and whether it should end.
#[derive(Debug, Default)]
pub struct Watch {
    /// Once set, building ends with [`Error::Interrupted`]; looked at once a frame.
    pub stop: AtomicBool,
    /// Bytes of the trajectory that the index covers so far.
    pub bytes: AtomicU64,
}

impl Default for OpenOptions {
    fn default() -> Self {
        OpenOptions {
            allow_truncated_tail: false,
            request_size: DEFAULT_REQUEST_SIZE,
            sidecar: true,
            rebuild_index: false,
            cache: None,
            watch: Arc::default(),
        }
    }
}

/// Does several pieces of work, perhaps at the same time. This crate starts no threads itself.
pub trait ParallelFor {
    /// How many pieces are worth making.
    fn width(&self) -> usize;
    /// Calls `work` with each number below `n`.
    fn each(&self, n: usize, work: &(dyn Fn(usize) + Sync));
}

/// One piece after the other.
#[derive(Clone, Copy, Debug)]
pub struct Serial;

impl ParallelFor for Serial {
    fn width(&self) -> usize {
        1
    }
    fn each(&self, n: usize, work: &(dyn Fn(usize) + Sync)) {
        (0..n).for_each(work);
    }
}

/// What opening cost, and where the index is.
#[derive(Clone, Debug)]
pub struct Opening {
    /// Where the index came from.
    pub state: IndexState,
    /// The sidecar that holds it; none where it lives in memory only.
    pub sidecar: Option<PathBuf>,
    /// Opens, requests and bytes.
    pub meter: Meter,
    /// Nanoseconds for opening and looking at the head.
    pub open_ns: u64,
    /// Nanoseconds for loading, checking or building the index.
    pub index_ns: u64,
}

/// Memory that a worker uses again for every frame, and its counts.
#[derive(Debug, Default)]
pub struct Scratch {
    pub(crate) window: Window,
    pub(crate) groups: xtc::Groups,
    pub(crate) unordered: Vec<f32>,
    pub(crate) enough: usize,
    /// What was asked of the storage and of the decoders.
    pub meter: Meter,
    stop: Option<Arc<AtomicBool>>,
}

impl Scratch {
    /// A scratch whose reads end with [`Error::Interrupted`] once `stop` is set; it is looked at
    /// once a frame.
    pub fn stopped_by(stop: Arc<AtomicBool>) -> Self {
        Scratch { stop: Some(stop), ..Scratch::default() }
    }

    /// The scratch for another call: nothing that was read or counted is left in it, its memory is.
    #[must_use]
    pub fn renewed(mut self) -> Self {
        self.window.forget();
        self.meter = Meter::default();
        self
    }

    pub(crate) fn check_stop(&self) -> Result<(), Error> {
        match &self.stop {
            Some(stop) if stop.load(Ordering::Relaxed) => Err(Error::Interrupted),
            _ => Ok(()),
        }
    }
}

/// A trajectory that can be read at any frame by any number of threads at once: there is no cursor.
pub trait Reader: Send + Sync {
    /// The format's name.
    fn format(&self) -> &'static str;

    /// The open file.
    fn source(&self) -> &Source;

    /// Where the frames are.
    fn index(&self) -> &FrameIndex;

    /// What ties the index to the file.
    fn stamp(&self) -> &Stamp;

    /// What opening cost.
    fn opening(&self) -> &Opening;

    /// Bytes behind the last whole frame that were left out because that was allowed.
    fn truncated_tail(&self) -> u64 {
        self.source().size() - self.index().end()
    }

    /// Reads the frames at `positions` of `frames` into `out` (`[positions, atoms, 3]`, C order, Å)
    /// and adds what they say of themselves to `meta`. The rest of `frames` tells the reader what
    /// will be wanted next.
    ///
    /// # Errors
    /// [`Error::FrameOutOfRange`], [`Error::Stale`], [`Error::Corrupt`], [`Error::Io`],
    /// [`Error::Interrupted`].
    ///
    /// # Panics
    /// If `out` has another size, or `atoms` was made for another number of atoms.
    fn read_into(
        &self,
        frames: &Frames,
        positions: Range<usize>,
        atoms: &Atoms,
        scratch: &mut Scratch,
        out: &mut [f32],
        meta: &mut FrameMeta,
    ) -> Result<(), Error>;

    /// Reads one frame as the format stores it.
    ///
    /// # Errors
    /// As [`Reader::read_into`].
    fn read_raw(&self, frame: u64, scratch: &mut Scratch) -> Result<Raw, Error>;
}

/// Opens a trajectory of any format that is known, by its first bytes.
///
/// # Errors
/// [`Error::Io`], [`Error::NotAFile`], [`Error::Empty`], [`Error::UnknownFormat`], and what the
/// format's index finds: [`Error::Truncated`], [`Error::Corrupt`], [`Error::AtomCount`].
pub fn open(
    path: &Path,
    options: &OpenOptions,
    threads: &dyn ParallelFor,
) -> Result<Arc<dyn Reader>, Error> {
    let begin = std::time::Instant::now();
    let mut meter = Meter::default();
    let source = Source::open(path, &mut meter)?;
    let mut first = [0; 16];
    let n = source.size().min(16) as usize;
    source.read_at(0, &mut first[..n], &mut meter)?;
    if !xtc::sniff(&first[..n]) {
        let looks_like = describe(&first[..n]);
        return Err(Error::UnknownFormat { path: path.to_owned(), looks_like });
    }
    let open_ns = begin.elapsed().as_nanos() as u64;
    Ok(Arc::new(xtc::Reader::open(source, options, threads, meter, open_ns)?))
}

/// What the first bytes of a file that cannot be read suggest.
fn describe(first: &[u8]) -> String {
    let known: [(&[u8], usize, &str); 7] = [
        (b"\x00\x00\x07\xc9", 0, "it begins like a TRR trajectory"),
        (b"CORD", 4, "it begins like a DCD trajectory"),
        (b"CORD", 8, "it begins like a DCD trajectory with 64-bit markers"),
        (b"CDF", 0, "it begins like a NetCDF file"),
        (b"\x89HDF", 0, "it begins like an HDF5 file"),
        (b"\x1f\x8b", 0, "it is compressed with gzip: unpack it first"),
        (b"BZh", 0, "it is compressed with bzip2: unpack it first"),
    ];
    for (bytes, at, what) in known {
        if first.get(at..at + bytes.len()) == Some(bytes) {
            return what.to_owned();
        }
    }
    if first.iter().all(|b| b.is_ascii_graphic() || b.is_ascii_whitespace()) {
        return format!("it is a text file that begins with {:?}", String::from_utf8_lossy(first));
    }
    let hex: Vec<String> = first.iter().take(8).map(|b| format!("{b:02x}")).collect();
    format!("it begins with the bytes {}", hex.join(" "))
}
