"""Conversion to HDF5 on ranks of MPI, beside one process.

    .venv/bin/python benches/ranks.py [--rounds 5] [--data FOLDER]

10,000 frames of adenylate kinase, 3,341 atoms. Each round starts 1, 2 and 4 ranks anew, with the
files in the page cache; the least of all rounds counts. Two tables of Markdown are printed: seconds
by the clock, and seconds of work: processor time, of each step between two meetings of the ranks
that of the busiest. The latter say how a job would take on free cores, also on a busy machine, but
for what moves between ranks. What reads HDF5 on ranks is measured by `trajet bench scaling`.
"""

from __future__ import annotations

import argparse
import json
import os
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import trajet as tj
from trajet import h5md

DATA = Path(__file__).resolve().parent / "data"
N_FRAMES = 10_000
PACKED = {"not packed": None, "gzip 2": 2}


def make(folder: Path) -> Path:
    """Write the trajectory, with steps and times that ascend: H5MD takes no others."""
    from MDAnalysisTests import datafiles

    target = folder / "adk10000.xtc"
    if not target.exists():
        short = folder / "adk98.xtc"
        tj.convert(tj.open(None, datafiles.DCD, sidecar=False), short, force=True)
        offsets = [*tj.open(None, short, sidecar=False).reader.offsets(), short.stat().st_size]
        data = short.read_bytes()
        with target.with_suffix(".part").open("wb") as file:
            for frame in range(N_FRAMES):
                k = frame % (len(offsets) - 1)
                words = bytearray(data[offsets[k] : offsets[k + 1]])
                struct.pack_into(">if", words, 8, frame, float(frame))
                file.write(words)
        target.with_suffix(".part").rename(target)
    return target


class Steps:
    """A communicator that notes how much work lies between the meetings of its ranks."""

    def __init__(self, comm: Any) -> None:
        self.comm = comm
        self.rank, self.size = comm.rank, comm.size
        self.work: list[float] = []
        self._begin = time.process_time()

    def _met(self, meeting: Callable[[], Any]) -> Any:
        self.work.append(time.process_time() - self._begin)
        found = meeting()
        self._begin = time.process_time()
        return found

    def allgather(self, sendobj: Any) -> Any:
        """Meet."""
        return self._met(lambda: self.comm.allgather(sendobj))

    def bcast(self, obj: Any, root: int = 0) -> Any:
        """Meet."""
        return self._met(lambda: self.comm.bcast(obj, root))

    def gather(self, sendobj: Any, root: int = 0) -> Any:
        """Meet."""
        return self._met(lambda: self.comm.gather(sendobj, root))

    def scatter(self, sendobj: Any, root: int = 0) -> Any:
        """Meet."""
        return self._met(lambda: self.comm.scatter(sendobj, root))

    def longest(self) -> float:
        """Return the work of the busiest rank in each step, summed; on rank 0."""
        self._met(lambda: None)
        steps = self.comm.gather(self.work)
        return sum(map(max, zip(*steps, strict=True))) if steps else 0.0


def on_ranks(folder: Path, source: Path) -> dict[str, tuple[float, float]]:
    """Return seconds by the clock and of work for each packing, on rank 0; nothing on others."""
    from mpi4py import MPI

    comm, seconds = MPI.COMM_WORLD, {}
    traj = tj.open(None, source)
    for name, level in PACKED.items():
        content = h5md.Content(traj.reader, None, compression=level)
        comm.barrier()
        begin, steps = time.perf_counter(), Steps(comm)
        if comm.rank:
            h5md.join_writing(steps)
        else:
            numbers = traj.frame_numbers(None)
            h5md.write_together(folder / "together.h5md", numbers, content, steps)
        worked = steps.longest()
        seconds[name] = time.perf_counter() - begin, worked
    return seconds if comm.rank == 0 else {}


def alone(folder: Path, source: Path) -> dict[tuple[str, str], tuple[float, float]]:
    """Return seconds by the clock and of work, of one process without MPI."""
    seconds, traj, out = {}, tj.open(None, source), folder / "alone.h5md"
    for name, level in PACKED.items():
        begin, worked = time.perf_counter(), time.process_time()
        tj.convert(traj, out, compression=level, force=True, threads=1)
        took = time.perf_counter() - begin, time.process_time() - worked
        seconds["one process, one thread", name] = took
    return seconds


def table(least: dict[tuple[str, str], float]) -> None:
    """Print seconds."""
    print("| |", " | ".join(PACKED), "|")
    print("|---" * (len(PACKED) + 1) + "|")
    for row in dict.fromkeys(row for row, _ in least):
        print(f"| {row} |", " | ".join(f"{least[row, name]:.2f}" for name in PACKED), "|")


def main() -> None:
    """Run all, or what one rank does."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--rank", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    given.data.mkdir(parents=True, exist_ok=True)
    source = given.data / "adk10000.xtc"
    if given.rank:
        if seconds := on_ranks(given.data, source):
            print(json.dumps(seconds))
        return
    make(given.data)
    least: tuple[dict[tuple[str, str], float], ...] = ({}, {})
    print(f"load {os.getloadavg()[0]:.1f} at the beginning")
    for _ in range(given.rounds):
        found = alone(given.data, source)
        for n in (1, 2, 4):
            mpiexec = str(Path(sys.executable).with_name("mpiexec"))
            command = [mpiexec, "-n", str(n), sys.executable, "-m", "mpi4py", __file__]
            done = subprocess.run(
                [*command, "--rank", "--data", str(given.data)],
                check=True,
                capture_output=True,
                text=True,
            )
            row = f"{n} rank" + "s" * (n > 1)
            found |= {(row, name): took for name, took in json.loads(done.stdout).items()}
        for key, both in found.items():
            for one, took in zip(least, both, strict=True):
                one[key] = min(one.get(key, took), took)
    print(f"load {os.getloadavg()[0]:.1f} at the end")
    for title, one in zip(("by the clock", "of work"), least, strict=True):
        print(f"\nSeconds {title}:\n")
        table(one)


if __name__ == "__main__":
    main()
