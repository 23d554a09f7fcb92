"""Conventions of MDAnalysis for each format: units, time steps, and data beside positions."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, TypeAlias

from MDAnalysis.coordinates.DCD import DCDReader
from MDAnalysis.coordinates.H5MD import H5MDReader
from MDAnalysis.coordinates.TRJ import NCDFReader
from MDAnalysis.coordinates.TRR import TRRReader
from MDAnalysis.coordinates.XTC import XTCReader
from MDAnalysis.lib.formats.libdcd import DCDFile
from MDAnalysis.units import convert

from trajet.trajectory.cursor import Cursor

if TYPE_CHECKING:
    from trajet.mdanalysis.source import Source

# MDAnalysis' own readers, under their names in `MDAnalysis._READERS`.
OWN_READERS = {
    "XTC": XTCReader,
    "TRR": TRRReader,
    "DCD": DCDReader,
    "NCDF": NCDFReader,
    "NC": NCDFReader,
    "H5MD": H5MDReader,
}


# A file, or several that are read as one trajectory.
Files: TypeAlias = str | Sequence[str | os.PathLike[str]]
_PRESENT = ("has_positions", "has_velocities", "has_forces")


@dataclass
class Convention:
    """Conversion of the frames of a file to time steps of MDAnalysis.

    Attributes
    ----------
    units
        Units of the file, as readers of MDAnalysis name them.
    attributes
        Further attributes of the reader.
    dt
        Time between frames, ps; None if it is not known in advance.
    is_independent
        Whether each frame has a time step of its own.
    """

    units: dict[str, str | None] = field(
        default_factory=lambda: {
            "time": "ps",
            "length": "Angstrom",
            "velocity": "Angstrom/ps",
            "force": "kJ/(mol*Angstrom)",
        }
    )
    attributes: dict[str, object] = field(default_factory=dict)
    dt: float | None = None
    is_independent = False
    # Whether `ts.data` has the time between frames from the beginning.
    has_dt_data = True

    def data(self, cursor: Cursor) -> dict[str, object]:
        """Return `ts.data` of the frame that a cursor has read."""
        return {"time": cursor.time, "step": cursor.step}


@dataclass
class _Xdr(Convention):
    """XTC and TRR: with `dt=`, times are made of it."""

    given_dt: float | None = None

    def data(self, cursor: Cursor) -> dict[str, object]:
        time = cursor.time if self.given_dt is None else cursor.frame * self.given_dt
        return {"time": time, "step": cursor.step}


@dataclass
class _Trr(_Xdr):
    """TRR: λ is data of the frame."""

    def data(self, cursor: Cursor) -> dict[str, object]:
        return {**super().data(cursor), **cursor.observables()}


@dataclass
class _Dcd(Convention):
    """DCD: times are made of the header; MDAnalysis counts frames as steps."""

    is_independent = True
    first: float = 0.0

    def data(self, cursor: Cursor) -> dict[str, object]:
        frame = cursor.frame
        return {"time": (frame + self.first) * (self.dt or 0.0), "step": frame + 1}


@dataclass
class _Ncdf(Convention):
    """Amber NetCDF: a file may have no times."""

    has_dt_data = False
    has_time: bool = True

    def data(self, cursor: Cursor) -> dict[str, object]:
        return {"time": cursor.time} if self.has_time else {}


@dataclass
class _H5md(Convention):
    """H5MD: observables are data of the frame."""

    has_observables: bool = False

    def data(self, cursor: Cursor) -> dict[str, object]:
        numbers = cursor.observables() if self.has_observables else {}
        return {**numbers, "time": cursor.time, "step": cursor.step}


def convention_of(
    format: str, filename: Files, source: "Source", given_dt: float | None
) -> Convention:
    """Return the convention of a file whose frames are known.

    Parameters
    ----------
    format
        The format, as `Trajectory.format`.
    filename
        The file.
    source
        Its frames.
    given_dt
        The argument `dt` of the reader.
    """
    if format in ("XTC", "TRR"):
        dt = 0.0
        if source.n_frames > 1:
            first = source.head.read(0).time
            dt = source.head.read(1).time - first if given_dt is None else given_dt
        kind = _Trr if format == "TRR" else _Xdr
        return kind(dict(OWN_READERS[format].units), dt=dt, given_dt=given_dt)
    if format == "DCD":
        with DCDFile(filename) as file:
            header = dict(file.header)
        every = header["nsavc"]
        dt = convert(header["delta"], "AKMA", "ps") * every if given_dt is None else given_dt
        attributes = {
            "flavor": DCDReader.flavor,
            "skip_timestep": every,
            "_file": SimpleNamespace(header=header),
        }
        return _Dcd(dict(DCDReader.units), attributes, dt=dt, first=header["istart"] / every)
    return Convention()


def convention_of_header(
    format: str, filename: Files, given_dt: float | None, options: Mapping[str, object]
) -> Convention:
    """Return the convention of a NetCDF or H5MD file, whose header MDAnalysis' own reader checks.

    Raises
    ------
    TypeError, ValueError, NotImplementedError, RuntimeError, NoDataError
        As that reader.
    """
    with OWN_READERS[format](filename, **options) as own:
        if format == "H5MD":
            described = ("compression", "compression_opts", "_driver", "_comm", "_has", *_PRESENT)
            return _H5md(
                dict(own.units),
                {name: getattr(own, name) for name in described},
                has_observables="observables" in own._file,
            )
        names = ("remarks", "periodic", "has_time", "scale_factors", "_mmap", *_PRESENT[1:])
        attributes = {name: getattr(own, name) for name in names}
        dt = given_dt
        if dt is None and own.has_time and own.n_frames > 1:
            dt = float(own._get_dt())
        return _Ncdf(dict(own.units), attributes, dt=dt, has_time=own.has_time)
