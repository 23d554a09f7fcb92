//! The record of what was read of a data set, of which `trajet store stats` makes its advice: a line of JSON a
//! use, only ever appended to.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::SystemTime;

use serde::Serialize;

use crate::disk;

/// Beside the manifest.
pub(crate) const RECORD: &str = "uses.jsonl";

/// What was read of a data set by one analysis, or while something was open.
#[derive(Clone, Debug, Serialize)]
pub struct Use {
    /// "rmsd", "read", "mount", …
    pub what: String,
    /// Those that were touched.
    pub tags: Vec<String>,
    /// How many.
    pub frames: u64,
    /// Bytes that were read of each tag.
    pub bytes: BTreeMap<String, u64>,
}

#[derive(Serialize)]
struct Line<'a> {
    /// ISO 8601, UTC.
    at: String,
    #[serde(flatten)]
    used: &'a Use,
}

impl Use {
    /// Frames of a data set, and the bytes of each tag that were read for them.
    pub fn new(what: &str, frames: u64, read: impl IntoIterator<Item = (String, u64)>) -> Use {
        let (tags, bytes): (Vec<_>, _) =
            read.into_iter().map(|(tag, bytes)| (tag.clone(), (tag, bytes))).unzip();
        Use { what: what.to_owned(), tags, frames, bytes }
    }

    /// Appends it to the record of the data set in this folder. Of no frame there is no use; and a store that
    /// cannot be written can be read all the same.
    pub fn write_down(&self, dataset: &Path) {
        if self.frames == 0 {
            return;
        }
        let at = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
        let mut line =
            serde_json::to_string(&Line { at, used: self }).expect("words and numbers are plain");
        line.push('\n');
        // One call a line, so that those of several processes do not mix.
        let _ = open(dataset).and_then(|mut record| record.write_all(line.as_bytes()));
    }
}

/// Opens the record of a data set. Nothing is appended through a link, nor to a file that has another name: these may
/// be any files of whoever reads a store from elsewhere.
fn open(dataset: &Path) -> io::Result<File> {
    if !dataset.symlink_metadata()?.is_dir() {
        return Err(ErrorKind::NotADirectory.into());
    }
    let options = &mut OpenOptions::new();
    let record = disk::open_with(options.append(true).create(true), &dataset.join(RECORD))?;
    match record.metadata()?.nlink() {
        1 => Ok(record),
        _ => Err(ErrorKind::InvalidInput.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_a_use_and_none_of_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let used = |frames| Use::new("mount", frames, [("b".into(), 7), ("a".into(), 0)]);
        for frames in [0, 3, 4] {
            used(frames).write_down(folder.path());
        }
        let text = std::fs::read_to_string(folder.path().join(RECORD)).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2);
        let (at, rest) = lines[0].split_once(r#"","#).unwrap();
        assert_eq!(rest, r#""what":"mount","tags":["b","a"],"frames":3,"bytes":{"a":0,"b":7}}"#);
        assert!(humantime::parse_rfc3339(at.strip_prefix(r#"{"at":""#).unwrap()).is_ok(), "{at}");
    }

    #[test]
    fn a_record_that_cannot_be_written_is_let_go() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join(RECORD)).unwrap();
        let used = Use::new("read", 1, []);
        used.write_down(folder.path());
        used.write_down(&folder.path().join("gone"));
        assert!(!folder.path().join("gone").exists());
    }
}
