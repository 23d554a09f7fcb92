//! The contents of a mounted folder: names, inode numbers and files.
//!
//! The contents behind an inode number never change. When a data set changes, its names lead to new inodes, and
//! programs with an old file open continue to read it.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::SystemTime;

use trajet_engine::run::lock;
use trajet_files::Meter;
use trajet_files::source::FileOpener;

use crate::Error;
use crate::virtual_file::{Concatenated, VerifiedFile, VirtualFile, copy};

/// Files that stay cached after they were closed.
const MAX_RECENT: usize = 16;
/// Bytes that the kernel may read ahead when a program looks at the header of a file.
const HEAD_BYTES: u64 = 1 << 17;
/// Inode number of the folder.
pub(super) const ROOT: u64 = 1;

/// Source of the names and files to show.
pub(super) trait Contents: Send + Sync + 'static {
    /// Returns the names of the data sets.
    ///
    /// # Errors
    /// If they cannot be listed.
    fn names(&self) -> Result<Vec<String>, Error>;

    /// Returns the state of a data set; `None` if it does not exist.
    fn state(&self, dataset: &str) -> Option<State>;

    /// Returns the files of a data set. Each name is the data set's name followed by a dot or an @.
    ///
    /// # Errors
    /// If the data set cannot be read.
    fn files(&self, dataset: &str) -> Result<Vec<Shared>, Error>;
}

/// Version and ownership of a data set: equal as long as it has not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State {
    /// Time of the last change.
    pub(super) changed: SystemTime,
    /// Inode of the manifest, which differs after each replacement.
    pub(super) inode: u64,
    /// User id of the owner.
    pub(super) user: u32,
    /// Group id of the owner.
    pub(super) group: u32,
}

/// A file to show.
pub(super) struct Shared {
    pub(super) name: String,
    pub(super) node: Node,
    /// Callback for the access log.
    pub(super) on_close: Option<Box<OnClose>>,
}

/// Callback for closing a file: the fraction of its bytes that were read (above 1 if repeatedly), and the cost.
pub(super) type OnClose = dyn Fn(f64, &Meter) + Send + Sync;

/// Source of the bytes of a file.
pub(super) enum Node {
    /// A text in memory.
    Text(Arc<str>),
    /// A regular file, whatever its size, and what opens it.
    Found(PathBuf, Arc<dyn FileOpener>),
    /// Concatenated regular files with this total size.
    VerifiedFile(u64, Box<Opens>),
    /// Generated from frames; opened on first access.
    Made(Box<Make>),
}

/// Opens files whose contents are verified.
pub(super) type Opens = dyn Fn() -> Result<Arc<VerifiedFile>, Error> + Send + Sync;

/// Opens a virtual file. The argument is its name in messages.
pub(super) type Make = dyn Fn(&Path) -> Result<VirtualFile, Error> + Send + Sync;

/// Inode numbers and names of files.
pub(super) type Entries = Vec<(u64, String)>;

/// A file in the folder.
pub(super) struct File {
    pub(super) inode: u64,
    pub(super) name: String,
    pub(super) state: State,
    node: Node,
    on_close: Option<Box<OnClose>>,
    size: OnceLock<u64>,
    /// Weak: lives while the file is open or among the recent ones.
    virtual_file: Mutex<Weak<VirtualFile>>,
}

/// An open file.
pub(super) struct OpenFile {
    pub(super) file: Arc<File>,
    bytes: Bytes,
    /// Bytes returned by reads.
    given: AtomicU64,
    /// Cost of the reads.
    meter: Mutex<Meter>,
}

#[derive(Clone)]
enum Bytes {
    Text(Arc<str>),
    Concatenated(Arc<Concatenated>),
    VerifiedFile(Arc<VerifiedFile>),
    Made(Arc<VirtualFile>),
}

impl Bytes {
    fn size(&self) -> u64 {
        match self {
            Bytes::Text(text) => text.len() as u64,
            Bytes::Concatenated(plain) => plain.size(),
            Bytes::VerifiedFile(files) => files.size(),
            Bytes::Made(virtual_file) => virtual_file.size(),
        }
    }
}

impl OpenFile {
    pub(super) fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<usize, Error> {
        let mut meter = Meter::default();
        let read = match &self.bytes {
            Bytes::Text(text) => Ok(copy(text.as_bytes(), offset, out)),
            Bytes::Concatenated(plain) => plain.read_at(offset, out, &mut meter),
            Bytes::VerifiedFile(files) => files.read_at(offset, out, &mut meter),
            Bytes::Made(virtual_file) => virtual_file.read_at(offset, out, &mut meter),
        };
        lock(&self.meter).add(&meter);
        self.given.fetch_add(*read.as_ref().unwrap_or(&0) as u64, Ordering::Relaxed);
        read
    }

    /// Logs the access. Called once the file is no longer read.
    pub(super) fn close(&self) {
        let given = self.given.swap(0, Ordering::Relaxed);
        // Reads of a header alone are not logged.
        if given > HEAD_BYTES.min(self.bytes.size().saturating_sub(1))
            && let Some(on_close) = &self.file.on_close
        {
            on_close(given as f64 / self.bytes.size() as f64, &lock(&self.meter));
        }
    }
}

/// The mounted folder.
pub(super) struct Tree {
    shows: Box<dyn Contents>,
    known: Mutex<Inodes>,
    /// The files opened last. Programs often open a file several times.
    recent: Mutex<VecDeque<Bytes>>,
}

struct Inodes {
    next: u64,
    sets: BTreeMap<String, Set>,
    files: HashMap<u64, KnownFile>,
}

/// A data set as it was last listed.
struct Set {
    state: State,
    files: Vec<Arc<File>>,
}

/// A file whose inode the kernel may use.
struct KnownFile {
    file: Arc<File>,
    /// Lookups that the kernel has not forgotten.
    lookups: u64,
    /// Whether the file is in the folder's listing.
    is_listed: bool,
}

impl Tree {
    pub(super) fn new(shows: Box<dyn Contents>) -> Tree {
        let known = Inodes { next: ROOT + 1, sets: BTreeMap::new(), files: HashMap::new() };
        Tree { shows, known: Mutex::new(known), recent: Mutex::default() }
    }

    /// Returns the file of a name, from the current state of the store.
    pub(super) fn find(&self, name: &str) -> Result<Option<Arc<File>>, Error> {
        let dataset = name.split_once('@').or_else(|| name.rsplit_once('.'));
        let Some((dataset, _)) = dataset else { return Ok(None) };
        self.refresh(dataset)?;
        let known = lock(&self.known);
        let set = known.sets.get(dataset);
        let file = set.and_then(|set| set.files.iter().find(|file| file.name == name));
        Ok(file.cloned())
    }

    /// Returns inode numbers and names of all files, from the current state of the store, and the errors of data sets
    /// that had to be left out.
    pub(super) fn list(&self) -> Result<(Entries, Vec<Error>), Error> {
        let names = self.shows.names()?;
        let mut errors = Vec::new();
        for name in &names {
            errors.extend(self.refresh(name).err());
        }
        let mut known = lock(&self.known);
        let gone = known.sets.keys().filter(|name| !names.contains(name));
        for name in gone.cloned().collect::<Vec<_>>() {
            known.replace(&name, None);
        }
        let files = known.sets.values().flat_map(|set| &set.files);
        Ok((files.map(|file| (file.inode, file.name.clone())).collect(), errors))
    }

    /// Returns the file of an inode number.
    pub(super) fn file(&self, inode: u64) -> Option<Arc<File>> {
        lock(&self.known).files.get(&inode).map(|held| Arc::clone(&held.file))
    }

    /// Returns the size of a file in bytes.
    pub(super) fn size(&self, file: &File) -> Result<u64, Error> {
        if let Some(&size) = file.size.get() {
            return Ok(size);
        }
        if let Node::VerifiedFile(size, _) = file.node {
            return Ok(size);
        }
        let size = self.bytes(file)?.size();
        Ok(*file.size.get_or_init(|| size))
    }

    pub(super) fn open(&self, file: &Arc<File>) -> Result<OpenFile, Error> {
        let (given, meter) = Default::default();
        Ok(OpenFile { file: Arc::clone(file), bytes: self.bytes(file)?, given, meter })
    }

    fn bytes(&self, file: &File) -> Result<Bytes, Error> {
        let make = match &file.node {
            Node::Text(text) => return Ok(Bytes::Text(Arc::clone(text))),
            Node::Found(path, opener) => {
                let size = opener.open(path).and_then(|file| Ok(file.metadata()?.len()));
                let size = size.map_err(Error::io(path, "open"))?;
                let plain = Concatenated::new(vec![(path.clone(), size)], Arc::clone(opener))?;
                return Ok(Bytes::Concatenated(Arc::new(plain)));
            }
            Node::VerifiedFile(_, open) => return Ok(self.keep(Bytes::VerifiedFile(open()?))),
            Node::Made(make) => make,
        };
        let mut held = lock(&file.virtual_file);
        if let Some(virtual_file) = held.upgrade() {
            return Ok(Bytes::Made(virtual_file));
        }
        let virtual_file = Arc::new(make(Path::new(&file.name))?);
        *held = Arc::downgrade(&virtual_file);
        Ok(self.keep(Bytes::Made(virtual_file)))
    }

    /// Keeps a file open for some time.
    fn keep(&self, opened: Bytes) -> Bytes {
        let mut recent = lock(&self.recent);
        recent.push_back(opened.clone());
        let oldest = if recent.len() > MAX_RECENT { recent.pop_front() } else { None };
        drop(recent);
        // Freed after the lock is released.
        drop(oldest);
        opened
    }

    /// Counts a lookup by the kernel, which later forgets it.
    pub(super) fn count_lookup(&self, file: &Arc<File>) {
        let mut known = lock(&self.known);
        // The file may have been replaced since it was found.
        let file = Arc::clone(file);
        let held = known.files.entry(file.inode);
        held.or_insert(KnownFile { file, lookups: 0, is_listed: false }).lookups += 1;
    }

    /// Subtracts `times` lookups of an inode.
    pub(super) fn forget(&self, inode: u64, times: u64) {
        let mut known = lock(&self.known);
        if let Some(held) = known.files.get_mut(&inode) {
            held.lookups = held.lookups.saturating_sub(times);
            if held.lookups == 0 && !held.is_listed {
                known.files.remove(&inode);
            }
        }
    }

    /// Lists a data set again if it has changed.
    fn refresh(&self, dataset: &str) -> Result<(), Error> {
        let state = self.shows.state(dataset);
        if lock(&self.known).is(dataset, state) {
            return Ok(());
        }
        let new = state.map(|state| Ok((state, self.shows.files(dataset)?))).transpose();
        let mut known = lock(&self.known);
        // Another thread may have listed it meanwhile.
        if known.is(dataset, state) {
            return Ok(());
        }
        let (new, done) = match new {
            Ok(new) => (new, Ok(())),
            Err(error) => (None, Err(error)),
        };
        known.replace(dataset, new);
        done
    }
}

impl Inodes {
    fn is(&self, dataset: &str, state: Option<State>) -> bool {
        self.sets.get(dataset).map(|set| set.state) == state
    }

    /// Replaces the files of a data set; removes them if `new` is `None`.
    fn replace(&mut self, dataset: &str, new: Option<(State, Vec<Shared>)>) {
        for file in self.sets.remove(dataset).map(|set| set.files).into_iter().flatten() {
            if let Some(held) = self.files.get_mut(&file.inode) {
                held.is_listed = false;
                if held.lookups == 0 {
                    self.files.remove(&file.inode);
                }
            }
        }
        let Some((state, shared)) = new else { return };
        let mut files = Vec::with_capacity(shared.len());
        for Shared { name, node, on_close } in shared {
            let inode = self.next;
            self.next += 1;
            let (size, virtual_file) = Default::default();
            let file = Arc::new(File { inode, name, state, node, on_close, size, virtual_file });
            let held = KnownFile { file: Arc::clone(&file), lookups: 0, is_listed: true };
            self.files.insert(inode, held);
            files.push(file);
        }
        self.sets.insert(dataset.to_owned(), Set { state, files });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One data set whose inode is its version, which is also the size of its files.
    #[derive(Clone, Default)]
    struct Changing(Arc<Mutex<Option<u64>>>);

    impl Contents for Changing {
        fn names(&self) -> Result<Vec<String>, Error> {
            Ok(lock(&self.0).iter().map(|_| "set.1".to_owned()).collect())
        }
        fn state(&self, dataset: &str) -> Option<State> {
            let inode = (*lock(&self.0)).filter(|_| dataset == "set.1")?;
            Some(State { changed: SystemTime::UNIX_EPOCH, inode, user: 0, group: 0 })
        }
        fn files(&self, dataset: &str) -> Result<Vec<Shared>, Error> {
            let version = lock(&self.0).unwrap();
            if version == 13 {
                return Err(Error::Refused("no".to_owned()));
            }
            let node = || Node::VerifiedFile(version, Box::new(|| unreachable!("nobody reads")));
            let shared =
                |end| Shared { name: format!("{dataset}{end}"), node: node(), on_close: None };
            Ok([".xtc", "@p.xtc"].map(shared).into())
        }
    }

    #[test]
    fn changed_files_get_new_inodes_and_open_files_stay() {
        let shows = Changing::default();
        let tree = Tree::new(Box::new(shows.clone()));
        assert!(tree.find("set.1.xtc").unwrap().is_none());
        *lock(&shows.0) = Some(5);
        let names = |tree: &Tree| -> Vec<String> {
            tree.list().unwrap().0.into_iter().map(|(_, name)| name).collect()
        };
        assert_eq!(names(&tree), ["set.1.xtc", "set.1@p.xtc"]);
        let old = tree.find("set.1@p.xtc").unwrap().unwrap();
        tree.count_lookup(&old);
        tree.count_lookup(&old);
        assert_eq!(tree.find("set.1@p.xtc").unwrap().unwrap().inode, old.inode);
        for none in ["set.1", "set.1.dcd", "set@p.xtc", "set.xtc", "@", "."] {
            assert!(tree.find(none).unwrap().is_none(), "{none}");
        }
        *lock(&shows.0) = Some(6);
        let new = tree.find("set.1@p.xtc").unwrap().unwrap();
        assert_ne!(new.inode, old.inode);
        assert_eq!((tree.size(&old).unwrap(), tree.size(&new).unwrap()), (5, 6));
        // The kernel has not looked up the other old file.
        assert_eq!(lock(&tree.known).files.len(), 3);
        tree.forget(old.inode, 1);
        assert!(tree.file(old.inode).is_some());
        tree.forget(old.inode, 1);
        assert!(tree.file(old.inode).is_none());
        tree.forget(new.inode, 1);
        assert!(tree.file(new.inode).is_some());
        *lock(&shows.0) = Some(13);
        assert!(tree.find("set.1.xtc").is_err());
        assert_eq!((names(&tree).len(), tree.list().unwrap().1.len()), (0, 1));
        *lock(&shows.0) = None;
        assert!(tree.list().unwrap().1.is_empty() && tree.find("set.1.xtc").unwrap().is_none());
        assert!(lock(&tree.known).files.is_empty());
    }
}
