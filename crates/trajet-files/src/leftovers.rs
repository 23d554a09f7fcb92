//! Names of temporary files and folders, which identify their process, and removal of those of dead processes.
//!
//! `.trajet-HOST-BOOT-NAMESPACE-PID-START-RANDOM.tmp`: the host, the random id of its boot, its PID namespace, the
//! process and its start time in clock ticks since the boot. Process ids mean nothing on other hosts and in other
//! containers, and are reused. Host names are not unique: machines made from one image may share their name, and a
//! disk. Files of an earlier boot are therefore kept.

use std::collections::BTreeSet;
use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Folders from which leftovers were removed.
static SEEN: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Returns the part of a name that identifies this process.
pub fn owner() -> String {
    let process = std::process::id();
    // A file with start time 0 is never removed as that of a dead process.
    let start = start_time(process).ok().flatten().unwrap_or(0);
    format!("{}-{process}-{start}", host_id())
}

/// Returns a unique name for a temporary file in `folder`. The first call for a folder removes the temporary files
/// that dead processes of this host and user left there.
pub fn temporary_name(folder: &Path) -> String {
    let folder = if folder == Path::new("") { Path::new(".") } else { folder };
    let is_new = std::path::absolute(folder)
        .is_ok_and(|folder| SEEN.lock().is_ok_and(|mut seen| seen.insert(folder)));
    if is_new {
        remove_leftovers(folder);
    }
    // Hash maps are seeded with random numbers.
    let random = RandomState::new().build_hasher().finish();
    format!(".trajet-{}-{:012x}.tmp", owner(), random >> 16)
}

/// Removes the temporary files and folders (`.trajet-….tmp`, `trajet-…`) in a folder that belong to this user and
/// to dead processes of this host; returns their number. Entries that cannot be removed are skipped.
pub fn remove_leftovers(folder: &Path) -> usize {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let named = entries
        .flatten()
        .filter(|entry| belongs_to_dead_process(&entry.file_name().to_string_lossy()));
    let paths: Vec<PathBuf> = named.map(|entry| entry.path()).collect();
    if paths.is_empty() {
        return 0;
    }
    // `/proc/self` belongs to the user of this process.
    let Ok(me) = fs::metadata("/proc/self").map(|me| me.uid()) else { return 0 };
    let mut removed = 0;
    for path in paths {
        let done = match path.symlink_metadata() {
            Ok(there) if there.uid() != me => continue,
            Ok(there) if there.is_dir() => fs::remove_dir_all(&path),
            _ => fs::remove_file(&path),
        };
        removed += usize::from(done.is_ok());
    }
    removed
}

/// Removes files and folders that this process has not completed, as far as possible.
pub fn remove_all(unfinished: &[PathBuf]) {
    for path in unfinished {
        // A link is removed, not followed.
        let _ = match path.symlink_metadata() {
            Ok(there) if there.is_dir() => fs::remove_dir_all(path),
            _ => fs::remove_file(path),
        };
    }
}

/// Kills the child processes of this process but `spared`, and waits for their end.
pub fn kill_children(spared: Option<i32>) {
    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let lists = threads.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    let lists: Vec<String> = lists.collect();
    let children = lists.iter().flat_map(|list| list.split_whitespace());
    let killed: Vec<Pid> = children
        .filter_map(|word| word.parse().ok())
        .filter(|child| Some(*child) != spared)
        .map(Pid::from_raw)
        .collect();
    for child in &killed {
        let _ = kill(*child, Signal::SIGKILL);
    }
    for child in killed {
        // An error: another thread has waited for it.
        let _ = nix::sys::wait::waitpid(child, None);
    }
}

/// Returns whether a name is that of a temporary file or folder of a dead process of this host.
fn belongs_to_dead_process(name: &str) -> bool {
    let marked = match name.strip_prefix(".trajet-") {
        Some(rest) => rest.split_once(".tmp").map(|(marked, _)| marked),
        None => name.strip_prefix("trajet-"),
    };
    // Host names may contain dashes.
    let Some(mut parts) = marked.map(|marked| marked.rsplitn(4, '-')) else { return false };
    let mut next = || parts.next().unwrap_or_default();
    let (_random, start, process, host) = (next(), next(), next(), next());
    let (Ok(start), Ok(process)) = (start.parse::<u64>(), process.parse::<u32>()) else {
        return false;
    };
    // If `/proc` shows this process, it shows all processes of this user.
    let shows_processes = || matches!(start_time(std::process::id()), Ok(Some(_)));
    start > 0
        && host == host_id()
        && shows_processes()
        && start_time(process).is_ok_and(|now| now != Some(start))
}

/// Returns the host, its boot and its PID namespace.
fn host_id() -> String {
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let plain = |c: char| if c.is_ascii_alphanumeric() || ".-_".contains(c) { c } else { '_' };
    let host: String = host.trim_end().chars().map(plain).take(64).collect();
    let namespace = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    let digits: String = namespace.to_string_lossy().chars().filter(char::is_ascii_digit).collect();
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    format!("{host}-{}-{digits}", boot.split('-').next().unwrap_or_default().trim_end())
}

/// Returns the start time of a process, in clock ticks since the boot; `None` if there is no such process.
fn start_time(process: u32) -> std::io::Result<Option<u64>> {
    match fs::read_to_string(format!("/proc/{process}/stat")) {
        // The program name, in parentheses, may contain any characters.
        Ok(stat) => Ok(stat
            .rsplit_once(')')
            .and_then(|(_, rest)| rest.split_whitespace().nth(19)?.parse().ok())),
        // ESRCH: the process has just ended.
        Err(error) if error.kind() == ErrorKind::NotFound || error.raw_os_error() == Some(3) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// This process is alive; no process has the highest number.
    #[test]
    fn only_temporary_files_of_dead_processes_of_this_host_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let (process, start) =
            (std::process::id(), start_time(std::process::id()).unwrap().unwrap());
        let host = host_id();
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
        let boot = boot.split('-').next().unwrap().to_owned();
        let dead = [
            format!(".trajet-{host}-{}-7-00ff.tmp", u32::MAX),
            format!(".trajet-{host}-{}-7-00ff.tmp.npz", u32::MAX),
            format!("trajet-{host}-{}-7-abc_d", u32::MAX),
            // An earlier process had this number.
            format!(".trajet-{host}-{process}-{}-00ff.tmp", start - 1),
        ];
        let alive = [
            format!(".trajet-{host}-{process}-{start}-00ff.tmp"),
            format!(".trajet-x{host}-{}-7-00ff.tmp", u32::MAX),
            format!(".trajet-{host}1-{}-7-00ff.tmp", u32::MAX),
            format!(".trajet-{host}-{}-0-00ff.tmp", u32::MAX),
            // Of another boot, or of another host of the same name.
            format!(".trajet-{}-{}-7-00ff.tmp", host.replace(&boot, "00000000"), u32::MAX),
            format!("x.trajet-{host}-{}-7-00ff.tmp", u32::MAX),
            ".trajet-tier-0123456789abcdef".to_owned(),
            ".run.xtc.trajet-index".to_owned(),
            format!(".trajet-{}-00ff.tmp", u32::MAX),
        ];
        for name in dead.iter().chain(&alive) {
            fs::write(folder.path().join(name), "x").unwrap();
        }
        fs::remove_file(folder.path().join(&dead[2])).unwrap();
        fs::create_dir(folder.path().join(&dead[2])).unwrap();
        std::os::unix::fs::symlink("/", folder.path().join(&dead[2]).join("link")).unwrap();
        // The first call for a folder removes leftovers.
        let name = temporary_name(folder.path());
        assert!(
            !belongs_to_dead_process(&name)
                && name.starts_with(&format!(".trajet-{host}-{process}-"))
        );
        let mut left: Vec<_> = fs::read_dir(folder.path()).unwrap().flatten().collect();
        left.sort_by_key(fs::DirEntry::file_name);
        let left: BTreeSet<_> = left.iter().map(|e| e.file_name().into_string().unwrap()).collect();
        assert_eq!(left, BTreeSet::from(alive));
        assert_ne!(name, temporary_name(folder.path()));
    }
}
