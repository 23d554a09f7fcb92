"""Tables that sum up a result: what a command prints, and what JSON files hold as numbers."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trajet.messages import Message
from trajet.quoting import lines_of

# Printed tables leave out further rows, and cut longer labels.
MAX_ROWS = 12
_MAX_LABEL = 40
# Heading of the longer sides of the 95 % intervals of the numbers in the column before.
HALF_WIDTH = "± 95 %"
# Statistics of a series, in the order of the columns.
_STATISTICS = ("mean", "std", "min", "max", "last")


@dataclass(frozen=True)
class Column:
    """A column of a summary.

    Attributes
    ----------
    name
        Its heading, with the unit if it is not that of the title.
    values
        One text or number for each row.
    form
        How numbers are shown, as in ".3f".
    """

    name: str
    values: Sequence[object] | NDArray[np.generic]
    form: str = ""

    def texts(self, limit: int | None = None) -> list[str]:
        """Return the first values as they are shown; numbers that are missing are dashes."""
        return [
            value if isinstance(value, str) else "-" if value is None else format(value, self.form)
            for value in self.values[:limit]
        ]


@dataclass(frozen=True, repr=False)
class Summary:
    """A table of a few numbers about a result.

    Attributes
    ----------
    title
        The quantity, with its unit.
    columns
        The columns; the first one has names.
    count
        The number of rows in all, of which the columns have the first.
    lines
        Sentences between the title and the table.
    verbose
        Further ones, which commands print with --verbose alone.
    messages
        Warnings and notes of the result.
    """

    title: str
    columns: tuple[Column, ...] = ()
    count: int = 0
    lines: tuple[str, ...] = ()
    verbose: tuple[str, ...] = ()
    messages: tuple[Message, ...] = ()

    def __repr__(self) -> str:
        messages = (f"{one.label}: {one}" for one in self.messages)
        return "\n".join([self.title, *self.lines, *self.table_lines(), *messages])

    def table_lines(self, where_all: str = "") -> list[str]:
        """Return the first rows of the table as lines.

        Parameters
        ----------
        where_all
            Where all rows are, which stands behind the number of those that are left out.
        """
        lines: list[str] = []
        if self.columns:
            first, *others = (column.texts(MAX_ROWS) for column in self.columns)
            rows = zip(map(_cut, first), *others, strict=True)
            lines += lines_of([tuple(column.name for column in self.columns), *rows])
            if (more := self.count - len(first)) > 0:
                lines.append(f"… and {more} more{where_all}")
        return lines

    def rows(self) -> list[tuple[object, ...]]:
        """Return the rows, with values as Python has them."""
        return list(zip(*(map(_plain, column.values) for column in self.columns), strict=True))


def statistics(
    values: NDArray[np.generic], form: str, *, limit: int | None, names: Iterable[str] = _STATISTICS
) -> tuple[Column, ...]:
    """Return mean, standard deviation, extremes and last value of each column.

    Parameters
    ----------
    values
        `(n_frames, n_columns)`.
    form
        How the numbers are shown.
    limit
        How many columns; None for all.
    names
        Which of the statistics.
    """
    some = np.asarray(values)[:, :limit]
    if not len(some):
        return tuple(Column(name, [None] * some.shape[1], form) for name in names)
    ways: dict[str, Callable[..., NDArray[np.generic]]] = {
        "mean": some.mean,
        "std": some.std,
        "min": some.min,
        "max": some.max,
        "last": lambda axis: some[-1],
    }
    return tuple(Column(name, ways[name](axis=0), form) for name in names)


def with_half_widths(column: Column, half_widths: NDArray[np.float64] | None) -> tuple[Column, ...]:
    """Return a column, and the longer sides of the 95 % intervals of its values if there are any.

    Sides that are unknown, NaN, are shown as dashes.
    """
    if half_widths is None:
        return (column,)
    # Beside a mean, the width would seem to be that of the mean.
    heading = f"{column.name} {HALF_WIDTH}" if column.name == "max" else HALF_WIDTH
    widths = np.atleast_1d(half_widths)[: len(column.values)].tolist()
    known = [width if np.isfinite(width) else None for width in widths]
    return column, Column(heading, known, column.form)


def mean_and_spread(values: NDArray[np.generic]) -> tuple[float, float]:
    """Return mean and standard deviation, NaN of no values."""
    if not values.size:
        return float("nan"), float("nan")
    return float(values.mean()), float(values.std())


def _cut(label: str) -> str:
    """Return a label, cut to the width of a column."""
    return label if len(label) <= _MAX_LABEL else label[: _MAX_LABEL - 1] + "…"


def _plain(value: object) -> object:
    """Return a number of NumPy as one of Python."""
    return value.item() if isinstance(value, np.generic) else value
