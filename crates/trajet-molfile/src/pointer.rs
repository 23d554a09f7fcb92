//! Pointer files: a few lines of text that name a tag of a store, for programs that can only open files.
//!
//! ```text
//! trajet-pointer 1
//! dataset /archive/store/bar
//! tag protein
//! ```
//!
//! Instead of a data set and a tag there may be lines `file PATH`, which are read as one trajectory in this order.
//! Relative paths start at the folder of the pointer file.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use trajet_files::{Chain, Frames, OpenOptions, ReadRequest, Scratch, Serial, chain};
use trajet_formats::{Atoms, FrameMeta};
use trajet_store::{Access, Store};

use crate::error::Error;

/// First bytes of every version.
const MAGIC: &[u8] = b"trajet-pointer ";
/// The supported version.
const VERSION: &[u8] = b"1";
/// Maximal size in bytes. No real list of files is as long.
const MAX_BYTES: u64 = 1 << 20;

/// Contents of a pointer file.
#[derive(Clone, Debug, PartialEq)]
enum Target {
    Tag { dataset: PathBuf, tag: String },
    Files(Vec<PathBuf>),
}

/// An opened tag of a data set.
#[derive(Debug)]
pub(crate) struct Tag {
    folder: PathBuf,
    name: String,
}

impl Tag {
    /// Appends an access to the log of the data set.
    pub(crate) fn used(&self, frames: u64, bytes: u64) {
        let read = [(self.name.clone(), bytes)];
        Access::new("molfile", frames, read).write_down(&self.folder);
    }
}

/// Opens a trajectory, or the one that a pointer file names. Also returns the tag if it is one of a store.
///
/// # Errors
/// As [`chain::open`]; errors of the pointer file or the store.
pub(crate) fn open(path: &Path) -> Result<(Chain, Option<Tag>), Error> {
    let options = OpenOptions { cache: cache_folder(), ..OpenOptions::default() };
    let files = match pointer(path)? {
        None => vec![path.to_owned()],
        Some(text) => match parse(path, &text)? {
            Target::Files(files) => files,
            Target::Tag { dataset, tag } => return open_tag(&dataset, tag, &options),
        },
    };
    Ok((chain::open(&files, &options, &Serial)?, None))
}

/// Opens a tag of a store.
fn open_tag(
    folder: &Path,
    tag: String,
    options: &OpenOptions,
) -> Result<(Chain, Option<Tag>), Error> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let dataset = Store::open(folder.parent().unwrap_or(folder))?.dataset(&name)?;
    let called = [tag];
    let chain = dataset.chain(Some(&called), options)?;
    // Files of a tag are opened on the first read. Read one frame, so that errors are reported now.
    let atom = Atoms::listed(&[0], chain.n_atoms()).map_err(trajet_files::Error::from)?;
    let first = Frames::all(1);
    let (request, mut meta) = (ReadRequest::positions(&first, &atom), FrameMeta::default());
    chain.read_into(&request, 0..1, &mut Scratch::default(), &mut [0.0; 3], &mut meta)?;
    let name = dataset.manifest.tags[dataset.tags(Some(&called))?[0]].name.clone();
    Ok((chain, Some(Tag { folder: folder.to_owned(), name })))
}

/// Returns the bytes of a pointer file; `None` for other files and for paths that are not regular files.
fn pointer(path: &Path) -> Result<Option<Vec<u8>>, Error> {
    let failed = |source| Error::Unreadable { path: path.to_owned(), source };
    // Opening a pipe without a writer would block. Opening the trajectory reports the error.
    if !path.metadata().is_ok_and(|found| found.is_file()) {
        return Ok(None);
    }
    let Ok(mut file) = File::open(path) else { return Ok(None) };
    let mut bytes = Vec::new();
    file.by_ref().take(MAGIC.len() as u64).read_to_end(&mut bytes).map_err(failed)?;
    if bytes != MAGIC {
        return Ok(None);
    }
    file.take(MAX_BYTES).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 >= MAX_BYTES {
        let what = format!("a pointer file has less than {MAX_BYTES} bytes");
        return Err(Error::Pointer { path: path.to_owned(), line: 1, what });
    }
    Ok(Some(bytes))
}

fn parse(path: &Path, text: &[u8]) -> Result<Target, Error> {
    let wrong = |line: usize, what: String| Error::Pointer { path: path.to_owned(), line, what };
    let folder = path.parent().unwrap_or(Path::new(""));
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    let lines: Vec<&[u8]> = text
        .split(|&byte| byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .collect();
    let version = lines[0].strip_prefix(MAGIC).unwrap_or_default();
    if version != VERSION {
        let version = String::from_utf8_lossy(version);
        let what = format!("a pointer file of version {version}, 1 is read: take a newer trajet");
        return Err(wrong(1, what));
    }
    let (mut dataset, mut tag, mut files) = (None, None, Vec::new());
    for (line, text) in (2..).zip(&lines[1..]) {
        let (key, value) = match text.iter().position(|&byte| byte == b' ') {
            Some(at) => (&text[..at], &text[at + 1..]),
            None => (*text, &[][..]),
        };
        let place = || folder.join(OsStr::from_bytes(value));
        match key {
            _ if value.is_empty() => return Err(wrong(line, "expected a word and a value".into())),
            b"dataset" if dataset.is_none() => dataset = Some(place()),
            b"tag" if tag.is_none() => match std::str::from_utf8(value) {
                Ok(value) => tag = Some(value.to_owned()),
                Err(_) => return Err(wrong(line, "the tag is no UTF-8".into())),
            },
            b"file" => files.push(place()),
            _ => {
                let key = String::from_utf8_lossy(key);
                let what = format!("{key:?}: expected one dataset and one tag, or files");
                return Err(wrong(line, what));
            }
        }
    }
    match (dataset, tag, files) {
        (Some(dataset), Some(tag), files) if files.is_empty() => Ok(Target::Tag { dataset, tag }),
        (None, None, files) if !files.is_empty() => Ok(Target::Files(files)),
        _ => Err(wrong(lines.len(), "expected one dataset and one tag, or files".into())),
    }
}

/// Returns the folder for indexes of trajectories in read-only folders: the same as for the command line.
fn cache_folder() -> Option<PathBuf> {
    match std::env::var_os("XDG_CACHE_HOME").filter(|named| !named.is_empty()) {
        Some(named) => Some(PathBuf::from(named).join("trajet")),
        None => Some(std::env::home_dir()?.join(".cache").join("trajet")),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(text: &str) -> Result<Target, String> {
        parse(Path::new("/here/x.tjt"), text.as_bytes()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_pointer_may_name_a_tag_of_a_store() {
        let tag = Target::Tag { dataset: "/store/bar".into(), tag: "protein".into() };
        for end in ["\n", "\r\n"] {
            let text = ["trajet-pointer 1", "dataset /store/bar", "tag protein"].join(end);
            assert_eq!(parsed(&text), Ok(tag.clone()));
            assert_eq!(parsed(&(text + end)), Ok(tag.clone()));
        }
        assert_eq!(parsed("trajet-pointer 1\ntag protein\ndataset /store/bar\n"), Ok(tag));
    }

    #[test]
    fn a_pointer_lists_files_of_its_folder_in_order() {
        let files = parsed("trajet-pointer 1\nfile a b.xtc\nfile /c.trr\n");
        assert_eq!(files, Ok(Target::Files(vec!["/here/a b.xtc".into(), "/c.trr".into()])));
    }

    #[test]
    fn errors_name_their_line() {
        let cases = [
            ("trajet-pointer 2\nwhatever", "line 1: a pointer file of version 2"),
            ("trajet-pointer 1", "line 1: expected one dataset"),
            ("trajet-pointer 1\ndataset /a\n", "line 2: expected one dataset"),
            ("trajet-pointer 1\ndataset /a\ntag b\nfile c", "line 4: expected one dataset"),
            ("trajet-pointer 1\ndataset /a\ndataset /b\ntag c", "line 3: \"dataset\""),
            ("trajet-pointer 1\ndataset /a\ntag\n", "line 3: expected a word and a value"),
            ("trajet-pointer 1\n\nfile a", "line 2: expected a word"),
            ("trajet-pointer 1\nFile a", "line 2: \"File\""),
        ];
        for (text, expected) in cases {
            let error = parsed(text).unwrap_err();
            assert!(error.starts_with(&format!("/here/x.tjt: {expected}")), "{text:?}: {error}");
        }
    }

    #[test]
    fn a_list_without_end_is_refused_and_not_cut() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("long.tjt");
        let text = "trajet-pointer 1\n".to_owned() + &"file a.xtc\n".repeat(1 << 17);
        std::fs::write(&path, text).unwrap();
        let error = open(&path).err().unwrap().to_string();
        assert!(error.contains("less than 1048576 bytes"), "{error}");
    }

    proptest! {
        #[test]
        fn no_pointer_text_panics(
            rest in prop::collection::vec(any::<u8>(), 0..200),
            keyed in "((dataset|tag|file)? ?[a-z/]*\n?)*",
        ) {
            let _ = parse(Path::new("x"), &rest);
            let _ = parse(Path::new("x"), &[MAGIC, b"1\n", &rest].concat());
            let _ = parse(Path::new("x"), &[MAGIC, b"1\n", keyed.as_bytes()].concat());
        }
    }
}
