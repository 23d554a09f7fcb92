"""Compare each stage of reading with its limit: the second table of docs/performance.md.

For every format, and for XTC with every instruction set that the processor has, one thread takes
the file stage by stage: the file's bytes copied in memory (no reader can do with less), read from
the page cache in large requests, decoded; then read and decoded within an analysis, for all atoms,
for the C-alpha atoms and for the first half of the atoms; and all atoms passed to Python by
`blocks`. Each row is measured by processes of its own, which take turns; the best of the rounds
counts.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from cases import Case, all_cases
from host import (
    DATA,
    as_lines,
    describe_load,
    digits,
    load,
    require_release_build,
    stamp,
    warm,
    write_section,
)

# Bytes of a request, as trajet makes them on local disks.
REQUEST = 256 << 10
# Offset in a page of memory to which a page of the file is copied, as in `Window` of trajet-files:
# a little behind its own offset, where NumPy's large arrays begin, reading takes twice as long.
MEMORY_PAGE, APART = 4096, 2064
# The cases whose files are read; all of them have C-alpha atoms.
CASES = ("trr-all", "dcd-all", "ncdf-all", "adk-all", "solvated-all")
STAGES = {
    "copy": "copy",
    "requests": "read requests",
    "decode": "decoding",
    "all": "all atoms",
    "C-alpha": "C-alpha",
    "half": "first half",
    "blocks": "`blocks`",
}
Row = tuple[Case, str]


def clock(job: Callable[[], None]) -> float:
    """Return the seconds of a call."""
    begin = time.perf_counter()
    job()
    return time.perf_counter() - begin


def measure(case: Case) -> dict[str, float]:
    """Measure the stages in this process, with the instruction set of its environment."""
    tj = load()
    calpha = tj.open(case.topology, case.trajectory).select("name CA").indices
    traj = tj.open(None, case.trajectory)
    stored = np.fromfile(case.trajectory, np.uint8)
    memory = np.empty(REQUEST + MEMORY_PAGE, np.uint8)
    buffer = memory[(APART - memory.ctypes.data) % MEMORY_PAGE :][:REQUEST]

    def copy() -> None:
        for begin in range(0, len(stored), REQUEST):
            piece = stored[begin : begin + REQUEST]
            buffer[: len(piece)] = piece

    def request() -> None:
        with open(case.trajectory, "rb", buffering=0) as file:
            while file.readinto(buffer):
                pass

    def blocks() -> None:
        for _ in traj.blocks():
            pass

    def analysed(atoms: Any) -> tuple[float, float]:
        """Return the seconds of decoding, and of reading and decoding, in an analysis."""
        result = tj.rmsd(traj.select(atoms), motion="none", pool=tj.LocalPool(threads=1))
        stages = result.report["stages"]
        return stages["t_decode"], stages["t_read"] + stages["t_decode"]

    seconds = {"copy": clock(copy), "requests": clock(request)}
    seconds["decode"], seconds["all"] = analysed(np.arange(traj.n_atoms))
    seconds["C-alpha"] = analysed(calpha)[1]
    seconds["half"] = analysed(np.arange(traj.n_atoms // 2))[1]
    seconds["blocks"] = clock(blocks)
    return {**seconds, "frames": traj.n_frames, "atoms": traj.n_atoms}


def in_a_process(row: Row, folder: Path, *, quick: bool) -> dict[str, float]:
    """Measure a file with one instruction set in a process of its own."""
    case, isa = row
    command = [sys.executable, __file__, "--data", str(folder), "--measure", case.name]
    done = subprocess.run(
        command + (["--quick"] if quick else []),
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "TRAJET_INSTRUCTION_SET": isa},
    )
    result: dict[str, float] = json.loads(done.stdout)
    return result


def table(rows: list[Row], best: list[dict[str, float]]) -> list[str]:
    """Return the table of the page: µs per frame, and the ratio to a copy."""
    head = " | ".join(STAGES.values()).replace("all atoms", "all atoms | ns an atom")
    lines = []
    for (case, isa), seconds in zip(rows, best, strict=True):
        us = {name: seconds[name] / seconds["frames"] * 1e6 for name in STAGES}
        cells = {name: f"{digits(us[name])} ({us[name] / us['copy']:.1f})" for name in STAGES}
        cells["copy"] = digits(us["copy"])
        cells["all"] += f" | {us['all'] * 1e3 / seconds['atoms']:.2f}"
        lines.append([f"`{case.trajectory.name}`", isa, *cells.values()])
    return as_lines(["file", "instruction set", *head.split(" | ")], lines)


def main() -> None:
    """Measure all rows in turns, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the files")
    parser.add_argument("--no-record", action="store_true", help="write nothing")
    parser.add_argument("--rounds", type=int, default=7, help="rounds of each row (default 7)")
    parser.add_argument("--quick", action="store_true", help="short files; nothing is written")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    given = parser.parse_args()
    require_release_build()
    cases = {case.name: case for case in all_cases(given.data, "", quick=given.quick)}
    if given.measure:
        print(json.dumps(measure(cases[given.measure])))
        return
    sets = load()._trajet.INSTRUCTION_SETS
    rows: list[Row] = []
    for case in (cases[name] for name in CASES):
        if not case.trajectory.exists():
            sys.exit(f"stages: {case.trajectory} is missing; trajectories.py makes it")
        rows += [(case, isa) for isa in (sets if case.trajectory.suffix == ".xtc" else sets[-1:])]
        warm(case.trajectory)
    head = f"{stamp()}; best of {given.rounds} rounds; {describe_load()}."
    best: list[dict[str, float]] = [{} for _ in rows]
    for _ in range(given.rounds):
        for row, shortest in zip(rows, best, strict=True):
            for name, value in in_a_process(row, given.data, quick=given.quick).items():
                shortest[name] = min(value, shortest.get(name, value))
    sizes = {row[0].trajectory.name: int(one["atoms"]) for row, one in zip(rows, best, strict=True)}
    about = ", ".join(f"`{name}` {atoms:,} atoms" for name, atoms in sizes.items())
    lines = [head, f"{about}.", "", *table(rows, best)]
    print("\n".join(lines))
    print(f"at the end: {describe_load()}")
    if not (given.quick or given.no_record):
        write_section("performance.md", "stages", lines)


if __name__ == "__main__":
    main()
