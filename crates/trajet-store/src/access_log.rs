//! The access log of a data set: reader, tags and time of each access. Each access appends one line of JSON;
//! `trajet store stats` derives its advice from them.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::SystemTime;

use serde::Serialize;

use crate::atomic_files;

/// Name of the log, beside the manifest.
pub const LOG: &str = "access.jsonl";

/// One read access to a data set, by an analysis or through an open file.
#[derive(Clone, Debug, Serialize)]
pub struct Access {
    /// "rmsd", "read", "mount", …
    pub what: String,
    /// Tags that were read.
    pub tags: Vec<String>,
    /// Frames that were read.
    pub frames: u64,
    /// Bytes that were read of each tag.
    pub bytes: BTreeMap<String, u64>,
}

#[derive(Serialize)]
struct Line<'a> {
    /// ISO 8601, UTC.
    at: String,
    #[serde(flatten)]
    used: &'a Access,
}

impl Access {
    /// Returns an access with the bytes read of each tag.
    pub fn new(what: &str, frames: u64, read: impl IntoIterator<Item = (String, u64)>) -> Access {
        let (tags, bytes): (Vec<_>, _) =
            read.into_iter().map(|(tag, bytes)| (tag.clone(), (tag, bytes))).unzip();
        Access { what: what.to_owned(), tags, frames, bytes }
    }

    /// Appends the access to the log of the data set in a folder, unless no frame was read. Errors are ignored: a store
    /// on read-only storage can still be read.
    pub fn write_down(&self, dataset: &Path) {
        if self.frames == 0 {
            return;
        }
        let at = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
        let mut line =
            serde_json::to_string(&Line { at, used: self }).expect("words and numbers are plain");
        line.push('\n');
        // One write per line, so that lines of several processes do not mix.
        let _ = open(dataset).and_then(|mut record| record.write_all(line.as_bytes()));
    }
}

/// Opens the log of a data set. Links and files with further hard links are refused, as an untrusted store may link to
/// any file of the user.
fn open(dataset: &Path) -> io::Result<File> {
    if !dataset.symlink_metadata()?.is_dir() {
        return Err(ErrorKind::NotADirectory.into());
    }
    let options = &mut OpenOptions::new();
    let record = atomic_files::open_with(options.append(true).create(true), &dataset.join(LOG))?;
    match record.metadata()?.nlink() {
        1 => Ok(record),
        _ => Err(ErrorKind::InvalidInput.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_access_is_one_line() {
        let folder = tempfile::tempdir().unwrap();
        let used = |frames| Access::new("mount", frames, [("b".into(), 7), ("a".into(), 0)]);
        for frames in [0, 3, 4] {
            used(frames).write_down(folder.path());
        }
        let text = std::fs::read_to_string(folder.path().join(LOG)).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2);
        let (at, rest) = lines[0].split_once(r#"","#).unwrap();
        assert_eq!(rest, r#""what":"mount","tags":["b","a"],"frames":3,"bytes":{"a":0,"b":7}}"#);
        assert!(humantime::parse_rfc3339(at.strip_prefix(r#"{"at":""#).unwrap()).is_ok(), "{at}");
    }

    #[test]
    fn an_unwritable_log_is_no_error() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join(LOG)).unwrap();
        let used = Access::new("read", 1, []);
        used.write_down(folder.path());
        used.write_down(&folder.path().join("gone"));
        assert!(!folder.path().join("gone").exists());
    }
}
