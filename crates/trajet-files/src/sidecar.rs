//! The sidecar file, which stores the index of a trajectory.
//!
//! A sidecar is stored beside its trajectory as `.NAME.trajet-index`, or, if that folder cannot be written,
//! in the user's cache folder. If that fails too, the index is in memory only. It is stamped with the size of
//! the trajectory and digests of its head and tail, since modification times may differ between nodes. It is
//! written to a temporary file and renamed, so that any number of processes may write it without a lock: readers
//! see a whole index, and the last one written stays.
//!
//! Stamps and digests detect accidents, not forgeries: a sidecar is used only if it is a regular file that belongs
//! to this user, to root or to the owner of the trajectory (`sidecar/place`). Others are neither read nor replaced.
//!
//! An object in remote storage may have a published sidecar beside it, which anybody may have written. It is used if its
//! stamp is that of the object, and not trusted: readers compare each frame that they read with it, and frames are not
//! chosen by its times before it was compared with all of them. It is not copied to the cache folder.
//!
//! Sidecar layout, little endian: magic (8 bytes), format (4), version (u32); number of atoms, size of the
//! trajectory, end of the last whole frame, digest of the head, digest of the tail, number of frames (u64 each);
//! offsets (u64), times (f64) and steps (i64) of all frames; of a compressed file, the layout of its content: its size,
//! whether it is cut, and byte of the file and of the content for each stream (u64 each); the XXH3 digest of all
//! preceding bytes. Offsets are those in the content, the stamp is that of the file as it is stored.
//!
//! Before a loaded index is used, nine frames spread over it are compared with the file, the first one among them, and
//! no complete frame may follow the last. A file that grew keeps its index and gets the new frames; if its header
//! counts the frames, the head is compared as it was when they were fewer (`Finder::rewind`). An index that proves
//! stale later is deleted, and not built again within the run: a result must not mix frames of two versions of a file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use trajet_formats::compression::max_content;
use trajet_formats::{Code, Message, xxh3_64};

use crate::compressed::Layout;
use crate::options::OpenOptions;
use crate::range_bytes::RemoteFault;
use crate::remote::Remote;
use crate::source::Source;
use crate::{Error, FrameIndex, IndexState, Meter, Stamp};

pub(crate) mod paths;
mod place;

use paths::Paths;

const MAGIC: &[u8; 8] = b"trajetix";
const VERSION: u32 = 1;
const HEADER_BYTES: usize = 64;
const FRAME_BYTES: usize = 24;
/// Bytes of a stream in the layout of a compressed file.
const LAYOUT_BYTES: usize = 16;
/// Size in bytes of the largest published sidecar that is read, whatever size the server claims for the object: that of
/// 11 million frames. It is in memory three times while it is decoded.
const MAX_PUBLISHED: u64 = 1 << 28;

/// An index, its origin, and the sidecar that stores it.
#[derive(Debug)]
pub struct Found {
    /// The index.
    pub index: Arc<FrameIndex>,
    /// The stamp that ties it to its file.
    pub stamp: Stamp,
    /// Its origin.
    pub state: IndexState,
    /// The sidecar that stores it; `None` if it is in memory only.
    pub sidecar: Option<PathBuf>,
    /// Messages on existing sidecars that were ignored.
    pub messages: Vec<Message>,
}

impl Found {
    /// Returns an index that is not stored in a sidecar, because making it needs no pass over the file.
    pub fn without_sidecar(index: Arc<FrameIndex>, stamp: Stamp, state: IndexState) -> Self {
        Found { index, stamp, state, sidecar: None, messages: Vec::new() }
    }
}

/// Builds and checks the frame index of a format.
pub(crate) trait Finder {
    /// Identifies the format in sidecars.
    const SIDECAR: [u8; 4];
    /// Size in bytes of the shortest frame that the format allows.
    const SHORTEST_FRAME: u64;

    /// Returns whether a loaded index may belong to this file, after checking a few frames.
    ///
    /// # Errors
    /// [`Error::Io`].
    fn agrees(&self, index: &FrameIndex, meter: &mut Meter) -> Result<bool, Error>;

    /// Restores `bytes`, which begin at byte `at` of the file, to their values when the file had only the frames
    /// of `index`: for formats whose header counts the frames.
    fn rewind(&self, _index: &FrameIndex, _at: u64, _bytes: &mut [u8]) {}

    /// Builds the index, or extends `base` if the file has only grown since.
    ///
    /// # Errors
    /// The errors of a file that violates the format.
    fn build(&self, base: Option<FrameIndex>, meter: &mut Meter) -> Result<FrameIndex, Error>;
}

/// Loads, extends or builds the index of an open file, and stores a new one in a sidecar.
///
/// # Errors
/// As [`Finder::build`].
pub(crate) fn find<F: Finder>(
    finder: &F,
    source: &Source,
    options: &OpenOptions,
    meter: &mut Meter,
) -> Result<Found, Error> {
    let stamp = Stamp::of(source, source.stored_size(), meter)?;
    let places = Sidecar::of_source(source, F::SIDECAR, options.cache.as_deref());
    // The version of an object, which is a part of the path, proves that it is the same. A compressed file would have
    // to be uncompressed up to the frames that are compared, and ends with a checksum.
    let is_proved = source.remote().is_some() || source.is_compressed();
    let loaded = match options.sidecar {
        true => places.load_layouts(most_sidecar_bytes(source, F::SHORTEST_FRAME)),
        false => Vec::new(),
    };
    if options.rebuild_index {
        let index = finder.build(None, meter)?;
        // An identical sidecar need not be written again.
        let sidecar = match loaded.first() {
            Some((path, (kept, old, _))) if *kept == stamp && *old == index => Some(path.clone()),
            _ if options.sidecar => places.save_of(source, &stamp, &index),
            _ => None,
        };
        let state = IndexState::Built;
        return Ok(Found { index: index.into(), stamp, state, sidecar, messages: Vec::new() });
    }
    let mut base = None;
    for (path, (kept, index, layout)) in loaded {
        if layout.is_some() != source.is_compressed() {
            continue;
        }
        if kept == stamp && (is_proved || finder.agrees(&index, meter)?) {
            if let Some(layout) = layout {
                source.set_layout(layout);
            }
            let state = IndexState::Loaded;
            let sidecar = Some(path);
            return Ok(Found { index: index.into(), stamp, state, sidecar, messages: Vec::new() });
        }
        let rewind = |at, bytes: &mut [u8]| finder.rewind(&index, at, bytes);
        let grew = kept.size < stamp.size && !source.is_compressed();
        if grew
            && Stamp::with(source, kept.size, rewind, meter)? == kept
            && finder.agrees(&index, meter)?
        {
            base = Some(index);
            break;
        }
    }
    let (mut sidecar, mut messages) = (None, Vec::new());
    if options.sidecar && base.is_none() {
        match published(finder, source, &stamp, meter)? {
            Published::Fits(index) => {
                // It is not kept: those in the cache folder were built of the object itself.
                let (state, messages) = (IndexState::Published, Vec::from_iter(places.message()));
                return Ok(Found { index: index.into(), stamp, state, sidecar: None, messages });
            }
            Published::Unusable(message) => messages.push(message),
            Published::Missing => {}
        }
    }
    let state = if base.is_some() { IndexState::Extended } else { IndexState::Built };
    let index = finder.build(base, meter)?;
    if options.sidecar {
        messages.extend(places.message());
        sidecar = places.save_of(source, &stamp, &index);
    }
    Ok(Found { index: index.into(), stamp, state, sidecar, messages })
}

/// The sidecar that is published beside an object.
enum Published {
    Missing,
    Fits(Box<FrameIndex>),
    /// A message on a sidecar that is not used.
    Unusable(Message),
}

/// Returns the published sidecar of an object with this stamp, after checking a few frames.
///
/// # Errors
/// [`Error::Interrupted`], [`Error::Io`].
fn published<F: Finder>(
    finder: &F,
    source: &Source,
    stamp: &Stamp,
    meter: &mut Meter,
) -> Result<Published, Error> {
    let remote = source.remote().filter(|_| !source.is_compressed());
    let Some(remote) = remote else { return Ok(Published::Missing) };
    let most = most_sidecar_bytes(source, F::SHORTEST_FRAME).min(MAX_PUBLISHED);
    let unusable = |why: &str| {
        Ok(Published::Unusable(Code::IndexNotUsed.message(format!(
            "the index published beside {} is not used: {why}; frames were found from their own headers",
            source.path().display()
        ))))
    };
    match remote.published_index(most, meter) {
        Ok(None) => Ok(Published::Missing),
        Ok(Some(bytes)) => match decode(&bytes, F::SIDECAR) {
            Some((of, index, None)) if of == *stamp && finder.agrees(&index, meter)? => {
                Ok(Published::Fits(Box::new(index)))
            }
            Some(_) => unusable("it is that of other contents"),
            None => unusable("it is damaged, or none of this format"),
        },
        Err(RemoteFault::Failed(why)) => unusable(&why),
        Err(fault) => Err(Error::of_remote(source.path(), fault)),
    }
}

/// Returns the largest size of the sidecar of a file whose frames have at least `shortest` bytes.
fn most_sidecar_bytes(source: &Source, shortest: u64) -> u64 {
    let size = source.stored_size();
    let (content, layout) = match source.is_compressed() {
        true => (max_content(size), 16 * (2 + size)),
        false => (size, 0),
    };
    (content / shortest) * FRAME_BYTES as u64 + layout + HEADER_BYTES as u64 + 8
}

/// The sidecar of a trajectory, with its possible paths.
#[derive(Clone, Debug)]
pub struct Sidecar {
    paths: Paths,
    format: [u8; 4],
}

impl Sidecar {
    /// Returns the sidecar of `trajectory`, which belongs to the user `owner`: beside it, or in `cache`.
    pub fn of(
        trajectory: &Path,
        owner: Option<u32>,
        format: [u8; 4],
        cache: Option<&Path>,
    ) -> Self {
        Sidecar { paths: Paths::of(trajectory, owner, "index", true, cache), format }
    }

    /// Returns the sidecar of an open file, or of an object in remote storage: in `cache`, if the object has a version.
    fn of_source(source: &Source, format: [u8; 4], cache: Option<&Path>) -> Self {
        let paths = match source.remote().map(Remote::object) {
            None => return Sidecar::of(source.path(), source.owner(), format, cache),
            Some(object) => match object.version() {
                Some(version) => Paths::of_object(source.path(), version, "index", cache),
                None => Paths::of_object(source.path(), "", "index", None),
            },
        };
        Sidecar { paths, format }
    }

    /// Reads the valid sidecars of this format, with their stamps. A file is ignored if it is not trusted (module
    /// `place`), or longer than `most` bytes.
    pub fn load(&self, most: u64) -> Vec<(PathBuf, Stamp, FrameIndex)> {
        let plain = |(path, (stamp, index, _))| (path, stamp, index);
        self.load_layouts(most).into_iter().map(plain).collect()
    }

    /// Reads the valid sidecars, as [`Sidecar::load`] does, with the layouts of compressed files.
    fn load_layouts(&self, most: u64) -> Vec<(PathBuf, Kept)> {
        let read = |path: &PathBuf| {
            Some((path.clone(), decode(&self.paths.read(path, most)?, self.format)?))
        };
        self.paths.candidates().iter().filter_map(read).collect()
    }

    /// Writes the index to the first possible path and returns that; `None` if there is none.
    pub fn save(&self, stamp: &Stamp, index: &FrameIndex) -> Option<PathBuf> {
        self.paths.write(&encode(stamp, index, None, self.format))
    }

    /// Writes the index of a source, as [`Sidecar::save`] does, with the layout of a compressed file.
    fn save_of(&self, source: &Source, stamp: &Stamp, index: &FrameIndex) -> Option<PathBuf> {
        let layout = source.layout().map(|(_, layout)| layout);
        self.paths.write(&encode(stamp, index, layout.as_ref(), self.format))
    }

    /// Returns a message on the first existing sidecar that is not trusted.
    fn message(&self) -> Option<Message> {
        let (path, why) = self.paths.untrusted()?;
        Some(Code::IndexNotUsed.message(format!(
            "the kept index {} is ignored, because {why}; frames were found from their own headers",
            path.display()
        )))
    }
}

/// The content of a sidecar.
type Kept = (Stamp, FrameIndex, Option<Layout>);

fn encode(stamp: &Stamp, index: &FrameIndex, layout: Option<&Layout>, format: [u8; 4]) -> Vec<u8> {
    let n = index.n_frames();
    let mut bytes = Vec::with_capacity(HEADER_BYTES + n * FRAME_BYTES + 8);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&format);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    let header =
        [index.n_atoms() as u64, stamp.size, index.end(), stamp.head, stamp.tail, n as u64];
    bytes.extend(header.iter().flat_map(|v| v.to_le_bytes()));
    bytes.extend(index.offsets().iter().flat_map(|v| v.to_le_bytes()));
    bytes.extend(index.times().iter().flat_map(|v| v.to_le_bytes()));
    bytes.extend(index.steps().iter().flat_map(|v| v.to_le_bytes()));
    if let Some(Layout { streams, size, is_cut }) = layout {
        let pairs = std::iter::once((*size, u64::from(*is_cut))).chain(streams.iter().copied());
        bytes.extend(pairs.flat_map(|(a, b)| [a.to_le_bytes(), b.to_le_bytes()]).flatten());
    }
    bytes.extend_from_slice(&xxh3_64(&bytes).to_le_bytes());
    bytes
}

/// Decodes a sidecar; returns `None` if it is invalid. An unreadable sidecar is rebuilt, never reported as an error.
fn decode(bytes: &[u8], format: [u8; 4]) -> Option<Kept> {
    let word = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    let body = bytes.len().checked_sub(8).filter(|&n| n >= HEADER_BYTES)?;
    let fits = bytes.starts_with(MAGIC)
        && bytes[8..12] == format
        && bytes[12..16] == VERSION.to_le_bytes()
        && word(body)? == xxh3_64(&bytes[..body]);
    let n = usize::try_from(word(56)?).ok()?;
    let of_frames = n.checked_mul(FRAME_BYTES)?;
    let of_layout = (body - HEADER_BYTES).checked_sub(of_frames)?;
    if !fits || of_layout % LAYOUT_BYTES != 0 {
        return None;
    }
    let words = |from: usize| {
        bytes[from..from + 8 * n].as_chunks::<8>().0.iter().map(|w| u64::from_le_bytes(*w))
    };
    let at = |k: usize| HEADER_BYTES + 8 * n * k;
    let index = FrameIndex::from_columns(
        usize::try_from(word(16)?).ok()?,
        (words(at(0)).collect(), word(32)?),
        words(at(1)).map(f64::from_bits).collect(),
        words(at(2)).map(|w| w as i64).collect(),
    );
    let stamp = Stamp { size: word(24)?, head: word(40)?, tail: word(48)? };
    let words = bytes[HEADER_BYTES + of_frames..body].as_chunks::<8>().0.as_chunks::<2>().0;
    let mut pairs = words.iter().map(|pair| pair.map(u64::from_le_bytes).into());
    let layout = pairs.next().map(|(size, is_cut): (u64, u64)| Layout {
        size,
        is_cut: is_cut != 0,
        streams: pairs.collect(),
    });
    let size = match &layout {
        Some(layout) if !layout.is_valid(stamp.size) => return None,
        layout => layout.as_ref().map_or(stamp.size, |layout| layout.size),
    };
    let end = index.end();
    let ends = index.offsets().iter().skip(1).chain(std::iter::once(&end));
    let ascending = index.offsets().iter().zip(ends).all(|(begin, end)| begin < end);
    (ascending && n > 0 && end <= size).then_some((stamp, index, layout))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn decode(bytes: &[u8], format: [u8; 4]) -> Option<(Stamp, FrameIndex)> {
        super::decode(bytes, format).map(|(stamp, index, _)| (stamp, index))
    }

    fn encode(stamp: &Stamp, index: &FrameIndex, format: [u8; 4]) -> Vec<u8> {
        super::encode(stamp, index, None, format)
    }

    fn three_frames() -> (Stamp, FrameIndex) {
        let mut index = FrameIndex::new(7);
        for k in 0..3 {
            index.push(100 * k, 100 * (k + 1), k as f64 * 0.5, 10 * k as i64);
        }
        (Stamp { size: 301, head: 1, tail: 2 }, index)
    }

    #[test]
    fn an_index_survives_a_round_trip() {
        let (stamp, index) = three_frames();
        let bytes = encode(&stamp, &index, *b"XTC ");
        assert_eq!(decode(&bytes, *b"XTC "), Some((stamp, index)));
        assert_eq!(decode(&bytes, *b"TRR "), None);
    }

    #[test]
    fn layouts_of_compressed_files_survive_a_round_trip() {
        let (stamp, index) = three_frames();
        let stamp = Stamp { size: 90, ..stamp };
        for streams in [vec![], vec![(40, 150), (80, 250)]] {
            let layout = Layout { streams, size: 310, is_cut: true };
            let bytes = super::encode(&stamp, &index, Some(&layout), *b"XYZ ");
            let kept = super::decode(&bytes, *b"XYZ ");
            assert_eq!(kept, Some((stamp, index.clone(), Some(layout))));
        }
        let wrong: [&[(u64, u64)]; 4] = [&[(0, 9)], &[(9, 311)], &[(90, 9)], &[(9, 9), (10, 9)]];
        for streams in wrong {
            let layout = Layout { streams: streams.to_vec(), size: 310, is_cut: false };
            let bytes = super::encode(&stamp, &index, Some(&layout), *b"XYZ ");
            assert_eq!(super::decode(&bytes, *b"XYZ "), None, "{streams:?}");
        }
    }

    #[test]
    fn a_sidecar_with_a_changed_or_missing_byte_is_invalid() {
        let (stamp, index) = three_frames();
        let bytes = encode(&stamp, &index, *b"XTC ");
        for n in 0..bytes.len() {
            assert_eq!(decode(&bytes[..n], *b"XTC "), None);
            let mut changed = bytes.clone();
            changed[n] ^= 0x10;
            assert_eq!(decode(&changed, *b"XTC "), None, "byte {n}");
        }
    }

    #[test]
    fn objects_with_long_names_have_sidecars_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let (stamp, index) = three_frames();
        let paths: Vec<PathBuf> = ["é", "b"]
            .map(|first| {
                let name = format!("s3://bucket/{}/{}.xtc", first, first.repeat(400));
                let paths = Paths::of_object(Path::new(&name), "1", "index", Some(folder.path()));
                Sidecar { paths, format: *b"XTC " }.save(&stamp, &index).unwrap()
            })
            .into();
        assert_ne!(paths[0], paths[1]);
    }

    #[test]
    fn an_unwritable_folder_falls_back_to_the_cache() {
        let folder = tempfile::tempdir().unwrap();
        let trajectory = folder.path().join("a.xtc");
        fs::write(&trajectory, b"x").unwrap();
        // A folder at the sidecar's path makes the rename fail for every user, root included.
        fs::create_dir(folder.path().join(".a.xtc.trajet-index")).unwrap();
        let cache = folder.path().join("cache");
        let (stamp, index) = three_frames();
        let sidecar = Sidecar::of(&trajectory, None, *b"XTC ", Some(&cache));
        let path = sidecar.save(&stamp, &index).unwrap();
        assert!(path.starts_with(&cache));
        assert_eq!(sidecar.load(10), []);
        assert_eq!(sidecar.load(1000), [(path, stamp, index.clone())]);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3, "no temporary file is left");
        assert_eq!(Sidecar::of(&trajectory, None, *b"XTC ", None).save(&stamp, &index), None);
    }
}
