"""Rows of the table of formats, which the native module has, by the layouts and names of files."""

from collections.abc import Mapping
from typing import Literal, TypedDict

from trajet._trajet import FORMATS, FormatInfo


class DcdOptions(TypedDict, total=False):
    """Options of DCD files; see `trajet.open`."""

    cell: Literal["matrix", "angles"]


class H5mdOptions(TypedDict, total=False):
    """Options of HDF5 files; see `trajet.open`."""

    particles: str
    units: Mapping[str, str]


class FormatOptions(TypedDict, total=False):
    """Options of single formats for `trajet.open`."""

    dcd: DcdOptions
    h5md: H5mdOptions


# The format whose files the HDF5 library reads and writes.
(HDF5,) = (info for info in FORMATS.values() if info.frames_from == "library")
# Suffixes of the files that are written.
WRITTEN_SUFFIXES = tuple(
    suffix for info in FORMATS.values() if info.is_written for suffix in info.suffixes
)
# Suffixes of files that are trajectories and topologies.
STRUCTURE_SUFFIXES = tuple(
    suffix for info in FORMATS.values() if info.has_topology for suffix in info.suffixes
)


def formats_of(layouts: str) -> list[FormatInfo]:
    """Return the formats of files, given their layouts as in `Trajectory.format`: "XTC, TRR"."""
    names = set(layouts.split(", "))
    return [info for info in FORMATS.values() if not names.isdisjoint(info.layouts)]


def written_as(suffix: str) -> FormatInfo | None:
    """Return the format of the files that are written with a suffix."""
    written = (info for info in FORMATS.values() if info.is_written)
    return next((info for info in written if suffix.lower() in info.suffixes), None)


def suffixes_of_copies(layout: str) -> tuple[str, ...]:
    """Return the suffixes of copies of a file with this layout."""
    (info,) = formats_of(layout)
    found = FORMATS[info.copied_as].suffixes
    return found if layout == info.name else found[:1]


def hdf5_options(options: FormatOptions) -> H5mdOptions:
    """Return the options of HDF5 files."""
    return options.get("h5md", {})


def has_velocities(layouts: str) -> bool:
    """Return whether frames of files of these layouts can hold velocities."""
    return any("velocities" in info.fields for info in formats_of(layouts))
