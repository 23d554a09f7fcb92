"""Divisions of frames into clusters: by distances from centres, or by the matrix of all pairs."""

from collections.abc import Callable, Generator
from dataclasses import replace
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from trajet._trajet import AnalysisError, Plan
from trajet.analysis.center_clusters import divide_positions
from trajet.analysis.clusters import Linkage, gromos, hierarchical, medoids_of
from trajet.analysis.collected import threads_of
from trajet.analysis.job import Finished, advanced
from trajet.analysis.pairwise_rmsd import FEWER, check_size, matrix_size, pairwise_rmsd
from trajet.analysis.reference import Weights, is_equal, weights_of
from trajet.analysis.runner import AnalysisOutcome, RunOptions, RunRequest
from trajet.memory import check_memory
from trajet.messages import Message
from trajet.pools.pool import n_frames_of
from trajet.quoting import quoted
from trajet.result import PairwiseRmsd, Report
from trajet.result.axes import Axis
from trajet.trajectory import Selection, resolve_frames

# Bytes for each pair of frames while SciPy works: half the matrix in float64, and a copy.
_LINKAGE = 8
# Bytes of a coordinate, and of what is known of a frame beside it.
_SINGLE, _OF_FRAME = 4, 64
_FEWER = ", or the method 'gromos', or 'kcenters' or 'regular', which need no matrix"


class Division(NamedTuple):
    """Clusters of frames.

    Columns of clusters have numbers of frames of the trajectory. `report` makes the report of
    messages.
    """

    labels: NDArray[np.int64]
    columns: dict[str, NDArray[np.generic]]
    frames: Axis
    selections: tuple[str, ...]
    report: Callable[[list[Message]], Report]
    pairs: PairwiseRmsd | None = None


def around_centers(
    atoms: Selection,
    cutoff: float | None,
    n_clusters: int | None,
    weights: Weights,
    max_memory: int | None,
    run: RunOptions,
) -> Generator[RunRequest, AnalysisOutcome, Division]:
    """Divide frames by their distances from centres."""
    messages: list[Message] = []
    numbers = weights_of(weights, atoms, messages)
    n_frames = len(atoms.trajectory.source.numbers(run.get("frames")))
    parts = [
        ("positions", 3 * _SINGLE * n_frames * atoms.n_atoms),
        ("distances", _OF_FRAME * n_frames),
    ]
    raised = "" if max_memory else "; max_memory= allows more"
    check_memory(parts, max_memory, FEWER + raised)
    plan = Plan(
        "positions",
        atoms=atoms.columns,
        align=None,
        average=False,
        finite=True,
        quantity="single",
    )
    outcome = yield RunRequest(plan, [atoms], as_written=[atoms])
    labels, columns = divide_positions(
        outcome.singles("positions"),
        numbers,
        n_clusters=n_clusters,
        cutoff=cutoff,
        threads=threads_of(run.get("pool")),
    )
    for name in ("medoid", "center"):
        columns[name] = outcome.frames[columns[name].astype(np.int64)]
    return Division(
        labels,
        columns,
        outcome.frames_axis,
        (atoms.label,),
        lambda found: outcome.report([*messages, *found]),
    )


def check_matrix(pairs: PairwiseRmsd, weights: Weights, run: RunOptions) -> None:
    """Raise a ValueError for a matrix of two trajectories, and for options that it has already."""
    given = {"frames": run.get("frames") is not None, "weights": not is_equal(weights)}
    if ignored := [name for name, is_given in given.items() if is_given]:
        raise ValueError(
            f"the matrix was computed with its own {ignored[0]}: give {ignored[0]} to"
            " pairwise_rmsd, or give a selection instead of the matrix"
        )
    if not pairs.is_within:
        raise ValueError("clusters need RMSDs within one trajectory: this matrix is of two")


def pairs_of(
    atoms: Selection, method: str, weights: Weights, max_memory: int | None, run: RunOptions
) -> Generator[RunRequest, AnalysisOutcome, PairwiseRmsd]:
    """Compute the RMSDs of all pairs."""
    trajectory = atoms.trajectory
    n_frames = n_frames_of(resolve_frames(run.get("frames"), trajectory))
    further, advice = list[tuple[str, int]](), ""
    if method != "gromos":
        further, advice = [("linkage", _LINKAGE * n_frames * n_frames)], _FEWER
    check_size([n_frames], atoms.n_atoms, max_memory, further=further, advice=advice)
    steps = pairwise_rmsd.job(atoms, weights=weights, max_memory=max_memory).start(**run)
    request = advanced(steps, None)
    assert isinstance(request, RunRequest)
    # The matrix is needed in memory.
    matrix = None if max_memory is not None else matrix_size([n_frames], advice)
    done = advanced(steps, (yield replace(request, further_result=matrix)))
    assert isinstance(done, Finished)
    return done.result


def of_pairs(
    pairs: PairwiseRmsd,
    method: str,
    cutoff: float | None,
    n_clusters: int | None,
    max_memory: int | None,
    parameters: dict[str, object],
) -> Division:
    """Divide frames by the RMSDs of all pairs; `parameters` are those of the report."""
    values = pairs.values
    # A frame without positions is NaN in every row.
    missing = np.flatnonzero(np.isnan(values[0])) if len(values) else np.empty(0, np.int64)
    if missing.size:
        first = 0 if missing.size == len(values) else missing[0]
        raise AnalysisError(
            f"selection {quoted(pairs.selections[0])}: frame {pairs.frames[first]}: an atom has no"
            " position (NaN): leave this frame out"
        )
    if method == "gromos":
        assert cutoff is not None
        # RMSDs are float32.
        labels = gromos(values, min(cutoff, float(np.finfo(np.float32).max)))
    else:
        # A matrix that was given takes memory already.
        known = values.nbytes if max_memory is not None else 0
        parts = [("the matrix", known), ("linkage", _LINKAGE * values.size)]
        check_memory(parts, max_memory, f"choose fewer frames{_FEWER}")
        labels = hierarchical(values, cast(Linkage, method), cutoff=cutoff, n_clusters=n_clusters)

    def report(messages: list[Message]) -> Report:
        return pairs.report.changed(
            messages=[*messages, *pairs.messages],
            parameters={"method": method, **parameters},
            analysis="cluster_rmsd",
        )

    found = pairs.frames[medoids_of(values, labels)]
    return Division(labels, {"medoid": found}, pairs.axes[0], pairs.selections, report, pairs)
