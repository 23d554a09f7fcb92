//! Shows the files of a folder, for reading only, as a file system whose answers come late.
//!
//!     trajet-slow-store SOURCE MOUNTPOINT RULES
//!
//! RULES is a text file, looked at before each answer: a word and its numbers a line.
//!
//!     delay_ms 2            every read request waits so long
//!     open_ms 1             every opening too
//!     factor 20             how many times longer what is slow waits
//!     slow_process 4711     read requests of this process are slow (any number of such lines)
//!     slow_opening 4711     openings of this process are slow
//!     slow_region 0.4 0.5   read requests that begin in this part of a file are slow
//!     megabytes_per_s 50    all processes together get this rate
//!     requests_per_s 200    read requests of all processes are answered at this rate
//!     opens_per_s 10        openings of all processes too
//!
//! A waiting answer costs no processor time, so that few cores can be many clients. The page cache is
//! not used: each request of a program is at least one here. A file `.requests` counts them.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, UNIX_EPOCH};

use fuser::{
    Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo,
    LockOwner, MountOption, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEntry, ReplyOpen,
    Request,
};

const TTL: Duration = Duration::from_secs(1);
const COUNTER: u64 = u64::MAX;

/// What answers wait for.
#[derive(Default)]
struct Rules {
    delay: f64,
    open: f64,
    factor: f64,
    slow_processes: HashSet<u32>,
    slow_openings: HashSet<u32>,
    slow_region: Option<(f64, f64)>,
    /// Seconds of the shared server for a byte, a read request and an opening.
    byte: f64,
    request: f64,
    opening: f64,
}

impl Rules {
    fn read(path: &PathBuf) -> Rules {
        let mut rules = Rules { factor: 1.0, ..Rules::default() };
        for line in fs::read_to_string(path).unwrap_or_default().lines() {
            let mut words = line.split_whitespace();
            let word = words.next().unwrap_or_default();
            let numbers: Vec<f64> = words.filter_map(|word| word.parse().ok()).collect();
            match (word, &numbers[..]) {
                ("delay_ms", [ms]) => rules.delay = ms / 1e3,
                ("open_ms", [ms]) => rules.open = ms / 1e3,
                ("factor", [factor]) => rules.factor = *factor,
                ("slow_process", [process]) => drop(rules.slow_processes.insert(*process as u32)),
                ("slow_opening", [process]) => drop(rules.slow_openings.insert(*process as u32)),
                ("slow_region", [begin, end]) => rules.slow_region = Some((*begin, *end)),
                ("megabytes_per_s", [rate]) => rules.byte = 1e-6 / rate,
                ("requests_per_s", [rate]) => rules.request = 1.0 / rate,
                ("opens_per_s", [rate]) => rules.opening = 1.0 / rate,
                ("", _) => (),
                _ => eprintln!("slow-store: not understood: {line}"),
            }
        }
        rules
    }
}

/// The process to which a thread belongs: requests name threads.
fn process_of(thread: u32) -> u32 {
    let status = fs::read_to_string(format!("/proc/{thread}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
    line.and_then(|id| id.trim().parse().ok()).unwrap_or(thread)
}

/// A server that serves one after another: until when it has work.
#[derive(Default)]
struct Server(Mutex<Option<Instant>>);

impl Server {
    /// Adds some seconds of work and returns when it is done.
    fn work(&self, seconds: f64) -> Instant {
        let (now, mut until) = (Instant::now(), self.0.lock().unwrap());
        let done = until.unwrap_or(now).max(now) + Duration::from_secs_f64(seconds);
        *until = Some(done);
        done
    }
}

/// Sleeps until an instant and some seconds longer.
fn sleep_until(instant: Instant, longer: f64) {
    let wait = instant.saturating_duration_since(Instant::now());
    std::thread::sleep(wait + Duration::from_secs_f64(longer));
}

struct Slow {
    source: PathBuf,
    rules: PathBuf,
    /// By their inodes less two.
    names: Mutex<Vec<String>>,
    /// By their handles.
    open: Mutex<Vec<Arc<File>>>,
    requests: Arc<AtomicU64>,
    reading: Server,
    opening: Server,
}

impl Slow {
    fn path(&self, inode: u64) -> Option<PathBuf> {
        let name = self.names.lock().unwrap().get(inode.checked_sub(2)? as usize)?.clone();
        Some(self.source.join(name))
    }

    fn attributes(&self, inode: u64) -> Option<FileAttr> {
        let (size, kind, perm) = match inode {
            1 => (0, FileType::Directory, 0o755),
            COUNTER => (32, FileType::RegularFile, 0o444),
            _ => (fs::metadata(self.path(inode)?).ok()?.size(), FileType::RegularFile, 0o444),
        };
        Some(FileAttr {
            ino: INodeNo(inode),
            size,
            blocks: size.div_ceil(512),
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind,
            perm,
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        })
    }
}

impl Filesystem for Slow {
    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let name = name.to_string_lossy().into_owned();
        if parent != INodeNo::ROOT {
            return reply.error(Errno::ENOENT);
        }
        let inode = if name == ".requests" {
            COUNTER
        } else if self.source.join(&name).is_file() {
            let mut names = self.names.lock().unwrap();
            let at = names.iter().position(|known| *known == name).unwrap_or_else(|| {
                names.push(name);
                names.len() - 1
            });
            at as u64 + 2
        } else {
            return reply.error(Errno::ENOENT);
        };
        match self.attributes(inode) {
            Some(attributes) => reply.entry(&TTL, &attributes, Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.attributes(inode.0) {
            Some(attributes) => reply.attr(&TTL, &attributes),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn open(&self, request: &Request, inode: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        if inode.0 == COUNTER {
            return reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO);
        }
        let file = self.path(inode.0).and_then(|path| File::open(path).ok());
        let Some(file) = file else { return reply.error(Errno::EIO) };
        let handle = {
            let mut open = self.open.lock().unwrap();
            open.push(Arc::new(file));
            FileHandle(open.len() as u64)
        };
        let (rules, process) = (Rules::read(&self.rules), process_of(request.pid()));
        let slow = if rules.slow_openings.contains(&process) { rules.factor } else { 1.0 };
        let (served, wait) = (self.opening.work(rules.opening), rules.open * slow);
        std::thread::spawn(move || {
            sleep_until(served, wait);
            reply.opened(handle, FopenFlags::FOPEN_DIRECT_IO);
        });
    }

    fn read(
        &self,
        request: &Request,
        inode: INodeNo,
        handle: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        if inode.0 == COUNTER {
            let count = format!("{:>31}\n", self.requests.load(Ordering::Relaxed));
            return reply.data(count.as_bytes().get(offset as usize..).unwrap_or_default());
        }
        let file = handle
            .0
            .checked_sub(1)
            .and_then(|at| self.open.lock().unwrap().get(at as usize).cloned());
        let Some(file) = file else { return reply.error(Errno::EBADF) };
        self.requests.fetch_add(1, Ordering::Relaxed);
        let (rules, process) = (Rules::read(&self.rules), process_of(request.pid()));
        let whole = file.metadata().map_or(1, |metadata| metadata.len().max(1));
        let place = offset as f64 / whole as f64;
        let slow = rules.slow_processes.contains(&process)
            || rules.slow_region.is_some_and(|(begin, end)| (begin..end).contains(&place));
        let wait = rules.delay * if slow { rules.factor } else { 1.0 };
        let served = self.reading.work(rules.request.max(rules.byte * f64::from(size)));
        std::thread::spawn(move || {
            sleep_until(served, wait);
            let mut bytes = vec![0; size as usize];
            match file.read_at(&mut bytes, offset) {
                Ok(n) => reply.data(&bytes[..n]),
                Err(_) => reply.error(Errno::EIO),
            }
        });
    }

    fn readdir(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let files = fs::read_dir(&self.source).into_iter().flatten().flatten();
        let names = files.filter(|file| file.path().is_file()).map(|file| file.file_name());
        for (at, name) in names.enumerate().skip(offset as usize) {
            let (inode, next) = (INodeNo(at as u64 + 2), at as u64 + 1);
            if reply.add(inode, next, FileType::RegularFile, name) {
                break;
            }
        }
        reply.ok();
    }
}

fn main() {
    let given: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [source, mountpoint, rules] = &given[..] else {
        eprintln!("usage: trajet-slow-store SOURCE MOUNTPOINT RULES");
        std::process::exit(2);
    };
    let slow = Slow {
        source: source.clone(),
        rules: rules.clone(),
        names: Mutex::default(),
        open: Mutex::default(),
        requests: Arc::default(),
        reading: Server::default(),
        opening: Server::default(),
    };
    let mut config = Config::default();
    config.mount_options = vec![MountOption::RO, MountOption::FSName("slow-store".to_owned())];
    if let Err(error) = fuser::mount(slow, mountpoint, &config) {
        eprintln!("slow-store: {error}: is there /dev/fuse, and may you mount?");
        std::process::exit(1);
    }
}
