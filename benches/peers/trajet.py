"""trajet: `blocks` of a selection, and its analyses with one thread and with more."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib.metadata import version
from time import perf_counter
from typing import Any

import numpy as np
from cases import RDF_BINS, RDF_RANGE, Case, MissingError, Truth, expect, expect_values
from numpy.typing import NDArray

from peers.contestant import Contestant, clock


def load() -> Any:
    """Return the package; raise `MissingError` if it is missing, or no release build."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            import trajet as tj
        except ModuleNotFoundError as error:
            raise MissingError(f"trajet: {error}") from None
    if any("debug" in str(warning.message) for warning in caught) or tj._trajet.DEBUG_BUILD:
        raise MissingError("trajet: a debug build, which nobody should time")
    if tj._trajet.TEST_BUILD:
        raise MissingError(
            "trajet: built for the tests, with little optimisation: make .venv/.made-built"
        )
    return tj


def require_release_build() -> None:
    """End the program if trajet is missing, or no release build, whose times say nothing."""
    try:
        load()
    except MissingError as error:
        raise SystemExit(str(error)) from None


def instruction_set() -> str:
    """Return the name of the instruction set that trajet uses here."""
    return str(load()._trajet.INSTRUCTION_SET)


def open_trajectory(tj: Any, case: Case) -> Any:
    """Open the case; raise `MissingError` if its format is not supported."""
    try:
        return tj.open(str(case.topology), str(case.trajectory))
    except tj.FormatError as error:
        raise MissingError(f"trajet cannot open {case.trajectory.name}: {error}") from None


def analysis(tj: Any, case: Case, truth: Truth, chosen: Any, threads: int) -> Callable[[], Any]:
    """Return a function that runs the analysis of the case once."""
    if not hasattr(tj, case.task):
        raise MissingError(f"trajet has no `{case.task}` yet")
    options = {"frames": slice(case.n_frames), "pool": tj.LocalPool(threads=threads)}
    if case.task == "dihedrals":
        # The angles are selected before, as MDAnalysis' groups are.
        fours = truth.quadruples
        return lambda: tj.dihedrals(chosen, fours, sin_cos=True, **options)
    if case.task == "rdf":
        return lambda: tj.rdf(chosen, bins=RDF_BINS, range=RDF_RANGE, **options)
    return lambda: getattr(tj, case.task)(chosen, **options)


def values_of(case: Case, result: Any) -> NDArray[np.float64]:
    """Return the values of a result as `peers` describes them."""
    return np.asarray(result.counts if case.task == "rdf" else result.values, dtype=np.float64)


def prepare(case: Case, truth: Truth) -> list[Contestant]:
    """Prepare `blocks` of the selection, or the analysis with as many threads as the target."""
    tj = load()
    traj = open_trajectory(tj, case)
    chosen = traj if case.selection is None else traj.select(case.selection)
    isa, number = instruction_set(), version("trajet")

    def verify() -> None:
        positions = chosen.read(frames=truth.frames).positions
        expect(np.array_equal(positions, truth.positions), "trajet", "positions")

    def read() -> float:
        frames = 0
        start = perf_counter()
        for block in chosen.blocks():
            frames += len(block.positions)
        seconds = perf_counter() - start
        expect(frames == truth.n_frames, "trajet", "numbers of frames")
        return seconds

    if case.task == "read":
        return [Contestant("trajet", number, 1, verify, read, isa)]

    def with_threads(threads: int) -> Contestant:
        job = analysis(tj, case, truth, chosen, threads)

        def verify_values() -> None:
            verify()
            expect_values(values_of(case, job()), case, truth, "trajet")

        return Contestant("trajet", number, threads, verify_values, clock(job), isa)

    return [with_threads(threads) for threads in sorted({1, case.target_threads})]
