"""Covariances of positions after superposition, as PCA and maps of correlations take them."""

from collections.abc import Generator
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import AnalysisError, Deviations, Plan
from trajet.analysis.collected import threads_of
from trajet.analysis.reference import (
    Reference,
    Weights,
    broken_in_reference,
    first_of,
    frame_of,
    group_of,
    is_average,
    is_equal,
    reference_positions,
)
from trajet.analysis.runner import AnalysisOutcome, RunOptions, RunRequest
from trajet.memory import STATES, check_limit, check_memory
from trajet.messages import Message
from trajet.quoting import quoted
from trajet.trajectory import Selection

# Bytes of each coordinate: as a row of the run, and as a deviation.
_ROW, _DEVIATION = 8, 4
# Bytes of each element of the matrix while LAPACK works: it, a copy, and room for two more.
_MATRIX = 32
# Coordinates up to which the covariance is folded, and frames need not be kept: 9 MB a state.
_FOLDED = 1536
# Variances below this part of the largest, and a largest one below this (Å²), are rounding.
RANK = 1e-10
STILL = 1e-12
# Columns or rows of a table of deviations in float64 at a time.
_CHUNK = 512


@dataclass(frozen=True)
class Covariances:
    """Covariances of the coordinates of atoms, and their directions of largest variance.

    Attributes
    ----------
    outcome
        Of the run.
    mean
        `(3 n_atoms,)`, mean positions, Å.
    variances
        `(n,)`, Å², in descending order.
    components
        `(3 n_atoms, n_components)`, each column of length 1.
    projections
        `(n_frames, n_components)`, Å.
    sums
        `(3 n_atoms, 3 n_atoms)`, Å², sums over frames of products of deviations from the mean; None
        if they were neither asked for nor needed.
    """

    outcome: AnalysisOutcome
    mean: NDArray[np.float64]
    variances: NDArray[np.float64]
    components: NDArray[np.float64]
    projections: NDArray[np.float64]
    sums: NDArray[np.float64] | None


def check_superposition(align: object, reference: Reference, weights: Weights) -> None:
    """Raise a ValueError for parameters of a superposition without one."""
    if align is None and not (is_average(reference) and is_equal(weights)):
        raise ValueError("reference= and weights= need align=, without which nothing is superposed")


def covariances(
    main: Selection,
    onto: Selection | None,
    reference: Reference,
    weights: Weights,
    messages: list[Message],
    *,
    n_components: int | None,
    max_memory: int | None,
    run: RunOptions,
    has_sums: bool = False,
) -> Generator[RunRequest, AnalysisOutcome, Covariances]:
    """Compute the covariances of positions, and project the frames on their main directions.

    Parameters
    ----------
    onto
        The atoms of the superposition; None for positions as stored.
    messages
        To which messages on the reference are added.
    run
        Whose pool says how many threads of this process compute.
    has_sums
        Whether `sums` are needed, also where PCA takes the products of pairs of frames instead.

    Raises
    ------
    MemoryError
        If positions and matrix need more than `max_memory`, or than is available.
    AnalysisError
        If there are fewer than two frames, or no atom moves.
    """
    check_limit(max_memory)
    average, threads = is_average(reference), threads_of(run.get("pool"))
    width = 3 * main.n_atoms
    prepared: list[dict[str, object]] = []

    def plan(chosen: NDArray[np.int64]) -> Plan:
        if len(chosen) < 2:
            raise AnalysisError(
                f"{main.trajectory.label}: covariances need two frames at least, and"
                f" {len(chosen)} {'is' if len(chosen) == 1 else 'are'} chosen"
            )
        n_frames = len(chosen)
        folded = _is_folded(n_frames, width)
        _check_size(n_frames, width, n_components, max_memory, threads, has_sums=has_sums)
        group = None
        if onto is not None:
            here = first_of(chosen) if average else reference
            target = reference_positions(here, onto, [], messages, chosen)[0]
            number = frame_of(here, main.trajectory)
            messages.extend(broken_in_reference([onto], [target], number, chosen))
            group = group_of(onto, target, weights, messages)
        prepared[:] = [
            {
                "atoms": main.columns,
                "align": group,
                "average": average and onto is not None,
                "finite": True,
            }
        ]
        quantity = "covariance" if folded else "positions"
        return Plan("positions", **prepared[0], quantity=quantity)

    compared = None if onto is None else frame_of(reference, main.trajectory)
    outcome = yield RunRequest(
        plan,
        [main],
        reference=compared,
        as_written=[main] if onto is None or onto is main else [main, onto],
    )
    if _is_folded(len(outcome.frames), width):
        return (yield from _projected(main, outcome, prepared[0], n_components, reference=compared))
    return _collected(outcome, n_components, threads, main.label, has_sums=has_sums)


def _projected(
    main: Selection,
    outcome: AnalysisOutcome,
    options: dict[str, object],
    n_components: int | None,
    *,
    reference: int | None,
) -> Generator[RunRequest, AnalysisOutcome, Covariances]:
    """Return components from merged covariances, and read the frames once more to project them.

    Parameters
    ----------
    outcome
        Of the run for covariances.
    options
        The options of its plan.
    """
    mean, average_structure = outcome.floats("mean"), outcome.floats("average")
    sums = _unfolded(outcome.floats("sums"), 3 * main.n_atoms)
    variances, components = _directions(sums, len(outcome.frames), n_components, main.label)
    _make_positive(components)
    along = {"mean": mean, "components": np.ascontiguousarray(components.T).ravel()}
    last = {**options, "quantity": {"projections": along}, "average": False}
    if len(average_structure):
        # Frames need not be read again for it.
        last["align"] = {**cast(dict[str, object], last["align"]), "reference": average_structure}
    second = yield RunRequest(Plan("positions", **last), [main], reference=reference)
    projections = second.floats("projections")
    return Covariances(outcome, mean, variances, components, projections, sums)


def _is_folded(n_frames: int, width: int) -> bool:
    """Return whether covariances of parts are merged, instead of collecting positions."""
    return width < n_frames and width <= _FOLDED


def _check_size(
    n_frames: int,
    width: int,
    n_components: int | None,
    max_memory: int | None,
    threads: int,
    *,
    has_sums: bool,
) -> None:
    """Raise a MemoryError if positions, or states and projections, and the matrix do not fit."""
    side = min(n_frames, width)
    matrix = ("the matrix and its eigenvectors", _MATRIX * side * side)
    if _is_folded(n_frames, width):
        count = width if n_components is None else min(width, n_components)
        parts = [
            ("projections", n_frames * count * _ROW),
            ("covariances of parts", STATES * threads * _ROW * width * (width + 1) // 2),
            matrix,
        ]
    else:
        parts = [("positions", n_frames * width * (_ROW + _DEVIATION)), matrix]
    if has_sums:
        parts.append(("covariances of all pairs of atoms", 2 * _ROW * width * width))
    raised = "" if max_memory else "; max_memory= allows more"
    advice = f"choose fewer frames (frames=slice(None, None, 10)) or atoms{raised}"
    check_memory(parts, max_memory, advice)


def _unfolded(sums: NDArray[np.float64], width: int) -> NDArray[np.float64]:
    """Return the symmetric matrix `(width, width)` of the rows of its upper triangle."""
    matrix = np.zeros((width, width))
    first = 0
    for k in range(width):
        matrix[k, k:] = matrix[k:, k] = sums[first : first + width - k]
        first += width - k
    return matrix


def _directions(
    matrix: NDArray[np.float64], n_frames: int, n_components: int | None, label: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return variances `(rank,)` and eigenvectors `(side, n_components)` of sums of products."""
    # Imported here, as it looks for the libraries of this process.
    from threadpoolctl import threadpool_limits

    # The bits depend on the number of threads.
    with threadpool_limits(1, "blas"):
        values, vectors = np.linalg.eigh(matrix)
    values, vectors = values[::-1] / (n_frames - 1), vectors[:, ::-1]
    rank = int((values > RANK * values[0]).sum())
    if not values[0] > STILL:
        raise AnalysisError(f"selection {quoted(label)}: no atom moves: there are no components")
    count = rank if n_components is None else min(rank, n_components)
    return values[:rank].copy(), vectors[:, :count].copy()


def _make_positive(components: NDArray[np.float64]) -> None:
    """Change signs so that the largest number of each column by amount is positive."""
    largest = np.abs(components).argmax(axis=0)
    components *= np.sign(components[largest, np.arange(components.shape[1])])


def _collected(
    outcome: AnalysisOutcome, n_components: int | None, threads: int, label: str, *, has_sums: bool
) -> Covariances:
    """Return components and projections of the positions of all frames."""
    positions = outcome.floats("positions")
    n_frames, width = positions.shape
    of_frames = n_frames <= width
    mean, matrix = _products(positions, threads, of_frames=of_frames)
    variances, vectors = _directions(matrix, n_frames, n_components, label)
    sums = None if of_frames else matrix
    del matrix
    components = vectors
    if of_frames:
        # From directions in the space of frames to those in the space of coordinates.
        components = np.empty((width, vectors.shape[1]))
        for first in range(0, width, _CHUNK):
            part = slice(first, first + _CHUNK)
            components[part] = (positions[:, part] - mean[part]).T @ vectors
        components /= np.linalg.norm(components, axis=0)
        sums = _products(positions, threads, of_frames=False)[1] if has_sums else None
    _make_positive(components)
    projections = np.empty((n_frames, components.shape[1]))
    for first in range(0, n_frames, _CHUNK):
        part = slice(first, first + _CHUNK)
        projections[part] = (positions[part] - mean) @ components
    return Covariances(outcome, mean, variances, components, projections, sums)


def _products(
    positions: NDArray[np.float64], threads: int, *, of_frames: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean, and products of the deviations of all pairs of frames, or coordinates."""
    deviations = Deviations(positions, of_frames=of_frames, threads=threads)
    return deviations.mean, deviations.products(threads=threads, progress=None)
