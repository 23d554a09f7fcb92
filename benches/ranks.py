"""HDF5 on ranks of MPI: reading through MPI-IO, and conversion, beside one process.

    make test-mpio                                      # makes .venv-mpio
    .venv-mpio/bin/python benches/ranks.py [--rounds 5] [--data FOLDER]

10,000 frames of adenylate kinase, 3,341 atoms. Each round starts 1, 2 and 4 ranks anew, with the
files in the page cache; the least of all rounds counts. Two tables of Markdown are printed: seconds
by the clock, and seconds of work: processor time, of each step between two meetings of the ranks
that of the busiest. The latter say how a job would take on free cores, also on a busy machine, but
for what moves between ranks; where HDF5 lets ranks meet inside of a step, waiting is part of it.
"""

from __future__ import annotations

import argparse
import json
import os
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import trajet as tj
from trajet import h5md

DATA = Path(__file__).resolve().parent / "data"
N_FRAMES = 10_000
PACKED = {"not packed": None, "gzip 2": 2}
CASES = ("read, independent", "read, collective", "convert")
# Frames of a call: 4 MB.
CALL = 100


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
    for name, level in PACKED.items():
        path = packed(folder, name)
        if not path.exists():
            tj.convert(tj.open(None, target), path, compression=level)
    return target


def packed(folder: Path, name: str) -> Path:
    """Return where the H5MD file lies."""
    return folder / f"adk10000-{PACKED[name] or 0}.h5md"


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
    """Return seconds by the clock and of work of each case, on rank 0."""
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    seconds = {}

    def timed(name: str, work: Callable[[Steps], Any]) -> None:
        comm.barrier()
        begin, steps = time.perf_counter(), Steps(comm)
        work(steps)
        worked = steps.longest()
        seconds[name] = time.perf_counter() - begin, worked

    def read(name: str, *, collective: bool) -> None:
        path = packed(folder, name)
        with h5md.MpioFrames(path, comm, collective=collective) as frames:
            unit = frames.chunk_frames
            plan = h5md.shares(frames.n_frames, comm.size, unit=unit, call=CALL)
            timed(
                f"{CASES[collective]}, {name}",
                lambda _: [frames.read(call) for call in plan[comm.rank]],
            )

    def write(steps: Steps, content: h5md.Content) -> None:
        if steps.rank:
            h5md.join_writing(steps)
        else:
            numbers = traj.frame_numbers(None)
            h5md.write_together(folder / "together.h5md", numbers, content, steps)

    traj = tj.open(None, source)
    for name, level in PACKED.items():
        for collective in (False, True):
            read(name, collective=collective)
        content = h5md.Content(traj.reader, None, compression=level)
        timed(f"{CASES[2]}, {name}", lambda steps, content=content: write(steps, content))
    return seconds


def alone(folder: Path, source: Path) -> dict[tuple[str, str], tuple[float, float]]:
    """Return seconds by the clock and of work, of one process without MPI."""
    seconds = {}

    def timed(row: str, case: str, work: Callable[[], Any]) -> None:
        begin, worked = time.perf_counter(), time.process_time()
        work()
        seconds[row, case] = time.perf_counter() - begin, time.process_time() - worked

    traj, out = tj.open(None, source), folder / "alone.h5md"
    for name, level in PACKED.items():
        here = tj.open(None, packed(folder, name))
        timed("`blocks`", f"{CASES[0]}, {name}", lambda here=here: list(map(len, blocks(here))))
        how = {"compression": level, "force": True, "threads": 1}
        timed(
            "`convert`, one thread",
            f"{CASES[2]}, {name}",
            lambda how=how: tj.convert(traj, out, **how),
        )
    return seconds


def blocks(traj: tj.Trajectory) -> Iterator[Any]:
    """Read all frames."""
    return (block.positions for block in traj.blocks(CALL))


def table(least: dict[tuple[str, str], float]) -> None:
    """Print seconds."""
    columns = [f"{case}, {name}" for name in PACKED for case in CASES]
    print("| |", " | ".join(columns), "|")
    print("|---" * (len(columns) + 1) + "|")
    for row in dict.fromkeys(row for row, _ in least):
        values = (least.get((row, column)) for column in columns)
        print(f"| {row} |", " | ".join("" if v is None else f"{v:.2f}" for v in values), "|")


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
        seconds = on_ranks(given.data, source)
        if os.environ.get("PMI_RANK", "0") == "0":
            print(json.dumps(seconds))
        return
    make(given.data)
    least: tuple[dict[tuple[str, str], float], ...] = ({}, {})
    print(f"load {os.getloadavg()[0]:.1f} at the beginning")
    for _ in range(given.rounds):
        found = alone(given.data, source)
        for n in (1, 2, 4):
            command = ["mpiexec.mpich", "-n", str(n), sys.executable, "-m", "mpi4py", __file__]
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
