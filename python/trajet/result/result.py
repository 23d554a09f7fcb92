"""What every result can do."""

import csv
import io
import os
from collections.abc import Iterable
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from trajet import output
from trajet.result.report import Report

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Result:
    """What every analysis returns: numbers with their report, to be drawn and saved.

    NPZ files hold everything, CSV files the numbers.
    """

    report: Report

    def __repr__(self) -> str:
        """Say what it holds, and how much of it: the numbers would fill pages."""
        return f"<{type(self).__name__}: {self._about()}>"

    def plot(self) -> "Figure":
        """Return a matplotlib Figure."""
        raise NotImplementedError

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write NPZ, which `numpy.load` reads without pickle, or CSV with all digits.

        Raises
        ------
        ValueError
            If the name ends in neither `.npz` nor `.csv`.
        OutputError
            If it cannot be written.
        """
        path = Path(path)
        output.check(path, (".npz", ".csv"))
        if path.suffix.lower() == ".npz":
            output.write(path, lambda file: np.savez(file, allow_pickle=False, **self._arrays()))
        else:
            output.write(path, self._write_csv)

    def _about(self) -> str:
        """Return what it holds, and how much of it."""
        raise NotImplementedError

    def _arrays(self) -> dict[str, NDArray[Any]]:
        """Return what an NPZ file holds."""
        raise NotImplementedError

    def _header(self) -> list[str]:
        """Return the names of a CSV file's columns."""
        raise NotImplementedError

    def _rows(self) -> Iterable[Iterable[object]]:
        """Return the lines of a CSV file."""
        raise NotImplementedError

    def _write_csv(self, file: IO[bytes]) -> None:
        names = io.StringIO()
        # Whoever names a function, a segment or a residue may use commas and quotes.
        csv.writer(names, lineterminator="\n").writerow(self._header())
        file.write(names.getvalue().encode(errors="backslashreplace"))
        for row in self._rows():
            file.write(f"{','.join(map(repr, row))}\n".encode())


def count_of_frames(frames: NDArray[np.int64]) -> str:
    """Return how many frames there are, in words."""
    return f"{len(frames)} frame{'' if len(frames) == 1 else 's'}"


def ascii_units(units: str) -> str:
    """Return units as the header of a CSV file writes them."""
    return {"Å": "A"}.get(units, units)
