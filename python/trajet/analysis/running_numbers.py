"""Running coordination numbers n(r) from the counts of an RDF, and the first minimum of g."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from trajet.analysis.block_errors import Block, block_errors, with_errors
from trajet.messages import Message
from trajet.result import RadialDistribution, Table
from trajet.result.axes import Axis

# Standard deviation of the Gaussian that smooths g, Å, and how many of them it reaches.
_SIGMA, _REACH = 0.1, 4.0
# By how much g falls after its first maximum, of its height there, and rises after its minimum.
_FALL, _RISE = 0.1, 0.05
# Standard errors of counts by which it must do so, too.
_ERRORS = 4.0
# Names of the two numbers in messages.
_AT_MINIMUM = ("distance of the first minimum", "coordination number")


def with_running_numbers(
    result: RadialDistribution, n_centres: NDArray[np.int64]
) -> RadialDistribution:
    """Return an RDF with n(r), given the number of centres of all frames, of each pair of groups.

    n is that at the outer edges of the bins of g.
    """
    with np.errstate(invalid="ignore"):
        n = result.counts.cumsum(axis=-1) / n_centres[..., None].astype(np.float64)
    edges, half = result.edges, (result.edges[1] - result.edges[0]) / 2
    part = Table(
        values=n,
        axes=(*result.axes[:-1], Axis("distance", {"centre": edges[1:]}, edges + half)),
        name="n",
        units="",
        selections=result.selections,
        report=result.report,
    )
    return replace(result, also={**result.also, "n": n}, parts={"coordination": part})


def with_first_minimum(
    result: RadialDistribution,
    n_centres: int,
    n_frames: int,
    ideal: NDArray[np.float64],
    blocks: Sequence[Block] | None,
) -> tuple[RadialDistribution, list[Message]]:
    """Return an RDF with the first minimum of g and n(r) there, and with errors if there are any.

    Parameters
    ----------
    n_centres, n_frames
        Numbers of centres of a frame, and of frames.
    ideal
        `(bins,)`, counts of a frame where g is 1.
    blocks
        The arrays of blocks of frames; None without errors.

    Returns
    -------
    RadialDistribution
        With its fields, and errors of the part "coordination".
    list
        Messages on what is not resolved.
    """
    edges = result.edges

    def numbers(counts: NDArray[np.int64], n_frames: float) -> tuple[float, float]:
        at = first_minimum(counts, n_frames * ideal, edges)
        known = counts.cumsum() / np.float64(n_centres * n_frames)
        return at, float(np.interp(at, edges, np.append(0.0, known)))

    if not n_frames:
        return result, []
    at, number = numbers(result.counts, n_frames)
    found = replace(result, first_minimum=at, coordination_number=number)
    if blocks is None:
        return found, []
    sizes = np.array([float(block["n_frames"]) for block in blocks])
    counts = np.array([block["counts"] for block in blocks], np.int64).reshape(-1, len(ideal))
    of_blocks = counts.cumsum(axis=1) / (n_centres * sizes[:, None])
    errors = block_errors(of_blocks, "bins of n(r)")
    part = with_errors(result.coordination, errors)
    found = replace(found, parts={"coordination": part})
    # Pseudo-values of the jackknife, see `block_errors.fluctuations`.
    total, n, n_used = counts.sum(axis=0), len(counts), sizes.sum()
    others = [numbers(total - one, n_used - size) for one, size in zip(counts, sizes, strict=True)]
    values = n * np.array(numbers(total, n_used)) - (n - 1) * np.array(others).reshape(-1, 2)
    if not np.isfinite(values).all() or not n:
        return found, errors.messages
    at_minimum = block_errors(values, "numbers of the first minimum", _AT_MINIMUM.__getitem__)
    widths = at_minimum.half_widths.tolist()
    found = replace(found, first_minimum_half_width=widths[0], coordination_half_width=widths[1])
    return found, [*errors.messages, *at_minimum.messages]


def first_minimum(
    counts: NDArray[np.int64], ideal: NDArray[np.float64], edges: NDArray[np.float64]
) -> float:
    """Return the distance of the first minimum of g after its first maximum, Å; NaN without one.

    Parameters
    ----------
    counts, ideal
        `(bins,)`, pairs in each bin, and how many these are where g is 1.
    edges
        `(bins + 1,)`, Å.

    Notes
    -----
    See `trajet.rdf`. The distance is that of a parabola through the minimum and its neighbours. If
    several bins have the smallest number, it is their middle.
    """
    width = (edges[-1] - edges[0]) / len(counts)
    if not (ideal > 0).all():
        return float("nan")
    weights = _gaussian(_SIGMA / width, len(counts))
    norm = np.convolve(np.ones(len(counts)), weights, "same")
    g = np.convolve(counts / ideal, weights, "same") / norm
    errors = np.sqrt(np.convolve(counts / ideal**2, weights**2, "same")) / norm
    before = np.maximum.accumulate(g)
    falls = (before > 1) & (before - g > np.maximum(_FALL * before, _ERRORS * errors))
    if not falls.any():
        return float("nan")
    fall = int(falls.argmax())
    peak = int(g[:fall].argmax())
    # Rises before g has fallen are those of a maximum of two peaks.
    before = np.minimum.accumulate(g[fall:])
    rises = g[fall:] - before > np.maximum(_RISE, _ERRORS * errors[fall:])
    if not rises.any():
        return float("nan")
    end = fall + int(rises.argmax())
    lowest = peak + np.flatnonzero(g[peak:end] == g[peak:end].min())
    middle = float(lowest.mean())
    if len(lowest) == 1:
        left, low, right = g[lowest[0] - 1 : lowest[0] + 2].tolist()
        middle += (left - right) / (2 * (left - 2 * low + right))
    return float(edges[0] + width * (middle + 0.5))


def _gaussian(sigma: float, n: int) -> NDArray[np.float64]:
    """Return weights of a Gaussian, its standard deviation in bins, for at most n bins."""
    reach = min(int(_REACH * sigma), (n - 1) // 2)
    weights = np.exp(-0.5 * (np.arange(-reach, reach + 1) / sigma) ** 2)
    shares: NDArray[np.float64] = weights / weights.sum()
    return shares
