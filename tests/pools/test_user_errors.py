"""An exception of a user's function reaches the user, whatever its class.

Python ends loops with some classes, and queues and pools use others among themselves: one that
comes from a user must never look like them. Ranks of MPI are in `test_mpi`.
"""

import asyncio
import queue
from collections.abc import Callable
from typing import Any, Never

import numpy as np
import pytest
import trajet as tj
from helpers.golden_files import Adk
from helpers.messages import raises

KINDS = (
    *(StopIteration, StopAsyncIteration, GeneratorExit, queue.Empty, queue.Full, EOFError),
    *(KeyError, RuntimeError, asyncio.CancelledError, MemoryError),
)


@pytest.fixture(params=["local", "processes", "dask"])
def pool(request: pytest.FixtureRequest) -> tj.LocalPool | tj.ProcessPool | tj.DaskPool:
    """Return each pool."""
    if request.param == "dask":
        return tj.DaskPool(request.getfixturevalue("client"))
    return tj.LocalPool(threads=2) if request.param == "local" else tj.ProcessPool(workers=2)


def calls(adk: Adk, kind: type[BaseException], pool: Any) -> dict[str, Callable[[], object]]:
    """Return calls whose function of the user fails, by the place of that function."""
    atoms = tj.open(adk.psf, adk.xtc).select("name CA")
    row = {"topology": adk.psf, "trajectory": adk.xtc}
    members = tj.ensemble([{**row, "replica": k} for k in range(2)]).select("name CA")
    first = atoms.read(frames=[0]).positions[0, 0, 0]

    def fail(*_: object) -> Never:
        raise kind("mine")

    def fail_later(x: np.ndarray) -> float:
        if x[0, 0] != first:
            fail()
        return 1.0

    def total(x: np.ndarray) -> np.ndarray:
        return x.sum(axis=0)

    return {
        "apply, first frame": lambda: tj.apply(atoms, fail, pool=pool),
        "apply, later": lambda: tj.apply(atoms, fail_later, pool=pool),
        "reducer": lambda: tj.apply(atoms, total, reducer=fail, pool=pool),
        "progress": lambda: tj.rmsd(atoms, pool=pool, progress=fail),
        "two passes": lambda: tj.rmsf(
            atoms, align=atoms, reference="average", pool=pool, progress=fail
        ),
        "run": lambda: tj.run([tj.apply.job(atoms, fail_later), tj.rmsd.job(atoms)], pool=pool),
        "run, progress": lambda: tj.run([tj.rmsd.job(atoms)], pool=pool, progress=fail),
        "members": lambda: tj.apply(members, fail_later, pool=pool),
        "members, progress": lambda: tj.rmsd(members, pool=pool, progress=fail),
        "members, frames": lambda: tj.run([tj.rmsd.job(members)], frames=fail, pool=pool),
        "map": lambda: pool.map(lambda k: fail() if k == 2 else k, range(4)),
        "map, progress": lambda: pool.map(lambda k: k, range(4), progress=fail),
    }


PLACES = (
    *("apply, first frame", "apply, later", "reducer", "progress", "two passes", "run"),
    *("run, progress", "members", "members, progress", "members, frames", "map", "map, progress"),
)


@pytest.mark.parametrize("place", PLACES)
def test_stop_iteration_is_raised(adk: Adk, pool: Any, place: str) -> None:
    """It is no end of an analysis, of a loop or of a generator: nothing is returned."""
    with raises(StopIteration, "mine"):
        calls(adk, StopIteration, pool)[place]()


@pytest.mark.parametrize("kind", KINDS)
def test_classes_of_queues_and_generators_are_raised(
    adk: Adk, pool: Any, kind: type[BaseException]
) -> None:
    """Each class at one place of each kind: a function, the progress, an item of `map`."""
    of_kind = calls(adk, kind, pool)
    for place in ("apply, later", "progress", "map"):
        with raises(kind, "mine") as caught:
            of_kind[place]()
        assert type(caught.value) is kind


def test_file_whose_positions_end_by_an_error_is_not_written(tmp_path: Any) -> None:
    """A generator of the user that fails ends nothing: no shorter file is left."""

    def positions(kind: type[BaseException]) -> Any:
        yield np.zeros((1, 5, 3), np.float32)
        raise kind("mine")

    for kind in KINDS:
        with pytest.raises((kind, RuntimeError)):
            tj.write(tmp_path / "out.xtc", positions(kind))
    assert list(tmp_path.iterdir()) == []


def test_progress_is_called_once_all_is_done(adk: Adk, pool: Any) -> None:
    """However short the run is."""
    seen: list[tuple[int, int]] = []
    tj.rmsd(
        tj.open(adk.psf, adk.xtc).select("name CA"), pool=pool, progress=lambda *n: seen.append(n)
    )
    assert seen[-1] == (98, 98)
