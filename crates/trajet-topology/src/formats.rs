//! The table of topology formats, and the opening of files by it.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use trajet_formats::FormatOptions;
use trajet_formats::compression::{Compression, content_of, max_content};
use trajet_formats::lines::{FrameScan, ScannedLine};

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
    /// Whether a text has the whole first frame, for formats of which only that is read.
    has_frame: Option<fn(&[u8]) -> bool>,
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
        has_frame: None,
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
        has_frame: None,
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
        has_frame: None,
        recognise: pdb::recognise,
        parse: |bytes, with_positions, _| pdb::read(bytes, with_positions),
    },
    FormatInfo {
        name: "GRO",
        suffixes: trajet_formats::Format::Gro.info().suffixes,
        holds: &[Content::Positions, Content::Cell],
        has_frame: None,
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
        has_frame: None,
        recognise: tpr::recognise,
        parse: |bytes, with_positions, _| tpr::read(bytes, with_positions),
    },
    FormatInfo {
        name: "mmCIF",
        suffixes: &["cif", "mmcif"],
        holds: &[Content::Positions, Content::Cell, Content::Elements, Content::Chains],
        has_frame: None,
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
        has_frame: None,
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
        has_frame: Some(has_frame::<trajet_formats::lammps::Scan>),
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
        has_frame: Some(has_frame::<trajet_formats::xyz::Scan>),
        recognise: xyz::recognise,
        parse: |bytes, with_positions, options| xyz::read(bytes, with_positions, &options.xyz),
    },
];

/// Returns whether a text has the whole first frame, or an error in it.
fn has_frame<S: FrameScan>(text: &[u8]) -> bool {
    let (mut scan, mut start) = (S::new(), 0);
    text.split_inclusive(|&byte| byte == b'\n').any(|line| {
        let end = start + line.len() as u64;
        let is_ended = line.ends_with(b"\n");
        let text = line.strip_suffix(b"\n").unwrap_or(line);
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        let line = ScannedLine { start, end, text, is_ended };
        start = end;
        is_ended && !matches!(scan.line(&line), Ok(None))
    })
}

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
    let name = if file.compression.is_some() { Compression::path_inside(path) } else { path };
    let format = recognise(name, &file.bytes);
    let program = match file.compression {
        Some(Compression::Gzip) => Some("gunzip"),
        _ => Some("bunzip2").filter(|_| file.bytes.starts_with(b"BZh")),
    };
    if let Some(program) =
        program.filter(|_| format.is_none_or(|format| format.has_frame.is_none()))
    {
        return Err(unsupported(format!("the file is compressed; run {program} on it first")));
    }
    let format = format.ok_or_else(|| {
        let names = FORMATS.map(|format| format.name).join(", ");
        unsupported(format!("unrecognised topology format; {names} are read"))
    })?;
    let in_pieces = file.compression.is_some() || format.has_frame.is_some();
    while !format.has_frame.is_some_and(|has_frame| has_frame(&file.bytes)) {
        let n = file.bytes.len();
        file.read_to(if in_pieces { file.size.min(2 * n as u64) } else { file.size }, path)?;
        if file.bytes.len() == n {
            break;
        }
    }
    if file.compression.is_some() && file.bytes.len() as u64 == file.size {
        let reason = "its content is larger than 1 GiB and than 100 times the file";
        return Err(unsupported(format!("{reason}: uncompress it yourself if that is right")));
    }
    format.parse(&file.bytes, with_positions, options).map_err(|fault| fault.in_file(path))
}

/// Bytes in which a format is recognised. Files of other formats are not read further.
const START: u64 = 1 << 20;

/// The first bytes of the content of a regular file, or all of them.
struct FileStart {
    content: Box<dyn Read>,
    compression: Option<Compression>,
    /// The size of the content; of a compressed file the largest that is read.
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
        let (content, compression) = content_of(file).map_err(io)?;
        let size = if compression.is_some() { max_content(size) } else { size };
        let mut start = FileStart { content, compression, size, bytes: Vec::new() };
        start.read_to(size.min(START), path)?;
        Ok(start)
    }

    /// Reads until there are `end` bytes, or to the end of the content.
    fn read_to(&mut self, end: u64, path: &Path) -> Result<(), Error> {
        let more = end.saturating_sub(self.bytes.len() as u64);
        let n_bytes = usize::try_from(more).unwrap_or(usize::MAX);
        reserve(&mut self.bytes, n_bytes, "the file").map_err(|fault| fault.in_file(path))?;
        let read = (&mut self.content).take(more).read_to_end(&mut self.bytes);
        read.map(|_| ()).map_err(|error| match error.kind() {
            ErrorKind::InvalidData | ErrorKind::UnexpectedEof if self.compression.is_some() => {
                let reason = format!("it cannot be uncompressed: {error}");
                TopologyError::MalformedBinary(self.bytes.len() as u64, reason).in_file(path)
            }
            _ => Error::Io { path: path.to_owned(), error },
        })
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
