"""Tables that sum up a result: what a command prints, and what JSON files hold as numbers."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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

    def texts(self) -> list[str]:
        """Return the values as they are shown; numbers that are missing are dashes."""
        return [
            value if isinstance(value, str) else "-" if value is None else format(value, self.form)
            for value in self.values
        ]


@dataclass(frozen=True)
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
    """

    title: str
    columns: tuple[Column, ...] = ()
    count: int = 0
    lines: tuple[str, ...] = ()

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


def mean_and_spread(values: NDArray[np.generic]) -> tuple[float, float]:
    """Return mean and standard deviation, NaN of no values."""
    if not values.size:
        return float("nan"), float("nan")
    return float(values.mean()), float(values.std())


def _plain(value: object) -> object:
    """Return a number of NumPy as one of Python."""
    return value.item() if isinstance(value, np.generic) else value
