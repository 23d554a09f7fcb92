//! Virtual files, whose bytes are generated while they are read.
//!
//! A [`VirtualFile`] is the file that copying frames to a format would make: the header, then each encoded frame. Its
//! size is known before any frame is encoded: frames of DCD and NCDF have equal sizes, those of XTC and TRR were
//! recorded when the data set was added. [`Concatenated`] joins several regular files. [`VerifiedFile`] does the same,
//! and compares all bytes with their digests before it returns them.
//!
//! Any number of threads can read at once. Groups of neighbouring frames are generated together and cached, in memory
//! that all virtual files share ([`GroupCache`]). A thread that needs a group which another thread is generating waits
//! for that group alone.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use trajet_engine::run::lock;
use trajet_files::source::FileOpener;
use trajet_files::{Chain, Frames, Meter, Scratch};
use trajet_formats::{
    Atoms, CannotHold, Encoder, Format, FramesFrom, Input, Message, Plan, Snapshot, Workspace,
    WriteOptions, encoder, xxh3_64,
};

use crate::Error;
use crate::file_check::{ExpectedPieces, PieceContent};

/// Maximal number of bytes in a group of frames: those of a read request. A larger frame is a group of its own.
const GROUP_BYTES: u64 = 1 << 18;
/// Default size of the cache in bytes.
pub const CACHE_BYTES: u64 = 64 << 20;

/// Times and steps of frames.
#[derive(Debug, Default)]
pub struct Moments {
    /// Times in ps.
    pub times: Vec<f64>,
    /// Integration steps.
    pub steps: Vec<i64>,
}

/// Opens the trajectory of a virtual file.
pub type Open = dyn Fn() -> Result<Arc<Chain>, Error> + Send + Sync;

/// The frames of a virtual file, with the metadata that is known without opening their files.
pub struct FrameSource {
    /// Times and steps.
    pub moments: Arc<Moments>,
    /// Encoded size of each frame in bytes, if known.
    pub sizes: Option<Vec<u64>>,
    /// Messages that the file keeps if its format has room for them.
    pub messages: Vec<Message>,
    /// Opens the frames; called on the first read.
    pub open: Box<Open>,
}

/// The encoding of frames.
#[derive(Clone, Debug)]
pub enum Form {
    /// With all fields that the format can hold.
    Stored(WriteOptions),
    /// Decoded positions and cell only. Holds the cell of the first frame, and the number of atoms.
    Decoded([f64; 6], usize),
}

/// A trajectory as a file of a format.
pub struct VirtualFile {
    given: FrameSource,
    format: Format,
    form: Form,
    /// The name in messages.
    name: PathBuf,
    chain: Mutex<Option<Arc<Chain>>>,
    encoder: Mutex<Option<Arc<dyn Encoder>>>,
    head: Vec<u8>,
    extents: Extents,
    kept: Arc<GroupCache>,
    /// Its id among the files that share the cache.
    number: u64,
}

impl VirtualFile {
    /// Returns the file that frames make in a format. Reads no frame if sizes are given, or if the frames are decoded
    /// to DCD. `name` is used in messages.
    ///
    /// # Errors
    /// [`Error::Input`] if the format cannot hold the frames, or the first one cannot be read; [`Error::Damaged`] if
    /// sizes are missing or inconsistent.
    pub fn new(
        mut given: FrameSource,
        format: Format,
        form: Form,
        name: &Path,
        kept: &Arc<GroupCache>,
    ) -> Result<VirtualFile, Error> {
        let sizes = given.sizes.take();
        let mut virtual_file = VirtualFile {
            given,
            format,
            form,
            name: name.to_owned(),
            chain: Mutex::default(),
            encoder: Mutex::default(),
            head: Vec::new(),
            extents: Extents::default(),
            kept: Arc::clone(kept),
            number: kept.next.fetch_add(1, Ordering::Relaxed),
        };
        let n_frames = virtual_file.n_frames();
        let sizes = match (format.info().frames_from, sizes) {
            (FramesFrom::Headers, Some(sizes)) => sizes,
            (FramesFrom::Headers, None) => {
                return Err(
                    virtual_file.damaged("the sizes of its frames are not known".to_owned())
                );
            }
            (FramesFrom::Arithmetic, _) => {
                let (encoder, first) = virtual_file.encoder_and_first()?;
                virtual_file.head = encoder.head();
                for patch in encoder.patches(n_frames as u64) {
                    let at = patch.offset as usize;
                    virtual_file.head[at..at + patch.bytes.len()].copy_from_slice(&patch.bytes);
                }
                vec![first; n_frames]
            }
            _ => {
                let what = format!("{} is not made as it is read", format.name());
                return Err(virtual_file.damaged(what));
            }
        };
        if sizes.len() != n_frames {
            let what = format!("{} sizes are known of {n_frames} frames", sizes.len());
            return Err(virtual_file.damaged(what));
        }
        virtual_file.extents =
            Extents::new(&virtual_file.name, virtual_file.head.len() as u64, sizes.into_iter())?;
        Ok(virtual_file)
    }

    /// Returns the size of the file in bytes.
    pub fn size(&self) -> u64 {
        self.extents.end()
    }

    /// Reads bytes from `offset` on into `out`, and returns their number, which is less than the length of `out` only
    /// at the end of the file. Adds the cost to `meter`; reads of cached groups cost nothing.
    ///
    /// # Errors
    /// [`Error::Input`] if frames cannot be read; [`Error::Damaged`] if their encoded sizes differ from the recorded
    /// ones.
    pub fn read_at(&self, offset: u64, out: &mut [u8], meter: &mut Meter) -> Result<usize, Error> {
        self.extents.read_at(&self.head, offset, out, |group| {
            let (frames, size) = self.extents.group(group);
            self.kept.get((self.number, group), size, || self.make(frames, size, meter))
        })
    }

    fn make(&self, frames: Range<usize>, size: u64, meter: &mut Meter) -> Result<Vec<u8>, Error> {
        let (encoder, _) = self.encoder_and_first()?;
        let chain = self.chain()?;
        // The size comes from a file: it is not trusted beyond one group.
        let mut bytes = Vec::with_capacity(size.min(GROUP_BYTES) as usize);
        let first = frames.start;
        let requested = Frames::Strided { first: first as u64, step: 1, count: frames.len() };
        let atoms = Atoms::all(chain.n_atoms());
        let mut snapshot = Snapshot::default();
        let mut odd = None;
        self.kept.with_workbench(meter, |scratch, workspace| {
            chain.read_raws(&requested, &atoms, scratch, |k, raw| {
                if odd.is_some() {
                    return Ok(());
                }
                let (frame, before) = (first + k, bytes.len());
                let (time, step) = self.moment(frame);
                let input = match self.form {
                    Form::Stored(_) => Input::Raw { raw, time, step },
                    Form::Decoded(..) => {
                        raw.snapshot_into(time, step, &mut snapshot);
                        Input::Snapshot(&snapshot)
                    }
                };
                let encoded = encoder.encode(frame as u64, input, workspace, &mut bytes);
                encoded.map_err(|error| trajet_files::Error::of_output(&self.name, error))?;
                let found = (bytes.len() - before) as u64;
                let expected = self.extents.begins[frame + 1] - self.extents.begins[frame];
                odd = (found != expected).then_some((frame, found, expected));
                Ok(())
            })
        })?;
        bytes.shrink_to_fit();
        let Some((frame, found, expected)) = odd else { return Ok(bytes) };
        Err(self.damaged(format!(
            "frame {frame} has {found} bytes, and had {expected} when it was divided: look for what has \
             changed with trajet store verify"
        )))
    }

    fn n_frames(&self) -> usize {
        self.given.moments.times.len()
    }

    fn moment(&self, frame: usize) -> (f64, i64) {
        let Moments { times, steps } = &*self.given.moments;
        (times[frame], steps[frame])
    }

    fn chain(&self) -> Result<Arc<Chain>, Error> {
        let mut opened = lock(&self.chain);
        if let Some(chain) = &*opened {
            return Ok(Arc::clone(chain));
        }
        let chain = (self.given.open)()?;
        if chain.n_frames() != self.n_frames() {
            let (found, expected) = (chain.n_frames(), self.n_frames());
            return Err(self.damaged(format!("its files have {found} frames, and had {expected}")));
        }
        Ok(Arc::clone(opened.insert(chain)))
    }

    /// Returns the encoder, and the size of the first encoded frame (0 if it was made before).
    fn encoder_and_first(&self) -> Result<(Arc<dyn Encoder>, u64), Error> {
        let mut made = lock(&self.encoder);
        if let Some(encoder) = &*made {
            return Ok((Arc::clone(encoder), 0));
        }
        let Moments { times, steps } = &*self.given.moments;
        if times.is_empty() || steps.len() != times.len() {
            return Err(self.damaged("it has no frame".to_owned()));
        }
        let (time, step) = self.moment(0);
        let begin = |first: Input<'_>, options: &WriteOptions, workspace: &mut Workspace| {
            let options =
                &WriteOptions { of_source: self.given.messages.clone(), ..options.clone() };
            let plan = Plan { first, times, steps, options };
            let new = encoder(self.format, &plan).map_err(|error| self.failed(error))?;
            let mut bytes = Vec::new();
            new.encode(0, first, workspace, &mut bytes).map_err(|error| self.failed(error))?;
            Ok((new, bytes.len() as u64))
        };
        let (new, size) = match &self.form {
            Form::Stored(options) => {
                let chain = self.chain()?;
                self.kept.with_workbench(&mut Meter::default(), |scratch, workspace| {
                    let raw = chain.read_raw(0, scratch)?;
                    begin(Input::Raw { raw: &raw, time, step }, options, workspace)
                })?
            }
            &Form::Decoded(cell, n_atoms) => {
                let positions = Some(vec![[0.0; 3]; n_atoms]);
                let first =
                    Snapshot { n_atoms, time, step, cell, positions, ..Snapshot::default() };
                self.kept.with_workbench(&mut Meter::default(), |_, workspace| {
                    begin(Input::Snapshot(&first), &decoded(), workspace)
                })?
            }
        };
        *made = Some(Arc::clone(&new));
        Ok((new, size))
    }

    /// Returns the error for a frame that the format cannot hold.
    fn failed(&self, error: CannotHold) -> trajet_files::Error {
        trajet_files::Error::of_output(&self.name, error)
    }

    fn damaged(&self, what: String) -> Error {
        Error::damaged(&self.name, what)
    }
}

impl std::fmt::Debug for VirtualFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("VirtualFile").field("name", &self.name).field("size", &self.size()).finish()
    }
}

/// Offsets of the pieces of a file, and their division into groups.
#[derive(Debug, Default)]
struct Extents {
    /// Offset of each piece, and the end of the last one.
    begins: Vec<u64>,
    /// Index of the first piece of each group.
    groups: Vec<usize>,
}

impl Extents {
    /// Returns the extents of pieces of these sizes, the first of which begins at byte `front`.
    fn new(
        path: &Path,
        front: u64,
        sizes: impl ExactSizeIterator<Item = u64>,
    ) -> Result<Extents, Error> {
        let begins = begins(path, front, sizes)?;
        let (mut groups, mut group_begin) = (Vec::new(), None);
        for (piece, extent) in begins.windows(2).enumerate() {
            if group_begin.is_none_or(|begin| extent[1] - begin > GROUP_BYTES) {
                group_begin = Some(extent[0]);
                groups.push(piece);
            }
        }
        Ok(Extents { begins, groups })
    }

    /// Returns the end of the last piece.
    fn end(&self) -> u64 {
        self.begins.last().copied().unwrap_or(0)
    }

    /// Returns the pieces of a group, and their total size in bytes.
    fn group(&self, group: usize) -> (Range<usize>, u64) {
        let first = self.groups[group];
        let end = self.groups.get(group + 1).copied().unwrap_or(self.begins.len() - 1);
        (first..end, self.begins[end] - self.begins[first])
    }

    /// Reads bytes at `offset` from the header and from groups.
    fn read_at(
        &self,
        head: &[u8],
        offset: u64,
        out: &mut [u8],
        mut group: impl FnMut(usize) -> Result<Arc<Vec<u8>>, Error>,
    ) -> Result<usize, Error> {
        let Some(left) = self.end().checked_sub(offset) else { return Ok(0) };
        let n = left.min(out.len() as u64) as usize;
        let out = &mut out[..n];
        let mut done = copy(head, offset, out);
        while done < n {
            let at = offset + done as u64;
            let piece = self.begins.partition_point(|&begin| begin <= at) - 1;
            let number = self.groups.partition_point(|&first| first <= piece) - 1;
            let begin = self.begins[self.groups[number]];
            done += copy(&group(number)?, at - begin, &mut out[done..]);
        }
        Ok(n)
    }
}

/// Returns the options for decoded frames.
fn decoded() -> WriteOptions {
    WriteOptions { velocities: false, forces: false, ..WriteOptions::default() }
}

/// Returns the offsets of consecutive pieces of these sizes from `end` on, and the end of the last one.
fn begins(
    path: &Path,
    mut end: u64,
    sizes: impl ExactSizeIterator<Item = u64>,
) -> Result<Vec<u64>, Error> {
    let mut begins = Vec::with_capacity(sizes.len() + 1);
    begins.push(end);
    for size in sizes {
        let next = end.checked_add(size).filter(|&next| next <= i64::MAX as u64);
        end = next.ok_or_else(|| Error::damaged(path, "would be larger than any file"))?;
        begins.push(end);
    }
    Ok(begins)
}

/// Copies `bytes` from `offset` on into `out`, and returns the number of bytes.
pub(crate) fn copy(bytes: &[u8], offset: u64, out: &mut [u8]) -> usize {
    let rest = usize::try_from(offset).ok().and_then(|at| bytes.get(at..)).unwrap_or_default();
    let n = rest.len().min(out.len());
    out[..n].copy_from_slice(&rest[..n]);
    n
}

/// Several regular files read as one.
#[derive(Debug)]
pub struct Concatenated {
    files: Vec<(PathBuf, u64)>,
    /// Offset of each file, and the end of the last one.
    begins: Vec<u64>,
    opener: Arc<dyn FileOpener>,
    /// The file read last, kept open.
    open: Mutex<Option<(usize, Arc<File>)>>,
}

impl Concatenated {
    /// Joins files of known sizes in this order.
    ///
    /// # Errors
    /// [`Error::Damaged`] if the total size is larger than any file can be.
    pub fn new(
        files: Vec<(PathBuf, u64)>,
        opener: Arc<dyn FileOpener>,
    ) -> Result<Concatenated, Error> {
        let name = files.first().map_or(Path::new(""), |(path, _)| path);
        let begins = begins(name, 0, files.iter().map(|&(_, size)| size))?;
        Ok(Concatenated { files, begins, opener, open: Mutex::default() })
    }

    /// Returns the total size in bytes.
    pub fn size(&self) -> u64 {
        self.begins[self.files.len()]
    }

    /// Reads bytes, as [`VirtualFile::read_at`].
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Damaged`] if the size of a file has changed.
    pub fn read_at(&self, offset: u64, out: &mut [u8], meter: &mut Meter) -> Result<usize, Error> {
        let Some(left) = self.size().checked_sub(offset) else { return Ok(0) };
        let n = left.min(out.len() as u64) as usize;
        let mut done = 0;
        while done < n {
            let at = offset + done as u64;
            let which = self.which(at);
            let here = (self.begins[which + 1] - at).min((n - done) as u64) as usize;
            let file = self.file(which)?;
            let read = file.read_exact_at(&mut out[done..done + here], at - self.begins[which]);
            read.map_err(|error| match error.kind() {
                io::ErrorKind::UnexpectedEof => self.changed(which, "fewer"),
                _ => Error::io(&self.files[which].0, "read")(error),
            })?;
            meter.bytes_read += here as u64;
            done += here;
        }
        Ok(n)
    }

    /// Returns the index of the file that contains a byte.
    fn which(&self, at: u64) -> usize {
        self.begins.partition_point(|&begin| begin <= at) - 1
    }

    fn file(&self, which: usize) -> Result<Arc<File>, Error> {
        if let Some((open, file)) = &*lock(&self.open)
            && *open == which
        {
            return Ok(Arc::clone(file));
        }
        let (path, size) = &self.files[which];
        let file = self.opener.open(path).map_err(Error::io(path, "open"))?;
        let found = file.metadata().map_err(Error::io(path, "read"))?.len();
        if found != *size {
            return Err(self.changed(which, &format!("{found}")));
        }
        let file = Arc::new(file);
        *lock(&self.open) = Some((which, Arc::clone(&file)));
        Ok(file)
    }

    fn changed(&self, which: usize, found: &str) -> Error {
        let (path, size) = &self.files[which];
        Error::damaged(
            path,
            format!(
                "has {found} bytes, and had {size} when it was written: restore it from a copy, or divide \
                 the trajectory again"
            ),
        )
    }
}

/// Several regular files read as one. Bytes are compared with their digests before they are returned.
#[derive(Debug)]
pub struct VerifiedFile {
    plain: Concatenated,
    /// The pieces of all files.
    extents: Extents,
    /// Content and digest of each piece.
    pieces: Vec<(PieceContent, u64)>,
    /// Advice for messages on damaged files.
    remedy: String,
    kept: Arc<GroupCache>,
    number: u64,
}

impl VerifiedFile {
    /// Joins files with known digests in this order.
    ///
    /// # Errors
    /// [`Error::Damaged`] if the total size is larger than any file can be.
    pub(crate) fn new(
        files: Vec<(PathBuf, ExpectedPieces)>,
        opener: Arc<dyn FileOpener>,
        remedy: String,
        kept: &Arc<GroupCache>,
    ) -> Result<VerifiedFile, Error> {
        let (mut sizes, mut pieces) = (Vec::new(), Vec::new());
        let mut whole = Vec::with_capacity(files.len());
        for (path, known) in files {
            let first = sizes.len();
            for (what, size, digest) in known.pieces() {
                sizes.push(size);
                pieces.push((what, digest));
            }
            whole.push((path, sizes[first..].iter().sum()));
        }
        let name = whole.first().map_or(PathBuf::new(), |(path, _)| path.clone());
        Ok(VerifiedFile {
            plain: Concatenated::new(whole, opener)?,
            extents: Extents::new(&name, 0, sizes.into_iter())?,
            pieces,
            remedy,
            kept: Arc::clone(kept),
            number: kept.next.fetch_add(1, Ordering::Relaxed),
        })
    }

    /// Returns the total size in bytes.
    pub fn size(&self) -> u64 {
        self.extents.end()
    }

    /// Reads bytes, as [`VirtualFile::read_at`].
    ///
    /// # Errors
    /// [`Error::Io`]; [`Error::Damaged`] if the bytes differ from what was written.
    pub fn read_at(&self, offset: u64, out: &mut [u8], meter: &mut Meter) -> Result<usize, Error> {
        self.extents.read_at(&[], offset, out, |group| {
            let (pieces, size) = self.extents.group(group);
            self.kept.get((self.number, group), size, || self.compared(pieces, size, meter))
        })
    }

    /// Reads consecutive pieces and verifies them.
    fn compared(
        &self,
        pieces: Range<usize>,
        size: u64,
        meter: &mut Meter,
    ) -> Result<Vec<u8>, Error> {
        let begin = self.extents.begins[pieces.start];
        // The size of the file is checked before memory of that size is allocated.
        self.plain.file(self.plain.which(begin))?;
        let mut bytes = vec![0; size as usize];
        self.plain.read_at(begin, &mut bytes, meter)?;
        for piece in pieces {
            let extent = &self.extents.begins[piece..=piece + 1];
            let found = &bytes[(extent[0] - begin) as usize..(extent[1] - begin) as usize];
            let (what, digest) = &self.pieces[piece];
            if xxh3_64(found) != *digest {
                let file = self.plain.which(extent[0]);
                let at = extent[0] - self.plain.begins[file];
                let what = format!("{what} at byte {at} is not what was written: {}", self.remedy);
                return Err(Error::damaged(&self.plain.files[file].0, what));
            }
        }
        Ok(bytes)
    }
}

/// Memory that virtual files share: a cache of generated groups, and buffers to generate them.
#[derive(Debug)]
pub struct GroupCache {
    most: u64,
    groups: Mutex<Groups>,
    spare: Mutex<Vec<(Scratch, Workspace)>>,
    next: AtomicU64,
}

/// Groups by file and index, and in the order of their last use.
#[derive(Debug, Default)]
struct Groups {
    slots: HashMap<Key, Slot>,
    order: BTreeMap<u64, Key>,
    clock: u64,
    bytes: u64,
}

type Key = (u64, usize);

/// Cache slot of a group that is generated or being generated.
#[derive(Debug)]
struct Slot {
    last: u64,
    size: u64,
    made: Arc<PendingGroup>,
}

#[derive(Debug, Default)]
struct PendingGroup {
    /// Held by the thread that generates the group.
    at_work: Mutex<()>,
    bytes: OnceLock<Arc<Vec<u8>>>,
}

impl Default for GroupCache {
    fn default() -> Self {
        GroupCache::new(CACHE_BYTES)
    }
}

impl GroupCache {
    /// Returns a cache of `most` bytes, but at least one group. Groups that are being generated come on top.
    pub fn new(most: u64) -> Self {
        GroupCache {
            most,
            groups: Mutex::default(),
            spare: Mutex::default(),
            next: AtomicU64::new(0),
        }
    }

    /// Returns a group of `size` bytes, which is generated if it is not cached.
    fn get(
        &self,
        key: Key,
        size: u64,
        make: impl FnOnce() -> Result<Vec<u8>, Error>,
    ) -> Result<Arc<Vec<u8>>, Error> {
        let making = lock(&self.groups).touch(key, size, self.most);
        if let Some(bytes) = making.bytes.get() {
            return Ok(Arc::clone(bytes));
        }
        let _at_work = lock(&making.at_work);
        if let Some(bytes) = making.bytes.get() {
            return Ok(Arc::clone(bytes));
        }
        let bytes = Arc::new(make()?);
        Ok(Arc::clone(making.bytes.get_or_init(|| bytes)))
    }

    /// Lends buffers for reading and encoding, and adds what is read to `meter`.
    fn with_workbench<T>(
        &self,
        meter: &mut Meter,
        work: impl FnOnce(&mut Scratch, &mut Workspace) -> Result<T, trajet_files::Error>,
    ) -> Result<T, trajet_files::Error> {
        let (mut scratch, mut workspace) = lock(&self.spare).pop().unwrap_or_default();
        let done = work(&mut scratch, &mut workspace);
        meter.add(&scratch.meter);
        lock(&self.spare).push((scratch.renewed(), workspace));
        done
    }
}

impl Groups {
    /// Returns the slot of a group, and marks it as used most recently.
    fn touch(&mut self, key: Key, size: u64, most: u64) -> Arc<PendingGroup> {
        self.clock += 1;
        let now = self.clock;
        if let Some(slot) = self.slots.get_mut(&key) {
            self.order.remove(&slot.last);
            self.order.insert(now, key);
            slot.last = now;
            return Arc::clone(&slot.made);
        }
        self.bytes += size;
        while self.bytes > most
            && let Some((_, oldest)) = self.order.pop_first()
        {
            self.bytes -= self.slots.remove(&oldest).map_or(0, |slot| slot.size);
        }
        let made = Arc::<PendingGroup>::default();
        self.slots.insert(key, Slot { last: now, size, made: Arc::clone(&made) });
        self.order.insert(now, key);
        made
    }
}

#[cfg(test)]
mod tests;
