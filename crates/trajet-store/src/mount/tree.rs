//! What a mounted folder shows: names, the numbers that the kernel knows files by, and the files.
//!
//! A file never changes under its number. A data set that has changed is shown anew: its names lead to new
//! files, and programs that have an old one open continue with it.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::SystemTime;

use trajet_io::Meter;

use crate::Error;
use crate::virtual_file::{Concatenated, VerifiedFile, VirtualFile, copy, lock};

/// Files that stay cached while nobody has them open.
const MOST_RECENT: usize = 16;
/// Bytes that the kernel may ask for where a program looks at the head of a file.
const HEAD_BYTES: u64 = 1 << 17;
/// The number of the folder.
pub(super) const ROOT: u64 = 1;

/// What is to be shown.
pub(super) trait Contents: Send + Sync + 'static {
    /// Names of the data sets.
    ///
    /// # Errors
    /// Where they cannot be listed.
    fn names(&self) -> Result<Vec<String>, Error>;

    /// The state of a data set; none where there is no such one.
    fn state(&self, dataset: &str) -> Option<State>;

    /// The files of a data set. All their names begin with its name, behind which a dot or an @ stands.
    ///
    /// # Errors
    /// Where it cannot be read.
    fn files(&self, dataset: &str) -> Result<Vec<Shared>, Error>;
}

/// What tells a data set from what it was before, and whose its files are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State {
    /// When it last changed.
    pub(super) changed: SystemTime,
    /// The inode of what describes it: replacing gives another one.
    pub(super) inode: u64,
    /// The user whose it is.
    pub(super) user: u32,
    /// The group whose it is.
    pub(super) group: u32,
}

/// A file that is to be shown.
pub(super) struct Shared {
    pub(super) name: String,
    pub(super) node: Node,
    /// Whom to tell what was read of it.
    pub(super) on_close: Option<Box<OnClose>>,
}

/// Called when a file is closed, with how often all of its bytes were read, and what reading them cost.
pub(super) type OnClose = dyn Fn(f64, &Meter) + Send + Sync;

/// Where the bytes of a file come from.
pub(super) enum Node {
    /// These are they.
    Text(Arc<str>),
    /// From an ordinary file, whatever its size is.
    Found(PathBuf),
    /// From ordinary files that together have so many bytes.
    VerifiedFile(u64, Box<Opens>),
    /// From frames: made when it is first looked at.
    Made(Box<Make>),
}

/// Opens files of which is known what was written.
pub(super) type Opens = dyn Fn() -> Result<Arc<VerifiedFile>, Error> + Send + Sync;

/// Makes a virtual file, which messages call by this name.
pub(super) type Make = dyn Fn(&Path) -> Result<VirtualFile, Error> + Send + Sync;

/// Numbers and names of files.
pub(super) type Entries = Vec<(u64, String)>;

/// A file that is shown.
pub(super) struct File {
    pub(super) inode: u64,
    pub(super) name: String,
    pub(super) state: State,
    node: Node,
    on_close: Option<Box<OnClose>>,
    size: OnceLock<u64>,
    /// While somebody has it, or did lately.
    virtual_file: Mutex<Weak<VirtualFile>>,
}

/// A file that somebody has open.
pub(super) struct Opened {
    pub(super) file: Arc<File>,
    bytes: Bytes,
    /// How many were given away.
    given: AtomicU64,
    /// What that cost.
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

impl Opened {
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

    /// Nobody reads it any more.
    pub(super) fn close(&self) {
        let given = self.given.swap(0, Ordering::Relaxed);
        // What looks at a head alone is no use.
        if given > HEAD_BYTES.min(self.bytes.size().saturating_sub(1))
            && let Some(on_close) = &self.file.on_close
        {
            on_close(given as f64 / self.bytes.size() as f64, &lock(&self.meter));
        }
    }
}

/// The folder.
pub(super) struct Tree {
    shows: Box<dyn Contents>,
    known: Mutex<Known>,
    /// What was opened last: programs open a file several times.
    recent: Mutex<VecDeque<Bytes>>,
}

struct Known {
    next: u64,
    sets: BTreeMap<String, Set>,
    files: HashMap<u64, KnownFile>,
}

/// A data set as it was last seen.
struct Set {
    state: State,
    files: Vec<Arc<File>>,
}

/// A file that the kernel may ask for.
struct KnownFile {
    file: Arc<File>,
    /// Lookups that the kernel has not forgotten yet.
    lookups: u64,
    /// Whether a folder lists it.
    is_listed: bool,
}

impl Tree {
    pub(super) fn new(shows: Box<dyn Contents>) -> Tree {
        let known = Known { next: ROOT + 1, sets: BTreeMap::new(), files: HashMap::new() };
        Tree { shows, known: Mutex::new(known), recent: Mutex::default() }
    }

    /// The file of a name, as the store is now.
    pub(super) fn find(&self, name: &str) -> Result<Option<Arc<File>>, Error> {
        let dataset = name.split_once('@').or_else(|| name.rsplit_once('.'));
        let Some((dataset, _)) = dataset else { return Ok(None) };
        self.look_again(dataset)?;
        let known = lock(&self.known);
        let set = known.sets.get(dataset);
        let file = set.and_then(|set| set.files.iter().find(|file| file.name == name));
        Ok(file.cloned())
    }

    /// All files' numbers and names, as the store is now; and why data sets are left out.
    pub(super) fn list(&self) -> Result<(Entries, Vec<Error>), Error> {
        let names = self.shows.names()?;
        let mut errors = Vec::new();
        for name in &names {
            errors.extend(self.look_again(name).err());
        }
        let mut known = lock(&self.known);
        let gone = known.sets.keys().filter(|name| !names.contains(name));
        for name in gone.cloned().collect::<Vec<_>>() {
            known.replace(&name, None);
        }
        let files = known.sets.values().flat_map(|set| &set.files);
        Ok((files.map(|file| (file.inode, file.name.clone())).collect(), errors))
    }

    /// The file of a number.
    pub(super) fn file(&self, inode: u64) -> Option<Arc<File>> {
        lock(&self.known).files.get(&inode).map(|held| Arc::clone(&held.file))
    }

    /// Bytes of a file.
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

    pub(super) fn open(&self, file: &Arc<File>) -> Result<Opened, Error> {
        let (given, meter) = Default::default();
        Ok(Opened { file: Arc::clone(file), bytes: self.bytes(file)?, given, meter })
    }

    fn bytes(&self, file: &File) -> Result<Bytes, Error> {
        let make = match &file.node {
            Node::Text(text) => return Ok(Bytes::Text(Arc::clone(text))),
            Node::Found(path) => {
                let found = fs::symlink_metadata(path).map_err(Error::io(path, "open"))?;
                let plain = Concatenated::new(vec![(path.clone(), found.len())])?;
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

    /// Keeps what was opened for a while.
    fn keep(&self, opened: Bytes) -> Bytes {
        let mut recent = lock(&self.recent);
        recent.push_back(opened.clone());
        let oldest = if recent.len() > MOST_RECENT { recent.pop_front() } else { None };
        drop(recent);
        // Freed with nobody waiting.
        drop(oldest);
        opened
    }

    /// Counts a lookup of a file by the kernel.
    pub(super) fn tell(&self, file: &Arc<File>) {
        let mut known = lock(&self.known);
        // It may have been replaced since it was found.
        let file = Arc::clone(file);
        let held = known.files.entry(file.inode);
        held.or_insert(KnownFile { file, lookups: 0, is_listed: false }).lookups += 1;
    }

    /// Takes back `times` lookups of a file that the kernel forgets.
    pub(super) fn forget(&self, inode: u64, times: u64) {
        let mut known = lock(&self.known);
        if let Some(held) = known.files.get_mut(&inode) {
            held.lookups = held.lookups.saturating_sub(times);
            if held.lookups == 0 && !held.is_listed {
                known.files.remove(&inode);
            }
        }
    }

    /// Reads a data set again where it is not what it was.
    fn look_again(&self, dataset: &str) -> Result<(), Error> {
        let state = self.shows.state(dataset);
        if lock(&self.known).is(dataset, state) {
            return Ok(());
        }
        let new = state.map(|state| Ok((state, self.shows.files(dataset)?))).transpose();
        let mut known = lock(&self.known);
        // Another thread may have been here meanwhile.
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

impl Known {
    fn is(&self, dataset: &str, state: Option<State>) -> bool {
        self.sets.get(dataset).map(|set| set.state) == state
    }

    /// Contents a data set anew, or no more.
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

    /// DatasetListing data set, of a file that is its own name, as often as it was changed.
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
    fn what_changes_gets_new_numbers_and_what_is_open_stays() {
        let shows = Changing::default();
        let tree = Tree::new(Box::new(shows.clone()));
        assert!(tree.find("set.1.xtc").unwrap().is_none());
        *lock(&shows.0) = Some(5);
        let names = |tree: &Tree| -> Vec<String> {
            tree.list().unwrap().0.into_iter().map(|(_, name)| name).collect()
        };
        assert_eq!(names(&tree), ["set.1.xtc", "set.1@p.xtc"]);
        let old = tree.find("set.1@p.xtc").unwrap().unwrap();
        tree.tell(&old);
        tree.tell(&old);
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
