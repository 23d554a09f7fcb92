//! In which format the files of a tag are.

use trajet_io::Format;

use crate::Error;
use crate::manifest::Tag;

/// The format of that name.
pub(crate) fn format_named(name: &str) -> Result<Format, Error> {
    Format::named(name).ok_or_else(|| Error::Refused(format!("{name}: is no format of a store")))
}

/// What the files of a tag are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Frames, one after the other.
    Frames(Format),
    /// Chunks of numbers, of which tables tell.
    Hdf5,
}

impl Kind {
    /// That of what loses nothing of a format.
    pub(crate) fn of(format: Format) -> Kind {
        if format == Format::H5md { Kind::Hdf5 } else { Kind::Frames(format) }
    }

    /// What its files hold of frames is what this has room for.
    pub(crate) fn format(self) -> Format {
        match self {
            Kind::Frames(format) => format,
            Kind::Hdf5 => Format::H5md,
        }
    }

    /// The ending of the files.
    pub(crate) fn ending(self) -> &'static str {
        ending(self.format())
    }
}

/// As what a tag of such a source is kept.
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

/// The ending of files of a format.
pub(crate) fn ending(format: Format) -> &'static str {
    format.suffix()
}
