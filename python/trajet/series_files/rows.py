"""Lines of text files, and the tables of numbers in them."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import FormatError
from trajet.messages import Code, Message
from trajet.quoting import quoted

# The longest line, in characters.
_MAX_LINE = 2**20
# Rows that are texts at a time.
_AT_ONCE = 4096


class Digits(NamedTuple):
    """Most digits of the numbers of a column: after the point, and significant ones."""

    decimals: int = 0
    significant: int = 0

    def rounding(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how much printed numbers may differ from the true ones; whole ones are exact."""
        if self.decimals <= 0:
            return np.zeros(values.shape)
        sizes = np.floor(np.log10(np.maximum(np.abs(values), 1e-300)))
        units = np.maximum(10.0**-self.decimals, 10.0 ** (sizes + 1 - self.significant))
        found: NDArray[np.float64] = units / 2
        return found


class Part(NamedTuple):
    """Rows with the same columns: their names, and `(n_rows, n_columns)` numbers."""

    names: tuple[str, ...]
    values: NDArray[np.float64]


class TextFile:
    """Lines of a file with their numbers; a last line without its end is left out.

    Attributes
    ----------
    path
        The file.
    messages
        After all lines were read: whether the last one was left out.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self.messages: list[Message] = []

    def __iter__(self) -> Iterator[tuple[int, str]]:
        number = 0
        with open(self.path, encoding="utf-8-sig", errors="surrogateescape") as file:
            while line := file.readline(_MAX_LINE):
                number += 1
                if "\0" in line:
                    raise self.error(number, "not a text file")
                if line.endswith("\n"):
                    yield number, line
                elif len(line) >= _MAX_LINE:
                    raise self.error(number, f"a line of more than {_MAX_LINE} characters")
                elif line.strip():
                    self.warn_of_cut(f"line {number} does not end and is left out")

    def error(self, line: int, text: str) -> FormatError:
        """Return an error that names the file and the line."""
        return FormatError(f"{self.path}:{line}: {text}")

    def warn_of_cut(self, text: str) -> None:
        """Add the warning that the file may go on."""
        self.messages.append(
            Message(
                Code.MAY_BE_CUT,
                f"{self.path}: {text}",
                "read the file again when it is complete",
            )
        )


class Rows:
    """Rows of numbers of a file, which may have several tables one after the other.

    Parameters
    ----------
    file
        The file.
    time
        Name of the column of times or steps.
    """

    def __init__(self, file: TextFile, time: str = "") -> None:
        self.file, self.time = file, time
        self.digits = Digits()
        self._names: tuple[str, ...] = ()
        self._parts: list[tuple[tuple[str, ...], list[NDArray[np.float64]]]] = []
        self._texts: list[str] = []
        self._lines: list[int] = []
        self._has_stars = False

    def begin(self, names: Sequence[str]) -> None:
        """Begin a table with these columns."""
        if tuple(names) == self._names:
            return
        self._flush()
        self._names = tuple(names)
        self._parts.append((self._names, []))

    def add(self, line: int, text: str) -> None:
        """Add a row, given its number and its numbers, with spaces between them."""
        self._texts.append(text)
        self._lines.append(line)
        if len(self._texts) >= _AT_ONCE:
            self._flush()

    def parts(self) -> list[Part]:
        """Return all tables that have rows.

        Raises
        ------
        FormatError
            If there is no row.
        """
        self._flush()
        parts = [Part(names, np.concatenate(found)) for names, found in self._parts if found]
        if not parts:
            raise FormatError(f"{self.file.path}: no row of numbers: the file was cut, or is empty")
        return parts

    def _flush(self) -> None:
        """Convert the rows that are texts.

        Raises
        ------
        FormatError
            If a row has not a number for each column, or a time is not finite.
        """
        if not self._texts:
            return
        shape = len(self._texts), len(self._names)
        try:
            values = np.loadtxt(self._texts, np.float64, comments=None, ndmin=2)
        except ValueError:
            values = np.zeros((0, 0))
        if values.shape != shape:
            values = self._slowly()
        if self.time in self._names:
            k = self._names.index(self.time)
            wrong = np.flatnonzero(~np.isfinite(values[:, k]))
            if wrong.size:
                raise self.file.error(
                    self._lines[wrong[0]], f"{self.time} is {values[wrong[0], k]}: give a time"
                )
            self._count_digits([text.split(None, k + 1)[k] for text in self._texts])
        self._parts[-1][1].append(values)
        self._texts, self._lines = [], []

    def _slowly(self) -> NDArray[np.float64]:
        """Return the rows word by word, with an error that names the line.

        Fortran writes stars for numbers that are too wide for their columns: they are NaN.
        """
        rows = []
        for line, text in zip(self._lines, self._texts, strict=True):
            words = text.split()
            if len(words) != len(self._names):
                raise self.file.error(
                    line,
                    f"{len(words)} numbers for {len(self._names)} columns: the line was cut, or"
                    " numbers run together; correct it or remove it",
                )
            wrong = [word for word in words if not is_number(word)]
            if any(word.strip("*") for word in wrong):
                shown = next(quoted(word) for word in wrong if word.strip("*"))
                raise self.file.error(line, f"{shown} is no number: correct or remove the line")
            if wrong and not self._has_stars:
                self._has_stars = True
                stars = "stars in the place of numbers, which were too wide for it, are NaN"
                message = Message(Code.NO_NUMBERS, f"{self.file.path}:{line}: {stars}")
                self.file.messages.append(message)
            rows.append([float(word) if word.strip("*") else np.nan for word in words])
        return np.array(rows, np.float64)

    def _count_digits(self, words: Sequence[str]) -> None:
        """Count the digits of times."""
        decimals, significant = self.digits
        shapes = {(len(word), word.find(".")) for word in words if "e" not in word.lower()}
        for length, point in shapes:
            decimals = max(decimals, length - point - 1 if point >= 0 else 0)
            significant = max(significant, length - (point >= 0))
        for word in words:
            mantissa, _, exponent = word.lower().partition("e")
            if exponent:
                whole, _, fraction = mantissa.partition(".")
                decimals = max(decimals, len(fraction) - int(exponent))
                significant = max(significant, len((whole + fraction).lstrip("+-0")))
        self.digits = Digits(decimals, significant)


def is_number(word: str) -> bool:
    """Return whether a word is a number; NumPy and Python take 1_000 for one."""
    try:
        float(word)
    except ValueError:
        return False
    return "_" not in word


def name_and_unit(text: str) -> tuple[str, str]:
    """Return name and unit of a text such as "Time (ps)" or "Box-X [nm]"; no unit if it has none.

    A text with several brackets is a name.
    """
    found = re.fullmatch(r"([^(]*)\(([^()]*)\)|([^\[]*)\[([^\[\]]*)\]", text.strip())
    if found is None:
        return text.strip(), ""
    return (found[1] or found[3] or "").strip(), (found[2] or found[4] or "").strip()


def unique_names(names: Sequence[str]) -> list[str]:
    """Return names of which those that occur again have a number."""
    found: list[str] = []
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
        found.append(name if counts[name] == 1 else f"{name} ({counts[name]})")
    return found


class Numbers(NamedTuple):
    """What a file has: tables of numbers and the facts that it states about them.

    Attributes
    ----------
    parts
        The tables.
    time
        Name of the column of times, or of steps.
    time_unit
        Unit of the times as the file states it; empty if it does not.
    digits
        Digits of the times.
    name
        Name of the values.
    units
        Units of columns, as far as they are known.
    is_step
        Whether the column of times has steps.
    step
        Time between steps, `time_unit`, if the file states it.
    messages
        Messages on the file.
    """

    parts: Sequence[Part]
    time: str
    time_unit: str = ""
    digits: Digits = Digits()
    name: str = "value"
    units: Mapping[str, str] = MappingProxyType({})
    is_step: bool = False
    step: float | None = None
    messages: Sequence[Message] = ()
