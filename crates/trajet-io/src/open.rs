//! The door: finds the format of a file by its first bytes, and the encoder of an output by its format.
//! The only room that knows all formats.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use crate::chain::Known;
use crate::indexed::Indexed;
use crate::reader::Reader;
use crate::source::{Handles, Source};
use crate::writer::{Encoder, Workspace};
use crate::{
    Error, Format, FrameIndex, OpenOptions, Opening, ParallelFor, Plan, Serial, dcd, divided, h5md,
    ncdf, trr, xtc,
};

/// Bytes that are read first: they show the format, and the precision of XTC.
const FIRST_BYTES: usize = 64;

/// Opens a trajectory of any format that is known, by its first bytes.
///
/// # Errors
/// [`Error::Io`], [`Error::NotAFile`], [`Error::Empty`], [`Error::UnknownFormat`], and what the
/// format's index finds: [`Error::Truncated`], [`Error::Corrupt`], [`Error::AtomCount`],
/// [`Error::Unsupported`].
pub fn open(
    path: &Path,
    options: &OpenOptions,
    threads: &dyn ParallelFor,
) -> Result<Arc<dyn Reader>, Error> {
    let begin = Instant::now();
    let mut opening = Opening::default();
    let mut source = Source::open(path, &mut opening.meter)?;
    if let Some(&written) = options.written.get(path) {
        source.must_be(written)?;
    }
    if let Some(division) = options.divided.get(path) {
        return Ok(Arc::new(divided::Reader::open(source, division, options, opening)?));
    }
    let mut first = [0; FIRST_BYTES];
    let n = source.size().min(FIRST_BYTES as u64) as usize;
    source.read_at(0, &mut first[..n], &mut opening.meter)?;
    opening.first = first[..n].to_vec();
    let first = &first[..n.min(16)];
    opening.open_ns = begin.elapsed().as_nanos() as u64;
    if xtc::sniff(first) {
        return Ok(Arc::new(xtc::Reader::open(source, options, threads, opening)?));
    }
    if trr::sniff(first) {
        return Ok(Arc::new(trr::Reader::open(source, options, threads, opening)?));
    }
    if dcd::sniff(first) {
        return Ok(Arc::new(dcd::Reader::open(source, options, opening)?));
    }
    if ncdf::sniff(first) {
        return Ok(Arc::new(ncdf::Reader::open(source, options, threads, opening)?));
    }
    if (h5md::sniff(first) || h5md::sniff_rows(first))
        && let Some(description) = options.described.get(path)
    {
        return Ok(Arc::new(h5md::Reader::open(source, description, options, opening)?));
    }
    Err(Error::UnknownFormat { path: path.to_owned(), looks_like: describe(first) })
}

/// Opens a file that was opened elsewhere before; `index` is that of the frames to read, where the format
/// needs one.
///
/// # Errors
/// As [`open`]; [`Error::Changed`].
pub(crate) fn known(
    known: &Known,
    index: Option<FrameIndex>,
    options: &OpenOptions,
) -> Result<Arc<dyn Reader>, Error> {
    let Known { path, absolute, format, stamp, dcd_cell, description, divided } = known;
    let handles = options.handles.clone().unwrap_or_else(|| Arc::new(Handles::new(1)));
    let source = Source::known(path.clone(), absolute.clone(), *stamp, &handles);
    let opening = Opening::default();
    Ok(match (format.as_str(), index) {
        ("DCD", None) => {
            let options = OpenOptions { dcd_cell: *dcd_cell, ..options.clone() };
            Arc::new(dcd::Reader::open(source, &options, opening)?)
        }
        ("NCDF", None) => Arc::new(ncdf::Reader::open(source, options, &Serial, opening)?),
        (format, Some(index)) => {
            let file = Indexed::known(source, index, *stamp, options.request_size);
            if let Some(told) = divided {
                return Ok(Arc::new(divided::Reader::known(file, told, options)?));
            }
            match format {
                "XTC" => Arc::new(xtc::Reader::known(file)),
                "TRR" => Arc::new(trr::Reader::known(file)),
                "NCDF" => Arc::new(ncdf::Reader::known(file)?),
                _ => return Err(unknown(path, format)),
            }
        }
        (format, None) => match description {
            Some(said) => Arc::new(h5md::Reader::open(source, said, options, opening)?),
            None => return Err(unknown(path, format)),
        },
    })
}

fn unknown(path: &Path, format: &str) -> Error {
    let looks_like = format!("it was opened as {format} elsewhere");
    Error::UnknownFormat { path: path.to_owned(), looks_like }
}

/// Makes the encoder of an output, and makes sure that it can hold the first frame.
///
/// # Errors
/// [`Error::CannotHold`].
pub fn encoder(format: Format, plan: &Plan<'_>) -> Result<Arc<dyn Encoder>, Error> {
    let encoder: Arc<dyn Encoder> = match format {
        Format::Xtc => Arc::new(xtc::Encoder::new(plan)?),
        Format::Trr => Arc::new(trr::Encoder::new(plan)?),
        Format::Dcd => Arc::new(dcd::Encoder::new(plan)?),
        Format::Ncdf => Arc::new(ncdf::Encoder::new(plan)?),
        Format::H5md => Arc::new(h5md::Encoder::new(plan)?),
    };
    encoder.encode(0, plan.first, &mut Workspace::default(), &mut Vec::new())?;
    // The frame is encoded, and its losses are counted, once more for the output.
    encoder.rules().forget_losses();
    Ok(encoder)
}

/// What the first bytes of a file that cannot be read suggest.
fn describe(first: &[u8]) -> String {
    let known: [(&[u8], usize, &str); 5] = [
        (
            b"CDF\x05",
            0,
            "it is a NetCDF file with 64-bit data, CDF-5: convert it with nccopy -k nc6",
        ),
        (b"CDF", 0, "it begins like a NetCDF file of a version that is not known"),
        (
            b"\x89HDF",
            0,
            "it is an HDF5 file of whose tables nothing was told: open it from Python; NetCDF-4, \
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
        return format!("it is a text file that begins with {:?}", String::from_utf8_lossy(first));
    }
    let hex: Vec<String> = first.iter().take(8).map(|b| format!("{b:02x}")).collect();
    format!("it begins with the bytes {}", hex.join(" "))
}
