//! What frames say beside their atoms, in a file of its own.
//!
//! Layout, little endian: magic (8 bytes), version (u32), frames (u64), where each one's bytes end (u64 each,
//! counted from the first), the bytes of all (`postcard` of [`Raw::head`], and of DCD the version of the file as
//! i32, which older files lack), and the XXH3 digest of all that.

use std::path::{Path, PathBuf};

use crate::source::{Meter, Source};
use crate::{Error, Raw, xxh3_64};

const MAGIC: &[u8; 8] = b"trajethd";
const VERSION: u32 = 1;
/// Bytes before the ends.
const HEADER_BYTES: usize = 20;
/// Bytes of a request.
const REQUEST: usize = 1 << 20;

/// The heads of frames, in their order.
#[derive(Clone, Debug, Default)]
pub struct Heads {
    /// Where they were read; empty where they were made.
    path: PathBuf,
    ends: Vec<u64>,
    bytes: Vec<u8>,
}

impl Heads {
    /// Adds what the next frame says beside its atoms.
    ///
    /// # Panics
    /// Never: a frame in memory can be written to memory.
    pub fn push(&mut self, frame: &Raw) {
        let head = postcard::to_stdvec(&frame.head()).expect("memory takes it");
        self.bytes.extend(head);
        if let Raw::Dcd(frame) = frame
            && frame.version != 0
        {
            self.bytes.extend(frame.version.to_le_bytes());
        }
        self.ends.push(self.bytes.len() as u64);
    }

    /// How many frames there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// What frame `k` says: a frame without atoms.
    ///
    /// # Errors
    /// [`Error::Division`].
    pub fn get(&self, k: usize) -> Result<Raw, Error> {
        let Some(&end) = self.ends.get(k) else {
            let n = self.len();
            return Err(self.fault(format!("it holds the heads of {n} frames, not of frame {k}")));
        };
        let begin = if k == 0 { 0 } else { self.ends[k - 1] };
        let bytes = &self.bytes[begin as usize..end as usize];
        match postcard::take_from_bytes::<Raw>(bytes) {
            Ok((mut head, rest)) if head.n_atoms() == 0 && head.is_sound() => {
                match (&mut head, rest.try_into()) {
                    (Raw::Dcd(frame), Ok(version)) => frame.version = i32::from_le_bytes(version),
                    _ if rest.is_empty() => {}
                    _ => return Err(self.fault(format!("the head of its frame {k} is none"))),
                }
                Ok(head)
            }
            _ => Err(self.fault(format!("the head of its frame {k} is none"))),
        }
    }

    /// The file's bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes =
            Vec::with_capacity(HEADER_BYTES + 8 * self.ends.len() + self.bytes.len() + 8);
        bytes.extend(MAGIC);
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend((self.ends.len() as u64).to_le_bytes());
        bytes.extend(self.ends.iter().flat_map(|end| end.to_le_bytes()));
        bytes.extend(&self.bytes);
        bytes.extend(xxh3_64(&bytes).to_le_bytes());
        bytes
    }

    /// Reads a file of heads.
    ///
    /// # Errors
    /// [`Error::Division`] where it is not what was written; [`Error::Io`], [`Error::NotAFile`],
    /// [`Error::Empty`].
    pub fn load(path: &Path) -> Result<Heads, Error> {
        Heads::load_counted(path, &mut Meter::default())
    }

    /// The same, counted.
    pub(super) fn load_counted(path: &Path, meter: &mut Meter) -> Result<Heads, Error> {
        let source = Source::open(path, meter)?;
        let fault = |what: String| Error::Division { path: path.to_owned(), what };
        let mut bytes = Vec::new();
        // A file that is longer than memory is an error like any other.
        let room = usize::try_from(source.size()).unwrap_or(usize::MAX);
        bytes.try_reserve_exact(room).map_err(|_| fault("it does not fit in memory".to_owned()))?;
        bytes.resize(room, 0);
        let mut at = 0;
        for piece in bytes.chunks_mut(REQUEST) {
            source.read_at(at, piece, meter)?;
            at += piece.len() as u64;
        }
        parse(&bytes)
            .map(|(ends, bytes)| Heads { path: path.to_owned(), ends, bytes })
            .map_err(fault)
    }

    fn fault(&self, what: String) -> Error {
        Error::Division { path: self.path.clone(), what }
    }
}

/// Wherever they are kept.
impl PartialEq for Heads {
    fn eq(&self, other: &Heads) -> bool {
        self.ends == other.ends && self.bytes == other.bytes
    }
}

/// The ends and the bytes of the heads; in words what is wrong.
fn parse(bytes: &[u8]) -> Result<(Vec<u64>, Vec<u8>), String> {
    let word = |at: usize| {
        let word = bytes.get(at..at + 8)?;
        Some(u64::from_le_bytes(word.try_into().expect("eight bytes")))
    };
    if !bytes.starts_with(MAGIC) {
        return Err("it is no file of frames' heads".to_owned());
    }
    let body = bytes.len().checked_sub(8).filter(|&n| n >= HEADER_BYTES);
    let body = body.ok_or("it is cut short")?;
    if word(body) != Some(xxh3_64(&bytes[..body])) {
        return Err("its bytes are not those that were written".to_owned());
    }
    if bytes[8..12] != VERSION.to_le_bytes() {
        return Err("it is of another version".to_owned());
    }
    let unsound = || "its frames' ends are not in order".to_owned();
    let n = word(12).and_then(|n| usize::try_from(n).ok()).ok_or_else(unsound)?;
    let rest = &bytes[HEADER_BYTES..body];
    let ends = n.checked_mul(8).and_then(|n| rest.split_at_checked(n));
    let (ends, heads) = ends.ok_or_else(unsound)?;
    let ends: Vec<u64> =
        ends.as_chunks::<8>().0.iter().map(|end| u64::from_le_bytes(*end)).collect();
    let last = ends.last().copied().unwrap_or(0);
    match ends.is_sorted() && last == heads.len() as u64 {
        true => Ok((ends, heads.to_vec())),
        false => Err(unsound()),
    }
}
