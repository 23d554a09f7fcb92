//! A kept index as input, beside a sound file.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use trajet_io::xxh3_64;
use trajet_io::{Described, Error, OpenOptions};

use crate::case::without_sidecar;
use crate::disk::OnDisk;
use crate::laws::Case;
use crate::memory::{EACH, FIXED};
use crate::reading::Reading;
use crate::seeds;

/// A file beside which the sidecar lies, and what is read of it without one.
struct Truth {
    bytes: Vec<u8>,
    /// Opened strictly, and with a cut tail allowed.
    read: [Option<Reading>; 2],
}

/// The three formats that keep an index; of each the whole file, and cut in its last frame.
static TRUTHS: LazyLock<Vec<[Truth; 2]>> = LazyLock::new(|| {
    let truth = |bytes: &[u8]| {
        let file = OnDisk::new(bytes);
        let case = case(&file, bytes);
        let read = [false, true].map(|allow_truncated_tail| {
            let options = OpenOptions { allow_truncated_tail, ..without_sidecar() };
            case.open(&options, 1).ok().map(|reader| case.positions(&*reader))
        });
        Truth { bytes: bytes.to_vec(), read }
    };
    let both = |bytes: Vec<u8>| [truth(&bytes), truth(&bytes[..bytes.len() - 10])];
    seeds::indexed().map(both).into()
});

/// The place of the stamp in a kept index: size of the file, digests of its head and tail.
const SIZE_AT: usize = 24;
const HEAD_AT: usize = 40;
/// Bytes of head and tail that are digested.
const STAMP_BYTES: usize = 4096;

/// Opens a sound file that has the input for its sidecar: as it is, and with digests that fit, so that
/// what follows them is believed. The sidecar may change nothing: what opens opens, and every frame is
/// the one that is read without it, up to one that says that the index is stale. (Not every frame is
/// looked at before an index is believed, so that one with a made-up middle is noticed there alone.)
///
/// The input names the format; the lowest bits of its last byte say whether the file is cut, and
/// whether the digests of the file are made to fit too.
pub fn sidecar(input: &[u8]) {
    let format = match input.get(8..12) {
        Some(b"TRR ") => 1,
        Some(b"NCDF") => 2,
        _ => 0,
    };
    let last = input.last().copied().unwrap_or(0);
    let truth = &TRUTHS[format][usize::from(last & 1)];
    let file = OnDisk::new(&truth.bytes);
    let case = case(&file, &truth.bytes);
    let kept = beside(file.path());
    let fitting = with_digests(input, &truth.bytes, last & 2 != 0);
    // As it is nearly every input is no sidecar at all, which one opening shows.
    let once = [(input, false)];
    let often = fitting.iter().flat_map(|bytes| [(&bytes[..], false), (&bytes[..], true)]);
    for (bytes, allow_truncated_tail) in once.into_iter().chain(often) {
        std::fs::write(&kept, bytes).expect("the sidecar can be written");
        let options = OpenOptions { allow_truncated_tail, ..OpenOptions::default() };
        let read = &truth.read[usize::from(allow_truncated_tail)];
        check(&case, &options, 1, read);
        // What the first opening believed or left serves the second.
        if fitting.is_some() {
            check(&case, &options, 3, read);
        }
    }
}

/// Opens and reads, and compares with the truth.
fn check(case: &Case<'_>, options: &OpenOptions, pieces: usize, truth: &Option<Reading>) {
    let (reader, truth) = match (case.open(options, pieces), truth) {
        (Ok(reader), Some(truth)) => (reader, truth),
        (Err(_), None) => return,
        (Err(error), Some(_)) => panic!("a sidecar made an error: {error}"),
        (Ok(_), None) => panic!("a sidecar hid an error"),
    };
    let read = case.positions(&*reader);
    let stale = |frame: &Result<_, Error>| matches!(frame, Err(Error::Stale { .. }));
    let sound = read.iter().position(stale).unwrap_or(read.len());
    if sound == read.len() {
        assert_eq!(read.len(), truth.len(), "number of frames");
    }
    for (frame, pair) in read[..sound].iter().zip(truth).enumerate() {
        match pair {
            (Ok(read), Ok(truth)) => assert_eq!(read, truth, "frame {frame}"),
            (Err(error), _) => panic!("frame {frame}: {error}"),
            (Ok(_), Err(error)) => panic!("the file is not sound: {error}"),
        }
    }
}

/// The memory that a sidecar may take depends on the file alone: a longer one is not read.
fn case<'a>(file: &'a OnDisk, bytes: &'a [u8]) -> Case<'a> {
    let most = EACH * bytes.len() + FIXED;
    Case {
        path: file.path(),
        bytes,
        options: OpenOptions::default(),
        described: Described::default(),
        most,
        turn: 0,
    }
}

/// Where the sidecar of a file lies.
pub(crate) fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().expect("it has a name").to_string_lossy();
    path.with_file_name(format!(".{name}.trajet-index"))
}

/// The kept index with the digest of itself, and perhaps those of the file that it is for.
fn with_digests(kept: &[u8], file: &[u8], stamp: bool) -> Option<Vec<u8>> {
    let mut kept = kept.to_vec();
    let body = kept.len().checked_sub(8).filter(|&body| body >= HEAD_AT + 16)?;
    let size = u64::from_le_bytes(kept[SIZE_AT..SIZE_AT + 8].try_into().expect("eight bytes"));
    if let Some(then) = usize::try_from(size).ok().and_then(|n| file.get(..n)).filter(|_| stamp) {
        let n = then.len().min(STAMP_BYTES);
        let digests = [&then[..n], &then[then.len() - n..]].map(xxh3_64);
        for (k, digest) in digests.into_iter().enumerate() {
            kept[HEAD_AT + 8 * k..HEAD_AT + 8 * k + 8].copy_from_slice(&digest.to_le_bytes());
        }
    }
    let digest = xxh3_64(&kept[..body]);
    kept[body..].copy_from_slice(&digest.to_le_bytes());
    Some(kept)
}
