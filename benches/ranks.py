"""HDF5 on ranks of MPI: reading through MPI-IO, and conversion, beside one process.

    make test-mpio                                      # makes .venv-mpio
    .venv-mpio/bin/python benches/ranks.py [--rounds 5] [--data FOLDER]

10,000 frames of adenylate kinase, 3,341 atoms. Each round starts 1, 2 and 4 ranks anew; times are
taken inside, from one barrier to the next, with the file in the page cache; the least of all rounds
counts. A table of Markdown is printed.
"""

from __future__ import annotations

import argparse
import json
import os
import struct
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import trajet as tj
from trajet import h5md

DATA = Path(__file__).resolve().parent / "data"
N_FRAMES = 10_000
PACKED = {"none": None, "gzip, level 2": 2}
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


def on_ranks(folder: Path, source: Path) -> dict[str, float]:
    """Return the seconds of each case, as rank 0 sees them."""
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    seconds = {}

    def timed(name: str, work: Callable[[], Any]) -> None:
        comm.barrier()
        begin = time.perf_counter()
        work()
        comm.barrier()
        seconds[name] = time.perf_counter() - begin

    def read(path: Path, *, collective: bool) -> None:
        with h5md.MpioFrames(path, comm, collective=collective) as frames:
            unit = frames.chunk_frames
            for call in h5md.shares(frames.n_frames, comm.size, unit=unit, call=CALL)[comm.rank]:
                frames.read(call)

    traj = tj.open(None, source)
    for name, level in PACKED.items():
        path, out = packed(folder, name), folder / "together.h5md"
        timed(f"{CASES[0]}, {name}", lambda path=path: read(path, collective=False))
        timed(f"{CASES[1]}, {name}", lambda path=path: read(path, collective=True))
        how = {"compression": level, "threads": 1, "force": True, "comm": comm}
        timed(f"{CASES[2]}, {name}", lambda how=how, out=out: tj.convert(traj, out, **how))
    return seconds


def alone(folder: Path, source: Path) -> dict[tuple[str, str], float]:
    """Return the seconds of one process, without MPI."""
    seconds = {}

    def read(path: Path) -> None:
        for _ in tj.open(None, path).blocks(CALL):
            pass

    for name, level in PACKED.items():
        path, out = packed(folder, name), folder / "alone.h5md"
        begin = time.perf_counter()
        read(path)
        seconds["`blocks`", f"{CASES[0]}, {name}"] = time.perf_counter() - begin
        for threads in (1, 2):
            begin = time.perf_counter()
            tj.convert(tj.open(None, source), out, compression=level, threads=threads, force=True)
            took = time.perf_counter() - begin
            seconds[f"`convert`, threads: {threads}", f"{CASES[2]}, {name}"] = took
    return seconds


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
    least: dict[tuple[str, str], float] = defaultdict(lambda: float("inf"))
    print(f"load {os.getloadavg()[0]:.1f} at the beginning")
    for _ in range(given.rounds):
        for key, took in alone(given.data, source).items():
            least[key] = min(least[key], took)
        for n in (1, 2, 4):
            command = ["mpiexec.mpich", "-n", str(n), sys.executable, "-m", "mpi4py", __file__]
            done = subprocess.run(
                [*command, "--rank", "--data", str(given.data)],
                check=True,
                capture_output=True,
                text=True,
            )
            for name, took in json.loads(done.stdout).items():
                key = (f"{n} rank" + "s" * (n > 1), name)
                least[key] = min(least[key], took)
    print(f"load {os.getloadavg()[0]:.1f} at the end")
    columns = [f"{case}, {name}" for name in PACKED for case in CASES]
    print("|", *(f"| {column} " for column in columns), "|")
    print("|---" * (len(columns) + 1) + "|")
    for row in dict.fromkeys(row for row, _ in least):
        values = (least.get((row, column)) for column in columns)
        print(f"| {row} |", " | ".join("" if v is None else f"{v:.2f}" for v in values), "|")


if __name__ == "__main__":
    main()
