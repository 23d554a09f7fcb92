//! File formats of tags.

use trajet_formats::{Format, Writing};

use crate::Error;
use crate::manifest::Tag;

/// Returns the format with a name.
pub(crate) fn format_named(name: &str) -> Result<Format, Error> {
    let is_written =
        |format: &Format| matches!(format.info().writing, Writing::Files | Writing::Numbers);
    Format::named(name).filter(is_written).ok_or_else(|| {
        Error::Refused(format!(
            "{name}: not a format of a store: choose from xtc, trr, dcd, ncdf, h5md"
        ))
    })
}

/// Kind of a tag's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A sequence of encoded frames.
    Frames(Format),
    /// HDF5 chunks, located by a layout beside the manifest.
    Hdf5,
}

impl Kind {
    /// Returns the kind that stores frames of a format without loss.
    pub(crate) fn of(format: Format) -> Kind {
        if format.is_of_library() { Kind::Hdf5 } else { Kind::Frames(format) }
    }

    /// Returns the format that determines which fields the files can hold.
    pub(crate) fn format(self) -> Format {
        match self {
            Kind::Frames(format) => format,
            Kind::Hdf5 => Format::of_library(),
        }
    }

    /// Returns the suffix of the files.
    pub(crate) fn ending(self) -> &'static str {
        self.format().suffix()
    }
}

/// Returns the kind of a tag's files, given the format of the original.
pub(crate) fn kind_of(tag: &Tag, source: Format) -> Result<Kind, Error> {
    match &tag.format[..] {
        "exact" => Ok(Kind::of(source)),
        "h5md" => Ok(Kind::Hdf5),
        named => format_named(&named.to_ascii_uppercase()).map(Kind::Frames).map_err(|_| {
            Error::Refused(format!(
                "tag {:?}: {named:?} is no format of a tag: choose from exact, xtc, dcd, ncdf, h5md",
                tag.name
            ))
        }),
    }
}
