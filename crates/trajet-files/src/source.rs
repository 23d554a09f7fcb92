//! Counted reads of files: all bytes of trajectories are read here.
//!
//! Reads are positional, so that threads share one open file. Files are not memory-mapped: if another process
//! truncated one, this process would be killed. The number of files that are open at the same time is bounded
//! ([`Handles`]); a file that was closed is reopened when it is read. Objects in remote storage are read by ranges
//! ([`Remote`]).

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use trajet_formats::compression::Compression;
use trajet_formats::{memory, xxh3_64};

use crate::compressed::{Compressed, Layout, StoredBytes};
use crate::remote::{Remote, RemoteOptions};
use crate::{Error, Meter, Stamp};

/// A pool of open files. When there are too many, the least recently read one is closed, or, if a thread is
/// reading it, as soon as that read ends.
#[derive(Debug)]
pub struct Handles {
    most: usize,
    /// Open files with the numbers of their sources, least recently used first.
    open: Mutex<Vec<(u64, Arc<File>)>>,
    /// Threads that are opening a file, and when they began.
    opening: Mutex<Vec<(ThreadId, Instant)>>,
}

impl Handles {
    /// Returns a pool for `most` files, but at least one, and at most a quarter of the files that this process
    /// may have open.
    pub fn new(most: usize) -> Self {
        let most = most.min(most_open_files() / 4).max(1);
        Handles { most, open: Mutex::default(), opening: Mutex::default() }
    }

    /// Returns the number of open files.
    #[cfg(test)]
    pub(crate) fn n_open(&self) -> usize {
        self.with(|open| open.len())
    }

    /// Returns for how long one of these `threads` has been opening a file: the longest time, or zero.
    pub fn opening(&self, threads: &[ThreadId]) -> Duration {
        let opening = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        let theirs = opening.iter().filter(|(thread, _)| threads.contains(thread));
        theirs.map(|(_, begin)| begin.elapsed()).max().unwrap_or_default()
    }

    /// Runs `open` and records meanwhile that this thread is opening a file.
    fn while_opening<T>(&self, open: impl FnOnce() -> T) -> T {
        let opening = || self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        let mine = (thread::current().id(), Instant::now());
        opening().push(mine);
        let opened = open();
        let mut under_way = opening();
        if let Some(at) = under_way.iter().position(|&other| other == mine) {
            under_way.swap_remove(at);
        }
        opened
    }

    fn with<T>(&self, work: impl FnOnce(&mut Vec<(u64, Arc<File>)>) -> T) -> T {
        work(&mut self.open.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn get(&self, number: u64) -> Option<Arc<File>> {
        self.with(|open| {
            let at = open.iter().rposition(|held| held.0 == number)?;
            open[at..].rotate_left(1);
            open.last().map(|held| Arc::clone(&held.1))
        })
    }

    fn put(&self, number: u64, file: Arc<File>) {
        let closed = self.with(|open| {
            if open.iter().all(|held| held.0 != number) {
                open.push((number, file));
            }
            (open.len() > self.most).then(|| open.remove(0))
        });
        // Closing a file may block, so it is done without the lock.
        drop(closed);
    }
}

/// Opens files by rules of their owner, such as those for links in a store.
pub trait FileOpener: std::fmt::Debug + Send + Sync {
    /// Opens a regular file for reading.
    ///
    /// # Errors
    /// If there is none that may be read under this path.
    fn open(&self, path: &Path) -> io::Result<File>;
}

/// The recorded identity of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileIdentity {
    /// Size in bytes.
    pub size: u64,
    /// Number of bytes before the first frame, and their XXH3 digest.
    pub head: (u64, u64),
}

/// An open file.
#[derive(Debug)]
pub struct Source {
    path: PathBuf,
    /// The recorded identity that the file must have, if there is one.
    written: Option<FileIdentity>,
    /// Unique number of the source in this process.
    number: u64,
    size: u64,
    /// User id of the file's owner, if the file was opened and the system has users.
    owner: Option<u32>,
    /// Opens the file again, in place of the system.
    opener: Option<Arc<dyn FileOpener>>,
    handle: FileHandle,
    /// The content, if the file is compressed.
    compressed: Option<Compressed>,
}

/// An open file, or the means to open it again.
#[derive(Debug)]
enum FileHandle {
    /// Stays open as long as the source lives.
    Own(File),
    /// Stays open while a pool of open files has space for it.
    Pooled {
        handles: Arc<Handles>,
        /// The stamp that the file must have when it is reopened.
        stamp: Stamp,
        /// The absolute path, which does not depend on the working folder.
        absolute: PathBuf,
        /// Held while the file is opened: if several threads need it, one opens it and the others wait.
        opening: Mutex<()>,
    },
    /// An object in remote storage.
    Remote(Box<Remote>),
}

impl FileHandle {
    fn pooled(handles: &Arc<Handles>, stamp: Stamp, absolute: PathBuf) -> FileHandle {
        let opening = Mutex::default();
        FileHandle::Pooled { handles: Arc::clone(handles), stamp, absolute, opening }
    }
}

fn next_number() -> u64 {
    static NUMBER: AtomicU64 = AtomicU64::new(1);
    NUMBER.fetch_add(1, Ordering::Relaxed)
}

/// Returns the absolute path.
///
/// # Errors
/// [`Error::Io`] if the working folder was removed.
pub fn absolute(path: &Path) -> Result<PathBuf, Error> {
    std::path::absolute(path).map_err(|source| Error::Io {
        path: path.to_owned(),
        doing: "find its folder",
        source,
    })
}

impl Source {
    /// Opens a regular file for reading.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::NotAFile`], [`Error::Empty`].
    pub fn open(path: &Path, meter: &mut Meter) -> Result<Self, Error> {
        Source::open_by(path, None, meter)
    }

    /// Opens a regular file for reading through `opener`, or as [`Source::open`] does.
    ///
    /// # Errors
    /// As [`Source::open`].
    pub fn open_by(
        path: &Path,
        opener: Option<&Arc<dyn FileOpener>>,
        meter: &mut Meter,
    ) -> Result<Self, Error> {
        let io = |doing| {
            let path = path.to_owned();
            move |source| Error::Io { path, doing, source }
        };
        let file = match opener {
            Some(opener) => opener.open(path).map_err(io("open it"))?,
            None => {
                // Checked before opening: opening a named pipe would wait for its writer.
                let before = std::fs::metadata(path).map_err(io("open it"))?;
                if !before.is_file() {
                    return Err(Error::NotAFile { path: path.to_owned(), folder: before.is_dir() });
                }
                File::open(path).map_err(io("open it"))?
            }
        };
        meter.opens += 1;
        let metadata = file.metadata().map_err(io("look at it"))?;
        if metadata.len() == 0 {
            return Err(Error::Empty { path: path.to_owned() });
        }
        let (path, size, number) = (path.to_owned(), metadata.len(), next_number());
        let (owner, opener) = (owner_of(&metadata), opener.cloned());
        let handle = FileHandle::Own(file);
        Ok(Source { path, written: None, number, size, owner, opener, handle, compressed: None })
    }

    /// Opens what is named `path`: an object of `remote`, or a regular file, through `opener`.
    ///
    /// # Errors
    /// As [`Source::open`].
    pub fn open_any(
        path: &Path,
        remote: &RemoteOptions,
        opener: Option<&Arc<dyn FileOpener>>,
        meter: &mut Meter,
    ) -> Result<Self, Error> {
        match remote.find(path) {
            Some(remote) => {
                meter.opens += 1;
                let name = remote.object().name();
                Source::of_object(name.unwrap_or_else(|| path.to_owned()), remote)
            }
            None => Source::open_by(path, opener, meter),
        }
    }

    /// Returns the source of an object in remote storage.
    ///
    /// # Errors
    /// [`Error::Empty`].
    pub(crate) fn of_object(path: PathBuf, remote: Remote) -> Result<Self, Error> {
        let size = remote.object().len();
        if size == 0 {
            return Err(Error::Empty { path });
        }
        let handle = FileHandle::Remote(Box::new(remote));
        let (number, owner, opener) = (next_number(), None, None);
        Ok(Source { path, written: None, number, size, owner, opener, handle, compressed: None })
    }

    /// Returns the object in remote storage, if the source is one.
    pub fn remote(&self) -> Option<&Remote> {
        match &self.handle {
            FileHandle::Remote(remote) => Some(remote),
            _ => None,
        }
    }

    /// Requires the file to have a recorded identity. The size is checked at once, the head when it is first
    /// read ([`Stamp::of`]).
    ///
    /// # Errors
    /// [`Error::Altered`].
    pub(crate) fn must_be(&mut self, written: FileIdentity) -> Result<(), Error> {
        self.written = Some(written);
        if self.size == written.size {
            return Ok(());
        }
        let what = format!("has {} bytes, expected {}", self.size, written.size);
        Err(Error::Altered { path: self.path.clone(), what })
    }

    /// Checks that the file has the recorded head; `front` is its first bytes.
    ///
    /// # Errors
    /// [`Error::Altered`]; as [`Source::read_at`].
    pub(crate) fn check_head(&self, front: &[u8], meter: &mut Meter) -> Result<(), Error> {
        let Some(FileIdentity { size, head: (len, digest) }) = self.written else { return Ok(()) };
        let mut longer = Vec::new();
        let head = match front.get(..len as usize) {
            Some(head) => head,
            None => {
                memory::resize(&mut longer, len.min(size) as usize, 0, "the head of a file")?;
                self.read_stored(0, &mut longer, meter)?;
                &longer
            }
        };
        if len == 0 || xxh3_64(head) == digest {
            return Ok(());
        }
        let what = format!("its head (bytes 0 to {len}) is not the one that was written");
        Err(Error::Altered { path: self.path.clone(), what })
    }

    /// Returns the source of a file with a known stamp, which is opened when it is first read.
    pub(crate) fn known(
        path: PathBuf,
        absolute: PathBuf,
        stamp: Stamp,
        handles: &Arc<Handles>,
    ) -> Self {
        let handle = FileHandle::pooled(handles, stamp, absolute);
        let (number, size, owner, opener) = (next_number(), stamp.size, None, None);
        Source { path, written: None, number, size, owner, opener, handle, compressed: None }
    }

    /// Moves a file to a pool, which may close it; an object has nothing to close. When it is reopened, its first [`Source::size`] bytes must
    /// have this `stamp`.
    ///
    /// # Errors
    /// [`Error::Io`] if the working folder was removed.
    pub(crate) fn share(&mut self, handles: &Arc<Handles>, stamp: Stamp) -> Result<(), Error> {
        if self.remote().is_some() {
            return Ok(());
        }
        let absolute = absolute(&self.path)?;
        let pooled = FileHandle::pooled(handles, stamp, absolute);
        if let FileHandle::Own(file) = std::mem::replace(&mut self.handle, pooled) {
            handles.put(self.number, Arc::new(file));
        }
        Ok(())
    }

    /// Returns the path that was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the unique number of the source in this process.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns the number of bytes of the content: the size of the file when it was opened, or uncompressed. It is
    /// `u64::MAX` until a compressed file was read to its end, or its layout is known.
    pub fn size(&self) -> u64 {
        self.compressed.as_ref().map_or(self.size, |content| content.size().unwrap_or(u64::MAX))
    }

    /// Returns the size of the file, in bytes, when it was opened.
    pub fn stored_size(&self) -> u64 {
        self.size
    }

    /// Takes the file as a compressed one: its content is read from now on.
    pub(crate) fn uncompress(&mut self, compression: Compression) {
        self.compressed = Some(Compressed::new(compression));
    }

    /// Returns the compression of the file and the layout of its content, if it is compressed, and was read to its end.
    pub(crate) fn layout(&self) -> Option<(Compression, Layout)> {
        let content = self.compressed.as_ref()?;
        Some((content.compression, content.layout()?))
    }

    /// Sets the layout of a compressed file, which an earlier pass over it has found.
    pub(crate) fn set_layout(&self, layout: Layout) {
        if let Some(content) = &self.compressed {
            content.set_layout(layout);
        }
    }

    /// Returns whether the file is compressed.
    pub fn is_compressed(&self) -> bool {
        self.compressed.is_some()
    }

    /// Returns whether the file is compressed and ends too early.
    pub(crate) fn is_cut(&self) -> bool {
        self.compressed.as_ref().is_some_and(Compressed::is_cut)
    }

    /// Returns the user id of the file's owner, if the file was opened and the system has users.
    pub(crate) fn owner(&self) -> Option<u32> {
        self.owner
    }

    /// Fills `buffer` with the content from `offset` on, in one request if the file is not compressed.
    ///
    /// # Errors
    /// [`Error::Io`], also if the file has become shorter; [`Error::Changed`] if it had to be reopened and has
    /// changed, or if an object was replaced; [`Error::Remote`]; [`Error::Interrupted`]; [`Error::Compressed`] if the
    /// compressed content is damaged or ends too early.
    pub fn read_at(&self, offset: u64, buffer: &mut [u8], meter: &mut Meter) -> Result<(), Error> {
        let Some(content) = &self.compressed else {
            return self.read_stored(offset, buffer, meter);
        };
        match content.read(self, offset, buffer, meter)? {
            n if n == buffer.len() => Ok(()),
            _ => Err(self.read_fault(io::ErrorKind::UnexpectedEof.into())),
        }
    }

    /// Fills `buffer` with the content from `offset` on, as far as there is any; returns the number of bytes.
    ///
    /// # Errors
    /// As [`Source::read_at`].
    pub(crate) fn read_up_to(
        &self,
        offset: u64,
        buffer: &mut [u8],
        meter: &mut Meter,
    ) -> Result<usize, Error> {
        let Some(content) = &self.compressed else {
            let n = self.size.saturating_sub(offset).min(buffer.len() as u64) as usize;
            if n > 0 {
                self.read_stored(offset, &mut buffer[..n], meter)?;
            }
            return Ok(n);
        };
        content.read(self, offset, buffer, meter)
    }

    fn read_fault(&self, source: io::Error) -> Error {
        let doing = "read it (did it become shorter?)";
        Error::Io { path: self.path.clone(), doing, source }
    }

    /// Reopens the file and checks that it is still the same. It may have grown.
    fn open_again(
        &self,
        handles: &Handles,
        stamp: &Stamp,
        absolute: &Path,
        meter: &mut Meter,
    ) -> Result<Arc<File>, Error> {
        let changed = || Error::Changed { path: self.path.clone() };
        let (begin, reading) = (Instant::now(), meter.read_ns);
        let opener = self.opener.as_ref();
        let now = match handles.while_opening(|| Source::open_by(absolute, opener, meter)) {
            Err(Error::Io { doing, source, .. }) => {
                return Err(Error::Io { path: self.path.clone(), doing, source });
            }
            other => other.map_err(|_| changed())?,
        };
        let same = now.size >= self.size && Stamp::of(&now, self.size, meter)? == *stamp;
        let FileHandle::Own(file) = now.handle else { unreachable!("opened just now") };
        if !same {
            return Err(changed());
        }
        let file = Arc::new(file);
        handles.put(self.number, Arc::clone(&file));
        // The time of read requests is already counted as reading.
        let taken = begin.elapsed().as_nanos() as u64;
        meter.open_ns += taken.saturating_sub(meter.read_ns - reading);
        Ok(file)
    }
}

impl StoredBytes for Source {
    fn path(&self) -> &Path {
        &self.path
    }

    fn is_remote(&self) -> bool {
        self.remote().is_some()
    }

    fn stored_size(&self) -> u64 {
        self.size
    }

    fn read_stored(&self, offset: u64, buffer: &mut [u8], meter: &mut Meter) -> Result<(), Error> {
        let pooled;
        let file = match &self.handle {
            FileHandle::Own(file) => file,
            FileHandle::Pooled { handles, stamp, absolute, opening } => {
                pooled = match handles.get(self.number) {
                    Some(file) => file,
                    None => {
                        let _guard = meter.lock(opening);
                        match handles.get(self.number) {
                            Some(file) => file,
                            None => self.open_again(handles, stamp, absolute, meter)?,
                        }
                    }
                };
                &*pooled
            }
            FileHandle::Remote(remote) => return remote.read_at(&self.path, offset, buffer, meter),
        };
        let begin = Instant::now();
        let result = read_exact_at(file, buffer, offset);
        meter.read_ns += begin.elapsed().as_nanos() as u64;
        meter.requests += 1;
        meter.bytes_read += buffer.len() as u64;
        result.map_err(|source| self.read_fault(source))
    }
}

/// Number of bytes at the head and at the tail of a file that a stamp covers.
const STAMP_BYTES: u64 = 4096;

impl Stamp {
    /// Returns the stamp of the first `size` bytes of a file, as they are stored.
    ///
    /// # Errors
    /// As [`Source::read_at`].
    pub fn of(source: &Source, size: u64, meter: &mut Meter) -> Result<Stamp, Error> {
        Stamp::with(source, size, |_, _| (), meter)
    }

    /// As [`Stamp::of`], of bytes that `change` may modify first; it gets their offset, too.
    pub(crate) fn with(
        source: &Source,
        size: u64,
        change: impl Fn(u64, &mut [u8]),
        meter: &mut Meter,
    ) -> Result<Stamp, Error> {
        let n = size.min(STAMP_BYTES);
        let mut digest = |offset| {
            let mut bytes = [0; STAMP_BYTES as usize];
            let bytes = &mut bytes[..n as usize];
            source.read_stored(offset, bytes, meter)?;
            if offset == 0 {
                source.check_head(bytes, meter)?;
            }
            change(offset, bytes);
            Ok::<_, Error>(xxh3_64(bytes))
        };
        Ok(Stamp { size, head: digest(0)?, tail: digest(size - n)? })
    }

    /// Returns whether the head of the file is still the one that was stamped.
    ///
    /// # Errors
    /// As [`Source::read_at`].
    pub(crate) fn head_stands(&self, source: &Source, meter: &mut Meter) -> Result<bool, Error> {
        let mut bytes = [0; STAMP_BYTES as usize];
        let bytes = &mut bytes[..self.size.min(STAMP_BYTES) as usize];
        source.read_stored(0, bytes, meter)?;
        Ok(xxh3_64(bytes) == self.head)
    }
}

/// Returns the number of files that this process may have open (`ulimit -n`).
#[cfg(unix)]
fn most_open_files() -> usize {
    use nix::sys::resource::{Resource, getrlimit};
    let limit = getrlimit(Resource::RLIMIT_NOFILE).map_or(u64::MAX, |(soft, _)| soft);
    usize::try_from(limit).unwrap_or(usize::MAX)
}

#[cfg(not(unix))]
fn most_open_files() -> usize {
    usize::MAX
}

#[cfg(unix)]
fn owner_of(metadata: &std::fs::Metadata) -> Option<u32> {
    Some(std::os::unix::fs::MetadataExt::uid(metadata))
}

#[cfg(not(unix))]
fn owner_of(_: &std::fs::Metadata) -> Option<u32> {
    None
}

#[cfg(unix)]
fn read_exact_at(file: &File, buffer: &mut [u8], offset: u64) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut buffer: &mut [u8], mut offset: u64) -> std::io::Result<()> {
    while !buffer.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, buffer, offset)? {
            0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            n => {
                buffer = &mut buffer[n..];
                offset += n as u64;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use std::io::Write;

    use super::*;

    /// Returns an open file of `n` bytes, and its folder.
    pub(crate) fn file_of(n: usize) -> (tempfile::TempDir, Source) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bytes");
        let bytes: Vec<u8> = (0..n).map(|i| (i % 251) as u8).collect();
        File::create(&path).unwrap().write_all(&bytes).unwrap();
        let source = Source::open(&path, &mut Meter::default()).unwrap();
        (folder, source)
    }

    #[test]
    fn opening_times_are_reported_per_thread() {
        let (handles, mine) = (Handles::new(1), [thread::current().id()]);
        let seen = handles.while_opening(|| {
            handles.while_opening(|| ());
            thread::sleep(Duration::from_millis(1));
            let other = thread::scope(|scope| scope.spawn(|| thread::current().id()).join());
            (handles.opening(&mine), handles.opening(&[other.unwrap()]))
        });
        assert!(seen.0 >= Duration::from_millis(1), "{seen:?}");
        assert_eq!((seen.1, handles.opening(&mine)), (Duration::ZERO, Duration::ZERO));
    }

    #[test]
    fn waiting_for_an_opening_is_counted() {
        let (opened, mut meter) = (Mutex::new(0), Meter::default());
        *meter.lock(&opened) += 1;
        assert_eq!(meter, Meter::default());
        let held = meter.lock(&opened);
        let mut other = Meter::default();
        thread::scope(|scope| {
            let (sender, receiver) = std::sync::mpsc::channel();
            let (opened, other) = (&opened, &mut other);
            scope.spawn(move || {
                sender.send(()).unwrap();
                *other.lock(opened) += 1;
            });
            receiver.recv().unwrap();
            thread::sleep(Duration::from_millis(50));
            drop(held);
        });
        assert_eq!((*meter.lock(&opened), meter.wait_ns), (2, 0));
        assert!(other.wait_ns > 0);
        assert_eq!(Meter { wait_ns: 0, ..other }, Meter::default());
    }

    #[test]
    fn the_least_recently_read_file_is_closed() {
        let (_folder, source) = file_of(10);
        let FileHandle::Own(file) = &source.handle else { unreachable!() };
        let handles = Handles::new(3);
        let put = |number| handles.put(number, Arc::new(file.try_clone().unwrap()));
        (1..=3).for_each(put);
        assert!(handles.get(1).is_some());
        put(1);
        assert_eq!(handles.n_open(), 3);
        put(4);
        let open = [1, 2, 3, 4].map(|number| handles.get(number).is_some());
        assert_eq!((open, handles.n_open()), ([true, false, true, true], 3));
    }

    #[test]
    fn concurrent_threads_open_a_file_once() {
        let (folder, source) = file_of(100);
        let stamp = Stamp::of(&source, source.size(), &mut Meter::default()).unwrap();
        let path = folder.path().join("bytes");
        for _ in 0..50 {
            let handles = Arc::new(Handles::new(1));
            let known = Source::known(path.clone(), path.clone(), stamp, &handles);
            let (all, opens) = (std::sync::Barrier::new(4), AtomicU64::new(0));
            thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        let mut meter = Meter::default();
                        all.wait();
                        known.read_at(0, &mut [0; 10], &mut meter).unwrap();
                        opens.fetch_add(meter.opens, Ordering::Relaxed);
                    });
                }
            });
            assert_eq!(opens.into_inner(), 1);
        }
    }

    #[test]
    fn folders_and_empty_files_are_errors() {
        let folder = tempfile::tempdir().unwrap();
        let mut meter = Meter::default();
        assert!(matches!(
            Source::open(folder.path(), &mut meter),
            Err(Error::NotAFile { folder: true, .. })
        ));
        let empty = folder.path().join("empty");
        File::create(&empty).unwrap();
        assert!(matches!(Source::open(&empty, &mut meter), Err(Error::Empty { .. })));
    }
}
