//! The sidecar of a topology that takes long to parse: its columns, as they were read.
//!
//! It follows the rules of an index's sidecar (module [`crate::sidecar`]): stored beside the file as
//! `.NAME.trajet-topology`, or in the user's cache folder; trusted only if it is a regular file of this user, of root
//! or of the owner of the topology; written to a temporary file and renamed; rebuilt if it does not match, never an
//! error. Its stamp is the size and the digest of the whole file: names and charges in the middle of a file may change
//! while head and tail stay the same.
//!
//! Layout, little endian: magic (8 bytes), version (u32), zero (u32), size of the file (u64), XXH3 digest of the file
//! (u64); the program that parsed it, the topology, the cell and the positions (`postcard`); the XXH3 digest of all
//! preceding bytes.

use std::fs::File;
use std::hash::Hasher;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use trajet_formats::digest::{Xxh3, xxh3_64};
use trajet_topology::{Structure, Topology};

use crate::sidecar::paths::Paths;

const MAGIC: &[u8; 8] = b"trajettp";
const VERSION: u32 = 5;
const HEADER_BYTES: usize = 32;
/// Larger files are not digested: they are trajectories as well.
const MAX_FILE_BYTES: u64 = 1 << 30;
/// The most bytes of a sidecar, for each byte of the file, which may be compressed, and for itself.
const MAX_PER_BYTE: u64 = 64;
const MAX_ANYHOW: u64 = 1 << 16;
/// Bytes that are digested at a time.
const PIECE: usize = 1 << 20;

/// Size and digest that identify the content of a topology file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStamp {
    size: u64,
    digest: u64,
}

impl FileStamp {
    /// Returns the stamp of a file; `None` if it cannot be read, is no regular file, or is larger than 1 GiB.
    pub fn of(path: &Path) -> Option<Self> {
        let is_small_file =
            |found: &std::fs::Metadata| found.is_file() && found.len() <= MAX_FILE_BYTES;
        // Opening a pipe would wait for its writer.
        std::fs::metadata(path).ok().filter(is_small_file)?;
        let mut file = File::open(path).ok()?.take(MAX_FILE_BYTES + 1);
        let (mut digest, mut size, mut piece) = (Xxh3::new(), 0, vec![0; PIECE]);
        loop {
            match file.read(&mut piece) {
                Ok(0) => break,
                Ok(n) => {
                    digest.write(&piece[..n]);
                    size += n as u64;
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
        }
        (size <= MAX_FILE_BYTES).then(|| FileStamp { size, digest: digest.finish() })
    }
}

/// A topology as another program parsed it.
#[derive(Serialize, Deserialize)]
struct Parsed<T, P> {
    /// Name and version of the program.
    by: String,
    topology: T,
    cell: Option<[f64; 6]>,
    positions: P,
}

/// The sidecar of a topology file.
#[derive(Clone, Debug)]
pub struct TopologySidecar {
    paths: Paths,
    /// The stamp of the file when this was made.
    stamp: FileStamp,
    file: PathBuf,
    by: String,
}

impl TopologySidecar {
    /// Returns the sidecar of the topology `file` as the program `by` parses it: beside the file, unless `beside` is
    /// false, or in `cache`. Returns `None` if the file cannot have one ([`FileStamp::of`]).
    pub fn of(file: &Path, by: &str, beside: bool, cache: Option<&Path>) -> Option<Self> {
        let paths = Paths::of(file, owner_of(file), "topology", beside, cache);
        let stamp = FileStamp::of(file)?;
        Some(TopologySidecar { paths, stamp, file: file.to_owned(), by: by.to_owned() })
    }

    /// Returns the topology of the first sidecar that is trusted, is that of the file, was made by the same program,
    /// and is consistent.
    pub fn load(&self) -> Option<Structure> {
        let most = self.most_bytes();
        self.paths
            .candidates()
            .iter()
            .find_map(|path| decode(&self.paths.read(path, most)?, &self.stamp, &self.by))
    }

    /// Writes the topology to the first possible path and returns that. Returns `None` if there is none, if the file
    /// has changed since this was made, or if the sidecar would be too large.
    pub fn save(&self, structure: &Structure) -> Option<PathBuf> {
        if FileStamp::of(&self.file) != Some(self.stamp) {
            return None;
        }
        let bytes = encode(structure, &self.stamp, &self.by)?;
        if bytes.len() as u64 > self.most_bytes() {
            return None;
        }
        self.paths.write(&bytes)
    }

    fn most_bytes(&self) -> u64 {
        MAX_PER_BYTE * self.stamp.size + MAX_ANYHOW
    }
}

#[cfg(unix)]
fn owner_of(file: &Path) -> Option<u32> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(file).ok().map(|found| found.uid())
}

#[cfg(not(unix))]
fn owner_of(_: &Path) -> Option<u32> {
    None
}

fn encode(structure: &Structure, stamp: &FileStamp, by: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(HEADER_BYTES);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&0u32.to_le_bytes());
    bytes.extend_from_slice(&stamp.size.to_le_bytes());
    bytes.extend_from_slice(&stamp.digest.to_le_bytes());
    let parsed = Parsed {
        by: by.to_owned(),
        topology: &structure.topology,
        cell: structure.cell,
        positions: &structure.positions,
    };
    let mut bytes = postcard::to_extend(&parsed, bytes).ok()?;
    bytes.extend_from_slice(&xxh3_64(&bytes).to_le_bytes());
    Some(bytes)
}

/// Decodes a sidecar; returns `None` if it is damaged, or not that of this file and program.
fn decode(bytes: &[u8], stamp: &FileStamp, by: &str) -> Option<Structure> {
    let (body, digest) = bytes.split_last_chunk::<8>()?;
    let (header, payload) = body.split_at_checked(HEADER_BYTES)?;
    let word = |at: usize| Some(u64::from_le_bytes(header.get(at..at + 8)?.try_into().ok()?));
    let fits = header.starts_with(MAGIC)
        && word(8)? == u64::from(VERSION)
        && word(16)? == stamp.size
        && word(24)? == stamp.digest
        && xxh3_64(body) == u64::from_le_bytes(*digest);
    if !fits {
        return None;
    }
    type Owned = Parsed<Topology, Option<Vec<[f32; 3]>>>;
    let (parsed, rest) = postcard::take_from_bytes::<Owned>(payload).ok()?;
    let n_atoms = parsed.topology.n_atoms();
    let fits = rest.is_empty()
        && parsed.by == by
        && parsed.topology.inconsistency().is_none()
        && parsed.positions.as_ref().is_none_or(|positions| positions.len() == n_atoms);
    fits.then_some(Structure {
        topology: parsed.topology,
        positions: parsed.positions,
        cell: parsed.cell,
        cell_vectors: None,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use trajet_topology::FORMATS;

    const GRO: &str = "water\n3\n    1SOL     OW    1   0.126   1.624   1.679\n    1SOL    HW1    2   0.190   1.661   1.747\n    1SOL    HW2    3   0.177   1.568   1.613\n   1.82060   1.82060   1.82060\n";

    fn water() -> Structure {
        let gro = FORMATS.iter().find(|format| format.name == "GRO").unwrap();
        let mut structure =
            gro.parse(GRO.as_bytes(), true, &trajet_formats::FormatOptions::default()).unwrap();
        structure.cell_vectors = None;
        structure.topology.atoms.charges = Some(vec![-0.8, 0.4, f64::NAN]);
        structure
    }

    fn stamp() -> FileStamp {
        FileStamp { size: 17, digest: 3 }
    }

    /// NaN differs from itself.
    fn text(structure: Option<&Structure>) -> String {
        format!("{structure:?}")
    }

    #[test]
    fn a_topology_survives_a_round_trip() {
        let bytes = encode(&water(), &stamp(), "a 1").unwrap();
        assert_eq!(text(decode(&bytes, &stamp(), "a 1").as_ref()), text(Some(&water())));
        assert!(decode(&bytes, &stamp(), "a 2").is_none());
        assert!(decode(&bytes, &FileStamp { size: 18, ..stamp() }, "a 1").is_none());
        assert!(decode(&bytes, &FileStamp { digest: 4, ..stamp() }, "a 1").is_none());
    }

    #[test]
    fn a_sidecar_with_a_changed_or_missing_byte_is_invalid() {
        let bytes = encode(&water(), &stamp(), "a 1").unwrap();
        for n in 0..bytes.len() {
            assert!(decode(&bytes[..n], &stamp(), "a 1").is_none());
            let mut changed = bytes.clone();
            changed[n] ^= 0x10;
            assert!(decode(&changed, &stamp(), "a 1").is_none(), "byte {n}");
        }
    }

    #[test]
    fn a_forged_digest_gives_a_consistent_topology_or_none() {
        let bytes = encode(&water(), &stamp(), "a 1").unwrap();
        let (mut taken, mut refused) = (0, 0);
        for n in HEADER_BYTES..bytes.len() - 8 {
            for flipped in [0x01, 0x02, 0x10, 0x80, 0xff] {
                let mut forged = bytes[..bytes.len() - 8].to_vec();
                forged[n] ^= flipped;
                let digest = xxh3_64(&forged);
                forged.extend_from_slice(&digest.to_le_bytes());
                match decode(&forged, &stamp(), "a 1") {
                    Some(found) => {
                        taken += 1;
                        assert_eq!(found.topology.inconsistency(), None);
                        assert!(
                            found.positions.is_none_or(|p| p.len() == found.topology.n_atoms())
                        );
                    }
                    None => refused += 1,
                }
            }
        }
        // Numbers have no wrong bits; lengths, codes and indices have.
        assert!(taken > 100 && refused > 100, "{taken} {refused}");
    }

    #[test]
    fn a_sidecar_is_found_only_while_its_file_is_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let (file, cache) = (folder.path().join("a.crd"), folder.path().join("cache"));
        fs::write(&file, b"some bytes").unwrap();
        let sidecar = || TopologySidecar::of(&file, "a 1", true, Some(&cache)).unwrap();
        assert!(sidecar().load().is_none());
        let early = sidecar();
        let path = sidecar().save(&water()).unwrap();
        assert_eq!(path.file_name().unwrap(), ".a.crd.trajet-topology");
        assert_eq!(text(sidecar().load().as_ref()), text(Some(&water())));
        // The same size, another byte in the middle.
        fs::write(&file, b"some_bytes").unwrap();
        assert!(sidecar().load().is_none());
        assert_eq!(early.save(&water()), None, "the file changed while it was parsed");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "no temporary file is left");
        let cached = TopologySidecar::of(&file, "a 1", false, Some(&cache)).unwrap();
        assert!(cached.save(&water()).unwrap().starts_with(&cache));
        assert!(cached.load().is_some());
    }

    #[test]
    fn only_regular_files_have_sidecars() {
        let folder = tempfile::tempdir().unwrap();
        assert!(FileStamp::of(folder.path()).is_none());
        assert!(FileStamp::of(&folder.path().join("nothing")).is_none());
    }
}
