"""The model beside runs on this machine: 1 to 64 workers on its cores, through a slow store.

Waiting for the store needs no processor, so that few cores can be many readers. The model knows the
report of one thread, nothing else: its seconds of a request are the latency of the storage. Needs
/dev/fuse, the slow store (`cargo build --release --manifest-path benches/slow-store/Cargo.toml`)
and `pip install 'trajet[mpi,processes,dask]' mpich`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import MDAnalysis
from MDAnalysisTests import datafiles
from slow_store import mounted
from trajet.advise import Cluster, Environment, Prediction, Setup, Storage, Workload, predict
from trajet.advise.scaling import WayName
from trajet.result import Report, entries_of

WAYS: tuple[WayName, ...] = ("threads", "processes", "mpi")
COUNTS = (1, 2, 4, 8, 16, 32, 64)


def make_files(folder: Path, copies: int) -> None:
    """Write `adk.xtc`, whose 98 frames are repeated."""
    one = folder / "one.xtc"
    universe = MDAnalysis.Universe(datafiles.PSF, datafiles.DCD)
    universe.atoms.write(str(one), frames="all")
    (folder / "adk.xtc").write_bytes(one.read_bytes() * copies)
    one.unlink()


@contextmanager
def slow_store(source: Path, rules: str) -> Iterator[Path]:
    """Yield a folder that shows `source` by these rules."""
    with TemporaryDirectory() as folder:
        mount, path = Path(folder) / "mnt", Path(folder) / "rules"
        path.write_text(rules)
        with mounted(source, mount, path):
            yield mount


@dataclass(frozen=True)
class Run:
    """A run: the clock around the command, and its report."""

    wall: float
    report: Report

    @property
    def total(self) -> float:
        """Seconds of the analysis (`t_total`)."""
        return entries_of(self.report)["stages"]["t_total"]


def timed(path: Path, way: WayName, n: int, *options: str, analysis: str = "rmsd") -> Run:
    """Run an analysis of a trajectory on `n` workers."""
    with TemporaryDirectory() as out:
        report = Path(out) / "report.json"
        python = [sys.executable, "-m", "trajet", analysis]
        files = [datafiles.PSF, str(path), "--select", "name CA"]
        pool = {
            "threads": ["--threads", str(n)],
            "processes": ["--pool", "processes", "--workers", str(n), "--threads", "1"],
            "dask": ["--pool", "dask", "--workers", str(n), "--threads", "1"],
            "mpi": ["--pool", "mpi"],
        }[way]
        mpiexec = [str(Path(sys.executable).with_name("mpiexec")), "-n", str(n)]
        start = mpiexec if way == "mpi" else []
        command = [*start, *python, *files, *pool, *options, "--quiet", "--report", str(report)]
        begin = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        return Run(time.perf_counter() - begin, Report.load(report))


def best_of(
    rounds: int, path: Path, way: WayName, n: int, *options: str, analysis: str = "rmsd"
) -> Run:
    """Return the run with the least time of analysis: other programs only make it longer."""
    runs = [timed(path, way, n, *options, analysis=analysis) for _ in range(rounds)]
    return min(runs, key=lambda run: run.total)


def of_analysis(found: Prediction, work: Workload) -> float:
    """Return the predicted seconds of the analysis (`t_total`).

    The caller starts, opens and reads the topology before; processes start within it.
    """
    before = found.parts["starting"] + found.parts["preparing"] + work.opening_before
    late = 0.0
    if found.setup.way == "processes":
        threads = predict(work, replace(found.setup, way="threads"))
        late = found.parts["starting"] - threads.parts["starting"]
    return found.seconds - before + work.planning + late


def environment_of(alone: Run) -> Environment:
    """Return what the report of one thread tells of the storage: seconds of a request."""
    entries = entries_of(alone.report)
    latency = entries["stages"]["t_read"] / entries["requests"]
    return Environment(Storage(latency=latency), Cluster(cores=len(os.sched_getaffinity(0))))


def report(delay: float, rounds: int, copies: int) -> Iterator[str]:
    """Yield the lines of a table."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        make_files(folder, copies)
        timed(folder / "adk.xtc", "threads", 1)  # builds the index
        with slow_store(folder, f"delay_ms {delay}\n") as slow:
            alone = best_of(rounds, slow / "adk.xtc", "threads", 1)
            yield from _lines(slow, alone, rounds)


def _lines(slow: Path, alone: Run, rounds: int) -> Iterator[str]:
    """Yield the header and a line for each number of workers of each pool."""
    work = Workload.of(entries_of(alone.report))
    environment = environment_of(alone)
    yield "| pool | workers | analysis: s | model: s | error % | command: s | model: s | error % |"
    yield "|---|---|---|---|---|---|---|---|"
    for way in WAYS:
        for n in COUNTS:
            run = best_of(rounds, slow / "adk.xtc", way, n)
            found = predict(work, Setup(way, "shared", n), environment)
            pairs = ((run.total, of_analysis(found, work)), (run.wall, found.seconds))
            cells = [
                f"{measured:.2f} | {model:.2f} | {100 * (model / measured - 1):+.0f}"
                for measured, model in pairs
            ]
            yield f"| {way} | {n} | {' | '.join(cells)} |"


def within(lines: Sequence[str], limit: float = 30.0) -> str:
    """Return how many rows are predicted within so many percent."""
    errors = [abs(float(line.split("|")[5])) for line in lines[2:]]
    good = sum(error <= limit for error in errors)
    return f"{good} of {len(errors)} analyses within {limit:.0f} %."
