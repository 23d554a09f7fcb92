"""Runs analyses of MDAnalysis on ranks: `mpiexec -n N python -m helpers.guest_ranks FOLDER NAME …`.

Rank 0 writes its answer to the folder. Classes and functions of this script are known to it alone.
The last run ends all ranks with an error.
"""

import pickle
import sys
from pathlib import Path
from typing import Any

import trajet as tj
from mpi4py import MPI
from trajet.mdanalysis import Backend, report, run

from helpers import guest_analyses


class OfScript(guest_analyses.MadeInInit):
    """A class of this script."""


def everything(folder: Path, *names: str) -> None:
    """Run analyses and `map`; catch errors on every rank."""
    pool, found = tj.MpiPool(), {}
    for name in names:
        make, frames = guest_analyses.ANALYSES[name]
        analysis = None if pool.rank else make()
        ours = run(analysis, pool=pool, progress=False, **frames)
        assert bool(ours) == (pool.rank == 0)
        if ours:
            kept = ("results", "frames", "times", "n_frames", "start", "stop", "step")
            found[name] = {one: getattr(ours, one) for one in kept}
    atoms = guest_analyses.adk().select_atoms("name CA")
    seen: list[tuple[int, int]] = []
    ours = run(OfScript(atoms), pool=pool, progress=lambda *now: seen.append(now))
    squares = pool.map(lambda number: (number**2, OfScript), range(20))
    errors = []
    for attempt in (
        lambda: run(guest_analyses.Failing(atoms, 37, guest_analyses.raise_value_error), pool=pool),
        lambda: run(atoms, pool=pool),
        lambda: pool.map(int, ["1", "no"]),
    ):
        try:
            attempt()
        except Exception as error:
            errors.append([type(error).__name__, str(error), getattr(error, "__notes__", [])])
    all_errors = MPI.COMM_WORLD.gather(errors)
    if pool.rank == 0:
        ranks = {worker["rank"] for worker in report(ours)["workers"]}
        answer: dict[str, Any] = {
            "analyses": found,
            "own": dict(ours.results),
            "seen": seen,
            "squares": [square for square, _ in squares],
            "same class": all(kind is OfScript for _, kind in squares),
            "errors": all_errors,
            "ranks": ranks,
        }
        (folder / "answer.pickle").write_bytes(pickle.dumps(answer))
    # An error of another rank ends all of them.
    MPI.COMM_WORLD.Barrier()


def use_backend() -> None:
    """Use a backend where all ranks run the script."""
    analysis = guest_analyses.ANALYSES["RMSD"][0]()
    analysis.run(backend=Backend(tj.MpiPool()), unsupported_backend=True)


if __name__ == "__main__":
    everything(Path(sys.argv[1]), *sys.argv[2:])
    use_backend()
