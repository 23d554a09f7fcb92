"""Numbers that describe a whole result, with errors: the part "scalars" of a table."""

from collections.abc import Sequence
from typing import NamedTuple

from trajet.result.columns import column_name, names_column
from trajet.result.summary import HALF_WIDTH, Column, Summary
from trajet.uncertainty.statistics import with_error


class Scalar(NamedTuple):
    """A number with its error.

    Attributes
    ----------
    name, unit
        Its name, with ":LABEL" if there are several of the kind, and its unit.
    value, standard_error, half_width
        The number, its standard error, and the longer side of its 95 % interval; NaN if unknown.
    is_resolved
        Whether the run is long enough to trust the interval.
    """

    name: str
    unit: str
    value: float
    standard_error: float = float("nan")
    half_width: float = float("nan")
    is_resolved: bool = False


def scalars_of(rows: Sequence[Scalar]) -> dict[str, object]:
    """Return numbers and errors by names that end in their unit; see `Table.scalars`."""
    scalars: dict[str, object] = {}
    for one in rows:
        name, _, label = one.name.partition(":")
        scalars |= {
            column_name(name, _ascii(one.unit), label): one.value,
            column_name(f"{name} error", _ascii(one.unit), label): one.standard_error,
            column_name(f"{name} half width 95", _ascii(one.unit), label): one.half_width,
        }
    return scalars


def _ascii(unit: str) -> str:
    """Return a unit as a part of a name."""
    return unit.replace("/", "_per_")


def texts_of(rows: Sequence[Scalar]) -> list[str]:
    """Return each number with its error as a text."""
    return [f"{one.name} {with_error(one.value, one.half_width, one.unit)}" for one in rows]


def summary_of(title: str, rows: Sequence[Scalar]) -> Summary:
    """Return a summary with a row for each number."""
    columns = (
        names_column("quantity", [one.name for one in rows]),
        Column("value", [one.value for one in rows], ".5g"),
        Column(HALF_WIDTH, [one.half_width for one in rows], ".2g"),
        Column("unit", [one.unit for one in rows]),
        Column("resolved", ["yes" if one.is_resolved else "no" for one in rows]),
    )
    return Summary(title, columns, len(rows))
