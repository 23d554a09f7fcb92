"""Conventions of MDAnalysis for each format: units, time steps, and data beside positions."""

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from MDAnalysis.coordinates.DCD import DCDReader
from MDAnalysis.coordinates.H5MD import H5MDReader
from MDAnalysis.coordinates.TRJ import NCDFReader
from MDAnalysis.coordinates.TRR import TRRReader
from MDAnalysis.coordinates.XTC import XTCReader
from MDAnalysis.lib.formats.libdcd import DCDFile
from MDAnalysis.lib.mdamath import triclinic_box
from MDAnalysis.units import convert, get_conversion_factor
from numpy.typing import NDArray

from trajet.box import Box
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
_ANGSTROM_PER_NM = 10.0
# Bytes of the head of a frame of TRR up to the number of atoms, and of a number.
_TRR_HEAD, _DOUBLE = 68, 8
# Axes of the box vectors of all frames.
_MATRICES = 3


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
    length
        Å in the unit of length of the file, in which MDAnalysis rounds lengths of cells first.
    needs_volume
        Whether a cell is made of vectors, so that there is none if they span no volume.
    rounds_vectors
        Whether it is made of vectors that are rounded to single precision.
    is_exact
        Whether products of its lengths with `length` are rounded once, those with single precision.
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
    length: float = 1.0
    needs_volume: bool = False
    rounds_vectors: bool = False
    is_exact: bool = False
    is_independent = False
    # Whether `ts.data` has the time between frames from the beginning.
    has_dt_data = True

    def data(self, cursor: Cursor) -> dict[str, object]:
        """Return `ts.data` of the frame that a cursor has read."""
        return {"time": cursor.time, "step": cursor.step}

    def dimensions(
        self,
        cell: NDArray[np.float64],
        vectors: NDArray[np.float64] | None,
        periodic: NDArray[np.bool_],
    ) -> NDArray[np.floating] | float:
        """Return `ts.dimensions`, with the bits of MDAnalysis' reader; 0 without a cell.

        Parameters
        ----------
        cell
            Lengths (Å) and angles; NaN without a cell.
        vectors
            Box vectors, Å, as of a cursor.
        periodic
            Whether the cell is periodic along each of them. One that is not in all directions is
            none for MDAnalysis, which would take nearest images along all of them.
        """
        a, b, c, *angles = cell.tolist()
        if math.isnan(a) or not periodic.all():
            return 0.0
        if self.needs_volume and not (min(a, b, c, *angles) > 0 and max(angles) < 180):
            return 0.0
        if self.rounds_vectors:
            rows = Box.of_cell(cell, vectors).vectors / self.length
            found: NDArray[np.float32] = triclinic_box(*rows.astype(np.float32))
        elif self.length == 1.0 or (self.is_exact and angles == _RIGHT):
            return cell
        else:
            lengths = cell.copy()
            lengths[:3] /= self.length
            found = lengths.astype(np.float32)
        found[:3] *= np.float32(self.length)
        return found


# Angles of a rectangular cell.
_RIGHT = [90.0, 90.0, 90.0]


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
        return {**super().data(cursor), "lambda": float(cursor.observables()["lambda"])}


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
    # Type of times; None without times.
    time_type: type | None = float

    def data(self, cursor: Cursor) -> dict[str, object]:
        return {} if self.time_type is None else {"time": self.time_type(cursor.time)}


@dataclass
class _H5md(Convention):
    """H5MD: observables are data of the frame."""

    has_observables: bool = False
    time_type: type = float
    step_type: type = int
    # ps in the unit of time of the file.
    time_unit: float = 1.0

    def data(self, cursor: Cursor) -> dict[str, object]:
        numbers = cursor.observables() if self.has_observables else {}
        time = cursor.time
        if self.time_unit != 1.0 and self.time_type is np.float32:
            # The product is rounded to single precision.
            time = float(np.float32(time / self.time_unit) * np.float32(self.time_unit))
        return {**numbers, "time": self.time_type(time), "step": self.step_type(cursor.step)}


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
        # MDAnalysis has an integer here.
        dt: float = 0
        if source.n_frames > 1:
            first = source.head.read(0).time
            dt = source.head.read(1).time - first if given_dt is None else given_dt
        kind = _Trr if format == "TRR" else _Xdr
        is_double = format == "TRR" and _is_double(source.trajectory.paths[0])
        return kind(
            dict(OWN_READERS[format].units),
            dt=dt,
            length=_ANGSTROM_PER_NM,
            needs_volume=True,
            rounds_vectors=is_double,
            is_exact=not is_double,
            given_dt=given_dt,
        )
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
    if format == "GRO":
        return Convention(length=_ANGSTROM_PER_NM, rounds_vectors=True)
    return Convention()


def _is_double(path: Path) -> bool:
    """Return whether the first frame of a TRR file has numbers of double precision."""
    with path.open("rb") as file:
        # Bytes of each part, behind the file's magic number and version, and the number of atoms.
        sizes = np.frombuffer(file.read(_TRR_HEAD), ">i4")[6:]
    box, vectors, n_atoms = sizes[2], sizes[7:10], int(sizes[10])
    return bool(box == 9 * _DOUBLE or (vectors == 3 * n_atoms * _DOUBLE).any())


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
            edges = own._particle_group.get("box/edges/value")
            return _H5md(
                dict(own.units),
                {name: getattr(own, name) for name in described},
                length=_factor("length", own.units["length"], "Angstrom"),
                needs_volume=edges is not None and edges.ndim == _MATRICES,
                has_observables="observables" in own._file,
                time_type=type(own.ts.data["time"]),
                step_type=type(own.ts.data.get("step", 0)),
                time_unit=_factor("time", own.units["time"], "ps"),
            )
        names = ("remarks", "periodic", "has_time", "scale_factors", "_mmap", *_PRESENT[1:])
        attributes = {name: getattr(own, name) for name in names}
        dt = given_dt
        if dt is None and own.has_time and own.n_frames > 1:
            dt = own._get_dt()
        time_type = type(own.ts.data["time"]) if own.has_time else None
        return _Ncdf(dict(own.units), attributes, dt=dt, time_type=time_type)


def _factor(quantity: str, unit: str | None, ours: str) -> float:
    """Return how many units of ours a unit of a file is."""
    return 1.0 if unit is None else float(get_conversion_factor(quantity, unit, ours))
