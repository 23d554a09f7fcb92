"""Sentences on means over replicas and their differences, as papers have them."""

import math
from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from trajet.plots import quantity_and_unit
from trajet.result.group_mean import GroupMean
from trajet.result.rows import QUANTITY, row_names
from trajet.uncertainty.statistics import with_error

# Most rows of a quantity that have a sentence each.
_FEW = 4
# Smallest probability that is written as a number.
_MIN_P = 1e-4


def sentences_of_mean(group: GroupMean) -> Iterator[str]:
    """Yield a sentence for each number of a group: its mean, interval, and how it was estimated."""
    how = (
        f"mean of {group.n_replicas} replicas with its 95 % interval by Student's t"
        if group.n_replicas > 1
        else "one replica, without an error"
    )
    for name, mean, half in zip(_named(group.axes), group.mean, group.half_width, strict=True):
        words, unit = name
        yield f"{words} of {group.label}: {with_error(float(mean), float(half), unit)} ({how})"


def sentences_of_difference(
    axes: Mapping[str, NDArray[np.generic]],
    change: NDArray[np.float64],
    half_width: NDArray[np.float64],
    p: NDArray[np.float64],
    p_adjusted: NDArray[np.float64],
    *,
    groups: tuple[str, str],
    n_replicas: tuple[int, int],
    level: float,
) -> Iterator[str]:
    """Yield a sentence for each of a few changes, or one on how many of many rows differ.

    Parameters
    ----------
    axes, change, half_width, p, p_adjusted
        See `ReplicaDifference`.
    groups, n_replicas
        Names and numbers of replicas of the first and the second group.
    level
        Corrected probability below which a row differs.
    """
    first, second = groups
    test = f"Welch's t, {n_replicas[0]} and {n_replicas[1]} replicas"
    n_tests = int(np.isfinite(p).sum())
    correction = f"correction by Benjamini and Hochberg for {n_tests} tests"
    names = list(_named(axes))
    # Columns of one analysis, such as distances, differ in their labels only.
    quantities = np.array([str(name).partition(":")[0] for name in axes[QUANTITY].tolist()])
    for quantity in dict.fromkeys(quantities.tolist()):
        rows = np.flatnonzero(quantities == quantity)
        if len(rows) <= _FEW:
            for k in rows.tolist():
                words, unit = names[k]
                found = probability(float(p_adjusted[k]))
                if n_tests > 1 and math.isfinite(p_adjusted[k]):
                    found = f"corrected {found}; {correction}"
                yield (
                    f"{words} of {second} minus that of {first}:"
                    f" {with_error(float(change[k]), float(half_width[k]), unit, sign=True)}"
                    f" (95 % interval; {test}; {found})"
                )
            continue
        differ = rows[p_adjusted[rows] < level]
        words, _ = quantity_and_unit(quantity)
        text = (
            f"{words} of {second} minus that of {first}: {len(differ)} of {len(rows)} rows differ"
            f" (corrected p < {level:g}; {test}; {correction})"
        )
        if len(differ):
            k = int(differ[np.abs(change[differ]).argmax()])
            most, unit = names[k]
            text += (
                f", the largest is {most}:"
                f" {with_error(float(change[k]), float(half_width[k]), unit, sign=True)}"
            )
        yield text


def probability(p: float) -> str:
    """Return a probability as text: "p = 0.012"."""
    if not math.isfinite(p):
        return "no probability"
    return f"p < {_MIN_P:g}" if p < _MIN_P else f"p = {p:.2g}"


def _named(axes: Mapping[str, NDArray[np.generic]]) -> Iterator[tuple[str, str]]:
    """Yield the words for each row, and its unit: "rmsf (A ALA 30 CA)", "Å"."""
    for quantity, row in zip(axes[QUANTITY].tolist(), row_names(axes), strict=True):
        words, unit = quantity_and_unit(str(quantity))
        _, _, label = str(quantity).partition(":")
        where = ", ".join(filter(None, [label.replace("_", " "), row]))
        yield (f"{words} ({where})" if where else words), unit
