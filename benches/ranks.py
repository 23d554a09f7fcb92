"""Conversion to H5MD on MPI ranks, beside one process.

    .venv/bin/python benches/ranks.py [--rounds 5] [--data FOLDER]

10,000 frames of adenylate kinase, 3,341 atoms. Each round starts 1, 2 and 4 ranks anew, with the
files in the page cache. Prints a table of Markdown: the least seconds of all rounds, without the
start of the ranks. `benches/machine scaling` measures reading of HDF5 on ranks.
"""

from __future__ import annotations

import argparse
import json
import os
import struct
import subprocess
import sys
import time
from pathlib import Path

import trajet as tj
from peers.trajet import require_release_build

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
        offsets = tj.open(None, short, sidecar=False).source.reader.offsets().tolist()
        offsets.append(short.stat().st_size)
        data = short.read_bytes()
        with target.with_suffix(".part").open("wb") as file:
            for frame in range(N_FRAMES):
                k = frame % (len(offsets) - 1)
                words = bytearray(data[offsets[k] : offsets[k + 1]])
                struct.pack_into(">if", words, 8, frame, float(frame))
                file.write(words)
        target.with_suffix(".part").rename(target)
    return target


def convert(source: Path, pool: tj.Pool | None) -> dict[str, float]:
    """Return seconds of conversions, by packing."""
    seconds, traj = {}, tj.open(None, source, pool=pool)
    threads = 1 if pool is None else None
    for name, level in PACKED.items():
        begin = time.perf_counter()
        out = source.with_name("out.h5md")
        tj.convert(traj, out, compression=level, force=True, threads=threads, pool=pool)
        seconds[name] = time.perf_counter() - begin
    return seconds


def on_ranks(source: Path, n: int) -> dict[str, float]:
    """Return seconds of conversions on `n` ranks."""
    mpiexec = str(Path(sys.executable).with_name("mpiexec"))
    command = [mpiexec, "-n", str(n), sys.executable, "-m", "mpi4py", __file__]
    done = subprocess.run(
        [*command, "--rank", "--data", str(source.parent)],
        check=True,
        capture_output=True,
        text=True,
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> None:
    """Measure, or convert on one of the ranks."""
    require_release_build()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--rank", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    given.data.mkdir(parents=True, exist_ok=True)
    source = given.data / "adk10000.xtc"
    if given.rank:
        pool = tj.MpiPool()
        seconds = convert(source, pool)
        if pool.rank == 0:
            print(json.dumps(seconds))
        return
    make(given.data)
    rows: dict[str, list[dict[str, float]]] = {}
    print(f"load {os.getloadavg()[0]:.1f} at the beginning")
    for _ in range(given.rounds):
        rows.setdefault("one process, one thread", []).append(convert(source, None))
        for n in (1, 2, 4):
            row = f"{n} rank" + "s" * (n > 1)
            rows.setdefault(row, []).append(on_ranks(source, n))
    print(f"load {os.getloadavg()[0]:.1f} at the end\n")
    print("| seconds |", " | ".join(PACKED), "|")
    print("|---" * (len(PACKED) + 1) + "|")
    for row, rounds in rows.items():
        least = (min(one[name] for one in rounds) for name in PACKED)
        print(f"| {row} |", " | ".join(f"{seconds:.2f}" for seconds in least), "|")


if __name__ == "__main__":
    main()
