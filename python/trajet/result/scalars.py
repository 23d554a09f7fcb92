"""Numbers that describe a whole result, with errors: the part "scalars" of a table."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from trajet.result.axes import named
from trajet.result.columns import column_name, names_column
from trajet.result.summary import HALF_WIDTH, Column, Summary
from trajet.uncertainty.statistics import with_error

if TYPE_CHECKING:
    from trajet.result.report import Report
    from trajet.result.table import Table


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


def scalar_table(rows: Sequence[Scalar], selections: tuple[str, ...], report: "Report") -> "Table":
    """Return the table of some numbers, with a row for each."""
    from trajet.result.table import Table

    return Table(
        values=np.array([one.value for one in rows]),
        axes=(
            named(
                "scalars",
                [one.name for one in rows],
                unit=np.array([one.unit for one in rows], np.str_),
            ),
        ),
        name="value",
        units="",
        selections=selections,
        report=report,
        standard_errors=np.array([one.standard_error for one in rows]),
        half_widths=np.array([one.half_width for one in rows]),
        resolved=np.array([one.is_resolved for one in rows], bool),
    )


def scalars_in(table: "Table") -> list[Scalar]:
    """Return the numbers that describe a result; none if it has no such part."""
    if (part := table.parts.get("scalars")) is None:
        return []
    unknown = np.full(len(part), np.nan)
    errors = unknown if part.standard_errors is None else part.standard_errors
    halves = unknown if part.half_widths is None else part.half_widths
    resolved = np.isfinite(unknown) if part.resolved is None else part.resolved
    columns = (part.axes[0].labels(), part.axes[0]["unit"], part.values, errors, halves, resolved)
    return [
        Scalar(str(name), str(unit), float(value), float(error), float(half), bool(is_resolved))
        for name, unit, value, error, half, is_resolved in zip(*columns, strict=True)
    ]


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
