//! Chooses the reader of a file by its first bytes, or by the suffix of a text file. The only module that knows the readers of all formats.

use std::path::Path;
use std::sync::Arc;

use trajet_formats::Format;
use trajet_formats::gro::Gro;
use trajet_formats::pdb::Pdb;

use crate::lines::ByLines;
use crate::opener::{self, KnownFile, Opener};
use crate::ordered::{ByNumber, Ordered};
use crate::reader::Reader;
use crate::source::Written;
use crate::{
    Error, OpenOptions, Opening, ParallelFor, Serial, dcd, h5md, ncdf, ordered, trr, whole_frames,
    xtc,
};

/// The reader of a format whose frames are lines of text.
type Text<F> = whole_frames::Reader<F, ByLines<F>>;

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
    written: Option<Written>,
    options: &OpenOptions,
    threads: &dyn ParallelFor,
) -> Result<Arc<dyn Reader>, Error> {
    let (source, opening) = opener::begin_with_first(path, written)?;
    let first = opening.first[..opening.first.len().min(16)].to_vec();
    let first = &first[..];
    Ok(match Format::of_file(path, first) {
        Some(Format::Xtc) => Arc::new(xtc::Reader::open(source, options, threads, opening)?),
        Some(Format::Trr) => Arc::new(trr::Reader::open(source, options, threads, opening)?),
        Some(Format::Dcd) => Arc::new(dcd::Reader::open(source, options, opening)?),
        Some(Format::Ncdf) => {
            by_number(ncdf::Reader::open(source, options, threads, opening)?, true)?
        }
        Some(Format::Pdb) => Arc::new(Text::<Pdb>::open(source, options, threads, opening)?),
        Some(Format::Gro) => Arc::new(Text::<Gro>::open(source, options, threads, opening)?),
        // HDF5 files are opened by `Described`.
        Some(Format::H5md) | None => {
            let looks_like = describe(first);
            return Err(Error::UnknownFormat { path: path.to_owned(), looks_like });
        }
    })
}

/// Returns the reader of a NetCDF file, whose atoms are put into the order of their numbers if it states these.
///
/// # Errors
/// As [`ByNumber::checked`] if `is_checked`.
fn by_number(reader: ncdf::Reader, is_checked: bool) -> Result<Arc<dyn Reader>, Error> {
    Ok(match reader.has_numbers() {
        false => Arc::new(reader),
        true if is_checked => Arc::new(ByNumber::checked(Arc::new(reader))?),
        true => Arc::new(ByNumber::new(Arc::new(reader))),
    })
}

/// Opens a file that another process has opened and described, by the name of its format.
///
/// # Errors
/// As [`open`]; [`Error::Changed`].
pub(crate) fn open_known(
    format: &str,
    mut file: KnownFile<'_>,
    options: &OpenOptions,
) -> Result<Arc<dyn Reader>, Error> {
    let path = file.source.path().to_owned();
    let unknown = || {
        let looks_like = format!("it was opened as {format} elsewhere");
        Error::UnknownFormat { path, looks_like }
    };
    let opening = Opening::default();
    Ok(match (format, file.index.take()) {
        ("DCD", None) => {
            let dcd_cell = Some(postcard::from_bytes(file.data).map_err(|_| unknown())?);
            let options = OpenOptions { dcd_cell, ..options.clone() };
            Arc::new(dcd::Reader::open(file.source, &options, opening)?)
        }
        (ordered::NAME, index) => {
            return Ordered::known(KnownFile { index, ..file }, options, open_known);
        }
        ("NCDF", None) => {
            by_number(ncdf::Reader::open(file.source, options, &Serial, opening)?, false)?
        }
        ("H5MD" | "MDTRAJ", None) => {
            let description = Arc::new(postcard::from_bytes(file.data).map_err(|_| unknown())?);
            Arc::new(h5md::Reader::open(file.source, &description, options, opening)?)
        }
        ("XTC", Some(index)) => Arc::new(xtc::Reader::known(file.indexed(index, options))),
        ("TRR", Some(index)) => Arc::new(trr::Reader::known(file.indexed(index, options))),
        ("NCDF", Some(index)) => {
            by_number(ncdf::Reader::known(file.indexed(index, options))?, false)?
        }
        ("PDB", Some(index)) => Arc::new(Text::<Pdb>::known(file, index, options)?),
        ("GRO", Some(index)) => Arc::new(Text::<Gro>::known(file, index, options)?),
        _ => return Err(unknown()),
    })
}

/// Returns a guess, from its first bytes, of what an unrecognised file is.
fn describe(first: &[u8]) -> String {
    let known: [(&[u8], usize, &str); 4] = [
        (b"CDF", 0, "it begins like a NetCDF file of a version that is not known"),
        (
            b"\x89HDF",
            0,
            "it is an HDF5 file: open it from Python, with trajet.open; NetCDF-4, \
             which is HDF5, is converted with nccopy -k nc6 or cpptraj",
        ),
        (b"\x1f\x8b", 0, "it is compressed with gzip: unpack it first"),
        (b"BZh", 0, "it is compressed with bzip2: unpack it first"),
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
