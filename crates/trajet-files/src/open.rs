//! Chooses the reader of a file by its first bytes, or by the suffix of a text file. [`ROWS`] has one row for each
//! format; no other module knows the readers of all formats.

use std::path::Path;
use std::sync::Arc;

use trajet_formats::compression::Compression;
use trajet_formats::gro::Gro;
use trajet_formats::lammps::Lammps;
use trajet_formats::lines::LineFormat;
use trajet_formats::pdb::Pdb;
use trajet_formats::rst7::Rst7;
use trajet_formats::xyz::{self, Xyz};
use trajet_formats::{Format, N_FORMATS};

use crate::lines::ByLines;
use crate::opener::{self, KnownFile, Opened, Opener};
use crate::ordered::{ByNumber, Ordered};
use crate::reader::Reader;
use crate::source::{FileIdentity, Source};
use crate::{
    Error, OpenOptions, Opening, ParallelFor, Serial, dcd, h5md, ncdf, ordered, trr, whole_frames,
    xtc,
};

/// The reader of a format whose frames are lines of text.
type Text<F> = whole_frames::Reader<F, ByLines<F>>;

/// Opens a file of a known format.
type Open = fn(Source, &OpenOptions, &dyn ParallelFor, Opening) -> Opened;

/// The functions that open files of a format.
struct Row {
    format: Format,
    /// Opens a file; `None` for formats that only [`crate::HdfLayouts`] opens.
    open: Option<Open>,
    /// Opens a file that another process has opened and described.
    reopen: fn(KnownFile<'_>, &OpenOptions) -> Opened,
}

/// The readers of all formats, in the order of [`Format`].
const ROWS: [Row; N_FORMATS] = [
    Row {
        format: Format::Xtc,
        open: Some(|source, options, threads, opening| {
            Ok(Arc::new(xtc::Reader::open(source, options, threads, opening)?))
        }),
        reopen: |file, options| Ok(Arc::new(xtc::Reader::known(file.with_its_index(options)?))),
    },
    Row {
        format: Format::Trr,
        open: Some(|source, options, threads, opening| {
            Ok(Arc::new(trr::Reader::open(source, options, threads, opening)?))
        }),
        reopen: |file, options| Ok(Arc::new(trr::Reader::known(file.with_its_index(options)?))),
    },
    Row {
        format: Format::Dcd,
        open: Some(|source, options, _, opening| {
            Ok(Arc::new(dcd::Reader::open(source, options, opening)?))
        }),
        reopen: |file, options| Ok(Arc::new(dcd::Reader::known(file, options)?)),
    },
    Row {
        format: Format::Ncdf,
        open: Some(|source, options, threads, opening| {
            by_number(ncdf::Reader::open(source, options, threads, opening)?, true)
        }),
        reopen: |file, options| {
            let reader = match file.index {
                Some(_) => ncdf::Reader::known(file.with_its_index(options)?)?,
                None => ncdf::Reader::open(file.source, options, &Serial, Opening::default())?,
            };
            by_number(reader, false)
        },
    },
    Row {
        format: Format::H5md,
        open: None,
        reopen: |file, options| {
            let description = Arc::new(file.decoded()?);
            let opening = Opening::default();
            Ok(Arc::new(h5md::Reader::open(file.source, &description, options, opening)?))
        },
    },
    Row { format: Format::Pdb, open: Some(open_text::<Pdb>), reopen: reopen_text::<Pdb> },
    Row { format: Format::Gro, open: Some(open_text::<Gro>), reopen: reopen_text::<Gro> },
    Row { format: Format::Rst7, open: Some(open_text::<Rst7>), reopen: reopen_text::<Rst7> },
    Row { format: Format::Lammps, open: Some(open_text::<Lammps>), reopen: reopen_text::<Lammps> },
    Row {
        format: Format::Xyz,
        open: Some(|source, options, threads, opening| {
            check_positions(source.path(), &opening.first)?;
            open_text::<Xyz>(source, options, threads, opening)
        }),
        reopen: reopen_text::<Xyz>,
    },
];

const _: () = {
    let mut k = 0;
    while k < N_FORMATS {
        assert!(ROWS[k].format as usize == k, "rows in the order of the formats");
        k += 1;
    }
};

/// Opens a file whose frames are lines of text.
fn open_text<F: LineFormat>(
    source: Source,
    options: &OpenOptions,
    threads: &dyn ParallelFor,
    opening: Opening,
) -> Opened {
    Ok(Arc::new(Text::<F>::open(source, options, threads, opening)?))
}

/// Checks that an XYZ file has positions, given its first bytes.
fn check_positions(path: &Path, first: &[u8]) -> Result<(), Error> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    match xyz::vectors_of_cp2k(&name, first) {
        None => Ok(()),
        Some(vectors) => Err(Error::Unsupported {
            path: path.to_owned(),
            what: format!(
                "its name is that of a file of {vectors}, as CP2K writes them, not of positions"
            ),
            remedy: "open the file of positions (-pos-), or give it another name if it has positions",
        }),
    }
}

/// Opens a file whose frames are lines of text, which another process has opened.
fn reopen_text<F: LineFormat>(mut file: KnownFile<'_>, options: &OpenOptions) -> Opened {
    let index = file.index.take().ok_or_else(|| file.unknown())?;
    Ok(Arc::new(Text::<F>::known(file, index, options)?))
}

/// Opens a trajectory of any supported format, which its first bytes identify, or the suffix of a text file.
///
/// # Errors
/// [`Error::Io`], [`Error::NotAFile`], [`Error::Empty`], [`Error::UnknownFormat`], and the errors of
/// indexing the file: [`Error::Truncated`], [`Error::Corrupt`], [`Error::AtomCount`],
/// [`Error::Unsupported`].
pub fn open(
    path: &Path,
    options: &OpenOptions,
    threads: &dyn ParallelFor,
) -> Result<Arc<dyn Reader>, Error> {
    open_with(path, options, &[], threads)
}

/// Opens a trajectory with the first of `openers` that recognises it, or else as [`open`] does.
///
/// # Errors
/// As [`open`], and those of the openers.
pub fn open_with(
    path: &Path,
    options: &OpenOptions,
    openers: &[&dyn Opener],
    threads: &dyn ParallelFor,
) -> Result<Arc<dyn Reader>, Error> {
    if let Some(opened) = openers.iter().find_map(|opener| opener.open(path, options)) {
        return opened;
    }
    open_written(path, None, options, threads)
}

/// Opens a trajectory as [`open`] does. The file must be the one that was `written`, if that is known.
///
/// # Errors
/// As [`open`]; [`Error::Altered`].
pub fn open_written(
    path: &Path,
    written: Option<FileIdentity>,
    options: &OpenOptions,
    threads: &dyn ParallelFor,
) -> Result<Arc<dyn Reader>, Error> {
    let (source, opening) = opener::begin_with_first(path, written, options)?;
    let first = &opening.first[..opening.first.len().min(16)];
    let is_compressed = source.is_compressed();
    let name = if is_compressed { Compression::path_inside(path) } else { path };
    let format = Format::of_file(name, first);
    if let Some(format) = format.filter(|format| is_compressed && !format.info().is_text) {
        return Err(Error::Unsupported {
            path: path.to_owned(),
            what: format!("it is a compressed {} file", format.name()),
            remedy: "uncompress it first: of compressed files, those of text formats are read",
        });
    }
    match format.and_then(|format| ROWS[format as usize].open) {
        Some(open) => open(source, options, threads, opening),
        None => {
            let looks_like = match is_compressed {
                true => format!("it is compressed, and inside {}", describe(first)),
                false => describe(first),
            };
            Err(Error::UnknownFormat { path: path.to_owned(), looks_like })
        }
    }
}

/// Returns the reader of a NetCDF file, whose atoms are put into the order of their numbers if it states these.
///
/// # Errors
/// As [`ByNumber::checked`] if `is_checked`.
fn by_number(reader: ncdf::Reader, is_checked: bool) -> Opened {
    Ok(match reader.has_numbers() {
        false => Arc::new(reader),
        true if is_checked => Arc::new(ByNumber::checked(Arc::new(reader))?),
        true => Arc::new(ByNumber::new(Arc::new(reader))),
    })
}

/// Opens a file that another process has opened and described.
///
/// # Errors
/// As [`open`]; [`Error::Changed`].
pub(crate) fn open_known(file: KnownFile<'_>, options: &OpenOptions) -> Opened {
    if file.opener == ordered::NAME {
        return Ordered::known(file, options, open_known);
    }
    match Format::of_layout(file.opener) {
        Some(format) => (ROWS[format as usize].reopen)(file, options),
        None => Err(file.unknown()),
    }
}

/// Returns a guess, from its first bytes, of what an unrecognised file is.
fn describe(first: &[u8]) -> String {
    let known: [(&[u8], usize, &str); 5] = [
        (b"CDF", 0, "it begins like a NetCDF file of a version that is not known"),
        (
            b"\x89HDF",
            0,
            "it is an HDF5 file: open it from Python, with trajet.open; NetCDF-4, \
             which is HDF5, is converted with nccopy -k nc6 or cpptraj",
        ),
        (b"BZh", 0, "it is compressed with bzip2: unpack it first, with bunzip2"),
        (b"DUMP", 8, "it is a binary dump of LAMMPS: binary2txt of LAMMPS makes it text"),
        (b"---\ncreator: LAM", 0, "it is a dump of LAMMPS in YAML: write it as dump custom"),
    ];
    for (bytes, at, what) in known {
        if first.get(at..at + bytes.len()) == Some(bytes) {
            return what.to_owned();
        }
    }
    if first.iter().all(|b| b.is_ascii_graphic() || b.is_ascii_whitespace()) {
        let text = String::from_utf8_lossy(first);
        return match ["PSF", "%VERSION", "data_"].iter().any(|start| text.starts_with(start)) {
            true => format!(
                "it is a topology that begins with {text:?}, and the topology comes before the trajectory"
            ),
            false => format!("it is a text file that begins with {text:?}"),
        };
    }
    let hex: Vec<String> = first.iter().take(8).map(|b| format!("{b:02x}")).collect();
    format!("it begins with the bytes {}", hex.join(" "))
}
