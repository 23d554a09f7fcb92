"""Figures of the values per frame of all members of an ensemble."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from trajet import plots
from trajet.result.applied import Applied
from trajet.result.member_outcome import Key
from trajet.result.profiles import QUANTITY, circular, frame_numbers
from trajet.result.replica_means import ReplicaMeans
from trajet.result.result import Result
from trajet.result.series import Series

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
    ax: "Axes | None",
) -> "Figure":
    """Draw a series of each member: the first one that all of them have.

    Parameters
    ----------
    name
        Name of the analysis.
    members
        Keys and result of each member.
    means
        Their means, by the keys of the groups.
    kind
        See `EnsembleResult.plot`.
    ax
        Axes to draw into; None for a figure of its own.

    Raises
    ------
    ValueError
        If results have no values per frame, or groups no series in common.
    """
    groups = {tuple(one.keys.values()): one for one in means}
    of_group = tuple(means.groups[0].keys)
    of_run = [key for key in members[0][0] if key not in of_group]
    # Below a violin, the value of the only key.
    is_short = kind == "violin" and len(of_run) == 1
    series = _common_series(means)
    rows = {key: one.axes[QUANTITY].tolist().index(series[0]) for key, one in groups.items()}
    runs, first = [], None
    for keys, result in members:
        if not isinstance(result, Series | Applied) or getattr(result, "reduced", False):
            raise ValueError(
                f'kind="{kind}" draws values per frame, which results of {name} do not have: leave'
                " kind out"
            )
        first = first or result
        numbers = frame_numbers(result)
        values = numbers.values[:, numbers.names.index(series[0])]
        of = tuple(keys[key] for key in of_group)
        if numbers.period is not None:
            centre = groups[of].mean[rows[of]]
            values = centre + circular(values - centre, numbers.period)
        own = [f"{key}={keys[key]}" for key in of_run]
        name_of_run = str(keys[of_run[0]]) if is_short else ", ".join(own)
        runs.append(plots.Run(groups[of].label, name_of_run, values, result.times, result.frames))
    assert first is not None
    quantity, label = _names_of_series(first, series[0])
    title = f"{name} of {label}" if label else name
    title += f" (first of {len(series)})" if len(series) > 1 else ""
    if kind == "overlay":
        return plots.overlay(runs, quantity=quantity, title=title, ax=ax)
    intervals = [
        plots.GroupInterval(one.label, float(one.mean[row]), float(one.half_width[row]))
        for one, row in zip(groups.values(), rows.values(), strict=True)
    ]
    return plots.violins(
        runs,
        intervals,
        x_label=of_run[0] if is_short else "",
        quantity=quantity,
        title=title,
        ax=ax,
    )


def _common_series(means: ReplicaMeans) -> list[str]:
    """Return the series that all groups have.

    Raises
    ------
    ValueError
        If there is none.
    """
    series = list(means.groups[0].axes[QUANTITY].tolist())
    for group in means.groups[1:]:
        series = [one for one in series if one in group.axes[QUANTITY]]
    if not series:
        raise ValueError("groups have no series in common: draw the members of one group")
    return series


def _names_of_series(result: Series | Applied, series: str) -> tuple[str, str]:
    """Return quantity and label of a series in figures."""
    names, labels = frame_numbers(result).names, result._labels()
    if len(labels) != len(names):
        # A sine or a cosine, where the other figures show angles.
        return series, ""
    return result._quantity(), labels[names.index(series)]
