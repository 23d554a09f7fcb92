"""Writers of XTC and TRR files for MDAnalysis, with the interface of its own."""

from pathlib import Path

import numpy as np
from MDAnalysis.coordinates.base import WriterBase
from MDAnalysis.coordinates.timestep import Timestep
from MDAnalysis.coordinates.TRR import TRRWriter as TRROwn
from MDAnalysis.coordinates.XTC import XTCWriter as XTCOwn
from MDAnalysis.lib.mdamath import triclinic_vectors
from numpy.typing import NDArray

from trajet import output
from trajet.conversion.files import OutputOptions
from trajet.mdanalysis.block_writer import Writer

_ANGSTROM_PER_NM = 10.0


class XTCWriter(Writer, XTCOwn):  # type: ignore[misc]
    """Writes XTC files."""

    _own = XTCOwn
    _suffixes = (".xtc",)

    def __init__(
        self,
        filename: str | Path,
        n_atoms: int | None,
        convert_units: bool = True,
        dt: float | None = None,
        precision: float = 3,
        **kwargs: object,
    ) -> None:
        self.filename = filename
        self._convert_units = convert_units
        self.n_atoms = n_atoms
        self._dt = dt
        self.precision = precision
        self._n_of_first: int | None = None
        self._begin(filename, OutputOptions(precision=10.0**precision))

    def _check(self, ts: Timestep) -> None:
        first = self._n_of_first = self._n_of_first or ts.n_atoms
        _compare(first, ts.n_atoms)

    def _can_write(self, ts: Timestep) -> bool:
        return True

    def _append(self, ts: Timestep) -> None:
        self._put(ts, _time(self, ts), _step(ts), vectors=_vectors(self, ts))


class TRRWriter(Writer, TRROwn):  # type: ignore[misc]
    """Writes TRR files; frames with another λ than 0 or without positions by MDAnalysis' own."""

    _own = TRROwn
    _suffixes = (".trr",)

    def __init__(
        self,
        filename: str | Path,
        n_atoms: int | None,
        convert_units: bool = True,
        dt: float | None = None,
        **kwargs: object,
    ) -> None:
        self.filename = filename
        self._convert_units = convert_units
        self.n_atoms = n_atoms
        self._dt = dt
        self._begin(filename, OutputOptions())

    def _target_of(self, path: Path) -> Path:
        # Frames of MDAnalysis' own writer may follow.
        return output.name_beside(path)

    def _own_writer(self, path: Path) -> WriterBase:
        return self._own(str(path), self.n_atoms, dt=self._dt)

    def _check(self, ts: Timestep) -> None:
        if self.n_atoms is None:
            raise TypeError("n_atoms must be an integer, not None")
        _compare(self.n_atoms, ts.n_atoms)

    def _can_write(self, ts: Timestep) -> bool:
        return bool(ts.has_positions) and np.float32(ts.data.get("lambda", 0)) == 0

    def _append(self, ts: Timestep) -> None:
        self._put(
            ts,
            _time(self, ts),
            _step(ts),
            vectors=_vectors(self, ts),
            velocities=ts.has_velocities,
            forces=ts.has_forces,
        )


def _compare(n_before: int, n_atoms: int) -> None:
    """Raise the error of MDAnalysis' writers for frames of different numbers of atoms.

    Raises
    ------
    OSError
        If they differ.
    """
    if n_before != n_atoms:
        raise OSError(
            f"a frame has {n_atoms} atoms, and those before it have {n_before}: all frames of a"
            " file must have the same number"
        )


def _time(writer: Writer, ts: Timestep) -> float:
    return float(ts.time if writer._dt is None else writer._dt * ts.frame)


def _step(ts: Timestep) -> int:
    """Return the step of a frame.

    Raises
    ------
    OverflowError
        If it does not fit into 32 bits.
    """
    step = int(ts.data.get("step", ts.frame))
    if not -(2**31) <= step < 2**31:
        raise OverflowError(f"step {step} is too large for a file of GROMACS: 32 bits at most")
    return step


def _vectors(writer: Writer, ts: Timestep) -> NDArray[np.float64]:
    """Return box vectors in Å, as MDAnalysis' writers compute them in nm; zeros without a cell."""
    in_nm = triclinic_vectors(writer.convert_dimensions_to_unitcell(ts, inplace=False))
    vectors: NDArray[np.float64] = in_nm.astype(np.float64) * _ANGSTROM_PER_NM
    return vectors
