"""Figures of the interactions of an ensemble: bars of the pairs, as those of one run."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trajet import plots
from trajet.result.group_mean import GroupMean
from trajet.result.interactions import KINDS
from trajet.result.profiles import chosen_series
from trajet.result.rows import QUANTITY

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_OCCUPANCY = "occupancy"


def are_pairs(axes: Mapping[str, NDArray[np.generic]]) -> bool:
    """Return whether rows with these columns are pairs by kind."""
    return {"kind", "label"} <= {*axes}


def draw_means(
    groups: Sequence[GroupMean],
    series: str | Sequence[str] | None,
    ax: "Axes | None",
    look: plots.Look,
) -> "Figure":
    """Draw the means of the most frequent pairs of each group as bars, with their intervals.

    Raises
    ------
    ValueError
        If there is no such quantity, or several are given.
    """
    axes, (quantity, all_rows) = groups[0].axes, _rows_of([one.axes for one in groups], series)
    most = np.max([one.mean[all_rows] for one in groups], axis=0)
    rows = all_rows[_largest(most, least=plots.MIN_OCCUPANCY * (quantity == _OCCUPANCY))]
    curves = [
        plots.ReplicaCurve(
            one.short_label,
            np.arange(len(rows), dtype=np.float64),
            one.members[:, rows],
            one.mean[rows],
            one.half_width[rows],
        )
        for one in groups
    ]
    return plots.replica_pairs(
        axes["label"][rows].astype(np.str_).tolist(),
        curves,
        quantity=f"{plots.column_label(quantity)}, {len(rows)} of {len(all_rows)} pairs",
        limits=(0.0, 1.0 if quantity == _OCCUPANCY else np.inf),
        ax=ax,
        look=look,
    )


def draw_difference(
    axes: Mapping[str, NDArray[np.generic]],
    difference: NDArray[np.float64],
    half_width: NDArray[np.float64],
    is_significant: NDArray[np.bool_],
    *,
    groups: str,
    n_tests: int,
    series: str | Sequence[str] | None,
    ax: "Axes | None",
    look: plots.Look,
) -> "Figure":
    """Draw the largest differences as bars, with their intervals.

    Parameters
    ----------
    axes
        Columns that tell rows apart.
    difference, half_width, is_significant
        `(n_rows,)`.
    groups
        Names of both groups.
    n_tests
        Number of tests for which probabilities are corrected.

    Raises
    ------
    ValueError
        As `draw_means`.
    """
    quantity, all_rows = _rows_of([axes], series)
    rows = all_rows[_largest(np.abs(difference[all_rows]), least=0.0)]
    most = 1.0 if quantity == _OCCUPANCY else np.inf
    return plots.pair_differences(
        axes["label"][rows].astype(np.str_).tolist(),
        difference[rows],
        half_width[rows],
        is_significant[rows],
        quantity=f"{plots.column_label(quantity)}, {groups}, {len(rows)} of {len(all_rows)} pairs",
        limits=(-most, most),
        n_tests=n_tests,
        ax=ax,
        look=look,
    )


def _rows_of(
    axes: Sequence[Mapping[str, NDArray[np.generic]]], series: str | Sequence[str] | None
) -> tuple[str, NDArray[np.int64]]:
    """Return the quantity to draw, occupancies unless another is given, and its rows.

    Kinds of a pair are in their order.

    Raises
    ------
    ValueError
        If there is no such quantity, or several are given.
    """
    if not len(axes[0][QUANTITY]):
        return _OCCUPANCY, np.zeros(0, np.int64)
    names, _ = chosen_series(axes, _OCCUPANCY if series is None else series)
    if len(names) > 1:
        raise ValueError(f"bars of pairs show one quantity, not {len(names)}: name one by series=")
    texts, kinds = axes[0]["label"].astype(np.str_), axes[0]["kind"].astype(np.str_)
    pairs = [text.removesuffix(kind) for text, kind in zip(texts, kinds, strict=True)]
    place = {pair: k for k, pair in enumerate(dict.fromkeys(pairs))}
    ranks = [(place[pair], KINDS.index(kind)) for pair, kind in zip(pairs, kinds, strict=True)]
    order = np.lexsort(np.reshape(ranks, (-1, 2)).T[::-1])
    return names[0], order[axes[0][QUANTITY][order] == names[0]]


def _largest(values: NDArray[np.float64], *, least: float) -> NDArray[np.int64]:
    """Return the places of the largest values, in their order; none below `least`."""
    order = np.argsort(-np.nan_to_num(values), kind="stable")[: plots.MAX_ROWS]
    return np.sort(order[np.nan_to_num(values)[order] >= least])
