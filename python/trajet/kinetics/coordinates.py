"""Coordinates of frames, such as a distance or an angle."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import AnalysisError
from trajet.checked_numbers import whole_number
from trajet.result import EnsembleResult, Table
from trajet.result.report import analysis_of

# A result with one number per frame, or one of its series by its name or its number.
Series: TypeAlias = Table | EnsembleResult[Table] | tuple[Table | EnsembleResult[Table], str | int]


@dataclass(frozen=True)
class Coordinate:
    """A number of each frame of one run or of several.

    Attributes
    ----------
    quantity, label, units
        Name of the numbers, label of the series, and unit.
    period
        Period of numbers on a circle; None of others.
    values
        `(n_frames,)` of each run.
    tables
        The result of each run.
    runs
        Names of the runs, which is empty of one that is no member of an ensemble.
    """

    quantity: str
    label: str
    units: str
    period: float | None
    values: tuple[NDArray[np.float64], ...]
    tables: tuple[Table, ...]
    runs: tuple[str, ...]


def coordinate_of(given: Series, name: str) -> Coordinate:
    """Return the coordinate that a user gives as the argument `name`.

    Raises
    ------
    TypeError
        If it is no result with numbers of frames.
    ValueError
        If it has several series of which none is chosen, members of several systems, or a number
        is of other series in other members.
    AnalysisError
        If a value is not a finite number, or all members failed.
    """
    result, chosen = given if isinstance(given, tuple) else (given, None)
    if isinstance(result, EnsembleResult):
        _check_are_replicas(result, name)
        tables = [table for _, table in result.done()]
        runs = [one.label for one in result.outcomes if one.result is not None]
    else:
        tables, runs = [result], [""]
    values, labels = [], []
    for table, run in zip(tables, runs, strict=True):
        if not (isinstance(table, Table) and table.has_frames and table.values.dtype.kind in "fiu"):
            raise TypeError(
                f"{name} is a result with numbers of each frame, such as tj.rmsd(selection), or"
                f" (result, series), not {type(result).__name__}"
            )
        column = _column_of(table, chosen, name)
        every = table.values.reshape(len(table), table.n_columns())[:, column].astype(np.float64)
        if (wrong := np.flatnonzero(~np.isfinite(every))).size:
            raise AnalysisError(
                f"{name}{f' of {run}' if run else ''}: frame {table.frames[wrong[0]]}:"
                f" {every[wrong[0]]:g} is no place on an axis: choose frames that have numbers, as"
                " result[numpy.isfinite(result.values)]"
            )
        values.append(every)
        labels.append(table.columns[column])
    first, label = tables[0], labels[0]
    # A run lacks residues that are not bonded in its first frame: others have their place then.
    is_number = not (chosen is None or isinstance(chosen, str))
    if is_number and (others := [one for one in labels if one != label]):
        raise ValueError(
            f"series {chosen} of {name} is {label!r} of {runs[0]}, and {others[0]!r} of"
            f" {runs[labels.index(others[0])]}: choose it by its label"
        )
    # A column of a result has the name that it has there.
    is_column = first.label not in ("", *first.selections)
    has_label = len(first.columns) > 1 or is_column or first.period is not None
    quantity = first.name if not has_label else label if first.period else f"{first.name} {label}"
    return Coordinate(
        quantity, label, first.units, first.period, tuple(values), tuple(tables), tuple(runs)
    )


def _check_are_replicas(result: EnsembleResult[Table], name: str) -> None:
    """Raise a ValueError if members differ in another key than the replica."""
    for key in result.keys:
        if key != "replica" and len({keys[key] for keys, _ in result.done()}) > 1:
            raise ValueError(
                f"{name} has members that differ in {key}, and a free energy is of one system:"
                f" choose one, as result.where({key}=...)"
            )


def _column_of(table: Table, chosen: str | int | None, name: str) -> int:
    """Return the number of the chosen series of a table, or of its only one."""
    labels = table.columns
    if chosen is None and len(labels) == 1:
        return 0
    if isinstance(chosen, str) and labels.count(chosen) == 1:
        return labels.index(chosen)
    if chosen is not None and not isinstance(chosen, str):
        return whole_number(chosen, f"the series of {name}", least=0, most=len(labels) - 1)
    shown = ", ".join(map(repr, labels[:3])) + (", …" if len(labels) > 3 else "")
    raise ValueError(
        f"{name} has {len(labels)} series ({shown}): choose one by its number or its label, as"
        f" (result, 0) or (result, {labels[0]!r})"
    )


def coordinates_of(x: Series, y: Series | None) -> list[Coordinate]:
    """Return one coordinate or two of the same frames.

    Raises
    ------
    TypeError, ValueError, AnalysisError
        As `coordinate_of`; also if frames differ: rows of two files of other lengths or times do
        not belong together, even if there are as many.
    """
    first = coordinate_of(x, "x")
    if y is None:
        return [first]
    other = coordinate_of(y, "y")
    if first.runs != other.runs:
        raise ValueError("x and y are of different members of an ensemble")
    for one, two in zip(first.tables, other.tables, strict=True):
        check_same_frames(one, two, "y")
    if first.quantity == other.quantity:
        first, other = (
            replace(one, quantity=f"{one.quantity} of {one.label}") for one in (first, other)
        )
    return [first, other]


def check_same_frames(x: Table, other: Table, name: str) -> None:
    """Raise a ValueError if the rows of x and of the argument `name` are of different frames.

    Files are compared where both results know theirs; series of other programs do not.
    """
    if not (other.has_frames and np.array_equal(x.frames, other.frames)):
        raise ValueError(
            f"x has {len(x)} frames and {name} {len(other)}, or other ones: compute both with the"
            " same frames, as tj.run does in one pass"
        )
    files, others = _files_of(x), _files_of(other)
    are_other = bool(files and others and files != others)
    if are_other or not np.array_equal(x.times, other.times, equal_nan=True):
        raise ValueError(
            f"frames of x and {name} have the same numbers, and other times or files: they are of"
            " different trajectories"
        )


def are_rows_of_files(coordinates: Sequence[Coordinate]) -> bool:
    """Return whether all coordinates are rows of files that no trajectory has joined to frames."""
    tables = [table for one in coordinates for table in one.tables]
    return all(analysis_of(table.report)["analysis"] == "read_series" for table in tables)


def _files_of(table: Table) -> list[str]:
    """Return the digests of the trajectories of which a result is; none of other programs."""
    inputs = analysis_of(table.report).get("inputs", ())
    return [one["digest"] for one in inputs if "n_frames" in one and one.get("digest")]
