"""Following the first sentence of `trajet advise --ranks`: what it promises beside what it gains.

Five cases are made to be different: a report of one thread is made under each storage, the advice
is asked for, and the advised number of workers is run. The storage of each case is known, as
`trajet bench storage` would measure it; the cluster is this machine.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from MDAnalysisTests import datafiles
from trajet import advise
from trajet.advise import Cluster, Environment, Storage
from trajet.advise.scaling import WayName
from trajet.result import entries_of

from scale_model import own


@dataclass(frozen=True)
class Case:
    """A case: a storage by rules of the slow store, and the same for the model."""

    limit: str  # that the advice has to name
    rules: str
    storage: Storage
    ranks: Sequence[int]  # numbers of workers to choose from
    way: WayName = "threads"  # that has to be advised: threads share their open file
    options: tuple[str, ...] = ()
    file: str = "adk.xtc"
    analysis: str = "rmsd"


# Seconds of the slow store besides its rules, for each request.
_ITSELF = 0.003
_LATENCY = 0.02
_WAITS = Storage(latency=_LATENCY + _ITSELF, client_bandwidth=1e9, open_seconds=_ITSELF)
CASES = (
    Case("computing", "", Storage(), (1, 2), options=("--groups", "name CA") * 400),
    Case(
        "bandwidth",
        f"delay_ms {1e3 * _LATENCY}\nmegabytes_per_s 15\n",
        replace(_WAITS, client_bandwidth=15e6, total_bandwidth=15e6),
        (1, 2, 4, 8, 16),
    ),
    Case(
        "requests",
        f"delay_ms {1e3 * _LATENCY}\nrequests_per_s 80\n",
        replace(_WAITS, latency=_WAITS.latency + 1 / 80, requests_per_s=80.0),
        (1, 2, 4, 8, 16),
    ),
    Case(
        "opening",
        "delay_ms 60\nopens_per_s 2\n",
        replace(_WAITS, latency=0.06 + _ITSELF, open_seconds=0.0, opens_per_s=2.0),
        (1, 2, 4, 8, 16),
        way="mpi",
    ),
    Case(
        "tasks",
        # Few frames, each of which takes long; the head and the tail of the file do not.
        "delay_ms 20\nfactor 200\nslow_region 0.1 0.9\n",
        replace(_WAITS, latency=200 * _LATENCY + _ITSELF),
        (1, 4, 16),
        options=("--start", "20", "--stop", "24"),
        file="adk.dcd",
        # RMSD would read its reference, and check the box, as slowly as a frame.
        analysis="distances",
    ),
)


def report(rounds: int, copies: int, cases: Sequence[Case] = CASES) -> Iterator[str]:
    """Yield the lines of a table."""
    yield "| limit | named | asked for | promised: s, gain | measured: s, gain | error of gain % |"
    yield "|---|---|---|---|---|---|"
    with TemporaryDirectory() as name:
        folder = Path(name)
        own.make_files(folder, copies)
        own.timed(folder / "adk.xtc", "threads", 1)  # builds the index
        shutil.copy(datafiles.DCD, folder / "adk.dcd")
        for case in cases:
            with own.slow_store(folder, case.rules) as slow:
                where = folder if case.limit == "computing" else slow
                yield _line(where / case.file, case, rounds)


def _line(path: Path, case: Case, rounds: int) -> str:
    """Return the line of a case."""
    alone = own.best_of(rounds, path, "threads", 1, *case.options, analysis=case.analysis)
    # One core a node: only MPI and Dask have several workers there.
    on_node = 1 if case.way == "mpi" else max(case.ranks)
    cluster = Cluster(cores_per_node=on_node, cores=len(os.sched_getaffinity(0)))
    allocation = advise.allocate(
        entries_of(alone.report), case.ranks, Environment(case.storage, cluster)
    )
    choice = allocation.choice
    run = own.best_of(
        rounds, path, choice.setup.way, choice.setup.workers, *case.options, analysis=case.analysis
    )
    promised, gained = allocation.speed_up(choice), alone.wall / run.wall
    print(allocation.sentences[0])
    return (
        f"| {case.limit} | {allocation.limit} | {choice.setup.workers} {choice.setup.way}"
        f" | {choice.seconds:.2f}, {promised:.2f} | {run.wall:.2f}, {gained:.2f}"
        f" | {100 * (gained / promised - 1):+.0f} |"
    )
