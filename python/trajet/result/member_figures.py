"""Figures of the values per frame of all members of an ensemble."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from trajet import plots
from trajet.result.member_outcome import Key
from trajet.result.per_frame import PerFrame
from trajet.result.profiles import circular
from trajet.result.replica_means import ReplicaMeans
from trajet.result.result import Result

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
    """Draw the first series of each member.

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
        If results have no values per frame.
    """
    groups = {tuple(one.keys.values()): one for one in means}
    of_group = tuple(means.groups[0].keys)
    of_run = [key for key in members[0][0] if key not in of_group]
    # Below a violin, the value of the only key.
    is_short = kind == "violin" and len(of_run) == 1
    runs, first = [], None
    for keys, result in members:
        if not isinstance(result, PerFrame):
            raise ValueError(
                f'kind="{kind}" draws values per frame, which results of {name} do not have: leave'
                " kind out"
            )
        first = first or result
        values = result._samples().reshape(len(result.frames), -1)[:, 0].astype(np.float64)
        group = groups[tuple(keys[key] for key in of_group)]
        if result._PERIOD is not None:
            centre = group.mean[0]
            values = centre + circular(values - centre, result._PERIOD)
        own = [f"{key}={keys[key]}" for key in of_run]
        name_of_run = str(keys[of_run[0]]) if is_short else ", ".join(own)
        runs.append(plots.Run(group.label, name_of_run, values, result.times, result.frames))
    assert first is not None
    labels = first._labels()
    title = f"{name} of {labels[0]}" if labels[0] else name
    title += f" (first of {len(labels)})" if len(labels) > 1 else ""
    if kind == "overlay":
        return plots.overlay(runs, quantity=first._quantity(), title=title, ax=ax)
    intervals = [
        plots.GroupInterval(one.label, float(one.mean[0]), float(one.half_width[0]))
        for one in means
    ]
    return plots.violins(
        runs,
        intervals,
        x_label=of_run[0] if is_short else "",
        quantity=first._quantity(),
        title=title,
        ax=ax,
    )
