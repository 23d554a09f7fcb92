//! A stored index as input, beside a sound file.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use trajet_files::{Error, HdfLayouts, OpenOptions};
use trajet_formats::xxh3_64;

use crate::case::{in_pieces, without_sidecar};
use crate::disk::OnDisk;
use crate::laws::Case;
use crate::memory::{EACH, FIXED};
use crate::reading::Reading;
use crate::seeds;

/// A sound file, and its frames as read without a sidecar.
struct Truth {
    bytes: Vec<u8>,
    /// Read with strict options, and with truncated tails allowed.
    read: [Option<Reading>; 2],
}

/// The three formats that store an index: for each the whole file, and one truncated in its last frame.
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

/// Offset of the stamp in a stored index: size of the file, digests of its head and tail.
const SIZE_AT: usize = 24;
const HEAD_AT: usize = 40;
/// Number of digested bytes in head and tail.
const STAMP_BYTES: usize = 4096;

/// Opens a sound file that has the input for its sidecar: once as it is, and once with corrected digests, so that the
/// reader trusts the rest. The sidecar must not change anything: a file that opens without it opens with it, and every
/// frame is the same as without it, up to one that reports a stale index. (Not every frame is checked before an index
/// is trusted, so that a made-up middle is noticed only there.)
///
/// The input names the format. The lowest bits of its last byte select whether the file is truncated, and whether the
/// digests of the file are corrected, too.
pub(crate) fn sidecar(input: &[u8]) {
    let format = match input.get(8..12) {
        Some(b"TRR ") => 1,
        Some(b"NCD2") => 2,
        _ => 0,
    };
    let last = input.last().copied().unwrap_or(0);
    let truth = &TRUTHS[format][usize::from(last & 1)];
    let file = OnDisk::new(&truth.bytes);
    let case = case(&file, &truth.bytes);
    let kept = beside(file.path());
    let fitting = with_digests(input, &truth.bytes, last & 2 != 0);
    // Without corrected digests nearly every input is rejected, which one opening shows.
    let once = [(input, false)];
    let often = fitting.iter().flat_map(|bytes| [(&bytes[..], false), (&bytes[..], true)]);
    for (bytes, allow_truncated_tail) in once.into_iter().chain(often) {
        std::fs::write(&kept, bytes).expect("the sidecar can be written");
        let options = OpenOptions { allow_truncated_tail, ..in_pieces() };
        let read = &truth.read[usize::from(allow_truncated_tail)];
        check(&case, &options, 1, read);
        // The sidecar that the first opening used or wrote serves the second.
        if fitting.is_some() {
            check(&case, &options, 3, read);
        }
    }
}

/// Opens and reads the file, and compares the frames with the truth.
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

/// Returns the case. Memory is bounded by the file alone: a longer sidecar is not read.
fn case<'a>(file: &'a OnDisk, bytes: &'a [u8]) -> Case<'a> {
    let most = EACH * bytes.len() + FIXED;
    Case {
        path: file.path(),
        bytes,
        options: in_pieces(),
        described: HdfLayouts::default(),
        most,
        turn: 0,
    }
}

/// Returns the path of a file's sidecar.
pub(crate) fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().expect("it has a name").to_string_lossy();
    path.with_file_name(format!(".{name}.trajet-index"))
}

/// Returns the stored index with its own digest corrected, and with `stamp` those of its file.
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
