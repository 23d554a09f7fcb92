"""Runs over members whose results are kept, in processes that tests kill.

On ranks: `mpiexec -n N python -m helpers.kept_members FOLDER`.
"""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import trajet as tj
from trajet.pools.members import member_pool

from helpers.forked_processes import forked_processes
from helpers.golden_files import Adk
from helpers.made_ensembles import PATTERN, TOPOLOGY, made_replicas
from helpers.started_ranks import command

N_MEMBERS = 4
# Timeout of a run, s: far more than any needs.
HANGS = 120
# Most seconds from a result to the kill: about as long as to the next one.
LATER = 0.1


def jobs(ensemble: tj.Ensemble) -> list[Any]:
    """Return two analyses."""
    calpha = ensemble.select("name CA")
    return [tj.rmsf.job(calpha, align="same"), tj.gyration.job(ensemble.select("protein"))]


def numbers(results: list[Any]) -> list[bytes]:
    """Return the bits of all values."""
    return [one.values.tobytes() for result in results for one in result]


def again(folder: Path) -> tj.Ensemble:
    """Return the ensemble, as another process would make it."""
    files = folder / "files"
    return tj.ensemble(str(files / PATTERN), topology=str(files / TOPOLOGY))


def n_reused(results: list[Any]) -> list[int]:
    """Return the number of results of each analysis that were used again."""
    return [result.n_reused for result in results]


def run(folder: Path, pool: tj.Pool) -> None:
    """Run the analyses, with several tasks for each member."""
    member_pool.MIN_BYTES = 1
    tj.run(jobs(again(folder)), resume=folder / "kept", pool=pool)


def on_threads(folder: Path) -> None:
    """Run on threads."""
    run(folder, tj.LocalPool(threads=2))


def on_processes(folder: Path) -> None:
    """Run on processes."""
    run(folder, tj.ProcessPool(workers=2))


def on_dask(folder: Path, address: str) -> None:
    """Run on the workers of a scheduler."""
    from distributed import Client

    with Client(address) as client:
        run(folder, tj.DaskPool(client))


@dataclass
class Victim:
    """A run that has begun.

    Attributes
    ----------
    processes
        Returns the processes of which one is to be killed.
    join
        Waits for the end of the run; returns whether it was killed.
    """

    processes: Callable[[], list[int]]
    join: Callable[[], bool]


def in_a_process(target: Callable[..., None], *args: object) -> Victim:
    """Begin a run in a process of its own."""
    process = forked_processes().Process(target=target, args=args)
    process.start()

    def join() -> bool:
        process.join(HANGS)
        assert process.exitcode in (0, -signal.SIGKILL), process.exitcode
        return process.exitcode != 0

    return Victim(lambda: [process.pid or 0], join)


def on_ranks(folder: Path) -> Victim:
    """Begin a run on three ranks."""
    ranks = subprocess.Popen(
        command(3, "-m", "helpers.kept_members", folder), stderr=subprocess.DEVNULL
    )

    def processes() -> list[int]:
        begun = sorted(folder.glob("rank *"))
        return [int(one.read_text()) for one in begun] if len(begun) == 3 else []

    return Victim(processes, lambda: ranks.wait(HANGS) != 0)


def kill_at_random(adk: Adk, folder: Path, start: Callable[[Path], Victim], kills: int) -> int:
    """Kill runs between their first and last result, and complete them; return how many died.

    The results have the bits of a run that nobody kills.
    """
    ensemble = made_replicas(adk, folder / "files", {"wt": N_MEMBERS})
    known, died, kept = numbers(tj.run(jobs(ensemble))), 0, folder / "kept"
    for _ in range(kills):
        for path in folder.glob("rank *"):
            path.unlink()
        shutil.rmtree(kept, ignore_errors=True)
        kept.mkdir()
        seed = random.randrange(10**9)
        chosen, victim = random.Random(seed), start(folder)
        wanted, end = chosen.randrange(2 * N_MEMBERS), time.monotonic() + HANGS
        while len(list(kept.iterdir())) < wanted or not victim.processes():
            assert time.monotonic() < end, f"seed {seed}"
            time.sleep(0.002)
        time.sleep(chosen.random() * LATER)
        # It may have ended.
        with suppress(ProcessLookupError):
            os.kill(chosen.choice(victim.processes()), signal.SIGKILL)
        died += victim.join()
        complete = len([one for one in kept.iterdir() if not one.name.startswith(".")])
        resumed = tj.run(jobs(again(folder)), resume=kept)
        assert sum(n_reused(resumed)) == complete, f"seed {seed}"
        assert numbers(resumed) == known, f"seed {seed}"
        assert n_reused(tj.run(jobs(ensemble), resume=kept)) == [N_MEMBERS] * 2
    return died


def main() -> None:
    """Run on ranks."""
    folder, pool = Path(sys.argv[1]), tj.MpiPool()
    path = folder / f"rank {pool.rank}"
    path.with_name("." + path.name).write_text(str(os.getpid()))
    path.with_name("." + path.name).rename(path)
    run(folder, pool)


if __name__ == "__main__":
    main()
