"""Base class of all results."""

import csv
import io
import os
from collections.abc import Iterable
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajet import output
from trajet.result.report import Report

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Result:
    """Numbers of an analysis with the report of its run; can be drawn and saved.

    NPZ files hold all arrays, CSV files the numbers as a table.
    """

    report: Report

    def __repr__(self) -> str:
        """Return a summary of one line, without the numbers."""
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
            If the file cannot be written.
        """
        path = Path(path)
        output.check(path, (".npz", ".csv"))
        if path.suffix.lower() == ".npz":
            output.write(path, lambda file: np.savez(file, allow_pickle=False, **self._arrays()))
        else:
            output.write(path, self._write_csv)

    def _about(self) -> str:
        """Return the quantity and the shape of its values, for `__repr__`."""
        raise NotImplementedError

    def _arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays of an NPZ file by name."""
        raise NotImplementedError

    def _header(self) -> list[str]:
        """Return the names of a CSV file's columns."""
        raise NotImplementedError

    def _rows(self) -> Iterable[Iterable[object]]:
        """Return the rows of a CSV file."""
        raise NotImplementedError

    def _write_csv(self, file: IO[bytes]) -> None:
        names = io.StringIO()
        # Names of functions, segments and residues may contain commas and quotes.
        csv.writer(names, lineterminator="\n").writerow(self._header())
        file.write(names.getvalue().encode(errors="backslashreplace"))
        for row in self._rows():
            file.write(f"{','.join(map(repr, row))}\n".encode())


def count_of_frames(frames: NDArray[np.int64]) -> str:
    """Return the number of frames as text: "98 frames"."""
    return f"{len(frames)} frame{'' if len(frames) == 1 else 's'}"


def ascii_units(units: str) -> str:
    """Return a unit in ASCII, for the header of a CSV file."""
    return units.replace("Å", "A").replace("²", "2").replace("³", "3")
