"""Figures of the values per frame of all members of an ensemble."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from trajet import plots
from trajet.result.applied import Applied
from trajet.result.group_mean import GroupMean
from trajet.result.member_outcome import Key
from trajet.result.profiles import QUANTITY, circular, frame_numbers
from trajet.result.replica_means import ReplicaMeans
from trajet.result.result import Result
from trajet.result.series import Series
from trajet.result.table import Table, is_of_frames

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Figures of the values of all frames.
KINDS = ("overlay", "violin")


def draw_runs(
    name: str,
    members: Sequence[tuple[Mapping[str, Key], Result]],
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
        Keys and result of each member.
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
        If results have no values per frame, members no series in common, there is no such series,
        or several series are to be drawn into given axes.
    """
    of_group = tuple(means.groups[0].keys)
    of_run = [key for key in members[0][0] if key not in of_group]
    # Below a violin, the value of the only key.
    is_short = kind == "violin" and len(of_run) == 1
    numbers = [frame_numbers(_with_frames(name, kind, result)) for _, result in members]
    common = _common_series([one.names for one in numbers])
    first = _with_frames(name, kind, members[0][1])
    chosen = _chosen(common, [_names_of_series(first, one.columns[0])[1] for one in common], series)
    shown = chosen[: len(plots.COLOURS)]
    if ax is not None and len(shown) > 1:
        raise ValueError(
            f"results have {len(shown)} series, which do not fit into one pair of axes: name one"
            f" by series=, such as {shown[-1].name!r}"
        )
    panels = []
    for one in shown:
        intervals = {
            tuple(group.keys.values()): _interval(group, one, numbers[0].names) for group in means
        }
        runs = []
        for (keys, result), own, column in zip(members, numbers, one.columns, strict=True):
            frames = _with_frames(name, kind, result)
            interval = intervals[tuple(keys[key] for key in of_group)]
            values = own.values[:, column]
            if own.period is not None:
                values = interval.mean + circular(values - interval.mean, own.period)
            texts = [str(keys[key]) if is_short else f"{key}={keys[key]}" for key in of_run]
            run = plots.Run(interval.group, ", ".join(texts), values, frames.times, frames.frames)
            runs.append(run)
        quantity, label = _names_of_series(first, one.columns[0])
        panels.append(plots.RunPanel(label or one.name, quantity, runs, [*intervals.values()]))
    title = f"{name} of {panels[0].name}" if len(common) == 1 or len(panels) == 1 else name
    if len(shown) < len(chosen):
        title += f", the first {len(shown)} of {len(chosen)} series: choose others by series="
    if kind == "overlay":
        return plots.overlay(panels, title=title, ax=ax, look=look)
    x_label = of_run[0] if is_short else ""
    return plots.violins(panels, x_label=x_label, title=title, ax=ax, look=look)


@dataclass(frozen=True)
class _Series:
    """A series that all members have: its name, and its column in each of them."""

    name: str
    columns: tuple[int, ...]


def _with_frames(name: str, kind: str, result: Result) -> Series | Table | Applied:
    """Return a result that has values per frame.

    Raises
    ------
    ValueError
        If it has none.
    """
    if is_of_frames(result) or (isinstance(result, Applied) and not result.reduced):
        return result
    raise ValueError(
        f'kind="{kind}" draws values per frame, which results of {name} do not have: leave kind out'
    )


def _common_series(names: Sequence[Sequence[str]]) -> list[_Series]:
    """Return the series that all members have, in the order of the first member.

    Raises
    ------
    ValueError
        If there is none, or names that occur twice do not tell series apart.
    """
    if all(list(own) == list(names[0]) for own in names):
        return [_Series(name, (k,) * len(names)) for k, name in enumerate(names[0])]
    for own in names:
        for name in own:
            if own.count(name) > 1:
                raise ValueError(
                    f"{name} occurs twice, and members have other series: draw the members of one"
                    " group"
                )
    common = [name for name in names[0] if all(name in own for own in names)]
    if not common:
        raise ValueError("members have no series in common: draw the members of one group")
    return [_Series(name, tuple(own.index(name) for own in names)) for name in common]


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


def _interval(
    group: GroupMean, series: _Series, names_of_first: Sequence[str]
) -> plots.GroupInterval:
    """Return the mean of a series over the replicas of a group, with its interval."""
    quantities = group.axes[QUANTITY].tolist()
    # Where names are those of all members, so is their order: a name may occur twice.
    is_whole = quantities == list(names_of_first)
    row = series.columns[0] if is_whole else quantities.index(series.name)
    return plots.GroupInterval(group.label, float(group.mean[row]), float(group.half_width[row]))


def _names_of_series(result: Series | Table | Applied, column: int) -> tuple[str, str]:
    """Return quantity and label of a series in figures."""
    names, labels = frame_numbers(result).names, result._labels()
    if len(labels) != len(names):
        # A sine or a cosine, where the other figures show angles.
        return names[column], ""
    return result._quantity(), labels[column]
