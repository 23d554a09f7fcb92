//! The table of formats: the only list of them. Files of MDTraj are H5MD files here, with another layout.
//!
//! The encoders of the formats are listed in `encoders`, the readers in `open`; the compiler rejects a format that is
//! missing there.

use std::path::Path;

use serde::Serialize;

use crate::frame::Extra;

/// A trajectory format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The compressed format of GROMACS.
    Xtc,
    /// The full-precision format of GROMACS.
    Trr,
    /// The format of CHARMM and NAMD.
    Dcd,
    /// The NetCDF format of Amber.
    Ncdf,
    /// H5MD. This crate encodes the numbers only; the HDF5 library writes the file.
    H5md,
    /// PDB, of one model or several.
    Pdb,
    /// The text format of GROMACS, of one frame or several.
    Gro,
    /// Restart files of Amber as text, of one frame.
    Rst7,
    /// Dumps of LAMMPS as text.
    Lammps,
    /// XYZ, plain and extended, of one frame or several.
    Xyz,
}

/// The code that writes trajectories of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writing {
    /// This crate encodes whole files.
    Files,
    /// This crate encodes whole files of text; frames are passed on as another format stores them, which holds all of
    /// their numbers.
    Text(Format),
    /// This crate encodes the numbers; the HDF5 library writes the files.
    Numbers,
    /// They are only read; frames are passed on as this format stores them, which holds all of their numbers.
    As(Format),
}

/// Whether all frames of a file have as many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FrameSizes {
    /// All frames have the same size.
    Equal,
    /// Frames differ, by their fields or by their values.
    Varying,
}

/// The times that frames can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Times {
    /// Each frame states its own.
    Any,
    /// The file states a time step, in single precision and a unit of its own.
    Even,
}

/// The means by which the frames of a file are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FramesFrom {
    /// Each frame begins with a header, with its size, time and step.
    Headers,
    /// By arithmetic from the header of the file, which counts frames.
    Arithmetic,
    /// By a search of the whole file.
    Scan,
    /// The HDF5 library tells where the numbers stand.
    Library,
}

/// An option of writing that not all formats have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WriteOption {
    /// Positions are integers, in steps of a precision.
    Precision,
    /// Numbers are single or double precision.
    Double,
    /// The header declares whether frames have cells.
    WithoutCells,
    /// Chunks are compressed.
    Compression,
    /// Items that name the time and the units may be left out.
    WithoutTime,
    /// Each frame has types of its atoms.
    Types,
    /// Each frame has species of its atoms.
    Species,
}

/// A row of [`FORMATS`].
#[derive(Clone, Copy, Debug)]
pub struct FormatInfo {
    /// The format.
    pub format: Format,
    /// The name in messages, reports and manifests.
    pub name: &'static str,
    /// Names of further layouts of its files, which are copied to the usual one.
    pub other_layouts: &'static [&'static str],
    /// Suffixes of file names, without the dot and in lower case; the first is the usual one.
    pub suffixes: &'static [&'static str],
    /// Magic numbers: its files begin with one of these. Other files are recognised by their suffix if no format has
    /// their magic number, and if this format has [`FormatInfo::is_text`].
    pub magic: &'static [&'static [u8]],
    /// Per-atom data that its frames can hold beside positions.
    pub fields: &'static [Extra],
    /// Whether the header declares the fields of all frames, which are those of the first frame.
    pub declares_fields: bool,
    /// Whether frames hold box vectors; else lengths and angles, which cannot tell how a box is rotated.
    pub holds_vectors: bool,
    /// Whether frames state in which directions they are periodic.
    pub holds_boundaries: bool,
    /// Whether frames state the corner at which their cell begins.
    pub holds_origin: bool,
    /// Whether frames hold positions in Å, in single precision.
    pub holds_angstroms: bool,
    /// Whether all frames of a file have as many bytes.
    pub frame_sizes: FrameSizes,
    /// The times that frames can have.
    pub times: Times,
    /// The means by which the frames of a file are found.
    pub frames_from: FramesFrom,
    /// Whether a copy in the same format holds everything on which messages on a file are based.
    pub own_copy_is_complete: bool,
    /// Options of writing that not all formats have.
    pub write_options: &'static [WriteOption],
    /// The code that writes trajectories.
    pub writing: Writing,
    /// Whether files are text, which may begin with anything.
    pub is_text: bool,
    /// Whether files name their atoms, so that they are topologies too.
    pub has_topology: bool,
}

/// Number of formats.
pub const N_FORMATS: usize = 10;

/// Default values of the rows of [`FORMATS`].
const PLAIN: FormatInfo = FormatInfo {
    format: Format::Xtc,
    name: "",
    other_layouts: &[],
    suffixes: &[],
    magic: &[],
    fields: &[],
    declares_fields: false,
    holds_vectors: false,
    holds_boundaries: false,
    holds_origin: false,
    holds_angstroms: false,
    frame_sizes: FrameSizes::Varying,
    times: Times::Any,
    frames_from: FramesFrom::Headers,
    own_copy_is_complete: false,
    write_options: &[],
    writing: Writing::Files,
    is_text: false,
    has_topology: false,
};

/// All formats, in the order of [`Format`]. First bytes are compared in this order.
pub const FORMATS: [FormatInfo; N_FORMATS] = [
    FormatInfo {
        format: Format::Xtc,
        name: "XTC",
        suffixes: &["xtc"],
        magic: &[&1995_i32.to_be_bytes(), &2023_i32.to_be_bytes()],
        holds_vectors: true,
        frames_from: FramesFrom::Headers,
        write_options: &[WriteOption::Precision],
        ..PLAIN
    },
    FormatInfo {
        format: Format::Trr,
        name: "TRR",
        suffixes: &["trr"],
        magic: &[&1993_i32.to_be_bytes()],
        fields: &[Extra::Velocities, Extra::Forces],
        holds_vectors: true,
        frames_from: FramesFrom::Headers,
        write_options: &[WriteOption::Double],
        ..PLAIN
    },
    FormatInfo {
        format: Format::Dcd,
        name: "DCD",
        suffixes: &["dcd"],
        // The marker of a record of 84 bytes, four or eight bytes wide, in both byte orders.
        magic: &[
            b"\x54\0\0\0CORD",
            b"\0\0\0\x54CORD",
            b"\x54\0\0\0\0\0\0\0CORD",
            b"\0\0\0\0\0\0\0\x54CORD",
        ],
        fields: &[Extra::Fourth],
        holds_angstroms: true,
        frame_sizes: FrameSizes::Equal,
        times: Times::Even,
        frames_from: FramesFrom::Arithmetic,
        ..PLAIN
    },
    FormatInfo {
        format: Format::Ncdf,
        name: "NCDF",
        suffixes: &["nc", "ncdf"],
        // The classic formats, with 32-bit and 64-bit offsets, and with 64-bit counts (CDF-5).
        magic: &[b"CDF\x01", b"CDF\x02", b"CDF\x05"],
        fields: &[Extra::Velocities, Extra::Forces],
        declares_fields: true,
        holds_angstroms: true,
        frame_sizes: FrameSizes::Equal,
        frames_from: FramesFrom::Arithmetic,
        own_copy_is_complete: true,
        write_options: &[WriteOption::WithoutCells],
        ..PLAIN
    },
    FormatInfo {
        format: Format::H5md,
        name: "H5MD",
        other_layouts: &["MDTRAJ"],
        suffixes: &["h5md", "h5"],
        magic: &[b"\x89HDF\r\n\x1a\n"],
        fields: &[Extra::Velocities, Extra::Forces],
        holds_vectors: true,
        holds_boundaries: true,
        frames_from: FramesFrom::Library,
        own_copy_is_complete: true,
        write_options: &[WriteOption::Compression],
        writing: Writing::Numbers,
        ..PLAIN
    },
    FormatInfo {
        format: Format::Pdb,
        name: "PDB",
        suffixes: &["pdb", "ent"],
        magic: &[
            b"HEADER", b"OBSLTE", b"TITLE ", b"CAVEAT", b"COMPND", b"REMARK", b"CRYST1", b"MODEL ",
            b"ATOM  ", b"HETATM", b"EXPDTA", b"AUTHOR",
        ],
        holds_angstroms: true,
        frames_from: FramesFrom::Scan,
        writing: Writing::As(Format::Dcd),
        is_text: true,
        has_topology: true,
        ..PLAIN
    },
    FormatInfo {
        format: Format::Gro,
        name: "GRO",
        suffixes: &["gro"],
        fields: &[Extra::Velocities],
        holds_vectors: true,
        frames_from: FramesFrom::Scan,
        writing: Writing::As(Format::Trr),
        is_text: true,
        has_topology: true,
        ..PLAIN
    },
    FormatInfo {
        format: Format::Rst7,
        name: "RST7",
        suffixes: &["rst7", "inpcrd", "restrt", "rst"],
        fields: &[Extra::Velocities],
        holds_angstroms: true,
        frames_from: FramesFrom::Scan,
        writing: Writing::As(Format::Ncdf),
        is_text: true,
        ..PLAIN
    },
    FormatInfo {
        format: Format::Lammps,
        name: "LAMMPS",
        suffixes: &["lammpstrj", "lammpsdump", "dump"],
        magic: &[b"ITEM: "],
        fields: &[Extra::Velocities, Extra::Forces],
        holds_vectors: true,
        holds_boundaries: true,
        holds_origin: true,
        frames_from: FramesFrom::Scan,
        write_options: &[WriteOption::Types, WriteOption::WithoutTime],
        writing: Writing::Text(Format::H5md),
        is_text: true,
        has_topology: true,
        ..PLAIN
    },
    FormatInfo {
        format: Format::Xyz,
        name: "XYZ",
        suffixes: &["xyz", "extxyz"],
        fields: &[Extra::Velocities, Extra::Forces],
        holds_vectors: true,
        holds_boundaries: true,
        holds_origin: true,
        frames_from: FramesFrom::Scan,
        write_options: &[WriteOption::Species],
        writing: Writing::Text(Format::H5md),
        is_text: true,
        has_topology: true,
        ..PLAIN
    },
];

/// Returns the names of all formats, for messages: "XTC, TRR and DCD".
pub fn format_names() -> String {
    let [others @ .., last] = &FORMATS;
    let others: Vec<_> = others.iter().map(|info| info.name).collect();
    format!("{} and {}", others.join(", "), last.name)
}

impl Format {
    /// The format in which mounts show positions and cells of any data set: all viewers read it.
    pub const DECODED: Format = Format::Dcd;

    /// Returns the format's row of the table.
    pub const fn info(self) -> &'static FormatInfo {
        &FORMATS[self as usize]
    }

    /// Returns the name in messages, reports and manifests.
    pub const fn name(self) -> &'static str {
        self.info().name
    }

    /// Returns the usual suffix of file names, without the dot.
    pub const fn suffix(self) -> &'static str {
        self.info().suffixes[0]
    }

    /// Returns the format with this name.
    pub fn named(name: &str) -> Option<Format> {
        FORMATS.iter().find(|info| info.name == name).map(|info| info.format)
    }

    /// Returns the format whose files have this name for their layout.
    pub fn of_layout(name: &str) -> Option<Format> {
        let is_it = |info: &&FormatInfo| info.name == name || info.other_layouts.contains(&name);
        FORMATS.iter().find(is_it).map(|info| info.format)
    }

    /// Returns the format whose files the HDF5 library writes.
    pub const fn of_library() -> Format {
        let mut k = 0;
        while !FORMATS[k].format.is_of_library() {
            k += 1;
        }
        FORMATS[k].format
    }

    /// Returns whether the HDF5 library writes the files of this format.
    pub const fn is_of_library(self) -> bool {
        matches!(self.info().writing, Writing::Numbers)
    }

    /// Returns whether files of this format can be written with an option.
    pub fn has_option(self, option: WriteOption) -> bool {
        self.info().write_options.contains(&option)
    }

    /// Returns whether the header of a file counts its frames, which all have the same size.
    pub const fn counts_frames(self) -> bool {
        matches!(self.info().frames_from, FramesFrom::Arithmetic)
    }

    /// Returns the format that this crate writes to a path with this suffix.
    pub fn of(path: &Path) -> Option<Format> {
        Format::of_suffix(path, |info| matches!(info.writing, Writing::Files | Writing::Text(_)))
    }

    fn of_suffix(path: &Path, is_asked: impl Fn(&FormatInfo) -> bool) -> Option<Format> {
        let suffix = path.extension()?.to_str()?.to_ascii_lowercase();
        let mut asked = FORMATS.iter().filter(|info| is_asked(info));
        asked.find(|info| info.suffixes.contains(&&suffix[..])).map(|info| info.format)
    }

    /// Returns the format of the file at `path`, which begins with `first`: by its magic number, else by its suffix
    /// if that is the suffix of a text format. Titles of text formats without magic numbers may begin with those of
    /// other text formats: there the suffix comes first. A name without a suffix counts as one (`restrt` of Amber).
    pub fn of_file(path: &Path, first: &[u8]) -> Option<Format> {
        let name = if path.extension().is_none() { path.file_name() } else { None };
        let dotted = name.map(|name| Path::new("a").with_extension(name));
        let by_suffix = Format::of_suffix(dotted.as_deref().unwrap_or(path), |info| info.is_text);
        let titled = by_suffix.filter(|format| format.info().magic.is_empty());
        match Format::of_first_bytes(first) {
            Some(other) if titled.is_some() && other.info().is_text => titled,
            found => found.or(by_suffix),
        }
    }

    /// Returns the format of a file that begins with `first`.
    pub fn of_first_bytes(first: &[u8]) -> Option<Format> {
        FORMATS.iter().map(|info| info.format).find(|format| format.may_begin_with(first))
    }

    /// Returns whether a file of this format may begin with `first`, which may be shorter than the magic number:
    /// a file that was cut there is recognised by the bytes that are left.
    pub fn may_begin_with(self, first: &[u8]) -> bool {
        self.info().magic.iter().any(|magic| {
            let n = first.len().min(magic.len());
            magic[..n] == first[..n]
        })
    }

    /// Returns whether files of this format can store this field.
    pub fn can_keep(self, extra: Extra) -> bool {
        self.info().fields.contains(&extra)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xtc;

    #[test]
    fn rows_are_in_the_order_of_the_enum() {
        for (k, info) in FORMATS.iter().enumerate() {
            assert_eq!(info.format as usize, k);
            assert_eq!(Format::named(info.name), Some(info.format));
            for magic in info.magic {
                assert_eq!(Format::of_first_bytes(magic), Some(info.format));
            }
            for suffix in info.suffixes {
                let found = Format::of(Path::new(&format!("a.{suffix}")));
                assert_eq!(
                    found,
                    matches!(info.writing, Writing::Files | Writing::Text(_))
                        .then_some(info.format)
                );
            }
        }
        let magics = [xtc::MAGIC, xtc::MAGIC_LARGE].map(i32::to_be_bytes);
        assert_eq!(Format::Xtc.info().magic, magics.each_ref().map(|magic| &magic[..]));
    }

    #[test]
    fn a_truncated_magic_number_is_recognised() {
        assert_eq!(Format::of_first_bytes(b"CD"), Some(Format::Ncdf));
        assert_eq!(Format::of_first_bytes(b"\0\0\x07\xc9"), Some(Format::Trr));
        assert_eq!(Format::of_first_bytes(b"BZh9"), None);
    }

    #[test]
    fn text_files_without_a_magic_number_are_recognised_by_their_suffix() {
        let of = |path: &str, first: &[u8]| Format::of_file(Path::new(path), first);
        assert_eq!(of("a.gro", b"Title"), Some(Format::Gro));
        assert_eq!(of("a.PDB", b"\nREMARK"), Some(Format::Pdb));
        assert_eq!(of("a.txt", b"CRYST1"), Some(Format::Pdb));
        assert_eq!(of("a.gro", b"CDF\x01"), Some(Format::Ncdf));
        assert_eq!(of("a.gro", b"TITLE of a run"), Some(Format::Gro));
        assert_eq!(of("a.rst7", b"REMARK on a run"), Some(Format::Rst7));
        assert_eq!(of("run/restrt", b"Title"), Some(Format::Rst7));
        assert_eq!(of("run.1/inpcrd", b"CDF\x01"), Some(Format::Ncdf));
        assert_eq!(of("run.1/final", b"Title"), None);
        assert_eq!(of("a.xtc", b"Title"), None);
    }
}
