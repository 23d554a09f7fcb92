//! Mounts a store as a folder that every program can read: a read-only file system in user space (FUSE).
//!
//! A fixed number of threads answers the requests of the kernel, each thread one request at a time. Concurrent reads of
//! the same frames wait for one computation ([`crate::virtual_file`]). If a read fails, only that read returns an I/O
//! error, and a message is queued. The kernel may cache what it has read, as the contents behind an inode number never
//! change.

use std::collections::{HashMap, VecDeque};
use std::ffi::OsStr;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use fuser::{
    BackgroundSession, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags,
    Generation, INodeNo, InitFlags, KernelConfig, LockOwner, MountOption, OpenFlags, ReplyAttr,
    ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen, Request, Session,
};

use trajet_engine::run::lock;

use crate::{Error, Store};
use listing::Listing;
use tree::{Entries, File, OpenFile, ROOT, Tree};

mod listing;
mod point;
mod tree;

/// The time for which the kernel may cache names and attributes. Changes to the store become visible within it.
const NAME_LIFETIME: Duration = Duration::from_secs(1);
/// The time to wait for the threads to end after unmounting.
const END_TIMEOUT: Duration = Duration::from_secs(1);
/// Maximal number of queued messages.
const MAX_MESSAGES: usize = 100;

/// A mounted store. Dropping it unmounts.
pub struct Mount {
    folder: PathBuf,
    mounted: point::Mounted,
    /// Never dropped: its `drop` would unmount by path, where another file system may have been mounted meanwhile.
    session: ManuallyDrop<BackgroundSession>,
    messages: Arc<Messages>,
    open: Arc<Open>,
    is_ended: bool,
}

impl Mount {
    /// Mounts a store on an empty folder, and serves it with `threads` threads.
    ///
    /// # Errors
    /// [`Error::Refused`] with advice if the folder cannot be mounted on.
    pub fn begin(store: Store, folder: &Path, threads: usize) -> Result<Mount, Error> {
        let whole = point::prepare(folder)?;
        // A mount inside the store would have to serve its own requests.
        let tiers = store.tiers()?.into_values().map(|tier| tier.folder);
        let own = tiers.chain([store.folder().to_owned()]);
        if own.flat_map(|own| own.canonicalize()).any(|own| whole.starts_with(own)) {
            return Err(Error::Refused(format!(
                "{}: lies in the store itself, or in a tier: give a folder elsewhere",
                folder.display()
            )));
        }
        let (messages, open) = (Arc::<Messages>::default(), Arc::<Open>::default());
        let files = Files {
            tree: Tree::new(Box::new(Listing::new(store))),
            begun: SystemTime::now(),
            open: Arc::clone(&open),
            next: AtomicU64::new(1),
            messages: Arc::clone(&messages),
        };
        let mut config = Config::default();
        config.mount_options = vec![
            MountOption::RO,
            MountOption::NoExec,
            MountOption::FSName(point::SOURCE.to_owned()),
        ];
        config.n_threads = Some(threads.max(1));
        // `Session::new` panics if /dev/fuse gets the descriptor of a closed standard stream: occupy these first.
        let taken = [(); 3].map(|()| std::fs::File::open("/dev/null"));
        let session = Session::new(files, &whole, &config).and_then(Session::spawn);
        drop(taken);
        let session = session.map_err(|error| point::explained(folder, error))?;
        let session = ManuallyDrop::new(session);
        let Some(mounted) = point::on(&whole)? else {
            let what = format!("{}: was unmounted at once by another process", folder.display());
            return Err(Error::Refused(what));
        };
        Ok(Mount { folder: whole, mounted, session, messages, open, is_ended: false })
    }

    /// Returns whether the session is over: unmounted, with the last file closed.
    pub fn has_ended(&self) -> bool {
        self.session.guard.is_finished()
    }

    /// Takes the messages queued since the last call.
    pub fn messages(&self) -> Vec<String> {
        self.messages.take()
    }

    /// Unmounts. Programs that are reading get I/O errors.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Refused`].
    pub fn end(&mut self) -> Result<(), Error> {
        if std::mem::replace(&mut self.is_ended, true) {
            return Ok(());
        }
        point::take_away(&self.folder, &self.mounted, !self.has_ended())?;
        let begin = Instant::now();
        while !self.has_ended() && begin.elapsed() < END_TIMEOUT {
            std::thread::sleep(Duration::from_millis(5));
        }
        // The kernel sends no release for files that are cut off by a forced unmount.
        let left: Vec<Handle> = lock(&self.open).drain().map(|(_, handle)| handle).collect();
        left.iter().for_each(Handle::close);
        Ok(())
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // Callers that need the error call `end`.
        let _ = self.end();
    }
}

/// Bounded queue of error messages.
#[derive(Default)]
struct Messages(Mutex<QueuedMessages>);

#[derive(Default)]
struct QueuedMessages {
    messages: VecDeque<String>,
    left_out: usize,
    last: String,
}

impl Messages {
    /// Queues a message, unless it repeats the last one: programs retry.
    fn add(&self, message: String) {
        let mut waiting = lock(&self.0);
        if waiting.last == message {
            return;
        }
        match waiting.messages.len() < MAX_MESSAGES {
            true => waiting.messages.push_back(message.clone()),
            false => waiting.left_out += 1,
        }
        waiting.last = message;
    }

    fn take(&self) -> Vec<String> {
        let mut waiting = lock(&self.0);
        let mut all: Vec<String> = waiting.messages.drain(..).collect();
        if waiting.left_out > 0 {
            all.push(format!("{} more messages were left out", waiting.left_out));
            waiting.left_out = 0;
        }
        all
    }
}

/// The file system as the kernel sees it.
struct Files {
    tree: Tree,
    begun: SystemTime,
    /// Open files and folders by handle.
    open: Arc<Open>,
    next: AtomicU64,
    messages: Arc<Messages>,
}

type Open = Mutex<HashMap<u64, Handle>>;

/// An open file or folder.
#[derive(Clone)]
enum Handle {
    File(Arc<OpenFile>),
    /// The entries at the time of opening.
    Folder(Arc<Entries>),
}

impl Handle {
    fn close(&self) {
        if let Handle::File(opened) = self {
            opened.close();
        }
    }
}

impl Files {
    /// Runs `work`. An error or panic becomes a queued message and `EIO`.
    fn attempt<T>(&self, what: &str, work: impl FnOnce() -> Result<T, Error>) -> Result<T, Errno> {
        // A panic must not end the thread, as a pending request would then never be answered.
        let done = catch_unwind(AssertUnwindSafe(work));
        let message = match done {
            Ok(Ok(done)) => return Ok(done),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "failed through a defect of trajet".to_owned(),
        };
        match message.starts_with(what) {
            true => self.messages.add(message),
            false => self.messages.add(format!("{what}: {message}")),
        }
        Err(Errno::EIO)
    }

    fn opened(&self, handle: Handle) -> FileHandle {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        lock(&self.open).insert(number, handle);
        FileHandle(number)
    }

    fn closed(&self, handle: FileHandle) {
        let closed = lock(&self.open).remove(&handle.0);
        // Closing may take long: the lock is released before.
        let _ = self.attempt("what was read", || {
            closed.iter().for_each(Handle::close);
            Ok(())
        });
    }

    fn attributes(&self, file: &File) -> Result<FileAttr, Errno> {
        let size = self.attempt(&file.name, || self.tree.size(file))?;
        let mut attributes = attributes(file.inode, FileType::RegularFile, file.state.changed);
        (attributes.size, attributes.blocks) = (size, size.div_ceil(512));
        (attributes.uid, attributes.gid) = (file.state.user, file.state.group);
        Ok(attributes)
    }
}

fn attributes(inode: u64, kind: FileType, time: SystemTime) -> FileAttr {
    FileAttr {
        ino: INodeNo(inode),
        size: 0,
        blocks: 0,
        atime: time,
        mtime: time,
        ctime: time,
        crtime: time,
        kind,
        perm: if kind == FileType::Directory { 0o555 } else { 0o444 },
        nlink: if kind == FileType::Directory { 2 } else { 1 },
        uid: nix::unistd::getuid().as_raw(),
        gid: nix::unistd::getgid().as_raw(),
        rdev: 0,
        blksize: 1 << 18,
        flags: 0,
    }
}

impl Filesystem for Files {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> std::io::Result<()> {
        // Kernels without this capability look up names one at a time.
        let _ = config.add_capabilities(InitFlags::FUSE_PARALLEL_DIROPS);
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let found = match name.to_str() {
            Some(name) if parent.0 == ROOT => self.attempt(name, || self.tree.find(name)),
            _ => Ok(None),
        };
        let file = match found {
            Ok(Some(file)) => file,
            Ok(None) => return reply.error(Errno::ENOENT),
            Err(error) => return reply.error(error),
        };
        match self.attributes(&file) {
            Ok(attributes) => {
                self.tree.count_lookup(&file);
                reply.entry(&NAME_LIFETIME, &attributes, Generation(0));
            }
            Err(error) => reply.error(error),
        }
    }

    fn forget(&self, _: &Request, inode: INodeNo, times: u64) {
        self.tree.forget(inode.0, times);
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        let found = match (inode.0, self.tree.file(inode.0)) {
            (ROOT, _) => Ok(attributes(ROOT, FileType::Directory, self.begun)),
            (_, Some(file)) => self.attributes(&file),
            (_, None) => Err(Errno::ESTALE),
        };
        match found {
            Ok(attributes) => reply.attr(&NAME_LIFETIME, &attributes),
            Err(error) => reply.error(error),
        }
    }

    fn open(&self, _: &Request, inode: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        let Some(file) = self.tree.file(inode.0) else { return reply.error(Errno::ESTALE) };
        match self.attempt(&file.name, || self.tree.open(&file)) {
            Ok(opened) => {
                let handle = self.opened(Handle::File(Arc::new(opened)));
                reply.opened(handle, FopenFlags::FOPEN_KEEP_CACHE);
            }
            Err(error) => reply.error(error),
        }
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let Some(Handle::File(opened)) = lock(&self.open).get(&handle.0).cloned() else {
            return reply.error(Errno::EBADF);
        };
        let mut bytes = vec![0; size as usize];
        match self.attempt(&opened.file.name, || opened.read_at(offset, &mut bytes)) {
            Ok(n) => reply.data(&bytes[..n]),
            Err(error) => reply.error(error),
        }
    }

    fn release(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        self.closed(handle);
        reply.ok();
    }

    fn opendir(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        match self.attempt("the folder", || self.tree.list()) {
            Ok((entries, errors)) => {
                errors.iter().for_each(|error| self.messages.add(error.to_string()));
                let mut all = vec![(ROOT, ".".to_owned()), (ROOT, "..".to_owned())];
                all.extend(entries);
                reply.opened(self.opened(Handle::Folder(Arc::new(all))), FopenFlags::empty());
            }
            Err(error) => reply.error(error),
        }
    }

    fn readdir(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let Some(Handle::Folder(entries)) = lock(&self.open).get(&handle.0).cloned() else {
            return reply.error(Errno::EBADF);
        };
        for (k, (inode, name)) in entries.iter().enumerate().skip(offset as usize) {
            let is_folder = *inode == ROOT;
            let kind = if is_folder { FileType::Directory } else { FileType::RegularFile };
            if reply.add(INodeNo(*inode), k as u64 + 1, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn releasedir(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        _: OpenFlags,
        reply: ReplyEmpty,
    ) {
        self.closed(handle);
        reply.ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_bounded_and_not_repeated() {
        let messages = Messages::default();
        for k in 0..MAX_MESSAGES + 7 {
            messages.add(format!("{k}"));
            messages.add(format!("{k}"));
        }
        let shown = messages.take();
        assert_eq!((shown.len(), &shown[0][..]), (MAX_MESSAGES + 1, "0"));
        assert_eq!(shown[MAX_MESSAGES], "7 more messages were left out");
        messages.add("new".to_owned());
        assert_eq!(messages.take(), ["new"]);
    }
}
