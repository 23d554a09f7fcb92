//! The table of formats: the only list of them. Files of MDTraj are H5MD files here, with another layout.
//!
//! The encoders of the formats are listed in `encoders`, the readers in `open`; the compiler rejects a format that is
//! missing there.

use std::path::Path;

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
}

/// How trajectories of a format are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writing {
    /// This crate encodes whole files.
    Files,
    /// This crate encodes the numbers; the HDF5 library writes the files.
    Numbers,
    /// They are only read; frames are passed on as this format stores them, which holds all of their numbers.
    As(Format),
}

/// A row of [`FORMATS`].
#[derive(Clone, Copy, Debug)]
pub struct FormatInfo {
    /// The format.
    pub format: Format,
    /// The name in messages, reports and manifests.
    pub name: &'static str,
    /// Suffixes of file names, without the dot and in lower case; the first is the usual one.
    pub suffixes: &'static [&'static str],
    /// Magic numbers: its files begin with one of these. Other files are recognised by their suffix if no format has
    /// their magic number, and if this format has [`FormatInfo::is_text`].
    pub magic: &'static [&'static [u8]],
    /// Per-atom data that its frames can hold beside positions.
    pub extras: &'static [Extra],
    /// Whether a file is a sequence of self-contained frames, each with its time and step.
    pub self_contained_frames: bool,
    /// How trajectories are written.
    pub writing: Writing,
    /// Whether files are text, which may begin with anything.
    pub is_text: bool,
    /// Whether files name their atoms, so that they are topologies too.
    pub has_topology: bool,
}

/// All formats, in the order of [`Format`]. First bytes are compared in this order.
pub const FORMATS: [FormatInfo; 7] = [
    FormatInfo {
        format: Format::Xtc,
        name: "XTC",
        suffixes: &["xtc"],
        magic: &[&1995_i32.to_be_bytes(), &2023_i32.to_be_bytes()],
        extras: &[],
        self_contained_frames: true,
        writing: Writing::Files,
        is_text: false,
        has_topology: false,
    },
    FormatInfo {
        format: Format::Trr,
        name: "TRR",
        suffixes: &["trr"],
        magic: &[&1993_i32.to_be_bytes()],
        extras: &[Extra::Velocities, Extra::Forces],
        self_contained_frames: true,
        writing: Writing::Files,
        is_text: false,
        has_topology: false,
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
        extras: &[Extra::Fourth],
        self_contained_frames: false,
        writing: Writing::Files,
        is_text: false,
        has_topology: false,
    },
    FormatInfo {
        format: Format::Ncdf,
        name: "NCDF",
        suffixes: &["nc", "ncdf"],
        // The classic formats, with 32-bit and 64-bit offsets, and with 64-bit counts (CDF-5).
        magic: &[b"CDF\x01", b"CDF\x02", b"CDF\x05"],
        extras: &[Extra::Velocities, Extra::Forces],
        self_contained_frames: false,
        writing: Writing::Files,
        is_text: false,
        has_topology: false,
    },
    FormatInfo {
        format: Format::H5md,
        name: "H5MD",
        suffixes: &["h5md", "h5"],
        magic: &[b"\x89HDF\r\n\x1a\n"],
        extras: &[Extra::Velocities, Extra::Forces],
        self_contained_frames: false,
        writing: Writing::Numbers,
        is_text: false,
        has_topology: false,
    },
    FormatInfo {
        format: Format::Pdb,
        name: "PDB",
        suffixes: &["pdb", "ent"],
        magic: &[
            b"HEADER", b"OBSLTE", b"TITLE ", b"CAVEAT", b"COMPND", b"REMARK", b"CRYST1", b"MODEL ",
            b"ATOM  ", b"HETATM", b"EXPDTA", b"AUTHOR",
        ],
        extras: &[],
        self_contained_frames: false,
        writing: Writing::As(Format::Dcd),
        is_text: true,
        has_topology: true,
    },
    FormatInfo {
        format: Format::Gro,
        name: "GRO",
        suffixes: &["gro"],
        magic: &[],
        extras: &[Extra::Velocities],
        self_contained_frames: false,
        writing: Writing::As(Format::Trr),
        is_text: true,
        has_topology: true,
    },
];

/// Returns the names of all formats, for messages: "XTC, TRR and DCD".
pub fn format_names() -> String {
    let [others @ .., last] = &FORMATS;
    let others: Vec<_> = others.iter().map(|info| info.name).collect();
    format!("{} and {}", others.join(", "), last.name)
}

impl Format {
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

    /// Returns the format that this crate writes to a path with this suffix.
    pub fn of(path: &Path) -> Option<Format> {
        Format::of_suffix(path, |info| info.writing == Writing::Files)
    }

    fn of_suffix(path: &Path, is_asked: impl Fn(&FormatInfo) -> bool) -> Option<Format> {
        let suffix = path.extension()?.to_str()?.to_ascii_lowercase();
        let mut asked = FORMATS.iter().filter(|info| is_asked(info));
        asked.find(|info| info.suffixes.contains(&&suffix[..])).map(|info| info.format)
    }

    /// Returns the format of the file at `path`, which begins with `first`: by its magic number, else by its suffix
    /// if that is the suffix of a text format.
    pub fn of_file(path: &Path, first: &[u8]) -> Option<Format> {
        Format::of_first_bytes(first).or_else(|| Format::of_suffix(path, |info| info.is_text))
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
        self.info().extras.contains(&extra)
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
                assert_eq!(found, (info.writing == Writing::Files).then_some(info.format));
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
        assert_eq!(of("a.xtc", b"Title"), None);
    }
}
