//! A store as a folder that every program can read: a file system in user space (FUSE), read-only.
//!
//! The kernel asks, fixed threads answer, each one question after the other, as many as they are; who reads a
//! frame while another reads a part of the same waits for the same work ([`crate::virtual_file`]). What cannot be
//! read is an I/O error of that read alone, and a message. The kernel may keep what it has read: a file never
//! changes under its inode number.

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

use crate::virtual_file::lock;
use crate::{Error, Store};
use listing::Listing;
use tree::{Entries, File, Opened, ROOT, Tree};

mod listing;
mod point;
mod tree;

/// How long the kernel takes a name for known: so late may a change of the store be seen.
const NAMES_LAST: Duration = Duration::from_secs(1);
/// How long the threads have to end once nothing is mounted any more.
const END: Duration = Duration::from_secs(1);
/// Messages that wait to be shown.
const MOST_MESSAGES: usize = 100;

/// A folder on which something is mounted, until this is ended, or dropped, or it is unmounted from outside.
pub struct Mount {
    folder: PathBuf,
    mounted: point::Mounted,
    /// Never dropped: it would unmount by the path, where others may have mounted something meanwhile.
    session: ManuallyDrop<BackgroundSession>,
    messages: Arc<Messages>,
    open: Arc<Open>,
    is_ended: bool,
}

impl Mount {
    /// Contents a store on an empty folder, with answers by so many threads.
    ///
    /// # Errors
    /// [`Error::Refused`], with what to do, where that is not possible.
    pub fn begin(store: Store, folder: &Path, threads: usize) -> Result<Mount, Error> {
        let whole = point::prepare(folder)?;
        // Else who answers would ask himself.
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
        // It panics where /dev/fuse takes the number of a standard output that is closed.
        let taken = [(); 3].map(|()| std::fs::File::open("/dev/null"));
        let session = Session::new(files, &whole, &config).and_then(Session::spawn);
        drop(taken);
        let session = session.map_err(|error| point::explained(folder, error))?;
        let session = ManuallyDrop::new(session);
        let Some(mounted) = point::on(&whole)? else {
            let what = format!("{}: was unmounted at once by somebody else", folder.display());
            return Err(Error::Refused(what));
        };
        Ok(Mount { folder: whole, mounted, session, messages, open, is_ended: false })
    }

    /// Whether nobody can ask anything any more: it was unmounted, and the last file was closed.
    pub fn has_ended(&self) -> bool {
        self.session.guard.is_finished()
    }

    /// What went wrong since this was last asked for.
    pub fn messages(&self) -> Vec<String> {
        self.messages.take()
    }

    /// Unmounts. Programs that are reading get errors.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Refused`].
    pub fn end(&mut self) -> Result<(), Error> {
        if std::mem::replace(&mut self.is_ended, true) {
            return Ok(());
        }
        point::take_away(&self.folder, &self.mounted, !self.has_ended())?;
        let begin = Instant::now();
        while !self.has_ended() && begin.elapsed() < END {
            std::thread::sleep(Duration::from_millis(5));
        }
        // Of what is cut off like this the kernel tells nobody that it was closed.
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

/// What went wrong.
#[derive(Default)]
struct Messages(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    messages: VecDeque<String>,
    left_out: usize,
    last: String,
}

impl Messages {
    /// Keeps a message, unless it is the last one again: programs try again.
    fn add(&self, message: String) {
        let mut waiting = lock(&self.0);
        if waiting.last == message {
            return;
        }
        match waiting.messages.len() < MOST_MESSAGES {
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

/// What the kernel asks.
struct Files {
    tree: Tree,
    begun: SystemTime,
    /// By their handles.
    open: Arc<Open>,
    next: AtomicU64,
    messages: Arc<Messages>,
}

type Open = Mutex<HashMap<u64, Handle>>;

/// What somebody has open.
#[derive(Clone)]
enum Handle {
    File(Arc<Opened>),
    /// Its entries, as they were when it was opened.
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
    /// Does something, and says why it cannot.
    fn attempt<T>(&self, what: &str, work: impl FnOnce() -> Result<T, Error>) -> Result<T, Errno> {
        // A defect of ours must not take the thread with it, without which somebody would wait for ever.
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
        // This may take its time: not under the lock.
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
        // Where the kernel is too old for it, names are looked up one at a time.
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
                self.tree.tell(&file);
                reply.entry(&NAMES_LAST, &attributes, Generation(0));
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
            Ok(attributes) => reply.attr(&NAMES_LAST, &attributes),
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
        for k in 0..MOST_MESSAGES + 7 {
            messages.add(format!("{k}"));
            messages.add(format!("{k}"));
        }
        let shown = messages.take();
        assert_eq!((shown.len(), &shown[0][..]), (MOST_MESSAGES + 1, "0"));
        assert_eq!(shown[MOST_MESSAGES], "7 more messages were left out");
        messages.add("new".to_owned());
        assert_eq!(messages.take(), ["new"]);
    }
}
