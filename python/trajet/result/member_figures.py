"""Figures of the values per frame of all members of an ensemble."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from trajet import plots
from trajet.result.group_mean import GroupMean
from trajet.result.member_outcome import MemberOutcome
from trajet.result.profiles import circular, frame_numbers
from trajet.result.replica_means import ReplicaMeans
from trajet.result.rows import QUANTITY, Rows, matched_rows, with_common_keys
from trajet.result.table import Table, is_of_frames

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Figures of the values of all frames.
KINDS = ("overlay", "violin")


def draw_runs(
    name: str,
    members: Sequence[MemberOutcome[Table]],
    means: ReplicaMeans,
    kind: Literal["overlay", "violin"],
    series: str | Sequence[str] | None,
    ax: "Axes | None",
    look: plots.Look,
) -> "Figure":
    """Draw the series of each member that all of them have, in panels.

    Parameters
    ----------
    name
        Name of the analysis.
    members
        The members that did not fail.
    means
        Their means, by the keys of the groups.
    kind, series
        See `EnsembleResult.plot`.
    ax
        Axes to draw into; None for a figure of its own.
    look
        Labels and colours of the groups.

    Raises
    ------
    ValueError
        If results have no values per frame, there is no such series, or several series are to be
        drawn into given axes.
    AnalysisError
        If members have no series in common, or these cannot be told apart.
    """
    of_group = tuple(means.groups[0].keys)
    of_run = [key for key in members[0].keys if key not in of_group]
    # Below a violin, the value of the only key.
    is_short = kind == "violin" and len(of_run) == 1
    results = [_with_frames(name, kind, one.result) for one in members]
    numbers = [frame_numbers(result) for result in results]
    common = _common_series([one.rows for one in numbers], members)
    first = results[0]
    chosen = _chosen(common, [_names_of_series(first, one.columns[0])[1] for one in common], series)
    shown = chosen[: len(plots.COLOURS)]
    if ax is not None and len(shown) > 1:
        raise ValueError(
            f"results have {len(shown)} series, which do not fit into one pair of axes: name one"
            f" by series=, such as {shown[-1].name!r}"
        )
    panels = []
    for one in shown:
        intervals = {tuple(group.keys.values()): _interval(group, one) for group in means}
        runs = []
        for member, frames, own, column in zip(members, results, numbers, one.columns, strict=True):
            keys = member.keys
            interval = intervals[tuple(keys[key] for key in of_group)]
            values = own.values[:, column]
            if own.period is not None:
                values = interval.mean + circular(values - interval.mean, own.period)
            texts = [str(keys[key]) if is_short else f"{key}={keys[key]}" for key in of_run]
            run = plots.Run(interval.group, ", ".join(texts), values, frames.times, frames.frames)
            runs.append(run)
        quantity, label = _names_of_series(first, one.columns[0])
        panels.append(plots.RunPanel(label or one.name, quantity, runs, [*intervals.values()]))
    note = plots.first_of(len(chosen))
    if kind == "overlay":
        return plots.overlay(panels, note=note, ax=ax, look=look)
    x_label = of_run[0] if is_short else ""
    return plots.violins(panels, x_label=x_label, note=note, ax=ax, look=look)


@dataclass(frozen=True)
class _Series:
    """A series that all members have: its name, its key, and its column in each of them."""

    name: str
    key: int
    columns: tuple[int, ...]


def _with_frames(name: str, kind: str, result: Table | None) -> Table:
    """Return a result that has values per frame.

    Raises
    ------
    ValueError
        If it has none, or means of something else.
    """
    if is_of_frames(result):
        if not is_of_frames(result.averaged()):
            raise ValueError(
                f'kind="{kind}" draws values per frame, and means of {name} are those of pairs:'
                " leave kind out"
            )
        return result
    raise ValueError(
        f'kind="{kind}" draws values per frame, which results of {name} do not have: leave kind out'
    )


def _common_series(rows: Sequence[Rows], members: Sequence[MemberOutcome[Table]]) -> list[_Series]:
    """Return the series that all members have, in the order of the first member.

    Raises
    ------
    AnalysisError
        If there is none, or series cannot be told apart.
    """
    keyed = with_common_keys(rows, [one.chains_of for one in members])
    columns, _ = matched_rows(keyed, [one.label for one in members])
    names, keys = keyed[0].shown[QUANTITY].tolist(), keyed[0].keys.tolist()
    return [
        _Series(names[of_each[0]], keys[of_each[0]], of_each)
        for of_each in zip(*(own.tolist() for own in columns), strict=True)
    ]


def _chosen(
    common: Sequence[_Series], labels: Sequence[str], wanted: str | Sequence[str] | None
) -> list[_Series]:
    """Return the series that a user names by column or label, in that order; all for None.

    Raises
    ------
    ValueError
        If there is no such series, or several.
    """
    if wanted is None:
        return list(common)
    found = []
    for name in [wanted] if isinstance(wanted, str) else wanted:
        own = [one for one, label in zip(common, labels, strict=True) if name in (one.name, label)]
        if len(own) != 1:
            known = ", ".join(repr(one.name) for one in common)
            raise ValueError(
                f"{len(own) or 'no'} series {'are' if own else 'is'} named {name!r}: members have"
                f" {known}"
            )
        found += own
    if not found:
        raise ValueError("series is empty: name one, or leave it out for all")
    return found


def _interval(group: GroupMean, series: _Series) -> plots.GroupInterval:
    """Return the mean of a series over the replicas of a group, with its interval."""
    row = int(np.flatnonzero(group.rows.keys == series.key)[0])
    return plots.GroupInterval(
        group.short_label, float(group.mean[row]), float(group.half_width[row])
    )


def _names_of_series(result: Table, column: int) -> tuple[str, str]:
    """Return quantity and label of a series in figures."""
    names, labels = frame_numbers(result).names, result._labels()
    if len(labels) != len(names):
        # A sine or a cosine, where the other figures show angles.
        return names[column], ""
    return result._quantity(), labels[column]
