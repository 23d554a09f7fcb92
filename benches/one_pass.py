"""Time several analyses in one pass beside the same analyses one after another.

Usage: `python benches/one_pass.py [CASE ...] [--rounds N] [--threads N] [--frames N]`.

Cases are "six", analyses of every kind of ADK; "adk", RMSD, radius of gyration and RMSF of all its
atoms; and "solvated", those of the C-alpha atoms of a protein in water. Both ways run in turn, in
every round; their values are compared first, bit by bit. For each analysis alone the table has the
time by the clock, the processor time of all threads, and R_comp/IO, the time of computing as a part
of that of reading and decoding: an analysis is bound by reading if this is below one. The sum of
computing is that of the stages of the separate runs; one reading is that of the run that reads the
most. On a machine that others use, ratios of processor times are the ones to read. The native
module must be a release build.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import trajet as tj
from host import describe_load
from MDAnalysisTests import datafiles
from peers.trajet import require_release_build
from trajet.analysis.job import Job

# Analyses by name: jobs that are made anew for each run.
Jobs = dict[str, Job[Any]]

CASES = ("six", "adk", "solvated")


def all_kinds(traj: tj.Trajectory) -> Jobs:
    """Return analyses of every kind, most of which compute more than they read."""
    calpha, protein = traj.select("name CA"), traj.select("protein")
    return {
        "rmsd": tj.rmsd.job(calpha),
        "rmsf": tj.rmsf.job(calpha, align=calpha),
        "gyration": tj.gyration.job(protein),
        "sasa": tj.sasa.job(protein, points=100),
        "hbonds": tj.hbonds.job(protein, pbc=False),
        "pca": tj.pca.job(calpha, n_components=10),
    }


def light(traj: tj.Trajectory, text: str) -> Jobs:
    """Return three analyses of a selection that compute little."""
    atoms = traj.select(text)
    return {
        "rmsd": tj.rmsd.job(atoms),
        "gyration": tj.gyration.job(atoms),
        "rmsf": tj.rmsf.job(atoms),
    }


@dataclass(frozen=True)
class Spent:
    """The seconds of a call: by the clock, and of all threads."""

    wall: float
    cpu: float


def timed(work: Callable[[], Any]) -> tuple[Spent, Any]:
    """Return the duration of a call, and what it returns."""
    begin, before = time.perf_counter(), time.process_time()
    found = work()
    return Spent(time.perf_counter() - begin, time.process_time() - before), found


def reading(report: tj.Report) -> float:
    """Return the seconds of a run's threads in opening, reading and decoding."""
    stages = report["stages"]
    return float(stages["t_open"] + stages["t_read"] + stages["t_decode"])


def computing(report: tj.Report) -> float:
    """Return the seconds of a run's threads in computing and merging."""
    return float(report["stages"]["t_comp"] + report["stages"]["t_merge"])


def compare(name: str, make: Callable[[], Jobs], pool: tj.LocalPool, rounds: int) -> None:
    """Print the times of one pass and of separate runs."""
    alone: dict[str, list[tuple[Spent, Any]]] = {key: [] for key in make()}
    together: list[Spent] = []
    parts: list[float] = []
    for _ in range(rounds):
        for key, job in make().items():
            spent, (result,) = timed(lambda job=job: tj.run([job], pool=pool))
            alone[key].append((spent, result))
        spent, results = timed(lambda: tj.run(list(make().values()), pool=pool))
        together.append(spent)
        reports = [runs[-1][1].report for runs in alone.values()]
        for runs, result in zip(alone.values(), results, strict=True):
            assert np.asarray(runs[-1][1]).tobytes() == np.asarray(result).tobytes()
        # Stages are sums over threads; several passes read several times.
        most, all_of = max(map(reading, reports)), sum(map(computing, reports))
        parts.append(spent.wall / (most + all_of) * pool.n_threads)
    print(f"{name}:")
    for key, runs in alone.items():
        wall, cpu = (median(getattr(spent, of) for spent, _ in runs) for of in ("wall", "cpu"))
        ratio = median(computing(one.report) / reading(one.report) for _, one in runs)
        print(f"  {key:10} {wall:8.3f} s, {cpu:8.3f} s of all threads, R_comp/IO {ratio:.2f}")
    wall, cpu = (median(getattr(one, of) for one in together) for of in ("wall", "cpu"))
    print(f"  {'together':10} {wall:8.3f} s, {cpu:8.3f} s of all threads")
    for of, what in (("wall", "by the clock"), ("cpu", "of all threads")):
        of_sum, of_dearest = [], []
        for k, one in enumerate(together):
            each = [getattr(runs[k][0], of) for runs in alone.values()]
            of_sum.append(getattr(one, of) / sum(each))
            of_dearest.append(getattr(one, of) / max(each))
        print(f"  {what}: {median(of_sum):.2f} of the sum, {median(of_dearest):.2f} of the dearest")
    print(f"  {median(parts):.2f} of all computing and one reading", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the bench."""
    require_release_build()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", help="six, adk or solvated")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--frames", type=int, default=10_000, help="of ADK")
    parser.add_argument("--solvated", type=int, default=2_000, help="frames of the solvated one")
    options = parser.parse_args(arguments)
    for case in options.cases:
        if case not in CASES:
            parser.error(f"there is no case {case!r}: choose among {', '.join(CASES)}")
    pool = tj.LocalPool(threads=options.threads)
    with tempfile.TemporaryDirectory() as place:

        def repeated(topology: str, once: Path, n_frames: int) -> tj.Trajectory:
            path = Path(place) / f"{once.stem}-repeated.xtc"
            times = -(-n_frames // tj.open(None, once, sidecar=False).n_frames)
            path.write_bytes(once.read_bytes() * times)
            traj = tj.open(topology, path)
            print(f"{traj.n_frames} frames of {traj.n_atoms} atoms, {options.threads} threads")
            return traj

        def adk() -> tj.Trajectory:
            once = Path(place) / "adk.xtc"
            if not once.exists():
                tj.convert(tj.open(datafiles.PSF, datafiles.DCD), once)
            return repeated(datafiles.PSF, once, options.frames)

        def solvated() -> tj.Trajectory:
            return repeated(datafiles.TPR, Path(datafiles.XTC), options.solvated)

        for case in options.cases or CASES:
            traj = solvated() if case == "solvated" else adk()
            jobs = all_kinds if case == "six" else light
            text = () if case == "six" else ("name CA" if case == "solvated" else "protein",)
            compare(
                case,
                lambda jobs=jobs, traj=traj, text=text: jobs(traj, *text),
                pool,
                options.rounds,
            )
    print(describe_load())


if __name__ == "__main__":
    main()
