//! The table of topology formats, and the opening of files by it.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use trajet_formats::FormatOptions;

use crate::error::reserve;
use crate::{Error, Structure, TopologyError, gro, lammps, mmcif, pdb, prmtop, psf, tpr, xyz};

/// A part of a topology that a format can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Positions of the atoms.
    Positions,
    /// A unit cell.
    Cell,
    /// Bonds.
    Bonds,
    /// Chemical elements.
    Elements,
    /// Masses.
    Masses,
    /// Partial charges.
    Charges,
    /// Types of the force field.
    Types,
    /// Chain identifiers.
    Chains,
    /// Names of segments.
    Segments,
    /// Molecules: the groups of atoms that form one each.
    Molecules,
}

/// A row of [`FORMATS`].
#[derive(Clone, Copy, Debug)]
pub struct FormatInfo {
    /// The name in messages.
    pub name: &'static str,
    /// Suffixes of file names, without the dot and in lower case; the first is the usual one.
    pub suffixes: &'static [&'static str],
    /// The parts that a file can hold beside names and numbers of atoms and residues.
    pub holds: &'static [Content],
    /// Whether first bytes are those of the format.
    recognise: fn(&[u8]) -> bool,
    /// Parses a whole file; the flag asks for positions.
    parse: fn(&[u8], bool, &FormatOptions) -> Result<Structure, TopologyError>,
}

impl FormatInfo {
    /// Parses the content of a file. Positions are returned only if asked for.
    ///
    /// # Errors
    /// [`TopologyError`], with the place in the file.
    pub fn parse(
        &self,
        bytes: &[u8],
        with_positions: bool,
        options: &FormatOptions,
    ) -> Result<Structure, TopologyError> {
        if u32::try_from(bytes.len() / 8).is_err() {
            let reason = "the file is larger than 32 GiB; topologies of this size are not read";
            return Err(TopologyError::Unsupported(reason.into()));
        }
        (self.parse)(bytes, with_positions, options)
    }
}

/// All topology formats that are read. First bytes are compared in this order.
pub const FORMATS: [FormatInfo; 9] = [
    FormatInfo {
        name: "PSF",
        suffixes: &["psf"],
        holds: &[
            Content::Bonds,
            Content::Masses,
            Content::Charges,
            Content::Types,
            Content::Segments,
        ],
        recognise: psf::recognise,
        parse: |bytes, with_positions, _| psf::read(bytes, with_positions),
    },
    FormatInfo {
        name: "PRMTOP",
        suffixes: &["prmtop", "parm7", "top"],
        holds: &[
            Content::Bonds,
            Content::Elements,
            Content::Masses,
            Content::Charges,
            Content::Types,
            Content::Chains,
        ],
        recognise: prmtop::recognise,
        parse: |bytes, with_positions, _| prmtop::read(bytes, with_positions),
    },
    FormatInfo {
        name: "PDB",
        suffixes: trajet_formats::Format::Pdb.info().suffixes,
        holds: &[
            Content::Positions,
            Content::Cell,
            Content::Bonds,
            Content::Elements,
            Content::Chains,
            Content::Segments,
        ],
        recognise: pdb::recognise,
        parse: |bytes, with_positions, _| pdb::read(bytes, with_positions),
    },
    FormatInfo {
        name: "GRO",
        suffixes: trajet_formats::Format::Gro.info().suffixes,
        holds: &[Content::Positions, Content::Cell],
        recognise: gro::recognise,
        parse: |bytes, with_positions, _| gro::read(bytes, with_positions),
    },
    FormatInfo {
        name: "TPR",
        suffixes: &["tpr"],
        holds: &[
            Content::Positions,
            Content::Cell,
            Content::Bonds,
            Content::Elements,
            Content::Masses,
            Content::Charges,
            Content::Types,
            Content::Chains,
            Content::Segments,
            Content::Molecules,
        ],
        recognise: tpr::recognise,
        parse: |bytes, with_positions, _| tpr::read(bytes, with_positions),
    },
    FormatInfo {
        name: "mmCIF",
        suffixes: &["cif", "mmcif"],
        holds: &[Content::Positions, Content::Cell, Content::Elements, Content::Chains],
        recognise: mmcif::recognise,
        parse: |bytes, with_positions, _| mmcif::read(bytes, with_positions),
    },
    FormatInfo {
        name: "LAMMPS data",
        suffixes: &["data", "lmp"],
        holds: &[
            Content::Positions,
            Content::Cell,
            Content::Bonds,
            Content::Elements,
            Content::Masses,
            Content::Charges,
            Content::Types,
            Content::Molecules,
        ],
        recognise: lammps::data::recognise,
        parse: |bytes, with_positions, options| {
            lammps::data::read(bytes, with_positions, &options.lammps)
        },
    },
    FormatInfo {
        name: "LAMMPS",
        suffixes: trajet_formats::Format::Lammps.info().suffixes,
        holds: &[
            Content::Positions,
            Content::Cell,
            Content::Elements,
            Content::Masses,
            Content::Charges,
            Content::Types,
            Content::Molecules,
        ],
        recognise: lammps::dump::recognise,
        parse: lammps::dump::read,
    },
    FormatInfo {
        name: "XYZ",
        suffixes: trajet_formats::Format::Xyz.info().suffixes,
        holds: &[
            Content::Positions,
            Content::Cell,
            Content::Elements,
            Content::Masses,
            Content::Charges,
        ],
        recognise: xyz::recognise,
        parse: |bytes, with_positions, options| xyz::read(bytes, with_positions, &options.xyz),
    },
];

/// Suffixes of formats that are not read, but begin as PDB files do: some columns have another meaning.
const LIKE_PDB: [&str; 2] = ["pqr", "pdbqt"];

/// Returns the format of a file by its suffix and first bytes; `None` if it is unknown.
pub fn recognise(path: &Path, start: &[u8]) -> Option<&'static FormatInfo> {
    let suffix = path.extension().and_then(|suffix| suffix.to_str()).map(str::to_ascii_lowercase);
    let of_suffix = FORMATS
        .iter()
        .find(|format| suffix.as_deref().is_some_and(|suffix| format.suffixes.contains(&suffix)));
    let of_bytes = FORMATS.iter().find(|format| (format.recognise)(start));
    match of_suffix {
        // Topologies of GROMACS have this suffix as well; they begin otherwise.
        Some(_) if suffix.as_deref() == Some("top") => of_bytes,
        Some(format) => Some(format),
        None if suffix.is_some_and(|suffix| LIKE_PDB.contains(&&*suffix)) => None,
        None => of_bytes,
    }
}

/// Reads a topology, and positions and unit cell of the first frame if the file has them. Positions are parsed only if
/// asked for. The file is recognised by its suffix, or by its first bytes.
///
/// # Errors
/// [`Error`]: the file cannot be read, is of an unknown format, or is malformed, with line and column.
pub fn open(
    path: &Path,
    with_positions: bool,
    options: &FormatOptions,
) -> Result<Structure, Error> {
    let mut file = FileStart::open(path)?;
    let unsupported = |reason: String| Error::Unsupported { path: path.to_owned(), reason };
    for (magic, program) in [(&b"\x1f\x8b"[..], "gunzip"), (b"BZh", "bunzip2")] {
        if file.bytes.starts_with(magic) {
            return Err(unsupported(format!("the file is compressed; run {program} on it first")));
        }
    }
    let format = recognise(path, &file.bytes).ok_or_else(|| {
        let names = FORMATS.map(|format| format.name).join(", ");
        unsupported(format!("unrecognised topology format; {names} are read"))
    })?;
    file.read_rest(path)?;
    format.parse(&file.bytes, with_positions, options).map_err(|fault| fault.in_file(path))
}

/// Bytes in which a format is recognised. Files of other formats are not read further.
const START: u64 = 1 << 20;

/// The first bytes of a regular file, or all of them.
struct FileStart {
    file: File,
    size: u64,
    bytes: Vec<u8>,
}

impl FileStart {
    /// Opens a file and reads its first bytes.
    fn open(path: &Path) -> Result<Self, Error> {
        let io = |error| Error::Io { path: path.to_owned(), error };
        // Opening a pipe would wait for its writer.
        let metadata = std::fs::metadata(path).map_err(io)?;
        if !metadata.is_file() {
            return Err(Error::NotAFile { path: path.to_owned(), folder: metadata.is_dir() });
        }
        let file = File::open(path).map_err(io)?;
        let size = file.metadata().map_err(io)?.len();
        let mut start = FileStart { file, size, bytes: Vec::new() };
        start.read_to(size.min(START), path)?;
        Ok(start)
    }

    /// Reads the rest of the file.
    fn read_rest(&mut self, path: &Path) -> Result<(), Error> {
        self.read_to(self.size, path)
    }

    /// Reads until there are `end` bytes, or to the end of a file that has become shorter.
    fn read_to(&mut self, end: u64, path: &Path) -> Result<(), Error> {
        let more = end.saturating_sub(self.bytes.len() as u64);
        let n_bytes = usize::try_from(more).unwrap_or(usize::MAX);
        reserve(&mut self.bytes, n_bytes, "the file").map_err(|fault| fault.in_file(path))?;
        let read = (&self.file).take(more).read_to_end(&mut self.bytes);
        read.map(|_| ()).map_err(|error| Error::Io { path: path.to_owned(), error })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_recognised_by_suffix_then_by_first_bytes() {
        let atom =
            b"ATOM      1  N   PRO A   2      14.607 -11.551  25.793  1.00  0.00    -0.062 N ";
        let name = |path: &str| recognise(Path::new(path), atom).map(|format| format.name);
        assert_eq!(name("a.gro"), Some("GRO"));
        assert_eq!(name("a.PDB"), Some("PDB"));
        assert_eq!(name("a"), Some("PDB"));
        assert_eq!(name("a.pdb1"), Some("PDB"));
        // Charges and types stand where PDB files have other columns.
        assert_eq!(name("a.pdbqt"), None);
        assert_eq!(name("a.PQR"), None);
    }
}
