"""Rows of the table of formats, which the native module has, by the layouts and names of files."""

import glob
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypedDict

from trajet._trajet import FORMATS, FormatInfo, first_bytes
from trajet.natural_order import natural


class DcdOptions(TypedDict, total=False):
    """Options of DCD files; see `trajet.open`."""

    cell: Literal["matrix", "angles"]


class H5mdOptions(TypedDict, total=False):
    """Options of HDF5 files; see `trajet.open`."""

    particles: str
    units: Mapping[str, str]


class LammpsOptions(TypedDict, total=False):
    """Options of files of LAMMPS; see `trajet.open`."""

    units: Literal["lj", "real", "metal", "si", "cgs", "electron", "micro", "nano"]
    md_step: float
    positions: Literal["auto", "wrapped", "unwrapped"]
    atom_style: Literal["atomic", "charge", "bond", "angle", "molecular", "full"]
    types: Mapping[int, str] | Mapping[str, str]


class XyzUnits(TypedDict, total=False):
    """Units of quantities that have none by convention in XYZ files."""

    time: Literal["fs", "ps"]
    velocity: Literal["Angstrom/fs", "Angstrom/ps"]
    force: Literal["eV/Angstrom", "kcal/mol/Angstrom", "Hartree/Bohr"]


class XyzOptions(TypedDict, total=False):
    """Options of XYZ files; see `trajet.open`."""

    units: XyzUnits
    types: Mapping[int, str] | Mapping[str, str]


class FormatOptions(TypedDict, total=False):
    """Options of single formats for `trajet.open`."""

    dcd: DcdOptions
    h5md: H5mdOptions
    lammps: LammpsOptions
    xyz: XyzOptions


# The format whose files the HDF5 library reads and writes.
(HDF5,) = (info for info in FORMATS.values() if info.frames_from == "library")
# Dumps of LAMMPS.
(_DUMPS,) = (info for info in FORMATS.values() if b"ITEM: " in info.magic)
# Formats whose options are those of topologies, too.
OF_TOPOLOGIES = frozenset({"lammps", "xyz"})
# Suffixes of the files that are written.
WRITTEN_SUFFIXES = tuple(
    suffix for info in FORMATS.values() if info.is_written for suffix in info.suffixes
)
# Names of formats whose frames name their atoms, and which are written.
OF_ATOMS = frozenset(
    name for name, info in FORMATS.items() if info.write_options & {"types", "species"}
)
# Suffixes of files that are trajectories and topologies.
STRUCTURE_SUFFIXES = tuple(
    suffix for info in FORMATS.values() if info.has_topology for suffix in info.suffixes
)


def is_dump(path: Path) -> bool:
    """Return whether a file begins as dumps of LAMMPS do, which may have any ending."""
    return begins_as(_DUMPS, path)


def begins_as(info: FormatInfo, path: Path) -> bool:
    """Return whether a file begins with the first bytes of a format."""
    if not info.magic or not path.is_file():
        return False
    return first_bytes(path, max(map(len, info.magic))).startswith(info.magic)


def matching_files(pattern: str) -> list[str]:
    """Return the files that match a pattern: dumps of LAMMPS by their first steps, others by name.

    Numbers in names count by their value. The pattern itself is returned if it is no pattern, or
    the name of a file.

    Raises
    ------
    FileNotFoundError
        If no file matches.
    """
    if not re.search(r"[*?\[]", pattern) or os.path.lexists(pattern):
        return [pattern]
    found = sorted(glob.glob(pattern), key=natural)
    if not found:
        raise FileNotFoundError(f"{pattern}: no file matches this pattern")
    steps = {name: step for name in found if (step := _first_step(Path(name))) is not None}
    return sorted(found, key=steps.__getitem__) if len(steps) == len(found) else found


def _first_step(path: Path) -> int | None:
    """Return the step of the first frame of a dump of LAMMPS; None for other files."""
    if not is_dump(path):
        return None
    head = first_bytes(path, 4096)
    stated = re.search(rb"^ITEM: TIMESTEP\s+(\d+)\s", head, re.MULTILINE)
    return None if stated is None else int(stated[1])


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
