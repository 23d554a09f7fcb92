"""Errors of results that are folded over all frames, from the results of blocks of frames.

Blocks are nodes of the fixed tree of merges, so that errors have the same bits on every pool. The
means of 64 to 128 blocks are a series, of which `trajet.uncertainty` takes the error.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from trajet.messages import Code, Message
from trajet.result import Table
from trajet.uncertainty.estimates import estimates_of_blocks

_T = TypeVar("_T", bound=Table)

# Fewest blocks of results of which all frames are known.
MIN_BLOCKS = 64
# The arrays of a block by name.
Block = Mapping[str, "NDArray[np.float64] | NDArray[np.int64]"]


@dataclass(frozen=True)
class BlockErrors:
    """Errors of several numbers.

    Attributes
    ----------
    standard_errors, half_widths
        `(n_numbers,)`, standard errors, and longer sides of the 95 % intervals; NaN where unknown.
    resolved
        `(n_numbers,)`, whether the intervals can be trusted; False where unknown.
    messages
        A message if some are not resolved.
    """

    standard_errors: NDArray[np.float64]
    half_widths: NDArray[np.float64]
    resolved: NDArray[np.bool_]
    messages: list[Message]


def block_errors(
    values: NDArray[np.float64], numbers: str, label: Callable[[int], str] = "number {}".format
) -> BlockErrors:
    """Return the errors of numbers, each the mean of one number per block.

    Parameters
    ----------
    values
        `(n_blocks, n_numbers)`.
    numbers
        What they are, for the message, such as "RMSF of atoms".
    label
        Returns the name of a number, by its place.
    """
    # Numbers that are the same in all blocks, such as bins without any pair, have no error
    # and need no message. In a map of contacts they are the most.
    is_constant = len(values) > 1 and (values == values[:1]).all(axis=0)
    changes = np.flatnonzero(~np.broadcast_to(is_constant, values.shape[1]))
    found = estimates_of_blocks(values if len(changes) == values.shape[1] else values[:, changes])
    errors, half_widths = np.full((2, values.shape[1]), np.nan)
    errors[changes], half_widths[changes] = found.standard_error, found.half_width
    resolved = np.zeros(values.shape[1], bool)
    resolved[changes] = found.is_resolved
    wrong = np.flatnonzero(found.reasons.astype(bool))
    messages: list[Message] = []
    if len(wrong):
        messages.append(
            Message(
                Code.NOT_RESOLVED,
                f"errors from {len(values)} blocks of frames: {len(wrong)} of {values.shape[1]}"
                f" {numbers} are not resolved, the first is {label(int(changes[wrong[0]]))}:"
                f" {found.reasons[wrong[0]]}",
            )
        )
    return BlockErrors(errors, half_widths, resolved, messages)


def with_errors(table: _T, errors: BlockErrors | None, order: Literal["C", "F"] = "C") -> _T:
    """Return a table with the errors of its values, if they are known.

    Numbers are in the order of the values; in that of their columns with the order "F".
    """
    if errors is None:
        return table
    shape = table.values.shape
    return replace(
        table,
        standard_errors=np.ascontiguousarray(errors.standard_errors.reshape(shape, order=order)),
        half_widths=np.ascontiguousarray(errors.half_widths.reshape(shape, order=order)),
        resolved=np.ascontiguousarray(errors.resolved.reshape(shape, order=order)),
    )


def frames_of_blocks(n_frames: int, n_blocks: int) -> int:
    """Return the number of frames of each of some blocks, which is a power of two.

    It is the only one by which `n_frames` frames give so many whole blocks.
    """
    return 1 << ((n_frames // n_blocks).bit_length() - 1)


def occupancy_series(
    blocks: Sequence[Block], keys: NDArray[np.int64], n_frames: int
) -> NDArray[np.float64]:
    """Return the fraction of the frames of each block in which pairs are bonded.

    Parameters
    ----------
    blocks
        Of each block `keys`, ascending, and `counts`, the numbers of frames.
    keys
        `(n_pairs,)`, int64, ascending: the pairs of all frames.
    n_frames
        Number of all frames.

    Returns
    -------
    ndarray
        `(n_blocks, n_pairs)`, float64.
    """
    values = np.zeros((len(blocks), len(keys)))
    for row, block in zip(values, blocks, strict=True):
        row[np.searchsorted(keys, block["keys"])] = block["counts"]
    return values / frames_of_blocks(n_frames, len(blocks)) if len(blocks) else values


def fractions_of_blocks(labels: NDArray[np.int64], n_labels: int) -> NDArray[np.float64]:
    """Return the fraction of the frames of each block with each label, `(n_blocks, n_labels)`.

    Parameters
    ----------
    labels
        `(n_frames,)`, numbers below `n_labels`. Blocks are 64 to 127 of as many frames each, a
        power of two; of fewer frames, the frames.
    """
    size = frames_of_blocks(max(len(labels), MIN_BLOCKS), MIN_BLOCKS)
    n_blocks = len(labels) // size
    block = np.repeat(np.arange(n_blocks), size)
    places = block * n_labels + labels[: len(block)]
    counts = np.bincount(places, minlength=n_blocks * n_labels)
    return counts.reshape(n_blocks, n_labels) / size


def fluctuations(blocks: Sequence[Block], n_atoms: int) -> NDArray[np.float64]:
    """Return jackknife pseudo-values of RMSFs, `(n_blocks, n_atoms)`, Å.

    The pseudo-value of a block is n θ - (n - 1) θ', with the RMSF θ of all n blocks and θ' of all
    others: R. G. Miller, Biometrika 61, 1 (1974), doi:10.1093/biomet/61.1.1.

    Parameters
    ----------
    blocks
        Of each block `n_frames`, and `(n_atoms, 3)` `means` and `squares`, the sums of squared
        deviations from them.
    n_atoms
        Number of atoms.
    """
    if len(blocks) < 2:
        return np.full((len(blocks), n_atoms), np.nan)
    counts = np.array([float(block["n_frames"]) for block in blocks])
    total, n_frames = np.zeros_like(blocks[0]["means"]), counts.sum()
    for block, count in zip(blocks, counts, strict=True):
        total += count / n_frames * block["means"]
    # Squared distances of the block's mean position from that of all frames, and sums of squared
    # deviations from the block's mean position.
    apart, within = np.empty((2, len(blocks), n_atoms))
    for k, block in enumerate(blocks):
        _sum_of_axes((block["means"] - total) ** 2, apart[k])
        _sum_of_axes(block["squares"], within[k])
    squares = within.sum(axis=0) + (counts[:, np.newaxis] * apart).sum(axis=0)
    of_all = len(blocks) * np.sqrt(squares / n_frames)
    # Without the block, the mean of the others moves away from it.
    values = within
    for k, count in enumerate(counts):
        others = n_frames - count
        left = squares - within[k] - count * n_frames / others * apart[k]
        values[k] = of_all - (len(blocks) - 1) * np.sqrt(np.maximum(left, 0) / others)
    return values


def _sum_of_axes(
    vectors: "NDArray[np.float64] | NDArray[np.int64]", out: NDArray[np.float64]
) -> None:
    """Write the sums of x, y and z of vectors, `(n_atoms, 3)`, to `(n_atoms,)` numbers."""
    np.add(vectors[:, 0], vectors[:, 1], out=out)
    out += vectors[:, 2]
