"""Writers of XTC and TRR files for MDAnalysis, with the interface of its own."""

from pathlib import Path

from MDAnalysis.coordinates.timestep import Timestep
from MDAnalysis.coordinates.TRR import TRRWriter as TRROwn
from MDAnalysis.coordinates.XTC import XTCWriter as XTCOwn

from trajet.conversion.files import OutputOptions
from trajet.mdanalysis.block_writer import Writer


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

    def _fields_of(self, ts: Timestep) -> tuple[str, ...]:
        return ("positions",)


class TRRWriter(Writer, TRROwn):  # type: ignore[misc]
    """Writes TRR files."""

    _own = TRROwn
    _suffixes = (".trr",)
    _has_lambda = True

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

    def _check(self, ts: Timestep) -> None:
        if self.n_atoms is None:
            raise TypeError("n_atoms must be an integer, not None")
        _compare(self.n_atoms, ts.n_atoms)

    def _fields_of(self, ts: Timestep) -> tuple[str, ...]:
        return tuple(
            name for name in ("positions", "velocities", "forces") if getattr(ts, f"has_{name}")
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
